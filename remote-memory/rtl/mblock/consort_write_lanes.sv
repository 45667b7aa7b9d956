// SPDX-License-Identifier: Apache-2.0
// The byte lanes that the beats of a write may use, one beat after the other. What the link's other end says of strobes counts only within them, so a
// byte beside the burst is never written, not even within the 16 bytes of a beat.
// Interface: start_i with offset_i, size_i, burst_i and len_i of a write; next_i goes on to its next beat; lanes_o of the beat at hand.
// Parameters: none.
// Throughput: a beat a cycle.
// Latency: the lanes of a write's first beat show a cycle after its start.
// Assumes: it is a burst of AXI4, of 16 beats at most.
// Held by: proof tests/rtl/formal/write_lanes_check.sv, tests/rtl/test_proofs.py; a hostile cBlock, tests/rtl/test_trust.py.
module consort_write_lanes
  import consort_remote_pkg::*;
(
    input  logic        clk_i,
    input  logic        start_i,
    input  logic [ 3:0] offset_i,  // of its first byte, within 16
    input  logic [ 2:0] size_i,
    input  logic [ 1:0] burst_i,
    input  logic [ 3:0] len_i,
    input  logic        next_i,
    output logic [15:0] lanes_o
);
  logic [3:0] bytes, bytes_q;  // of a beat, less one
  // Which bits of a beat's place change within the burst: none of a fixed one, of a wrapped one those below its bound.
  logic [3:0] moves_q;
  logic [3:0] at_q, low_q;     // of the beat: its first lane where it is whole, and the first that is used
  logic [3:0] moves, next_at;

  assign bytes = (4'd1 << size_i) - 4'd1;
  assign next_at = (at_q & ~moves_q) | ((at_q + bytes_q + 4'd1) & moves_q);

  always_comb begin
    case (burst_i)
      BurstFixed: moves = '0;
      BurstWrap: moves = (len_i << size_i) | bytes;
      default: moves = '1;
    endcase
    for (int unsigned i = 0; i < 16; i++) lanes_o[i] = 4'(i) >= low_q && 4'(i) <= (at_q | bytes_q);
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      bytes_q <= bytes;
      moves_q <= moves;
      at_q <= offset_i & ~bytes;
      low_q <= offset_i;
    end else if (next_i && moves_q != '0) begin
      at_q  <= next_at;
      low_q <= next_at;
    end
  end
endmodule
