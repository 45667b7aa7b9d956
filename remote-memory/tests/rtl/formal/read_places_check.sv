// SPDX-License-Identifier: Apache-2.0
// The places of reads, with a tag that any user may follow: its beats go to the places that were set aside for it, one after the other, and to no
// other; what is handed on is there exactly when its tag's beat had come two cycles before.
module read_places_check (
    input logic       clk,
    input logic       rst_n,
    input logic       wants_begin,
    input logic [1:0] len,
    input logic       rsp_valid,
    input logic [1:0] look,
    input logic       wants_step,
    input logic [1:0] follow
);
  localparam int unsigned Places = 4;
  typedef logic [Places-1:0] place_t;
  logic swept, begins, comes, there, steps, ends, is_last;
  place_t place, past_place;
  logic past_valid = 1'b0;

  // As the port has them: tags in order, places in order, 8 of them.
  logic [2:0] head_q, tail_q;
  place_t reserve_q, read_q, read_next_q;
  logic [1:0] len_q[4];
  logic [1:0] left_q;  // beats of the head after this one
  // For the followed tag: since it began, how many came, and how many had come before this cycle.
  logic [1:0] follow_q;
  logic out_q;
  logic failing_q;  // it was handed on without being there, so all after it is
  place_t first_q, past_q, came_q, seen_q;
  logic is_head;
  logic [2:0] used;
  logic known_q;  // the head's length is looked at a cycle before it is handed on

  // What waits when it is looked at, and did not end then.
  logic [1:0] look_ahead, rsp_index;
  logic look_counts, counts, counts_q;

  assign used = tail_q - head_q;
  assign past_place = reserve_q + place_t'(len) + 1'b1;
  assign begins = wants_begin && swept && used < 3'd3 && place_t'(past_place - read_q) <= 4'd8;
  assign is_last = left_q == '0;
  assign steps = wants_step && used != '0 && known_q;
  assign ends = steps && is_last;
  assign is_head = out_q && head_q[1:0] == follow_q;

  consort_read_places #(
      .Width(2),
      .Places(Places)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .swept_o(swept), .begins_i(begins), .tail_i(tail_q[1:0]),
      .first_i(reserve_q), .past_i(past_place),
      .look_i(look), .look_counts_i(look_counts), .rsp_valid_i(rsp_valid), .counts_o(counts), .place_o(place),
      .comes_o(comes), .head_i(head_q[1:0]), .read_i(read_q), .read_next_i(read_next_q), .steps_i(steps), .ends_i(ends),
      .there_o(there)
  );

  assign look_ahead  = look - head_q[1:0];
  assign look_counts = swept && {1'b0, look_ahead} < used;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    rsp_index <= look;
    if (!rst_n) begin
      head_q <= '0;
      tail_q <= '0;
      reserve_q <= '0;
      read_q <= '0;
      read_next_q <= 4'd1;
      known_q <= 1'b0;
      left_q <= '0;
      follow_q <= follow;
      out_q <= 1'b0;
      {came_q, seen_q} <= '0;
      failing_q <= 1'b0;
      counts_q <= 1'b0;
    end else begin
      seen_q <= came_q;
      counts_q <= look_counts && !(ends && look == head_q[1:0]);
      if (begins) begin
        len_q[tail_q[1:0]] <= len;
        tail_q <= tail_q + 3'd1;
        reserve_q <= past_place;
        if (tail_q[1:0] == follow_q) begin
          out_q <= 1'b1;
          first_q <= reserve_q;
          past_q <= past_place;
          came_q <= reserve_q;
          seen_q <= reserve_q;
        end
      end
      if (rsp_valid && comes && rsp_index == follow_q) came_q <= came_q + 1'b1;
      if (steps) begin
        read_q <= read_next_q;
        read_next_q <= read_next_q + 1'b1;
      end
      failing_q <= !ends && (failing_q || (steps && !there));
      if (ends) begin
        head_q <= head_q + 3'd1;
        known_q <= 1'b0;
        if (is_head) out_q <= 1'b0;
      end else if (used != '0 && !known_q) begin
        known_q <= 1'b1;
        left_q  <= len_q[head_q[1:0]];
      end else if (steps) left_q <= left_q - 2'd1;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      assert (counts == counts_q);
      if (!counts) assert (!comes);
      if (rsp_valid && counts && rsp_index == follow_q) begin
        assert (out_q && comes == (came_q != past_q));
        if (comes) assert (place == came_q);
      end
      if (is_head && known_q && !failing_q) begin
        assert (there == (place_t'(seen_q - first_q) > place_t'(read_q - first_q)));
      end
    end
  end
endmodule
