// SPDX-License-Identifier: Apache-2.0
// The lanes of a write's beats: of each beat exactly those that AXI4 gives it, whatever the kind of burst, its size, length and start.
// Taken for granted: it is a burst of AXI4 of 16 beats at most, and goes on to the next beat as often as it has one.
module write_lanes_check
  import consort_remote_pkg::*, lanes_of_beat::*;
(
    input logic clk,
    input logic rst_n,
    input logic start,
    input logic next,
    input burst_t of
);
  logic [15:0] lanes;
  logic past_valid = 1'b0;
  logic busy_q;
  burst_t of_q;
  logic [3:0] beat_q;

  consort_write_lanes dut (
      .clk_i(clk), .start_i(start), .offset_i(of.offset), .size_i(of.size), .burst_i(of.burst), .len_i(of.len),
      .next_i(next), .lanes_o(lanes)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n) busy_q <= 1'b0;
    else if (start) begin
      busy_q <= 1'b1;
      of_q   <= of;
      beat_q <= '0;
    end else if (busy_q && next) begin
      busy_q <= beat_q != of_q.len;
      beat_q <= beat_q + 4'd1;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (start) assume (exists(of) && !busy_q);
    if (past_valid && rst_n && busy_q) begin
      assert (lanes == lanes_of(of_q, beat_q));
`ifdef PROVE
      assert (exists(of_q) && beat_q <= of_q.len);
      assert (dut.bytes_q == 4'((5'd1 << of_q.size) - 5'd1) && dut.moves_q == moves_of(of_q));
      assert (dut.at_q == begin_of(of_q, beat_q) && dut.low_q == first_of(of_q, beat_q));
`endif
    end
  end
endmodule
