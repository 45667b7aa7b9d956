// SPDX-License-Identifier: Apache-2.0
// Lets through what has a place and answers the rest itself: DECERR where there is none, SLVERR where it is not allowed. One
// destination at a time for reads and one for writes: an access to another waits until all before it are answered, as does
// an error. So answers keep the order of the requests, whatever their ids, and a single id is enough behind it (Rename).
// Interface: s_* and m_* are AXI4; the place of each address comes from a table.
// Parameters: Most outstanding, a power of two; Rename and Id, whether one id is used behind it.
// Throughput: an address and a beat of each channel a cycle.
// Latency: one cycle for an address.
// Assumes: answers come in the order of the requests of one destination.
// Held by: proof remote-memory/tests/rtl/formal/axi_gate_check.sv, with ids kept and renamed, remote-memory/tests/rtl/test_proofs.py.
module consort_axi_gate
  import consort_remote_pkg::*;
#(
    parameter int unsigned        Most   = 64,  // outstanding reads, and writes, a power of two
    parameter bit                 Rename = 1'b0,
    parameter logic [IdWidth-1:0] Id     = '0
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t s_aw_i,
    input  logic   s_aw_valid_i,
    output logic   s_aw_ready_o,
    input  axi_w_t s_w_i,
    input  logic   s_w_valid_i,
    output logic   s_w_ready_o,
    output axi_b_t s_b_o,
    output logic   s_b_valid_o,
    input  logic   s_b_ready_i,
    input  axi_a_t s_ar_i,
    input  logic   s_ar_valid_i,
    output logic   s_ar_ready_o,
    output axi_r_t s_r_o,
    output logic   s_r_valid_o,
    input  logic   s_r_ready_i,

    output axi_a_t     m_aw_o,
    output logic [1:0] m_aw_to_o,
    output logic       m_aw_valid_o,
    input  logic       m_aw_ready_i,
    output axi_w_t     m_w_o,
    output logic       m_w_valid_o,
    input  logic       m_w_ready_i,
    input  axi_b_t     m_b_i,
    input  logic       m_b_valid_i,
    output logic       m_b_ready_o,
    output axi_a_t     m_ar_o,
    output logic [1:0] m_ar_to_o,
    output logic       m_ar_valid_o,
    input  logic       m_ar_ready_i,
    input  axi_r_t     m_r_i,
    input  logic       m_r_valid_i,
    output logic       m_r_ready_o,

    // The place of the address that was there with load, from the cycle after it on; the address then is in look.
    output logic                 aw_load_o,
    output logic [AddrWidth-1:0] aw_look_o,
    input  place_t               aw_place_i,
    output logic                 aw_passed_o,
    output logic                 aw_refused_o,
    output logic                 ar_load_o,
    output logic [AddrWidth-1:0] ar_look_o,
    input  place_t               ar_place_i,
    output logic                 ar_passed_o,
    output logic                 ar_refused_o
);
  localparam int unsigned CountWidth = $clog2(Most) + 1;

  // ---- Reads ----

  axi_a_t ar_q;
  logic ar_valid_q, ar_good, ar_moves, r_ends, fails_q;
  logic [CountWidth-1:0] reads_q;
  logic [1:0] fail_resp_q;
  logic [7:0] fail_left_q;
  logic [IdWidth-1:0] fail_id_q, r_id;

  assign s_ar_ready_o = !ar_valid_q || ar_moves;
  assign ar_load_o = s_ar_ready_o;
  assign ar_look_o = ar_q.addr;
  assign ar_good = ar_place_i.mapped && ar_place_i.allowed;
  assign ar_passed_o = ar_valid_q && ar_good && !fails_q && !reads_q[CountWidth-1] &&
      (reads_q == '0 || ar_place_i.to == m_ar_to_o) && (!m_ar_valid_o || m_ar_ready_i);
  assign ar_refused_o = ar_valid_q && !ar_good && !fails_q && reads_q == '0;
  assign ar_moves = ar_passed_o || ar_refused_o;
  assign r_ends = m_r_valid_i && m_r_ready_o && m_r_i.last;

  assign m_r_ready_o = s_r_ready_i && !fails_q;
  assign s_r_valid_o = fails_q || m_r_valid_i;
  assign s_r_o = fails_q
      ? '{data: '0, id: fail_id_q, resp: fail_resp_q, last: fail_left_q == '0}
      : '{data: m_r_i.data, id: r_id, resp: m_r_i.resp, last: m_r_i.last};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_valid_q <= 1'b0;
      m_ar_valid_o <= 1'b0;
      reads_q <= '0;
      fails_q <= 1'b0;
    end else begin
      if (s_ar_ready_o) ar_valid_q <= s_ar_valid_i;
      if (ar_passed_o) m_ar_valid_o <= 1'b1;
      else if (m_ar_ready_i) m_ar_valid_o <= 1'b0;
      reads_q <= reads_q + CountWidth'(ar_passed_o) - CountWidth'(r_ends);
      if (ar_refused_o) fails_q <= 1'b1;
      else if (s_r_ready_i && fail_left_q == '0) fails_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_ar_ready_o) ar_q <= s_ar_i;
    if (ar_passed_o) begin
      m_ar_o <= ar_q;
      m_ar_o.addr <= ar_place_i.addr;
      if (Rename) m_ar_o.id <= Id;
      m_ar_to_o <= ar_place_i.to;
    end
    if (ar_refused_o) begin
      fail_id_q   <= ar_q.id;
      fail_resp_q <= ar_place_i.mapped ? RespSlverr : RespDecerr;
      fail_left_q <= ar_q.len;
    end else if (s_r_ready_i) begin
      fail_left_q <= fail_left_q - 1'b1;
    end
  end

  // ---- Writes ----

  axi_a_t aw_q;
  logic aw_valid_q, aw_good, aw_moves, b_ends;
  logic data_q, drops_q, w_ends, refuses_q;  // data to come; of one that is refused; its answer is due
  logic [CountWidth-1:0] writes_q;
  logic [1:0] refuse_resp_q;
  logic [IdWidth-1:0] refuse_id_q, b_id;

  assign s_aw_ready_o = !aw_valid_q || aw_moves;
  assign aw_load_o = s_aw_ready_o;
  assign aw_look_o = aw_q.addr;
  assign aw_good = aw_place_i.mapped && aw_place_i.allowed;
  assign aw_passed_o = aw_valid_q && aw_good && !data_q && !writes_q[CountWidth-1] &&
      (writes_q == '0 || aw_place_i.to == m_aw_to_o) && (!m_aw_valid_o || m_aw_ready_i);
  assign aw_refused_o = aw_valid_q && !aw_good && !data_q && !refuses_q && writes_q == '0;
  assign aw_moves = aw_passed_o || aw_refused_o;
  assign b_ends = m_b_valid_i && m_b_ready_o;

  assign m_w_o = s_w_i;
  assign m_w_valid_o = s_w_valid_i && data_q && !drops_q;
  assign s_w_ready_o = data_q && (drops_q || m_w_ready_i);
  assign w_ends = s_w_valid_i && s_w_ready_o && s_w_i.last;

  assign m_b_ready_o = s_b_ready_i && !refuses_q;
  assign s_b_valid_o = refuses_q || m_b_valid_i;
  assign s_b_o = refuses_q ? '{id: refuse_id_q, resp: refuse_resp_q} : '{id: b_id, resp: m_b_i.resp};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      m_aw_valid_o <= 1'b0;
      writes_q <= '0;
      data_q <= 1'b0;
      drops_q <= 1'b0;
      refuses_q <= 1'b0;
    end else begin
      if (s_aw_ready_o) aw_valid_q <= s_aw_valid_i;
      if (aw_passed_o) m_aw_valid_o <= 1'b1;
      else if (m_aw_ready_i) m_aw_valid_o <= 1'b0;
      writes_q <= writes_q + CountWidth'(aw_passed_o) - CountWidth'(b_ends);
      if (aw_moves) data_q <= 1'b1;
      else if (w_ends) data_q <= 1'b0;
      if (aw_moves) drops_q <= aw_refused_o;
      if (w_ends && drops_q) refuses_q <= 1'b1;
      else if (s_b_ready_i) refuses_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_aw_ready_o) aw_q <= s_aw_i;
    if (aw_passed_o) begin
      m_aw_o <= aw_q;
      m_aw_o.addr <= aw_place_i.addr;
      if (Rename) m_aw_o.id <= Id;
      m_aw_to_o <= aw_place_i.to;
    end
    if (aw_refused_o) begin
      refuse_id_q   <= aw_q.id;
      refuse_resp_q <= aw_place_i.mapped ? RespSlverr : RespDecerr;
    end
  end

  // ---- Ids, in the order of the requests ----

  if (Rename) begin : gen_ids
    logic [3:0] unused;  // there are as many as may be outstanding
    consort_fifo #(
        .T(logic [IdWidth-1:0]),
        .Depth(Most)
    ) i_reads (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .data_i(ar_q.id),
        .valid_i(ar_passed_o),
        .ready_o(unused[0]),
        .data_o(r_id),
        .valid_o(unused[1]),
        .ready_i(r_ends)
    );
    consort_fifo #(
        .T(logic [IdWidth-1:0]),
        .Depth(Most)
    ) i_writes (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .data_i(aw_q.id),
        .valid_i(aw_passed_o),
        .ready_o(unused[2]),
        .data_o(b_id),
        .valid_o(unused[3]),
        .ready_i(b_ends)
    );
  end else begin : gen_same
    assign r_id = m_r_i.id;
    assign b_id = m_b_i.id;
  end
endmodule
