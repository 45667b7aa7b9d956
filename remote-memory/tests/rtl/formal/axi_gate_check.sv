// SPDX-License-Identifier: Apache-2.0
// The gate with masters and slaves that keep AXI4's rules and a table that may change at any time, with up to four reads and four
// writes beyond it. A read and a write that any user may choose are followed: what has no place, or is not allowed, is answered
// with DECERR or SLVERR, in its turn, as long as it is, and is never shown beyond the gate; what passes is shown there once,
// where its place is, and its data and answers go through as they are. Beyond the gate one destination is asked at a time. With Rename
// answers carry the ids of the requests, in their order. What is shown stays until it is taken; an access that nothing is
// before is decided at once.
module axi_gate_check
  import consort_remote_pkg::*;
#(
    parameter bit Rename = 1'b0
) (
    input logic clk,
    input logic rst_n,
    input axi_a_t s_aw,
    input logic s_aw_valid,
    input axi_w_t s_w,
    input logic s_w_valid,
    input logic s_b_ready,
    input axi_a_t s_ar,
    input logic s_ar_valid,
    input logic s_r_ready,
    input logic m_aw_ready,
    input logic m_w_ready,
    input axi_b_t m_b,
    input logic m_b_valid,
    input logic m_ar_ready,
    input axi_r_t m_r,
    input logic m_r_valid,
    input place_t aw_place,
    input place_t ar_place,
    input logic mark_read,
    input logic mark_write
);
  localparam logic [IdWidth-1:0] Id = IdWidth'(5);
  localparam int unsigned Most = 4;
  axi_a_t m_aw, m_ar;
  axi_w_t m_w;
  axi_b_t s_b;
  axi_r_t s_r;
  logic [1:0] m_aw_to, m_ar_to;
  logic [AddrWidth-1:0] aw_look, ar_look;
  logic s_aw_ready, s_w_ready, s_b_valid, s_ar_ready, s_r_valid;
  logic m_aw_valid, m_w_valid, m_b_ready, m_ar_valid, m_r_ready;
  logic aw_load, aw_passed, aw_refused, ar_load, ar_passed, ar_refused;
  logic past_valid = 1'b0;

  consort_axi_gate #(
      .Most(Most),
      .Rename(Rename),
      .Id(Id)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n),
      .s_aw_i(s_aw), .s_aw_valid_i(s_aw_valid), .s_aw_ready_o(s_aw_ready),
      .s_w_i(s_w), .s_w_valid_i(s_w_valid), .s_w_ready_o(s_w_ready),
      .s_b_o(s_b), .s_b_valid_o(s_b_valid), .s_b_ready_i(s_b_ready),
      .s_ar_i(s_ar), .s_ar_valid_i(s_ar_valid), .s_ar_ready_o(s_ar_ready),
      .s_r_o(s_r), .s_r_valid_o(s_r_valid), .s_r_ready_i(s_r_ready),
      .m_aw_o(m_aw), .m_aw_to_o(m_aw_to), .m_aw_valid_o(m_aw_valid), .m_aw_ready_i(m_aw_ready),
      .m_w_o(m_w), .m_w_valid_o(m_w_valid), .m_w_ready_i(m_w_ready),
      .m_b_i(m_b), .m_b_valid_i(m_b_valid), .m_b_ready_o(m_b_ready),
      .m_ar_o(m_ar), .m_ar_to_o(m_ar_to), .m_ar_valid_o(m_ar_valid), .m_ar_ready_i(m_ar_ready),
      .m_r_i(m_r), .m_r_valid_i(m_r_valid), .m_r_ready_o(m_r_ready),
      .aw_load_o(aw_load), .aw_look_o(aw_look), .aw_place_i(aw_place), .aw_passed_o(aw_passed), .aw_refused_o(aw_refused),
      .ar_load_o(ar_load), .ar_look_o(ar_look), .ar_place_i(ar_place), .ar_passed_o(ar_passed), .ar_refused_o(ar_refused)
  );

  typedef enum logic [2:0] {
    None,
    AtGate,
    Shown,     // beyond it, not taken
    Asked,
    Refused
  } phase_e;

  always_ff @(posedge clk) past_valid <= 1'b1;
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
  end

  // ---- Handshakes: assumed of what comes in, asserted of what goes out ----

  localparam int unsigned Channels = 10;
  logic [Channels-1:0] valids, readies, waits_q;
  logic [$bits(axi_a_t)+1:0] aw_q, ar_q, m_aw_q, m_ar_q;
  axi_w_t w_q, m_w_q;
  axi_b_t b_q, m_b_q;
  axi_r_t r_q, m_r_q;
  assign valids = {
    s_aw_valid, s_w_valid, s_ar_valid, m_b_valid, m_r_valid,
    s_b_valid, s_r_valid, m_aw_valid, m_w_valid, m_ar_valid
  };
  assign readies = {
    s_aw_ready, s_w_ready, s_ar_ready, m_b_ready, m_r_ready,
    s_b_ready, s_r_ready, m_aw_ready, m_w_ready, m_ar_ready
  };
  always_ff @(posedge clk) begin
    waits_q <= rst_n ? valids & ~readies : '0;
    aw_q <= {2'd0, s_aw};
    ar_q <= {2'd0, s_ar};
    w_q <= s_w;
    m_b_q <= m_b;
    m_r_q <= m_r;
    b_q <= s_b;
    r_q <= s_r;
    m_aw_q <= {m_aw_to, m_aw};
    m_w_q <= m_w;
    m_ar_q <= {m_ar_to, m_ar};
  end
  always_comb begin
    if (past_valid && rst_n) begin
      if (waits_q[9]) assume (s_aw_valid && {2'd0, s_aw} == aw_q);
      if (waits_q[8]) assume (s_w_valid && s_w == w_q);
      if (waits_q[7]) assume (s_ar_valid && {2'd0, s_ar} == ar_q);
      if (waits_q[6]) assume (m_b_valid && m_b == m_b_q);
      if (waits_q[5]) assume (m_r_valid && m_r == m_r_q);
      if (waits_q[4]) assert (s_b_valid && s_b == b_q);
      if (waits_q[3]) assert (s_r_valid && s_r == r_q);
      if (waits_q[2]) assert (m_aw_valid && {m_aw_to, m_aw} == m_aw_q);
      if (waits_q[1]) assert (m_w_valid && m_w == m_w_q);
      if (waits_q[0]) assert (m_ar_valid && {m_ar_to, m_ar} == m_ar_q);
    end
  end

  // ---- Reads ----

  phase_e read_q;
  logic [2:0] reads_q, asked_q, before_q;  // at the gate and beyond; beyond and taken; before the marked one
  logic [1:0] asked_to_q;
  axi_a_t read_of_q;
  place_t read_place_q;
  logic [7:0] beats_q;                     // of the answer to a refused one
  logic r_ends, m_r_ends;
  axi_a_t expected_ar;

  assign r_ends = s_r_valid && s_r_ready && s_r.last;
  assign m_r_ends = m_r_valid && m_r_ready && m_r.last;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      read_q <= None;
      reads_q <= '0;
      asked_q <= '0;
    end else begin
      reads_q <= reads_q + 3'(s_ar_valid && s_ar_ready) - 3'(r_ends);
      asked_q <= asked_q + 3'(m_ar_valid && m_ar_ready) - 3'(m_r_ends);
      if (m_ar_valid && m_ar_ready) asked_to_q <= m_ar_to;
      if (r_ends && read_q != None) before_q <= before_q - 3'd1;
      case (read_q)
        None:
        if (mark_read && s_ar_valid && s_ar_ready) begin
          read_q <= AtGate;
          read_of_q <= s_ar;
          before_q <= reads_q - 3'(r_ends);
        end
        AtGate: begin
          if (ar_passed) read_q <= Shown;
          if (ar_refused) read_q <= Refused;
          read_place_q <= ar_place;
          beats_q <= '0;
        end
        Shown: if (m_ar_ready) read_q <= Asked;
        default: begin
          if (s_r_valid && s_r_ready) beats_q <= beats_q + 8'd1;
          if (r_ends && before_q == '0) read_q <= None;
        end
      endcase
    end
  end

  always_comb begin
    expected_ar = read_of_q;
    expected_ar.addr = read_place_q.addr;
    if (Rename) expected_ar.id = Id;
    // Data come of what was asked only.
    if (m_r_valid) assume (asked_q != '0);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      assert (!(ar_passed && ar_refused));
      if (ar_passed) assert (ar_place.mapped && ar_place.allowed);
      if (ar_refused) assert (!(ar_place.mapped && ar_place.allowed));
      // Nothing is answered that was not asked, nothing asked without a request, and no more than there may be.
      if (s_r_valid) assert (reads_q != '0);
      assert (asked_q <= 3'(Most) && asked_q + 3'(m_ar_valid) <= 3'(Most));
      if (m_ar_valid && asked_q != '0) assert (m_ar_to == asked_to_q);
      if (m_r_valid && m_r_ready) assert (s_r_valid && s_r_ready);
      case (read_q)
        AtGate: begin
          assert (ar_look == read_of_q.addr);
          if (before_q == '0) assert (!s_r_valid && (ar_passed || ar_refused));
        end
        Shown: begin
          assert (m_ar_valid && m_ar == expected_ar && m_ar_to == read_place_q.to);
          if (before_q == '0) assert (!s_r_valid);
        end
        Asked: if (s_r_valid) begin
          assert (m_r_valid && s_r.data == m_r.data && s_r.resp == m_r.resp && s_r.last == m_r.last && m_r_ready == s_r_ready);
          if (!Rename) assert (s_r.id == m_r.id);
          else if (before_q == '0) assert (s_r.id == read_of_q.id);
        end
        Refused: begin
          assert (before_q == '0 && s_r_valid && !m_r_ready && asked_q == '0 && !m_ar_valid);
          assert (s_r.id == read_of_q.id && s_r.resp == (read_place_q.mapped ? RespSlverr : RespDecerr) && s_r.data == '0);
          assert (s_r.last == (beats_q == read_of_q.len));
        end
        default: ;
      endcase
`ifdef PROVE
      // About its state.
      assert (dut.reads_q == asked_q + 3'(m_ar_valid));
      assert (reads_q == dut.reads_q + 3'(dut.ar_valid_q) + 3'(dut.fails_q));
      if (dut.fails_q) assert (dut.reads_q == '0);
      if (dut.reads_q != '0) assert (dut.m_ar_to_o == (asked_q != '0 ? asked_to_q : m_ar_to));
      if (read_q == AtGate) assert (dut.ar_valid_q && dut.ar_q == read_of_q && before_q == reads_q - 3'd1);
      if (read_q == Shown) begin
        assert (m_ar_valid && before_q == asked_q);
        assert (read_place_q.mapped && read_place_q.allowed);
      end
      if (read_q == Asked) assert (before_q < asked_q);
      if (read_q == Refused) assert (dut.fails_q && dut.fail_left_q == read_of_q.len - beats_q && beats_q <= read_of_q.len);
      assert (read_q <= Refused);
      if (read_q == Refused) assert (!(read_place_q.mapped && read_place_q.allowed));
`endif
    end
  end

  // ---- Writes ----

  phase_e write_q;
  logic [2:0] writes_q, w_asked_q, ended_q, w_before_q;  // ended_q: beyond the gate, with all its data
  logic [1:0] w_asked_to_q;
  axi_a_t write_of_q;
  place_t write_place_q;
  logic data_q, dropped_q, mine_q;  // data of a write are awaited, of one that was refused, of the marked one
  logic b_ends, m_b_ends, w_ends, moves;
  axi_a_t expected_aw;

  assign b_ends = s_b_valid && s_b_ready;
  assign m_b_ends = m_b_valid && m_b_ready;
  assign w_ends = s_w_valid && s_w_ready && s_w.last;
  assign moves = aw_passed || aw_refused;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      write_q <= None;
      {writes_q, w_asked_q, ended_q} <= '0;
      {data_q, dropped_q, mine_q} <= '0;
    end else begin
      writes_q <= writes_q + 3'(s_aw_valid && s_aw_ready) - 3'(b_ends);
      w_asked_q <= w_asked_q + 3'(m_aw_valid && m_aw_ready) - 3'(m_b_ends);
      ended_q <= ended_q + 3'(m_w_valid && m_w_ready && m_w.last) - 3'(m_b_ends);
      if (m_aw_valid && m_aw_ready) w_asked_to_q <= m_aw_to;
      if (moves) begin
        data_q <= 1'b1;
        dropped_q <= aw_refused;
        mine_q <= write_q == AtGate;
      end else if (w_ends) begin
        {data_q, mine_q} <= '0;
      end
      if (b_ends && write_q != None) w_before_q <= w_before_q - 3'd1;
      case (write_q)
        None:
        if (mark_write && s_aw_valid && s_aw_ready) begin
          write_q <= AtGate;
          write_of_q <= s_aw;
          w_before_q <= writes_q - 3'(b_ends);
        end
        AtGate: begin
          if (aw_passed) write_q <= Shown;
          if (aw_refused) write_q <= Refused;
          write_place_q <= aw_place;
        end
        Shown: if (m_aw_ready) write_q <= Asked;
        default: if (b_ends && w_before_q == '0) write_q <= None;
      endcase
    end
  end

  always_comb begin
    expected_aw = write_of_q;
    expected_aw.addr = write_place_q.addr;
    if (Rename) expected_aw.id = Id;
    // Answers come to what was asked only, after all its data.
    if (m_b_valid) assume (w_asked_q != '0 && ended_q != '0);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      assert (!(aw_passed && aw_refused));
      if (aw_passed) assert (aw_place.mapped && aw_place.allowed);
      if (aw_refused) assert (!(aw_place.mapped && aw_place.allowed));
      if (s_b_valid) assert (writes_q != '0);
      assert (w_asked_q <= 3'(Most) && ended_q <= 3'(Most) && w_asked_q + 3'(m_aw_valid) <= 3'(Most));
      if (m_aw_valid && w_asked_q != '0) assert (m_aw_to == w_asked_to_q);
      if (m_b_ends) assert (b_ends);
      // Data go the way of their address, and none goes without.
      assert (m_w_valid == (s_w_valid && data_q && !dropped_q));
      assert (s_w_ready == (data_q && (dropped_q || m_w_ready)));
      assert (m_w == s_w);
      case (write_q)
        AtGate: begin
          assert (aw_look == write_of_q.addr);
          if (w_before_q == '0) assert (!s_b_valid && moves);
        end
        Shown: begin
          assert (m_aw_valid && m_aw == expected_aw && m_aw_to == write_place_q.to);
          if (w_before_q == '0) assert (!s_b_valid);
        end
        Asked: if (s_b_valid && w_before_q == '0) begin
          assert (m_b_valid && s_b.resp == m_b.resp && m_b_ready == s_b_ready);
          assert (s_b.id == (Rename ? write_of_q.id : m_b.id));
        end
        Refused: begin
          assert (w_before_q == '0);
          // Answered as soon as its data are taken, which go nowhere; the next write may be beyond the gate by then.
          assert (s_b_valid == !mine_q);
          if (mine_q) assert (s_w_ready && !m_w_valid && !m_aw_valid && w_asked_q == '0);
          if (s_b_valid) begin
            assert (!m_b_ready && s_b.id == write_of_q.id);
            assert (s_b.resp == (write_place_q.mapped ? RespSlverr : RespDecerr));
          end
        end
        default: ;
      endcase
`ifdef PROVE
      // About its state.
      assert (dut.data_q == data_q);
      if (data_q) assert (dut.drops_q == dropped_q);
      assert (dut.writes_q == w_asked_q + 3'(m_aw_valid));
      assert (dut.writes_q == ended_q + 3'(data_q && !dropped_q));
      assert (writes_q == dut.writes_q + 3'(dut.aw_valid_q) + 3'(data_q && dropped_q) + 3'(dut.refuses_q));
      if (data_q && dropped_q) assert (dut.writes_q == '0 && !dut.refuses_q);
      if (dut.writes_q != '0) assert (dut.m_aw_to_o == (w_asked_q != '0 ? w_asked_to_q : m_aw_to));
      if (mine_q) assert (data_q && (write_q == Refused ? dropped_q : !dropped_q && (write_q == Shown || write_q == Asked)));
      if (write_q == AtGate) assert (dut.aw_valid_q && dut.aw_q == write_of_q && w_before_q == writes_q - 3'd1);
      if (write_q == Shown) assert (m_aw_valid && w_before_q == w_asked_q + 3'(dut.refuses_q));
      if (write_q == Asked) assert (w_before_q < w_asked_q + 3'(dut.refuses_q) && (dut.refuses_q ? w_before_q != '0 : 1'b1));
      if (write_q == Shown || write_q == Asked) begin
        assert (mine_q ? w_before_q == ended_q + 3'(dut.refuses_q) : w_before_q < ended_q + 3'(dut.refuses_q));
      end
      if (write_q == Refused) begin
        assert (mine_q ? data_q && dropped_q : dut.refuses_q);
        assert (dut.refuse_id_q == write_of_q.id);
        assert (dut.refuse_resp_q == (write_place_q.mapped ? RespSlverr : RespDecerr));
      end
      assert (write_q <= Refused);
`endif
    end
  end

  // ---- The ids of what is beyond the gate ----

`ifdef PROVE
  if (Rename) begin : gen_renamed
    logic [2:0] read_place, write_place;
    assign read_place = dut.gen_ids.i_reads.read_q + before_q;
    assign write_place = dut.gen_ids.i_writes.read_q + w_before_q - 3'(dut.refuses_q);
    always_comb begin
      if (past_valid && rst_n) begin
        assert (dut.gen_ids.i_reads.write_q - dut.gen_ids.i_reads.read_q == dut.reads_q);
        assert (dut.gen_ids.i_reads.valid_o == (dut.reads_q != '0) && dut.gen_ids.i_reads.ready_o == (dut.reads_q != 3'd4));
        assert (dut.gen_ids.i_reads.one_q == (dut.reads_q == 3'd1) && dut.gen_ids.i_reads.one_left_q == (dut.reads_q == 3'd3));
        if (read_q == Shown || read_q == Asked) assert (dut.gen_ids.i_reads.memory[read_place[1:0]] == read_of_q.id);
        assert (dut.gen_ids.i_writes.write_q - dut.gen_ids.i_writes.read_q == dut.writes_q);
        assert (dut.gen_ids.i_writes.valid_o == (dut.writes_q != '0) && dut.gen_ids.i_writes.ready_o == (dut.writes_q != 3'd4));
        assert (dut.gen_ids.i_writes.one_q == (dut.writes_q == 3'd1));
        assert (dut.gen_ids.i_writes.one_left_q == (dut.writes_q == 3'd3));
        if (write_q == Shown || write_q == Asked) assert (dut.gen_ids.i_writes.memory[write_place[1:0]] == write_of_q.id);
      end
    end
  end
`endif
endmodule
