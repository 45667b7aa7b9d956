// SPDX-License-Identifier: Apache-2.0
// Reads of one AXI4 slave port of the cBlock. Room for the answer is set aside before a request leaves, so an answer never
// waits on its way. Answers go to the master in the order of the requests, which is legal for any ids.
module port_read
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
    input  axi_a_t                  ar_i,
    input  logic                    ar_valid_i,
    output logic                    ar_ready_o,
    output axi_r_t                  r_o,
    output logic                    r_valid_o,
    input  logic                    r_ready_i,
    output request_t                req_o,
    output logic [1:0]              req_link_o,
    output logic                    req_valid_o,
    input  logic                    req_ready_i,
    // One beat of an answer, or the news that no more come.
    input  logic [IndexWidth-1:0]   rsp_index_i,
    input  logic [DataWidth-1:0]    rsp_data_i,
    input  logic [1:0]              rsp_resp_i,
    input  logic                    rsp_valid_i,
    input  logic                    rsp_error_i
);
  localparam int unsigned Tags = 2 ** IndexWidth;
  localparam int unsigned RoomPtr = $clog2(Room);

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [7:0]         len;
    logic               local_error;
    logic               decerr;
  } tag_t;

  // ---- Requests ----

  axi_a_t ar_q;
  logic valid_q, moves, mapped, allowed, tag_free, room_free;
  logic [Windows-1:0] window;
  handle_t handle;
  logic [OffsetWidth-1:0] offset;
  logic [IndexWidth:0] head_q, tail_q;
  logic [RoomPtr-1:0] reserve_q, read_q;
  logic [RoomPtr:0] used_q;
  logic give_q, good, answered;

  assign ar_ready_o = !valid_q || moves;

  window_table #(
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
      .window_o(window),
      .link_o(req_link_o),
      .handle_o(handle),
      .offset_o(offset)
  );

  assign good = mapped && allowed;
  assign tag_free = (tail_q ^ head_q) != (IndexWidth + 1)'(Tags);
  assign room_free = used_q + (RoomPtr + 1)'(ar_q.len) < (RoomPtr + 1)'(Room);
  assign req_valid_o = valid_q && good && tag_free && room_free;
  assign moves = valid_q && tag_free && (good ? room_free && req_ready_i : 1'b1);
  assign req_o = '{
          prot: ar_q.prot,
          more: 1'b0,
          burst: ar_q.burst,
          size: ar_q.size,
          len: ar_q.len,
          offset: offset,
          handle: handle,
          tag: {PortWidth'(Port), tail_q[IndexWidth-1:0]},
          op: OpRead
      };
  assign counted_o = moves && good ? window : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      tail_q <= '0;
      reserve_q <= '0;
      used_q <= '0;
    end else begin
      if (ar_ready_o) valid_q <= ar_valid_i;
      if (moves) tail_q <= tail_q + 1'b1;
      if (moves && good) reserve_q <= reserve_q + RoomPtr'(ar_q.len) + 1'b1;
      used_q <= used_q + (moves && good ? (RoomPtr + 1)'(ar_q.len) + 1'b1 : '0) - (RoomPtr + 1)'(give_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (ar_ready_o) ar_q <= ar_i;
  end

  // ---- What is known of each tag ----

  tag_t tags[Tags];
  logic [RoomPtr-1:0] base[Tags];
  logic [RoomPtr-1:0] received[Tags];
  logic [Tags-1:0] live_q, fresh_q, failed_q;
  logic [1:0] link_of_q[Tags];
  logic [RoomPtr-1:0] write_at;

  assign write_at = fresh_q[rsp_index_i] ? base[rsp_index_i] : received[rsp_index_i];

  always_ff @(posedge clk_i) begin
    if (moves) begin
      tags[tail_q[IndexWidth-1:0]] <= '{id: ar_q.id, len: ar_q.len, local_error: !good, decerr: !mapped};
      base[tail_q[IndexWidth-1:0]] <= reserve_q;
    end
    if (rsp_valid_i) received[rsp_index_i] <= write_at + 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= '0;
      fresh_q  <= '0;
      failed_q <= '0;
      for (int unsigned i = 0; i < Tags; i++) link_of_q[i] <= '0;
    end else begin
      for (int unsigned i = 0; i < Tags; i++) begin
        if (live_q[i] && !up_i[Links > 1 ? link_of_q[i] : 2'd0]) failed_q[i] <= 1'b1;
      end
      if (rsp_valid_i) fresh_q[rsp_index_i] <= 1'b0;
      if (rsp_error_i) failed_q[rsp_index_i] <= 1'b1;
      if (answered) live_q[head_q[IndexWidth-1:0]] <= 1'b0;
      if (moves) begin
        live_q[tail_q[IndexWidth-1:0]] <= 1'b1;
        fresh_q[tail_q[IndexWidth-1:0]] <= 1'b1;
        failed_q[tail_q[IndexWidth-1:0]] <= !good;
        if (Links > 1) link_of_q[tail_q[IndexWidth-1:0]] <= req_link_o;
      end
    end
  end

  // ---- Answers ----

  logic [DataWidth+1:0] ram[Room];
  tag_t head;
  logic [IndexWidth-1:0] index;
  logic [RoomPtr-1:0] there;
  logic [7:0] beat_q;
  logic [DataWidth+1:0] data_q;
  logic has_data, step, show, failing_q, failed_beat_q, decerr_q, last_q;
  logic [IdWidth-1:0] id_q;

  assign index = head_q[IndexWidth-1:0];
  assign head = tags[index];
  assign there = fresh_q[index] ? base[index] : received[index];
  // After its first beat without data a burst has no more, whatever the place of its data holds.
  assign has_data = !head.local_error && !failing_q && there != read_q;
  assign show = head_q != tail_q && (has_data || failed_q[index]);
  assign step = show && (!r_valid_o || r_ready_i);
  assign answered = step && beat_q == head.len;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      read_q <= '0;
      beat_q <= '0;
      give_q <= 1'b0;
      r_valid_o <= 1'b0;
      failing_q <= 1'b0;
    end else begin
      give_q <= step && !head.local_error;
      if (!r_valid_o || r_ready_i) r_valid_o <= show;
      if (step) begin
        failing_q <= !has_data && !answered;
        beat_q <= answered ? '0 : beat_q + 1'b1;
        if (!head.local_error) read_q <= read_q + 1'b1;
        if (answered) head_q <= head_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rsp_valid_i) ram[write_at] <= {rsp_resp_i, rsp_data_i};
    if (!r_valid_o || r_ready_i) begin
      data_q <= ram[read_q];
      failed_beat_q <= !has_data;
      decerr_q <= head.local_error && head.decerr;
      id_q <= head.id;
      last_q <= beat_q == head.len;
    end
  end

  assign r_o = '{
          data: failed_beat_q ? '0 : data_q[DataWidth-1:0],
          id: id_q,
          resp: failed_beat_q ? (decerr_q ? RespDecerr : RespSlverr) : data_q[DataWidth+1:DataWidth],
          last: last_q
      };
endmodule
