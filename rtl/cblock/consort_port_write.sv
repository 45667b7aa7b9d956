// SPDX-License-Identifier: Apache-2.0
// Writes of one AXI4 slave port of the cBlock. A burst is collected in messages of up to 16 beats and sent when one is whole,
// so a master that pauses never holds the link. Acknowledgements go to the master in the order of the addresses.
module consort_port_write
  import consort_remote_pkg::*;
#(
    parameter int unsigned Port     = 0,
    parameter int unsigned Links    = 1,
    parameter int unsigned Windows  = 8,
    parameter int unsigned Room     = 256,  // beats collected and not sent, a power of two
    parameter int unsigned Credits  = 320,  // units that the mBlock keeps room for; a burst has up to 288
    localparam int unsigned CreditWidth = $clog2(Credits + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  window_t               windows_i[Windows],
    input  logic [3:0]      up_i,
    output logic [Windows-1:0]    counted_o,
    input  logic                  fence_i,
    output logic                  fenced_o,      // something from before the fence is not answered yet
    input  axi_a_t                aw_i,
    input  logic                  aw_valid_i,
    output logic                  aw_ready_o,
    input  axi_w_t                w_i,
    input  logic                  w_valid_i,
    output logic                  w_ready_o,
    output axi_b_t                b_o,
    output logic                  b_valid_o,
    input  logic                  b_ready_i,
    output request_t              req_o,
    output logic [4:0]            req_units_o,
    output logic [1:0]            req_link_o,
    output logic                  req_valid_o,
    input  logic                  req_ready_i,
    // The units of the requests taken, in their order.
    output logic [BeatWidth-1:0]  unit_o,
    output logic                  unit_valid_o,
    output logic                  unit_last_o,   // of its request
    input  logic                  unit_ready_i,
    input  logic [IndexWidth-1:0] rsp_index_i,
    input  logic [1:0]            rsp_resp_i,
    input  logic                  rsp_valid_i,
    output fault_t                fault_o        // of an access that was answered with an error
);
  localparam int unsigned Tags = 2 ** IndexWidth;
  localparam int unsigned RoomPtr = $clog2(Room);

  localparam int unsigned Slots = 32;  // of strobes: a message that is collected, 4 that wait, 16 and one that are sent
  localparam int unsigned SlotWidth = $clog2(Slots);

  // Where it came from, for the log of faults.
  typedef struct packed {
    fault_e               cause;  // of its error, if that was made here
    logic [3:0]           window;
    logic [AddrWidth-1:0] addr;
  } origin_t;

  // ---- Addresses ----

  axi_a_t aw_q;
  logic aw_valid_q, starts, good, mapped, allowed, rights, tag_free_q, swept;
  logic [Windows-1:0] window;
  logic [1:0] link;
  handle_t handle;
  logic [OffsetWidth-1:0] offset;
  logic [IndexWidth:0] head_q, tail_q;

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

  typedef struct packed {
    logic        turn;  // of its tag: the bit above it in head_q and tail_q
    request_t    request;
    logic [1:0]  link;
    logic [4:0]  beats;
    logic [4:0]  units;
  } message_t;

  logic busy_q, good_q, takes, message_done, write_done;
  request_t current_q;
  logic turn_q;
  logic [1:0] link_q;
  logic [8:0] units_q;        // of the messages of this write so far
  logic [4:0] beats_q;        // collected of the message at hand
  logic [SlotWidth-1:0] slot_q, read_slot_q;  // of its strobes; of those that are sent
  logic partial_q, partial;
  logic [RoomPtr:0] used_q;
  logic [RoomPtr-1:0] write_q, read_q;
  message_t made, message;
  logic message_room, message_valid, message_pop;
  logic [OffsetWidth-1:0] step;

  assign starts = aw_valid_q && !busy_q && tag_free_q;
  // No memory here knows exclusive accesses; one that is carried out as another is no lock.
  assign good = mapped && allowed && !aw_q.lock;
  assign w_ready_o = busy_q && (!good_q || (message_room && !used_q[RoomPtr]));
  assign takes = w_valid_i && w_ready_o;
  assign message_done = takes && good_q && (w_i.last || beats_q == 5'd15);
  assign write_done = takes && w_i.last;
  assign partial = partial_q || w_i.strb != '1;
  // The next message starts after 16 beats of this one, at a beat's boundary.
  assign step = OffsetWidth'(16) << current_q.size;

  always_comb begin
    made = '{turn: turn_q, request: current_q, link: link_q, beats: beats_q + 5'd1, units: '0};
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
      tag_free_q <= swept && (tail_q ^ head_q) != (IndexWidth + 1)'(Tags);
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
    if (aw_ready_o) aw_q <= aw_i;
    if (starts) begin
      link_q <= link;
      turn_q <= tail_q[IndexWidth];
      current_q <= '{
          modifiable: aw_q.cache[1],
          prot: aw_q.prot,
          more: 1'b0,
          burst: aw_q.burst,
          size: aw_q.size,
          len: aw_q.len,
          offset: offset,
          handle: handle,
          tag: {PortWidth'(Port), tail_q[IndexWidth-1:0]},
          op: OpWrite
      };
    end
    if (message_done) current_q.offset <= (current_q.offset & ~((OffsetWidth'(1) << current_q.size) - 1'b1)) + step;
  end

  consort_fifo #(
      .T(message_t),
      .Depth(4)
  ) i_messages (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(made),
      .valid_i(message_done),
      .ready_o(message_room),
      .data_o(message),
      .valid_o(message_valid),
      .ready_i(message_pop)
  );

  // Strobes lie as they are sent. Those beyond a message's last beat are whatever was there: nobody looks at them.
  logic [255:0] strobes;
  for (genvar i = 0; i < 16; i++) begin : gen_lane
    logic [StrbWidth-1:0] lane[Slots];
    assign strobes[StrbWidth*i+:StrbWidth] = lane[read_slot_q];
    always_ff @(posedge clk_i) begin
      if (takes && beats_q[3:0] == 4'(i)) lane[slot_q] <= w_i.strb;
    end
  end

  // ---- Messages: sent when the mBlock has room for them ----

  logic [4:0] want_q;
  logic credit_enough, enough_q, take_q, same_link, order_ready, order_valid, sending_q;
  logic [CreditWidth-1:0] credit_give_q;
  logic [1:0] order_link_q;

  // A message is offered a cycle after it showed first, or later: its units are in the register by then.
  assign req_units_o = want_q;
  assign req_o = message.request;
  assign req_link_o = message.link;
  // Units leave in the order of the messages. Those of another link wait until all before them are out, or two links
  // could wait for each other's.
  assign same_link = Links == 1 || message.link == order_link_q || !(order_valid || sending_q);
  assign req_valid_o = message_valid && enough_q && same_link && order_ready;
  assign message_pop = req_valid_o && req_ready_i;

  consort_credit #(
      .Max(Credits)
  ) i_credit (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .want_i(take_q ? CreditWidth'(want_q) : CreditWidth'(message.units)),
      .enough_o(credit_enough),
      .take_i(take_q),
      .give_i(credit_give_q)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enough_q <= 1'b0;
      take_q <= 1'b0;
    end else begin
      take_q   <= message_pop;
      enough_q <= message_valid && credit_enough && !message_pop && !take_q;
    end
  end

  always_ff @(posedge clk_i) want_q <= message.units;

  // ---- Units ----

  typedef struct packed {
    logic [4:0] beats;
    logic       strobed;
  } order_t;

  order_t order;
  logic order_next, strobing_q, second_q, two_q, last_q;
  logic [4:0] left_q;       // data of the order at hand
  logic [DataWidth-1:0] ram[Room];
  logic [DataWidth-1:0] next_q;
  logic next_valid_q, taken, pull, some_q, fetch;

  consort_fifo #(
      .T(order_t),
      .Depth(16)
  ) i_orders (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({message.beats, message.request.op == OpWriteStrobe}),
      .valid_i(message_pop),
      .ready_o(order_ready),
      .data_o(order),
      .valid_o(order_valid),
      .ready_i(order_next)
  );

  assign unit_valid_o = sending_q && (strobing_q || next_valid_q);
  assign unit_last_o = !strobing_q && last_q;
  assign unit_o = strobing_q ? (second_q ? strobes[255:128] : strobes[127:0]) : next_q;
  assign taken = unit_valid_o && unit_ready_i;
  assign pull = taken && !strobing_q;
  assign order_next = !sending_q || (pull && last_q);
  assign fetch = (!next_valid_q || pull) && some_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sending_q <= 1'b0;
      strobing_q <= 1'b0;
      second_q <= 1'b0;
      two_q <= 1'b0;
      last_q <= 1'b0;
      left_q <= '0;
      read_slot_q <= '0;
      next_valid_q <= 1'b0;
      read_q <= '0;
      used_q <= '0;
      some_q <= 1'b0;
      order_link_q <= '0;
    end else begin
      if (order_next) begin
        sending_q <= order_valid;
        strobing_q <= order.strobed;
        second_q <= 1'b0;
        two_q <= order.beats > 5'd8;
        last_q <= order.beats == 5'd1;
        left_q <= order.beats;
      end else if (taken) begin
        if (strobing_q) begin
          second_q <= 1'b1;
          strobing_q <= two_q && !second_q;
        end else begin
          left_q <= left_q - 1'b1;
          last_q <= left_q == 5'd2;
        end
      end
      if (pull && last_q) read_slot_q <= read_slot_q + 1'b1;
      if (message_pop) order_link_q <= message.link;
      if (!next_valid_q || pull) next_valid_q <= some_q;
      if (fetch) read_q <= read_q + 1'b1;
      // Counts what is in the RAM, without the one unit in front of it.
      if ((takes && good_q) != fetch) begin
        used_q <= fetch ? used_q - 1'b1 : used_q + 1'b1;
        some_q <= !fetch || used_q != (RoomPtr + 1)'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes && good_q) ram[write_q] <= w_i.data;
    if (!next_valid_q || pull) next_q <= ram[read_q];
  end

  // ---- What is known of each tag ----

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [1:0]         link;
    logic               local_error;
    logic               decerr;
  } tag_t;

  tag_t tags[Tags];
  tag_t head;
  logic [8:0] units[Tags];
  logic [1:0] resps[Tags];
  logic [3:0] links_failed, message_failed;
  logic [IndexWidth-1:0] index, current_index;
  // The oldest write of which something is still to be collected or to be sent; tail_q where there is none. It may lag behind.
  logic [IndexWidth:0] unsent_q;
  logic b_ripe_q, b_due_q, b_step, acked, failed, message_failed_q, late, rsp_late;
  // Of each link the write whose link was down while it was collected, and whose rest went out after that: its
  // acknowledgement still comes and would meet the next write of the tag.
  logic [Links-1:0] late_q;
  logic [IndexWidth-1:0] late_index_q[Links];

  assign index = head_q[IndexWidth-1:0];
  assign current_index = current_q.tag[IndexWidth-1:0];
  assign head = tags[index];

  consort_tag_flags #(
      .Width(IndexWidth)
  ) i_acked (
      .clk_i,
      .rst_ni,
      .swept_o(swept),
      .set_i(rsp_valid_i && !rsp_late),  // of a late write a part was lost
      .set_index_i(rsp_index_i),
      .clear_i(starts),
      .clear_index_i(tail_q[IndexWidth-1:0]),
      .index_i(index),
      .flag_o(acked)
  );

  consort_failed_tags #(
      .Width(IndexWidth + 1),
      .Links(Links)
  ) i_failed (
      .clk_i,
      .rst_ni,
      .up_i,
      .head_i(head_q),
      .tail_i(tail_q),
      .failed_o(links_failed),
      .index_i(message.request.tag[IndexWidth-1:0]),
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
  assign counted_o = starts && good ? window : '0;

  always_ff @(posedge clk_i) begin
    if (starts) tags[tail_q[IndexWidth-1:0]] <= '{id: aw_q.id, link: link, local_error: !good, decerr: !mapped};
    if (message_done) begin
      units_q <= units_q + 9'(made.units);
      units[current_index] <= units_q + 9'(made.units);
    end
    if (starts) units_q <= '0;
    if (rsp_valid_i) resps[rsp_index_i] <= rsp_resp_i;
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
      late_q <= '0;
      for (int unsigned l = 0; l < Links; l++) late_index_q[l] <= '0;
      b_ripe_q <= 1'b0;
      b_due_q <= 1'b0;
      b_valid_o <= 1'b0;
      credit_give_q <= '0;
    end else begin
      // A message waits for its credits, so that it failed is known in time.
      message_failed_q <= message_failed[Links > 1 ? message.link : 2'd0];
      for (int unsigned l = 0; l < Links; l++) begin
        if (!up_i[l]) begin
          late_q[l] <= 1'b0;
        end else if (message_pop && message_failed_q && (Links == 1 || message.link == 2'(l))) begin
          late_q[l] <= 1'b1;
          late_index_q[l] <= message.request.tag[IndexWidth-1:0];
        end else if (rsp_valid_i && rsp_index_i == late_index_q[l]) begin
          late_q[l] <= 1'b0;
        end
      end
      if (message_valid) unsent_q <= {message.turn, message.request.tag[IndexWidth-1:0]};
      else if (busy_q) unsent_q <= {turn_q, current_index};
      else unsent_q <= tail_q;
      b_ripe_q <= head_q != unsent_q && !late && !b_step;
      b_due_q <= b_ripe_q && (acked || failed) && !b_step;
      if (b_step) head_q <= head_q + 1'b1;
      if (!b_valid_o || b_ready_i) b_valid_o <= b_due_q;
      // Room at the mBlock is free again with the acknowledgement; after the link was down, when the write is answered.
      credit_give_q <= b_step && !head.local_error ? CreditWidth'(units[index]) : '0;
    end
  end

  // ---- Faults ----

  origin_t origins[Tags];
  origin_t origin, head_origin;
  assign head_origin = origins[index];

  always_comb begin
    origin = '{cause: FaultNone, window: '0, addr: aw_q.addr};
    for (int unsigned i = 0; i < Windows; i++) if (window[i]) origin.window = origin.window | 4'(i);
    if (!mapped) origin.cause = FaultUnmapped;
    else if (!rights) origin.cause = FaultRights;
    else if (aw_q.lock) origin.cause = FaultExclusive;
    else if (!allowed) origin.cause = FaultDown;
  end

  always_ff @(posedge clk_i) begin
    if (starts) origins[tail_q[IndexWidth-1:0]] <= origin;
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

  // ---- The fence ----

  logic [IndexWidth:0] fence_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_q  <= '0;
      fenced_o <= 1'b0;
    end else if (fence_i) begin
      fence_q  <= tail_q + (IndexWidth + 1)'(starts);
      fenced_o <= 1'b1;
    end else if (head_q == fence_q) begin
      fenced_o <= 1'b0;
    end
  end
endmodule
