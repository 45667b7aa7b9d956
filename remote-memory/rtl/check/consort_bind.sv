// SPDX-License-Identifier: Apache-2.0
// Where the checkers look, in every simulation of the pair: each AXI4 interface, each stream of a link, each credit.

module consort_cblock_checker
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports = 1
) (
    input logic   clk_i,
    input logic   rst_ni,
    input axi_a_t s_aw      [Ports],
    input logic   s_aw_valid[Ports],
    input logic   s_aw_ready[Ports],
    input axi_w_t s_w       [Ports],
    input logic   s_w_valid [Ports],
    input logic   s_w_ready [Ports],
    input axi_b_t s_b       [Ports],
    input logic   s_b_valid [Ports],
    input logic   s_b_ready [Ports],
    input axi_a_t s_ar      [Ports],
    input logic   s_ar_valid[Ports],
    input logic   s_ar_ready[Ports],
    input axi_r_t s_r       [Ports],
    input logic   s_r_valid [Ports],
    input logic   s_r_ready [Ports]
);
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    consort_axi_checker #(.Name("cblock port")) i_axi (
        .clk_i, .rst_ni,
        .aw_i(s_aw[p]), .aw_valid_i(s_aw_valid[p]), .aw_ready_i(s_aw_ready[p]),
        .w_i(s_w[p]), .w_valid_i(s_w_valid[p]), .w_ready_i(s_w_ready[p]),
        .b_i(s_b[p]), .b_valid_i(s_b_valid[p]), .b_ready_i(s_b_ready[p]),
        .ar_i(s_ar[p]), .ar_valid_i(s_ar_valid[p]), .ar_ready_i(s_ar_ready[p]),
        .r_i(s_r[p]), .r_valid_i(s_r_valid[p]), .r_ready_i(s_r_ready[p])
    );
  end
endmodule

module consort_mblock_checker
  import consort_remote_pkg::*;
#(
    parameter int unsigned Memories = 1,
    parameter int unsigned DataWithin = 0
) (
    input logic   clk_i,
    input logic   rst_ni,
    input axi_a_t m_aw      [Memories],
    input logic   m_aw_valid[Memories],
    input logic   m_aw_ready[Memories],
    input axi_w_t m_w       [Memories],
    input logic   m_w_valid [Memories],
    input logic   m_w_ready [Memories],
    input axi_b_t m_b       [Memories],
    input logic   m_b_valid [Memories],
    input logic   m_b_ready [Memories],
    input axi_a_t m_ar      [Memories],
    input logic   m_ar_valid[Memories],
    input logic   m_ar_ready[Memories],
    input axi_r_t m_r       [Memories],
    input logic   m_r_valid [Memories],
    input logic   m_r_ready [Memories]
);
  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    consort_axi_checker #(.Name("mblock memory"), .DataWithin(DataWithin)) i_axi (
        .clk_i, .rst_ni,
        .aw_i(m_aw[m]), .aw_valid_i(m_aw_valid[m]), .aw_ready_i(m_aw_ready[m]),
        .w_i(m_w[m]), .w_valid_i(m_w_valid[m]), .w_ready_i(m_w_ready[m]),
        .b_i(m_b[m]), .b_valid_i(m_b_valid[m]), .b_ready_i(m_b_ready[m]),
        .ar_i(m_ar[m]), .ar_valid_i(m_ar_valid[m]), .ar_ready_i(m_ar_ready[m]),
        .r_i(m_r[m]), .r_valid_i(m_r_valid[m]), .r_ready_i(m_r_ready[m])
    );
  end
endmodule

// Of a port of another width both sides, where it is converted.
module consort_resize_checker
  import consort_remote_pkg::*;
