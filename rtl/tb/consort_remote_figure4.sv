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

    input  logic [ 1:0] ccfg_block_i,
    input  logic [11:0] ccfg_awaddr_i,
    input  logic        ccfg_awvalid_i,
    output logic        ccfg_awready_o,
    input  logic [31:0] ccfg_wdata_i,
    input  logic        ccfg_wvalid_i,
    output logic        ccfg_wready_o,
    output logic [ 1:0] ccfg_bresp_o,
    output logic        ccfg_bvalid_o,
    input  logic        ccfg_bready_i,
    input  logic [11:0] ccfg_araddr_i,
    input  logic        ccfg_arvalid_i,
    output logic        ccfg_arready_o,
    output logic [31:0] ccfg_rdata_o,
    output logic [ 1:0] ccfg_rresp_o,
    output logic        ccfg_rvalid_o,
    input  logic        ccfg_rready_i,

    input  logic [ 1:0] mcfg_block_i,
    input  logic [11:0] mcfg_awaddr_i,
    input  logic        mcfg_awvalid_i,
    output logic        mcfg_awready_o,
    input  logic [31:0] mcfg_wdata_i,
    input  logic        mcfg_wvalid_i,
    output logic        mcfg_wready_o,
    output logic [ 1:0] mcfg_bresp_o,
    output logic        mcfg_bvalid_o,
    input  logic        mcfg_bready_i,
    input  logic [11:0] mcfg_araddr_i,
    input  logic        mcfg_arvalid_i,
    output logic        mcfg_arready_o,
    output logic [31:0] mcfg_rdata_o,
    output logic [ 1:0] mcfg_rresp_o,
    output logic        mcfg_rvalid_o,
    input  logic        mcfg_rready_i,

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
  logic [2:0] c_awready, c_wready, c_bvalid, c_arready, c_rvalid;
  logic [1:0] c_bresp[3], c_rresp[3];
  logic [31:0] c_rdata[3];
  assign ccfg_awready_o = c_awready[ccfg_block_i];
  assign ccfg_wready_o = c_wready[ccfg_block_i];
  assign ccfg_bvalid_o = c_bvalid[ccfg_block_i];
  assign ccfg_bresp_o = c_bresp[ccfg_block_i];
  assign ccfg_arready_o = c_arready[ccfg_block_i];
  assign ccfg_rvalid_o = c_rvalid[ccfg_block_i];
  assign ccfg_rresp_o = c_rresp[ccfg_block_i];
  assign ccfg_rdata_o = c_rdata[ccfg_block_i];
  logic [1:0] m_awready, m_wready, m_bvalid, m_arready, m_rvalid;
  logic [1:0] m_bresp[2], m_rresp[2];
  logic [31:0] m_rdata[2];
  assign mcfg_awready_o = m_awready[mcfg_block_i[0]];
  assign mcfg_wready_o = m_wready[mcfg_block_i[0]];
  assign mcfg_bvalid_o = m_bvalid[mcfg_block_i[0]];
  assign mcfg_bresp_o = m_bresp[mcfg_block_i[0]];
  assign mcfg_arready_o = m_arready[mcfg_block_i[0]];
  assign mcfg_rvalid_o = m_rvalid[mcfg_block_i[0]];
  assign mcfg_rresp_o = m_rresp[mcfg_block_i[0]];
  assign mcfg_rdata_o = m_rdata[mcfg_block_i[0]];

  for (genvar d = 0; d < 3; d++) begin : gen_cblock
    consort_cblock #(
        .Links(2)
    ) i_cblock (
        .clk_i,
        .rst_ni,
        .s_aw_i(s_aw_i[d:d]),
        .s_aw_valid_i(s_aw_valid_i[d:d]),
        .s_aw_ready_o(s_aw_ready_o[d:d]),
        .s_w_i(s_w_i[d:d]),
        .s_w_valid_i(s_w_valid_i[d:d]),
        .s_w_ready_o(s_w_ready_o[d:d]),
        .s_b_o(s_b_o[d:d]),
        .s_b_valid_o(s_b_valid_o[d:d]),
        .s_b_ready_i(s_b_ready_i[d:d]),
        .s_ar_i(s_ar_i[d:d]),
        .s_ar_valid_i(s_ar_valid_i[d:d]),
        .s_ar_ready_o(s_ar_ready_o[d:d]),
        .s_r_o(s_r_o[d:d]),
        .s_r_valid_o(s_r_valid_o[d:d]),
        .s_r_ready_i(s_r_ready_i[d:d]),
        .cfg_awaddr_i(ccfg_awaddr_i),
        .cfg_awvalid_i(ccfg_awvalid_i && ccfg_block_i == 2'(d)),
        .cfg_awready_o(c_awready[d]),
        .cfg_wdata_i(ccfg_wdata_i),
        .cfg_wvalid_i(ccfg_wvalid_i && ccfg_block_i == 2'(d)),
        .cfg_wready_o(c_wready[d]),
        .cfg_bresp_o(c_bresp[d]),
        .cfg_bvalid_o(c_bvalid[d]),
        .cfg_bready_i(ccfg_bready_i),
        .cfg_araddr_i(ccfg_araddr_i),
        .cfg_arvalid_i(ccfg_arvalid_i && ccfg_block_i == 2'(d)),
        .cfg_arready_o(c_arready[d]),
        .cfg_rdata_o(c_rdata[d]),
        .cfg_rresp_o(c_rresp[d]),
        .cfg_rvalid_o(c_rvalid[d]),
        .cfg_rready_i(ccfg_rready_i),
        .phy_tx_o(c_tx[2*d:2*d+1]),
        .phy_tx_valid_o(c_tx_valid[2*d:2*d+1]),
        .phy_tx_ready_i(c_tx_ready[2*d:2*d+1]),
        .phy_rx_i(c_rx[2*d:2*d+1]),
        .phy_rx_valid_i(c_rx_valid[2*d:2*d+1])
    );
  end

  for (genvar e = 0; e < 2; e++) begin : gen_mblock
    localparam int unsigned Links = e == 0 ? 2 : 4;
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

    consort_mblock #(
        .Links(Links)
    ) i_mblock (
        .clk_i,
        .rst_ni,
        .m_aw_o(m_aw_o[e:e]),
        .m_aw_valid_o(m_aw_valid_o[e:e]),
        .m_aw_ready_i(m_aw_ready_i[e:e]),
        .m_w_o(m_w_o[e:e]),
        .m_w_valid_o(m_w_valid_o[e:e]),
        .m_w_ready_i(m_w_ready_i[e:e]),
        .m_b_i(m_b_i[e:e]),
        .m_b_valid_i(m_b_valid_i[e:e]),
        .m_b_ready_o(m_b_ready_o[e:e]),
        .m_ar_o(m_ar_o[e:e]),
        .m_ar_valid_o(m_ar_valid_o[e:e]),
        .m_ar_ready_i(m_ar_ready_i[e:e]),
        .m_r_i(m_r_i[e:e]),
        .m_r_valid_i(m_r_valid_i[e:e]),
        .m_r_ready_o(m_r_ready_o[e:e]),
        .cfg_awaddr_i(mcfg_awaddr_i),
        .cfg_awvalid_i(mcfg_awvalid_i && mcfg_block_i == 2'(e)),
        .cfg_awready_o(m_awready[e]),
        .cfg_wdata_i(mcfg_wdata_i),
        .cfg_wvalid_i(mcfg_wvalid_i && mcfg_block_i == 2'(e)),
        .cfg_wready_o(m_wready[e]),
        .cfg_bresp_o(m_bresp[e]),
        .cfg_bvalid_o(m_bvalid[e]),
        .cfg_bready_i(mcfg_bready_i),
        .cfg_araddr_i(mcfg_araddr_i),
        .cfg_arvalid_i(mcfg_arvalid_i && mcfg_block_i == 2'(e)),
        .cfg_arready_o(m_arready[e]),
        .cfg_rdata_o(m_rdata[e]),
        .cfg_rresp_o(m_rresp[e]),
        .cfg_rvalid_o(m_rvalid[e]),
        .cfg_rready_i(mcfg_rready_i),
        .phy_tx_o(tx),
        .phy_tx_valid_o(tx_valid),
        .phy_tx_ready_i(tx_ready),
        .phy_rx_i(rx),
        .phy_rx_valid_i(rx_valid)
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
