// SPDX-License-Identifier: Apache-2.0
// The mBlock's frames of requests, with one request followed: it comes out once, as it is, after exactly those before it, within
// three cycles where nothing is before it, with the segment that it names as it was in the cycle before it showed; it stays, with
// that segment, until it is taken. A frame's units are asked for only when the frame was taken, the next frame only when they all
// were, or where of this one all requests came in, three cycles before, and exactly the units are left that they want: one frame then, whose
// units come behind those; units of requests go first, and those behind them show as data when all its requests were taken out; those that
// nobody wants are dropped, however many were wanted, and no frame is taken meanwhile. With each request goes whether AXI4 has such a burst. After a drain nothing of before shows.
// The upper bits of wide offsets are those of the unit that was taken with the frame, in the order of its
// requests, or of the header where that is all of the frame, or 0.
//
// Taken for granted: a frame that did not wait arrives as it shows; what shows stays until it is taken; data are taken when they
// show, and not by who wants none. Frames may have fewer units than their requests need, or more.
module request_splitter_check
  import consort_remote_pkg::*;
#(
    localparam int unsigned Segments = 16
) (
    input logic                                   clk,
    input logic                                   rst_n,
    input logic [$bits(segment_t)*Segments-1:0]   segments,
    input logic                                   drain,
    input logic [MetaWidth-1:0]                   frame_meta,
    input logic                                   frame_waited,
    input logic [MetaWidth-1:0]                   arriving_meta,
    input logic [4:0]                             frame_units,
    input logic                                   frame_valid,
    input logic [BeatWidth-1:0]                   unit,
    input logic                                   unit_valid,
    input logic                                   request_taken,
    input logic                                   data_taken,
    input logic                                   data_idle,
    input logic                                   mark            // follow the request that comes in now
);
  localparam int unsigned Depth = 4;  // of the FIFO of requests
  segment_t table_now[Segments];
  logic frame_ready, unit_ready, request_valid, data_valid, data_none, legal_shown, legal_before_q;
  request_t request;
  segment_t segment;
  logic past_valid = 1'b0;

  for (genvar i = 0; i < Segments; i++) begin : gen_table
    assign table_now[i] = segments[$bits(segment_t)*i+:$bits(segment_t)];
  end

  consort_request_splitter #(
      .Segments(Segments)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .segments_i(table_now), .drain_i(drain), .frame_meta_i(frame_meta),
      .frame_waited_i(frame_waited), .arriving_meta_i(arriving_meta), .frame_units_i(frame_units), .frame_valid_i(frame_valid),
      .frame_ready_o(frame_ready), .unit_i(unit), .unit_valid_i(unit_valid), .unit_ready_o(unit_ready), .request_o(request),
      .segment_o(segment), .request_valid_o(request_valid), .request_taken_i(request_taken), .data_valid_o(data_valid),
      .data_taken_i(data_taken), .data_none_o(data_none), .data_idle_i(data_idle), .legal_o(legal_shown)
  );

  request_meta_t meta;
  short_t low, high;
  request_t comes;
  logic lone, highs;            // what the frame is that shows
  logic [BeatWidth-1:0] highs_q;
  logic [3:0] place_q;          // of the frame's next request
  logic [HighBits-1:0] upper;
  logic [4:0] units, pairs, pairs_q, data_q;  // units of the frame at hand, to come: of requests, and of data
  logic idle_q;                 // in the cycle before nobody wanted the frame's data
  logic next_q, settled_q;      // the first request of the frame behind it came in; none came in in the cycle before
  logic known_q;                // in the cycle before its requests wanted exactly its units, and had so in the one before that
  logic [4:0] next_pairs_q, next_data_q;
  logic [9:0] wanted_q;         // units of the frame that came in last, its pairs and what the requests want that came in
  logic [4:0] last_units_q;     // all units of it
  logic none_at_hand, at_head, last_unit, moves, exact;
  logic half_q;                 // of the pair at hand the lower one came in
  logic [3:0] inside_q, before_q;
  logic follows_q;
  request_t followed_q;
  logic [1:0] hidden_q;         // cycles in which something was inside and nothing showed
  logic [$bits(segment_t)*Segments-1:0] segments_before_q;
  logic waits_q, unit_waits_q;
  request_t request_before_q;
  segment_t segment_before_q;
  logic [BeatWidth-1:0] unit_before_q;
  logic takes_frame, takes_unit, comes_in, goes_out;

  // A burst as AXI4 has it, by the bytes that it touches.
  function automatic logic burst_of_axi4(request_t of);
    logic [15:0] bytes, start, span;
    bytes = 16'd1 << of.size;
    start = {4'd0, of.offset[11:0]} & ~(bytes - 16'd1);
    span = (16'(of.len) + 16'd1) << of.size;
    if (of.op == OpNone || of.size > 3'd4) return 1'b0;
    if (of.op != OpRead && of.len > 8'd15) return 1'b0;
    case (of.burst)
      2'd0: return of.len <= 8'd15;
      2'd1: return start + span <= 16'd4096;
      2'd2: return (of.len == 8'd1 || of.len == 8'd3 || of.len == 8'd7 || of.len == 8'd15) && start == {4'd0, of.offset[11:0]};
      default: return 1'b0;
    endcase
  endfunction

  function automatic request_t whole(short_t of, logic [HighBits-1:0] above);
    whole.modifiable = of.modifiable;
    whole.prot = of.prot;
    whole.more = of.more;
    whole.burst = of.burst;
    whole.size = of.size;
    whole.len = of.len;
    whole.offset = OffsetWidth'({above, of.offset});
    whole.handle = of.handle;
    whole.tag = of.tag;
    whole.op = of.op;
  endfunction

  // Units of data that are taken for a request, whether it is good or not.
  function automatic logic [9:0] data_of(request_t of);
    logic [9:0] beats;
    if (of.op == OpRead) return 10'd0;
    beats = 10'(of.len % 8'd16) + 10'd1;
    return of.op == OpWriteStrobe ? beats + (beats + 10'd7) / 10'd8 : beats;
  endfunction

  assign none_at_hand = pairs_q == '0 && data_q == '0;
  assign at_head = none_at_hand && !next_q;
  assign last_unit = takes_unit && pairs_q + data_q == 5'd1;
  assign moves = next_q && (none_at_hand || last_unit);
  assign exact = wanted_q == 10'(last_units_q);
  assign meta = request_meta_t'(frame_meta);
  assign pairs = (5'(meta.extra) + 5'd1) >> 1;
  assign low = short_t'(unit[63:0]);
  assign high = short_t'(unit[127:64]);
  assign lone = HighWidth != 0 && frame_units == '0;
  assign highs = HighWidth != 0 && frame_units != '0 && meta.highs;
  assign units = frame_units - 5'(highs);
  assign takes_frame = frame_valid && frame_ready;
  assign takes_unit = unit_valid && unit_ready;
  assign goes_out = request_valid && request_taken;
  // A frame's first request comes with it; of a pair the lower one as soon as there is room, the upper one with its unit.
  always_comb begin
    upper = highs ? unit[HighBits-1:0] : '0;
    comes = whole(meta.first, upper);
    if (lone) begin
      upper = HighBits'({frame_meta[MetaWidth-1-:8], frame_meta[1:0]});
      comes = whole(meta.first, upper);
      comes.op = OpRead;
    end
    comes_in = takes_frame;
    if (pairs_q != '0) begin
      upper = HighWidth == 0 ? '0 : HighBits'(highs_q >> (HighWidth * place_q));
      comes = whole(half_q ? high : low, upper);
      comes_in = half_q ? takes_unit && high.op != OpNone : unit_valid && dut.queue_ready;
    end
  end

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    segments_before_q <= segments;
    request_before_q <= request;
    segment_before_q <= segment;
    legal_before_q <= legal_shown;
    unit_before_q <= unit;
    if (!rst_n || drain) begin
      pairs_q <= '0;
      data_q <= '0;
      inside_q <= '0;
      hidden_q <= '0;
      {idle_q, half_q, follows_q, waits_q, unit_waits_q, next_q, known_q} <= '0;
      settled_q <= 1'b1;
    end else begin
      idle_q <= pairs_q == '0 && data_q != '0 && data_idle && inside_q == '0 && !next_q;
      known_q <= !at_head && settled_q && exact;
      settled_q <= !comes_in;
      waits_q <= request_valid && !request_taken;
      unit_waits_q <= unit_valid && !unit_ready;
      hidden_q <= inside_q != '0 && !request_valid ? hidden_q + 2'd1 : '0;
      inside_q <= inside_q + 4'(comes_in) - 4'(goes_out);
      if (takes_frame) begin
        highs_q <= highs ? unit : '0;
        next_pairs_q <= pairs < units ? pairs : units;
        next_data_q <= pairs < units ? units - pairs : '0;
        last_units_q <= units;
        wanted_q <= data_of(comes);
      end else if (comes_in) begin
        wanted_q <= wanted_q + data_of(comes) + 10'(!half_q);
      end
      next_q <= takes_frame ? !at_head && units != '0 : next_q && !moves;
      if (takes_frame && at_head) begin
        pairs_q <= pairs < units ? pairs : units;
        data_q <= pairs < units ? units - pairs : '0;
      end else if (moves) begin
        pairs_q <= next_pairs_q;
        data_q <= next_data_q;
      end else if (takes_unit && !none_at_hand) begin
        if (pairs_q != '0) pairs_q <= pairs_q - 5'd1;
        else data_q <= data_q - 5'd1;
      end
      if (takes_frame) place_q <= 4'd1;
      else if (comes_in) place_q <= place_q + 4'd1;
      if (takes_unit) half_q <= 1'b0;
      else if (pairs_q != '0 && comes_in) half_q <= 1'b1;
      if (!follows_q) begin
        if (mark && comes_in) begin
          follows_q <= 1'b1;
          followed_q <= comes;
          before_q <= inside_q - 4'(goes_out);
        end
      end else if (goes_out) begin
        follows_q <= before_q != '0;
        before_q <= before_q - 4'd1;
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n && !drain) begin
      if (frame_valid) assume (frame_units <= 5'(MaxUnits) && (lone || 5'(meta.extra) < 5'(MaxRequests)));
      if (frame_valid && !frame_waited) assume (arriving_meta == frame_meta);
      if (unit_waits_q) assume (unit_valid && unit == unit_before_q);
      if (request_taken) assume (request_valid);
      if (data_taken) assume (data_valid && !data_idle);
    end
  end

`ifdef PROVE
  logic [2:0] behind;
  logic [3:0] place;
  logic [1:0] slot;
  assign behind = dut.i_queue.i_behind.write_q - dut.i_queue.i_behind.read_q;
  assign place = before_q - 4'(request_valid);
  assign slot = dut.i_queue.i_behind.read_q[1:0] + place[1:0] - 2'(dut.queue_valid);
`endif

  always_comb begin
    if (past_valid && rst_n && !drain) begin
      if (request_valid) assert (inside_q != '0);
      if (request_valid && follows_q && before_q == '0) assert (request == followed_q);
      if (request_valid && !waits_q) begin
        assert (segment == segments_before_q[$bits(segment_t)*request.handle.index+:$bits(segment_t)]);
      end
      if (waits_q) assert (request_valid && {request, segment} == {request_before_q, segment_before_q});
      if (waits_q) assert (legal_shown == legal_before_q);
      if (request_valid) assert (legal_shown == burst_of_axi4(request));
      assert (hidden_q != 2'd3 && (hidden_q != 2'd2 || request_valid));
      // Frames and units.
      if (takes_frame && at_head) assert (!highs || takes_unit);
      if (takes_frame && !at_head) assert (pairs_q == '0 && data_q != '0 && exact && !next_q && !highs && !idle_q);
      if (takes_unit && at_head) assert (takes_frame && highs);
      else if (takes_unit) assert (pairs_q != '0 ? half_q : data_q != '0 && (data_taken || idle_q));
      if (unit_valid && pairs_q == '0 && data_q != '0 && idle_q) assert (unit_ready);
      // No data come while requests of a later frame wait for room: who holds the room would wait for them.
      assert (data_none == (pairs_q == '0 ? at_head : !dut.queue_ready));
      assert (data_valid == (unit_valid && pairs_q == '0 && data_q != '0));
      if (inside_q < 4'(Depth)) begin
        assert (frame_ready == (at_head ? !highs || unit_valid :
            pairs_q == '0 && data_q != '0 && known_q && settled_q && !next_q && !highs && !idle_q));
      end
      if (inside_q < 4'(Depth) && unit_valid && pairs_q != '0) assert (half_q ? unit_ready : comes_in);
`ifdef PROVE
      // About its state.
      assert (dut.some_q == !none_at_hand && dut.odd_q == half_q && dut.unwanted_q == idle_q);
      if (!none_at_hand) assert (dut.units_q == pairs_q + data_q && dut.one_q == (dut.units_q == 5'd1));
      assert (dut.at_pairs_q == (pairs_q != '0));
      if (pairs_q != '0) assert (pairs_q == (dut.pairs_q < dut.units_q ? dut.pairs_q : dut.units_q));
      assert (pairs_q <= 5'd8 && data_q <= 5'(MaxUnits) && pairs_q + data_q <= 5'(MaxUnits));
      if (idle_q) assert (pairs_q == '0 && (!none_at_hand || !next_q));
      assert (dut.next_q == next_q && dut.came_q == !settled_q);
      if (!settled_q) assert (inside_q != '0);
      if (next_q) begin
        assert (pairs_q == '0 && next_pairs_q + next_data_q == dut.next_units_q && dut.next_units_q != '0);
        assert (dut.next_units_q == last_units_q);
        assert (next_pairs_q == (dut.next_pairs_q < dut.next_units_q ? dut.next_pairs_q : dut.next_units_q));
        assert (next_pairs_q <= 5'd8 && next_data_q <= 5'(MaxUnits) && next_pairs_q + next_data_q <= 5'(MaxUnits));
        assert (place_q == 4'd1 && !half_q);
        if (HighWidth != 0) assert (dut.highs_q == '0 && highs_q == '0 && next_pairs_q <= 5'(MaxRequests / 2));
      end
      // What it counts of the frame that came in last: with at most fifteen requests it never comes round.
      if (!at_head) begin
        if (settled_q) assert (dut.spare_q == 10'(last_units_q) - wanted_q);
        else if (dut.came_first_q) assert (dut.next_units_q == last_units_q && 10'(dut.wants) == wanted_q);
        else assert (dut.spare_q - 10'(dut.wants) == 10'(last_units_q) - wanted_q);
      end
      if (!none_at_hand && settled_q) assert (dut.exact_q == known_q);
      if (half_q) assert (pairs_q != '0 && unit_waits_q);
      if (HighWidth != 0 && pairs_q != '0) begin
        assert (dut.highs_q == highs_q >> (HighWidth * place_q));
        assert (6'(place_q) + {pairs_q, 1'b0} - 6'(half_q) <= 6'(2 * (MaxRequests / 2) + 1));
      end
      assert (inside_q == 4'(behind) + 4'(dut.queue_valid) + 4'(request_valid));
      assert (behind <= 3'(Depth) && dut.i_queue.i_behind.valid_o == (behind != '0));
      assert (dut.i_queue.i_behind.ready_o == (behind != 3'(Depth)));
      assert (dut.i_queue.i_behind.one_q == (behind == 3'd1) && dut.i_queue.i_behind.one_left_q == (behind == 3'(Depth - 1)));
      if (hidden_q == 2'd1) assert (dut.queue_valid || request_valid);
      if (follows_q) begin
        assert (before_q < inside_q);
        if (request_valid && before_q == '0) assert (request == followed_q);
        else if (dut.queue_valid && place == '0) assert (dut.queued == followed_q);
        else assert (dut.i_queue.i_behind.memory[slot] == followed_q);
      end
      if (waits_q) assert (request_valid);
`endif
    end
  end
endmodule
