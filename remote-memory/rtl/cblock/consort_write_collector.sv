// SPDX-License-Identifier: Apache-2.0
// Collects the writes of a port: addresses, their windows and tags, and data in messages of up to 16 beats.
//
// an address waits until its data can be taken; a message is offered when all of it is there, so a master that pauses never holds the
// link. Data of refused writes are taken and dropped.
// Interface: aw_* and w_* of AXI4; starts_o with what is known of a write when it begins; message_* is a stream; data_* and strobes_o are of the oldest
// message that was taken, of which strobes_next_i takes the last.
// Parameters: Port, Links, Windows; Room for data that are collected and not sent, in beats, a power of two.
// Throughput: a beat a cycle; an address in two cycles.
// Latency: a message is offered one cycle after its last beat; its data show two cycles after they came.
// Assumes: the master sends as many data as its address says, and the last one marked.
// Held by: the exploration of credits (tests/rtl/test_explore.py); simulation against AXI4 checkers (rtl/check), with wrong versions
// (tests/rtl/test_wrong_blocks.py).
module consort_write_collector
  import consort_remote_pkg::*;
#(
    parameter int unsigned Port    = 0,
    parameter int unsigned Links   = 1,
    parameter int unsigned Windows = 8,
    parameter int unsigned Room    = 256
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  window_t            windows_i[Windows],
    input  logic [3:0]         up_i,
    input  qos_t               qos_i,
    output logic [Windows-1:0] counted_o,

    input  axi_a_t aw_i,
    input  logic   aw_valid_i,
    output logic   aw_ready_o,
    input  axi_w_t w_i,
    input  logic   w_valid_i,
    output logic   w_ready_o,

    // A write that begins, with the tag tail_o.
    output logic                starts_o,
    output logic                good_o,         // it is sent; else it ends here
    output logic                mapped_o,
    output logic [1:0]          link_o,
    output logic [IdWidth-1:0]  id_o,
    output origin_t             origin_o,
    output logic [IndexWidth:0] tail_o,
    input  logic [IndexWidth:0] head_i,         // the oldest tag
    input  logic                swept_i,        // what is kept of tags is known

    // The write whose data come.
    output logic                busy_o,
    output logic [IndexWidth:0] current_o,
    output logic                done_o,         // a message of it is whole
    output logic [4:0]          done_units_o,

    output write_message_t message_o,
    output logic           message_valid_o,
    input  logic           message_ready_i,

    output logic [255:0]         strobes_o,
    input  logic                 strobes_next_i,
    output logic [DataWidth-1:0] data_o,
    output logic                 data_valid_o,
    input  logic                 data_ready_i
);
  localparam int unsigned Tags = 2 ** IndexWidth;
  localparam int unsigned RoomPtr = $clog2(Room);
  localparam int unsigned Slots = 32;  // of strobes: a message that is collected, 4 that wait, 16 and one that are sent
  localparam int unsigned SlotWidth = $clog2(Slots);

  // ---- Addresses ----

  axi_a_t aw_q;
  logic aw_valid_q, starts, good, mapped, allowed, rights, tag_free_q;
  logic [Windows-1:0] window;
  logic [1:0] link;
  handle_t handle;
  logic [OffsetWidth-1:0] offset;
  logic [IndexWidth:0] tail_q;

  assign aw_ready_o = !aw_valid_q || starts;

  consort_window_table #(
      .Windows(Windows),
      .Links(Links),
      .Write(1'b1)
  ) i_table (
      .clk_i,
      .windows_i,
      .up_i,
      .addr_i(aw_i.addr),
      .load_i(aw_ready_o),
      .mapped_o(mapped),
      .allowed_o(allowed),
      .rights_o(rights),
      .window_o(window),
      .link_o(link),
      .handle_o(handle),
      .offset_o(offset)
  );

  // ---- Data of the write at hand ----

  logic busy_q, good_q, takes, message_done, write_done;
  request_t current_q;
  logic turn_q;
  logic [1:0] link_q;
  logic [4:0] beats_q;        // collected of the message at hand
  logic [SlotWidth-1:0] slot_q, read_slot_q;  // of its strobes; of those that are sent
  logic partial_q, partial;
  logic urgent_q, urgent_now_q;  // of aw_q; of the write at hand
  logic held_q;               // and whether its first message waits for the port's share
  logic [RoomPtr:0] used_q;
  logic [RoomPtr-1:0] write_q, read_q;
  write_message_t made;
  logic message_room;
  logic [OffsetWidth-1:0] step;

  assign starts = aw_valid_q && !busy_q && tag_free_q;
  // No memory here knows exclusive accesses; one that is carried out as another is not a lock.
  assign good = mapped && allowed && !aw_q.lock;
  assign w_ready_o = busy_q && (!good_q || (message_room && !used_q[RoomPtr]));
  assign takes = w_valid_i && w_ready_o;
  assign message_done = takes && good_q && (w_i.last || beats_q == 5'd15);
  assign write_done = takes && w_i.last;
  assign partial = partial_q || w_i.strb != '1;
  // The next message starts after 16 beats of this one, at a beat's boundary.
  assign step = OffsetWidth'(16) << current_q.size;

  assign starts_o = starts;
  assign good_o = good;
  assign mapped_o = mapped;
  assign link_o = link;
  assign id_o = aw_q.id;
  assign origin_o = origin_of(aw_q, mapped, rights, allowed, 16'(window));
  assign tail_o = tail_q;
  assign busy_o = busy_q;
  assign current_o = {turn_q, current_q.tag[IndexWidth-1:0]};
  assign done_o = message_done;
  assign done_units_o = made.units;
  assign counted_o = starts && good ? window : '0;

  always_comb begin
    made = '{
        turn: turn_q,
        request: current_q,
        link: link_q,
        beats: beats_q + 5'd1,
        units: '0,
        urgent: urgent_now_q,
        held: held_q,
        // With two units of strobes for each message.
        most: 9'(current_q.len) + 9'd3 + 9'({current_q.len[7:4], 1'b0})
    };
    made.request.op = partial ? OpWriteStrobe : OpWrite;
    made.request.len = 8'(beats_q);
    made.request.more = !w_i.last;
    made.units = units_of(made.request.op, made.beats);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      busy_q <= 1'b0;
      good_q <= 1'b0;
      tail_q <= '0;
      tag_free_q <= 1'b0;
      beats_q <= '0;
      partial_q <= 1'b0;
      write_q <= '0;
      slot_q <= '0;
    end else begin
      if (aw_ready_o) aw_valid_q <= aw_valid_i;
      // After one has started the next one waits for its data, so this is never too late.
      tag_free_q <= swept_i && (tail_q ^ head_i) != (IndexWidth + 1)'(Tags);
      if (starts) begin
        busy_q <= 1'b1;
        good_q <= good;
        tail_q <= tail_q + 1'b1;
      end
      if (write_done) busy_q <= 1'b0;
      if (takes) begin
        beats_q   <= message_done || write_done ? '0 : beats_q + {4'd0, good_q};
        partial_q <= message_done || write_done ? 1'b0 : partial;
      end
      if (takes && good_q) write_q <= write_q + 1'b1;
      if (message_done) slot_q <= slot_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_ready_o) begin
      aw_q <= aw_i;
      urgent_q <= is_urgent(aw_i, qos_i);
    end
    if (message_done) held_q <= 1'b0;
    if (starts) begin
      urgent_now_q <= urgent_q;
      held_q <= !urgent_q && qos_i.writes != '0;
      link_q <= link;
      turn_q <= tail_q[IndexWidth];
      current_q <= request_of(aw_q, OpWrite, {PortWidth'(Port), tail_q[IndexWidth-1:0]}, handle, offset);
    end
    if (message_done) current_q.offset <= (current_q.offset & ~((OffsetWidth'(1) << current_q.size) - 1'b1)) + step;
  end

  consort_fifo #(
      .T(write_message_t),
      .Depth(4)
  ) i_messages (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(made),
      .valid_i(message_done),
      .ready_o(message_room),
      .data_o(message_o),
      .valid_o(message_valid_o),
      .ready_i(message_ready_i)
  );

  // Strobes lie as they are sent. Those beyond a message's last beat are whatever was there: nobody looks at them.
  for (genvar i = 0; i < 16; i++) begin : gen_lane
    logic [StrbWidth-1:0] lane[Slots];
    assign strobes_o[StrbWidth*i+:StrbWidth] = lane[read_slot_q];
    always_ff @(posedge clk_i) begin
      if (takes && beats_q[3:0] == 4'(i)) lane[slot_q] <= w_i.strb;
    end
  end

  // ---- Data that wait ----

  // A block RAM gives its word late in a cycle: a register behind it shows the next unit.
  logic [DataWidth-1:0] ram[Room];
  logic [DataWidth-1:0] behind;
  logic some_q, behind_q, moves, fetch;

  assign moves = !data_valid_o || data_ready_i;
  assign fetch = some_q && (!behind_q || moves);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_slot_q <= '0;
      data_valid_o <= 1'b0;
      behind_q <= 1'b0;
      read_q <= '0;
      used_q <= '0;
      some_q <= 1'b0;
    end else begin
      if (strobes_next_i) read_slot_q <= read_slot_q + 1'b1;
      if (moves) data_valid_o <= behind_q;
      behind_q <= fetch || (behind_q && !moves);
      if (fetch) read_q <= read_q + 1'b1;
      // Counts what is in the RAM, without the two units in front of it.
      if ((takes && good_q) != fetch) begin
        used_q <= fetch ? used_q - 1'b1 : used_q + 1'b1;
        some_q <= !fetch || used_q != (RoomPtr + 1)'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes && good_q) ram[write_q] <= w_i.data;
    if (fetch) behind <= ram[read_q];
    if (moves) data_o <= behind;
  end
endmodule
