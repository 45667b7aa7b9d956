// SPDX-License-Identifier: Apache-2.0
// Between the mBlock's interconnect and one memory: what the memory sees of ids, and what becomes of accesses that it does not
// answer.
//
// Order. All reads of one port of a cBlock go to the memory with one id, and all its writes: {link, port}. So whatever ids the
// port's master uses, AXI4 makes the memory carry out and answer two accesses of one master's id in their order. Tags wait here in
// the order of the requests and go back with the answers.
//
// Silence. A memory that leaves a stream of accesses without an answer, or an address or data untaken, for twice answer_after_i
// cycles is out of order: all that is outstanding there and all that comes ends with SLVERR, so nobody waits for it. What it was
// shown stays until it takes it, a write whose data it waits for is filled up without strobes, and what it answers late is dropped.
// When nothing of all that is left it is in order again.
//
// Reset. rst_ni resets the block and m_rst_ni the memory with what this module knows of it. Where rst_ni falls alone the memory still
// owes answers of accesses that nobody knows any more: what it was shown stays, its write is filled up, its answers are dropped, and
// new accesses wait until it owes nothing.
//
// Isolation. While isolate_i nothing new is shown; what the memory has ends. From isolated_o on it may be reset alone, and what comes ends with SLVERR.
// An address of a write is kept here until the memory takes it: its data show whether it was taken or not (AXI4, A3.3.1).
// Interface: l_* from the interconnect, m_* to the memory: channels of AXI4; answer_after_i and silent_o to the registers; isolate_i, isolated_o.
// Parameters: Links; ReadDepth and WriteDepth of tags of a port, powers of two; TimerWidth.
// Throughput: an address and a beat of each channel a cycle; of answers that are made here a beat in two.
// Latency: none.
// Assumes: the memory keeps the order of one id, and marks the last beat of a read.
// Held by: search of all runs of twelve cycles against tests/rtl/formal/memory_guard_check.sv, tests/rtl/test_proofs.py; no proof for all time.
module consort_memory_guard
  import consort_remote_pkg::*;
