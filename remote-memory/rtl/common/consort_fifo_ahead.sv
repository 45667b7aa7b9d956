// SPDX-License-Identifier: Apache-2.0
// A fifo whose oldest entry is read ahead into a register: what is done with it need not wait for the memory. It takes a
// cycle more than a fifo.
// Interface: two streams; clear_i empties it; empty_o also where the oldest word does not show yet.
// Parameters: T, of a word; Depth, a power of two, at least 4.
// Throughput: a word a cycle.
// Latency: a word shows two cycles later.
// Assumes: nothing.
// Held by: proof tests/rtl/formal/fifo_ahead_check.sv, tests/rtl/test_proofs.py.
module consort_fifo_ahead #(
    parameter type T = logic,
    parameter int unsigned Depth = 4  // a power of two, at least 4; and one in the register
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic clear_i,
    input  T     data_i,
    input  logic valid_i,
    output logic ready_o,
    output logic empty_o,  // also of what does not show yet
    output T     data_o,
    output logic valid_o,
    input  logic ready_i
);
  T behind;
  logic behind_valid, moves;

  assign moves = !valid_o || ready_i;
  assign empty_o = !valid_o && !behind_valid;

  consort_fifo #(
      .T(T),
      .Depth(Depth)
  ) i_behind (
      .clk_i,
      .rst_ni,
      .clear_i,
      .data_i,
      .valid_i,
      .ready_o,
      .data_o(behind),
      .valid_o(behind_valid),
      .ready_i(moves)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else if (clear_i) valid_o <= 1'b0;
    else if (moves) valid_o <= behind_valid;
  end

  always_ff @(posedge clk_i) begin
    if (moves) data_o <= behind;
  end
endmodule
