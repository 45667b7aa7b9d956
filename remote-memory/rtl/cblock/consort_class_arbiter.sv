// SPDX-License-Identifier: Apache-2.0
// Grants in two classes: those that wait urgently before all others, and the others one grant after at most Turns + 1 of those. Each class in turn
// by itself, so that nobody waits for ever.
//
// Which of them wait urgently is looked at a cycle before: one that has just come is as any other. While one waits nobody else is granted, also
// where it may not be taken yet.
// Interface: request_i may be taken now; waits_i waits urgently, whether or not it may be taken; grant_o is taken.
// Parameters: N, that ask; Turns, grants of the urgent after which another has its turn, N or more.
// Throughput: a grant a cycle.
// Latency: none; one that waits urgently is before the others from its second cycle on.
// Assumes: one that waits urgently goes on until it is granted, and may be taken in the end.
// Held by: proof tests/rtl/formal/class_arbiter_check.sv, tests/rtl/test_proofs.py.
module consort_class_arbiter #(
    parameter int unsigned N     = 2,
    parameter int unsigned Turns = 8
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] request_i,
    input  logic [N-1:0] waits_i,
    output logic [N-1:0] grant_o     // at most one
);
  localparam int unsigned TurnWidth = $clog2(Turns + 2);

  if (Turns < N) begin : gen_check_turns
    $error("class_arbiter: Turns must be N at least");
  end

  logic holds_q;                            // only those that wait urgently are granted
  logic [N-1:0] open_q;                     // who may be granted
  logic [N-1:0] mask_others_q, mask_urgent_q;  // those that come first
  logic [TurnWidth-1:0] turns_q;            // grants while holds_q, since one without
  logic [N-1:0] candidates, masked, waits;
  logic holds;

  assign candidates = request_i & open_q;
  assign masked = candidates & (holds_q ? mask_urgent_q : mask_others_q);
  assign grant_o = masked != '0 ? masked & (~masked + 1'b1) : candidates & (~candidates + 1'b1);

  assign waits = waits_i & ~grant_o;
  assign holds = waits != '0 && (turns_q < TurnWidth'(Turns) || (grant_o != '0 && !holds_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      holds_q <= 1'b0;
      open_q <= '1;
      mask_others_q <= '0;
      mask_urgent_q <= '0;
      turns_q <= '0;
    end else begin
      holds_q <= holds;
      open_q  <= holds ? waits : '1;
      if (grant_o != '0) begin
        if (holds_q) mask_urgent_q <= ~(grant_o | (grant_o - 1'b1));
        else mask_others_q <= ~(grant_o | (grant_o - 1'b1));
        turns_q <= holds_q ? turns_q + 1'b1 : '0;
      end
    end
  end
endmodule
