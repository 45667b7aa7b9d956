// SPDX-License-Identifier: Apache-2.0
// The mBlock's acknowledgements of writes: a tag and its port are followed, whatever the other tags and ports do. A write of this
// tag that started is acknowledged once: one of several messages after all its data and all the memory's answers, with the worst
// of them (SLVERR at least, where a message was refused); a refused one with SLVERR after its data; and nothing else is. What is
// complete is acknowledged as soon as nothing else is; its way through a FIFO is proven apart. A write of several messages waits
// for the one before it of its port; where that one's last message has not come it is ended, with SLVERR.
//
// Assumed. The issuer: one write's data at a time. The cBlock: a tag comes again when it was acknowledged,
// and a write has 16 messages at most. The memory: it answers what has all its data, once each, and not with
// EXOKAY. A drain ends when nothing is under way.
module write_acks_check
  import consort_remote_pkg::*;
(
    input logic                clk,
    input logic                rst_n,
    input logic                drain,
    input logic [TagWidth-1:0] follow,
    input logic [TagWidth-1:0] tag,
    input logic                more,
    input logic                valid,
    input logic                wants_start,
    input logic                good,
    input logic                wants_done,
    input axi_b_t              b,
    input logic                b_valid,
    input logic                ack_taken
);
  localparam int unsigned Ports = 2 ** PortWidth;

  // The write whose data come.
  logic busy_q, busy_more_q, busy_several_q, busy_good_q;
  logic [TagWidth-1:0] busy_tag_q;

  logic may_start, several, start, done, b_ready, ack_valid;
  ack_t ack;
  logic past_valid = 1'b0;

  assign start = wants_start && valid && may_start && !busy_q && !drain;
  assign done  = wants_done && busy_q;

  consort_write_acks dut (
      .clk_i(clk), .rst_ni(rst_n), .drain_i(drain), .tag_i(tag), .more_i(more), .valid_i(valid), .may_start_o(may_start),
      .several_o(several), .start_i(start), .good_i(good), .done_i(done), .done_tag_i(busy_tag_q), .done_more_i(busy_more_q),
      .done_several_i(busy_several_q), .done_good_i(busy_good_q), .b_i(b), .b_valid_i(b_valid), .b_ready_o(b_ready),
      .ack_o(ack), .ack_valid_o(ack_valid), .ack_taken_i(ack_taken)
  );

  logic [TagWidth-1:0] follow_q;
  logic [PortWidth-1:0] place;  // its port
  assign place = follow_q[TagWidth-1-:PortWidth];

  // Its port's write of several messages, of whatever tag, until its acknowledgement is made.
  logic open_q, last_q, whole_q, refused_q;  // the last message started, has its data; one was refused
  logic [TagWidth-1:0] open_tag_q;
  logic [4:0] messages_q, out_q;             // at the memory
  logic [1:0] worst_q;
  // The followed tag as a write of one message, until its acknowledgement is made.
  logic one_q, one_good_q, one_done_q, one_answered_q;
  logic [1:0] one_resp_q;
  logic bad_q;           // some write of one message was refused, has its data, and is to be acknowledged
  logic drained_q, waited_q, apart_q, complete_q, ripe_q;  // complete a cycle ago, and two
  logic [TagWidth:0] waited_what_q;

  logic overtaken;              // by another one of its port, before its last message
  logic starts_several, answered, makes, makes_open, makes_one, open_complete, one_complete;
  logic [PortWidth-1:0] port_now, port_busy;
  ack_t new_ack;
  assign port_now = tag[TagWidth-1-:PortWidth];
  assign port_busy = busy_tag_q[TagWidth-1-:PortWidth];
  assign starts_several = start && port_now == place && (more || (open_q && tag == open_tag_q));
  assign overtaken = waited_q && valid && more && port_now == place && open_q && tag != open_tag_q && !whole_q && !busy_q;
  assign answered = b_valid && b_ready && !drain;
  assign makes = dut.i_acks.valid_i && dut.i_acks.ready_o && !drain;
  assign new_ack = dut.i_acks.data_i;
  assign makes_open = makes && dut.takes_done && dut.done_first[place];
  assign makes_one = makes && one_q && new_ack.tag == follow_q;
  assign open_complete = open_q && whole_q && out_q == '0;
  assign one_complete = one_q && one_done_q && (one_answered_q || !one_good_q);

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n) begin
      follow_q <= follow;
      busy_q <= 1'b0;
      drained_q <= 1'b0;
      waited_q <= 1'b0;
    end else begin
      drained_q <= drain;
      waited_q <= valid && !start && !drain;
      waited_what_q <= {more, tag};
      // A message that another one of its port keeps waiting, or did a cycle before.
      apart_q <= open_q && more && tag != open_tag_q;
      if (start) begin
        busy_q <= 1'b1;
        busy_tag_q <= tag;
        busy_more_q <= more;
        busy_several_q <= several;
        busy_good_q <= good;
      end else if (done) busy_q <= 1'b0;
    end
    if (!rst_n || drain) begin
      {open_q, one_q, bad_q, complete_q, ripe_q} <= '0;
      {last_q, whole_q, refused_q} <= '0;
      messages_q <= '0;
      out_q <= '0;
    end else begin
      if (starts_several) begin
        open_q <= 1'b1;
        open_tag_q <= tag;
        last_q <= !more;
        messages_q <= messages_q + 5'd1;
        if (!open_q) begin
          messages_q <= 5'd1;
          {whole_q, refused_q} <= '0;
          worst_q <= RespOkay;
        end
        if (!good) refused_q <= 1'b1;
      end else if (makes_open) open_q <= 1'b0;
      if (done && open_q && busy_tag_q == open_tag_q && !busy_more_q) whole_q <= 1'b1;
      if (overtaken) {last_q, whole_q, refused_q} <= '1;
      out_q <= out_q + 5'(starts_several && good) - 5'(answered && open_q && b.id[TagWidth-1:0] == open_tag_q);
      if (answered && open_q && b.id[TagWidth-1:0] == open_tag_q && b.resp > worst_q) worst_q <= b.resp;
      if (start && tag == follow_q && !starts_several) begin
        one_q <= 1'b1;
        one_good_q <= good;
        {one_done_q, one_answered_q} <= '0;
      end else if (makes_one) one_q <= 1'b0;
      if (done && one_q && busy_tag_q == follow_q) one_done_q <= 1'b1;
      if (answered && one_q && b.id[TagWidth-1:0] == follow_q) begin
        one_answered_q <= 1'b1;
        one_resp_q <= b.resp;
      end
      ripe_q <= complete_q && open_complete && !makes_open;
      complete_q <= open_complete && !makes_open;
      if (done && !busy_several_q && !busy_good_q) bad_q <= 1'b1;
      else if (makes && dut.takes_bad) bad_q <= 1'b0;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (drained_q && busy_q) assume (drain);
      // A waiting write stays until it starts, or the link is drained. A tag comes again when it was
      // acknowledged.
      if (waited_q) assume (valid && {more, tag} == waited_what_q);
      if (drained_q) assume (!valid);
      if (valid && tag == follow_q) assume (!one_q);
      if (valid && open_q && tag == open_tag_q) assume (!last_q && (messages_q != 5'd15 || !more) && messages_q < 5'd16);
      // The memory answers what it has.
      if (b_valid && !drain) begin
        assume (b.resp != RespExokay);
        if (open_q && b.id[TagWidth-1:0] == open_tag_q) begin
          assume (out_q > 5'(busy_q && busy_tag_q == open_tag_q && busy_good_q));
        end else if (b.id[TagWidth-1:0] == follow_q) assume (one_q && one_good_q && one_done_q && !one_answered_q);
      end
    end
  end

`ifdef PROVE
  always_comb if (past_valid && rst_n) assert (dut.data_q == busy_q);
`endif

  always_comb begin
    if (past_valid && rst_n && !drain) begin
      // The acknowledged write.
      if (makes && new_ack.tag == follow_q) begin
        assert (one_complete || (open_complete && open_tag_q == follow_q));
        if (one_complete) assert (new_ack.resp == (one_good_q ? one_resp_q : RespSlverr));
      end
      if (makes_open) begin
        assert (open_complete && new_ack.tag == open_tag_q);
        if (!refused_q) assert (new_ack.resp == worst_q);
        else assert (new_ack.resp >= RespSlverr);
        if (refused_q && worst_q != RespDecerr) assert (new_ack.resp == RespSlverr);
      end
      if (makes) assert (new_ack.valid);
      // Where there is room something is acknowledged when one is complete: answers first, then those of several messages.
      if (one_complete && dut.i_acks.ready_o) assert (makes);
      if (ripe_q && dut.i_acks.ready_o && open_complete && !dut.shows_b) assert (dut.takes_done);
      if (dut.i_acks.ready_o) assert (b_ready);
      // The write that may start.
      if (may_start && valid) begin
        if (port_now == place && open_q && tag != open_tag_q) assert (!more);
        if (port_now == place) assert (several == (more || (open_q && tag == open_tag_q)));
        assert (!bad_q);
      end
      if (waited_q && !bad_q && port_now == place && !apart_q && dut.room_q) assert (may_start);
`ifdef PROVE
      // About its state: the write whose data come,
      if (drained_q) assert (!open_q && !one_q && !dut.b_valid_q && dut.open_q == '0);
      if (busy_q && !drained_q) begin
        assert (!bad_q);
        assert (busy_several_q || !busy_more_q);
        if (port_busy == place) assert (busy_several_q == (open_q && busy_tag_q == open_tag_q));
        if (busy_tag_q == follow_q && !busy_several_q) begin
          assert (one_q && one_good_q == busy_good_q && !one_done_q && !one_answered_q);
        end
        if (port_busy == place && busy_several_q) assert (last_q == !busy_more_q && !whole_q && (!busy_good_q || out_q != '0));
      end
      // the followed tag,
      if (one_q) begin
        assert (!(open_q && open_tag_q == follow_q));
        if (!one_done_q) assert (busy_q && busy_tag_q == follow_q && !busy_several_q && !one_answered_q);
        if (one_done_q && !one_good_q) assert (dut.bad_due_q && dut.bad_tag_q == follow_q);
        if (!one_good_q) assert (!one_answered_q);
      end
      if (dut.bad_due_q && dut.bad_tag_q == follow_q) assert (one_q && one_done_q && !one_good_q);
      assert (bad_q == dut.bad_due_q);
      assert ((dut.b_valid_q && dut.b_single && dut.b_tag_q == follow_q) == (one_q && one_answered_q));
      if (one_q && one_answered_q) assert (dut.b_resp_q == one_resp_q);
      // and the write of several messages.
      assert (dut.open_q[place] == open_q);
      for (int unsigned p = 0; p < Ports; p++) begin
        if (dut.open_q[p]) assert (dut.tag_q[p][TagWidth-1-:PortWidth] == PortWidth'(p));
        if (dut.done_q[p]) assert (dut.open_q[p]);
        if (dut.b_valid_q && dut.b_of_q[p]) begin
          assert (dut.b_of_q == Ports'(1) << p && dut.b_tag_q[TagWidth-1-:PortWidth] == PortWidth'(p));
        end
      end
      if (dut.b_valid_q) assert (dut.b_resp_q != RespExokay);
      assert (dut.count_q[place] == out_q + 5'(dut.b_valid_q && dut.b_of_q[place]));
      assert (out_q <= messages_q && messages_q <= 5'd16 && dut.count_q[place] <= messages_q);
      if (!open_q) assert (dut.count_q[place] == '0);
      else begin
        assert (dut.tag_q[place] == open_tag_q && dut.whole_q[place] == whole_q);
        if (whole_q) assert (last_q);
        if (last_q && !whole_q) assert (busy_q && busy_tag_q == open_tag_q);
        assert (dut.resp_q[place] != RespExokay && worst_q != RespExokay);
        if (!refused_q) assert (worst_q == (dut.b_valid_q && dut.b_of_q[place] && dut.b_resp_q > dut.resp_q[place] ?
            dut.b_resp_q : dut.resp_q[place]));
        else assert (dut.resp_q[place] >= RespSlverr && (worst_q == RespDecerr || dut.resp_q[place] == RespSlverr));
        if (refused_q && dut.b_valid_q && dut.b_of_q[place]) assert (worst_q >= dut.b_resp_q);
      end
      if (dut.done_q[place]) assert (whole_q && dut.count_q[place] == '0);
      assert (dut.known_q == waited_q || drained_q);
      if (waited_q && port_now == place) begin
        assert (dut.continues_q == (open_q && tag == open_tag_q));
        if (!dut.blocked_q) assert (!(open_q && more && tag != open_tag_q));
        assert (dut.blocked_q == apart_q);
      end
      if (complete_q) assert (open_complete && dut.count_q[place] == '0);
      if (ripe_q) assert (open_complete && dut.done_q[place]);
`endif
    end
  end
endmodule
