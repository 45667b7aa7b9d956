// SPDX-License-Identifier: Apache-2.0
// Writes of one AXI4 slave port of the cBlock. A burst is collected in messages of up to 16 beats and sent when one is whole,
// so a master that pauses never holds the link. Acknowledgements go to the master in the order of the addresses.
module port_write
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
    input  logic                  unit_ready_i,
    input  logic [IndexWidth-1:0] rsp_index_i,
    input  logic [1:0]            rsp_resp_i,
    input  logic                  rsp_valid_i
);
  localparam int unsigned Tags = 2 ** IndexWidth;
  localparam int unsigned RoomPtr = $clog2(Room);

  // ---- Addresses ----

  axi_a_t aw_q;
  logic aw_valid_q, starts, mapped, allowed, tag_free;
  logic [Windows-1:0] window;
  logic [1:0] link;
  handle_t handle;
  logic [OffsetWidth-1:0] offset;
  logic [IndexWidth:0] head_q, tail_q;

  assign aw_ready_o = !aw_valid_q || starts;
  assign tag_free   = (tail_q ^ head_q) != (IndexWidth + 1)'(Tags);

  window_table #(
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
      .window_o(window),
      .link_o(link),
      .handle_o(handle),
      .offset_o(offset)
  );

  // ---- Data of the write at hand ----

  typedef struct packed {
    request_t    request;
    logic [1:0]  link;
    logic [4:0]  beats;
    logic        whole;  // the last message of its write
  } message_t;

  logic busy_q, good_q, takes, message_done, write_done;
  request_t current_q;
  logic [1:0] link_q;
  logic [8:0] units_q;        // of the messages of this write so far
  logic [4:0] beats_q;        // collected of the message at hand
  logic [255:0] strobes_q, strobes, lanes;
  logic partial_q, partial;
  logic [RoomPtr:0] used_q;
  logic [RoomPtr-1:0] write_q, read_q;
  message_t message, message_q;
  logic message_valid_q, message_free;
  logic [255:0] message_strobes_q;
  logic [OffsetWidth-1:0] step;

  assign starts = aw_valid_q && !busy_q && tag_free;
  assign message_free = !message_valid_q || (req_valid_o && req_ready_i);
  assign w_ready_o = busy_q && (!good_q || (message_free && !used_q[RoomPtr]));
  assign takes = w_valid_i && w_ready_o;
  assign message_done = takes && good_q && (w_i.last || beats_q == 5'd15);
  assign write_done = takes && w_i.last;
  assign partial = partial_q || w_i.strb != '1;
  assign lanes = {240'd0, w_i.strb} << {beats_q[3:0], 4'd0};
  assign strobes = strobes_q | lanes;
  // The next message starts after 16 beats of this one, at a beat's boundary.
  assign step = OffsetWidth'(16) << current_q.size;

  always_comb begin
    message = '{request: current_q, link: link_q, beats: beats_q + 5'd1, whole: w_i.last};
    message.request.op = partial ? OpWriteStrobe : OpWrite;
    message.request.len = 8'(beats_q);
    message.request.more = !w_i.last;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      busy_q <= 1'b0;
      good_q <= 1'b0;
      tail_q <= '0;
      beats_q <= '0;
      partial_q <= 1'b0;
      message_valid_q <= 1'b0;
      write_q <= '0;
    end else begin
      if (aw_ready_o) aw_valid_q <= aw_valid_i;
      if (starts) begin
        busy_q <= 1'b1;
        good_q <= mapped && allowed;
        tail_q <= tail_q + 1'b1;
      end
      if (write_done) busy_q <= 1'b0;
      if (takes) begin
        beats_q   <= message_done || write_done ? '0 : beats_q + {4'd0, good_q};
        partial_q <= message_done || write_done ? 1'b0 : partial;
      end
      if (takes && good_q) write_q <= write_q + 1'b1;
      if (message_done) message_valid_q <= 1'b1;
      else if (req_valid_o && req_ready_i) message_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_ready_o) aw_q <= aw_i;
    if (starts) begin
      link_q <= link;
      current_q <= '{
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
    if (takes) strobes_q <= message_done || write_done ? '0 : strobes;
    if (starts) strobes_q <= '0;
    if (message_done) begin
      message_q <= message;
      message_strobes_q <= strobes;
    end
  end

  // ---- Messages: sent when the mBlock has room for them ----

  logic credit_enough, same_link, order_ready, unit_valid_any;
  logic [CreditWidth-1:0] credit_give;
  logic [1:0] order_link_q;

  assign req_units_o = units_of(message_q.request.op, message_q.beats);
  assign req_o = message_q.request;
  assign req_link_o = message_q.link;
  // Units leave in the order of the messages. Those of another link wait until all before them are out, or two links
  // could wait for each other's.
  assign same_link = Links == 1 || message_q.link == order_link_q || !unit_valid_any;
  assign req_valid_o = message_valid_q && credit_enough && same_link && order_ready;

  credit #(
      .Max(Credits)
  ) i_credit (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .want_i(CreditWidth'(req_units_o)),
      .enough_o(credit_enough),
      .take_i(req_valid_o && req_ready_i),
      .give_i(credit_give)
  );

  // ---- Units ----

  typedef struct packed {
    logic [4:0]   beats;
    logic         strobed;
    logic [255:0] strobes;
  } order_t;

  order_t order;
  logic order_valid, order_done;
  logic [4:0] sent_q;       // units of the order at hand that are sent
  logic [4:0] strobe_units;
  logic [DataWidth-1:0] ram[Room];
  logic [DataWidth-1:0] next_q;
  logic next_valid_q, pull, sends_strobes;

  fifo #(
      .T(order_t),
      .Depth(16)
  ) i_orders (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({message_q.beats, message_q.request.op == OpWriteStrobe, message_strobes_q}),
      .valid_i(req_valid_o && req_ready_i),
      .ready_o(order_ready),
      .data_o(order),
      .valid_o(order_valid),
      .ready_i(order_done)
  );

  assign unit_valid_any = order_valid;
  assign strobe_units = order.strobed ? (order.beats > 5'd8 ? 5'd2 : 5'd1) : 5'd0;
  assign sends_strobes = sent_q < strobe_units;
  assign unit_valid_o = order_valid && (sends_strobes || next_valid_q);
  assign unit_o = sends_strobes ? (sent_q == 5'd0 ? order.strobes[127:0] : order.strobes[255:128]) : next_q;
  assign pull = unit_valid_o && unit_ready_i && !sends_strobes;
  assign order_done = unit_valid_o && unit_ready_i && sent_q + 5'd1 == order.beats + strobe_units;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_q <= '0;
      next_valid_q <= 1'b0;
      read_q <= '0;
      used_q <= '0;
      order_link_q <= '0;
    end else begin
      if (unit_valid_o && unit_ready_i) sent_q <= order_done ? '0 : sent_q + 1'b1;
      if (req_valid_o && req_ready_i) order_link_q <= message_q.link;
      if (!next_valid_q || pull) begin
        next_valid_q <= used_q != '0;
        if (used_q != '0) read_q <= read_q + 1'b1;
      end
      // Counts what is in the RAM, without the one unit in front of it.
      used_q <= used_q + (RoomPtr + 1)'(takes && good_q) -
          (RoomPtr + 1)'((!next_valid_q || pull) && (used_q != '0));
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes && good_q) ram[write_q] <= w_i.data;
    if (!next_valid_q || pull) next_q <= ram[read_q];
  end

  // ---- What is known of each tag ----

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic               local_error;
    logic               decerr;
  } tag_t;

  tag_t tags[Tags];
  tag_t head;
  logic [8:0] units[Tags];
  logic [1:0] resps[Tags];
  logic [1:0] link_of_q[Tags];
  logic [Tags-1:0] live_q, whole_q, acked_q, failed_q;
  logic [IndexWidth-1:0] index, current_index;
  logic b_step, unsent, late, rsp_late;
  // Of each link the write whose link was down while it was collected, and whose rest went out after that: its
  // acknowledgement still comes and would meet the next write of the tag.
  logic [Links-1:0] late_q;
  logic [IndexWidth-1:0] late_index_q[Links];
  logic [IndexWidth-1:0] sent_index;

  assign index = head_q[IndexWidth-1:0];
  assign current_index = current_q.tag[IndexWidth-1:0];
  assign head = tags[index];
  // A write is answered when all its data were taken, and it was acknowledged or cannot be any more.
  assign b_step = head_q != tail_q && whole_q[index] && !unsent && !late &&
      (acked_q[index] || failed_q[index]) && (!b_valid_o || b_ready_i);
  assign sent_index = message_q.request.tag[IndexWidth-1:0];
  always_comb begin
    late = 1'b0;
    rsp_late = 1'b0;
    for (int unsigned l = 0; l < Links; l++) begin
      late = late || (late_q[l] && late_index_q[l] == index);
      rsp_late = rsp_late || (late_q[l] && late_index_q[l] == rsp_index_i);
    end
  end
  assign unsent = message_valid_q && message_q.request.tag[IndexWidth-1:0] == index;
  assign counted_o = starts && mapped && allowed ? window : '0;
  // Room at the mBlock is free again with the acknowledgement; after the link was down, when the write is answered.
  assign credit_give = b_step && !head.local_error ? CreditWidth'(units[index]) : '0;

  always_ff @(posedge clk_i) begin
    if (starts) tags[tail_q[IndexWidth-1:0]] <= '{id: aw_q.id, local_error: !(mapped && allowed), decerr: !mapped};
    if (message_done) begin
      units_q <= units_q + 9'(units_of(message.request.op, message.beats));
      units[current_index] <= units_q + 9'(units_of(message.request.op, message.beats));
    end
    if (starts) units_q <= '0;
    if (rsp_valid_i) resps[rsp_index_i] <= rsp_resp_i;
    if (b_step) begin
      b_o <= '{
          id: head.id,
          resp: acked_q[index] ? resps[index] : (head.local_error && head.decerr ? RespDecerr : RespSlverr)
      };
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      live_q <= '0;
      whole_q <= '0;
      acked_q <= '0;
      failed_q <= '0;
      late_q <= '0;
      for (int unsigned l = 0; l < Links; l++) late_index_q[l] <= '0;
      b_valid_o <= 1'b0;
      for (int unsigned i = 0; i < Tags; i++) link_of_q[i] <= '0;
    end else begin
      for (int unsigned i = 0; i < Tags; i++) begin
        if (live_q[i] && !up_i[Links > 1 ? link_of_q[i] : 2'd0]) failed_q[i] <= 1'b1;
      end
      for (int unsigned l = 0; l < Links; l++) begin
        if (!up_i[l]) begin
          late_q[l] <= 1'b0;
        end else if (req_valid_o && req_ready_i && failed_q[sent_index] && (Links == 1 || message_q.link == 2'(l))) begin
          late_q[l] <= 1'b1;
          late_index_q[l] <= sent_index;
        end else if (rsp_valid_i && rsp_index_i == late_index_q[l]) begin
          late_q[l] <= 1'b0;
        end
      end
      // Of a late write a part was lost.
      if (rsp_valid_i && !rsp_late) acked_q[rsp_index_i] <= 1'b1;
      if (write_done) whole_q[current_index] <= 1'b1;
      if (b_step) begin
        live_q[index] <= 1'b0;
        head_q <= head_q + 1'b1;
      end
      if (!b_valid_o || b_ready_i) b_valid_o <= b_step;
      if (starts) begin
        live_q[tail_q[IndexWidth-1:0]] <= 1'b1;
        whole_q[tail_q[IndexWidth-1:0]] <= 1'b0;
        acked_q[tail_q[IndexWidth-1:0]] <= 1'b0;
        failed_q[tail_q[IndexWidth-1:0]] <= !(mapped && allowed);
        if (Links > 1) link_of_q[tail_q[IndexWidth-1:0]] <= link;
      end
    end
  end
endmodule
