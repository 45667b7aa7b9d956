// SPDX-License-Identifier: Apache-2.0
// The guard of a memory, with a stream (link and port) of the solver's choice and a read and a write of it followed. The contract is
// order, as AXI4's masters have it: all reads of the stream go to the memory with one id that no other stream has, and all its
// writes, so a memory that carries out other ids in any order keeps it; and every answer goes to the access whose turn it is, reads
// and writes apart. While the memory is in order each access is shown to it, as it is but for its id, and answered with what it
// answers; an address of a write is taken as it shows, and its data show, whatever the memory takes. Once it is silent each access is answered with SLVERR, reads with as many beats as they have, writes after their data; what
// it was shown stays; a write that it waits for gets as many beats as its address said, those that are made up without strobes;
// nothing new is shown; and what it answers then goes nowhere. It is in order again only when it owes nothing. While it is to be isolated nothing new
// is shown; once it is, it owes nothing and is shown nothing.
//
// Taken for granted: what is shown to the guard stays until it takes it; a write's data come after its address, of one write at a
// time; of the memory, that it answers what it was asked, a write after its data.
module memory_guard_check
  import consort_remote_pkg::*;
(
    input logic       clk,
    input logic       rst_n,
    input logic [1:0] answer_after,
    input logic       isolate,
    input logic [3:0] follow,       // which stream
    input axi_a_t     l_aw,
    input logic       l_aw_valid,
    input axi_w_t     l_w,
    input logic       l_w_valid,
    input logic       l_b_ready,
    input axi_a_t     l_ar,
    input logic       l_ar_valid,
    input logic       l_r_ready,
    input logic       m_aw_ready,
    input logic       m_w_ready,
    input axi_b_t     m_b,
    input logic       m_b_valid,
    input logic       m_ar_ready,
    input axi_r_t     m_r,
    input logic       m_r_valid,
    input logic       mark_r,       // follow the read, the write, that comes in now
    input logic       mark_w
);
  localparam int unsigned Depth = 4;
  localparam int unsigned Streams = 4;  // of one link

  logic silent, silent_o, isolated, l_aw_ready, l_w_ready, l_b_valid, l_ar_ready, l_r_valid;
  logic m_aw_valid, m_w_valid, m_b_ready, m_ar_valid, m_r_ready;
  axi_a_t m_aw, m_ar;
  axi_w_t m_w;
  axi_b_t l_b;
  axi_r_t l_r;
  logic past_valid = 1'b0;
  logic on_q;  // in the cycle after the reset it takes nothing

  consort_memory_guard #(
      .Links(1),
      .ReadDepth(Depth),
      .WriteDepth(Depth),
      .TimerWidth(2)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .m_rst_ni(rst_n), .answer_after_i(answer_after), .silent_o(silent_o),
      .isolate_i(isolate), .isolated_o(isolated),
      .l_aw_i(l_aw), .l_aw_valid_i(l_aw_valid), .l_aw_ready_o(l_aw_ready), .l_w_i(l_w), .l_w_valid_i(l_w_valid),
      .l_w_ready_o(l_w_ready), .l_b_o(l_b), .l_b_valid_o(l_b_valid), .l_b_ready_i(l_b_ready), .l_ar_i(l_ar),
      .l_ar_valid_i(l_ar_valid), .l_ar_ready_o(l_ar_ready), .l_r_o(l_r), .l_r_valid_o(l_r_valid), .l_r_ready_i(l_r_ready),
      .m_aw_o(m_aw), .m_aw_valid_o(m_aw_valid), .m_aw_ready_i(m_aw_ready), .m_w_o(m_w), .m_w_valid_o(m_w_valid),
      .m_w_ready_i(m_w_ready), .m_b_i(m_b), .m_b_valid_i(m_b_valid), .m_b_ready_o(m_b_ready), .m_ar_o(m_ar),
      .m_ar_valid_o(m_ar_valid), .m_ar_ready_i(m_ar_ready), .m_r_i(m_r), .m_r_valid_i(m_r_valid), .m_r_ready_o(m_r_ready)
  );

  // The memory is silent by itself, or because it is isolated.
  assign silent = dut.silent_q;

  typedef logic [IndexWidth-1:0] index_t;
  logic [1:0] stream_q;  // the followed one
  // Its reads: how many are not answered, how many of them the memory has, and of the followed one what it is and how many are
  // before it; beats answered of the oldest.
  logic [2:0] reads_q, reads_there_q, r_before_q;
  logic r_follows_q;
  index_t r_index_q;
  logic [7:0] r_len_q, r_done_q;
  // The memory's beats that it answered of the oldest of the stream.
  logic [2:0] writes_q, writes_there_q, w_before_q;
  logic w_follows_q;
  index_t w_index_q;
  // The write whose data come, on either side.
  logic open_q, open_ours_q, m_open_q, m_open_ours_q;
  logic [4:0] all_reads_q, all_writes_q;  // that the memory has
  logic [2:0] of_reads_q[Streams], of_writes_q[Streams];  // and of each stream
  logic l_ar_waits_q, l_aw_waits_q, l_w_waits_q;
  axi_a_t l_ar_before_q, l_aw_before_q;
  axi_w_t l_w_before_q;
  logic [7:0] m_left_q;
  logic silent_before_q, ar_waits_q, aw_waits_q, w_waits_q;
  axi_a_t ar_before_q, aw_before_q;
  axi_w_t w_before_data_q;

  logic ar_in, aw_in, r_out, r_end, b_out, m_ar_in, m_aw_in, m_w_in, m_r_end, m_b_end;
  assign ar_in = l_ar_valid && l_ar_ready && l_ar.id[IndexWidth+:4] == {2'd0, stream_q};
  assign aw_in = l_aw_valid && l_aw_ready && l_aw.id[IndexWidth+:4] == {2'd0, stream_q};
  assign r_out = l_r_valid && l_r_ready && l_r.id[IndexWidth+:4] == {2'd0, stream_q};
  assign r_end = r_out && l_r.last;
  assign b_out = l_b_valid && l_b_ready && l_b.id[IndexWidth+:4] == {2'd0, stream_q};
  assign m_ar_in = m_ar_valid && m_ar_ready && m_ar.id == IdWidth'(stream_q);
  assign m_aw_in = m_aw_valid && m_aw_ready && m_aw.id == IdWidth'(stream_q);
  assign m_w_in = m_w_valid && m_w_ready;
  assign m_r_end = m_r_valid && m_r_ready && m_r.last && m_r.id == IdWidth'(stream_q);
  assign m_b_end = m_b_valid && m_b_ready && m_b.id == IdWidth'(stream_q);

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    silent_before_q <= silent;
    ar_before_q <= m_ar;
    aw_before_q <= m_aw;
    w_before_data_q <= m_w;
    l_ar_before_q <= l_ar;
    l_aw_before_q <= l_aw;
    l_w_before_q <= l_w;
    on_q <= rst_n;
    if (!rst_n) begin
      stream_q <= follow[1:0];
      {reads_q, reads_there_q, writes_q, writes_there_q} <= '0;
      {l_ar_waits_q, l_aw_waits_q, l_w_waits_q} <= '0;
      of_reads_q <= '{default: '0};
      of_writes_q <= '{default: '0};
      all_reads_q <= '0;
      all_writes_q <= '0;
      {r_follows_q, w_follows_q, open_q, m_open_q, ar_waits_q, aw_waits_q, w_waits_q} <= '0;
      r_done_q <= '0;
    end else begin
      l_ar_waits_q <= l_ar_valid && !l_ar_ready;
      l_aw_waits_q <= l_aw_valid && !l_aw_ready;
      l_w_waits_q <= l_w_valid && !l_w_ready;
      all_reads_q <= all_reads_q + 5'(m_ar_valid && m_ar_ready) - 5'(m_r_valid && m_r_ready && m_r.last);
      all_writes_q <= all_writes_q + 5'(m_aw_valid && m_aw_ready) - 5'(m_b_valid && m_b_ready);
      for (int unsigned s = 0; s < Streams; s++) begin
        of_reads_q[s] <= of_reads_q[s] + 3'(m_ar_valid && m_ar_ready && m_ar.id == IdWidth'(s)) -
            3'(m_r_valid && m_r_ready && m_r.last && m_r.id == IdWidth'(s));
        of_writes_q[s] <= of_writes_q[s] + 3'(m_aw_valid && m_aw_ready && m_aw.id == IdWidth'(s)) -
            3'(m_b_valid && m_b_ready && m_b.id == IdWidth'(s));
      end
      ar_waits_q <= m_ar_valid && !m_ar_ready;
      aw_waits_q <= m_aw_valid && !m_aw_ready;
      w_waits_q <= m_w_valid && !m_w_ready;
      reads_q <= reads_q + 3'(ar_in) - 3'(r_end);
      reads_there_q <= reads_there_q + 3'(m_ar_in) - 3'(m_r_end);
      writes_q <= writes_q + 3'(aw_in) - 3'(b_out);
      writes_there_q <= writes_there_q + 3'(m_aw_in) - 3'(m_b_end);
      if (r_out) r_done_q <= l_r.last ? '0 : r_done_q + 8'd1;
      if (!r_follows_q && mark_r && ar_in) begin
        r_follows_q <= 1'b1;
        r_index_q <= l_ar.id[IndexWidth-1:0];
        r_len_q <= l_ar.len;
        r_before_q <= reads_q - 3'(r_end);
      end else if (r_end) begin
        r_before_q <= r_before_q - 3'd1;
        if (r_before_q == '0) r_follows_q <= 1'b0;
      end
      if (!w_follows_q && mark_w && aw_in) begin
        w_follows_q <= 1'b1;
        w_index_q <= l_aw.id[IndexWidth-1:0];
        w_before_q <= writes_q - 3'(b_out);
      end else if (b_out) begin
        w_before_q <= w_before_q - 3'd1;
        if (w_before_q == '0) w_follows_q <= 1'b0;
      end
      if (l_aw_valid && l_aw_ready) begin
        open_q <= 1'b1;
        open_ours_q <= aw_in;
      end else if (l_w_valid && l_w_ready && l_w.last) open_q <= 1'b0;
      if (m_aw_valid && !aw_waits_q) begin
        m_open_q <= 1'b1;
        m_open_ours_q <= m_aw.id == IdWidth'(stream_q);
        m_left_q <= m_aw.len;
      end else if (m_w_in) begin
        m_left_q <= m_left_q - 8'd1;
        if (m_left_q == '0) m_open_q <= 1'b0;
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      assume (l_ar.id[IndexWidth+PortWidth+:2] == '0 && l_aw.id[IndexWidth+PortWidth+:2] == '0);
      if (l_w_valid) assume (open_q);
      if (l_aw_valid) assume (!open_q);
      // As many beats as the address said.
      if (l_w_valid && m_open_q && !silent) assume (l_w.last == (m_left_q == '0));
      if (l_ar_waits_q) assume (l_ar_valid && l_ar == l_ar_before_q);
      if (l_aw_waits_q) assume (l_aw_valid && l_aw == l_aw_before_q);
      if (l_w_waits_q) assume (l_w_valid && l_w == l_w_before_q);
      if (m_r_valid) assume (m_r.id < IdWidth'(Streams) && all_reads_q != '0);
      if (m_b_valid) assume (m_b.id < IdWidth'(Streams) && all_writes_q > 5'(m_open_q && !aw_waits_q));
      for (int unsigned s = 0; s < Streams; s++) begin
        if (m_r_valid && m_r.id == IdWidth'(s)) assume (of_reads_q[s] != '0);
        if (m_b_valid && m_b.id == IdWidth'(s)) assume (of_writes_q[s] != '0);
      end
      if (m_r_valid && m_r.id == IdWidth'(stream_q)) assume (reads_there_q != '0);
      if (m_b_valid && m_b.id == IdWidth'(stream_q)) begin
        assume (writes_there_q > 3'(m_open_q && m_open_ours_q && !aw_waits_q));
      end
    end
  end

  always_comb begin
    if (past_valid && rst_n) begin
      // Order: the followed access is answered when all before it are.
      if (r_end && r_follows_q && r_before_q == '0) assert (l_r.id[IndexWidth-1:0] == r_index_q);
      if (b_out && w_follows_q && w_before_q == '0) assert (l_b.id[IndexWidth-1:0] == w_index_q);
      if (r_out) assert (reads_q != '0);
      if (b_out) assert (writes_q != '0);
      // One id for a stream.
      if (m_ar_valid && !silent) assert (l_ar_valid && m_ar.id == IdWidth'(l_ar.id[IndexWidth+:4]));
      if (m_aw_valid && !aw_waits_q) assert (l_aw_valid && m_aw.id == IdWidth'(l_aw.id[IndexWidth+:4]));
      // In order: shown as it is, taken when the memory takes it, answered as it answers.
      if (!silent) begin
        if (m_ar_valid) assert ({m_ar.addr, m_ar.len, m_ar.size, m_ar.burst} == {l_ar.addr, l_ar.len, l_ar.size, l_ar.burst});
        if (m_aw_valid && !aw_waits_q) begin
          assert ({m_aw.addr, m_aw.len, m_aw.size, m_aw.burst} == {l_aw.addr, l_aw.len, l_aw.size, l_aw.burst});
        end
        assert ((l_ar_valid && l_ar_ready) == (m_ar_valid && m_ar_ready));
        assert ((l_aw_valid && l_aw_ready) == (m_aw_valid && !aw_waits_q));
        // Taken as it shows: its data need not wait for the memory.
        if (l_aw_valid && !aw_waits_q && on_q && !dut.isolate_q && writes_q < 3'(Depth)) begin
          assert (m_aw_valid || l_aw.id[IndexWidth+:4] != {2'd0, stream_q});
        end
        assert (m_w_valid == l_w_valid && l_w_ready == m_w_ready && (!m_w_valid || m_w == l_w));
        assert (l_r_valid == m_r_valid && (!m_r_valid || m_r_ready == l_r_ready));
        if (l_r_valid) assert ({l_r.data, l_r.resp, l_r.last} == {m_r.data, m_r.resp, m_r.last});
        assert (l_b_valid == m_b_valid && (!m_b_valid || m_b_ready == l_b_ready));
        if (l_b_valid) assert (l_b.resp == m_b.resp);
      end else begin
        assert (m_r_ready && m_b_ready && l_w_ready);
        if (l_r_valid) assert (l_r.resp == RespSlverr);
        if (l_b_valid) assert (l_b.resp == RespSlverr);
        if (b_out && writes_q == 3'd1) assert (!(open_q && open_ours_q));
        if (r_out && r_follows_q && r_before_q == '0) assert (l_r.last == (r_done_q == r_len_q));
        // Nothing new.
        if (m_ar_valid) assert (ar_waits_q);
        if (m_aw_valid) assert (aw_waits_q);
        if (m_w_valid && !w_waits_q) assert (m_w.strb == '0);
      end
      // Isolated: it owes nothing, and is shown nothing; before that nothing new.
      if (isolated) begin
        assert (silent && all_reads_q == '0 && all_writes_q == '0 && !m_open_q && !m_ar_valid && !m_aw_valid && !m_w_valid);
      end
      if (dut.isolate_q) assert ((!m_ar_valid || ar_waits_q) && (!m_aw_valid || aw_waits_q));
      if (silent_o) assert (silent);
      // A shown request stays.
      if (ar_waits_q) assert (m_ar_valid && m_ar == ar_before_q);
      if (aw_waits_q) assert (m_aw_valid && m_aw == aw_before_q);
      if (w_waits_q) assert (m_w_valid && m_w == w_before_data_q);
      if (silent && m_w_valid) assert (m_open_q && m_w.last == (m_left_q == '0));
      // In order again when nothing is owed.
      if (silent_before_q && !silent) begin
        assert (reads_there_q == '0 && writes_there_q == '0 && reads_q == '0 && writes_q == '0 && !m_open_q && !open_q &&
            !aw_waits_q);
      end
    end
  end
endmodule
