// SPDX-License-Identifier: Apache-2.0
// Both blocks with a SoC's own structs: members in another order, narrower ids, and members that the blocks do not know.
module soc_types #(
    parameter int unsigned SlaveAddr  = 36,
    parameter int unsigned SlaveId    = 5,
    parameter int unsigned MasterAddr = 48,
    parameter int unsigned MasterId   = 4,
    parameter int unsigned Data       = 128,

    localparam type s_a_t = struct packed {
      logic [SlaveId-1:0] id;
      logic [SlaveAddr-1:0] addr;
      logic [7:0] len;
      logic [2:0] size;
      logic [1:0] burst;
      logic lock;
      logic [3:0] cache;
      logic [2:0] prot;
      logic [3:0] qos, region;
      logic [5:0] atop;
      logic user;
    },
    localparam type m_a_t = struct packed {
      logic [MasterId-1:0] id;
      logic [MasterAddr-1:0] addr;
      logic [7:0] len;
      logic [2:0] size;
      logic [1:0] burst;
      logic lock;
      logic [3:0] cache;
      logic [2:0] prot;
      logic [3:0] qos, region;
      logic [5:0] atop;
      logic user;
    },
    localparam type w_t = struct packed {
      logic [Data-1:0] data;
      logic [Data/8-1:0] strb;
      logic last, user;
    },
    localparam type s_b_t = struct packed {
      logic [SlaveId-1:0] id;
      logic [1:0] resp;
      logic user;
    },
    localparam type m_b_t = struct packed {
      logic [MasterId-1:0] id;
      logic [1:0] resp;
      logic user;
    },
    localparam type s_r_t = struct packed {
      logic [SlaveId-1:0] id;
      logic [Data-1:0] data;
      logic [1:0] resp;
      logic last, user;
    },
    localparam type m_r_t = struct packed {
      logic [MasterId-1:0] id;
      logic [Data-1:0] data;
      logic [1:0] resp;
      logic last, user;
    },
    localparam type s_req_t = struct packed {
      s_a_t aw;
      logic aw_valid;
      w_t w;
      logic w_valid, b_ready;
      s_a_t ar;
      logic ar_valid, r_ready;
    },
    localparam type s_resp_t = struct packed {
      logic aw_ready, ar_ready, w_ready, b_valid;
      s_b_t b;
      logic r_valid;
      s_r_t r;
    },
    localparam type m_req_t = struct packed {
      m_a_t aw;
      logic aw_valid;
      w_t w;
      logic w_valid, b_ready;
      m_a_t ar;
      logic ar_valid, r_ready;
    },
    localparam type m_resp_t = struct packed {
      logic aw_ready, ar_ready, w_ready, b_valid;
      m_b_t b;
      logic r_valid;
      m_r_t r;
    },
    localparam type lite_a_t = struct packed {
      logic [31:0] addr;
      logic [2:0] prot;
    },
    localparam type lite_req_t = struct packed {
      lite_a_t aw;
      logic aw_valid;
      consort_remote_pkg::lite_w_t w;
      logic w_valid, b_ready;
      lite_a_t ar;
      logic ar_valid, r_ready;
    },
    localparam type lite_resp_t = consort_remote_pkg::lite_resp_t
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  s_req_t     s_req_i [2],
    output s_resp_t    s_resp_o[2],
    output m_req_t     m_req_o [1],
    input  m_resp_t    m_resp_i[1],
    input  lite_req_t  c_lite_req_i,
    output lite_resp_t c_lite_resp_o,
    input  lite_req_t  m_lite_req_i,
    output lite_resp_t m_lite_resp_o,
    output logic [1:0] irq_o,
    input logic isolate_i[1],
    output logic isolated_o[1],
    input  logic       channel_up_i[1],
    input  logic       hard_err_i  [1]
);
  logic [129:0] there[1], back[1];
  logic there_valid[1], back_valid[1], ready[1];
  assign ready[0] = 1'b1;

  consort_cblock #(
      .Ports(2),
      .axi_req_t(s_req_t),
      .axi_resp_t(s_resp_t),
      .lite_req_t(lite_req_t),
      .lite_resp_t(lite_resp_t)
  ) i_cblock (
      .clk_i, .rst_ni, .s_req_i, .s_resp_o, .lite_req_i(c_lite_req_i), .lite_resp_o(c_lite_resp_o), .irq_o(irq_o[0]),
      .phy_channel_up_i(channel_up_i), .phy_hard_err_i(hard_err_i),
      .phy_tx_o(there), .phy_tx_valid_o(there_valid), .phy_tx_ready_i(ready), .phy_rx_i(back), .phy_rx_valid_i(back_valid)
  );

  consort_mblock #(
      .Ports(2),
      .axi_req_t(m_req_t),
      .axi_resp_t(m_resp_t),
      .lite_req_t(lite_req_t),
      .lite_resp_t(lite_resp_t)
  ) i_mblock (
      .clk_i, .rst_ni, .m_rst_ni(rst_ni), .isolate_i, .isolated_o, .m_req_o, .m_resp_i, .irq_o(irq_o[1]),
      .lite_req_i(m_lite_req_i), .lite_resp_o(m_lite_resp_o),
      .phy_channel_up_i(channel_up_i), .phy_hard_err_i(hard_err_i),
      .phy_tx_o(back), .phy_tx_valid_o(back_valid), .phy_tx_ready_i(ready), .phy_rx_i(there), .phy_rx_valid_i(there_valid)
  );
endmodule
