// SPDX-License-Identifier: Apache-2.0
// A flag for each tag, in distributed RAM: one user sets them and another clears them, each at a place of its own. Each writes
// its own half, and a flag is set where the halves differ. They must not change the same flag in one cycle. A RAM has no reset: after
// a reset every place is cleared, one in each cycle, and until swept_o nothing may be set or cleared.
// Interface: set_i and clear_i each with a place of their own; index_i is read.
// Parameters: Width of an index.
// Throughput: one set, one cleared and one read a cycle.
// Latency: a flag shows in the next cycle; swept_o after as many cycles as there are flags.
// Assumes: the same flag is not set and cleared in one cycle.
// Held by: proof tests/rtl/formal/tag_flags_check.sv, tests/rtl/test_proofs.py.
module consort_tag_flags #(
    parameter int unsigned Width = 6
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    output logic             swept_o,
    input  logic             set_i,
    input  logic [Width-1:0] set_index_i,
    input  logic             clear_i,
    input  logic [Width-1:0] clear_index_i,
    input  logic [Width-1:0] index_i,
    output logic             flag_o
);
  logic sets[2**Width];
  logic clears[2**Width];

  logic [Width:0] sweep_q;
  logic [Width-1:0] set_at, clear_at;

  assign swept_o = sweep_q[Width];
  assign set_at = swept_o ? set_index_i : sweep_q[Width-1:0];
  assign clear_at = swept_o ? clear_index_i : sweep_q[Width-1:0];
  assign flag_o = sets[index_i] != clears[index_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sweep_q <= '0;
    else if (!swept_o) sweep_q <= sweep_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (set_i || !swept_o) sets[set_at] <= swept_o && !clears[set_at];
    if (clear_i || !swept_o) clears[clear_at] <= swept_o && sets[clear_at];
  end
endmodule
