// SPDX-License-Identifier: Apache-2.0
// Which answers count, of a tag that any user may follow: those that come after it was asked over a link and before it ended, over that link,
// and no others; and a link is silent only where what is oldest waited for it for a whole period, and then it is.
module asked_tags_check (
    input logic       clk,
    input logic       rst_n,
    input logic       wants_begin,
    input logic       asks,
    input logic [1:0] tail,
    input logic [1:0] link,
    input logic       wants_end,
    input logic [1:0] end_index,
    input logic [1:0] rsp_index,
    input logic [1:0] rsp_link,
    input logic       waits,
    input logic       tick,
    input logic [1:0] follow
);
  logic swept, counts, begins, ends;
  logic [3:0] silent;
  logic past_valid = 1'b0;
  logic [3:0] out_q;  // tags that began and did not end
  logic [1:0] follow_q, link_q;
  logic asked_q, old_q, full_q;
  logic [1:0] silent_link_q;

  assign begins = wants_begin && swept && !out_q[tail];
  assign ends   = wants_end && out_q[end_index];

  consort_asked_tags #(
      .Width(2),
      .Links(4)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .swept_o(swept), .begins_i(begins), .asks_i(asks), .tail_i(tail), .link_i(link), .ends_i(ends),
      .end_index_i(end_index), .rsp_index_i(rsp_index), .rsp_link_i(rsp_link), .counts_o(counts), .waits_i(waits),
      .head_index_i(follow_q), .tick_i(tick), .silent_o(silent)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n) begin
      out_q <= '0;
      follow_q <= follow;
      {asked_q, old_q, full_q} <= '0;
    end else begin
      if (begins) out_q[tail] <= 1'b1;
      if (ends) out_q[end_index] <= 1'b0;
      if (begins && tail == follow_q) begin
        asked_q <= asks;
        link_q  <= link;
      end else if (ends && end_index == follow_q) asked_q <= 1'b0;
      old_q <= waits && (old_q || tick);
      full_q <= waits && old_q && tick;
      silent_link_q <= link_q;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (waits) assume (asked_q);
      if (swept && rsp_index == follow_q) assert (counts == (asked_q && rsp_link == link_q));
      assert (silent == (full_q ? 4'd1 << silent_link_q : '0));
`ifdef PROVE
      // About its state.
      assert (dut.old_q == old_q);
      if (out_q[follow_q] && swept) assert (dut.gen_links.links[follow_q] == link_q);
      if (asked_q) assert (out_q[follow_q] && swept);
      if (swept) assert ((dut.i_asked.sets[follow_q] != dut.i_asked.clears[follow_q]) == asked_q);
      else begin
        assert (!asked_q && out_q == '0);
        if ({1'b0, follow_q} < dut.i_asked.sweep_q) assert (dut.i_asked.sets[follow_q] == dut.i_asked.clears[follow_q]);
      end
      assert (dut.i_asked.sweep_q <= 3'd4);
`endif
    end
  end
endmodule
