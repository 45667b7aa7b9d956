// SPDX-License-Identifier: Apache-2.0
// A slave port of a SoC, with its structs and its data width, as the channels of 128 bits that the blocks work with.
// Interface: req_i and resp_o to and from channels.
// Parameters: req_t and resp_t, structs of the SoC: of their data's width (64, 128, 256 or 512) the port is; Reads and Outstanding writes under way
// at once where that is not 128.
// Throughput: a beat of the narrower bus a cycle each way.
// Latency: none with 128 bits; else that of consort_axi_resize.
// Assumes: the structs have the members of the open AXI libraries.
// Held by: tests/rtl/test_packages.py (widths that do not fit are refused at elaboration); tests/rtl/test_widths.py.
module consort_axi_slave_port
  import consort_remote_pkg::*;
#(
    parameter type req_t  = axi_req_t,
    parameter type resp_t = axi_resp_t,
    parameter int unsigned Reads = 32,
    parameter int unsigned Outstanding = 32
) (
    input logic clk_i,
    input logic rst_ni,

    input  req_t  req_i,
    output resp_t resp_o,

    output axi_a_t aw_o,
    output logic   aw_valid_o,
    input  logic   aw_ready_i,
    output axi_w_t w_o,
    output logic   w_valid_o,
    input  logic   w_ready_i,
    input  axi_b_t b_i,
    input  logic   b_valid_i,
    output logic   b_ready_o,
    output axi_a_t ar_o,
    output logic   ar_valid_o,
    input  logic   ar_ready_i,
    input  axi_r_t r_i,
    input  logic   r_valid_i,
    output logic   r_ready_o
);
  localparam int unsigned PortData = $bits(req_i.w.data);
  typedef struct packed {
    logic [PortData-1:0]   data;
    logic [PortData/8-1:0] strb;
    logic                  last;
  } port_w_t;
  typedef struct packed {
    logic [PortData-1:0] data;
    logic [IdWidth-1:0]  id;
    logic [1:0]          resp;
    logic                last;
  } port_r_t;

  axi_a_t aw, ar;
  port_w_t w;
  axi_b_t b, r_of;
  port_r_t r;
  logic aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready, ar_valid, ar_ready, r_valid, r_ready;

  consort_axi_unpack #(
      .req_t(req_t),
      .resp_t(resp_t),
      .w_t(port_w_t),
      .r_t(port_r_t)
  ) i_unpack (
      .req_i,
      .resp_o,
      .aw_o(aw),
      .aw_valid_o(aw_valid),
      .aw_ready_i(aw_ready),
      .w_o(w),
      .w_valid_o(w_valid),
      .w_ready_i(w_ready),
      .b_i(b),
      .b_valid_i(b_valid),
      .b_ready_o(b_ready),
      .ar_o(ar),
      .ar_valid_o(ar_valid),
      .ar_ready_i(ar_ready),
      .r_i(r),
      .r_valid_i(r_valid),
      .r_ready_o(r_ready)
  );
  assign {r.id, r.resp} = r_of;

  // Of the channel to the blocks the members that are not data.
  axi_b_t core_r_of;
  assign core_r_of = '{id: r_i.id, resp: r_i.resp};

  consort_axi_resize #(
      .SlaveWidth(PortData),
      .MasterWidth(DataWidth),
      .Reads(Reads),
      .Outstanding(Outstanding)
  ) i_resize (
      .clk_i,
      .rst_ni,
      .s_aw_i(aw),
      .s_aw_valid_i(aw_valid),
      .s_aw_ready_o(aw_ready),
      .s_w_data_i(w.data),
      .s_w_strb_i(w.strb),
      .s_w_last_i(w.last),
      .s_w_valid_i(w_valid),
      .s_w_ready_o(w_ready),
      .s_b_o(b),
      .s_b_valid_o(b_valid),
      .s_b_ready_i(b_ready),
      .s_ar_i(ar),
      .s_ar_valid_i(ar_valid),
      .s_ar_ready_o(ar_ready),
      .s_r_o(r_of),
      .s_r_data_o(r.data),
      .s_r_last_o(r.last),
      .s_r_valid_o(r_valid),
      .s_r_ready_i(r_ready),
      .m_aw_o(aw_o),
      .m_aw_valid_o(aw_valid_o),
      .m_aw_ready_i(aw_ready_i),
      .m_w_data_o(w_o.data),
      .m_w_strb_o(w_o.strb),
      .m_w_last_o(w_o.last),
      .m_w_valid_o(w_valid_o),
      .m_w_ready_i(w_ready_i),
      .m_b_i(b_i),
      .m_b_valid_i(b_valid_i),
      .m_b_ready_o(b_ready_o),
      .m_ar_o(ar_o),
      .m_ar_valid_o(ar_valid_o),
      .m_ar_ready_i(ar_ready_i),
      .m_r_i(core_r_of),
      .m_r_data_i(r_i.data),
      .m_r_last_i(r_i.last),
      .m_r_valid_i(r_valid_i),
      .m_r_ready_o(r_ready_o)
  );
endmodule
