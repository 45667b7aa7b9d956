// SPDX-License-Identifier: Apache-2.0
// Which of the outstanding tags, from head_i up to tail_i, cannot be answered any more because their link was down since they
// began. Those are always the oldest: all that were outstanding when it was last seen down.
// Interface: head_i and tail_i of the port's tags; failed_o of that of answer_i, index_failed_o of that of index_i.
// Parameters: Width of a tag's index and one bit more; Links.
// Throughput: not applicable.
// Latency: it is known a cycle after the link was down.
// Assumes: a tag that is asked for is outstanding.
// Held by: proof tests/rtl/formal/failed_tags_check.sv, tests/rtl/test_proofs.py.
module consort_failed_tags #(
    parameter int unsigned Width = 7,  // of a tag's index, and one bit more
    parameter int unsigned Links = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [3:0]       up_i,
    input  logic [Width-1:0] head_i,
    input  logic [Width-1:0] tail_i,
    input  logic [Width-2:0] answer_i,
    output logic [3:0]       failed_o,  // the one of this index, were it of this link
    input  logic [Width-2:0] index_i,
    output logic [3:0]       index_failed_o  // the one of this index, likewise
);
  logic [Width-1:0] until_q[Links];
  logic [Links-1:0] some_q;
  logic [Width-2:0] ahead, answer_ahead;

  assign ahead = index_i - head_i[Width-2:0];
  assign answer_ahead = answer_i - head_i[Width-2:0];

  for (genvar l = Links; l < 4; l++) begin : gen_none
    assign failed_o[l] = 1'b0;
    assign index_failed_o[l] = 1'b0;
  end
  for (genvar l = 0; l < Links; l++) begin : gen_link
    logic [Width-1:0] reach;
    assign reach = until_q[l] - head_i;
    assign failed_o[l] = some_q[l] && {1'b0, answer_ahead} < reach;
    assign index_failed_o[l] = some_q[l] && {1'b0, ahead} < reach;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        some_q[l]  <= 1'b0;
        until_q[l] <= '0;
      end else if (!up_i[l]) begin
        some_q[l]  <= 1'b1;
        until_q[l] <= tail_i;
      end else if (head_i == until_q[l]) begin
        some_q[l] <= 1'b0;
      end
    end
  end
endmodule
