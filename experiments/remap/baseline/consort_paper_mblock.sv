// SPDX-License-Identifier: Apache-2.0
// The mBlock in the paper's packetizations: of each link, ingress, and for each port of the cBlock at its other end a mapper; an
// interconnect to the memories; egress. Memories and registers are those of mblock: handles are checked here too.
// Interface: as consort_mblock, but its link's words have no marks and may be refused.
// Parameters: Ports of each cBlock, Links, Memories, Segments; PhyWidth, 64 or 128; axi_req_t, axi_resp_t, lite_req_t, lite_resp_t of the SoC.
// Throughput: a beat a cycle for each link.
// Latency: that of its parts.
// Assumes: its link loses nothing.
// Held by: Table I counted and random traffic, remote-memory/tests/rtl/test_paper_packets.py; the proofs of its parts.
module consort_paper_mblock
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports    = 1,  // of each cBlock
    parameter int unsigned Links    = 1,
    parameter int unsigned Memories = 1,
    parameter int unsigned Segments = 16,
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

    output axi_req_t  m_req_o [Memories],
    input  axi_resp_t m_resp_i[Memories],

    input  lite_req_t  lite_req_i,
    output lite_resp_t lite_resp_o,

    output logic [PhyWidth-1:0] phy_tx_o      [Links],
    output logic                phy_tx_valid_o[Links],
    input  logic                phy_tx_ready_i[Links],
    input  logic [PhyWidth-1:0] phy_rx_i      [Links],
    input  logic                phy_rx_valid_i[Links],
    output logic                phy_rx_ready_o[Links]
);
  localparam int unsigned Masters = Links * Ports;

  if (Ports < 1 || Ports > 4) begin : gen_check_ports
    $error("consort_paper_mblock: Ports must be 1 to 4");
  end
  if (Links < 1 || Links > 4) begin : gen_check_links
    $error("consort_paper_mblock: Links must be 1 to 4");
  end
  if (Memories < 1 || Memories > 4) begin : gen_check_memories
    $error("consort_paper_mblock: Memories must be 1 to 4");
  end
  if (IdWidth < TagWidth + 2) begin : gen_check_ids
    $error("consort_paper_mblock: ids must be of 10 bits at least");
  end

  axi_a_t m_aw[Memories], m_ar[Memories];
  axi_w_t m_w[Memories];
  axi_b_t m_b[Memories];
  axi_r_t m_r[Memories];
  logic m_aw_valid[Memories], m_aw_ready[Memories];
  logic m_w_valid[Memories], m_w_ready[Memories];
  logic m_b_valid[Memories], m_b_ready[Memories];
  logic m_ar_valid[Memories], m_ar_ready[Memories];
  logic m_r_valid[Memories], m_r_ready[Memories];

  for (genvar m = 0; m < Memories; m++) begin : gen_axi
    consort_axi_pack #(
        .req_t(axi_req_t),
        .resp_t(axi_resp_t),
        .Ids(IdWidth)
    ) i_axi (
        .req_o(m_req_o[m]),
        .resp_i(m_resp_i[m]),
        .aw_i(m_aw[m]),
        .aw_valid_i(m_aw_valid[m]),
        .aw_ready_o(m_aw_ready[m]),
        .w_i(m_w[m]),
        .w_valid_i(m_w_valid[m]),
        .w_ready_o(m_w_ready[m]),
        .b_o(m_b[m]),
        .b_valid_o(m_b_valid[m]),
        .b_ready_i(m_b_ready[m]),
        .ar_i(m_ar[m]),
        .ar_valid_i(m_ar_valid[m]),
        .ar_ready_o(m_ar_ready[m]),
        .r_o(m_r[m]),
        .r_valid_o(m_r_valid[m]),
        .r_ready_i(m_r_ready[m])
    );
  end

  segment_t segments[Links][Segments];
  logic [Links-1:0] enable, refused;
  logic [31:0] none[Links];
  logic [Links-1:0] busy;
  logic [23:0] none_after[Links];
  logic [63:0] unused;
  assign none = '{default: '0};
  assign none_after = '{default: '0};
  // Its log of faults stays empty; that a link was switched off shows in irq_status alone.
  fault_t none_faults[3*Links];
  logic unused_irq;
  assign none_faults = '{default: fault_t'('0)};

  axi_a_t l_aw[Masters];
  logic l_aw_valid[Masters], l_aw_ready[Masters];
  axi_w_t l_w[Masters];
  logic l_w_valid[Masters], l_w_ready[Masters];
  axi_b_t l_b[Masters];
  logic l_b_valid[Masters], l_b_ready[Masters];
  axi_a_t l_ar[Masters];
  logic l_ar_valid[Masters], l_ar_ready[Masters];
  axi_r_t l_r[Masters];
  logic l_r_valid[Masters], l_r_ready[Masters];
  logic [1:0] l_aw_memory[Masters], l_ar_memory[Masters];

  consort_mblock_regs #(
      .lite_req_t(lite_req_t),
      .lite_resp_t(lite_resp_t),
      .Links(Links),
      .Memories(Memories),
      .Segments(Segments)
  ) i_regs (
      .clk_i,
      .rst_ni,
      .lite_req_i,
      .lite_resp_o,
      .segments_o(segments),
      .enable_o(enable),
      .up_i(enable),
      .ack_timeout_o(unused[39:24]),
      .down_after_o(unused[23:0]),
      .answer_after_o(unused[63:40]),
      .silent_i('0),
      .busy_i(busy),
      .bad_frames_i(none),
      .replays_i(none),
      .downs_i(none),
      .peer_after_i(none_after),
      .faults_i(none_faults),
      .irq_o(unused_irq),
      .refused_i(refused)
  );

  for (genvar l = 0; l < Links; l++) begin : gen_busy
    logic [Ports-1:0] of;
    for (genvar p = 0; p < Ports; p++) begin : gen_port
      localparam int unsigned M = l * Ports + p;
      logic [8:0] under_way_q;
      assign of[p] = under_way_q != '0;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) under_way_q <= '0;
        else begin
          under_way_q <= under_way_q + 9'(l_ar_valid[M] && l_ar_ready[M]) + 9'(l_aw_valid[M] && l_aw_ready[M]) -
              9'(l_r_valid[M] && l_r_ready[M] && l_r[M].last) - 9'(l_b_valid[M] && l_b_ready[M]);
        end
      end
    end
    assign busy[l] = of != '0;
  end

  // Where a handle leads. A request on a link that is not enabled is refused too: it must be answered.
  function automatic place_t place_of(segment_t of[Segments], logic on, logic [AddrWidth-1:0] look, logic write);
    handle_t handle;
    segment_t segment;
    handle  = handle_t'(look[OffsetWidth+:$bits(handle_t)]);
    segment = of[handle.index];
    return '{
        mapped: 1'b1,
        allowed: on && segment.valid && segment.generation == handle.generation &&
            (write ? segment.writable : segment.readable) && look[OffsetWidth-1:12] <= segment.last,
        to: segment.memory,
        addr: {segment.base, 12'd0} + AddrWidth'(look[OffsetWidth-1:0])
    };
  endfunction

  for (genvar l = 0; l < Links; l++) begin : gen_link
    logic [BeatWidth-1:0] tx_beat, rx_beat;
    logic tx_beat_valid, tx_beat_ready, rx_beat_valid, rx_beat_ready;
    logic [BeatWidth-1:0] out[Ports];
    logic req_valid, req_ready;
    logic [Ports-1:0] out_valid, out_ready, taken;
    logic [2*Ports-1:0] refuses;
    logic [7:0] refusals_q, refusing;
    txn_t req;

    consort_depacketizer #(
        .Mifs(Ports)
    ) i_ingress (
        .clk_i,
        .rst_ni,
        .beat_i(rx_beat),
        .beat_valid_i(rx_beat_valid),
        .beat_ready_o(rx_beat_ready),
        .txn_o(req),
        .txn_valid_o(req_valid),
        .txn_ready_i(req_ready)
    );
    assign req_ready = taken != '0;

    for (genvar p = 0; p < Ports; p++) begin : gen_port
      localparam int unsigned M = l * Ports + p;
      logic mine, req_taken;
      axi_a_t aw, ar, go_aw;
      axi_w_t w, go_w;
      axi_b_t b;
      axi_r_t r;
      logic aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready, ar_valid, ar_ready, r_valid, r_ready;
      logic go_aw_valid, go_aw_ready, go_w_valid, go_w_ready;
      logic [1:0] go_aw_to;
      logic [3:0] link;
      logic [AddrWidth-1:0] aw_look, ar_look;
      logic [3:0] unused_gate;
      place_t aw_place, ar_place;
      txn_t rsp;
      logic rsp_valid, rsp_ready;

      assign mine = req_valid && (Ports == 1 || req.mif == 4'(p));
      assign taken[p] = mine && req_taken;
      assign aw_place = place_of(segments[l], enable[l], aw_look, 1'b1);
      assign ar_place = place_of(segments[l], enable[l], ar_look, 1'b0);

      consort_txn_to_axi #(
          .Mif (p),
          .Link(l)
      ) i_mapper (
          .clk_i,
          .rst_ni,
          .txn_i(req),
          .txn_valid_i(mine),
          .txn_ready_o(req_taken),
          .aw_o(aw),
          .aw_valid_o(aw_valid),
          .aw_ready_i(aw_ready),
          .w_o(w),
          .w_valid_o(w_valid),
          .w_ready_i(w_ready),
          .b_i(b),
          .b_valid_i(b_valid),
          .b_ready_o(b_ready),
          .ar_o(ar),
          .ar_valid_o(ar_valid),
          .ar_ready_i(ar_ready),
          .r_i(r),
          .r_valid_i(r_valid),
          .r_ready_o(r_ready),
          .rsp_o(rsp),
          .rsp_valid_o(rsp_valid),
          .rsp_ready_i(rsp_ready)
      );

      consort_axi_gate #(
          .Rename(1'b1),
          .Id(IdWidth'(M))
      ) i_gate (
          .clk_i,
          .rst_ni,
          .s_aw_i(aw),
          .s_aw_valid_i(aw_valid),
          .s_aw_ready_o(aw_ready),
          .s_w_i(w),
          .s_w_valid_i(w_valid),
          .s_w_ready_o(w_ready),
          .s_b_o(b),
          .s_b_valid_o(b_valid),
          .s_b_ready_i(b_ready),
          .s_ar_i(ar),
          .s_ar_valid_i(ar_valid),
          .s_ar_ready_o(ar_ready),
          .s_r_o(r),
          .s_r_valid_o(r_valid),
          .s_r_ready_i(r_ready),
          .m_aw_o(go_aw),
          .m_aw_to_o(go_aw_to),
          .m_aw_valid_o(go_aw_valid),
          .m_aw_ready_i(go_aw_ready),
          .m_w_o(go_w),
          .m_w_valid_o(go_w_valid),
          .m_w_ready_i(go_w_ready),
          .m_b_i(l_b[M]),
          .m_b_valid_i(l_b_valid[M]),
          .m_b_ready_o(l_b_ready[M]),
          .m_ar_o(l_ar[M]),
          .m_ar_to_o(l_ar_memory[M]),
          .m_ar_valid_o(l_ar_valid[M]),
          .m_ar_ready_i(l_ar_ready[M]),
          .m_r_i(l_r[M]),
          .m_r_valid_i(l_r_valid[M]),
          .m_r_ready_o(l_r_ready[M]),
          .aw_load_o(unused_gate[0]),
          .aw_look_o(aw_look),
          .aw_place_i(aw_place),
          .aw_passed_o(unused_gate[1]),
          .aw_refused_o(refuses[2*p]),
          .ar_load_o(unused_gate[2]),
          .ar_look_o(ar_look),
          .ar_place_i(ar_place),
          .ar_passed_o(unused_gate[3]),
          .ar_refused_o(refuses[2*p+1])
      );

      consort_burst_store i_store (
          .clk_i,
          .rst_ni,
          .aw_i(go_aw),
          .aw_to_i(go_aw_to),
          .aw_valid_i(go_aw_valid),
          .aw_ready_o(go_aw_ready),
          .w_i(go_w),
          .w_valid_i(go_w_valid),
          .w_ready_o(go_w_ready),
          .aw_o(l_aw[M]),
          .aw_to_o(l_aw_memory[M]),
          .aw_valid_o(l_aw_valid[M]),
          .aw_ready_i(l_aw_ready[M]),
          .w_o(l_w[M]),
          .w_valid_o(l_w_valid[M]),
          .w_ready_i(l_w_ready[M])
      );

      consort_packetizer i_egress (
          .clk_i,
          .rst_ni,
          .pipelined_i,
          .fill_beat_i,
          .txn_i(rsp),
          .txn_valid_i(rsp_valid),
          .txn_ready_o(rsp_ready),
          .beat_o(out[p]),
          .link_o(link),  // this one
          .beat_valid_o(out_valid[p]),
          .beat_ready_i(out_ready[p])
      );
      logic unused_link;
      assign unused_link = &{1'b0, link};
    end

    consort_rr_switch #(
        .T(logic [BeatWidth-1:0]),
        .N(Ports)
    ) i_egress_switch (
        .clk_i,
        .rst_ni,
        .data_i(out),
        .valid_i(out_valid),
        .ready_o(out_ready),
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

    // Several ports may be refused at once; they are counted one after the other.
    always_comb begin
      refusing = refusals_q - 8'(refused[l]);
      for (int unsigned i = 0; i < 2 * Ports; i++) refusing = refusing + 8'(refuses[i]);
    end
    assign refused[l] = refusals_q != '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) refusals_q <= '0;
      else refusals_q <= refusing;
    end
  end

  consort_mblock_xbar #(
      .Links(Masters),
      .Memories(Memories),
      .IdLow(0),
      .IdBits(4)
  ) i_xbar (
      .clk_i,
      .rst_ni,
      .l_aw_i(l_aw),
      .l_aw_valid_i(l_aw_valid),
      .l_aw_ready_o(l_aw_ready),
      .m_aw_o(m_aw),
      .m_aw_valid_o(m_aw_valid),
      .m_aw_ready_i(m_aw_ready),
      .l_aw_memory_i(l_aw_memory),
      .l_w_i(l_w),
      .l_w_valid_i(l_w_valid),
      .l_w_ready_o(l_w_ready),
      .m_w_o(m_w),
      .m_w_valid_o(m_w_valid),
      .m_w_ready_i(m_w_ready),
      .l_b_o(l_b),
      .l_b_valid_o(l_b_valid),
      .l_b_ready_i(l_b_ready),
      .m_b_i(m_b),
      .m_b_valid_i(m_b_valid),
      .m_b_ready_o(m_b_ready),
      .l_ar_i(l_ar),
      .l_ar_valid_i(l_ar_valid),
      .l_ar_ready_o(l_ar_ready),
      .m_ar_o(m_ar),
      .m_ar_valid_o(m_ar_valid),
      .m_ar_ready_i(m_ar_ready),
      .l_ar_memory_i(l_ar_memory),
      .l_r_o(l_r),
      .l_r_valid_o(l_r_valid),
      .l_r_ready_i(l_r_ready),
      .m_r_i(m_r),
      .m_r_valid_i(m_r_valid),
      .m_r_ready_o(m_r_ready)
  );
endmodule
