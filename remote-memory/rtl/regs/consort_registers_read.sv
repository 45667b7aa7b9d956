// SPDX-License-Identifier: Apache-2.0
// Registers to read, each with the address that it is at: chosen a cycle after the address.
// Interface: addresses and values in, the one that is read out.
// Parameters: Sources, registers that can be read.
// Throughput: one a cycle.
// Latency: one cycle.
// Assumes: no two registers have one address.
// Held by: tests/rtl/test_remote_registers.py.
module consort_registers_read #(
    parameter int unsigned Sources = 1
) (
    input  logic        clk_i,
    input  logic [11:0] addr_i,
    input  logic [11:0] places_i[Sources],
    input  logic [31:0] values_i[Sources],
    output logic [31:0] value_o,
    output logic        there_o
);
  logic [Sources-1:0] chosen_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Sources; i++) chosen_q[i] <= addr_i == places_i[i];
  end

  always_comb begin
    value_o = '0;
    for (int unsigned i = 0; i < Sources; i++) value_o = value_o | (chosen_q[i] ? values_i[i] : 32'd0);
    there_o = chosen_q != '0;
  end
endmodule
