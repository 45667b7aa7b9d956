// SPDX-License-Identifier: Apache-2.0
// The mBlock: links on the one side, AXI4 masters towards the memories on the other. Each link has its own segments, which
// its cBlock names by handle; what a handle does not reach, or no longer, is refused here.
// Interface: AXI4 masters m_*, each with isolate_i and isolated_o; AXI-Lite lite_*; irq_o; of each link the words of its PHY and what the PHY says of its channel.
// Parameters: Links, Memories, Segments of each link, Ports of each cBlock and their Credits, PhyWidth; axi_req_t, axi_resp_t, lite_req_t,
// lite_resp_t of the SoC, with data of 64, 128, 256 or 512 bits.
// Throughput: of each link and each memory a beat each way a cycle.
// Latency: that of its parts; consort bench remap counts it.
// Assumes: a memory marks the last beat of a read and answers only what it was asked.
// Held by: simulation against AXI4 checkers (tests/rtl/test_remote.py, tests/rtl/test_cocotb.py); hostile ends, tests/rtl/test_trust.py; unknown
// values, tests/rtl/test_four_state.py.
module consort_mblock
  import consort_remote_pkg::*;
#(
    parameter int unsigned Links    = 1,
    parameter int unsigned Memories = 1,
    parameter int unsigned Segments = 16,
    parameter int unsigned Ports    = 1,    // of the cBlock at each link, at most
    parameter int unsigned Credits  = 320,  // of each of these ports
    parameter int unsigned PhyWidth = 128,  // 64, 128 or 256
    parameter type axi_req_t = consort_remote_pkg::axi_req_t,
    parameter type axi_resp_t = consort_remote_pkg::axi_resp_t,
    parameter type lite_req_t = consort_remote_pkg::lite_req_t,
    parameter type lite_resp_t = consort_remote_pkg::lite_resp_t,
    localparam int unsigned WordWidth = word_width(PhyWidth)
) (
    input logic clk_i,
    input logic rst_ni,
    // Of the memories: low only together with rst_ni, or while all are isolated. Where rst_ni falls alone, in step with clk_i, accesses that a
    // memory has end there.
    input logic m_rst_ni,

    // To take a memory away: while the first is high it is shown nothing new, and the second says that it owes nothing; what comes then ends
    // with SLVERR.
    input  logic isolate_i [Memories],
    output logic isolated_o[Memories],

    output axi_req_t  m_req_o [Memories],
    input  axi_resp_t m_resp_i[Memories],

    input  lite_req_t  lite_req_i,
    output lite_resp_t lite_resp_o,
    output logic       irq_o,        // level; see irq_status

    // Words of the PHY, with the marks of their 64-bit parts above them: set for control.
    output logic [WordWidth-1:0] phy_tx_o      [Links],
    output logic                 phy_tx_valid_o[Links],
    input  logic                 phy_tx_ready_i[Links],
    input  logic [WordWidth-1:0] phy_rx_i      [Links],
    input  logic                 phy_rx_valid_i[Links],
    // Of the PHY: low, or high, the link is down at once, not after the time in which nothing came.
    input  logic                 phy_channel_up_i[Links],
    input  logic                 phy_hard_err_i  [Links]
);
  if (Links < 1 || Links > 4) begin : gen_check_links
    $error("mblock: Links must be 1 to 4");
  end
  if (Memories < 1 || Memories > 4) begin : gen_check_memories
    $error("mblock: Memories must be 1 to 4");
  end
  if (IdWidth < TagWidth + 2) begin : gen_check_ids
    $error("mblock: ids must be of 10 bits at least");
  end
  if (Ports < 1 || Ports > 2 ** PortWidth) begin : gen_check_ports
    $error("mblock: Ports must be 1 to 4");
  end
  if (Credits < 288 || Credits > MaxCredits) begin : gen_check_credits
    $error("mblock: Credits must be 288 to 400");
  end
  if (OffsetWidth > AddrWidth || OffsetWidth > 38) begin : gen_check_offsets
    $error("mblock: offsets must be of 38 bits at most, and no wider than addresses");
  end
  if (Segments < 1 || Segments > 16) begin : gen_check_segments
    $error("mblock: Segments must be 1 to 16");
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
    consort_axi_master_port #(
        .req_t(axi_req_t),
        .resp_t(axi_resp_t),
        .Ids(4)
    ) i_axi (
        .clk_i,
        .rst_ni(m_rst_ni),
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
  logic [Links-1:0] enable, up, refused;
  logic [15:0] ack_timeout;
  logic [23:0] down_after;
  logic [23:0] answer_after;
  logic [Memories-1:0] silent;
  logic [Links-1:0] busy;
  logic [31:0] bad_frames[Links], replays[Links], downs[Links];
  logic [23:0] peer_after[Links];
  fault_t faults[3*Links];

  axi_a_t l_aw[Links];
  logic l_aw_valid[Links], l_aw_ready[Links];
  axi_w_t l_w[Links];
  logic l_w_valid[Links], l_w_ready[Links];
  axi_b_t l_b[Links];
  logic l_b_valid[Links], l_b_ready[Links];
  axi_a_t l_ar[Links];
  logic l_ar_valid[Links], l_ar_ready[Links];
  axi_r_t l_r[Links];
  logic l_r_valid[Links], l_r_ready[Links];
  logic [1:0] l_aw_memory[Links], l_ar_memory[Links];

  // Between the interconnect and the memories' guards.
  axi_a_t g_aw[Memories];
  logic g_aw_valid[Memories], g_aw_ready[Memories];
  axi_w_t g_w[Memories];
  logic g_w_valid[Memories], g_w_ready[Memories];
  axi_b_t g_b[Memories];
  logic g_b_valid[Memories], g_b_ready[Memories];
  axi_a_t g_ar[Memories];
  logic g_ar_valid[Memories], g_ar_ready[Memories];
  axi_r_t g_r[Memories];
  logic g_r_valid[Memories], g_r_ready[Memories];

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
      .up_i(up),
      .ack_timeout_o(ack_timeout),
      .down_after_o(down_after),
      .answer_after_o(answer_after),
      .silent_i(silent),
      .busy_i(busy),
      .bad_frames_i(bad_frames),
      .replays_i(replays),
      .downs_i(downs),
      .peer_after_i(peer_after),
      .faults_i(faults),
      .irq_o,
      .refused_i(refused)
  );

  for (genvar l = 0; l < Links; l++) begin : gen_link
    logic [MetaWidth-1:0] tx_meta, rx_meta, rx_arriving_meta;
    logic rx_waited;
    logic [4:0] tx_units, rx_units;
    logic tx_valid, tx_ready, tx_unit_valid, tx_unit_ready;
    logic rx_valid, rx_ready, rx_unit_valid, rx_unit_ready;
    logic [BeatWidth-1:0] tx_unit, rx_unit;
    wire_t tx_beat, rx_beat;
    logic tx_beat_valid, tx_beat_ready, rx_beat_valid, rx_gap, rx_hunting;
    logic drain, drained;

    consort_link #(
        .Initiator(1'b0),
        .RxDepth(2 ** $clog2(request_units(Ports, Credits))),
        .HeadDepth(request_frames(Ports, Credits))
    ) i_link (
        .clk_i,
        .rst_ni,
        .enable_i(enable[l] && phy_channel_up_i[l] && !phy_hard_err_i[l]),
        .ack_timeout_i(ack_timeout),
        .down_after_i(down_after),
        .peer_after_o(peer_after[l]),
        .up_o(up[l]),
        .drain_o(drain),
        .drained_i(drained),
        .tx_meta_i(tx_meta),
        .tx_units_i(tx_units),
        .tx_valid_i(tx_valid),
        .tx_ready_o(tx_ready),
        .tx_unit_i(tx_unit),
        .tx_unit_valid_i(tx_unit_valid),
        .tx_unit_ready_o(tx_unit_ready),
        .rx_waited_o(rx_waited),
        .rx_arriving_meta_o(rx_arriving_meta),
        .rx_meta_o(rx_meta),
        .rx_units_o(rx_units),
        .rx_valid_o(rx_valid),
        .rx_ready_i(rx_ready),
        .rx_unit_o(rx_unit),
        .rx_unit_valid_o(rx_unit_valid),
        .rx_unit_ready_i(rx_unit_ready),
        .phy_tx_o(tx_beat),
        .phy_tx_valid_o(tx_beat_valid),
        .phy_tx_ready_i(tx_beat_ready),
        .phy_rx_i(rx_beat),
        .phy_rx_valid_i(rx_beat_valid),
        .phy_rx_gap_i(rx_gap),
        .phy_rx_hunting_o(rx_hunting),
        .bad_frames_o(bad_frames[l]),
        .replays_o(replays[l]),
        .downs_o(downs[l])
    );

    consort_phy_gearbox #(
        .PhyWidth(PhyWidth)
    ) i_gearbox (
        .clk_i,
        .rst_ni,
        .tx_beat_i(tx_beat),
        .tx_valid_i(tx_beat_valid),
        .tx_ready_o(tx_beat_ready),
        .rx_beat_o(rx_beat),
        .rx_gap_o(rx_gap),
        .rx_valid_o(rx_beat_valid),
        .rx_hunting_i(rx_hunting),
        .phy_tx_o(phy_tx_o[l]),
        .phy_tx_valid_o(phy_tx_valid_o[l]),
        .phy_tx_ready_i(phy_tx_ready_i[l]),
        .phy_rx_i(phy_rx_i[l]),
        .phy_rx_valid_i(phy_rx_valid_i[l])
    );

    consort_mblock_link #(
        .Link(l),
        .Segments(Segments),
        // A guard hands on the reads of a port one after the other; those of two memories may alternate.
        .Ordered(Memories == 1)
    ) i_requests (
        .clk_i,
        .rst_ni,
        .segments_i(segments[l]),
        .refused_o(refused[l]),
        .faults_o(faults[3*l:3*l+2]),
        .busy_o(busy[l]),
        .drain_i(drain),
        .drained_o(drained),
        .rx_waited_i(rx_waited),
        .rx_arriving_meta_i(rx_arriving_meta),
        .rx_meta_i(rx_meta),
        .rx_units_i(rx_units),
        .rx_valid_i(rx_valid),
        .rx_ready_o(rx_ready),
        .rx_unit_i(rx_unit),
        .rx_unit_valid_i(rx_unit_valid),
        .rx_unit_ready_o(rx_unit_ready),
        .tx_meta_o(tx_meta),
        .tx_units_o(tx_units),
        .tx_valid_o(tx_valid),
        .tx_ready_i(tx_ready),
        .tx_unit_o(tx_unit),
        .tx_unit_valid_o(tx_unit_valid),
        .tx_unit_ready_i(tx_unit_ready),
        .aw_o(l_aw[l]),
        .aw_valid_o(l_aw_valid[l]),
        .aw_ready_i(l_aw_ready[l]),
        .aw_memory_o(l_aw_memory[l]),
        .w_o(l_w[l]),
        .w_valid_o(l_w_valid[l]),
        .w_ready_i(l_w_ready[l]),
        .b_i(l_b[l]),
        .b_valid_i(l_b_valid[l]),
        .b_ready_o(l_b_ready[l]),
        .ar_o(l_ar[l]),
        .ar_valid_o(l_ar_valid[l]),
        .ar_ready_i(l_ar_ready[l]),
        .ar_memory_o(l_ar_memory[l]),
        .r_i(l_r[l]),
        .r_valid_i(l_r_valid[l]),
        .r_ready_o(l_r_ready[l])
    );
  end

  consort_mblock_xbar #(
      .Links(Links),
      .Memories(Memories)
  ) i_xbar (
      .clk_i,
      .rst_ni,
      .l_aw_i(l_aw),
      .l_aw_valid_i(l_aw_valid),
      .l_aw_ready_o(l_aw_ready),
      .m_aw_o(g_aw),
      .m_aw_valid_o(g_aw_valid),
      .m_aw_ready_i(g_aw_ready),
      .l_aw_memory_i(l_aw_memory),
      .l_w_i(l_w),
      .l_w_valid_i(l_w_valid),
      .l_w_ready_o(l_w_ready),
      .m_w_o(g_w),
      .m_w_valid_o(g_w_valid),
      .m_w_ready_i(g_w_ready),
      .l_b_o(l_b),
      .l_b_valid_o(l_b_valid),
      .l_b_ready_i(l_b_ready),
      .m_b_i(g_b),
      .m_b_valid_i(g_b_valid),
      .m_b_ready_o(g_b_ready),
      .l_ar_i(l_ar),
      .l_ar_valid_i(l_ar_valid),
      .l_ar_ready_o(l_ar_ready),
      .m_ar_o(g_ar),
      .m_ar_valid_o(g_ar_valid),
      .m_ar_ready_i(g_ar_ready),
      .l_ar_memory_i(l_ar_memory),
      .l_r_o(l_r),
      .l_r_valid_o(l_r_valid),
      .l_r_ready_i(l_r_ready),
      .m_r_i(g_r),
      .m_r_valid_i(g_r_valid),
      .m_r_ready_o(g_r_ready)
  );

  // ---- Order, and an end to every access ----

  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    consort_memory_guard #(
        .Links(Links)
    ) i_guard (
        .clk_i,
        .rst_ni,
        .m_rst_ni,
        .answer_after_i(answer_after),
        .silent_o(silent[m]),
        .isolate_i(isolate_i[m]),
        .isolated_o(isolated_o[m]),
        .l_aw_i(g_aw[m]),
        .l_aw_valid_i(g_aw_valid[m]),
        .l_aw_ready_o(g_aw_ready[m]),
        .l_w_i(g_w[m]),
        .l_w_valid_i(g_w_valid[m]),
        .l_w_ready_o(g_w_ready[m]),
        .l_b_o(g_b[m]),
        .l_b_valid_o(g_b_valid[m]),
        .l_b_ready_i(g_b_ready[m]),
        .l_ar_i(g_ar[m]),
        .l_ar_valid_i(g_ar_valid[m]),
        .l_ar_ready_o(g_ar_ready[m]),
        .l_r_o(g_r[m]),
        .l_r_valid_o(g_r_valid[m]),
        .l_r_ready_i(g_r_ready[m]),
        .m_aw_o(m_aw[m]),
        .m_aw_valid_o(m_aw_valid[m]),
        .m_aw_ready_i(m_aw_ready[m]),
        .m_w_o(m_w[m]),
        .m_w_valid_o(m_w_valid[m]),
        .m_w_ready_i(m_w_ready[m]),
        .m_b_i(m_b[m]),
        .m_b_valid_i(m_b_valid[m]),
        .m_b_ready_o(m_b_ready[m]),
        .m_ar_o(m_ar[m]),
        .m_ar_valid_o(m_ar_valid[m]),
        .m_ar_ready_i(m_ar_ready[m]),
        .m_r_i(m_r[m]),
        .m_r_valid_i(m_r_valid[m]),
        .m_r_ready_o(m_r_ready[m])
    );
  end
endmodule
