// SPDX-License-Identifier: Apache-2.0
// Counts room that the other end keeps free for us. What is taken and given back in the same cycle is counted as both.
// Interface: want_i is taken with take_i where enough_o; give_i comes back.
// Parameters: Max, all that there is.
// Throughput: one taken and one given back a cycle.
// Latency: none.
// Assumes: what is given back was taken.
// Held by: proof tests/rtl/formal/credit_check.sv, tests/rtl/test_proofs.py; watched in every simulation (tests/rtl/test_checkers.py).
module consort_credit #(
    parameter int unsigned Max = 16,
    localparam int unsigned Width = $clog2(Max + 1)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             clear_i,  // all of it is free again
    input  logic [Width-1:0] want_i,
    output logic             enough_o,
    output logic [Width-1:0] free_o,
    input  logic             take_i,   // takes want_i; only where enough_o
    input  logic [Width-1:0] give_i
);
  logic [Width-1:0] free_q;

  assign enough_o = want_i <= free_q;
  assign free_o = free_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) free_q <= Width'(Max);
    else if (clear_i) free_q <= Width'(Max);
    else free_q <= free_q - (take_i ? want_i : '0) + give_i;
  end
endmodule
