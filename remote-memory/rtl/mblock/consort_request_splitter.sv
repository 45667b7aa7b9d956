// SPDX-License-Identifier: Apache-2.0
// The mBlock's ingress controller of one link: frames into single requests, each with the segment that it names. The segment is
// read a cycle before the request shows, and stays what it was then: a request that shows is under way. While data of a frame still come,
// the next one's first request goes on its way, so that it finds its data at once.
//
// Where offsets have more than 28 bits, a frame whose first unit has their upper bits is taken together with that unit.
// Interface: frame_* and unit_* from the link; request_* with its segment and data_* to the issuer.
// Parameters: Segments.
// Throughput: a request a cycle; of a pair of requests one in each of two cycles; a unit of data a cycle, with none lost between frames.
// Latency: the first request of a frame that finds none before it shows in the next cycle, others within three.
// Assumes: nothing of the other end.
// Held by: proof tests/rtl/formal/request_splitter_check.sv, tests/rtl/test_proofs.py.
module consort_request_splitter
  import consort_remote_pkg::*;
#(
    parameter int unsigned Segments = 16
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  segment_t             segments_i[Segments],
    input  logic                 drain_i,
    input  logic [MetaWidth-1:0] frame_meta_i,
    input  logic                 frame_waited_i,   // else it arrives now, and shows here too
    input  logic [MetaWidth-1:0] arriving_meta_i,
    input  logic [4:0]           frame_units_i,
    input  logic                 frame_valid_i,
    output logic                 frame_ready_o,
    input  logic [BeatWidth-1:0] unit_i,
    input  logic                 unit_valid_i,
    output logic                 unit_ready_o,
    output request_t             request_o,
    output segment_t             segment_o,
    output logic                 legal_o,          // what shows is a burst that AXI4 has
    output logic                 request_valid_o,
    input  logic                 request_taken_i,
    // The unit that shows is of a request's data. They come in the order of the requests.
    output logic                 data_valid_o,
    input  logic                 data_taken_i,
    output logic                 data_none_o,      // no more of them come for the requests that were taken
    input  logic                 data_idle_i       // no request that was taken wants any
);
  request_meta_t meta, arrives;
  request_t pushed, queued, arrived, looked;
  logic [4:0] units_q, pairs_q;  // of the frame at hand, to come; those of requests in pairs come first
  logic some_q, one_q, at_pairs_q;         // there are units to come, one, and they are pairs
  logic [4:0] head_units, head_pairs;      // of the frame that shows
  logic [4:0] next_units_q, next_pairs_q;  // of the one that was taken behind the frame at hand, where next_q
  logic next_q, moves, ahead, unit_taken, head_taken, pair_taken;
  // Units of the frame that came in last, beyond those that its requests want; modulo more than they can want.
  logic [9:0] spare_q;
  logic exact_q;                 // there were none a cycle before
  logic came_q, came_first_q, came_pair_q;  // a request came in a cycle before: a frame's first one; with a unit of its frame
  op_e came_op_q;
  logic [3:0] came_len_q;
  logic [4:0] wants;             // units of data that it wants, with the one that brought it
  logic at_head, odd_q;
  logic push, queue_ready, queue_empty, queue_valid, direct, free, drops;
  logic highs;  // the frame that shows brings the upper bits of its offsets in a unit, which shows too
  logic lone;   // the frame that shows is a read, and all of it
  logic head_ready, unwanted_q;
  logic [BeatWidth-1:0] highs_q;  // of the requests that are to come, the next one's lowest

  assign meta = request_meta_t'(frame_meta_i);
  if (HighWidth > 0) begin : gen_high
    assign lone = frame_units_i == '0;
    assign highs = meta.highs && !lone;
    always_ff @(posedge clk_i) begin
      if (at_head || ahead) highs_q <= highs ? unit_i >> HighWidth : '0;
      else if (at_pairs_q && push && queue_ready) highs_q <= highs_q >> HighWidth;
    end
  end else begin : gen_low
    logic unused;
    assign unused = &{1'b0, meta.highs};
    assign lone = 1'b0;
    assign highs = 1'b0;
    assign highs_q = '0;
  end
  assign head_units = frame_units_i - 5'(highs);
  assign head_pairs = ({1'b0, meta.extra} + 5'd1) >> 1;
  assign at_head = !some_q && !next_q;
  assign head_ready = (at_head || ahead) && queue_ready && (!highs || unit_valid_i);
  assign head_taken = frame_valid_i && head_ready;
  assign pair_taken = at_pairs_q && !odd_q && unit_valid_i && queue_ready;
  assign unit_taken = unit_valid_i && unit_ready_o;
  assign frame_ready_o = head_ready;
  // Units that no request of their frame wants: its sender counts wrongly. Once they are unwanted, a frame's units stay so.
  assign drops = unwanted_q && some_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) unwanted_q <= 1'b0;
    else unwanted_q <= some_q && !at_pairs_q && !next_q && queue_empty && !request_valid_o && data_idle_i && !drain_i;
  end
  assign unit_ready_o = data_taken_i || (odd_q && queue_ready) || drops || (highs && head_ready && frame_valid_i);
  // A write that wants data while requests of a frame wait for room is of a frame before that one: its data do not come.
  assign data_none_o = at_head || (at_pairs_q && !queue_ready);
  assign data_valid_o = unit_valid_i && some_q && !at_pairs_q && !drain_i;

  // A frame's first request goes past the queue where nothing waits.
  assign direct = at_head && !request_valid_o && queue_empty && !frame_waited_i && !highs;
  assign free = !request_valid_o || request_taken_i;

  always_comb begin
    pushed = lone ? lone_read_of(meta) : request_from(meta.first, highs ? unit_i[HighBits-1:0] : '0);
    push = (at_head || ahead) && frame_valid_i && !direct && (!highs || unit_valid_i);
    if (odd_q) begin
      pushed = request_from(short_t'(unit_i[127:64]), highs_q[HighBits-1:0]);
      push = pushed.op != OpNone;
    end else if (at_pairs_q) begin
      pushed = request_from(short_t'(unit_i[63:0]), highs_q[HighBits-1:0]);
      push = unit_valid_i;
    end
  end

  consort_fifo_ahead #(
      .T(request_t),
      .Depth(32)
  ) i_queue (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(pushed),
      .valid_i(push),
      .ready_o(queue_ready),
      .empty_o(queue_empty),
      .data_o(queued),
      .valid_o(queue_valid),
      .ready_i(free)
  );

  assign arrives = request_meta_t'(arriving_meta_i);
  assign arrived = lone ? lone_read_of(arrives) : request_from(arrives.first, '0);
  assign looked = queue_valid ? queued : arrived;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) request_valid_o <= 1'b0;
    else if (drain_i) request_valid_o <= 1'b0;
    else if (free) request_valid_o <= queue_valid || (direct && frame_valid_i);
  end

  always_ff @(posedge clk_i) begin
    if (free) begin
      request_o <= looked;
      legal_o <= queue_valid ? legal(queued) : legal(arrived);
      segment_o <= segments_i[looked.handle.index];
    end
  end

  // One that was taken as the last unit of the one at hand came begins a cycle later.
  assign moves = next_q && (!some_q || (one_q && unit_taken));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {some_q, next_q, at_pairs_q, odd_q} <= '0;
    end else if (drain_i) begin
      {some_q, next_q, at_pairs_q, odd_q} <= '0;
    end else begin
      next_q <= head_taken ? some_q && head_units != '0 : next_q && !moves;
      some_q <= moves || (at_head ? head_taken && head_units != '0 : some_q && !(one_q && unit_taken));
      if (moves) at_pairs_q <= next_pairs_q != '0;
      else if (at_head) at_pairs_q <= head_taken && head_units != '0 && head_pairs != '0;
      else if (unit_taken && (one_q || pairs_q == 5'd1)) at_pairs_q <= 1'b0;
      if (odd_q && queue_ready) odd_q <= 1'b0;
      else if (pair_taken) odd_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (moves) begin
      units_q <= next_units_q;
      pairs_q <= next_pairs_q;
      one_q   <= next_units_q == 5'd1;
    end else if (at_head) begin
      // Whether a frame is taken is known late: what lies in a free place does not matter.
      units_q <= head_units;
      pairs_q <= head_pairs;
      one_q   <= head_units == 5'd1;
    end else if (unit_taken) begin
      units_q <= units_q - 5'd1;
      pairs_q <= pairs_q - 5'd1;
      one_q   <= units_q == 5'd2;
    end
    if (!next_q) begin
      next_units_q <= head_units;
      next_pairs_q <= head_pairs;
    end
  end

  // ---- The first request of the next frame, while data of the one at hand still come ----

  // Only where the frame at hand has exactly the units that its requests want: else where its end is decides what becomes of them.

  assign ahead = some_q && !at_pairs_q && !next_q && exact_q && !came_q && !unwanted_q && !highs;
  // As consort_request_issuer takes them, whether the request is good or not.
  assign wants = 5'(came_pair_q) + (came_op_q == OpRead ? 5'd0 :
      {1'b0, came_len_q} + 5'd1 + (came_op_q != OpWriteStrobe ? 5'd0 : came_len_q > 4'd7 ? 5'd2 : 5'd1));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      came_q  <= 1'b0;
      exact_q <= 1'b0;
    end else begin
      came_q  <= !drain_i && (head_taken || pair_taken || (odd_q && queue_ready && push));
      exact_q <= !came_q && spare_q == '0;
    end
  end

  always_ff @(posedge clk_i) begin
    came_first_q <= !at_pairs_q;
    came_pair_q <= at_pairs_q && !odd_q;
    {came_op_q, came_len_q} <= {pushed.op, pushed.len[3:0]};
    if (came_q) spare_q <= (came_first_q ? 10'(next_units_q) : spare_q) - 10'(wants);
  end
endmodule
