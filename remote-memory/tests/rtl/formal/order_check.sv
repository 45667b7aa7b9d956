// SPDX-License-Identifier: Apache-2.0
// The lists of tags that keep their order: a tag is the oldest of its list only when none of its id that began before it is left; each list shows its
// oldest tag and the one behind it; and an access of a new id has a list of its own where one is empty and none lies with the others.
// Taken for granted: none begins in the cycle after another, nor ends so; a tag does not begin again before it ended; what ends is the oldest of its list.
module order_check
  import consort_remote_pkg::*;
(
    input logic               clk,
    input logic               rst_n,
    input logic               begins,
    input logic [IdWidth-1:0] id,
    input logic [1:0]         tag,
    input logic               ends,
    input logic [1:0]         end_list,
    input logic [1:0]         tell
);
  logic past_valid = 1'b0;
  logic [3:0] some;
  logic [1:0] oldest[4];
  logic [1:0] end_tag, after, told, list;
  logic more;

  assign end_tag = oldest[end_list];
  assign list = dut.list;

  consort_order #(
      .Width(2)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .begins_i(begins), .id_i(id), .tag_i(tag), .some_o(some), .oldest_o(oldest), .ends_i(ends),
      .end_list_i(end_list), .end_tag_i(end_tag), .after_o(after), .more_o(more), .tell_i(tell), .told_o(told)
  );

  // Begun in the cycle before: it is put into its list in this one.
  logic begins_q;
  logic [IdWidth-1:0] begins_id_q;
  logic [1:0] begins_tag_q;

  // The outstanding ones, with their ids, in the order in which they began.
  logic [3:0] out_q;
  logic [IdWidth-1:0] id_q[4];
  logic [3:0][3:0] before_q;  // of each tag those that began before it and are left
  logic [1:0] in_q[4];        // its list
  logic alone_q;              // an access of a new id began where a list was empty and no other's are mixed
  logic [1:0] new_q, after_q, end_list_q;
  logic ended_q, ended_more_q;
  logic same;

  always_comb begin
    same = 1'b0;
    for (int unsigned t = 0; t < 4; t++) same = same || (out_q[t] && id_q[t] == begins_id_q);
  end

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    new_q <= begins_tag_q;
    begins_id_q <= id;
    begins_tag_q <= tag;
    after_q <= after;
    end_list_q <= end_list;
    if (!rst_n) begin
      begins_q <= 1'b0;
      out_q <= '0;
      alone_q <= 1'b0;
      ended_q <= 1'b0;
      ended_more_q <= 1'b0;
    end else begin
      begins_q <= begins;
      alone_q <= begins_q && !same && !some[3] && some[2:0] != '1;
      ended_q <= ends;
      ended_more_q <= ends && more;
      if (ends) begin
        out_q[end_tag] <= 1'b0;
        for (int unsigned t = 0; t < 4; t++) before_q[t][end_tag] <= 1'b0;
      end
      if (begins_q) begin
        out_q[begins_tag_q] <= 1'b1;
        id_q[begins_tag_q] <= begins_id_q;
        in_q[begins_tag_q] <= list;
        before_q[begins_tag_q] <= out_q & ~(4'(ends) << end_tag);
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (begins) assume (!out_q[tag] && !begins_q);
    if (ends) assume (some[end_list] && !ended_q);
    if (past_valid && rst_n) begin
      for (int unsigned l = 0; l < 4; l++) begin
        if (some[l]) begin
          assert (out_q[oldest[l]]);
          for (int unsigned t = 0; t < 4; t++) begin
            if (out_q[t] && before_q[oldest[l]][t]) assert (id_q[t] != id_q[oldest[l]]);
          end
          if (tell == oldest[l]) assert (told == 2'(l));
        end
      end
      for (int unsigned l = 1; l < 4; l++) if (some[0] && some[l]) assert (oldest[0] != oldest[l]);
      assert ((some != '0) == (out_q != '0));
      if (ended_more_q) assert (some[end_list_q] && oldest[end_list_q] == after_q);
      if (alone_q) begin
        assert ((some[0] && oldest[0] == new_q) || (some[1] && oldest[1] == new_q) || (some[2] && oldest[2] == new_q));
      end
`ifdef PROVE
      assert (dut.begins_q == begins_q);
      if (begins_q) begin
        assert (!out_q[begins_tag_q] && dut.tag_q == begins_tag_q && dut.id_q == begins_id_q);
        for (int unsigned l = 0; l < 3; l++) assert (dut.same_q[l] == (dut.ids_q[l] == begins_id_q));
      end
      // About its state: of two tags one began before the other, and of those of a list each names the next.
      for (int unsigned t = 0; t < 4; t++) begin
        if (out_q[t]) begin
          assert (!before_q[t][t] && (before_q[t] & ~out_q) == '0 && some[in_q[t]] && dut.lists[t] == in_q[t]);
          if (in_q[t] != 2'd3) assert (id_q[t] == dut.ids_q[in_q[t]]);
          for (int unsigned u = 0; u < 4; u++) begin
            if (out_q[u] && u != t) begin
              assert (before_q[t][u] != before_q[u][t]);
              if (id_q[u] == id_q[t]) assert (in_q[u] == in_q[t]);
              for (int unsigned v = 0; v < 4; v++) begin
                if (out_q[v] && before_q[t][u] && before_q[u][v]) assert (before_q[t][v]);
              end
            end
          end
        end
        for (int unsigned l = 0; l < 4; l++) begin
          if (out_q[t] && in_q[t] == 2'(l)) begin
            // The oldest and the newest, and what is behind another.
            assert ((dut.oldest_q[l] == 2'(t)) == ((before_q[t] & of_list(2'(l))) == '0));
            assert ((dut.newest_q[l] == 2'(t)) == (behind(2'(t), 2'(l)) == '0));
            for (int unsigned u = 0; u < 4; u++) begin
              if (out_q[u] && in_q[u] == 2'(l) && before_q[u][t] && (behind(2'(t), 2'(l)) & before_q[u]) == '0) begin
                assert (dut.next[t] == 2'(u));
              end
            end
          end
          if (some[l]) begin
            if (!ended_q || end_list_q != 2'(l)) assert (dut.single_q[l] == (dut.oldest_q[l] == dut.newest_q[l]));
            assert (in_q[oldest[l]] == 2'(l) && out_q[oldest[l]]);
            assert (in_q[dut.newest_q[l]] == 2'(l) && out_q[dut.newest_q[l]]);
          end
        end
      end
`endif
    end
  end

  // Which are left of a list, and of these which began after one.
  function automatic logic [3:0] of_list(logic [1:0] l);
    for (int unsigned t = 0; t < 4; t++) of_list[t] = out_q[t] && in_q[t] == l;
  endfunction
  function automatic logic [3:0] behind(logic [1:0] which, logic [1:0] l);
    for (int unsigned t = 0; t < 4; t++) behind[t] = out_q[t] && in_q[t] == l && before_q[t][which];
  endfunction
endmodule
