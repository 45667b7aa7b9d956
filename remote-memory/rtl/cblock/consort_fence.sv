// SPDX-License-Identifier: Apache-2.0
// Whether something that a port had begun when a fence was set is still without its answer.
//
// It keeps the tag after the newest one of when the fence was set, and waits until the oldest tag has come there.
// Interface: head_i and tail_i are the oldest tag and the one after the newest; set_i with what begins in the same cycle.
// Parameters: Width of a tag's index, and one bit more.
// Throughput: not applicable.
// Latency: waits_o falls one cycle after the last of them was answered.
// Assumes: tags are answered in their order.
// Held by: proof tests/rtl/formal/fence_check.sv, tests/rtl/test_proofs.py; windows detached under traffic (tests/rtl/test_trust.py).
module consort_fence #(
    parameter int unsigned Width = 7
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             set_i,
    input  logic             begins_i,
    input  logic [Width-1:0] head_i,
    input  logic [Width-1:0] tail_i,
    output logic             waits_o
);
  logic [Width-1:0] fence_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_q <= '0;
      waits_o <= 1'b0;
    end else if (set_i) begin
      fence_q <= tail_i + Width'(begins_i);
      waits_o <= 1'b1;
    end else if (head_i == fence_q) begin
      waits_o <= 1'b0;
    end
  end
endmodule
