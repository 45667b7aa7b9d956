// SPDX-License-Identifier: Apache-2.0
// How long a lender may leave an access without an answer that its link has acknowledged: once to twice after_i cycles, then its link goes down,
// so that all its accesses end, and what still comes of them belongs to an old session.
// Interface: tick_o, at each end of a period, to the ports; silent_i, of each, the links from which nothing came for a whole period; drop_o takes
// a link down.
// Parameters: Sources, of silent_i; Links.
// Throughput: not applicable.
// Latency: one cycle.
// Assumes: a source says silent_i only in the cycle after tick_o.
// Held by: lenders that never answer, tests/rtl/test_lenders.py.
module consort_answer_timer #(
    parameter int unsigned Sources = 2,
    parameter int unsigned Links   = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [     23:0] after_i,           // 0: for ever
    output logic             tick_o,
    input  logic [      3:0] silent_i[Sources],
    output logic [Links-1:0] drop_o
);
  logic [23:0] period_q;
  logic [3:0] silent;

  always_comb begin
    silent = '0;
    for (int unsigned s = 0; s < Sources; s++) silent = silent | silent_i[s];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      period_q <= '0;
      tick_o <= 1'b0;
      drop_o <= '0;
    end else begin
      period_q <= tick_o || after_i == '0 ? '0 : period_q + 1'b1;
      tick_o <= !tick_o && after_i != '0 && period_q >= after_i;
      drop_o <= silent[Links-1:0];
    end
  end
endmodule
