// SPDX-License-Identifier: Apache-2.0
// The AXI-Lite slave with a master that keeps the rules: an answer stays until it is taken; each write is carried out once, with
// its own address and data, and answered once, as is each read with what its register held; nothing is answered that was not
// asked, and an answer comes three cycles after its request. Of an address without a register,
// and of a write with strobes that are not set, the answer is SLVERR.
module lite_slave_check (
    input logic        clk,
    input logic        rst_n,
    input logic [ 3:0] awaddr,
    input logic        awvalid,
    input logic [31:0] wdata,
    input logic [ 3:0] wstrb,
    input logic        wvalid,
    input logic        bready,
    input logic [ 3:0] araddr,
    input logic        arvalid,
    input logic        rready,
    input logic        write_good,
    input logic [31:0] read_data,
    input logic        read_good
);
  logic awready, wready, bvalid, arready, rvalid, write;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata, write_data;
  logic [3:0] write_addr, read_addr;
  logic past_valid = 1'b0;

  // With the narrow addresses of the proof.
  typedef struct packed {logic [3:0] addr;} a_t;
  typedef struct packed {
    a_t aw;
    logic aw_valid;
    consort_remote_pkg::lite_w_t w;
    logic w_valid, b_ready;
    a_t ar;
    logic ar_valid, r_ready;
  } req_t;
  req_t req;
  consort_remote_pkg::lite_resp_t resp;
  assign req = {awaddr, awvalid, wdata, wstrb, wvalid, bready, araddr, arvalid, rready};
  assign {awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid} = resp;

  consort_lite_slave #(
      .Width (4),
      .req_t (req_t),
      .resp_t(consort_remote_pkg::lite_resp_t)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .req_i(req), .resp_o(resp),
      .write_o(write), .write_addr_o(write_addr), .write_data_o(write_data), .write_good_i(write_good),
      .read_addr_o(read_addr), .read_data_i(read_data), .read_good_i(read_good)
  );

  // Cycles since the request, up to three; of the write whether it was carried out, and how.
  logic writing_q, written_q, written_good_q, reading_q;
  logic [1:0] write_age_q, read_age_q;
  logic [3:0] awaddr_q, araddr_q;
  logic [31:0] wdata_q;
  logic whole_q;
  logic aw_waits_q, w_waits_q, ar_waits_q, b_waits_q, r_waits_q;
  logic [3:0] awaddr_before_q, araddr_before_q;
  logic [3:0] wstrb_before_q;
  logic [31:0] wdata_before_q, rdata_before_q, register_q;
  logic [1:0] bresp_before_q, rresp_before_q;
  logic register_good_q;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    awaddr_before_q <= awaddr;
    wdata_before_q <= wdata;
    wstrb_before_q <= wstrb;
    araddr_before_q <= araddr;
    bresp_before_q <= bresp;
    rdata_before_q <= rdata;
    rresp_before_q <= rresp;
    register_q <= read_data;
    register_good_q <= read_good;
    if (!rst_n) begin
      {writing_q, written_q, reading_q} <= '0;
      {aw_waits_q, w_waits_q, ar_waits_q, b_waits_q, r_waits_q} <= '0;
    end else begin
      aw_waits_q <= awvalid && !awready;
      w_waits_q <= wvalid && !wready;
      ar_waits_q <= arvalid && !arready;
      b_waits_q <= bvalid && !bready;
      r_waits_q <= rvalid && !rready;
      if (awvalid && awready) begin
        writing_q <= 1'b1;
        written_q <= 1'b0;
        write_age_q <= 2'd1;
        awaddr_q <= awaddr;
        wdata_q <= wdata;
        whole_q <= wstrb == '1;
      end else begin
        if (bvalid && bready) writing_q <= 1'b0;
        if (write_age_q != 2'd3) write_age_q <= write_age_q + 2'd1;
      end
      if (writing_q && write_age_q == 2'd2) begin
        written_q <= 1'b1;
        written_good_q <= write_good && whole_q;
      end
      if (arvalid && arready) begin
        reading_q <= 1'b1;
        read_age_q <= 2'd1;
        araddr_q <= araddr;
      end else begin
        if (rvalid && rready) reading_q <= 1'b0;
        if (read_age_q != 2'd3) read_age_q <= read_age_q + 2'd1;
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (aw_waits_q) assume (awvalid && awaddr == awaddr_before_q);
      if (w_waits_q) assume (wvalid && wdata == wdata_before_q && wstrb == wstrb_before_q);
      if (ar_waits_q) assume (arvalid && araddr == araddr_before_q);
    end
  end

  always_comb begin
    if (past_valid && rst_n) begin
      if (b_waits_q) assert (bvalid && bresp == bresp_before_q);
      if (r_waits_q) assert (rvalid && rdata == rdata_before_q && rresp == rresp_before_q);
      // Address and data are taken together, and of each kind one at a time.
      if (awready || wready) assert (awvalid && wvalid && awready && wready);
      if (awvalid && awready) assert (!writing_q);
      if (arvalid && arready) assert (!reading_q);
      // Somebody who waits is taken as soon as nothing is under way.
      if (awvalid && wvalid && !writing_q) assert (awready);
      if (arvalid && !reading_q) assert (arready);
      // One answer for each request, three cycles after it.
      assert (bvalid == (writing_q && write_age_q == 2'd3));
      assert (rvalid == (reading_q && read_age_q == 2'd3));
      // Carried out in the second cycle, and only then, where all strobes are set.
      assert (write == (writing_q && write_age_q == 2'd2 && whole_q));
      if (write) assert (write_addr == awaddr_q && write_data == wdata_q);
      if (bvalid) assert (written_q && bresp == (written_good_q ? 2'd0 : 2'd2));
      if (reading_q && read_age_q != 2'd3) assert (read_addr == araddr_q);
      if (rvalid && !r_waits_q) begin
        assert (rresp == (register_good_q ? 2'd0 : 2'd2));
        assert (rdata == register_q);
      end
`ifdef PROVE
      // About its state.
      if (writing_q) assert (write_age_q != 2'd0 && written_q == (write_age_q == 2'd3));
      if (reading_q) assert (read_age_q != 2'd0);
      assert (dut.write_busy_q == (writing_q && write_age_q != 2'd3));
      assert (dut.write_ripe_q == (writing_q && write_age_q == 2'd2));
      assert (dut.read_busy_q == (reading_q && read_age_q != 2'd3));
      assert (dut.read_ripe_q == (reading_q && read_age_q == 2'd2));
      if (writing_q) assert (write_addr == awaddr_q && write_data == wdata_q && dut.whole_q == whole_q);
`endif
    end
  end
endmodule
