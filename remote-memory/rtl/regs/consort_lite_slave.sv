// SPDX-License-Identifier: Apache-2.0
// AXI-Lite to single accesses of 32-bit registers: one write and one read at a time. The address shows for a cycle before its
// answer is looked at, so a register may lie in between. A write of some of a register's bytes is none: it ends with SLVERR.
// Interface: AXI-Lite as req_i and its answer; write_* and read_* single accesses.
// Parameters: Width of an address; req_t and resp_t of the SoC.
// Throughput: one write and one read at a time.
// Latency: three cycles to an answer.
// Assumes: what is read is there a cycle after its address.
// Held by: proof tests/rtl/formal/lite_slave_check.sv, tests/rtl/test_proofs.py.
module consort_lite_slave #(
    parameter int unsigned Width = 12,
    parameter type req_t = logic,
    parameter type resp_t = logic
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  req_t             req_i,
    output resp_t            resp_o,
    output logic             write_o,
    output logic [Width-1:0] write_addr_o,
    output logic [     31:0] write_data_o,
    input  logic             write_good_i,  // there is such a register
    output logic [Width-1:0] read_addr_o,
    input  logic [     31:0] read_data_i,   // zero where there is none
    input  logic             read_good_i
);
  localparam logic [1:0] Slverr = 2'd2;

  logic write_busy_q, write_ripe_q, write_q, read_busy_q, read_ripe_q, whole_q;
  logic awready, arready, bvalid_q, rvalid_q;
  logic [1:0] bresp_q, rresp_q;
  logic [31:0] rdata_q;

  always_comb begin
    resp_o = '0;
    resp_o.aw_ready = awready;
    resp_o.w_ready = awready;
    resp_o.b.resp = bresp_q;
    resp_o.b_valid = bvalid_q;
    resp_o.ar_ready = arready;
    resp_o.r.data = rdata_q;
    resp_o.r.resp = rresp_q;
    resp_o.r_valid = rvalid_q;
  end

  assign awready = req_i.aw_valid && req_i.w_valid && !write_busy_q && !bvalid_q;
  assign write_o = write_q;
  assign arready = !read_busy_q && !rvalid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_busy_q <= 1'b0;
      write_ripe_q <= 1'b0;
      write_q <= 1'b0;
      read_busy_q <= 1'b0;
      read_ripe_q <= 1'b0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      write_busy_q <= awready || (write_busy_q && !write_ripe_q);
      write_ripe_q <= write_busy_q && !write_ripe_q;
      write_q <= write_busy_q && !write_ripe_q && whole_q;
      read_busy_q <= (req_i.ar_valid && arready) || (read_busy_q && !read_ripe_q);
      read_ripe_q <= read_busy_q && !read_ripe_q;
      if (write_ripe_q) bvalid_q <= 1'b1;
      else if (req_i.b_ready) bvalid_q <= 1'b0;
      if (read_ripe_q) rvalid_q <= 1'b1;
      else if (req_i.r_ready) rvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (awready) begin
      write_addr_o <= Width'(req_i.aw.addr);
      write_data_o <= req_i.w.data;
      whole_q <= req_i.w.strb == '1;
    end
    if (arready) read_addr_o <= Width'(req_i.ar.addr);
    if (write_ripe_q) bresp_q <= write_good_i && whole_q ? 2'd0 : Slverr;
    if (read_ripe_q) begin
      rdata_q <= read_data_i;
      rresp_q <= read_good_i ? 2'd0 : Slverr;
    end
  end
endmodule
