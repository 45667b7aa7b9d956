// SPDX-License-Identifier: Apache-2.0
// Reads of one AXI4 slave port of the cBlock. Room for the answer is set aside before a request leaves, so an answer never
// waits on its way. Answers go to the master in the order of the requests, which is legal for any ids.
// Interface: ar and r of AXI4; req_* to the framers of the links; rsp_* from their parsers; windows and fence from the registers.
// Parameters: Port, Links, Windows; Room for answers in beats, a power of two, at least 256.
// Throughput: a request a cycle and a beat of answers a cycle.
// Latency: a request is offered two cycles after its address; a beat of an answer shows two cycles after it came; refused ones are answered
// within 8 cycles.
// Assumes: the master keeps to AXI4's handshakes; an answer has as many beats as were asked for.
// Held by: wrong versions, tests/rtl/test_wrong_blocks.py; simulation against AXI4 checkers (tests/rtl/test_remote.py, tests/rtl/test_cocotb.py).
module consort_port_read
  import consort_remote_pkg::*;
#(
    parameter int unsigned Port     = 0,
    parameter int unsigned Links    = 1,
    parameter int unsigned Windows  = 8,
    parameter int unsigned Room     = 512  // beats of answers, a power of two, at least 256
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  window_t                 windows_i[Windows],
    input  logic [3:0]        up_i,
    output logic [Windows-1:0]      counted_o,   // a request of this window left
    input  qos_t                    qos_i,
    input  logic                    fence_i,
    output logic                    fenced_o,    // something from before the fence is not answered yet
    input  axi_a_t                  ar_i,
    input  logic                    ar_valid_i,
    output logic                    ar_ready_o,
    output axi_r_t                  r_o,
    output logic                    r_valid_o,
    input  logic                    r_ready_i,
    output request_t                req_o,
    output logic [1:0]              req_link_o,
    output logic                    req_urgent_o,
    output logic                    req_valid_o,
    input  logic                    req_ready_i,
    // One beat of an answer, or the news that no more come.
    input  logic [IndexWidth-1:0]   rsp_index_i,
    input  logic [DataWidth-1:0]    rsp_data_i,
    input  logic [1:0]              rsp_resp_i,
    input  logic                    rsp_valid_i,
    input  logic                    rsp_error_i,
    output fault_t                  fault_o      // of an access that was answered with an error
);
  localparam int unsigned Tags = 2 ** IndexWidth;
  localparam int unsigned RoomPtr = $clog2(Room);

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [7:0]         len;
    logic [1:0]         link;
    logic               local_error;
    logic               decerr;
  } tag_t;

  typedef struct packed {
    request_t   request;
    logic [1:0] link;
    logic       urgent;
  } leaving_t;

  // ---- Requests ----

  axi_a_t ar_q;
  logic valid_q, moves, leaves, mapped, allowed, rights, tag_free_q, room_free, fits, leaving_room;
  logic [Windows-1:0] window;
  logic [1:0] link;
  handle_t handle;
  logic [OffsetWidth-1:0] offset;
  logic [IndexWidth:0] head_q, tail_q, tags_used;
  // Places of answers, with a bit more: which turn of the buffer it is.
  logic [RoomPtr:0] reserve_q, read_q, sweep_q;
  logic give_q, good, answered, sweeping;
  logic [1:0] swept;  // the flags of tags are known
  leaving_t leaving, first;
  logic urgent_q, held_q;  // of ar_q; it waits for the port's share

  assign ar_ready_o = !valid_q || moves;

  consort_window_table #(
      .Windows(Windows),
      .Links(Links),
      .Write(1'b0)
  ) i_table (
      .clk_i,
      .windows_i,
      .up_i,
      .addr_i(ar_i.addr),
      .load_i(ar_ready_o),
      .mapped_o(mapped),
      .allowed_o(allowed),
      .rights_o(rights),
      .window_o(window),
      .link_o(link),
      .handle_o(handle),
      .offset_o(offset)
  );

  consort_read_room #(
      .Room(Room)
  ) i_room (
      .clk_i,
      .rst_ni,
      .share_i(qos_i.reads),
      .waits_i(valid_q),
      .len_i(ar_q.len),
      .held_i(held_q),
      .moves_i(moves),
      .takes_i(moves && good),
      .gives_i(give_q),
      .room_o(room_free),
      .fits_o(fits)
  );

  // No memory here knows exclusive accesses; one that is carried out as another is no lock.
  assign good = mapped && allowed && !ar_q.lock;
  assign tags_used = tail_q - head_q;
  assign moves = valid_q && tag_free_q && (good ? room_free && leaving_room && fits : 1'b1);
  assign leaves = valid_q && tag_free_q && good && room_free && fits;
  assign leaving = '{
          request: request_of(ar_q, OpRead, {PortWidth'(Port), tail_q[IndexWidth-1:0]}, handle, offset),
          link: link,
          urgent: urgent_q
      };
  assign counted_o = leaves && leaving_room ? window : '0;

  consort_fifo #(
      .T(leaving_t),
      .Depth(4)
  ) i_leaving (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(leaving),
      .valid_i(leaves),
      .ready_o(leaving_room),
      .data_o(first),
      .valid_o(req_valid_o),
      .ready_i(req_ready_i)
  );
  assign req_o = first.request;
  assign req_link_o = first.link;
  assign req_urgent_o = first.urgent;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      tail_q <= '0;
      tag_free_q <= 1'b0;
      reserve_q <= '0;
    end else begin
      if (ar_ready_o) valid_q <= ar_valid_i;
      // One may be taken between this look and the next.
      tag_free_q <= !sweeping && swept == '1 && tags_used < (IndexWidth + 1)'(Tags - 1);
      if (moves) tail_q <= tail_q + 1'b1;
      if (moves && good) reserve_q <= reserve_q + (RoomPtr + 1)'(ar_q.len) + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ar_ready_o) begin
      ar_q <= ar_i;
      urgent_q <= is_urgent(ar_i, qos_i);
      held_q <= qos_i.reads != '0 && !is_urgent(ar_i, qos_i);
    end
  end

  consort_fence #(
      .Width(IndexWidth + 1)
  ) i_fence (
      .clk_i,
      .rst_ni,
      .set_i(fence_i),
      .begins_i(moves),
      .head_i(head_q),
      .tail_i(tail_q),
      .waits_o(fenced_o)
  );

  // ---- What is known of each tag ----

  tag_t tags[Tags];
  logic [RoomPtr:0] base[Tags];
  logic [RoomPtr:0] received[Tags];
  logic [RoomPtr:0] write_at;
  logic begun, broken;
  logic [3:0] links_failed, unused_failed;
  logic [IndexWidth-1:0] index;

  assign index = head_q[IndexWidth-1:0];
  assign write_at = begun ? received[rsp_index_i] : base[rsp_index_i];

  always_ff @(posedge clk_i) begin
    if (moves) begin
      tags[tail_q[IndexWidth-1:0]] <= '{id: ar_q.id, len: ar_q.len, link: link, local_error: !good, decerr: !mapped};
      base[tail_q[IndexWidth-1:0]] <= reserve_q;
    end
    if (rsp_valid_i) received[rsp_index_i] <= write_at + 1'b1;
  end

  // Something of its answer is there.
  consort_tag_flags #(
      .Width(IndexWidth)
  ) i_begun (
      .clk_i,
      .rst_ni,
      .swept_o(swept[0]),
      .set_i(rsp_valid_i),
      .set_index_i(rsp_index_i),
      .clear_i(moves),
      .clear_index_i(tail_q[IndexWidth-1:0]),
      .index_i(rsp_index_i),
      .flag_o(begun)
  );

  // The rest of its answer will not come.
  consort_tag_flags #(
      .Width(IndexWidth)
  ) i_broken (
      .clk_i,
      .rst_ni,
      .swept_o(swept[1]),
      .set_i(rsp_error_i),
      .set_index_i(rsp_index_i),
      .clear_i(moves),
      .clear_index_i(tail_q[IndexWidth-1:0]),
      .index_i(index),
      .flag_o(broken)
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
      .answer_i(index),
      .failed_o(links_failed),
      .index_i('0),
      .index_failed_o(unused_failed)
  );

  // ---- Answers ----

  // A beat of data, and in which turn of the buffer it was written: so what is read is known to be there, or not yet. Beats of
  // errors are marked as written too. After a reset all are marked as of the turn before the first.
  typedef struct packed {
    logic                 turn;
    logic [1:0]           resp;
    logic [DataWidth-1:0] data;
  } beat_t;

  beat_t ram[Room];
  beat_t beat_q;
  // What is known of the tag at the head, once known_q, and of the one to look at after it.
  tag_t head, next;
  logic [IndexWidth:0] look_q;
  logic known_q, looks;
  logic [RoomPtr:0] write_place;
  logic [7:0] left_q;
  logic failing_q, marked_q, marks, settled_q, shows_data, step, is_last_q;
  logic [3:0] failed_q;

  assign next = tags[look_q[IndexWidth-1:0]];
  assign looks = (answered || !known_q) && look_q != tail_q;
  assign sweeping = !sweep_q[RoomPtr];
  assign shows_data = known_q && beat_q.turn == read_q[RoomPtr] && !head.local_error && !failing_q;
  assign r_valid_o = shows_data || (failing_q && (head.local_error || marked_q));
  assign step = r_valid_o && r_ready_i;
  assign answered = step && is_last_q;
  assign marks = failing_q && !head.local_error && !marked_q && !rsp_valid_i;
  assign write_place = rsp_valid_i ? write_at : sweeping ? {1'b1, sweep_q[RoomPtr-1:0]} : read_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      read_q <= '0;
      sweep_q <= '0;
      look_q <= '0;
      known_q <= 1'b0;
      give_q <= 1'b0;
      failing_q <= 1'b0;
      marked_q <= 1'b0;
      settled_q <= 1'b0;
      failed_q <= '0;
    end else begin
      if (sweeping) sweep_q <= sweep_q + 1'b1;
      give_q <= step && !head.local_error;
      if (looks) look_q <= look_q + 1'b1;
      known_q <= looks || (known_q && !answered);
      if (step && !head.local_error) read_q <= read_q + 1'b1;
      if (answered) head_q <= head_q + 1'b1;
      // What failed is known a cycle after the head moved. After its first beat without data a burst has no more, whatever
      // comes.
      settled_q <= !answered && known_q;
      failed_q <= answered ? '0 : links_failed;
      if (answered) failing_q <= 1'b0;
      else if (settled_q && !shows_data && (head.local_error || broken || failed_q[Links > 1 ? head.link : 2'd0])) begin
        failing_q <= 1'b1;
      end
      if (step) marked_q <= 1'b0;
      else if (marks) marked_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (looks) begin
      head <= next;
      left_q <= next.len;
      is_last_q <= next.len == '0;
    end else if (step) begin
      left_q <= left_q - 1'b1;
      is_last_q <= left_q == 8'd1;
    end
    if (rsp_valid_i || marks || sweeping) begin
      ram[write_place[RoomPtr-1:0]] <= '{turn: write_place[RoomPtr], resp: rsp_resp_i, data: rsp_data_i};
    end
    beat_q <= ram[read_q[RoomPtr-1:0] + RoomPtr'(step && !head.local_error)];
  end

  consort_read_faults #(
      .Port(Port)
  ) i_faults (
      .clk_i,
      .rst_ni,
      .begins_i(moves),
      .tail_i(tail_q[IndexWidth-1:0]),
      .origin_i(origin_of(ar_q, mapped, rights, allowed, 16'(window))),
      .looks_i(looks),
      .look_i(look_q[IndexWidth-1:0]),
      .step_i(step),
      .last_i(is_last_q),
      .error_i(r_o.resp[1]),
      .local_error_i(head.local_error),
      .failing_i(failing_q),
      .broken_i(broken),
      .fault_o
  );

  assign r_o = '{
          data: failing_q ? '0 : beat_q.data,
          id: head.id,
          resp: failing_q ? (head.local_error && head.decerr ? RespDecerr : RespSlverr) : beat_q.resp,
          last: is_last_q
      };
endmodule
