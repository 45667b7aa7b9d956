// SPDX-License-Identifier: Apache-2.0
// What a port knows of each of its writes from its begin to its answer, and the answers: those of one id in the order of their addresses, those of
// different ids as they come (consort_order).
//
// It keeps id, link and units of each tag, waits for its acknowledgement or for the news that none comes, answers the master, gives the
// credits back and says which fault there was. The links' other ends are not trusted: an acknowledgement counts only where its write waits
// for one, from the link that it went over.
// Interface: starts_i with a write that begins; message_* and done_i for what of it is still to be sent; rsp_* is an acknowledgement; b_* of AXI4.
// Parameters: Port, Links; Credits.
// Throughput: an answer in three cycles.
// Latency: an answer shows three cycles after its acknowledgement where its list is looked at, and some ten more where another one is.
// Assumes: nothing of the other ends.
// Held by: the exploration of credits with links that go down (tests/rtl/test_explore.py), with three wrong versions of this module; the proofs of
// consort_tag_flags and consort_failed_tags; bad lenders, tests/rtl/test_lenders.py.
module consort_write_answers
  import consort_remote_pkg::*;
#(
    parameter int unsigned Port    = 0,
    parameter int unsigned Links   = 1,
    parameter int unsigned Credits = 320,
    localparam int unsigned CreditWidth = $clog2(Credits + 1)
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic [3:0] up_i,

    input  logic                starts_i,
    input  logic                good_i,
    input  logic                mapped_i,
    input  logic [1:0]          link_i,
    input  logic [IdWidth-1:0]  id_i,
    input  origin_t             origin_i,
    input  logic [IndexWidth:0] tail_i,
    output logic [IndexWidth:0] head_o,
    output logic                swept_o,

    input logic                busy_i,
    input logic [IndexWidth:0] current_i,
    input logic                done_i,
    input logic [4:0]          done_units_i,

    input  write_message_t         message_i,
    input  logic                   message_valid_i,
    input  logic                   message_pop_i,
    output logic [CreditWidth-1:0] credit_give_o,

    input  logic [1:0]            rsp_link_i,
    input  logic [IndexWidth-1:0] rsp_index_i,
    input  logic [1:0]            rsp_resp_i,
    input  logic                  rsp_valid_i,

    // Of the oldest write: its link, in the cycle after tick_i, where it has waited for its acknowledgement since the one before.
    input  logic       tick_i,
    output logic [3:0] silent_o,

    output axi_b_t b_o,
    output logic   b_valid_o,
    input  logic   b_ready_i,
    output fault_t fault_o
);
  localparam int unsigned Tags = 2 ** IndexWidth;

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [1:0]         link;
    logic               local_error;
    logic               decerr;
  } tag_t;

  tag_t tags[Tags];
  tag_t head;
  logic [8:0] units[Tags];
  logic [8:0] units_q;        // of the messages of this write so far
  logic started_q, done_q;
  logic [4:0] done_units_q;
  logic [IndexWidth-1:0] done_index_q;
  logic [1:0] resps[Tags];
  logic [3:0] links_failed, message_failed;
  logic [IndexWidth-1:0] ahead;
  logic [IndexWidth:0] reach;
  logic [IndexWidth-1:0] index;  // of the write that is looked at
  logic [IndexWidth:0] head_q;
  // The oldest write of which something is still to be collected or to be sent; the tail where there is none. It may lag behind.
  logic [IndexWidth:0] unsent_q;
  logic b_ripe_q, b_due_q, b_step, ends_now, acked, failed, message_failed_q, late, rsp_late;
  // Of each link the write whose link was down while it was collected, and whose rest went out after that: its
  // acknowledgement still comes and would meet the next write of the tag.
  logic [Links-1:0] late_q;
  logic [IndexWidth-1:0] late_index_q[Links];

  assign head_o = head_q;
  assign head = tags[index];

  // ---- Which write is looked at ----

  // The oldest of a list stays until it is answered, or until it is known that it cannot be yet and another list's may be: something came for one
  // of them since it was looked at (hints_q).
  logic [3:0] some, hints_q, others, onehot;
  logic [IndexWidth-1:0] oldest[4];
  logic [IndexWidth-1:0] index_q, after;
  logic [1:0] list_q, turn, rsp_list, rsp_list_q;
  logic looks_q, more, rsp_q, goes_on, moves, answered, counts, comes;
  logic known_q;         // what it waits for is known
  logic idle_q;          // it was not to be answered in the cycle before
  logic waits_q;         // nor was it for its sending that it waited
  logic [3:0] lost_q;    // a link was down
  logic [2:0] swept;

  assign index = index_q;
  assign swept_o = swept == '1;
  assign onehot = 4'd1 << list_q;
  assign others = looks_q ? some & ~onehot & hints_q : some;
  // The next one of the others in turn.
  always_comb begin
    turn = list_q;
    for (int unsigned i = 3; i > 0; i--) if (others[2'(32'(list_q) + i)]) turn = 2'(32'(list_q) + i);
  end
  // What is looked at was not to be answered in the cycle before. What came for it since then sets its hint again.
  assign goes_on = known_q && idle_q;
  assign moves = (goes_on || !looks_q) && others != '0;

  consort_order #(
      .Width(IndexWidth)
  ) i_order (
      .clk_i,
      .rst_ni,
      .begins_i(starts_i),
      .id_i,
      .tag_i(tail_i[IndexWidth-1:0]),
      .some_o(some),
      .oldest_o(oldest),
      .ends_i(b_step),
      .end_list_i(list_q),
      .end_tag_i(index_q),
      .after_o(after),
      .more_o(more),
      .tell_i(rsp_index_i),
      .told_o(rsp_list)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      looks_q <= 1'b0;
      known_q <= 1'b0;
      idle_q  <= 1'b0;
      waits_q <= 1'b0;
      list_q  <= '0;
      index_q <= '0;
      hints_q <= '0;
      lost_q  <= '1;
      rsp_q   <= 1'b0;
    end else begin
      known_q <= looks_q && !moves && !b_step;
      idle_q  <= known_q && !b_due_q && !ends_now;
      waits_q <= known_q && b_ripe_q && !ends_now;
      if (b_step && more && others == '0) begin
        index_q <= after;
      end else if (moves || (b_step && others != '0)) begin
        looks_q <= 1'b1;
        list_q  <= turn;
        index_q <= oldest[turn];
      end else if (b_step) begin
        looks_q <= 1'b0;
      end
      // A flag that shows in this cycle, and did not when it was looked at, sets the hint that is cleared here; what was not sent yet is
      // looked at again.
      if (goes_on && waits_q) hints_q[list_q] <= 1'b0;
      // The next one of the list may have its acknowledgement already; one that is refused waits for none.
      if (b_step) hints_q[list_q] <= 1'b1;
      if (rsp_q) hints_q[rsp_list_q] <= 1'b1;
      lost_q <= {lost_q[2:0], up_i[Links-1:0] != '1};
      if (lost_q != '0 || (starts_i && !good_i)) hints_q <= '1;
      rsp_q <= comes;
    end
  end

  always_ff @(posedge clk_i) rsp_list_q <= rsp_list;

  consort_tag_flags #(
      .Width(IndexWidth)
  ) i_acked (
      .clk_i,
      .rst_ni,
      .swept_o(swept[0]),
      .set_i(comes && !rsp_late),  // of a late write a part was lost
      .set_index_i(rsp_index_i),
      .clear_i(starts_i),
      .clear_index_i(tail_i[IndexWidth-1:0]),
      .index_i(index),
      .flag_o(acked)
  );

  // The oldest write waits for its link while it was sent and is not answered, though the master takes answers.
  assign comes = rsp_valid_i && counts;

  consort_asked_tags #(
      .Width(IndexWidth),
      .Links(Links)
  ) i_asked (
      .clk_i,
      .rst_ni,
      .swept_o(swept[2]),
      .begins_i(starts_i),
      .asks_i(good_i),
      .tail_i(tail_i[IndexWidth-1:0]),
      .link_i,
      .ends_i(b_step),
      .end_index_i(index),
      .rsp_index_i,
      .rsp_link_i,
      .counts_o(counts),
      .waits_i(head_q != tail_i && !answered && reach != '0 && !(b_valid_o && !b_ready_i)),
      .head_index_i(head_q[IndexWidth-1:0]),
      .tick_i,
      .silent_o
  );

  // It was answered: tags are free again in their order.
  consort_tag_flags #(
      .Width(IndexWidth)
  ) i_answered (
      .clk_i,
      .rst_ni,
      .swept_o(swept[1]),
      .set_i(b_step),
      .set_index_i(index),
      .clear_i(starts_i),
      .clear_index_i(tail_i[IndexWidth-1:0]),
      .index_i(head_q[IndexWidth-1:0]),
      .flag_o(answered)
  );

  consort_failed_tags #(
      .Width(IndexWidth + 1),
      .Links(Links)
  ) i_failed (
      .clk_i,
      .rst_ni,
      .up_i,
      .head_i(head_q),
      .tail_i,
      .answer_i(index),
      .failed_o(links_failed),
      .index_i(message_i.request.tag[IndexWidth-1:0]),
      .index_failed_o(message_failed)
  );

  always_comb begin
    late = 1'b0;
    rsp_late = 1'b0;
    for (int unsigned l = 0; l < Links; l++) begin
      late = late || (late_q[l] && late_index_q[l] == index);
      rsp_late = rsp_late || (late_q[l] && late_index_q[l] == rsp_index_i);
    end
  end

  // A write is answered when all its data were taken, and it was acknowledged or cannot be any more.
  assign failed = head.local_error || links_failed[Links > 1 ? head.link : 2'd0];
  assign b_step = b_due_q && (!b_valid_o || b_ready_i);
  assign ends_now = b_ripe_q && (acked || failed);
  // How far the write is behind the oldest tag, and how far what is not sent.
  assign ahead = index - head_q[IndexWidth-1:0];
  assign reach = unsent_q - head_q;

  always_ff @(posedge clk_i) begin
    if (starts_i) tags[tail_i[IndexWidth-1:0]] <= '{id: id_i, link: link_i, local_error: !good_i, decerr: !mapped_i};
    // A message's units are known late: they are added in the next cycle, long before the write is answered.
    done_units_q <= done_units_i;
    done_index_q <= current_i[IndexWidth-1:0];
    if (done_q) begin
      units_q <= units_q + 9'(done_units_q);
      units[done_index_q] <= units_q + 9'(done_units_q);
    end
    if (started_q) units_q <= '0;
    if (comes) resps[rsp_index_i] <= rsp_resp_i;
    if (b_step) begin
      b_o <= '{
          id: head.id,
          resp: head.local_error ? (head.decerr ? RespDecerr : RespSlverr) : acked ? resps[index] : RespSlverr
      };
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      unsent_q <= '0;
      message_failed_q <= 1'b0;
      {started_q, done_q} <= '0;
      late_q <= '0;
      for (int unsigned l = 0; l < Links; l++) late_index_q[l] <= '0;
      b_ripe_q <= 1'b0;
      b_due_q <= 1'b0;
      b_valid_o <= 1'b0;
      credit_give_o <= '0;
    end else begin
      {started_q, done_q} <= {starts_i, done_i};
      // A message waits for its credits, so that it failed is known in time.
      message_failed_q <= message_failed[Links > 1 ? message_i.link : 2'd0];
      for (int unsigned l = 0; l < Links; l++) begin
        if (!up_i[l]) begin
          late_q[l] <= 1'b0;
        end else if (message_pop_i && message_failed_q && (Links == 1 || message_i.link == 2'(l))) begin
          late_q[l] <= 1'b1;
          late_index_q[l] <= message_i.request.tag[IndexWidth-1:0];
        end else if (comes && rsp_index_i == late_index_q[l]) begin
          late_q[l] <= 1'b0;
        end
      end
      if (message_valid_i) unsent_q <= {message_i.turn, message_i.request.tag[IndexWidth-1:0]};
      else if (busy_i) unsent_q <= current_i;
      else unsent_q <= tail_i;
      b_ripe_q <= looks_q && !moves && {1'b0, ahead} < reach && !late && !b_step;
      b_due_q <= ends_now && !moves && !b_step;
      if (head_q != tail_i && answered) head_q <= head_q + 1'b1;
      if (!b_valid_o || b_ready_i) b_valid_o <= b_due_q;
      // Room at the mBlock is free again with the acknowledgement; after the link was down, when the write is answered.
      credit_give_o <= b_step && !head.local_error ? CreditWidth'(units[index]) : '0;
    end
  end

  // ---- Faults ----

  origin_t origins[Tags];
  origin_t head_origin;
  assign head_origin = origins[index];

  always_ff @(posedge clk_i) begin
    if (starts_i) origins[tail_i[IndexWidth-1:0]] <= origin_i;
  end

  // What is known of the write comes late in the cycle of its answer: it is looked at in the next one.
  logic step_q, local_q, acked_q, bad_q;
  origin_t ended_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q  <= 1'b0;
      fault_o <= '0;
    end else begin
      step_q  <= b_step;
      fault_o <= '{cause: FaultNone, write: 1'b1, port: 2'(Port), window: ended_q.window, addr: ended_q.addr};
      if (step_q && local_q) fault_o.cause <= ended_q.cause;
      else if (step_q && !acked_q) fault_o.cause <= FaultLost;
      else if (step_q && bad_q) fault_o.cause <= FaultAnswer;
    end
  end

  always_ff @(posedge clk_i) begin
    local_q <= head.local_error;
    acked_q <= acked;
    bad_q   <= resps[index][1];
    ended_q <= head_origin;
  end
endmodule
