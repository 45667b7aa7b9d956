// SPDX-License-Identifier: Apache-2.0
// An AXI4 port of a wide bus in front of a narrow one. A wide beat becomes as many narrow ones as it has words; beats that fit go on as they
// are. What the bursts become: consort_axi_split. An answer is the worst of those of its parts: of a write of all, of a beat of a read of its
// words. Beats of different reads may come between one another.
// Interface: a wide slave s_*, a narrow master m_*; a data channel is its data beside the other members.
// Parameters: SlaveWidth, MasterWidth; Reads and Outstanding writes under way at once; Writes whose data have not all come.
// Throughput: a beat of the narrow bus a cycle each way.
// Latency: an address of a write two cycles, of a read one; a beat of a read one after its last word; the others none.
// Assumes: bursts are of AXI4; answers are of what was asked, in the order of their id (others between them as they like).
// Held by: AXI4 checkers on both sides and a model of bytes over all pairs of widths, tests/rtl/test_widths.py.
module consort_axi_downsize
  import consort_remote_pkg::*;
#(
    parameter int unsigned SlaveWidth  = 256,
    parameter int unsigned MasterWidth = 128,
    parameter int unsigned Reads  = 32,       // a power of two
    parameter int unsigned Outstanding = 32,  // a power of two
    parameter int unsigned Writes = 16        // a power of two, at least 4
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t                  s_aw_i,
    input  logic                    s_aw_valid_i,
    output logic                    s_aw_ready_o,
    input  logic [SlaveWidth-1:0]   s_w_data_i,
    input  logic [SlaveWidth/8-1:0] s_w_strb_i,
    input  logic                    s_w_last_i,
    input  logic                    s_w_valid_i,
    output logic                    s_w_ready_o,
    output axi_b_t                  s_b_o,
    output logic                    s_b_valid_o,
    input  logic                    s_b_ready_i,
    input  axi_a_t                  s_ar_i,
    input  logic                    s_ar_valid_i,
    output logic                    s_ar_ready_o,
    output axi_b_t                  s_r_o,         // id and resp
    output logic [SlaveWidth-1:0]   s_r_data_o,
    output logic                    s_r_last_o,
    output logic                    s_r_valid_o,
    input  logic                    s_r_ready_i,

    output axi_a_t                   m_aw_o,
    output logic                     m_aw_valid_o,
    input  logic                     m_aw_ready_i,
    output logic [MasterWidth-1:0]   m_w_data_o,
    output logic [MasterWidth/8-1:0] m_w_strb_o,
    output logic                     m_w_last_o,
    output logic                     m_w_valid_o,
    input  logic                     m_w_ready_i,
    input  axi_b_t                   m_b_i,
    input  logic                     m_b_valid_i,
    output logic                     m_b_ready_o,
    output axi_a_t                   m_ar_o,
    output logic                     m_ar_valid_o,
    input  logic                     m_ar_ready_i,
    input  axi_b_t                   m_r_i,         // id and resp
    input  logic [MasterWidth-1:0]   m_r_data_i,
    input  logic                     m_r_last_i,
    input  logic                     m_r_valid_i,
    output logic                     m_r_ready_o
);
  localparam int unsigned Narrow = $clog2(MasterWidth / 8);
  localparam int unsigned Low = $clog2(SlaveWidth / 8);  // bits of an address within a wide word
  localparam int unsigned Lanes = SlaveWidth / MasterWidth;
  localparam int unsigned Index = $clog2(Reads);

  if (SlaveWidth <= MasterWidth) begin : gen_check_widths
    $error("axi_downsize: MasterWidth must be less than SlaveWidth");
  end

  typedef struct packed {
    logic [Low-1:0] first;
    logic [2:0]     size;
    logic [1:0]     burst;
    logic [7:0]     len;
  } burst_t;

  function automatic burst_t burst_of(axi_a_t a);
    return '{first: a.addr[Low-1:0], size: a.size, burst: a.burst, len: a.len};
  endfunction

  // The worse of two answers; EXOKAY of both alone.
  function automatic logic [1:0] worse(logic [1:0] one, logic [1:0] other);
    return one[1] || other[1] ? (one > other ? one : other) : one & other;
  endfunction

  // ---- Writes ----

  axi_a_t aw;
  burst_t burst;
  logic aw_split, aw_valid, aw_ready, aw_room, burst_ready, burst_valid, len_ready, len_valid, write_room, write_begins;
  logic [3:0] parts;
  logic [7:0] len;
  logic [$clog2(Outstanding)-1:0] write_at, b_index;

  assign s_aw_ready_o = aw_split && burst_ready && write_room;
  assign write_begins = s_aw_valid_i && s_aw_ready_o;
  assign aw_ready = aw_room && len_ready;

  consort_axi_split #(
      .MasterWidth(MasterWidth)
  ) i_aw_split (
      .clk_i,
      .rst_ni,
      .a_i(s_aw_i),
      .valid_i(s_aw_valid_i && burst_ready && write_room),
      .ready_o(aw_split),
      .parts_o(parts),
      .a_o(aw),
      .valid_o(aw_valid),
      .ready_i(aw_ready)
  );
  // Addresses wait by themselves, so that the data can be shown before an address is taken.
  consort_fifo #(
      .T(axi_a_t)
  ) i_aw (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(aw),
      .valid_i(aw_valid && len_ready),
      .ready_o(aw_room),
      .data_o(m_aw_o),
      .valid_o(m_aw_valid_o),
      .ready_i(m_aw_ready_i)
  );
  consort_fifo #(
      .T(logic [7:0]),
      .Depth(Writes)
  ) i_lens (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(aw.len),
      .valid_i(aw_valid && aw_room),
      .ready_o(len_ready),
      .data_o(len),
      .valid_o(len_valid),
      .ready_i(m_w_valid_o && m_w_ready_i && m_w_last_o)
  );
  consort_fifo #(
      .T(burst_t),
      .Depth(Writes)
  ) i_bursts (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(burst_of(s_aw_i)),
      .valid_i(write_begins),
      .ready_o(burst_ready),
      .data_o(burst),
      .valid_o(burst_valid),
      .ready_i(s_w_valid_i && s_w_ready_o && s_w_last_i)
  );

  logic w_begun_q, w_done, w_goes;
  logic [Low-1:0] w_at_q, w_at, w_next;
  logic [7:0] w_count_q;

  assign w_at = w_begun_q ? w_at_q : burst.first;
  assign m_w_valid_o = s_w_valid_i && burst_valid && len_valid;
  assign m_w_last_o = w_count_q == len;
  assign w_goes = m_w_valid_o && m_w_ready_i;
  assign s_w_ready_o = burst_valid && len_valid && m_w_ready_i && w_done;
  always_comb begin
    m_w_data_o = '0;
    m_w_strb_o = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      if (w_at[Low-1:Narrow] == (Low - Narrow)'(lane)) begin
        m_w_data_o = s_w_data_i[lane*MasterWidth+:MasterWidth];
        m_w_strb_o = s_w_strb_i[lane*MasterWidth/8+:MasterWidth/8];
      end
    end
  end

  consort_axi_walk #(
      .Low(Low),
      .Narrow(Narrow)
  ) i_w_walk (
      .first_i(burst.first),
      .size_i(burst.size),
      .burst_i(burst.burst),
      .len_i(burst.len[3:0]),
      .at_i(w_at),
      .done_o(w_done),
      .next_o(w_next)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_begun_q <= 1'b0;
      w_count_q <= '0;
    end else if (w_goes) begin
      w_begun_q <= !(w_done && s_w_last_i);
      w_count_q <= m_w_last_o ? '0 : w_count_q + 8'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (w_goes) w_at_q <= w_next;
  end

  // ---- Answers of writes ----

  logic b_found, b_last;
  logic [3:0] left_q[Outstanding];
  logic [1:0] worst_q[Outstanding];
  logic [Outstanding-1:0] answered_q;  // a part of it

  consort_axi_inflight #(
      .Entries(Outstanding)
  ) i_writes (
      .clk_i,
      .rst_ni,
      .room_o(write_room),
      .push_i(write_begins),
      .push_id_i(s_aw_i.id),
      .push_index_o(write_at),
      .find_id_i(m_b_i.id),
      .found_o(b_found),
      .find_index_o(b_index),
      .pop_i(s_b_valid_o && s_b_ready_i)
  );
  assign b_last = left_q[b_index] == '0;
  assign s_b_valid_o = m_b_valid_i && b_found && b_last;
  // What nobody asked for goes away. An id is looked at where it is valid alone.
  assign m_b_ready_o = m_b_valid_i && (!b_found || !b_last || s_b_ready_i);
  assign s_b_o = '{id: m_b_i.id, resp: answered_q[b_index] ? worse(m_b_i.resp, worst_q[b_index]) : m_b_i.resp};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) answered_q <= '0;
    else if (m_b_valid_i && m_b_ready_o && b_found) answered_q[b_index] <= !b_last;
  end
  always_ff @(posedge clk_i) begin
    if (write_begins) left_q[write_at] <= parts;
    if (m_b_valid_i && b_found && !b_last) begin
      left_q[b_index]  <= left_q[b_index] - 4'd1;
      worst_q[b_index] <= s_b_o.resp;
    end
  end

  // ---- Reads ----

  typedef struct packed {
    axi_b_t                 of;
    logic [MasterWidth-1:0] data;
  } beat_t;
  typedef struct packed {
    logic [Low-1:0] at;
    logic [7:0]     left;
    logic [1:0]     worst;  // of the words before
    logic           fresh;  // none before
  } place_t;

  logic ar_split, room, begins, r_valid, r_taken, r_goes, found, r_done, r_last, unused;
  logic [3:0] unused_parts;
  logic [Index-1:0] begin_at, index;
  beat_t beat;
  burst_t bursts[Reads], read;
  place_t places[Reads], place, next_place;
  logic [Reads-1:0] begun_q;

  assign s_ar_ready_o = ar_split && room;
  assign begins = s_ar_valid_i && s_ar_ready_o;

  consort_axi_split #(
      .MasterWidth(MasterWidth)
  ) i_ar_split (
      .clk_i,
      .rst_ni,
      .a_i(s_ar_i),
      .valid_i(s_ar_valid_i && room),
      .ready_o(ar_split),
      .parts_o(unused_parts),
      .a_o(m_ar_o),
      .valid_o(m_ar_valid_o),
      .ready_i(m_ar_ready_i)
  );
  consort_axi_inflight #(
      .Entries(Reads)
  ) i_reads (
      .clk_i,
      .rst_ni,
      .room_o(room),
      .push_i(begins),
      .push_id_i(s_ar_i.id),
      .push_index_o(begin_at),
      .find_id_i(beat.of.id),
      .found_o(found),
      .find_index_o(index),
      .pop_i(s_r_valid_o && s_r_ready_i && r_last)
  );
  consort_fifo #(
      .T(beat_t)
  ) i_beats (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({m_r_i, m_r_data_i}),
      .valid_i(m_r_valid_i),
      .ready_o(m_r_ready_o),
      .data_o(beat),
      .valid_o(r_valid),
      .ready_i(r_taken)
  );

  assign read = bursts[index];
  assign place = begun_q[index] ? places[index] : '{at: read.first, left: read.len, worst: '0, fresh: 1'b1};
  assign r_last = place.left == '0;
  assign next_place.left = r_done ? place.left - 8'd1 : place.left;
  assign next_place.worst = s_r_o.resp;
  assign next_place.fresh = r_done;
  assign s_r_valid_o = r_valid && found && r_done;
  assign r_taken = !found || !r_done || s_r_ready_i;
  assign r_goes = r_valid && r_taken && found;
  assign s_r_o = '{id: beat.of.id, resp: place.fresh ? beat.of.resp : worse(beat.of.resp, place.worst)};
  assign s_r_last_o = r_last;

  consort_axi_walk #(
      .Low(Low),
      .Narrow(Narrow)
  ) i_r_walk (
      .first_i(read.first),
      .size_i(read.size),
      .burst_i(read.burst),
      .len_i(read.len[3:0]),
      .at_i(place.at),
      .done_o(r_done),
      .next_o(next_place.at)
  );

  // Words of beats that are not complete, for each read: those of others may come between.
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [MasterWidth-1:0] words[Reads];
    logic here;
    assign here = place.at[Low-1:Narrow] == (Low - Narrow)'(l);
    assign s_r_data_o[l*MasterWidth+:MasterWidth] = here ? beat.data : place.fresh ? '0 : words[index];
    always_ff @(posedge clk_i) begin
      if (r_goes && (here || place.fresh)) words[index] <= here ? beat.data : '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begun_q <= '0;
    else if (r_goes) begun_q[index] <= !(r_done && r_last);
  end
  always_ff @(posedge clk_i) begin
    if (begins) bursts[begin_at] <= burst_of(s_ar_i);
    if (r_goes) places[index] <= next_place;
  end
  // Where a read ends is counted.
  assign unused = &{1'b0, m_r_last_i, unused_parts};
endmodule
