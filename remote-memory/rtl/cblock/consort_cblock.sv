// SPDX-License-Identifier: Apache-2.0
// The cBlock: AXI4 slave ports on the side of the processor, links on the other. Configured over AXI-Lite (consort_cblock_regs).
// Interface: AXI4 slaves s_*; AXI-Lite lite_*; irq_o; of each link the words of its PHY and what the PHY says of its channel.
// Parameters: Ports, Links, Windows, Credits of each port's writes, PhyWidth; axi_req_t, axi_resp_t, lite_req_t, lite_resp_t of the SoC, with
// data of 64, 128, 256 or 512 bits.
// Throughput: of each port a beat of reads and one of writes a cycle; of each link a beat a cycle each way.
// Latency: a read or write of 64 bytes under load: consort_remote.worst_case.
// Assumes: masters keep to AXI4's handshakes and send as many data as they said.
// Held by: simulation against AXI4 checkers (tests/rtl/test_remote.py, tests/rtl/test_cocotb.py); faults and resets, tests/rtl/test_trust.py;
// bad lenders, tests/rtl/test_lenders.py;
// unknown values, tests/rtl/test_four_state.py.
module consort_cblock
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports   = 1,
    parameter int unsigned Links   = 1,
    parameter int unsigned Windows = 8,
    parameter int unsigned Credits = 320,
    parameter int unsigned PhyWidth = 128,  // 64, 128 or 256
    parameter type axi_req_t = consort_remote_pkg::axi_req_t,
    parameter type axi_resp_t = consort_remote_pkg::axi_resp_t,
    parameter type lite_req_t = consort_remote_pkg::lite_req_t,
    parameter type lite_resp_t = consort_remote_pkg::lite_resp_t,
    localparam int unsigned WordWidth = word_width(PhyWidth)
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_req_t  s_req_i [Ports],
    output axi_resp_t s_resp_o[Ports],

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
  if (Ports < 1 || Ports > 2 ** PortWidth) begin : gen_check_ports
    $error("cblock: Ports must be 1 to 4");
  end
  if (Links < 1 || Links > 4) begin : gen_check_links
    $error("cblock: Links must be 1 to 4");
  end
  if (AddrWidth < LowWidth + $bits(handle_t) || AddrWidth > 44) begin : gen_check_addresses
    $error("cblock: addresses must be of 36 to 44 bits");
  end
  if (OffsetWidth > AddrWidth || OffsetWidth > 38) begin : gen_check_offsets
    $error("cblock: offsets must be of 38 bits at most, and no wider than addresses");
  end
  if (Credits < 288 || Credits > MaxCredits) begin : gen_check_credits
    $error("cblock: Credits must be 288 to 400");
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
    consort_axi_slave_port #(
        .req_t(axi_req_t),
        .resp_t(axi_resp_t)
    ) i_axi (
        .clk_i,
        .rst_ni,
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
  logic [Links-1:0] enable, up;
  logic [Ports-1:0] fence, fenced_reads, fenced_writes;
  qos_t qos;
  logic [15:0] ack_timeout;
  logic [23:0] down_after, answer_after;
  logic [31:0] bad_frames[Links], replays[Links], downs[Links];
  logic [23:0] peer_after[Links];
  fault_t faults[2*Ports];

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
      .up_i(up),
      .ack_timeout_o(ack_timeout),
      .down_after_o(down_after),
      .answer_after_o(answer_after),
      .bad_frames_i(bad_frames),
      .replays_i(replays),
      .downs_i(downs),
      .qos_o(qos),
      .fence_o(fence),
      .fenced_i(fenced_reads | fenced_writes | fence),
      .peer_after_i(peer_after),
      .faults_i(faults),
      .irq_o
  );

  // ---- Ports ----

  logic tick;
  logic [3:0] silent[2*Ports];
  logic [Links-1:0] drop;

  consort_answer_timer #(
      .Sources(2 * Ports),
      .Links(Links)
  ) i_timer (
      .clk_i,
      .rst_ni,
      .after_i(answer_after),
      .tick_o(tick),
      .silent_i(silent),
      .drop_o(drop)
  );

  request_t req[2*Ports];
  logic [4:0] req_units[2*Ports];
  logic [1:0] req_link[2*Ports];
  logic [2*Ports-1:0] req_valid, req_urgent;
  logic [2*Ports-1:0] req_ready_of[Links];
  logic [BeatWidth-1:0] unit[Ports];
  logic [Ports-1:0] unit_valid, unit_last;
  logic [Ports-1:0] unit_ready_of[Links];
  rsp_e read_kind[Links];
  logic [TagWidth-1:0] read_tag[Links], ack_tag[Links];
  logic [1:0] read_resp[Links], ack_resp[Links];
  logic [DataWidth-1:0] read_data[Links];
  logic [Links-1:0] ack_valid, read_ready, ack_ready, read_grant[Ports], ack_grant[Ports];

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    logic [Links-1:0] wants_read, wants_ack;
    rsp_e kind;
    logic ack;
    logic [IndexWidth-1:0] index, ack_index;
    logic [1:0] resp, resp_of_ack;
    logic [DataWidth-1:0] data;
    logic read_taken, write_taken, unit_ready;
    logic [1:0] link, link_of_ack;

    // The ingress switch: of the links that have something for this port, one at a time.
    for (genvar l = 0; l < Links; l++) begin : gen_wants
      assign wants_read[l] = read_kind[l] != RspNone && read_tag[l][TagWidth-1-:PortWidth] == PortWidth'(p);
      assign wants_ack[l] = ack_valid[l] && ack_tag[l][TagWidth-1-:PortWidth] == PortWidth'(p);
    end
    consort_arbiter #(
        .N(Links)
    ) i_reads (
        .clk_i,
        .rst_ni,
        .request_i(wants_read),
        .grant_o(read_grant[p]),
        .taken_i(1'b1)
    );
    consort_arbiter #(
        .N(Links)
    ) i_acks (
        .clk_i,
        .rst_ni,
        .request_i(wants_ack),
        .grant_o(ack_grant[p]),
        .taken_i(1'b1)
    );
    always_comb begin
      kind = RspNone;
      index = '0;
      resp = '0;
      data = '0;
      ack = 1'b0;
      ack_index = '0;
      resp_of_ack = '0;
      link = '0;
      link_of_ack = '0;
      read_taken = 1'b0;
      write_taken = 1'b0;
      unit_ready = 1'b0;
      for (int unsigned l = 0; l < Links; l++) begin
        // With one link there is nothing to choose, and what is not for this port is not looked at.
        if (read_grant[p][l]) begin
          kind = rsp_e'(kind | read_kind[l]);
          link = link | 2'(l);
        end
        if (read_grant[p][l] || Links == 1) begin
          index = index | read_tag[l][IndexWidth-1:0];
          resp = resp | read_resp[l];
          data = data | read_data[l];
        end
        if (ack_grant[p][l]) begin
          ack = 1'b1;
          link_of_ack = link_of_ack | 2'(l);
        end
        if (ack_grant[p][l] || Links == 1) begin
          ack_index = ack_index | ack_tag[l][IndexWidth-1:0];
          resp_of_ack = resp_of_ack | ack_resp[l];
        end
        read_taken = read_taken || req_ready_of[l][2*p];
        write_taken = write_taken || req_ready_of[l][2*p+1];
        unit_ready = unit_ready || unit_ready_of[l][p];
      end
    end

    // What comes is looked at a cycle later.
    rsp_e kind_q;
    logic ack_q;
    logic [IndexWidth-1:0] index_q, ack_index_q;
    logic [1:0] resp_q, resp_of_ack_q, link_of_ack_q;
    logic [DataWidth-1:0] data_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        kind_q <= RspNone;
        ack_q  <= 1'b0;
      end else begin
        kind_q <= kind;
        ack_q  <= ack;
      end
    end
    always_ff @(posedge clk_i) begin
      {index_q, resp_q, data_q} <= {index, resp, data};
      {ack_index_q, resp_of_ack_q, link_of_ack_q} <= {ack_index, resp_of_ack, link_of_ack};
    end

    consort_port_read #(
        .Port(p),
        .Links(Links),
        .Windows(Windows)
    ) i_read (
        .clk_i,
        .rst_ni,
        .windows_i(windows[p]),
        .up_i(4'(up)),
        .counted_o(count_reads[p]),
        .qos_i(qos),
        .fence_i(fence[p]),
        .fenced_o(fenced_reads[p]),
        .ar_i(s_ar[p]),
        .ar_valid_i(s_ar_valid[p]),
        .ar_ready_o(s_ar_ready[p]),
        .r_o(s_r[p]),
        .r_valid_o(s_r_valid[p]),
        .r_ready_i(s_r_ready[p]),
        .req_o(req[2*p]),
        .req_link_o(req_link[2*p]),
        .req_urgent_o(req_urgent[2*p]),
        .req_valid_o(req_valid[2*p]),
        .req_ready_i(read_taken),
        .look_link_i(link),
        .look_index_i(index),
        .rsp_index_i(index_q),
        .rsp_data_i(data_q),
        .rsp_resp_i(resp_of(resp_q)),
        .rsp_valid_i(kind_q == RspData),
        .rsp_error_i(kind_q == RspError),
        .tick_i(tick),
        .silent_o(silent[2*p]),
        .fault_o(faults[2*p])
    );
    assign req_units[2*p] = 5'd0;

    consort_port_write #(
        .Port(p),
        .Links(Links),
        .Windows(Windows),
        .Credits(Credits)
    ) i_write (
        .clk_i,
        .rst_ni,
        .windows_i(windows[p]),
        .up_i(4'(up)),
        .counted_o(count_writes[p]),
        .qos_i(qos),
        .fence_i(fence[p]),
        .fenced_o(fenced_writes[p]),
        .aw_i(s_aw[p]),
        .aw_valid_i(s_aw_valid[p]),
        .aw_ready_o(s_aw_ready[p]),
        .w_i(s_w[p]),
        .w_valid_i(s_w_valid[p]),
        .w_ready_o(s_w_ready[p]),
        .b_o(s_b[p]),
        .b_valid_o(s_b_valid[p]),
        .b_ready_i(s_b_ready[p]),
        .req_o(req[2*p+1]),
        .req_units_o(req_units[2*p+1]),
        .req_link_o(req_link[2*p+1]),
        .req_urgent_o(req_urgent[2*p+1]),
        .req_valid_o(req_valid[2*p+1]),
        .req_ready_i(write_taken),
        .unit_o(unit[p]),
        .unit_valid_o(unit_valid[p]),
        .unit_last_o(unit_last[p]),
        .unit_ready_i(unit_ready),
        .rsp_link_i(link_of_ack_q),
        .rsp_index_i(ack_index_q),
        .rsp_resp_i(resp_of(resp_of_ack_q)),
        .rsp_valid_i(ack_q),
        .tick_i(tick),
        .silent_o(silent[2*p+1]),
        .fault_o(faults[2*p+1])
    );
  end

  // ---- Links ----

  for (genvar l = 0; l < Links; l++) begin : gen_link
    logic [2*Ports-1:0] mine;
    logic [MetaWidth-1:0] tx_meta, rx_meta, rx_arriving_meta;
    logic [4:0] tx_units, rx_units;
    logic tx_valid, tx_ready, tx_unit_valid, tx_unit_ready;
    logic rx_valid, rx_ready, rx_unit_valid, rx_unit_ready;
    logic [BeatWidth-1:0] tx_unit, rx_unit;
    wire_t tx_beat, rx_beat;
    logic tx_beat_valid, tx_beat_ready, rx_beat_valid, rx_gap, rx_hunting;
    logic drain, rx_waited, unused;

    for (genvar i = 0; i < 2 * Ports; i++) begin : gen_mine
      assign mine[i] = req_valid[i] && req_link[i] == 2'(l);
    end
    // With one link every port takes what comes.
    always_comb begin
      read_ready[l] = Links == 1;
      ack_ready[l] = Links == 1;
      for (int unsigned p = 0; p < Ports; p++) begin
        read_ready[l] = read_ready[l] || read_grant[p][l];
        ack_ready[l] = ack_ready[l] || ack_grant[p][l];
      end
    end

    consort_request_framer #(
        .Ports(Ports)
    ) i_framer (
        .clk_i,
        .rst_ni,
        .up_i(up[l]),
        .req_i(req),
        .req_units_i(req_units),
        .req_valid_i(mine),
        .req_urgent_i(req_urgent),
        .req_ready_o(req_ready_of[l]),
        .unit_i(unit),
        .unit_valid_i(unit_valid),
        .unit_last_i(unit_last),
        .unit_ready_o(unit_ready_of[l]),
        .frame_meta_o(tx_meta),
        .frame_units_o(tx_units),
        .frame_valid_o(tx_valid),
        .frame_ready_i(tx_ready),
        .frame_unit_o(tx_unit),
        .frame_unit_valid_o(tx_unit_valid),
        .frame_unit_ready_i(tx_unit_ready)
    );

    consort_link #(
        .Initiator(1'b1),
        // What the ports set aside for answers.
        .RxDepth(512 * 2 ** $clog2(Ports)),
        .HeadDepth(answer_frames(Ports))
    ) i_link (
        .clk_i,
        .rst_ni,
        .enable_i(enable[l] && phy_channel_up_i[l] && !phy_hard_err_i[l] && !drop[l]),
        .ack_timeout_i(ack_timeout),
        .down_after_i(down_after),
        .peer_after_o(peer_after[l]),
        .up_o(up[l]),
        .drain_o(drain),
        .drained_i(1'b1),
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
    // Of a cBlock: it has nothing to drain, takes a frame's units by its parts, and all frames alike.
    assign unused = &{1'b0, drain, rx_units, rx_waited, rx_arriving_meta};

    consort_response_parser i_parser (
        .clk_i,
        .rst_ni,
        .up_i(up[l]),
        .frame_meta_i(rx_meta),
        .frame_valid_i(rx_valid),
        .frame_ready_o(rx_ready),
        .unit_i(rx_unit),
        .unit_valid_i(rx_unit_valid),
        .unit_ready_o(rx_unit_ready),
        .read_kind_o(read_kind[l]),
        .read_tag_o(read_tag[l]),
        .read_resp_o(read_resp[l]),
        .read_data_o(read_data[l]),
        .read_ready_i(read_ready[l]),
        .ack_valid_o(ack_valid[l]),
        .ack_tag_o(ack_tag[l]),
        .ack_resp_o(ack_resp[l]),
        .ack_ready_i(ack_ready[l])
    );
  end
endmodule
