// SPDX-License-Identifier: Apache-2.0
// cBlock and mBlock of one port and one link back to back, in the b2b or the pipelined packetization and
// a count of the beats in each direction. The link is the papers' ideal one: nothing is lost, back-pressure is a wire.
module paper_pair
  import consort_remote_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        pipelined_i,
    input  logic        fill_beat_i,
    input  axi_a_t      s_aw_i[1],
    input  logic        s_aw_valid_i[1],
    output logic        s_aw_ready_o[1],
    input  axi_w_t      s_w_i[1],
    input  logic        s_w_valid_i[1],
    output logic        s_w_ready_o[1],
    output axi_b_t      s_b_o[1],
    output logic        s_b_valid_o[1],
    input  logic        s_b_ready_i[1],
    input  axi_a_t      s_ar_i[1],
    input  logic        s_ar_valid_i[1],
    output logic        s_ar_ready_o[1],
    output axi_r_t      s_r_o[1],
    output logic        s_r_valid_o[1],
    input  logic        s_r_ready_i[1],
    output axi_a_t      m_aw_o[1],
    output logic        m_aw_valid_o[1],
    input  logic        m_aw_ready_i[1],
    output axi_w_t      m_w_o[1],
    output logic        m_w_valid_o[1],
    input  logic        m_w_ready_i[1],
    input  axi_b_t      m_b_i[1],
    input  logic        m_b_valid_i[1],
    output logic        m_b_ready_o[1],
    output axi_a_t      m_ar_o[1],
    output logic        m_ar_valid_o[1],
    input  logic        m_ar_ready_i[1],
    input  axi_r_t      m_r_i[1],
    input  logic        m_r_valid_i[1],
    output logic        m_r_ready_o[1],
    output logic [63:0] request_beats_o,
    output logic [63:0] response_beats_o
);

  txn_t req, req_there, rsp, rsp_there;
  logic req_valid, req_ready, req_there_valid, req_there_ready;
  logic rsp_valid, rsp_ready, rsp_there_valid, rsp_there_ready;
  logic [BeatWidth-1:0] out_beat, back_beat;
  logic out_valid, out_ready, back_valid, back_ready;

  axi_to_txn i_cblock (
      .clk_i,
      .rst_ni,
      .aw_i(s_aw_i[0]),
      .aw_valid_i(s_aw_valid_i[0]),
      .aw_ready_o(s_aw_ready_o[0]),
      .w_i(s_w_i[0]),
      .w_valid_i(s_w_valid_i[0]),
      .w_ready_o(s_w_ready_o[0]),
      .b_o(s_b_o[0]),
      .b_valid_o(s_b_valid_o[0]),
      .b_ready_i(s_b_ready_i[0]),
      .ar_i(s_ar_i[0]),
      .ar_valid_i(s_ar_valid_i[0]),
      .ar_ready_o(s_ar_ready_o[0]),
      .r_o(s_r_o[0]),
      .r_valid_o(s_r_valid_o[0]),
      .r_ready_i(s_r_ready_i[0]),
      .txn_o(req),
      .txn_valid_o(req_valid),
      .txn_ready_i(req_ready),
      .rsp_i(rsp_there),
      .rsp_valid_i(rsp_there_valid),
      .rsp_ready_o(rsp_there_ready)
  );

  packetizer i_out (
      .clk_i,
      .rst_ni,
      .pipelined_i,
      .fill_beat_i,
      .txn_i(req),
      .txn_valid_i(req_valid),
      .txn_ready_o(req_ready),
      .beat_o(out_beat),
      .beat_valid_o(out_valid),
      .beat_ready_i(out_ready)
  );

  depacketizer i_out_there (
      .clk_i,
      .beat_i(out_beat),
      .beat_valid_i(out_valid),
      .beat_ready_o(out_ready),
      .txn_o(req_there),
      .txn_valid_o(req_there_valid),
      .txn_ready_i(req_there_ready)
  );

  txn_to_axi i_mblock (
      .clk_i,
      .rst_ni,
      .txn_i(req_there),
      .txn_valid_i(req_there_valid),
      .txn_ready_o(req_there_ready),
      .aw_o(m_aw_o[0]),
      .aw_valid_o(m_aw_valid_o[0]),
      .aw_ready_i(m_aw_ready_i[0]),
      .w_o(m_w_o[0]),
      .w_valid_o(m_w_valid_o[0]),
      .w_ready_i(m_w_ready_i[0]),
      .b_i(m_b_i[0]),
      .b_valid_i(m_b_valid_i[0]),
      .b_ready_o(m_b_ready_o[0]),
      .ar_o(m_ar_o[0]),
      .ar_valid_o(m_ar_valid_o[0]),
      .ar_ready_i(m_ar_ready_i[0]),
      .r_i(m_r_i[0]),
      .r_valid_i(m_r_valid_i[0]),
      .r_ready_o(m_r_ready_o[0]),
      .rsp_o(rsp),
      .rsp_valid_o(rsp_valid),
      .rsp_ready_i(rsp_ready)
  );

  packetizer i_back (
      .clk_i,
      .rst_ni,
      .pipelined_i,
      .fill_beat_i,
      .txn_i(rsp),
      .txn_valid_i(rsp_valid),
      .txn_ready_o(rsp_ready),
      .beat_o(back_beat),
      .beat_valid_o(back_valid),
      .beat_ready_i(back_ready)
  );

  depacketizer i_back_there (
      .clk_i,
      .beat_i(back_beat),
      .beat_valid_i(back_valid),
      .beat_ready_o(back_ready),
      .txn_o(rsp_there),
      .txn_valid_o(rsp_there_valid),
      .txn_ready_i(rsp_there_ready)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      request_beats_o  <= '0;
      response_beats_o <= '0;
    end else begin
      request_beats_o  <= request_beats_o + 64'(out_valid && out_ready);
      response_beats_o <= response_beats_o + 64'(back_valid && back_ready);
    end
  end

endmodule
