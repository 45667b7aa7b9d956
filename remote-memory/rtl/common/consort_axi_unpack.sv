// SPDX-License-Identifier: Apache-2.0
// A slave port's request and answer as structs of the SoC's own, and as the channels that the blocks work with. Wires alone. Addresses
// and ids of the port are at most as wide as those of the build; members that the blocks do not know are not looked at.
// Interface: req_i and resp_o to and from channels.
// Parameters: req_t and resp_t, structs of the SoC; w_t and r_t, channels with its data.
// Throughput: a beat of each channel a cycle.
// Latency: none, wires.
// Assumes: the structs have the members of the open AXI libraries.
// Held by: tests/rtl/test_packages.py (widths that do not fit are refused at elaboration).
module consort_axi_unpack
  import consort_remote_pkg::*;
#(
    parameter type req_t  = axi_req_t,
    parameter type resp_t = axi_resp_t,
    parameter type w_t = axi_w_t,  // with the data of the port
    parameter type r_t = axi_r_t
) (
    input  req_t  req_i,
    output resp_t resp_o,

    output axi_a_t aw_o,
    output logic   aw_valid_o,
    input  logic   aw_ready_i,
    output w_t     w_o,
    output logic   w_valid_o,
    input  logic   w_ready_i,
    input  axi_b_t b_i,
    input  logic   b_valid_i,
    output logic   b_ready_o,
    output axi_a_t ar_o,
    output logic   ar_valid_o,
    input  logic   ar_ready_i,
    input  r_t     r_i,
    input  logic   r_valid_i,
    output logic   r_ready_o
);
  localparam int unsigned PortId = $bits(req_i.aw.id);

  if ($bits(req_i.aw.addr) > AddrWidth || PortId > IdWidth) begin : gen_check_widths
    $error("axi_unpack: a port's addresses and ids must not be wider than those of consort_config_pkg");
  end
  if ($bits(req_i.w.data) != $bits(w_o.data) || $bits(resp_o.r.data) != $bits(r_i.data)) begin : gen_check_data
    $error("axi_unpack: a port's data must be as wide as those of w_t and r_t");
  end

  assign aw_o = '{
          addr: AddrWidth'(req_i.aw.addr),
          id: IdWidth'(req_i.aw.id),
          len: req_i.aw.len,
          size: req_i.aw.size,
          burst: req_i.aw.burst,
          lock: req_i.aw.lock,
          cache: req_i.aw.cache,
          prot: req_i.aw.prot,
          qos: req_i.aw.qos
      };
  assign ar_o = '{
          addr: AddrWidth'(req_i.ar.addr),
          id: IdWidth'(req_i.ar.id),
          len: req_i.ar.len,
          size: req_i.ar.size,
          burst: req_i.ar.burst,
          lock: req_i.ar.lock,
          cache: req_i.ar.cache,
          prot: req_i.ar.prot,
          qos: req_i.ar.qos
      };
  assign w_o = '{data: req_i.w.data, strb: req_i.w.strb, last: req_i.w.last};
  assign aw_valid_o = req_i.aw_valid;
  assign w_valid_o = req_i.w_valid;
  assign b_ready_o = req_i.b_ready;
  assign ar_valid_o = req_i.ar_valid;
  assign r_ready_o = req_i.r_ready;

  always_comb begin
    resp_o = '0;
    resp_o.aw_ready = aw_ready_i;
    resp_o.w_ready = w_ready_i;
    resp_o.b.id = PortId'(b_i.id);
    resp_o.b.resp = b_i.resp;
    resp_o.b_valid = b_valid_i;
    resp_o.ar_ready = ar_ready_i;
    resp_o.r.id = PortId'(r_i.id);
    resp_o.r.data = r_i.data;
    resp_o.r.resp = r_i.resp;
    resp_o.r.last = r_i.last;
    resp_o.r_valid = r_valid_i;
  end
endmodule
