// SPDX-License-Identifier: Apache-2.0
// Two ends of a link with PHYs between them that keep words while they pause: consort_phy_cdc at each end, or a FIFO of eight words.
module consort_remote_starts
  import consort_remote_pkg::*;
#(
    parameter bit Cdc = 1'b1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 pause_i        [2],  // of what end e sends
    output logic                 up_o           [2],
    input  logic [         31:0] tx_number_i    [2],
    input  logic [          4:0] tx_units_i     [2],
    input  logic                 tx_valid_i     [2],
    output logic                 tx_ready_o     [2],
    input  logic [BeatWidth-1:0] tx_unit_i      [2],
    output logic                 tx_unit_ready_o[2],
    output logic [         31:0] rx_number_o    [2],
    output logic [          4:0] rx_units_o     [2],
    output logic                 rx_valid_o     [2],
    input  logic                 rx_ready_i     [2],
    output logic [BeatWidth-1:0] rx_unit_o      [2],
    output logic                 rx_unit_valid_o[2],
    input  logic                 rx_unit_ready_i[2]
);
  localparam int unsigned WordWidth = $bits(wire_t);
  wire_t tx[2], rx[2], wire_word[2];
  logic tx_valid[2], tx_ready[2], rx_valid[2], wire_valid[2];

  for (genvar e = 0; e < 2; e++) begin : gen_end
    logic [MetaWidth-1:0] rx_meta, unused_arriving;
    logic [31:0] unused_count[3];
    logic [23:0] unused_after;
    logic unused_drain, unused_waited, unused_hunting;
    assign rx_number_o[e] = rx_meta[31:0];

    consort_link #(
        .Initiator(e == 0)
    ) i_link (
        .clk_i,
        .rst_ni,
        .enable_i(1'b1),
        .ack_timeout_i(16'd200),
        .down_after_i(24'd800),
        .peer_after_o(unused_after),
        .up_o(up_o[e]),
        .drain_o(unused_drain),
        .drained_i(1'b1),
        .tx_meta_i(MetaWidth'(tx_number_i[e])),
        .tx_units_i(tx_units_i[e]),
        .tx_valid_i(tx_valid_i[e]),
        .tx_ready_o(tx_ready_o[e]),
        .tx_unit_i(tx_unit_i[e]),
        .tx_unit_valid_i(1'b1),
        .tx_unit_ready_o(tx_unit_ready_o[e]),
        .rx_waited_o(unused_waited),
        .rx_arriving_meta_o(unused_arriving),
        .rx_meta_o(rx_meta),
        .rx_units_o(rx_units_o[e]),
        .rx_valid_o(rx_valid_o[e]),
        .rx_ready_i(rx_ready_i[e]),
        .rx_unit_o(rx_unit_o[e]),
        .rx_unit_valid_o(rx_unit_valid_o[e]),
        .rx_unit_ready_i(rx_unit_ready_i[e]),
        .phy_tx_o(tx[e]),
        .phy_tx_valid_o(tx_valid[e]),
        .phy_tx_ready_i(tx_ready[e]),
        .phy_rx_i(rx[e]),
        .phy_rx_valid_i(rx_valid[e]),
        .phy_rx_gap_i(1'b0),
        .phy_rx_hunting_o(unused_hunting),
        .bad_frames_o(unused_count[0]),
        .replays_o(unused_count[1]),
        .downs_o(unused_count[2])
    );

    if (Cdc) begin : gen_cdc
      logic unused_up, unused_error;
      consort_phy_cdc #(
          .WordWidth(WordWidth)
      ) i_cdc (
          .clk_i,
          .rst_ni,
          .tx_i(tx[e]),
          .tx_valid_i(tx_valid[e]),
          .tx_ready_o(tx_ready[e]),
          .rx_o(rx[e]),
          .rx_valid_o(rx_valid[e]),
          .channel_up_o(unused_up),
          .hard_err_o(unused_error),
          .phy_clk_i(clk_i),
          .phy_tx_o(wire_word[e]),
          .phy_tx_valid_o(wire_valid[e]),
          .phy_tx_ready_i(!pause_i[e]),
          .phy_rx_i(wire_word[1-e]),
          .phy_rx_valid_i(wire_valid[1-e] && !pause_i[1-e]),
          .phy_channel_up_i(1'b1),
          .phy_hard_err_i(1'b0)
      );
    end else begin : gen_fifo
      consort_fifo #(
          .T(wire_t),
          .Depth(8)
      ) i_fifo (
          .clk_i,
          .rst_ni,
          .clear_i(1'b0),
          .data_i(tx[e]),
          .valid_i(tx_valid[e]),
          .ready_o(tx_ready[e]),
          .data_o(wire_word[e]),
          .valid_o(wire_valid[e]),
          .ready_i(!pause_i[e])
      );
      assign rx[e] = wire_word[1-e];
      assign rx_valid[e] = wire_valid[1-e] && !pause_i[1-e];
    end
  end
endmodule
