// SPDX-License-Identifier: Apache-2.0
// The cBlock in the paper's packetizations, b2b or pipelined, on the paper's link: nothing is lost there, and back-pressure is a
// wire. AXI4 slaves, windows and registers are those of cblock. A link is up when it is enabled; registers of repetition and of
// what was lost do nothing. On the link an address is a handle and an offset, as in compact: the base is the mBlock's to add.
// Interface: as consort_cblock, but its link's words have no marks and may be refused.
// Parameters: Ports, Links, Windows; PhyWidth, 64 or 128; axi_req_t, axi_resp_t, lite_req_t, lite_resp_t of the SoC.
// Throughput: a beat a cycle for each link.
// Latency: that of its parts.
// Assumes: its link loses nothing.
// Held by: Table I counted and random traffic, remote-memory/tests/rtl/test_paper_packets.py; the proofs of its parts.
module consort_paper_cblock
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports   = 1,
    parameter int unsigned Links   = 1,
    parameter int unsigned Windows = 8,
    parameter int unsigned PhyWidth = 128,  // 64 or 128
    parameter type axi_req_t = consort_remote_pkg::axi_req_t,
    parameter type axi_resp_t = consort_remote_pkg::axi_resp_t,
    parameter type lite_req_t = consort_remote_pkg::lite_req_t,
    parameter type lite_resp_t = consort_remote_pkg::lite_resp_t
) (
    input logic clk_i,
    input logic rst_ni,
    // Constant while anything is under way.
    input logic pipelined_i,
    input logic fill_beat_i,

    input  axi_req_t  s_req_i [Ports],
    output axi_resp_t s_resp_o[Ports],

    input  lite_req_t  lite_req_i,
    output lite_resp_t lite_resp_o,

    output logic [PhyWidth-1:0] phy_tx_o      [Links],
    output logic                phy_tx_valid_o[Links],
    input  logic                phy_tx_ready_i[Links],
    input  logic [PhyWidth-1:0] phy_rx_i      [Links],
    input  logic                phy_rx_valid_i[Links],
    output logic                phy_rx_ready_o[Links]
);
  if (Ports < 1 || Ports > 4) begin : gen_check_ports
    $error("consort_paper_cblock: Ports must be 1 to 4");
  end
  if (Links < 1 || Links > 4) begin : gen_check_links
    $error("consort_paper_cblock: Links must be 1 to 4");
  end
  if (AddrWidth < OffsetWidth + $bits(handle_t) || AddrWidth > 44) begin : gen_check_addresses
    $error("consort_paper_cblock: addresses must be of 36 to 44 bits");
  end
  if ($bits(axi_a_t) > 2 * PartPayload || $bits(axi_r_t) > 3 * PartPayload || $bits(axi_w_t) > 3 * PartPayload)
  begin : gen_check_parts
    $error("consort_paper_cblock: ids must be of 16 bits at most, for the parts of a transaction");
  end

  axi_a_t s_aw[Ports], s_ar[Ports];
  axi_w_t s_w[Ports];
  axi_b_t s_b[Ports];
  axi_r_t s_r[Ports];
  logic s_aw_valid[Ports], s_aw_ready[Ports];
  logic s_w_valid[Ports], s_w_ready[Ports];
  logic s_b_valid[Ports], s_b_ready[Ports];
  logic s_ar_valid[Ports], s_ar_ready[Ports];
  logic s_r_valid[Ports], s_r_ready[Ports];

  for (genvar p = 0; p < Ports; p++) begin : gen_axi
    consort_axi_unpack #(
        .req_t(axi_req_t),
        .resp_t(axi_resp_t)
    ) i_axi (
        .req_i(s_req_i[p]),
        .resp_o(s_resp_o[p]),
        .aw_o(s_aw[p]),
        .aw_valid_o(s_aw_valid[p]),
        .aw_ready_i(s_aw_ready[p]),
        .w_o(s_w[p]),
        .w_valid_o(s_w_valid[p]),
        .w_ready_i(s_w_ready[p]),
        .b_i(s_b[p]),
        .b_valid_i(s_b_valid[p]),
        .b_ready_o(s_b_ready[p]),
        .ar_o(s_ar[p]),
        .ar_valid_o(s_ar_valid[p]),
        .ar_ready_i(s_ar_ready[p]),
        .r_i(s_r[p]),
        .r_valid_i(s_r_valid[p]),
        .r_ready_o(s_r_ready[p])
    );
  end

  window_t windows[Ports][Windows];
  logic [Windows-1:0] count_reads[Ports], count_writes[Ports];
  logic [Links-1:0] enable;
  logic [31:0] none[Links];
  logic [Ports-1:0] fence, fenced_q;
  logic [23:0] none_after[Links];
  logic [63:0] unused;
  assign none = '{default: '0};
  assign none_after = '{default: '0};
  // Its log of faults stays empty; that a link was switched off shows in irq_status alone.
  fault_t none_faults[2*Ports];
  logic unused_irq;
  qos_t unused_qos;
  assign none_faults = '{default: fault_t'('0)};

  consort_cblock_regs #(
      .lite_req_t(lite_req_t),
      .lite_resp_t(lite_resp_t),
      .Ports(Ports),
      .Links(Links),
      .Windows(Windows)
  ) i_regs (
      .clk_i,
      .rst_ni,
      .lite_req_i,
      .lite_resp_o,
      .windows_o(windows),
      .count_reads_i(count_reads),
      .count_writes_i(count_writes),
      .enable_o(enable),
      .up_i(enable),
      .ack_timeout_o(unused[39:24]),
      .down_after_o(unused[23:0]),
      .answer_after_o(unused[63:40]),
      .qos_o(unused_qos),
      .fence_o(fence),
      .fenced_i(fenced_q | fence),
      .bad_frames_i(none),
      .replays_i(none),
      .downs_i(none),
      .peer_after_i(none_after),
      .faults_i(none_faults),
      .irq_o(unused_irq)
  );

  logic [BeatWidth-1:0] beat[Ports];
  logic [Ports-1:0] beat_for[Links], beat_taken[Links];
  txn_t rsp[Links];
  logic [Links-1:0] rsp_for[Ports], rsp_taken[Ports];

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    place_t aw_place, ar_place;
    logic aw_load, ar_load, aw_passed, ar_passed;
    logic [Windows-1:0] aw_window, ar_window;
    handle_t aw_handle, ar_handle;
    logic [OffsetWidth-1:0] aw_offset, ar_offset;
    logic [2*AddrWidth+1:0] unused_gate;
    logic [1:0] unused_rights;
    axi_a_t aw, ar;
    axi_w_t w;
    axi_b_t b;
    axi_r_t r;
    logic aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready, ar_valid, ar_ready, r_valid, r_ready;
    logic [1:0] aw_to, ar_to;
    logic [3:0] link;
    txn_t req, answer;
    logic req_valid, req_ready, answer_valid, answer_ready, beat_valid, beat_ready;

    consort_window_table #(
        .Windows(Windows),
        .Links(Links),
        .Write(1'b1)
    ) i_write_table (
        .clk_i,
        .windows_i(windows[p]),
        .up_i(4'(enable)),
        .addr_i(s_aw[p].addr),
        .load_i(aw_load),
        .mapped_o(aw_place.mapped),
        .allowed_o(aw_place.allowed),
        .rights_o(unused_rights[0]),
        .window_o(aw_window),
        .link_o(aw_place.to),
        .handle_o(aw_handle),
        .offset_o(aw_offset)
    );
    consort_window_table #(
        .Windows(Windows),
        .Links(Links),
        .Write(1'b0)
    ) i_read_table (
        .clk_i,
        .windows_i(windows[p]),
        .up_i(4'(enable)),
        .addr_i(s_ar[p].addr),
        .load_i(ar_load),
        .mapped_o(ar_place.mapped),
        .allowed_o(ar_place.allowed),
        .rights_o(unused_rights[1]),
        .window_o(ar_window),
        .link_o(ar_place.to),
        .handle_o(ar_handle),
        .offset_o(ar_offset)
    );
    assign aw_place.addr = AddrWidth'({aw_handle, aw_offset});
    assign ar_place.addr = AddrWidth'({ar_handle, ar_offset});
    // Until nothing at all is under way at the port.
    logic [8:0] under_way_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        under_way_q <= '0;
        fenced_q[p] <= 1'b0;
      end else begin
        under_way_q <= under_way_q + 9'(s_ar_valid[p] && s_ar_ready[p]) + 9'(s_aw_valid[p] && s_aw_ready[p]) -
            9'(s_r_valid[p] && s_r_ready[p] && s_r[p].last) - 9'(s_b_valid[p] && s_b_ready[p]);
        if (fence[p]) fenced_q[p] <= 1'b1;
        else if (under_way_q == '0) fenced_q[p] <= 1'b0;
      end
    end

    assign count_writes[p] = aw_passed ? aw_window : '0;
    assign count_reads[p] = ar_passed ? ar_window : '0;

    consort_axi_gate i_gate (
        .clk_i,
        .rst_ni,
        .s_aw_i(s_aw[p]),
        .s_aw_valid_i(s_aw_valid[p]),
        .s_aw_ready_o(s_aw_ready[p]),
        .s_w_i(s_w[p]),
        .s_w_valid_i(s_w_valid[p]),
        .s_w_ready_o(s_w_ready[p]),
        .s_b_o(s_b[p]),
        .s_b_valid_o(s_b_valid[p]),
        .s_b_ready_i(s_b_ready[p]),
        .s_ar_i(s_ar[p]),
        .s_ar_valid_i(s_ar_valid[p]),
        .s_ar_ready_o(s_ar_ready[p]),
        .s_r_o(s_r[p]),
        .s_r_valid_o(s_r_valid[p]),
        .s_r_ready_i(s_r_ready[p]),
        .m_aw_o(aw),
        .m_aw_to_o(aw_to),
        .m_aw_valid_o(aw_valid),
        .m_aw_ready_i(aw_ready),
        .m_w_o(w),
        .m_w_valid_o(w_valid),
        .m_w_ready_i(w_ready),
        .m_b_i(b),
        .m_b_valid_i(b_valid),
        .m_b_ready_o(b_ready),
        .m_ar_o(ar),
        .m_ar_to_o(ar_to),
        .m_ar_valid_o(ar_valid),
        .m_ar_ready_i(ar_ready),
        .m_r_i(r),
        .m_r_valid_i(r_valid),
        .m_r_ready_o(r_ready),
        .aw_load_o(aw_load),
        .aw_look_o(unused_gate[AddrWidth-1:0]),
        .aw_place_i(aw_place),
        .aw_passed_o(aw_passed),
        .aw_refused_o(unused_gate[2*AddrWidth]),
        .ar_load_o(ar_load),
        .ar_look_o(unused_gate[2*AddrWidth-1:AddrWidth]),
        .ar_place_i(ar_place),
        .ar_passed_o(ar_passed),
        .ar_refused_o(unused_gate[2*AddrWidth+1])
    );

    consort_axi_to_txn #(
        .Mif(p)
    ) i_streamer (
        .clk_i,
        .rst_ni,
        .aw_i(aw),
        .aw_link_i(aw_to),
        .aw_valid_i(aw_valid),
        .aw_ready_o(aw_ready),
        .w_i(w),
        .w_valid_i(w_valid),
        .w_ready_o(w_ready),
        .b_o(b),
        .b_valid_o(b_valid),
        .b_ready_i(b_ready),
        .ar_i(ar),
        .ar_link_i(ar_to),
        .ar_valid_i(ar_valid),
        .ar_ready_o(ar_ready),
        .r_o(r),
        .r_valid_o(r_valid),
        .r_ready_i(r_ready),
        .txn_o(req),
        .txn_valid_o(req_valid),
        .txn_ready_i(req_ready),
        .rsp_i(answer),
        .rsp_valid_i(answer_valid),
        .rsp_ready_o(answer_ready)
    );

    consort_packetizer i_egress (
        .clk_i,
        .rst_ni,
        .pipelined_i,
        .fill_beat_i,
        .txn_i(req),
        .txn_valid_i(req_valid),
        .txn_ready_o(req_ready),
        .beat_o(beat[p]),
        .link_o(link),
        .beat_valid_o(beat_valid),
        .beat_ready_i(beat_ready)
    );

    always_comb begin
      beat_ready = 1'b0;
      for (int unsigned l = 0; l < Links; l++) beat_ready = beat_ready || beat_taken[l][p];
    end
    for (genvar l = 0; l < Links; l++) begin : gen_for
      assign beat_for[l][p] = beat_valid && (Links == 1 || link == 4'(l));
    end

    consort_rr_switch #(
        .T(txn_t),
        .N(Links)
    ) i_ingress_switch (
        .clk_i,
        .rst_ni,
        .data_i(rsp),
        .valid_i(rsp_for[p]),
        .ready_o(rsp_taken[p]),
        .data_o(answer),
        .valid_o(answer_valid),
        .ready_i(answer_ready)
    );
  end

  for (genvar l = 0; l < Links; l++) begin : gen_link
    logic rsp_valid, rsp_ready;
    logic [BeatWidth-1:0] tx_beat, rx_beat;
    logic tx_beat_valid, tx_beat_ready, rx_beat_valid, rx_beat_ready;

    consort_rr_switch #(
        .T(logic [BeatWidth-1:0]),
        .N(Ports)
    ) i_egress_switch (
        .clk_i,
        .rst_ni,
        .data_i(beat),
        .valid_i(beat_for[l]),
        .ready_o(beat_taken[l]),
        .data_o(tx_beat),
        .valid_o(tx_beat_valid),
        .ready_i(tx_beat_ready)
    );

    consort_paper_words #(
        .PhyWidth(PhyWidth)
    ) i_words (
        .clk_i,
        .rst_ni,
        .tx_beat_i(tx_beat),
        .tx_valid_i(tx_beat_valid),
        .tx_ready_o(tx_beat_ready),
        .rx_beat_o(rx_beat),
        .rx_valid_o(rx_beat_valid),
        .rx_ready_i(rx_beat_ready),
        .phy_tx_o(phy_tx_o[l]),
        .phy_tx_valid_o(phy_tx_valid_o[l]),
        .phy_tx_ready_i(phy_tx_ready_i[l]),
        .phy_rx_i(phy_rx_i[l]),
        .phy_rx_valid_i(phy_rx_valid_i[l]),
        .phy_rx_ready_o(phy_rx_ready_o[l])
    );

    consort_depacketizer #(
        .Mifs(Ports)
    ) i_ingress (
        .clk_i,
        .rst_ni,
        .beat_i(rx_beat),
        .beat_valid_i(rx_beat_valid),
        .beat_ready_o(rx_beat_ready),
        .txn_o(rsp[l]),
        .txn_valid_o(rsp_valid),
        .txn_ready_i(rsp_ready)
    );

    always_comb begin
      rsp_ready = 1'b0;
      for (int unsigned p = 0; p < Ports; p++) rsp_ready = rsp_ready || rsp_taken[p][l];
    end
    for (genvar p = 0; p < Ports; p++) begin : gen_to
      assign rsp_for[p][l] = rsp_valid && (Ports == 1 || rsp[l].mif == 4'(p));
    end
  end
endmodule
