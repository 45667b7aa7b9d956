// SPDX-License-Identifier: Apache-2.0
// An AXI4 port of one data width in front of one of another, or of the same: then it is wires.
// Interface: a slave s_*, a master m_*; a data channel is its data beside the other members.
// Parameters: SlaveWidth, MasterWidth, bits of the two buses' data; Reads and Outstanding writes under way at once.
// Throughput: a beat of the narrower bus a cycle each way.
// Latency: that of consort_axi_upsize or consort_axi_downsize; none where the widths are the same.
// Assumes: that of consort_axi_upsize and consort_axi_downsize.
// Held by: AXI4 checkers on both sides and a model of bytes over all pairs of widths, tests/rtl/test_widths.py.
module consort_axi_resize
  import consort_remote_pkg::*;
#(
    parameter int unsigned SlaveWidth  = 128,
    parameter int unsigned MasterWidth = 128,
    parameter int unsigned Reads = 32,
    parameter int unsigned Outstanding = 32
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t                  s_aw_i,
    input  logic                    s_aw_valid_i,
    output logic                    s_aw_ready_o,
    input  logic [SlaveWidth-1:0]   s_w_data_i,
    input  logic [SlaveWidth/8-1:0] s_w_strb_i,
    input  logic                    s_w_last_i,
    input  logic                    s_w_valid_i,
    output logic                    s_w_ready_o,
    output axi_b_t                  s_b_o,
    output logic                    s_b_valid_o,
    input  logic                    s_b_ready_i,
    input  axi_a_t                  s_ar_i,
    input  logic                    s_ar_valid_i,
    output logic                    s_ar_ready_o,
    output axi_b_t                  s_r_o,         // id and resp
    output logic [SlaveWidth-1:0]   s_r_data_o,
    output logic                    s_r_last_o,
    output logic                    s_r_valid_o,
    input  logic                    s_r_ready_i,

    output axi_a_t                   m_aw_o,
    output logic                     m_aw_valid_o,
    input  logic                     m_aw_ready_i,
    output logic [MasterWidth-1:0]   m_w_data_o,
    output logic [MasterWidth/8-1:0] m_w_strb_o,
    output logic                     m_w_last_o,
    output logic                     m_w_valid_o,
    input  logic                     m_w_ready_i,
    input  axi_b_t                   m_b_i,
    input  logic                     m_b_valid_i,
    output logic                     m_b_ready_o,
    output axi_a_t                   m_ar_o,
    output logic                     m_ar_valid_o,
    input  logic                     m_ar_ready_i,
    input  axi_b_t                   m_r_i,         // id and resp
    input  logic [MasterWidth-1:0]   m_r_data_i,
    input  logic                     m_r_last_i,
    input  logic                     m_r_valid_i,
    output logic                     m_r_ready_o
);
  if (!(SlaveWidth inside {64, 128, 256, 512}) || !(MasterWidth inside {64, 128, 256, 512})) begin : gen_check_widths
    $error("axi_resize: a port's data must be of 64, 128, 256 or 512 bits");
  end

  if (SlaveWidth < MasterWidth) begin : gen_up
    consort_axi_upsize #(
        .SlaveWidth(SlaveWidth),
        .MasterWidth(MasterWidth),
        .Reads(Reads)
    ) i_size (
        .*
    );
  end else if (SlaveWidth > MasterWidth) begin : gen_down
    consort_axi_downsize #(
        .SlaveWidth(SlaveWidth),
        .MasterWidth(MasterWidth),
        .Reads(Reads),
        .Outstanding(Outstanding)
    ) i_size (
        .*
    );
  end else begin : gen_same
    logic unused;
    assign unused = &{1'b0, clk_i, rst_ni};
    assign m_aw_o = s_aw_i;
    assign m_aw_valid_o = s_aw_valid_i;
    assign s_aw_ready_o = m_aw_ready_i;
    assign m_w_data_o = s_w_data_i;
    assign m_w_strb_o = s_w_strb_i;
    assign m_w_last_o = s_w_last_i;
    assign m_w_valid_o = s_w_valid_i;
    assign s_w_ready_o = m_w_ready_i;
    assign s_b_o = m_b_i;
    assign s_b_valid_o = m_b_valid_i;
    assign m_b_ready_o = s_b_ready_i;
    assign m_ar_o = s_ar_i;
    assign m_ar_valid_o = s_ar_valid_i;
    assign s_ar_ready_o = m_ar_ready_i;
    assign s_r_o = m_r_i;
    assign s_r_data_o = m_r_data_i;
    assign s_r_last_o = m_r_last_i;
    assign s_r_valid_o = m_r_valid_i;
    assign m_r_ready_o = s_r_ready_i;
  end
endmodule
