// SPDX-License-Identifier: Apache-2.0
// The mBlock's requests as transactions, with a read, a write and a beat of a write followed: a request that is good, for its
// it is a burst of AXI4 and its segment is valid, of its generation, allows it and holds its offset, goes out once, as it is, after exactly those of its kind
// before it, and no other does; a refused read is reported as an error once. The data of a good write go out in its beats' order, each
// with its strobes, as far as they lie in its lanes, the last one as last, those of a refused one nowhere; of the units that show exactly the write's are taken.
// Its end is reported once, with what is known of it. What shows on the three channels stays until it is taken, whatever happens.
// From a drain on, or when its frame has no more data, a write that had started is filled up without strobes, a beat whenever there is room, and no other starts; it is
// idle exactly when nothing is under way. What is under way of writes is of one memory.
//
// Taken for granted: writes that are said to be bursts of AXI4 are, and of 16 beats at most, data do not show while it drains or the frame has none,
// and it drains until it is idle.
module request_issuer_check
  import consort_remote_pkg::*, lanes_of_beat::*;
(
    input logic                 clk,
    input logic                 rst_n,
    input logic                 drain,
    input request_t             request,
    input segment_t             segment,
    input logic                 legal,
    input logic                 request_valid,
    input logic                 answer_room,
    input logic [BeatWidth-1:0] data,
    input logic                 data_valid,
    input logic                 data_none,
    input logic                 error_taken,
    input logic                 may_start,
    input logic                 several,
    input logic                 aw_ready,
    input logic                 w_ready,
    input logic                 ar_ready,
    input logic                 mark_ar,        // follow what goes in now
    input logic                 mark_aw,
    input logic                 mark_w
);
  localparam int unsigned Link = 2;
  localparam logic [2:0] Depth = 3'd4;  // of its FIFOs

  logic idle, refused, request_taken, data_taken, error_valid, start, start_good, done, done_more, done_several, done_good, reads;
  logic [TagWidth-1:0] error_tag, done_tag;
  axi_a_t aw, ar;
  axi_w_t w;
  logic [1:0] aw_memory, ar_memory;
  logic aw_valid, w_valid, ar_valid;
  logic past_valid = 1'b0;
  typedef logic [$bits(axi_a_t)+1:0] to_memory_t;
  logic is_read, good, takes_read, takes_write;
  axi_a_t wanted;
  to_memory_t wanted_there;

  consort_request_issuer #(
      .Link(Link)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .drain_i(drain), .idle_o(idle), .refused_o(refused), .request_i(request),
      .segment_i(segment), .legal_i(legal), .good_i(good), .addr_i(wanted.addr), .data_none_i(data_none),
      .request_valid_i(request_valid), .answer_room_i(answer_room), .request_taken_o(request_taken), .data_i(data),
      .data_valid_i(data_valid), .data_taken_o(data_taken), .error_tag_o(error_tag), .error_valid_o(error_valid),
      .error_taken_i(error_taken), .may_start_i(may_start), .several_i(several), .start_o(start),
      .start_good_o(start_good), .done_o(done), .done_tag_o(done_tag), .done_more_o(done_more),
      .done_several_o(done_several), .done_good_o(done_good), .reads_o(reads), .aw_o(aw), .aw_memory_o(aw_memory),
      .aw_valid_o(aw_valid), .aw_ready_i(aw_ready), .w_o(w), .w_valid_o(w_valid), .w_ready_i(w_ready), .ar_o(ar),
      .ar_memory_o(ar_memory), .ar_valid_o(ar_valid), .ar_ready_i(ar_ready)
  );

  // ---- What a request is ----

  assign is_read = request.op == OpRead;
  assign good = legal && segment.valid && segment.generation == request.handle.generation &&
      (is_read ? segment.readable : segment.writable) && request.offset >> 12 <= OffsetWidth'(segment.last);
  assign takes_read = request_valid && request_taken && is_read;
  assign takes_write = request_valid && request_taken && !is_read;
  always_comb begin
    wanted = '0;
    wanted.addr = AddrWidth'(segment.base) * AddrWidth'(4096) + AddrWidth'(request.offset);
    wanted.id = IdWidth'(Link) * IdWidth'(256) + IdWidth'(request.tag);
    wanted.len = request.len;
    wanted.size = request.size;
    wanted.burst = request.burst;
    wanted.prot = request.prot;
    wanted.cache = request.modifiable ? 4'd3 : 4'd0;
  end
  assign wanted_there = {segment.memory, wanted};

  // ---- The write whose data come ----

  logic busy_q, good_q, strobed_q, more_q, several_q, dropped_q;
  logic [TagWidth-1:0] tag_q;
  burst_t burst, burst_q;
  assign burst = '{offset: request.offset[3:0], size: request.size, burst: request.burst, len: request.len[3:0]};
  logic [4:0] beats_q, beat_q;      // its beats; the one that comes next
  logic [1:0] strobes_left_q;       // units of strobes that come before
  logic [1:0][127:0] strobes_q;
  logic [1:0] memory_q;             // of the last good write
  logic beat_in, strobes_in;
  axi_w_t beat;

  assign strobes_in = data_taken && strobes_left_q != '0;
  assign beat_in = dropped_q ? dut.takes : data_taken && strobes_left_q == '0;
  always_comb begin
    beat.data = data;
    beat.strb = strobed_q ? strobes_q[beat_q[3]][{beat_q[2:0], 4'd0}+:16] : '1;
    beat.strb = dropped_q ? '0 : beat.strb & lanes_of(burst_q, beat_q[3:0]);
    beat.last = beat_q + 5'd1 == beats_q;
  end

  // ---- What is under way, and of it what is followed ----

  logic [2:0] ar_in_q, aw_in_q, w_in_q, ar_before_q, aw_before_q, w_before_q;
  logic ar_follows_q, aw_follows_q, w_follows_q;
  to_memory_t ar_q, aw_q, ar_shown_q, aw_shown_q;
  axi_w_t w_q, w_shown_q;
  logic ar_waits_q, aw_waits_q, w_waits_q;
  logic error_q, refused_q, drained_q;
  logic [TagWidth-1:0] error_tag_q;
  logic ar_goes_in, aw_goes_in, w_goes_in, ar_goes, aw_goes, w_goes;

  assign ar_goes_in = takes_read && good;
  assign aw_goes_in = takes_write && good;
  assign w_goes_in = beat_in && good_q;
  assign ar_goes = ar_valid && ar_ready;
  assign aw_goes = aw_valid && aw_ready;
  assign w_goes = w_valid && w_ready;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    ar_shown_q <= {ar_memory, ar};
    aw_shown_q <= {aw_memory, aw};
    w_shown_q <= w;
    if (!rst_n) begin
      {busy_q, dropped_q, error_q, refused_q, drained_q} <= '0;
      {ar_waits_q, aw_waits_q, w_waits_q, ar_follows_q, aw_follows_q, w_follows_q} <= '0;
      ar_in_q <= '0;
      aw_in_q <= '0;
      w_in_q <= '0;
      strobes_left_q <= '0;
    end else begin
      drained_q <= drain;
      refused_q <= request_valid && request_taken && !good;
      if (drain) error_q <= 1'b0;
      else if (takes_read && !good) error_q <= 1'b1;
      else if (error_taken) error_q <= 1'b0;
      if (takes_read && !good) error_tag_q <= request.tag;

      if (takes_write) begin
        busy_q <= 1'b1;
        good_q <= good;
        strobed_q <= request.op == OpWriteStrobe;
        more_q <= request.more;
        several_q <= several;
        tag_q <= request.tag;
        burst_q <= burst;
        beats_q <= {1'b0, request.len[3:0]} + 5'd1;
        beat_q <= '0;
        strobes_left_q <= request.op == OpWriteStrobe ? (request.len[3:0] > 4'd7 ? 2'd2 : 2'd1) : 2'd0;
        if (good) memory_q <= segment.memory;
      end else begin
        if (strobes_in) begin
          strobes_left_q <= strobes_left_q - 2'd1;
          strobes_q[strobes_left_q == 2'd1 && beats_q > 5'd8] <= data;
        end
        if (beat_in) begin
          beat_q <= beat_q + 5'd1;
          if (beat.last) busy_q <= 1'b0;
        end
        if (dropped_q) strobes_left_q <= '0;
        dropped_q <= busy_q && !(beat_in && beat.last) && (dropped_q || drain || data_none);
      end

      ar_waits_q <= ar_valid && !ar_ready;
      aw_waits_q <= aw_valid && !aw_ready;
      w_waits_q <= w_valid && !w_ready;
      ar_in_q <= ar_in_q + 3'(ar_goes_in) - 3'(ar_goes);
      aw_in_q <= aw_in_q + 3'(aw_goes_in) - 3'(aw_goes);
      w_in_q <= w_in_q + 3'(w_goes_in) - 3'(w_goes);
      if (!ar_follows_q && mark_ar && ar_goes_in) begin
        ar_follows_q <= 1'b1;
        ar_q <= wanted_there;
        ar_before_q <= ar_in_q - 3'(ar_goes);
      end else if (ar_goes) begin
        ar_before_q <= ar_before_q - 3'd1;
        if (ar_before_q == '0) ar_follows_q <= 1'b0;
      end
      if (!aw_follows_q && mark_aw && aw_goes_in) begin
        aw_follows_q <= 1'b1;
        aw_q <= wanted_there;
        aw_before_q <= aw_in_q - 3'(aw_goes);
      end else if (aw_goes) begin
        aw_before_q <= aw_before_q - 3'd1;
        if (aw_before_q == '0) aw_follows_q <= 1'b0;
      end
      if (!w_follows_q && mark_w && w_goes_in) begin
        w_follows_q <= 1'b1;
        w_q <= beat;
        w_before_q <= w_in_q - 3'(w_goes);
      end else if (w_goes) begin
        w_before_q <= w_before_q - 3'd1;
        if (w_before_q == '0) w_follows_q <= 1'b0;
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (request_valid && legal) begin
        assume (request.op != OpNone && (is_read || (request.len < 8'd16 && exists(burst))));
      end
      if (data_none) assume (!data_valid);
      if (drain) assume (!data_valid);
      if (drained_q && !idle) assume (drain);
      if (error_taken) assume (error_valid);
    end
  end

`ifdef PROVE
  logic [1:0] ar_slot, aw_slot, w_slot;
  assign ar_slot = dut.i_ar.next_q + ar_before_q[1:0] - 2'd1;
  assign aw_slot = dut.i_aw.next_q + aw_before_q[1:0] - 2'd1;
  assign w_slot  = dut.i_w.read_q[1:0] + w_before_q[1:0];
`endif

  always_comb begin
    if (past_valid && rst_n) begin
      // The shown requests are those that went in and did not go out, in order, and stay.
      assert (ar_valid == (ar_in_q != '0) && aw_valid == (aw_in_q != '0) && w_valid == (w_in_q != '0));
      if (ar_follows_q && ar_before_q == '0) assert ({ar_memory, ar} == ar_q);
      if (aw_follows_q && aw_before_q == '0) assert ({aw_memory, aw} == aw_q);
      if (w_follows_q && w_before_q == '0) assert (w == w_q);
      if (ar_waits_q) assert (ar_valid && {ar_memory, ar} == ar_shown_q);
      if (aw_waits_q) assert (aw_valid && {aw_memory, aw} == aw_shown_q);
      if (w_waits_q) assert (w_valid && w == w_shown_q);
      // Requests: none is taken without room, none while it drains; and the others as soon as they can be.
      if (ar_goes_in) assert (ar_in_q < Depth);
      if (aw_goes_in) assert (aw_in_q < Depth);
      if (w_goes_in) assert (w_in_q < Depth);
      if (request_valid && is_read && answer_room && ar_in_q < Depth && !error_q && !drain) assert (request_taken);
      if (request_valid && !is_read && may_start && !busy_q && aw_in_q == '0 && w_in_q == '0 && !drain) assert (request_taken);
      if (request_taken) assert (request_valid && !drain && (!is_read || answer_room));
      if (takes_write) assert (may_start && !busy_q && start && start_good == good);
      else assert (!start);
      if (aw_goes_in && segment.memory != memory_q) assert (aw_in_q == '0 && w_in_q == '0);
      assert (reads == ar_goes_in && refused == refused_q);
      assert (error_valid == error_q);
      if (error_q) assert (error_tag == error_tag_q);
      if (takes_read && !good) assert (!error_q);
      // Data.
      if (data_taken) assert (data_valid && busy_q && !dropped_q);
      if (data_valid && busy_q && !dropped_q && (strobes_left_q != '0 || w_in_q < Depth)) assert (data_taken);
      if (dropped_q && strobes_left_q == '0 && w_in_q < Depth) assert (beat_in);
      assert (done == (busy_q && beat_in && beat.last));
      if (done) assert ({done_tag, done_more, done_several, done_good} == {tag_q, more_q, several_q, good_q});
      assert (idle == (!busy_q && ar_in_q == '0 && aw_in_q == '0 && w_in_q == '0));
`ifdef PROVE
      // About its state: the FIFOs,
      assert (ar_in_q <= Depth && dut.i_ar.count_q == ar_in_q && dut.ar_room == (ar_in_q != Depth));
      assert (dut.i_ar.write_q == 2'(dut.i_ar.next_q + ar_in_q[1:0] - 2'd1));
      assert (dut.i_ar.one_o == (ar_in_q == 3'd1) && dut.i_ar.one_left_q == (ar_in_q == Depth - 3'd1));
      assert (aw_in_q <= Depth && dut.i_aw.count_q == aw_in_q && dut.aw_room == (aw_in_q != Depth));
      assert (dut.i_aw.write_q == 2'(dut.i_aw.next_q + aw_in_q[1:0] - 2'd1));
      assert (dut.i_aw.one_o == (aw_in_q == 3'd1) && dut.i_aw.one_left_q == (aw_in_q == Depth - 3'd1));
      assert (w_in_q <= Depth && dut.i_w.write_q - dut.i_w.read_q == w_in_q && dut.w_room == (w_in_q != Depth));
      assert (dut.i_w.one_q == (w_in_q == 3'd1) && dut.i_w.one_left_q == (w_in_q == Depth - 3'd1));
      if (ar_follows_q) assert (ar_before_q < ar_in_q && (ar_before_q == '0 || dut.i_ar.memory[ar_slot] == ar_q));
      if (aw_follows_q) assert (aw_before_q < aw_in_q && (aw_before_q == '0 || dut.i_aw.memory[aw_slot] == aw_q));
      if (w_follows_q) assert (w_before_q < w_in_q && dut.i_w.memory[w_slot] == w_q);
      if (w_waits_q) assert (dut.i_w.memory[dut.i_w.read_q[1:0]] == w_shown_q);
      // and the write whose data come.
      if (aw_in_q != '0 || w_in_q != '0 || (busy_q && good_q)) assert (memory_q == dut.memory_q);
      assert (dut.issue_q == (!busy_q ? 2'd0 : strobes_left_q != '0 ? 2'd1 : 2'd2));
      assert (dut.drop_q == dropped_q && (busy_q || !dropped_q));
      assert (busy_q || strobes_left_q == '0);
      if (busy_q) begin
        assert (beats_q <= 5'd16 && beat_q < beats_q);
        assert ({dut.good_q, dut.more_q, dut.several_q, dut.tag_q} == {good_q, more_q, several_q, tag_q});
        if (good_q) begin
          assert (exists(burst_q) && beats_q == 5'(burst_q.len) + 5'd1 && dut.i_lanes.moves_q == moves_of(burst_q));
          assert (dut.i_lanes.bytes_q == 4'((5'd1 << burst_q.size) - 5'd1));
          assert (dut.i_lanes.at_q == begin_of(burst_q, beat_q[3:0]) && dut.i_lanes.low_q == first_of(burst_q, beat_q[3:0]));
        end
        assert (dut.left_q == 4'(beats_q - beat_q - 5'd1) && dut.last_q == (beat_q + 5'd1 == beats_q));
        assert (dut.strobed_q == strobed_q);
        if (strobes_left_q != '0) begin
          assert (beat_q == '0 && strobed_q);
          assert (strobes_left_q == 2'd1 || (strobes_left_q == 2'd2 && beats_q > 5'd8));
          if (!dropped_q) begin
            assert (dut.two_strobes_q == (strobes_left_q == 2'd2));
            assert (dut.lane_q == 4'(strobes_left_q == 2'd1 && beats_q > 5'd8));
            if (strobes_left_q == 2'd1 && beats_q > 5'd8) assert (dut.strobes_q[127:0] == strobes_q[0]);
          end
        end else if (!dropped_q) begin
          assert (dut.lane_q == beat_q[3:0] || !strobed_q);
          if (strobed_q) assert (dut.strobes_q[127:0] == strobes_q[0]);
          if (strobed_q && beats_q > 5'd8) assert (dut.strobes_q[255:128] == strobes_q[1]);
        end
      end
`endif
    end
  end
endmodule
