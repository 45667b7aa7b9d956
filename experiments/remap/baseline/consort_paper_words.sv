// SPDX-License-Identifier: Apache-2.0
// Beats of two 64-bit databeats to the words of the paper's PHY and back. A PHY of 64 bits has a word for each databeat, and none
// for the half of a beat that is empty: so b2b, pipelined and its fill beat are the same on it.
// Interface: beats out of the egress switch to words of the PHY, words of the PHY to beats for a depacketizer, all of them streams.
// Parameters: PhyWidth, 64 or 128; at 128 there is nothing.
// Throughput: a word a cycle.
// Latency: none.
// Assumes: a beat that shows stays; the lower half of a beat is used where its upper one is.
// Held by: words counted and random traffic, remote-memory/tests/rtl/test_paper_packets.py; checkers of streams.
module consort_paper_words
  import consort_remote_pkg::*;
#(
    parameter int unsigned PhyWidth = 128
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [BeatWidth-1:0] tx_beat_i,
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    output logic [BeatWidth-1:0] rx_beat_o,
    output logic                 rx_valid_o,
    input  logic                 rx_ready_i,
    output logic [ PhyWidth-1:0] phy_tx_o,
    output logic                 phy_tx_valid_o,
    input  logic                 phy_tx_ready_i,
    input  logic [ PhyWidth-1:0] phy_rx_i,
    input  logic                 phy_rx_valid_i,
    output logic                 phy_rx_ready_o
);
  if (PhyWidth != 64 && PhyWidth != 128) begin : gen_check_width
    $error("consort_paper_words: PhyWidth must be 64 or 128");
  end

  assign rx_beat_o = BeatWidth'(phy_rx_i);
  assign rx_valid_o = phy_rx_valid_i;
  assign phy_rx_ready_o = rx_ready_i;

  if (PhyWidth == 64) begin : gen_half
    part_t first, second;
    logic sent_q;  // the first databeat of the beat that shows
    logic last;

    assign {second, first} = tx_beat_i;
    assign phy_tx_o = sent_q ? second : first;
    assign phy_tx_valid_o = tx_valid_i && first.valid;
    assign last = sent_q || !second.valid;
    assign tx_ready_o = !first.valid || (phy_tx_ready_i && last);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) sent_q <= 1'b0;
      else if (phy_tx_valid_o && phy_tx_ready_i) sent_q <= !last;
    end
  end else begin : gen_whole
    logic unused;
    assign unused = &{1'b0, clk_i, rst_ni};
    assign phy_tx_o = tx_beat_i;
    assign phy_tx_valid_o = tx_valid_i;
    assign tx_ready_o = phy_tx_ready_i;
  end
endmodule
