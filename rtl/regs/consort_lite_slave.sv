// SPDX-License-Identifier: Apache-2.0
// AXI-Lite to single accesses of 32-bit registers: one write and one read at a time. The address shows for a cycle before its
// answer is looked at, so a register may lie in between.
module consort_lite_slave #(
    parameter int unsigned Width = 12
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [Width-1:0] awaddr_i,
    input  logic             awvalid_i,
    output logic             awready_o,
    input  logic [     31:0] wdata_i,
    input  logic             wvalid_i,
    output logic             wready_o,
    output logic [      1:0] bresp_o,
    output logic             bvalid_o,
    input  logic             bready_i,
    input  logic [Width-1:0] araddr_i,
    input  logic             arvalid_i,
    output logic             arready_o,
    output logic [     31:0] rdata_o,
    output logic [      1:0] rresp_o,
    output logic             rvalid_o,
    input  logic             rready_i,
    output logic             write_o,
    output logic [Width-1:0] write_addr_o,
    output logic [     31:0] write_data_o,
    input  logic             write_good_i,  // there is such a register
    output logic [Width-1:0] read_addr_o,
    input  logic [     31:0] read_data_i,   // zero where there is none
    input  logic             read_good_i
);
  localparam logic [1:0] Slverr = 2'd2;

  logic write_busy_q, write_ripe_q, read_busy_q, read_ripe_q;

  assign awready_o = awvalid_i && wvalid_i && !write_busy_q && !bvalid_o;
  assign wready_o = awready_o;
  assign write_o = write_ripe_q;
  assign arready_o = !read_busy_q && !rvalid_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_busy_q <= 1'b0;
      write_ripe_q <= 1'b0;
      read_busy_q <= 1'b0;
      read_ripe_q <= 1'b0;
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
    end else begin
      write_busy_q <= awready_o || (write_busy_q && !write_ripe_q);
      write_ripe_q <= write_busy_q && !write_ripe_q;
      read_busy_q <= (arvalid_i && arready_o) || (read_busy_q && !read_ripe_q);
      read_ripe_q <= read_busy_q && !read_ripe_q;
      if (write_ripe_q) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      if (read_ripe_q) rvalid_o <= 1'b1;
      else if (rready_i) rvalid_o <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (awready_o) begin
      write_addr_o <= awaddr_i;
      write_data_o <= wdata_i;
    end
    if (arready_o) read_addr_o <= araddr_i;
    if (write_ripe_q) bresp_o <= write_good_i ? 2'd0 : Slverr;
    if (read_ripe_q) begin
      rdata_o <= read_data_i;
      rresp_o <= read_good_i ? 2'd0 : Slverr;
    end
  end
endmodule
