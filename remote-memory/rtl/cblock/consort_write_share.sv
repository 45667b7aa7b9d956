// SPDX-License-Identifier: Apache-2.0
// Whether the write whose first message waits keeps to its port's share of units under way.
//
// A write that is held waits until with all its units, at most most_i, no more than the share are out, or until none are.
// Interface: the message that waits with held_i and most_i; pop_i when it goes, takes_i when its credits are taken a cycle later; free_i of the credits.
// Parameters: Credits in units.
// Throughput: a message in three cycles; of held ones in five.
// Latency: that it keeps to the share is known two cycles after it shows.
// Assumes: a message that waits stays as it is.
// Held by: proof tests/rtl/formal/write_share_check.sv, tests/rtl/test_proofs.py.
module consort_write_share #(
    parameter int unsigned Credits = 320,
    localparam int unsigned Width = $clog2(Credits + 1)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [9:0]       share_i,
    input  logic             waits_i,
    input  logic             held_i,
    input  logic [8:0]       most_i,
    input  logic             pop_i,
    input  logic             takes_i,
    input  logic [Width-1:0] free_i,
    output logic             fits_o
);
  logic signed [11:0] floor_q;  // so many credits have to be free
  logic seen_q, fits_q;         // floor_q is of the message that shows; it keeps to the share

  assign fits_o = !held_i || fits_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      seen_q <= 1'b0;
      fits_q <= 1'b0;
    end else begin
      // More credits may be free in the next cycle, not fewer.
      seen_q <= waits_i && !pop_i;
      fits_q <= seen_q && !pop_i && !takes_i && (free_i == Width'(Credits) || $signed(12'(free_i)) >= floor_q);
    end
  end

  always_ff @(posedge clk_i) floor_q <= $signed(12'(most_i)) + $signed(12'(Credits)) - $signed(12'(share_i));
endmodule
