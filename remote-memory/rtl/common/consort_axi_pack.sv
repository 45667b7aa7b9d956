// SPDX-License-Identifier: Apache-2.0
// The channels that the blocks work with as a master port's request and answer: structs of the SoC's own. Wires alone. The port's
// addresses and ids are at least as wide as those of the block; members that the blocks do not know are zero.
// Interface: channels to and from req_o and resp_i.
// Parameters: req_t and resp_t, structs of the SoC; w_t and r_t, channels with its data; Ids, the bits of an id that may be set.
// Throughput: a beat of each channel a cycle.
// Latency: none, wires.
// Assumes: the structs have the members of the open AXI libraries.
// Held by: tests/rtl/test_packages.py (widths that do not fit are refused at elaboration).
module consort_axi_pack
  import consort_remote_pkg::*;
#(
    parameter type req_t  = axi_req_t,
    parameter type resp_t = axi_resp_t,
    parameter type w_t = axi_w_t,  // with the data of the port
    parameter type r_t = axi_r_t,
    parameter int unsigned Ids = IdWidth  // bits of an id that may be set
) (
    output req_t  req_o,
    input  resp_t resp_i,

    input  axi_a_t aw_i,
    input  logic   aw_valid_i,
    output logic   aw_ready_o,
    input  w_t     w_i,
    input  logic   w_valid_i,
    output logic   w_ready_o,
    output axi_b_t b_o,
    output logic   b_valid_o,
    input  logic   b_ready_i,
    input  axi_a_t ar_i,
    input  logic   ar_valid_i,
    output logic   ar_ready_o,
    output r_t     r_o,
    output logic   r_valid_o,
    input  logic   r_ready_i
);
  localparam int unsigned PortAddr = $bits(req_o.aw.addr);
  localparam int unsigned PortId = $bits(req_o.aw.id);

  if (PortAddr < AddrWidth || PortId < Ids) begin : gen_check_widths
    $error("axi_pack: a port's addresses must be as wide as those of consort_config_pkg, its ids as what the block sets");
  end
  if ($bits(req_o.w.data) != $bits(w_i.data) || $bits(resp_i.r.data) != $bits(r_o.data)) begin : gen_check_data
    $error("axi_pack: a port's data must be as wide as those of w_t and r_t");
  end

  always_comb begin
    req_o = '0;
    req_o.aw.addr = PortAddr'(aw_i.addr);
    req_o.aw.id = PortId'(aw_i.id);
    req_o.aw.len = aw_i.len;
    req_o.aw.size = aw_i.size;
    req_o.aw.burst = aw_i.burst;
    req_o.aw.lock = aw_i.lock;
    req_o.aw.cache = aw_i.cache;
    req_o.aw.prot = aw_i.prot;
    req_o.aw.qos = aw_i.qos;
    req_o.aw_valid = aw_valid_i;
    req_o.ar.addr = PortAddr'(ar_i.addr);
    req_o.ar.id = PortId'(ar_i.id);
    req_o.ar.len = ar_i.len;
    req_o.ar.size = ar_i.size;
    req_o.ar.burst = ar_i.burst;
    req_o.ar.lock = ar_i.lock;
    req_o.ar.cache = ar_i.cache;
    req_o.ar.prot = ar_i.prot;
    req_o.ar.qos = ar_i.qos;
    req_o.ar_valid = ar_valid_i;
    req_o.w.data = w_i.data;
    req_o.w.strb = w_i.strb;
    req_o.w.last = w_i.last;
    req_o.w_valid = w_valid_i;
    req_o.b_ready = b_ready_i;
    req_o.r_ready = r_ready_i;
  end

  assign aw_ready_o = resp_i.aw_ready;
  assign w_ready_o = resp_i.w_ready;
  assign b_o = '{id: IdWidth'(resp_i.b.id), resp: resp_i.b.resp};
  assign b_valid_o = resp_i.b_valid;
  assign ar_ready_o = resp_i.ar_ready;
  assign r_o = '{data: resp_i.r.data, id: IdWidth'(resp_i.r.id), resp: resp_i.r.resp, last: resp_i.r.last};
  assign r_valid_o = resp_i.r_valid;
endmodule
