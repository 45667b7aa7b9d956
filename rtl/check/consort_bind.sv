// SPDX-License-Identifier: Apache-2.0
// Where the checkers look, in every simulation of the pair: each AXI4 interface, each stream of a link, each credit.

module consort_cblock_checker
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports = 1
) (
    input logic   clk_i,
    input logic   rst_ni,
    input axi_a_t s_aw_i      [Ports],
    input logic   s_aw_valid_i[Ports],
    input logic   s_aw_ready_o[Ports],
    input axi_w_t s_w_i       [Ports],
    input logic   s_w_valid_i [Ports],
    input logic   s_w_ready_o [Ports],
    input axi_b_t s_b_o       [Ports],
    input logic   s_b_valid_o [Ports],
    input logic   s_b_ready_i [Ports],
    input axi_a_t s_ar_i      [Ports],
    input logic   s_ar_valid_i[Ports],
    input logic   s_ar_ready_o[Ports],
    input axi_r_t s_r_o       [Ports],
    input logic   s_r_valid_o [Ports],
    input logic   s_r_ready_i [Ports]
);
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    consort_axi_checker #(.Name("cblock port")) i_axi (
        .clk_i, .rst_ni,
        .aw_i(s_aw_i[p]), .aw_valid_i(s_aw_valid_i[p]), .aw_ready_i(s_aw_ready_o[p]),
        .w_i(s_w_i[p]), .w_valid_i(s_w_valid_i[p]), .w_ready_i(s_w_ready_o[p]),
        .b_i(s_b_o[p]), .b_valid_i(s_b_valid_o[p]), .b_ready_i(s_b_ready_i[p]),
        .ar_i(s_ar_i[p]), .ar_valid_i(s_ar_valid_i[p]), .ar_ready_i(s_ar_ready_o[p]),
        .r_i(s_r_o[p]), .r_valid_i(s_r_valid_o[p]), .r_ready_i(s_r_ready_i[p])
    );
  end
endmodule

module consort_mblock_checker
  import consort_remote_pkg::*;
#(
    parameter int unsigned Memories = 1
) (
    input logic   clk_i,
    input logic   rst_ni,
    input axi_a_t m_aw_o      [Memories],
    input logic   m_aw_valid_o[Memories],
    input logic   m_aw_ready_i[Memories],
    input axi_w_t m_w_o       [Memories],
    input logic   m_w_valid_o [Memories],
    input logic   m_w_ready_i [Memories],
    input axi_b_t m_b_i       [Memories],
    input logic   m_b_valid_i [Memories],
    input logic   m_b_ready_o [Memories],
    input axi_a_t m_ar_o      [Memories],
    input logic   m_ar_valid_o[Memories],
    input logic   m_ar_ready_i[Memories],
    input axi_r_t m_r_i       [Memories],
    input logic   m_r_valid_i [Memories],
    input logic   m_r_ready_o [Memories]
);
  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    consort_axi_checker #(.Name("mblock memory")) i_axi (
        .clk_i, .rst_ni,
        .aw_i(m_aw_o[m]), .aw_valid_i(m_aw_valid_o[m]), .aw_ready_i(m_aw_ready_i[m]),
        .w_i(m_w_o[m]), .w_valid_i(m_w_valid_o[m]), .w_ready_i(m_w_ready_i[m]),
        .b_i(m_b_i[m]), .b_valid_i(m_b_valid_i[m]), .b_ready_i(m_b_ready_o[m]),
        .ar_i(m_ar_o[m]), .ar_valid_i(m_ar_valid_o[m]), .ar_ready_i(m_ar_ready_i[m]),
        .r_i(m_r_i[m]), .r_valid_i(m_r_valid_i[m]), .r_ready_i(m_r_ready_o[m])
    );
  end
endmodule

module consort_link_checker
  import consort_remote_pkg::*;
(
    input logic                 clk_i,
    input logic                 rst_ni,
    input logic                 up_o,
    input wire_t                phy_tx_o,
    input logic                 phy_tx_valid_o,
    input logic                 phy_tx_ready_i,
    input logic [MetaWidth-1:0] rx_meta_o,
    input logic [4:0]           rx_units_o,
    input logic                 rx_valid_o,
    input logic                 rx_ready_i,
    input logic [BeatWidth-1:0] rx_unit_o,
    input logic                 rx_unit_valid_o,
    input logic                 rx_unit_ready_i
);
  consort_stream_checker #(.Width($bits(wire_t)), .Name("link PHY")) i_phy (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(phy_tx_valid_o), .ready_i(phy_tx_ready_i), .data_i(phy_tx_o)
  );
  // What was received and not taken goes with the link.
  consort_stream_checker #(.Width(MetaWidth + 5), .Name("link frames")) i_frames (
      .clk_i, .rst_ni, .clear_i(!up_o), .valid_i(rx_valid_o), .ready_i(rx_ready_i), .data_i({rx_units_o, rx_meta_o})
  );
  consort_stream_checker #(.Width(BeatWidth), .Name("link units")) i_units (
      .clk_i, .rst_ni, .clear_i(!up_o), .valid_i(rx_unit_valid_o), .ready_i(rx_unit_ready_i), .data_i(rx_unit_o)
  );
endmodule

module consort_credit_checker #(
    parameter int unsigned Max = 16,
    parameter int unsigned Width = $clog2(Max + 1)
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             clear_i,
    input logic [Width-1:0] want_i,
    input logic             enough_o,
    input logic             take_i,
    input logic [Width-1:0] give_i
);
  logic [Width:0] out_q;  // what is out, counted apart
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_q <= '0;
    else if (clear_i) out_q <= '0;
    else out_q <= out_q + (take_i ? {1'b0, want_i} : '0) - {1'b0, give_i};
  end
  logic on_q;  // reset is over
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) on_q <= 1'b0;
    else on_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (on_q) begin
      taken_there : assert (!take_i || enough_o) else $error("credit: taken where there was not enough");
      given_taken : assert ({1'b0, give_i} <= out_q) else $error("credit: more given back than was taken");
      never_over : assert (out_q <= (Width + 1)'(Max)) else $error("credit: more out than there is");
    end
  end
endmodule

bind consort_cblock consort_cblock_checker #(.Ports(Ports)) i_check (.*);
bind consort_mblock consort_mblock_checker #(.Memories(Memories)) i_check (.*);
bind consort_paper_cblock consort_cblock_checker #(.Ports(Ports)) i_check (.*);
bind consort_paper_mblock consort_mblock_checker #(.Memories(Memories)) i_check (.*);
bind consort_link consort_link_checker i_check (.*);
bind consort_credit consort_credit_checker #(.Max(Max)) i_check (.*);
