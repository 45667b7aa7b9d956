// SPDX-License-Identifier: Apache-2.0
// Reads of one AXI4 slave port of the cBlock. Room for the answer is set aside before a request leaves, so an answer never
// waits on its way. Answers go to the master in the order of the requests, which is legal for any ids.
//
// The links' other ends are not trusted: what comes for a tag counts only where that waits, from the link that it was asked over, and no more
// beats than were asked for.
// Interface: ar and r of AXI4; req_* to the framers of the links; rsp_* from their parsers; windows and fence from the registers.
// Parameters: Port, Links, Windows; Room for answers in beats, a power of two, at least 256.
// Throughput: a request a cycle and a beat of answers a cycle.
// Latency: a request is offered two cycles after its address; a beat of an answer shows two cycles after it came; refused ones are answered
// within 8 cycles.
// Assumes: the master keeps to AXI4's handshakes.
// Held by: wrong versions, tests/rtl/test_wrong_blocks.py; bad lenders, tests/rtl/test_lenders.py; simulation against AXI4 checkers (tests/rtl/test_remote.py, tests/rtl/test_cocotb.py).
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
    // One beat of an answer, or the news that no more come; of what comes in the next cycle its tag, and the link that it comes over.
    input  logic [1:0]              look_link_i,
    input  logic [IndexWidth-1:0]   look_index_i,
    input  logic [IndexWidth-1:0]   rsp_index_i,
    input  logic [DataWidth-1:0]    rsp_data_i,
    input  logic [1:0]              rsp_resp_i,
    input  logic                    rsp_valid_i,
    input  logic                    rsp_error_i,
    // Of what is answered next: the link, in the cycle after tick_i, where nothing came since the one before.
    input  logic                    tick_i,
    output logic [3:0]              silent_o,
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
  logic [RoomPtr:0] reserve_q, reserve, read_q, read_next_q;
  logic give_q, good, answered;
  logic [2:0] swept;  // the flags of tags are known
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

  // No memory here knows exclusive accesses; one that is carried out as another is not a lock.
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
      tag_free_q <= swept == '1 && tags_used < (IndexWidth + 1)'(Tags - 1);
      if (moves) tail_q <= tail_q + 1'b1;
      if (moves && good) reserve_q <= reserve;
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
  logic [RoomPtr:0] write_at;
  logic broken, look_counts, counts, comes, there, failing, shows_data, step, advances, is_last_q;
  tag_t head, next;  // of the tag at the head, once known_q, and of the one to look at after it
  logic [IndexWidth:0] look_q;
  logic known_q, looks;
  logic [7:0] left_q;
  logic [IndexWidth-1:0] index;

  assign index = head_q[IndexWidth-1:0];
  assign reserve = reserve_q + (RoomPtr + 1)'(ar_q.len) + 1'b1;

  always_ff @(posedge clk_i) begin
    if (moves) begin
      tags[tail_q[IndexWidth-1:0]] <= '{id: ar_q.id, len: ar_q.len, link: link, local_error: !good, decerr: !mapped};
    end
  end

  consort_read_places #(
      .Width(IndexWidth),
      .Places(RoomPtr + 1)
  ) i_places (
      .clk_i,
      .rst_ni,
      .swept_o(swept[0]),
      .begins_i(moves),
      .tail_i(tail_q[IndexWidth-1:0]),
      .first_i(reserve_q),
      .past_i(reserve),
      // What comes for a read that is ended without data goes nowhere: its first places may belong to another one again.
      .look_i(look_index_i),
      .look_counts_i(look_counts),
      .rsp_valid_i(rsp_valid_i && !(failing && rsp_index_i == index)),
      .counts_o(counts),
      .place_o(write_at),
      .comes_o(comes),
      .head_i(index),
      .read_i(read_q),
      .read_next_i(read_next_q),
      .steps_i(advances),
      .ends_i(answered),
      .there_o(there)
  );

  // What is answered next waits for its link while nothing of it shows and it did not fail.
  consort_asked_tags #(
      .Width(IndexWidth),
      .Links(Links)
  ) i_asked (
      .clk_i,
      .rst_ni,
      .swept_o(swept[2]),
      .begins_i(moves),
      .asks_i(good),
      .tail_i(tail_q[IndexWidth-1:0]),
      .link_i(link),
      .ends_i(answered),
      .end_index_i(index),
      .rsp_index_i(look_index_i),
      .rsp_link_i(look_link_i),
      .counts_o(look_counts),
      .waits_i(known_q && !r_valid_o && !failing && !head.local_error),
      .head_index_i(index),
      .tick_i,
      .silent_o
  );

  consort_read_failing #(
      .Links(Links)
  ) i_failing (
      .clk_i,
      .rst_ni,
      .swept_o(swept[1]),
      .up_i,
      .begins_i(moves),
      .tail_i(tail_q),
      .error_i(rsp_error_i && counts),
      .rsp_index_i,
      .head_i(head_q),
      .link_i(head.link),
      .local_error_i(head.local_error),
      .known_i(known_q),
      .shows_data_i(shows_data),
      .answered_i(answered),
      .broken_o(broken),
      .failing_o(failing)
  );

  // ---- Answers ----

  typedef struct packed {
    logic [1:0]           resp;
    logic [DataWidth-1:0] data;
  } beat_t;

  beat_t ram[Room];
  beat_t beat_q;

  assign next = tags[look_q[IndexWidth-1:0]];
  assign looks = (answered || !known_q) && look_q != tail_q;
  assign shows_data = known_q && there && !head.local_error && !failing;
  assign r_valid_o = shows_data || failing;
  assign step = r_valid_o && r_ready_i;
  assign advances = step && !head.local_error;
  assign answered = step && is_last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      read_q <= '0;
      read_next_q <= (RoomPtr + 1)'(1);
      look_q <= '0;
      known_q <= 1'b0;
      give_q <= 1'b0;
    end else begin
      give_q <= advances;
      if (looks) look_q <= look_q + 1'b1;
      known_q <= looks || (known_q && !answered);
      if (advances) begin
        read_q <= read_next_q;
        read_next_q <= read_next_q + 1'b1;
      end
      if (answered) head_q <= head_q + 1'b1;
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
    if (comes) ram[write_at[RoomPtr-1:0]] <= '{resp: rsp_resp_i, data: rsp_data_i};
    beat_q <= ram[advances ? read_next_q[RoomPtr-1:0] : read_q[RoomPtr-1:0]];
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
      .failing_i(failing),
      .broken_i(broken),
      .fault_o
  );

  assign r_o = '{
          data: failing ? '0 : beat_q.data,
          id: head.id,
          resp: failing ? (head.local_error && head.decerr ? RespDecerr : RespSlverr) : beat_q.resp,
          last: is_last_q
      };
endmodule
