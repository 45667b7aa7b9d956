// SPDX-License-Identifier: Apache-2.0
// An AXI4 port of a narrow bus in front of a wide one. Incrementing bursts of whole words become bursts of whole words of the wide bus,
// where they are of normal memory (AxCACHE[1]) and not exclusive; so do wrapped ones that begin at such a word and have at least two.
// A read may so read on to the end of its last wide word. All other bursts go on as they are, as narrow transfers.
// Interface: a narrow slave s_*, a wide master m_*; a data channel is its data beside the other members.
// Parameters: SlaveWidth, MasterWidth; Reads under way at once; Writes whose data have not all come.
// Throughput: a beat of the narrow bus a cycle each way.
// Latency: an address, a word of data and a beat of a read a cycle each; an answer of a write none.
// Assumes: bursts are of AXI4; answers are of what was asked, in the order of their id (others between them as they like).
// Held by: AXI4 checkers on both sides and a model of bytes over all pairs of widths, tests/rtl/test_widths.py.
module consort_axi_upsize
  import consort_remote_pkg::*;
#(
    parameter int unsigned SlaveWidth  = 64,
    parameter int unsigned MasterWidth = 128,
    parameter int unsigned Reads  = 32,  // a power of two
    parameter int unsigned Writes = 16   // a power of two, at least 4
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
  localparam int unsigned Narrow = $clog2(SlaveWidth / 8);
  localparam int unsigned Low = $clog2(MasterWidth / 8);  // bits of an address within a wide word
  localparam int unsigned Index = $clog2(Reads);

  if (SlaveWidth >= MasterWidth) begin : gen_check_widths
    $error("axi_upsize: MasterWidth must be more than SlaveWidth");
  end

  typedef struct packed {
    logic [Low-1:0] first;
    logic [2:0]     size;
    logic [1:0]     burst;
    logic [7:0]     len;
    logic           merged;  // its words are gathered
  } burst_t;

  function automatic logic merges(axi_a_t a);
    if (32'(a.size) != Narrow || !a.cache[1] || a.lock) return 1'b0;
    if (a.burst == BurstWrap) return a.addr[Low-1:Narrow] == '0 && 32'(a.len) + 32'd1 >= 32'(2 * MasterWidth / SlaveWidth);
    return a.burst == BurstIncr;
  endfunction

  function automatic axi_a_t widened(axi_a_t a);
    logic [12:0] last;
    widened = a;
    last = ((13'(a.addr[11:0]) >> Narrow) + 13'(a.len)) >> (Low - Narrow);
    if (merges(a)) begin
      widened.size = 3'(Low);
      widened.len  = a.burst == BurstWrap ? a.len >> (Low - Narrow) : 8'(last - (13'(a.addr[11:0]) >> Low));
    end
  endfunction

  function automatic burst_t burst_of(axi_a_t a);
    return '{first: a.addr[Low-1:0], size: a.size, burst: a.burst, len: a.len, merged: merges(a)};
  endfunction

  // ---- Writes ----

  // Their addresses wait by themselves, so that the data can be shown before an address is taken.
  burst_t burst;
  logic aw_ready, burst_ready, burst_valid;
  assign s_aw_ready_o = aw_ready && burst_ready;

  consort_fifo #(
      .T(axi_a_t)
  ) i_aw (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(widened(s_aw_i)),
      .valid_i(s_aw_valid_i && burst_ready),
      .ready_o(aw_ready),
      .data_o(m_aw_o),
      .valid_o(m_aw_valid_o),
      .ready_i(m_aw_ready_i)
  );
  consort_fifo #(
      .T(burst_t),
      .Depth(Writes)
  ) i_bursts (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(burst_of(s_aw_i)),
      .valid_i(s_aw_valid_i && aw_ready),
      .ready_o(burst_ready),
      .data_o(burst),
      .valid_o(burst_valid),
      .ready_i(s_w_valid_i && s_w_ready_o && s_w_last_i)
  );

  typedef struct packed {
    logic [MasterWidth-1:0]   data;
    logic [MasterWidth/8-1:0] strb;
    logic                     last;
  } word_t;
  word_t word, kept_q;
  logic w_begun_q, w_complete, word_ready, unused_done, unused_w_done;
  logic [Low-1:0] w_at_q, w_at, w_next;

  assign w_at = w_begun_q ? w_at_q : burst.first;
  assign w_complete = !burst.merged || s_w_last_i || w_next[Low-1:Narrow] == '0;
  assign s_w_ready_o = burst_valid && (word_ready || !w_complete);
  always_comb begin
    word = kept_q;
    for (int unsigned lane = 0; lane < MasterWidth / SlaveWidth; lane++) begin
      if (w_at[Low-1:Narrow] == (Low - Narrow)'(lane)) begin
        word.data[lane*SlaveWidth+:SlaveWidth] = s_w_data_i;
        word.strb[lane*SlaveWidth/8+:SlaveWidth/8] = s_w_strb_i;
      end
    end
    word.last = s_w_last_i;
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
      .done_o(unused_w_done),
      .next_o(w_next)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_begun_q <= 1'b0;
      kept_q <= '0;
    end else if (s_w_valid_i && s_w_ready_o) begin
      w_begun_q <= !s_w_last_i;
      kept_q <= w_complete ? '0 : word;
    end
  end
  always_ff @(posedge clk_i) begin
    if (s_w_valid_i && s_w_ready_o) w_at_q <= w_next;
  end

  consort_fifo #(
      .T(word_t)
  ) i_words (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(word),
      .valid_i(s_w_valid_i && burst_valid && w_complete),
      .ready_o(word_ready),
      .data_o({m_w_data_o, m_w_strb_o, m_w_last_o}),
      .valid_o(m_w_valid_o),
      .ready_i(m_w_ready_i)
  );

  assign s_b_o = m_b_i;
  assign s_b_valid_o = m_b_valid_i;
  assign m_b_ready_o = s_b_ready_i;

  // ---- Reads ----

  typedef struct packed {
    axi_b_t                 of;
    logic [MasterWidth-1:0] data;
  } beat_t;
  typedef struct packed {
    logic [Low-1:0] at;
    logic [7:0]     left;
  } place_t;

  logic ar_ready, room, begins, r_valid, r_taken, found, given, r_last, unused;
  logic [Index-1:0] begin_at, index;
  beat_t beat;
  burst_t bursts[Reads], read;
  place_t places[Reads], place, next_place;
  logic [Reads-1:0] begun_q;

  assign s_ar_ready_o = ar_ready && room;
  assign begins = s_ar_valid_i && s_ar_ready_o;

  consort_fifo #(
      .T(axi_a_t)
  ) i_ar (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(widened(s_ar_i)),
      .valid_i(s_ar_valid_i && room),
      .ready_o(ar_ready),
      .data_o(m_ar_o),
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
      .pop_i(given && r_last)
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
  assign place = begun_q[index] ? places[index] : '{at: read.first, left: read.len};
  assign r_last = place.left == '0;
  assign next_place.left = place.left - 8'd1;
  assign s_r_valid_o = r_valid && found;
  assign given = s_r_valid_o && s_r_ready_i;
  // A wide word is done with its last part; what nobody asked for goes away.
  assign r_taken = !found || (s_r_ready_i && (!read.merged || r_last || next_place.at[Low-1:Narrow] == '0));
  assign s_r_o = beat.of;
  assign s_r_last_o = r_last;
  always_comb begin
    s_r_data_o = '0;
    for (int unsigned lane = 0; lane < MasterWidth / SlaveWidth; lane++) begin
      if (place.at[Low-1:Narrow] == (Low - Narrow)'(lane)) s_r_data_o = beat.data[lane*SlaveWidth+:SlaveWidth];
    end
  end

  consort_axi_walk #(
      .Low(Low),
      .Narrow(Narrow)
  ) i_r_walk (
      .first_i(read.first),
      .size_i(read.size),
      .burst_i(read.burst),
      .len_i(read.len[3:0]),
      .at_i(place.at),
      .done_o(unused_done),
      .next_o(next_place.at)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begun_q <= '0;
    else if (given) begun_q[index] <= !r_last;
  end
  always_ff @(posedge clk_i) begin
    if (begins) bursts[begin_at] <= burst_of(s_ar_i);
    if (given) places[index] <= next_place;
  end
  // Where a read ends is counted; a beat here is never in steps.
  assign unused = &{1'b0, m_r_last_i, unused_done, unused_w_done};
endmodule
