// SPDX-License-Identifier: Apache-2.0
// One AXI4 interface as the flat signals that cocotbext-axi looks for. Those that the other side drives are written from
// Python.

// Python is the master.
module axi_master_pins
  import consort_remote_pkg::*;
(
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
  logic [15:0] awid, arid, bid, rid;
  logic [39:0] awaddr, araddr;
  logic [7:0] awlen, arlen;
  logic [2:0] awsize, arsize;
  logic [1:0] awburst, arburst, bresp, rresp;
  logic [2:0] awprot, arprot;
  logic awvalid, awready, arvalid, arready, wvalid, wready, bvalid, bready, rvalid, rready, wlast, rlast;
  logic [127:0] wdata, rdata;
  logic [15:0] wstrb;

  assign aw_o = '{addr: awaddr, id: awid, len: awlen, size: awsize, burst: awburst, prot: awprot, cache: 4'd3, default: '0};
  assign aw_valid_o = awvalid;
  assign awready = aw_ready_i;
  assign w_o = '{data: wdata, strb: wstrb, last: wlast};
  assign w_valid_o = wvalid;
  assign wready = w_ready_i;
  assign {bid, bresp} = b_i;
  assign bvalid = b_valid_i;
  assign b_ready_o = bready;
  assign ar_o = '{addr: araddr, id: arid, len: arlen, size: arsize, burst: arburst, prot: arprot, cache: 4'd3, default: '0};
  assign ar_valid_o = arvalid;
  assign arready = ar_ready_i;
  assign {rdata, rid, rresp, rlast} = r_i;
  assign rvalid = r_valid_i;
  assign r_ready_o = rready;
endmodule

// Python is the slave.
module axi_slave_pins
  import consort_remote_pkg::*;
(
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
  logic [15:0] awid, arid, bid, rid;
  logic [39:0] awaddr, araddr;
  logic [7:0] awlen, arlen;
  logic [2:0] awsize, arsize;
  logic [1:0] awburst, arburst, bresp, rresp;
  logic [2:0] awprot, arprot;
  logic [3:0] awcache, arcache, awqos, arqos;
  logic awlock, arlock;
  logic awvalid, awready, arvalid, arready, wvalid, wready, bvalid, bready, rvalid, rready, wlast, rlast;
  logic [127:0] wdata, rdata;
  logic [15:0] wstrb;

  assign {awaddr, awid, awlen, awsize, awburst, awlock, awcache, awprot, awqos} = aw_i;
  assign awvalid = aw_valid_i;
  assign aw_ready_o = awready;
  assign {wdata, wstrb, wlast} = w_i;
  assign wvalid = w_valid_i;
  assign w_ready_o = wready;
  assign b_o = '{id: bid, resp: bresp};
  assign b_valid_o = bvalid;
  assign bready = b_ready_i;
  assign {araddr, arid, arlen, arsize, arburst, arlock, arcache, arprot, arqos} = ar_i;
  assign arvalid = ar_valid_i;
  assign ar_ready_o = arready;
  assign r_o = '{data: rdata, id: rid, resp: rresp, last: rlast};
  assign r_valid_o = rvalid;
  assign rready = r_ready_i;
endmodule
