// SPDX-License-Identifier: Apache-2.0
// The paper's Figure 4, for simulation: three cBlocks and two mBlocks. The first two cBlocks have a link to each mBlock,
// the third has both of its links to the second mBlock. Port d is cBlock d's, memory e mBlock e's. A configuration access goes
// to the block that is named beside it.
module consort_remote_figure4
  import consort_remote_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t s_aw_i      [3],
    input  logic   s_aw_valid_i[3],
    output logic   s_aw_ready_o[3],
    input  axi_w_t s_w_i       [3],
    input  logic   s_w_valid_i [3],
    output logic   s_w_ready_o [3],
    output axi_b_t s_b_o       [3],
    output logic   s_b_valid_o [3],
    input  logic   s_b_ready_i [3],
    input  axi_a_t s_ar_i      [3],
    input  logic   s_ar_valid_i[3],
    output logic   s_ar_ready_o[3],
    output axi_r_t s_r_o       [3],
    output logic   s_r_valid_o [3],
    input  logic   s_r_ready_i [3],

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

    input  logic [ 1:0] c_lite_block_i,
    input  lite_req_t  c_lite_req_i,
    output lite_resp_t c_lite_resp_o,

    input  logic [ 1:0] m_lite_block_i,
    input  lite_req_t  m_lite_req_i,
    output lite_resp_t m_lite_resp_o,

    input  logic [15:0] rate_i,
    input  logic [ 9:0] latency_i,
    input  logic [31:0] flip_chance_i,
    input  logic [ 6:0] flip_span_i,
    input  logic [31:0] drop_chance_i,
    input  logic [31:0] repeat_chance_i,
    input  logic        cut_i           [6],
    output logic [63:0] request_words_o [6],  // of link l of cBlock d at 2d + l
    output logic [63:0] response_words_o[6],
    output logic [63:0] corrupted_o        [12]
);
  // Of the six links: the mBlock, and its link there.
  function automatic int unsigned block_of(int unsigned wire_number);
    return wire_number < 4 ? wire_number % 2 : 1;
  endfunction
  function automatic int unsigned link_of(int unsigned wire_number);
    return wire_number < 4 ? wire_number / 2 : wire_number - 2;
  endfunction

  logic [word_width(128)-1:0] c_tx[6], c_rx[6], m_tx[6], m_rx[6];
  logic c_tx_valid[6], c_tx_ready[6], c_rx_valid[6];
  logic m_tx_valid[6], m_tx_ready[6], m_rx_valid[6];
  // The PHYs' own news of a link, and interrupts, are looked at in the pair.
  logic on[4], never[4];
  logic [4:0] irqs;
  logic unused;
  assign on = '{default: 1'b1};
  assign never = '{default: 1'b0};
  assign unused = &{1'b0, irqs};

  lite_resp_t c_lite_resp[3], m_lite_resp[2];
  assign c_lite_resp_o = c_lite_resp[c_lite_block_i];
  assign m_lite_resp_o = m_lite_resp[m_lite_block_i[0]];

  for (genvar d = 0; d < 3; d++) begin : gen_cblock
    axi_req_t req[1];
    axi_resp_t resp[1];
    consort_axi_pack i_axi (
        .req_o(req[0]),
        .resp_i(resp[0]),
        .aw_i(s_aw_i[d]),
        .aw_valid_i(s_aw_valid_i[d]),
        .aw_ready_o(s_aw_ready_o[d]),
        .w_i(s_w_i[d]),
        .w_valid_i(s_w_valid_i[d]),
        .w_ready_o(s_w_ready_o[d]),
        .b_o(s_b_o[d]),
        .b_valid_o(s_b_valid_o[d]),
        .b_ready_i(s_b_ready_i[d]),
        .ar_i(s_ar_i[d]),
        .ar_valid_i(s_ar_valid_i[d]),
        .ar_ready_o(s_ar_ready_o[d]),
        .r_o(s_r_o[d]),
        .r_valid_o(s_r_valid_o[d]),
        .r_ready_i(s_r_ready_i[d])
    );

    lite_req_t lite_req;
    always_comb begin
      lite_req = c_lite_req_i;
      if (c_lite_block_i != 2'(d)) {lite_req.aw_valid, lite_req.w_valid, lite_req.ar_valid} = '0;
    end

    consort_cblock #(
        .Links(2)
    ) i_cblock (
        .clk_i,
        .rst_ni,
        .s_req_i(req),
        .s_resp_o(resp),
        .lite_req_i(lite_req),
        .lite_resp_o(c_lite_resp[d]),
        .irq_o(irqs[d]),
        .phy_tx_o(c_tx[2*d:2*d+1]),
        .phy_tx_valid_o(c_tx_valid[2*d:2*d+1]),
        .phy_tx_ready_i(c_tx_ready[2*d:2*d+1]),
        .phy_rx_i(c_rx[2*d:2*d+1]),
        .phy_rx_valid_i(c_rx_valid[2*d:2*d+1]),
        .phy_channel_up_i(on[0:1]),
        .phy_hard_err_i(never[0:1])
    );
  end

  for (genvar e = 0; e < 2; e++) begin : gen_mblock
    localparam int unsigned Links = e == 0 ? 2 : 4;
    logic unused_isolated[1];  // never asked for
    logic [word_width(128)-1:0] tx[Links], rx[Links];
    logic tx_valid[Links], tx_ready[Links], rx_valid[Links];

    for (genvar w = 0; w < 6; w++) begin : gen_wire
      if (block_of(w) == e) begin : gen_mine
        assign m_tx[w] = tx[link_of(w)];
        assign m_tx_valid[w] = tx_valid[link_of(w)];
        assign tx_ready[link_of(w)] = m_tx_ready[w];
        assign rx[link_of(w)] = m_rx[w];
        assign rx_valid[link_of(w)] = m_rx_valid[w];
      end
    end

    axi_req_t req[1];
    axi_resp_t resp[1];
    consort_axi_unpack i_axi (
        .req_i(req[0]),
        .resp_o(resp[0]),
        .aw_o(m_aw_o[e]),
        .aw_valid_o(m_aw_valid_o[e]),
        .aw_ready_i(m_aw_ready_i[e]),
        .w_o(m_w_o[e]),
        .w_valid_o(m_w_valid_o[e]),
        .w_ready_i(m_w_ready_i[e]),
        .b_i(m_b_i[e]),
        .b_valid_i(m_b_valid_i[e]),
        .b_ready_o(m_b_ready_o[e]),
        .ar_o(m_ar_o[e]),
        .ar_valid_o(m_ar_valid_o[e]),
        .ar_ready_i(m_ar_ready_i[e]),
        .r_i(m_r_i[e]),
        .r_valid_i(m_r_valid_i[e]),
        .r_ready_o(m_r_ready_o[e])
    );

    lite_req_t lite_req;
    always_comb begin
      lite_req = m_lite_req_i;
      if (m_lite_block_i != 2'(e)) {lite_req.aw_valid, lite_req.w_valid, lite_req.ar_valid} = '0;
    end

    consort_mblock #(
        .Links(Links)
    ) i_mblock (
        .clk_i,
        .rst_ni,
        .m_rst_ni(rst_ni),
        .isolate_i('{1'b0}),
        .isolated_o(unused_isolated),
        .m_req_o(req),
        .m_resp_i(resp),
        .lite_req_i(lite_req),
        .lite_resp_o(m_lite_resp[e]),
        .irq_o(irqs[3+e]),
        .phy_tx_o(tx),
        .phy_tx_valid_o(tx_valid),
        .phy_tx_ready_i(tx_ready),
        .phy_rx_i(rx),
        .phy_rx_valid_i(rx_valid),
        .phy_channel_up_i(on[0:Links-1]),
        .phy_hard_err_i(never[0:Links-1])
    );
  end

  for (genvar w = 0; w < 6; w++) begin : gen_phy
    consort_phy_model #(
        .Seed(2*w+1)
    ) i_out (
        .clk_i,
        .rst_ni,
        .rate_i,
        .latency_i,
        .flip_chance_i,
        .flip_span_i,
        .drop_chance_i,
        .repeat_chance_i,
        .cut_i(cut_i[w]),
        .stall_i(1'b0),
        .stuck_i('0),
        .tx_i(c_tx[w]),
        .tx_valid_i(c_tx_valid[w]),
        .tx_ready_o(c_tx_ready[w]),
        .rx_o(m_rx[w]),
        .rx_valid_o(m_rx_valid[w]),
        .words_o(request_words_o[w]),
        .corrupted_o(corrupted_o[2*w])
    );
    consort_phy_model #(
        .Seed(2*w+2)
    ) i_back (
        .clk_i,
        .rst_ni,
        .rate_i,
        .latency_i,
        .flip_chance_i,
        .flip_span_i,
        .drop_chance_i,
        .repeat_chance_i,
        .cut_i(cut_i[w]),
        .stall_i(1'b0),
        .stuck_i('0),
        .tx_i(m_tx[w]),
        .tx_valid_i(m_tx_valid[w]),
        .tx_ready_o(m_tx_ready[w]),
        .rx_o(c_rx[w]),
        .rx_valid_o(c_rx_valid[w]),
        .words_o(response_words_o[w]),
        .corrupted_o(corrupted_o[2*w+1])
    );
  end
endmodule
