// SPDX-License-Identifier: Apache-2.0
// Failed tags against one that any user may choose, with four places: from the cycle after its link was seen down while it
// was outstanding it has failed, until it is answered; and it has not where the link was up since it began. Of a link that
// comes down, a tag that begins in that cycle is outstanding in the next one, when the link is still down.
module failed_tags_check (
    input logic clk,
    input logic rst_n,
    input logic up,
    input logic begins,
    input logic ends,
    input logic mark     // follow the tag that begins now
);
  logic [2:0] head_q, tail_q, place_q, used, ahead;
  logic follows_q, lost_q, up_q, up_qq;
  logic [3:0] failed, index_failed;
  logic past_valid = 1'b0;

  assign used  = tail_q - head_q;
  assign ahead = place_q - head_q;

  consort_failed_tags #(
      .Width(3),
      .Links(1)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .up_i({3'd0, up}), .head_i(head_q), .tail_i(tail_q),
      .answer_i(place_q[1:0]), .failed_o(failed),
      .index_i(place_q[1:0]), .index_failed_o(index_failed)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n) begin
      head_q <= '0;
      tail_q <= '0;
      follows_q <= 1'b0;
      lost_q <= 1'b0;
    end else begin
      if (begins) tail_q <= tail_q + 1'b1;
      if (ends) head_q <= head_q + 1'b1;
      if (follows_q && !up) lost_q <= 1'b1;
      if (follows_q && ends && head_q == place_q) follows_q <= 1'b0;
      else if (!follows_q && mark && begins) begin
        follows_q <= 1'b1;
        lost_q <= 1'b0;
        place_q <= tail_q;
      end
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    assume (!begins || used < 3'd4);
    assume (!ends || used != 3'd0);
  end
  logic [2:0] reach;
  assign reach = dut.until_q[0] - head_q;
  always_comb begin
    if (past_valid && rst_n) begin
      if (follows_q) begin
        assert (failed[0] == lost_q);
        assert (index_failed[0] == lost_q);
      end
`ifdef PROVE
      // About its state.
      assert (used <= 3'd4);
      assert (!dut.some_q[0] || reach <= used);
      if (follows_q) begin
        assert (ahead < used);
        // Those that failed are the oldest.
        assert (lost_q == (dut.some_q[0] && ahead < reach));
      end
`endif
    end
  end
endmodule
