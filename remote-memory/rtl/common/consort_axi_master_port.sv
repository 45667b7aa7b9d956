// SPDX-License-Identifier: Apache-2.0
// The channels of 128 bits that the blocks work with as a master port of a SoC, with its structs and its data width.
// Interface: channels to and from req_o and resp_i.
// Parameters: req_t and resp_t, structs of the SoC: of their data's width (64, 128, 256 or 512) the port is; Ids, the bits of an id that may be
// set; Reads and Outstanding writes under way at once where that is not 128.
// Throughput: a beat of the narrower bus a cycle each way.
// Latency: none with 128 bits; else that of consort_axi_resize.
// Assumes: the structs have the members of the open AXI libraries.
// Held by: tests/rtl/test_packages.py (widths that do not fit are refused at elaboration); tests/rtl/test_widths.py.
module consort_axi_master_port
  import consort_remote_pkg::*;
#(
    parameter type req_t  = axi_req_t,
    parameter type resp_t = axi_resp_t,
    parameter int unsigned Ids = IdWidth,  // bits of an id that may be set
    parameter int unsigned Reads = 32,
    parameter int unsigned Outstanding = 32
) (
    input logic clk_i,
    input logic rst_ni,

    output req_t  req_o,
    input  resp_t resp_i,

    input  axi_a_t aw_i,
    input  logic   aw_valid_i,
    output logic   aw_ready_o,
    input  axi_w_t w_i,
    input  logic   w_valid_i,
    output logic   w_ready_o,
    output axi_b_t b_o,
    output logic   b_valid_o,
    input  logic   b_ready_i,
    input  axi_a_t ar_i,
    input  logic   ar_valid_i,
    output logic   ar_ready_o,
    output axi_r_t r_o,
    output logic   r_valid_o,
    input  logic   r_ready_i
);
  localparam int unsigned PortData = $bits(req_o.w.data);
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

  // Of the channel to the blocks the members that are not data.
  axi_b_t core_r_of;
  assign {r_o.id, r_o.resp} = core_r_of;
  assign r_of = '{id: r.id, resp: r.resp};

  consort_axi_resize #(
      .SlaveWidth(DataWidth),
      .MasterWidth(PortData),
      .Reads(Reads),
      .Outstanding(Outstanding)
  ) i_resize (
      .clk_i,
      .rst_ni,
      .s_aw_i(aw_i),
      .s_aw_valid_i(aw_valid_i),
      .s_aw_ready_o(aw_ready_o),
      .s_w_data_i(w_i.data),
      .s_w_strb_i(w_i.strb),
      .s_w_last_i(w_i.last),
      .s_w_valid_i(w_valid_i),
      .s_w_ready_o(w_ready_o),
      .s_b_o(b_o),
      .s_b_valid_o(b_valid_o),
      .s_b_ready_i(b_ready_i),
      .s_ar_i(ar_i),
      .s_ar_valid_i(ar_valid_i),
      .s_ar_ready_o(ar_ready_o),
      .s_r_o(core_r_of),
      .s_r_data_o(r_o.data),
      .s_r_last_o(r_o.last),
      .s_r_valid_o(r_valid_o),
      .s_r_ready_i(r_ready_i),
      .m_aw_o(aw),
      .m_aw_valid_o(aw_valid),
      .m_aw_ready_i(aw_ready),
      .m_w_data_o(w.data),
      .m_w_strb_o(w.strb),
      .m_w_last_o(w.last),
      .m_w_valid_o(w_valid),
      .m_w_ready_i(w_ready),
      .m_b_i(b),
      .m_b_valid_i(b_valid),
      .m_b_ready_o(b_ready),
      .m_ar_o(ar),
      .m_ar_valid_o(ar_valid),
      .m_ar_ready_i(ar_ready),
      .m_r_i(r_of),
      .m_r_data_i(r.data),
      .m_r_last_i(r.last),
      .m_r_valid_i(r_valid),
      .m_r_ready_o(r_ready)
  );

  consort_axi_pack #(
      .req_t(req_t),
      .resp_t(resp_t),
      .w_t(port_w_t),
      .r_t(port_r_t),
      .Ids(Ids)
  ) i_pack (
      .req_o,
      .resp_i,
      .aw_i(aw),
      .aw_valid_i(aw_valid),
      .aw_ready_o(aw_ready),
      .w_i(w),
      .w_valid_i(w_valid),
      .w_ready_o(w_ready),
      .b_o(b),
      .b_valid_o(b_valid),
      .b_ready_i(b_ready),
      .ar_i(ar),
      .ar_valid_i(ar_valid),
      .ar_ready_o(ar_ready),
      .r_o(r),
      .r_valid_o(r_valid),
      .r_ready_i(r_ready)
  );
endmodule
