// SPDX-License-Identifier: Apache-2.0
// A cBlock whose links end in a frame source each: what lenders answer is whatever the harness makes.
module lender_top
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
    output logic [4:0]           rx_units_o     [Links],
    output logic                 rx_valid_o     [Links],
    output logic [BeatWidth-1:0] rx_unit_o      [Links],
    output logic                 rx_unit_valid_o[Links],
    output logic                 up_o           [Links],

    input  axi_a_t s_aw_i      [1],
    input  logic   s_aw_valid_i[1],
    output logic   s_aw_ready_o[1],
    input  axi_w_t s_w_i       [1],
    input  logic   s_w_valid_i [1],
    output logic   s_w_ready_o [1],
    output axi_b_t s_b_o       [1],
    output logic   s_b_valid_o [1],
    input  logic   s_b_ready_i [1],
    input  axi_a_t s_ar_i      [1],
    input  logic   s_ar_valid_i[1],
    output logic   s_ar_ready_o[1],
    output axi_r_t s_r_o       [1],
    output logic   s_r_valid_o [1],
    input  logic   s_r_ready_i [1],

    input  lite_req_t  c_lite_req_i,
    output lite_resp_t c_lite_resp_o
);
  axi_req_t s_req[1];
  axi_resp_t s_resp[1];
  consort_axi_pack i_axi (
      .req_o(s_req[0]),
      .resp_i(s_resp[0]),
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
      .r_ready_i(s_r_ready_i[0])
  );

  logic [word_width(128)-1:0] l_tx[Links], c_tx[Links], l_rx[Links], c_rx[Links];
  logic l_valid[Links], l_ready[Links], l_rx_valid[Links];
  logic c_valid[Links], c_ready[Links], c_rx_valid[Links];
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
          .tx_i(l_tx[l]),
          .tx_valid_i(l_valid[l]),
          .tx_ready_o(l_ready[l]),
          .word_o(c_rx[l]),
          .word_valid_o(c_rx_valid[l]),
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
          .tx_i(c_tx[l]),
          .tx_valid_i(c_valid[l]),
          .tx_ready_o(c_ready[l]),
          .word_o(l_rx[l]),
          .word_valid_o(l_rx_valid[l]),
          .word_ready_i(1'b1),
          .kept_o()
      );
    end else begin : gen_plain
      assign c_rx[l] = l_tx[l];
      assign c_rx_valid[l] = l_valid[l];
      assign l_ready[l] = 1'b1;
      assign l_rx[l] = c_tx[l];
      assign l_rx_valid[l] = c_valid[l];
      assign c_ready[l] = 1'b1;
    end
  end

  for (genvar l = 0; l < Links; l++) begin : gen_source
    consort_link #(
        .Initiator(1'b0)
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
        .rx_units_o(rx_units_o[l]),
        .rx_valid_o(rx_valid_o[l]),
        .rx_ready_i(1'b1),
        .rx_unit_o(rx_unit_o[l]),
        .rx_unit_valid_o(rx_unit_valid_o[l]),
        .rx_unit_ready_i(1'b1),
        .phy_tx_o(l_tx[l]),
        .phy_tx_valid_o(l_valid[l]),
        .phy_tx_ready_i(l_ready[l]),
        .phy_rx_i(l_rx[l]),
        .phy_rx_valid_i(l_rx_valid[l]),
        .phy_rx_gap_i(1'b0),
        .phy_rx_hunting_o(),
        .bad_frames_o(),
        .replays_o(),
        .downs_o()
    );
  end

  consort_cblock #(
      .Links(Links)
  ) i_cblock (
      .clk_i,
      .rst_ni,
      .s_req_i(s_req),
      .s_resp_o(s_resp),
      .lite_req_i(c_lite_req_i),
      .lite_resp_o(c_lite_resp_o),
      .irq_o(),
      .phy_tx_o(c_tx),
      .phy_tx_valid_o(c_valid),
      .phy_tx_ready_i(c_ready),
      .phy_rx_i(c_rx),
      .phy_rx_valid_i(c_rx_valid),
      .phy_channel_up_i(all_on),
      .phy_hard_err_i(no_error)
  );
endmodule