#(
    parameter int unsigned SlaveWidth  = 128,
    parameter int unsigned MasterWidth = 128
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t                  s_aw_i,
    input  logic                    s_aw_valid_i,
    input  logic                    s_aw_ready_o,
    input  logic [SlaveWidth-1:0]   s_w_data_i,
    input  logic [SlaveWidth/8-1:0] s_w_strb_i,
    input  logic                    s_w_last_i,
    input  logic                    s_w_valid_i,
    input  logic                    s_w_ready_o,
    input  axi_b_t                  s_b_o,
    input  logic                    s_b_valid_o,
    input  logic                    s_b_ready_i,
    input  axi_a_t                  s_ar_i,
    input  logic                    s_ar_valid_i,
    input  logic                    s_ar_ready_o,
    input  axi_b_t                  s_r_o,         // id and resp
    input  logic [SlaveWidth-1:0]   s_r_data_o,
    input  logic                    s_r_last_o,
    input  logic                    s_r_valid_o,
    input  logic                    s_r_ready_i,

    input  axi_a_t                   m_aw_o,
    input  logic                     m_aw_valid_o,
    input  logic                     m_aw_ready_i,
    input  logic [MasterWidth-1:0]   m_w_data_o,
    input  logic [MasterWidth/8-1:0] m_w_strb_o,
    input  logic                     m_w_last_o,
    input  logic                     m_w_valid_o,
    input  logic                     m_w_ready_i,
    input  axi_b_t                   m_b_i,
    input  logic                     m_b_valid_i,
    input  logic                     m_b_ready_o,
    input  axi_a_t                   m_ar_o,
    input  logic                     m_ar_valid_o,
    input  logic                     m_ar_ready_i,
    input  axi_b_t                   m_r_i,         // id and resp
    input  logic [MasterWidth-1:0]   m_r_data_i,
    input  logic                     m_r_last_i,
    input  logic                     m_r_valid_i,
    input  logic                     m_r_ready_o
);
  typedef struct packed {
    logic [SlaveWidth-1:0]   data;
    logic [SlaveWidth/8-1:0] strb;
    logic                  last;
  } slave_w_t;
  typedef struct packed {
    logic [SlaveWidth-1:0] data;
    logic [IdWidth-1:0]  id;
    logic [1:0]          resp;
    logic                last;
  } slave_r_t;
  typedef struct packed {
    logic [MasterWidth-1:0]   data;
    logic [MasterWidth/8-1:0] strb;
    logic                  last;
  } master_w_t;
  typedef struct packed {
    logic [MasterWidth-1:0] data;
    logic [IdWidth-1:0]  id;
    logic [1:0]          resp;
    logic                last;
  } master_r_t;
  consort_axi_checker #(.Name("resize slave"), .w_t(slave_w_t), .r_t(slave_r_t)) i_s (
      .clk_i, .rst_ni,
      .aw_i(s_aw_i), .aw_valid_i(s_aw_valid_i), .aw_ready_i(s_aw_ready_o),
      .w_i({s_w_data_i, s_w_strb_i, s_w_last_i}), .w_valid_i(s_w_valid_i), .w_ready_i(s_w_ready_o),
      .b_i(s_b_o), .b_valid_i(s_b_valid_o), .b_ready_i(s_b_ready_i),
      .ar_i(s_ar_i), .ar_valid_i(s_ar_valid_i), .ar_ready_i(s_ar_ready_o),
      .r_i({s_r_data_o, s_r_o, s_r_last_o}), .r_valid_i(s_r_valid_o), .r_ready_i(s_r_ready_i)
  );
  consort_axi_checker #(.Name("resize master"), .w_t(master_w_t), .r_t(master_r_t)) i_m (
      .clk_i, .rst_ni,
      .aw_i(m_aw_o), .aw_valid_i(m_aw_valid_o), .aw_ready_i(m_aw_ready_i),
      .w_i({m_w_data_o, m_w_strb_o, m_w_last_o}), .w_valid_i(m_w_valid_o), .w_ready_i(m_w_ready_i),
      .b_i(m_b_i), .b_valid_i(m_b_valid_i), .b_ready_i(m_b_ready_o),
      .ar_i(m_ar_o), .ar_valid_i(m_ar_valid_o), .ar_ready_i(m_ar_ready_i),
      .r_i({m_r_data_i, m_r_i, m_r_last_i}), .r_valid_i(m_r_valid_i), .r_ready_i(m_r_ready_o)
  );
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

// Of a frame that counts all its units were kept: each unit behind one that was not would be taken for another.
module consort_buffer_checker
  import consort_remote_pkg::*;
#(
    parameter int unsigned RxPtr = 9
) (
    input logic           clk_i,
    input logic           accept_i,
    input logic [RxPtr:0] rx_spec_q,
    input logic [RxPtr:0] rx_commit_q,
    input header_t        end_header_i
);
  logic [RxPtr:0] kept;
  assign kept = rx_spec_q - rx_commit_q;
  always_ff @(posedge clk_i) begin
    if (accept_i) begin
      all_units : assert (kept == (RxPtr + 1)'(end_header_i.units))
      else $error("link buffer: %0d units kept of a frame of %0d", kept, end_header_i.units);
    end
  end
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
// What a memory sees keeps to the rules whatever happens to the block alone.
bind consort_mblock consort_mblock_checker #(.Memories(Memories), .DataWithin(64)) i_check (.rst_ni(m_rst_ni), .*);
bind consort_paper_cblock consort_cblock_checker #(.Ports(Ports)) i_check (.*);
bind consort_paper_mblock consort_mblock_checker #(.Memories(Memories)) i_check (.*);
bind consort_link consort_link_checker i_check (.*);
bind consort_link_buffer consort_buffer_checker #(.RxPtr(RxPtr)) i_check (.*);
bind consort_credit consort_credit_checker #(.Max(Max)) i_check (.*);
bind consort_axi_resize consort_resize_checker #(.SlaveWidth(SlaveWidth), .MasterWidth(MasterWidth)) i_check (.*);
