// SPDX-License-Identifier: Apache-2.0
// First-in first-out buffer in registers or distributed RAM; the oldest entry shows without a read. Whether it holds
// something, and whether it has room, are registers.
// Interface: two streams; clear_i empties it.
// Parameters: T, of a word; Depth, a power of two, at least 4.
// Throughput: a word a cycle.
// Latency: a word shows in the next cycle.
// Assumes: nothing.
// Held by: proof tests/rtl/formal/fifo_check.sv, tests/rtl/test_proofs.py.
module consort_fifo #(
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
    input  logic ready_i
);
  localparam int unsigned PtrWidth = $clog2(Depth);

  logic [PtrWidth:0] write_q, read_q, count;
  logic one_q, one_left_q;  // it holds one, it has room for one
  logic push, pop;
  T memory[Depth];

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;
  assign count = write_q - read_q;
  assign data_o = memory[read_q[PtrWidth-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      valid_o <= 1'b0;
      ready_o <= 1'b1;
      one_q <= 1'b0;
      one_left_q <= 1'b0;
    end else if (clear_i) begin
      write_q <= '0;
      read_q <= '0;
      valid_o <= 1'b0;
      ready_o <= 1'b1;
      one_q <= 1'b0;
      one_left_q <= 1'b0;
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (pop) read_q <= read_q + 1'b1;
      if (push != pop) begin
        valid_o <= push || !one_q;
        ready_o <= pop || !one_left_q;
        one_q <= count == (push ? '0 : (PtrWidth + 1)'(2));
        one_left_q <= count == (push ? (PtrWidth + 1)'(Depth - 2) : (PtrWidth + 1)'(Depth));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    // Whether a word comes is known late: what lies in a free place does not matter.
    if (ready_o) memory[write_q[PtrWidth-1:0]] <= data_i;
  end
endmodule
