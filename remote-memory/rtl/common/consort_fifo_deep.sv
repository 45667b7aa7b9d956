// SPDX-License-Identifier: Apache-2.0
// First-in first-out buffer in block RAM, whose oldest entry is a register of its own: a RAM gives its word late in a cycle. A word that
// finds all of it empty, or the last one just taken, goes past the RAM.
// Interface: two streams; clear_i empties it; empty_o also where the oldest word does not show yet; ready_o and empty_o are registers.
// Parameters: T, of a word; Depth of the RAM, a power of two, at least 4; it holds two words more.
// Throughput: a word a cycle; where it was stopped and then drained to its last word one cycle is lost.
// Latency: a word that finds it empty shows in the next cycle, another within three.
// Assumes: nothing.
// Held by: proof tests/rtl/formal/fifo_deep_check.sv, tests/rtl/test_proofs.py.
module consort_fifo_deep #(
    parameter type T = logic,
    parameter int unsigned Depth = 512  // a power of two, at least 4
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
  localparam int unsigned PtrWidth = $clog2(Depth);

  logic [PtrWidth:0] write_q, read_q;
  logic behind_q;         // the RAM's output is the word behind the oldest
  logic [PtrWidth+1:0] count_q;
  logic one_q, comes, goes;
  logic some, moves, straight, push, fetch;
  T behind;
  T memory[Depth];

  assign comes = valid_i && ready_o;
  assign goes = valid_o && ready_i;
  assign some = write_q != read_q;
  assign moves = !valid_o || ready_i;
  assign straight = moves && !behind_q && !some;
  assign push = valid_i && ready_o && !straight;
  assign fetch = some && (!behind_q || moves);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      behind_q <= 1'b0;
      valid_o <= 1'b0;
      ready_o <= 1'b1;
      empty_o <= 1'b1;
      count_q <= '0;
      one_q <= 1'b0;
    end else if (clear_i) begin
      write_q <= '0;
      read_q <= '0;
      behind_q <= 1'b0;
      valid_o <= 1'b0;
      ready_o <= 1'b1;
      empty_o <= 1'b1;
      count_q <= '0;
      one_q <= 1'b0;
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (fetch) read_q <= read_q + 1'b1;
      behind_q <= fetch || (behind_q && !moves);
      if (moves) valid_o <= behind_q || (straight && valid_i);
      if (comes != goes) begin
        count_q <= comes ? count_q + 1'b1 : count_q - 1'b1;
        empty_o <= goes && one_q;
        one_q   <= comes ? empty_o : count_q == (PtrWidth + 2)'(2);
      end
      // With the word that may come in this cycle.
      ready_o <= write_q - read_q < (PtrWidth + 1)'(Depth - 1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) memory[write_q[PtrWidth-1:0]] <= data_i;
    if (fetch) behind <= memory[read_q[PtrWidth-1:0]];
    if (moves) data_o <= behind_q ? behind : data_i;
  end
endmodule
