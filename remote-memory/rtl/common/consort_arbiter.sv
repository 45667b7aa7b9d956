// SPDX-License-Identifier: Apache-2.0
// Round robin: after a grant that was taken, the one after it comes first. Each of N waits for at most N - 1 others.
// Interface: request_i, of which grant_o is one; the turn goes on when taken_i.
// Parameters: N, that ask.
// Throughput: a grant a cycle.
// Latency: none.
// Assumes: who asks may stop asking at any time.
// Held by: proof tests/rtl/formal/arbiter_check.sv, tests/rtl/test_proofs.py.
module consort_arbiter #(
    parameter int unsigned N = 2
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] request_i,
    output logic [N-1:0] grant_o,   // at most one
    input  logic         taken_i
);
  logic [N-1:0] mask_q;  // those that come first

  logic [N-1:0] masked, first_masked, first_any;
  assign masked = request_i & mask_q;
  assign first_masked = masked & (~masked + 1'b1);
  assign first_any = request_i & (~request_i + 1'b1);
  assign grant_o = masked != '0 ? first_masked : first_any;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) mask_q <= '0;
    else if (taken_i && grant_o != '0) mask_q <= ~(grant_o | (grant_o - 1'b1));
  end
endmodule