#(
    parameter int unsigned Links      = 1,
    parameter int unsigned ReadDepth  = 2 ** IndexWidth,        // reads of a port: as many as it has tags
    parameter int unsigned WriteDepth = 2 * 2 ** IndexWidth,    // messages of writes of a port; more wait
    parameter int unsigned TimerWidth = 24
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  m_rst_ni,        // of the memory; low only together with rst_ni, or while isolated_o
    input  logic [TimerWidth-1:0] answer_after_i,  // 0: waits for ever
    output logic                  silent_o,
    input  logic                  isolate_i,
    output logic                  isolated_o,

    // From the interconnect: ids are {link, tag}. A write's data follow its address.
    input  axi_a_t l_aw_i,
    input  logic   l_aw_valid_i,
    output logic   l_aw_ready_o,
    input  axi_w_t l_w_i,
    input  logic   l_w_valid_i,
    output logic   l_w_ready_o,
    output axi_b_t l_b_o,
    output logic   l_b_valid_o,
    input  logic   l_b_ready_i,
    input  axi_a_t l_ar_i,
    input  logic   l_ar_valid_i,
    output logic   l_ar_ready_o,
    output axi_r_t l_r_o,
    output logic   l_r_valid_o,
    input  logic   l_r_ready_i,

    output axi_a_t m_aw_o,
    output logic   m_aw_valid_o,
    input  logic   m_aw_ready_i,
    output axi_w_t m_w_o,
    output logic   m_w_valid_o,
    input  logic   m_w_ready_i,
    input  axi_b_t m_b_i,
    input  logic   m_b_valid_i,
    output logic   m_b_ready_o,
    output axi_a_t m_ar_o,
    output logic   m_ar_valid_o,
    input  logic   m_ar_ready_i,
    input  axi_r_t m_r_i,
    input  logic   m_r_valid_i,
    output logic   m_r_ready_o
);
  localparam int unsigned Streams = Links * 2 ** PortWidth;
  localparam int unsigned StreamWidth = 2 + PortWidth;
  typedef logic [StreamWidth-1:0] stream_t;
  typedef logic [IndexWidth-1:0] index_t;
  typedef struct packed {
    logic [7:0] len;
    index_t     index;
  } read_t;

  logic silent_q, leaves_q, due_q, turns, parts, r_owed, b_owed, m_clear, unused;
  logic orphans_q, mute;     // the memory may owe something of before the reset; nothing new is shown, and no answer handed on
  logic isolate_q, apart_q, shows_q;  // apart_q: it was not the memory's silence; shows_q: !silent_q, for a beat's many bits
  assign mute = silent_q || orphans_q;
  assign silent_o = silent_q && !apart_q;

  // ---- Reads in order ----

  stream_t ar_stream, r_stream;
  logic [Streams-1:0] r_some, r_room, r_one, ar_of, r_of, ar_pushes, r_pops;
  read_t r_head[Streams];
  index_t r_index;
  logic ar_room, ar_goes, r_ends;
  logic ar_held_q, r_fails_q, r_ours;  // r_ours: an answer is to a read that waits for one
  axi_a_t ar_q, ar_now;
  axi_r_t r_fail_q;  // the answer that is made here

  assign ar_stream = l_ar_i.id[IndexWidth+:StreamWidth];
  assign r_stream = r_fails_q ? r_fail_q.id[IndexWidth+:StreamWidth] : m_r_i.id[StreamWidth-1:0];
  assign ar_room = (ar_of & r_room) != '0;
  assign ar_goes = !orphans_q && m_ar_ready_i && (!isolate_q || ar_held_q);
  assign l_ar_ready_o = silent_q ? ar_room && !leaves_q : ar_room && ar_goes;
  assign r_ends = l_r_valid_o && l_r_ready_i && l_r_o.last;

  for (genvar s = 0; s < Streams; s++) begin : gen_reads
    assign ar_of[s] = ar_stream == stream_t'(s);
    assign r_of[s] = r_stream == stream_t'(s);
    assign ar_pushes[s] = l_ar_valid_i && ar_of[s] && r_room[s] && (silent_q ? !leaves_q : ar_goes);
    assign r_pops[s] = r_ends && r_of[s];
    consort_fifo_head #(
        .T(read_t),
        .Depth(ReadDepth)
    ) i_tags (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .data_i({l_ar_i.len, l_ar_i.id[IndexWidth-1:0]}),
        .valid_i(ar_pushes[s]),
        .ready_o(r_room[s]),
        .data_o(r_head[s]),
        .valid_o(r_some[s]),
        .one_o(r_one[s]),
        .ready_i(r_pops[s])
    );
  end

  always_comb begin
    r_index = '0;
    for (int unsigned s = 0; s < Streams; s++) begin
      if (m_r_i.id[StreamWidth-1:0] == stream_t'(s)) r_index = r_index | r_head[s].index;
    end
    ar_now = l_ar_i;
    ar_now.id = IdWidth'(ar_stream);
  end
  assign m_ar_o = ar_held_q ? ar_q : ar_now;
  assign m_ar_valid_o = ar_held_q || (l_ar_valid_i && ar_room && !mute && !isolate_q);
  // An answer to nothing, or to a stream that has nothing there, goes nowhere.
  assign r_ours = (r_of & r_some) != '0;
  assign m_r_ready_o = mute || !r_ours || l_r_ready_i;
  assign l_r_valid_o = r_ours && (r_fails_q || (m_r_valid_i && !mute));  // what is made here shows in silence only
  assign l_r_o.data = shows_q ? m_r_i.data : '0;
  assign {l_r_o.id, l_r_o.resp, l_r_o.last} = r_fails_q ? {r_fail_q.id, r_fail_q.resp, r_fail_q.last} :
      {IdWidth'({m_r_i.id[StreamWidth-1:0], r_index}), m_r_i.resp, m_r_i.last};

  // ---- Writes in order ----

  stream_t aw_stream, b_stream;
  logic [Streams-1:0] b_some, b_room, b_one, aw_of, b_of, aw_pushes, b_pops;
  index_t b_head[Streams];
  index_t b_index;
  logic aw_room, aw_taken, aw_goes, aw_shows, w_taken;
  logic aw_held_q, w_held_q, fills, b_fails_q, b_ours;
  axi_a_t aw_q, aw_now;
  axi_w_t w_q;
  // Of the write whose data come: here, and at the memory.
  logic open_q, m_open_q;
  logic [Streams-1:0] open_of_q;
  logic [7:0] m_left_q;
  axi_b_t b_fail_q;

  assign aw_stream = l_aw_i.id[IndexWidth+:StreamWidth];
  assign b_stream = b_fails_q ? b_fail_q.id[IndexWidth+:StreamWidth] : m_b_i.id[StreamWidth-1:0];
  assign aw_room = (aw_of & b_room) != '0;
  assign aw_taken = l_aw_valid_i && l_aw_ready_o;
  assign aw_goes = !orphans_q && !aw_held_q && !isolate_q;
  assign aw_shows = l_aw_valid_i && aw_room && !silent_q && aw_goes;
  assign l_aw_ready_o = silent_q ? aw_room && !leaves_q : aw_room && aw_goes;
  assign w_taken = l_w_valid_i && l_w_ready_o;
  assign l_w_ready_o = silent_q || m_w_ready_i;

  for (genvar s = 0; s < Streams; s++) begin : gen_writes
    assign aw_of[s] = aw_stream == stream_t'(s);
    assign b_of[s] = b_stream == stream_t'(s);
    assign aw_pushes[s] = l_aw_valid_i && aw_of[s] && b_room[s] && (silent_q ? !leaves_q : aw_goes);
    assign b_pops[s] = l_b_valid_o && l_b_ready_i && b_of[s];
    consort_fifo_head #(
        .T(index_t),
        .Depth(WriteDepth)
    ) i_tags (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .data_i(l_aw_i.id[IndexWidth-1:0]),
        .valid_i(aw_pushes[s]),
        .ready_o(b_room[s]),
        .data_o(b_head[s]),
        .valid_o(b_some[s]),
        .one_o(b_one[s]),
        .ready_i(b_pops[s])
    );
  end

  always_comb begin
    b_index = '0;
    for (int unsigned s = 0; s < Streams; s++) begin
      if (m_b_i.id[StreamWidth-1:0] == stream_t'(s)) b_index = b_index | b_head[s];
    end
    aw_now = l_aw_i;
    aw_now.id = IdWidth'(aw_stream);
  end
  assign m_aw_o = aw_held_q ? aw_q : aw_now;
  assign m_aw_valid_o = aw_held_q || aw_shows;
  assign fills = mute && m_open_q && !w_held_q;
  assign m_w_o = w_held_q ? w_q : fills ? '{data: '0, strb: '0, last: m_left_q == '0} : l_w_i;
  assign m_w_valid_o = w_held_q || fills || (l_w_valid_i && !mute);
  assign b_ours = (b_of & b_some) != '0;
  assign m_b_ready_o = mute || !b_ours || l_b_ready_i;
  assign l_b_valid_o = b_ours && (b_fails_q || (m_b_valid_i && !mute));
  assign l_b_o = b_fails_q ? b_fail_q : '{id: IdWidth'({m_b_i.id[StreamWidth-1:0], b_index}), resp: m_b_i.resp};

  // ---- What the memory has ----

  localparam int unsigned CountWidth = $clog2(Streams * WriteDepth) + 1;
  logic [CountWidth-1:0] reads_q, writes_q;  // taken and not answered to their end
  logic m_ar_taken, m_aw_taken, m_w_taken, m_r_ends, m_b_ends;

  assign m_ar_taken = m_ar_valid_o && m_ar_ready_i;
  assign m_aw_taken = m_aw_valid_o && m_aw_ready_i;
  assign m_w_taken  = m_w_valid_o && m_w_ready_i;

  assign m_r_ends = r_owed && m_r_valid_i && m_r_ready_o && m_r_i.last && (mute || r_ours);
  assign m_b_ends = b_owed && m_b_valid_i && m_b_ready_o && (mute || b_ours);
  assign m_clear = !r_owed && !b_owed && !m_open_q && {ar_held_q, aw_held_q, w_held_q} == '0;

  always_ff @(posedge clk_i or negedge m_rst_ni) begin
    if (!m_rst_ni) begin
      reads_q <= '0;
      writes_q <= '0;
      m_open_q <= 1'b0;
      {ar_held_q, aw_held_q, w_held_q, r_owed, b_owed} <= '0;
    end else begin
      reads_q <= reads_q + CountWidth'(m_ar_taken) - CountWidth'(m_r_ends);
      writes_q <= writes_q + CountWidth'(m_aw_taken) - CountWidth'(m_b_ends);
      if (m_ar_taken != m_r_ends) r_owed <= m_ar_taken || reads_q != CountWidth'(1);
      if (m_aw_taken != m_b_ends) b_owed <= m_aw_taken || writes_q != CountWidth'(1);
      if (aw_shows) m_open_q <= 1'b1;
      else if (m_w_taken && m_w_o.last) m_open_q <= 1'b0;
      ar_held_q <= m_ar_valid_o && !m_ar_ready_i;
      aw_held_q <= m_aw_valid_o && !m_aw_ready_i;
      w_held_q  <= m_w_valid_o && !m_w_ready_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!ar_held_q) ar_q <= ar_now;
    if (!aw_held_q) aw_q <= aw_now;
    if (!w_held_q) w_q <= m_w_o;
    if (aw_shows) m_left_q <= l_aw_i.len;
    else if (m_w_taken) m_left_q <= m_left_q - 8'd1;
  end

  // ---- Silence ----

  // At the end of each period: what has waited since before it began.
  logic [TimerWidth-1:0] period_q;
  logic tick_q, ar_old_q, aw_old_q, w_old_q, orphans_old_q, r_holds, b_holds;
  logic [Streams-1:0] r_old_q, b_old_q, r_heard, b_heard;

  for (genvar s = 0; s < Streams; s++) begin : gen_heard
    assign r_heard[s] = m_r_valid_i && m_r_i.id[StreamWidth-1:0] == stream_t'(s);
    assign b_heard[s] = m_b_valid_i && m_b_i.id[StreamWidth-1:0] == stream_t'(s);
  end
  // An answer that is there and not taken keeps those behind it: that is not the memory's doing.
  assign r_holds = m_r_valid_i && !m_r_ready_o;
  assign b_holds = m_b_valid_i && !m_b_ready_o;
  // Not while an answer shows that would change.
  assign turns = due_q && !silent_q && !r_holds && !b_holds;
  assign parts = isolate_q && !silent_q && m_clear && !open_q && r_some == '0 && b_some == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      period_q <= '0;
      tick_q <= 1'b0;
      {ar_old_q, aw_old_q, w_old_q, orphans_old_q} <= '0;
      r_old_q <= '0;
      b_old_q <= '0;
      due_q <= 1'b0;
      {silent_q, leaves_q, open_q} <= '0;
      shows_q <= 1'b1;
      {isolate_q, apart_q, isolated_o} <= '0;
      open_of_q <= '0;
      orphans_q <= 1'b1;
    end else begin
      if (aw_taken) {open_q, open_of_q} <= {1'b1, aw_of};
      else if (w_taken && l_w_i.last) open_q <= 1'b0;
      if (m_clear) orphans_q <= 1'b0;
      period_q <= tick_q || answer_after_i == '0 ? '0 : period_q + 1'b1;
      tick_q <= !tick_q && answer_after_i != '0 && period_q >= answer_after_i;
      r_old_q <= r_some & ~r_heard & (r_old_q | {Streams{tick_q}});
      b_old_q <= b_some & ~b_heard & (b_old_q | {Streams{tick_q}});
      if (r_holds) r_old_q <= '0;
      if (b_holds || (m_open_q && !m_w_valid_o)) b_old_q <= '0;
      ar_old_q <= m_ar_valid_o && !m_ar_ready_i && !m_r_valid_i && (ar_old_q || tick_q);
      aw_old_q <= m_aw_valid_o && !m_aw_ready_i && !m_b_valid_i && (aw_old_q || tick_q);
      w_old_q <= m_w_valid_o && !m_w_ready_i && !m_b_valid_i && (w_old_q || tick_q);
      orphans_old_q <= orphans_q && (orphans_old_q || tick_q);
      if (silent_q) due_q <= 1'b0;
      else if (tick_q && (r_old_q != '0 || b_old_q != '0 || {ar_old_q, aw_old_q, w_old_q, orphans_old_q} != '0)) due_q <= 1'b1;
      isolate_q <= isolate_i;
      isolated_o <= isolate_q && silent_q && !leaves_q && m_clear;
      if (turns || parts) {silent_q, shows_q} <= 2'b10;
      if (turns || parts) apart_q <= parts && !turns;
      // It takes nothing for a cycle before it is in order again. With nothing outstanding there is room: what comes now is taken.
      leaves_q <= silent_q && !leaves_q && !isolate_q && m_clear && r_some == '0 && b_some == '0 && !open_q &&
          !l_ar_valid_i && !l_aw_valid_i;
      if (leaves_q) {silent_q, shows_q} <= 2'b01;
    end
  end

  // ---- Answers that are made here: a beat every other cycle ----

  logic [Streams-1:0] r_first, b_first, b_ripe;
  logic [7:0] r_done_q[Streams];  // beats answered of the oldest read
  axi_r_t r_fail;
  axi_b_t b_fail;

  assign r_first = r_some & (~r_some + 1'b1);
  // A write is answered after its data.
  assign b_ripe = b_some & ~(open_q ? open_of_q & b_one : '0);
  assign b_first = b_ripe & (~b_ripe + 1'b1);

  always_comb begin
    r_fail = '{data: '0, id: '0, resp: RespSlverr, last: 1'b0};
    b_fail = '{id: '0, resp: RespSlverr};
    for (int unsigned s = 0; s < Streams; s++) begin
      if (r_first[s]) begin
        r_fail.id = r_fail.id | IdWidth'({stream_t'(s), r_head[s].index});
        r_fail.last = r_fail.last || r_done_q[s] == r_head[s].len;
      end
      if (b_first[s]) b_fail.id = b_fail.id | IdWidth'({stream_t'(s), b_head[s]});
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      r_fails_q <= 1'b0;
      b_fails_q <= 1'b0;
      for (int unsigned s = 0; s < Streams; s++) r_done_q[s] <= '0;
    end else begin
      r_fails_q <= silent_q && (r_fails_q ? !l_r_ready_i : r_some != '0);
      b_fails_q <= silent_q && (b_fails_q ? !l_b_ready_i : b_ripe != '0);
      for (int unsigned s = 0; s < Streams; s++) begin
        if (l_r_valid_o && l_r_ready_i && r_of[s]) r_done_q[s] <= l_r_o.last ? '0 : r_done_q[s] + 8'd1;
      end
    end
  end

  always_ff @(posedge clk_i) if (!r_fails_q) r_fail_q <= r_fail;
  always_ff @(posedge clk_i) if (!b_fails_q) b_fail_q <= b_fail;

  assign unused = &{1'b0, r_one, r_fail_q.data};
endmodule
