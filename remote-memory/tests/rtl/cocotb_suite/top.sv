// SPDX-License-Identifier: Apache-2.0
// The pair of blocks with flat signals for Python on every side.
module top
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports    = 2,
    parameter int unsigned Links    = 2,
    parameter int unsigned Memories = 2
) (
    input logic clk,
    input logic rst_n
);
  axi_a_t s_aw[Ports], s_ar[Ports], m_aw[Memories], m_ar[Memories];
  axi_w_t s_w[Ports], m_w[Memories];
  axi_b_t s_b[Ports], m_b[Memories];
  axi_r_t s_r[Ports], m_r[Memories];
  logic s_aw_valid[Ports], s_aw_ready[Ports], s_w_valid[Ports], s_w_ready[Ports], s_b_valid[Ports], s_b_ready[Ports];
  logic s_ar_valid[Ports], s_ar_ready[Ports], s_r_valid[Ports], s_r_ready[Ports];
  logic m_aw_valid[Memories], m_aw_ready[Memories], m_w_valid[Memories], m_w_ready[Memories];
  logic m_b_valid[Memories], m_b_ready[Memories], m_ar_valid[Memories], m_ar_ready[Memories];
  logic m_r_valid[Memories], m_r_ready[Memories];

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    axi_master_pins axi (
        .aw_o(s_aw[p]), .aw_valid_o(s_aw_valid[p]), .aw_ready_i(s_aw_ready[p]),
        .w_o(s_w[p]), .w_valid_o(s_w_valid[p]), .w_ready_i(s_w_ready[p]),
        .b_i(s_b[p]), .b_valid_i(s_b_valid[p]), .b_ready_o(s_b_ready[p]),
        .ar_o(s_ar[p]), .ar_valid_o(s_ar_valid[p]), .ar_ready_i(s_ar_ready[p]),
        .r_i(s_r[p]), .r_valid_i(s_r_valid[p]), .r_ready_o(s_r_ready[p])
    );
  end
  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    axi_slave_pins axi (
        .aw_i(m_aw[m]), .aw_valid_i(m_aw_valid[m]), .aw_ready_o(m_aw_ready[m]),
        .w_i(m_w[m]), .w_valid_i(m_w_valid[m]), .w_ready_o(m_w_ready[m]),
        .b_o(m_b[m]), .b_valid_o(m_b_valid[m]), .b_ready_i(m_b_ready[m]),
        .ar_i(m_ar[m]), .ar_valid_i(m_ar_valid[m]), .ar_ready_o(m_ar_ready[m]),
        .r_o(m_r[m]), .r_valid_o(m_r_valid[m]), .r_ready_i(m_r_ready[m])
    );
  end

  logic [11:0] c_awaddr, c_araddr, m_awaddr, m_araddr;
  logic [31:0] c_wdata, c_rdata, m_wdata, m_rdata;
  logic [3:0] c_wstrb, m_wstrb;
  logic [1:0] c_bresp, c_rresp, m_bresp, m_rresp;
  logic c_awvalid, c_awready, c_wvalid, c_wready, c_bvalid, c_bready, c_arvalid, c_arready, c_rvalid, c_rready;
  logic m_awvalid, m_awready, m_wvalid, m_wready, m_bvalid, m_bready, m_arvalid, m_arready, m_rvalid, m_rready;

  lite_req_t c_lite_req, m_lite_req;
  lite_resp_t c_lite_resp, m_lite_resp;
  assign c_lite_req = '{
      aw: '{addr: c_awaddr, prot: '0}, aw_valid: c_awvalid,
      w: '{data: c_wdata, strb: c_wstrb}, w_valid: c_wvalid, b_ready: c_bready,
      ar: '{addr: c_araddr, prot: '0}, ar_valid: c_arvalid, r_ready: c_rready
  };
  assign {c_awready, c_wready, c_bresp, c_bvalid, c_arready, c_rdata, c_rresp, c_rvalid} = c_lite_resp;
  assign m_lite_req = '{
      aw: '{addr: m_awaddr, prot: '0}, aw_valid: m_awvalid,
      w: '{data: m_wdata, strb: m_wstrb}, w_valid: m_wvalid, b_ready: m_bready,
      ar: '{addr: m_araddr, prot: '0}, ar_valid: m_arvalid, r_ready: m_rready
  };
  assign {m_awready, m_wready, m_bresp, m_bvalid, m_arready, m_rdata, m_rresp, m_rvalid} = m_lite_resp;

  logic [15:0] rate;
  logic [9:0] latency;
  logic [31:0] flip_chance, drop_chance, repeat_chance;
  logic [6:0] flip_span;
  logic [Links-1:0] cut;
  logic cut_of[Links], phy_down[Links];
  logic c_irq, m_irq;
  assign phy_down = '{default: 1'b0};
  logic stall[2*Links], isolate[Memories], unused_isolated[Memories];
  assign isolate = '{default: 1'b0};
  assign stall = '{default: 1'b0};
  logic [7:0] stuck[2*Links];
  assign stuck = '{default: '0};
  logic [63:0] request_beats[Links], response_beats[Links], corrupted[2*Links], unused_kept[2*Links];
  for (genvar l = 0; l < Links; l++) begin : gen_cut
    assign cut_of[l] = cut[l];
  end

  consort_remote_pair #(
      .Ports(Ports),
      .Links(Links),
      .Memories(Memories)
  ) pair (
      .clk_i(clk), .rst_ni(rst_n),
      .s_aw_i(s_aw), .s_aw_valid_i(s_aw_valid), .s_aw_ready_o(s_aw_ready),
      .s_w_i(s_w), .s_w_valid_i(s_w_valid), .s_w_ready_o(s_w_ready),
      .s_b_o(s_b), .s_b_valid_o(s_b_valid), .s_b_ready_i(s_b_ready),
      .s_ar_i(s_ar), .s_ar_valid_i(s_ar_valid), .s_ar_ready_o(s_ar_ready),
      .s_r_o(s_r), .s_r_valid_o(s_r_valid), .s_r_ready_i(s_r_ready),
      .m_aw_o(m_aw), .m_aw_valid_o(m_aw_valid), .m_aw_ready_i(m_aw_ready),
      .m_w_o(m_w), .m_w_valid_o(m_w_valid), .m_w_ready_i(m_w_ready),
      .m_b_i(m_b), .m_b_valid_i(m_b_valid), .m_b_ready_o(m_b_ready),
      .m_ar_o(m_ar), .m_ar_valid_o(m_ar_valid), .m_ar_ready_i(m_ar_ready),
      .m_r_i(m_r), .m_r_valid_i(m_r_valid), .m_r_ready_o(m_r_ready),
      .c_lite_req_i(c_lite_req), .c_lite_resp_o(c_lite_resp), .m_lite_req_i(m_lite_req), .m_lite_resp_o(m_lite_resp),
      .rate_i(rate), .latency_i(latency), .flip_chance_i(flip_chance), .flip_span_i(flip_span),
      .drop_chance_i(drop_chance), .repeat_chance_i(repeat_chance), .cut_i(cut_of),
      .stall_i(stall), .stuck_i(stuck), .c_reset_i(1'b0), .m_reset_i(1'b0), .isolate_i(isolate), .isolated_o(unused_isolated),
      .phy_clk_i(1'b0), .pause_chance_i('0), .longest_pause_i('0), .kept_o(unused_kept),
      .phy_down_i(phy_down), .c_irq_o(c_irq), .m_irq_o(m_irq),
      .request_words_o(request_beats), .response_words_o(response_beats), .corrupted_o(corrupted)
  );
endmodule
