// SPDX-License-Identifier: Apache-2.0
// An mBlock whose links end in a frame source each: what their users send is whatever the harness makes.
module hostile_top
  import consort_remote_pkg::*;
#(
    parameter int unsigned Links = 2,
    parameter bit Queued = 1'b0  // the wires keep words while they pause, and then give them without gaps
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic [MetaWidth-1:0] tx_meta_i      [Links],
    input  logic [4:0]           tx_units_i     [Links],
    input  logic                 tx_valid_i     [Links],
    output logic                 tx_ready_o     [Links],
    input  logic [BeatWidth-1:0] tx_unit_i      [Links],
    output logic                 tx_unit_ready_o[Links],
    output logic [MetaWidth-1:0] rx_meta_o      [Links],
    output logic                 rx_valid_o     [Links],
    output logic [BeatWidth-1:0] rx_unit_o      [Links],
    output logic                 rx_unit_valid_o[Links],
    output logic                 up_o           [Links],

    output axi_a_t m_aw_o[1],
    output logic m_aw_valid_o[1],
    input logic m_aw_ready_i[1],
    output axi_w_t m_w_o[1],
    output logic m_w_valid_o[1],
    input logic m_w_ready_i[1],
    input axi_b_t m_b_i[1],
    input logic m_b_valid_i[1],
    output logic m_b_ready_o[1],
    output axi_a_t m_ar_o[1],
    output logic m_ar_valid_o[1],
    input logic m_ar_ready_i[1],
    input axi_r_t m_r_i[1],
    input logic m_r_valid_i[1],
    output logic m_r_ready_o[1],

    input  lite_req_t  m_lite_req_i,
    output lite_resp_t m_lite_resp_o
);
  axi_req_t m_req[1];
  axi_resp_t m_resp[1];
  for (genvar m = 0; m < 1; m++) begin : gen_memory
    consort_axi_unpack i_axi (
        .req_i(m_req[m]),
        .resp_o(m_resp[m]),
        .aw_o(m_aw_o[m]),
        .aw_valid_o(m_aw_valid_o[m]),
        .aw_ready_i(m_aw_ready_i[m]),
        .w_o(m_w_o[m]),
        .w_valid_o(m_w_valid_o[m]),
        .w_ready_i(m_w_ready_i[m]),
        .b_i(m_b_i[m]),
        .b_valid_i(m_b_valid_i[m]),
        .b_ready_o(m_b_ready_o[m]),
        .ar_o(m_ar_o[m]),
        .ar_valid_o(m_ar_valid_o[m]),
        .ar_ready_i(m_ar_ready_i[m]),
        .r_i(m_r_i[m]),
        .r_valid_i(m_r_valid_i[m]),
        .r_ready_o(m_r_ready_o[m])
    );
  end

  logic [word_width(128)-1:0] s_tx[Links], m_tx[Links], s_rx[Links], m_rx[Links];
  logic s_valid[Links], s_ready[Links], s_rx_valid[Links];
  logic m_valid[Links], m_ready[Links], m_rx_valid[Links];
  logic all_on[Links], no_error[Links];
  assign all_on = '{default: 1'b1};
  assign no_error = '{default: 1'b0};

  // Each direction of a link keeps words while it pauses, where it is queued.
  for (genvar l = 0; l < Links; l++) begin : gen_wire
    if (Queued) begin : gen_queued
      localparam logic [31:0] PauseChance = 32'd107374182;  // one cycle in 40
      consort_phy_queue #(
          .Seed(2 * l + 1)
      ) i_there (
          .clk_i,
          .rst_ni,
          .pause_chance_i(PauseChance),
          .longest_pause_i(8'd31),
          .tx_i(s_tx[l]),
          .tx_valid_i(s_valid[l]),
          .tx_ready_o(s_ready[l]),
          .word_o(m_rx[l]),
          .word_valid_o(m_rx_valid[l]),
          .word_ready_i(1'b1),
          .kept_o()
      );
      consort_phy_queue #(
          .Seed(2 * l + 2)
      ) i_back (
          .clk_i,
          .rst_ni,
          .pause_chance_i(PauseChance),
          .longest_pause_i(8'd31),
          .tx_i(m_tx[l]),
          .tx_valid_i(m_valid[l]),
          .tx_ready_o(m_ready[l]),
          .word_o(s_rx[l]),
          .word_valid_o(s_rx_valid[l]),
          .word_ready_i(1'b1),
          .kept_o()
      );
    end else begin : gen_plain
      assign m_rx[l] = s_tx[l];
      assign m_rx_valid[l] = s_valid[l];
      assign s_ready[l] = 1'b1;
      assign s_rx[l] = m_tx[l];
      assign s_rx_valid[l] = m_valid[l];
      assign m_ready[l] = 1'b1;
    end
  end
  logic isolate[1];
  assign isolate = '{default: 1'b0};

  for (genvar l = 0; l < Links; l++) begin : gen_source
    consort_link #(
        .Initiator(1'b1)
    ) i_link (
        .clk_i,
        .rst_ni,
        .enable_i(1'b1),
        .ack_timeout_i(16'd1024),
        .down_after_i(24'd4096),
        .peer_after_o(),
        .up_o(up_o[l]),
        .drain_o(),
        .drained_i(1'b1),
        .tx_meta_i(tx_meta_i[l]),
        .tx_units_i(tx_units_i[l]),
        .tx_valid_i(tx_valid_i[l]),
        .tx_ready_o(tx_ready_o[l]),
        .tx_unit_i(tx_unit_i[l]),
        .tx_unit_valid_i(1'b1),
        .tx_unit_ready_o(tx_unit_ready_o[l]),
        .rx_waited_o(),
        .rx_arriving_meta_o(),
        .rx_meta_o(rx_meta_o[l]),
        .rx_units_o(),
        .rx_valid_o(rx_valid_o[l]),
        .rx_ready_i(1'b1),
        .rx_unit_o(rx_unit_o[l]),
        .rx_unit_valid_o(rx_unit_valid_o[l]),
        .rx_unit_ready_i(1'b1),
        .phy_tx_o(s_tx[l]),
        .phy_tx_valid_o(s_valid[l]),
        .phy_tx_ready_i(s_ready[l]),
        .phy_rx_i(s_rx[l]),
        .phy_rx_valid_i(s_rx_valid[l]),
        .phy_rx_gap_i(1'b0),
        .phy_rx_hunting_o(),
        .bad_frames_o(),
        .replays_o(),
        .downs_o()
    );
  end

  consort_mblock #(
      .Links(Links)
  ) i_mblock (
      .clk_i,
      .rst_ni,
      .m_rst_ni(rst_ni),
      .isolate_i(isolate),
      .isolated_o(),
      .m_req_o(m_req),
      .m_resp_i(m_resp),
      .lite_req_i(m_lite_req_i),
      .lite_resp_o(m_lite_resp_o),
      .irq_o(),
      .phy_tx_o(m_tx),
      .phy_tx_valid_o(m_valid),
      .phy_tx_ready_i(m_ready),
      .phy_rx_i(m_rx),
      .phy_rx_valid_i(m_rx_valid),
      .phy_channel_up_i(all_on),
      .phy_hard_err_i(no_error)
  );
endmodule
