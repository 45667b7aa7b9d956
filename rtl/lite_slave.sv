// SPDX-License-Identifier: Apache-2.0
// AXI-Lite to single accesses of 32-bit registers: one write and one read at a time, answered in the next cycle.
module lite_slave #(
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
    input  logic [     31:0] read_data_i,
    input  logic             read_good_i
);
  localparam logic [1:0] Slverr = 2'd2;

  assign write_o = awvalid_i && wvalid_i && (!bvalid_o || bready_i);
  assign awready_o = write_o;
  assign wready_o = write_o;
  assign write_addr_o = awaddr_i;
  assign write_data_o = wdata_i;
  assign arready_o = !rvalid_o || rready_i;
  assign read_addr_o = araddr_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
      bresp_o <= '0;
      rresp_o <= '0;
      rdata_o <= '0;
    end else begin
      if (!bvalid_o || bready_i) begin
        bvalid_o <= write_o;
        bresp_o  <= write_good_i ? 2'd0 : Slverr;
      end
      if (arready_o) begin
        rvalid_o <= arvalid_i;
        rdata_o  <= read_good_i ? read_data_i : '0;
        rresp_o  <= read_good_i ? 2'd0 : Slverr;
      end
    end
  end
endmodule
