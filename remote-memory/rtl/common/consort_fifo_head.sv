// SPDX-License-Identifier: Apache-2.0
// First-in first-out buffer whose oldest entry is a register: a word that finds it empty shows in the next cycle, and the word
// behind one that is taken shows in the next cycle too. Whether it holds something, and whether it has room, are registers.
// Interface: two streams; clear_i empties it; one_o while it holds exactly one.
// Parameters: T, of a word; Depth, a power of two, at least 4.
// Throughput: a word a cycle.
// Latency: a word shows in the next cycle.
// Assumes: nothing.
// Held by: proof tests/rtl/formal/fifo_head_check.sv, tests/rtl/test_proofs.py.
module consort_fifo_head #(
    parameter type T = logic,
    parameter int unsigned Depth = 4  // a power of two, at least 4
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic clear_i,
    input  T     data_i,
    input  logic valid_i,
    output logic ready_o,
    output T     data_o,
    output logic valid_o,
    output logic one_o,    // it holds exactly one
    input  logic ready_i
);
  localparam int unsigned PtrWidth = $clog2(Depth);

  logic [PtrWidth-1:0] write_q, next_q;  // where the next word goes in; where the second oldest is
  logic [PtrWidth:0] count_q;
  logic one_left_q;                      // it has room for one
  logic push, pop;
  T memory[Depth];

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      next_q <= PtrWidth'(1);
      count_q <= '0;
      valid_o <= 1'b0;
      one_o <= 1'b0;
      one_left_q <= 1'b0;
      ready_o <= 1'b1;
    end else if (clear_i) begin
      write_q <= '0;
      next_q <= PtrWidth'(1);
      count_q <= '0;
      valid_o <= 1'b0;
      one_o <= 1'b0;
      one_left_q <= 1'b0;
      ready_o <= 1'b1;
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (pop) next_q <= next_q + 1'b1;
      // What comes and goes is known late, and the count early.
      if (push != pop) begin
        count_q <= push ? count_q + 1'b1 : count_q - 1'b1;
        valid_o <= push || !one_o;
        ready_o <= pop || !one_left_q;
        one_o <= push ? !valid_o : count_q == (PtrWidth + 1)'(2);
        one_left_q <= push ? count_q == (PtrWidth + 1)'(Depth - 2) : !ready_o;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    // Whether a word comes is known late: what lies in a free place does not matter.
    if (ready_o) memory[write_q] <= data_i;
    // Which word shows next is known before whether it does: what is late only lets the register change.
    if (ready_i || !valid_o) data_o <= valid_o && !one_o ? memory[next_q] : data_i;
  end
endmodule
