// SPDX-License-Identifier: Apache-2.0
// The fence: as long as something that had begun when it was set last is not answered it says so, and stops saying so a cycle after the last of them.
module fence_check (
    input logic clk,
    input logic rst_n,
    input logic set,
    input logic begins,
    input logic ends     // the oldest is answered
);
  localparam int unsigned Width = 4;  // 8 tags
  logic waits;
  logic past_valid = 1'b0;
  logic [Width-1:0] head_q, tail_q, before_q, under_way;
  logic set_q;

  assign under_way = tail_q - head_q;

  consort_fence #(.Width(Width)) dut (
      .clk_i(clk), .rst_ni(rst_n), .set_i(set), .begins_i(begins), .head_i(head_q), .tail_i(tail_q), .waits_o(waits)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n) {head_q, tail_q, before_q, set_q} <= '0;
    else begin
      set_q <= set;
      head_q <= head_q + Width'(ends);
      tail_q <= tail_q + Width'(begins);
      // Counts those that had begun then, with those that begin in that cycle.
      if (set) before_q <= under_way + Width'(begins) - Width'(ends);
      else if (before_q != '0) before_q <= before_q - Width'(ends);
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    assume (!ends || under_way != '0);
    assume (!begins || under_way < Width'(8));
  end

  logic done_q;  // all of them were answered in the cycle before, or earlier
  always_ff @(posedge clk) done_q <= rst_n && !set && before_q == '0;

  always_comb begin
    if (past_valid && rst_n) begin
      if (before_q != '0) assert (waits);
      if (done_q && !set_q) assert (!waits);
`ifdef PROVE
      assert (under_way <= Width'(8));
      assert (before_q <= under_way);
      if (waits) assert (dut.fence_q == head_q + before_q);
      if (done_q) assert (before_q == '0);
      if (set_q) assert (waits && !done_q);
`endif
    end
  end
endmodule
