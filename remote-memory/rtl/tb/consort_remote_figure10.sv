// SPDX-License-Identifier: Apache-2.0
// The dual-board system of the paper's Figure 10, for simulation: one cBlock of two ports and two links. Link 0 goes to an
// mBlock beside it, link 1 to one on the other board; each mBlock has a memory. With `Paper` all three blocks are those of
// the paper's packetizations, on its link. A configuration access to an mBlock goes to the one that is named beside it.
module consort_remote_figure10
  import consort_remote_pkg::*;
#(
    parameter bit Paper = 1'b0
) (
    input logic clk_i,
    input logic rst_ni,
    input logic pipelined_i,  // of the paper's packetizations
    input logic fill_beat_i,

    input  axi_a_t s_aw_i      [2],
    input  logic   s_aw_valid_i[2],
    output logic   s_aw_ready_o[2],
    input  axi_w_t s_w_i       [2],
    input  logic   s_w_valid_i [2],
    output logic   s_w_ready_o [2],
    output axi_b_t s_b_o       [2],
    output logic   s_b_valid_o [2],
    input  logic   s_b_ready_i [2],
    input  axi_a_t s_ar_i      [2],
    input  logic   s_ar_valid_i[2],
    output logic   s_ar_ready_o[2],
    output axi_r_t s_r_o       [2],
    output logic   s_r_valid_o [2],
    input  logic   s_r_ready_i [2],

    output axi_a_t m_aw_o      [2],
    output logic   m_aw_valid_o[2],
    input  logic   m_aw_ready_i[2],
    output axi_w_t m_w_o       [2],
    output logic   m_w_valid_o [2],
    input  logic   m_w_ready_i [2],
    input  axi_b_t m_b_i       [2],
    input  logic   m_b_valid_i [2],
    output logic   m_b_ready_o [2],
    output axi_a_t m_ar_o      [2],
    output logic   m_ar_valid_o[2],
    input  logic   m_ar_ready_i[2],
    input  axi_r_t m_r_i       [2],
    input  logic   m_r_valid_i [2],
    output logic   m_r_ready_o [2],

    input  lite_req_t  c_lite_req_i,
    output lite_resp_t c_lite_resp_o,

    input  logic       m_lite_block_i,
    input  lite_req_t  m_lite_req_i,
    output lite_resp_t m_lite_resp_o,

    input  logic [15:0] rate_i          [2],  // of each link
    input  logic [ 9:0] latency_i       [2],
    output logic [63:0] request_words_o [2],
    output logic [63:0] response_words_o[2]
);
  axi_req_t s_req[2], m_req[2];
  axi_resp_t s_resp[2], m_resp[2];
  lite_req_t m_lite_req[2];
  lite_resp_t m_lite_resp[2];
  assign m_lite_resp_o = m_lite_resp[m_lite_block_i];

  for (genvar i = 0; i < 2; i++) begin : gen_axi
    consort_axi_pack i_port (
        .req_o(s_req[i]),
        .resp_i(s_resp[i]),
        .aw_i(s_aw_i[i]),
        .aw_valid_i(s_aw_valid_i[i]),
        .aw_ready_o(s_aw_ready_o[i]),
        .w_i(s_w_i[i]),
        .w_valid_i(s_w_valid_i[i]),
        .w_ready_o(s_w_ready_o[i]),
        .b_o(s_b_o[i]),
        .b_valid_o(s_b_valid_o[i]),
        .b_ready_i(s_b_ready_i[i]),
        .ar_i(s_ar_i[i]),
        .ar_valid_i(s_ar_valid_i[i]),
        .ar_ready_o(s_ar_ready_o[i]),
        .r_o(s_r_o[i]),
        .r_valid_o(s_r_valid_o[i]),
        .r_ready_i(s_r_ready_i[i])
    );
    consort_axi_unpack i_memory (
        .req_i(m_req[i]),
        .resp_o(m_resp[i]),
        .aw_o(m_aw_o[i]),
        .aw_valid_o(m_aw_valid_o[i]),
        .aw_ready_i(m_aw_ready_i[i]),
        .w_o(m_w_o[i]),
        .w_valid_o(m_w_valid_o[i]),
        .w_ready_i(m_w_ready_i[i]),
        .b_i(m_b_i[i]),
        .b_valid_i(m_b_valid_i[i]),
        .b_ready_o(m_b_ready_o[i]),
        .ar_o(m_ar_o[i]),
        .ar_valid_o(m_ar_valid_o[i]),
        .ar_ready_i(m_ar_ready_i[i]),
        .r_i(m_r_i[i]),
        .r_valid_i(m_r_valid_i[i]),
        .r_ready_o(m_r_ready_o[i])
    );
    always_comb begin
      m_lite_req[i] = m_lite_req_i;
      if (m_lite_block_i != 1'(i)) {m_lite_req[i].aw_valid, m_lite_req[i].w_valid, m_lite_req[i].ar_valid} = '0;
    end
  end

  if (Paper) begin : gen_paper
    logic [BeatWidth-1:0] c_tx[2], c_rx[2], m_tx[2], m_rx[2];
    logic c_tx_valid[2], c_tx_ready[2], c_rx_valid[2], c_rx_ready[2];
    logic m_tx_valid[2], m_tx_ready[2], m_rx_valid[2], m_rx_ready[2];

    consort_paper_cblock #(
        .Ports(2),
        .Links(2)
    ) i_cblock (
        .clk_i,
        .rst_ni,
        .pipelined_i,
        .fill_beat_i,
        .s_req_i(s_req),
        .s_resp_o(s_resp),
        .lite_req_i(c_lite_req_i),
        .lite_resp_o(c_lite_resp_o),
        .phy_tx_o(c_tx),
        .phy_tx_valid_o(c_tx_valid),
        .phy_tx_ready_i(c_tx_ready),
        .phy_rx_i(c_rx),
        .phy_rx_valid_i(c_rx_valid),
        .phy_rx_ready_o(c_rx_ready)
    );
    for (genvar i = 0; i < 2; i++) begin : gen_board
      consort_paper_mblock #(
          .Ports(2)
      ) i_mblock (
          .clk_i,
          .rst_ni,
          .pipelined_i,
          .fill_beat_i,
          .m_req_o(m_req[i:i]),
          .m_resp_i(m_resp[i:i]),
          .lite_req_i(m_lite_req[i]),
          .lite_resp_o(m_lite_resp[i]),
          .phy_tx_o(m_tx[i:i]),
          .phy_tx_valid_o(m_tx_valid[i:i]),
          .phy_tx_ready_i(m_tx_ready[i:i]),
          .phy_rx_i(m_rx[i:i]),
          .phy_rx_valid_i(m_rx_valid[i:i]),
          .phy_rx_ready_o(m_rx_ready[i:i])
      );
      consort_paper_wire i_out (
          .clk_i,
          .rst_ni,
          .rate_i(rate_i[i]),
          .latency_i(latency_i[i]),
          .tx_i(c_tx[i]),
          .tx_valid_i(c_tx_valid[i]),
          .tx_ready_o(c_tx_ready[i]),
          .rx_o(m_rx[i]),
          .rx_valid_o(m_rx_valid[i]),
          .rx_ready_i(m_rx_ready[i]),
          .words_o(request_words_o[i])
      );
      consort_paper_wire i_back (
          .clk_i,
          .rst_ni,
          .rate_i(rate_i[i]),
          .latency_i(latency_i[i]),
          .tx_i(m_tx[i]),
          .tx_valid_i(m_tx_valid[i]),
          .tx_ready_o(m_tx_ready[i]),
          .rx_o(c_rx[i]),
          .rx_valid_o(c_rx_valid[i]),
          .rx_ready_i(c_rx_ready[i]),
          .words_o(response_words_o[i])
      );
    end
  end else begin : gen_compact
    logic [word_width(128)-1:0] c_tx[2], c_rx[2], m_tx[2], m_rx[2];
    logic c_tx_valid[2], c_tx_ready[2], c_rx_valid[2];
    logic m_tx_valid[2], m_tx_ready[2], m_rx_valid[2];
    logic on[2], never[2];
    logic [2:0] irqs;
    logic unused;
    assign on = '{default: 1'b1};
    assign never = '{default: 1'b0};
    // What the PHY says of a link, and interrupts, are looked at in the pair.
    assign unused = &{1'b0, irqs, pipelined_i, fill_beat_i};

    consort_cblock #(
        .Ports(2),
        .Links(2)
    ) i_cblock (
        .clk_i,
        .rst_ni,
        .s_req_i(s_req),
        .s_resp_o(s_resp),
        .lite_req_i(c_lite_req_i),
        .lite_resp_o(c_lite_resp_o),
        .irq_o(irqs[2]),
        .phy_tx_o(c_tx),
        .phy_tx_valid_o(c_tx_valid),
        .phy_tx_ready_i(c_tx_ready),
        .phy_rx_i(c_rx),
        .phy_rx_valid_i(c_rx_valid),
        .phy_channel_up_i(on),
        .phy_hard_err_i(never)
    );
    for (genvar i = 0; i < 2; i++) begin : gen_board
      logic unused_isolated[1];  // never asked for
      logic [63:0] corrupted[2];
      logic unused_errors;
      assign unused_errors = &{1'b0, corrupted[0], corrupted[1]};
      consort_mblock #(
          .Ports(2)
      ) i_mblock (
          .clk_i,
          .rst_ni,
          .m_rst_ni(rst_ni),
          .isolate_i('{1'b0}),
          .isolated_o(unused_isolated),
          .m_req_o(m_req[i:i]),
          .m_resp_i(m_resp[i:i]),
          .lite_req_i(m_lite_req[i]),
          .lite_resp_o(m_lite_resp[i]),
          .irq_o(irqs[i]),
          .phy_tx_o(m_tx[i:i]),
          .phy_tx_valid_o(m_tx_valid[i:i]),
          .phy_tx_ready_i(m_tx_ready[i:i]),
          .phy_rx_i(m_rx[i:i]),
          .phy_rx_valid_i(m_rx_valid[i:i]),
          .phy_channel_up_i(on[i:i]),
          .phy_hard_err_i(never[i:i])
      );
      consort_phy_model #(
          .Seed(2*i+1)
      ) i_out (
          .clk_i,
          .rst_ni,
          .rate_i(rate_i[i]),
          .latency_i(latency_i[i]),
          .flip_chance_i('0),
          .flip_span_i('0),
          .drop_chance_i('0),
          .repeat_chance_i('0),
          .cut_i(1'b0),
          .stall_i(1'b0),
          .stuck_i('0),
          .tx_i(c_tx[i]),
          .tx_valid_i(c_tx_valid[i]),
          .tx_ready_o(c_tx_ready[i]),
          .rx_o(m_rx[i]),
          .rx_valid_o(m_rx_valid[i]),
          .words_o(request_words_o[i]),
          .corrupted_o(corrupted[0])
      );
      consort_phy_model #(
          .Seed(2*i+2)
      ) i_back (
          .clk_i,
          .rst_ni,
          .rate_i(rate_i[i]),
          .latency_i(latency_i[i]),
          .flip_chance_i('0),
          .flip_span_i('0),
          .drop_chance_i('0),
          .repeat_chance_i('0),
          .cut_i(1'b0),
          .stall_i(1'b0),
          .stuck_i('0),
          .tx_i(m_tx[i]),
          .tx_valid_i(m_tx_valid[i]),
          .tx_ready_o(m_tx_ready[i]),
          .rx_o(c_rx[i]),
          .rx_valid_o(c_rx_valid[i]),
          .words_o(response_words_o[i]),
          .corrupted_o(corrupted[1])
      );
    end
  end
endmodule
