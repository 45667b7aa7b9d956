// SPDX-License-Identifier: Apache-2.0
// Between a block's PHY signals of one link and a PHY of another clock. Words go through a FIFO each way, what the PHY says of its channel
// through synchronisers; a hard_err of one cycle is not missed. The block takes a word each cycle, so its clock has to be as fast as the PHY gives
// words; one that finds the FIFO full is lost, and the link repeats its frame. Reset both clocks' sides with the block's reset.
// Interface: a link's PHY signals in clk_i and in phy_clk_i.
// Parameters: WordWidth; Depth of each FIFO, a power of two.
// Throughput: a word a cycle of the slower clock.
// Latency: three cycles of the side that reads.
// Assumes: clk_i is no slower than words come from the PHY; both sides are reset by rst_ni.
// Held by: tests/rtl/test_cdc.py; the proof of consort_fifo_cdc.
module consort_phy_cdc #(
    parameter int unsigned WordWidth = 130,
    parameter int unsigned Depth     = 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [WordWidth-1:0] tx_i,
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    output logic [WordWidth-1:0] rx_o,
    output logic                 rx_valid_o,
    output logic                 channel_up_o,
    output logic                 hard_err_o,

    input  logic                 phy_clk_i,
    output logic [WordWidth-1:0] phy_tx_o,
    output logic                 phy_tx_valid_o,
    input  logic                 phy_tx_ready_i,
    input  logic [WordWidth-1:0] phy_rx_i,
    input  logic                 phy_rx_valid_i,
    input  logic                 phy_channel_up_i,
    input  logic                 phy_hard_err_i
);
  logic rst_n, phy_rst_n, unused_room;

  consort_reset_sync i_reset (
      .clk_i(clk_i),
      .rst_ni(rst_ni),
      .rst_no(rst_n)
  );
  consort_reset_sync i_phy_reset (
      .clk_i(phy_clk_i),
      .rst_ni(rst_ni),
      .rst_no(phy_rst_n)
  );

  consort_fifo_cdc #(
      .Width(WordWidth),
      .Depth(Depth)
  ) i_tx (
      .write_clk_i(clk_i),
      .write_rst_ni(rst_n),
      .data_i(tx_i),
      .valid_i(tx_valid_i),
      .ready_o(tx_ready_o),
      .read_clk_i(phy_clk_i),
      .read_rst_ni(phy_rst_n),
      .data_o(phy_tx_o),
      .valid_o(phy_tx_valid_o),
      .ready_i(phy_tx_ready_i)
  );

  consort_fifo_cdc #(
      .Width(WordWidth),
      .Depth(Depth)
  ) i_rx (
      .write_clk_i(phy_clk_i),
      .write_rst_ni(phy_rst_n),
      .data_i(phy_rx_i),
      .valid_i(phy_rx_valid_i),
      .ready_o(unused_room),
      .read_clk_i(clk_i),
      .read_rst_ni(rst_n),
      .data_o(rx_o),
      .valid_o(rx_valid_o),
      .ready_i(1'b1)
  );

  // A hard error turns a bit as it begins, whose turns the block sees, so one of a cycle is not missed; one that lasts shows as it is.
  logic turns_q, err_q;
  (* ASYNC_REG = "TRUE" *) logic [1:0] up_q, lasts_q;
  (* ASYNC_REG = "TRUE" *) logic [2:0] turned_q;

  always_ff @(posedge phy_clk_i or negedge phy_rst_n) begin
    if (!phy_rst_n) begin
      turns_q <= 1'b0;
      err_q   <= 1'b0;
    end else begin
      turns_q <= turns_q ^ (phy_hard_err_i && !err_q);
      err_q   <= phy_hard_err_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) begin
      up_q <= '0;
      lasts_q <= '0;
      turned_q <= '0;
    end else begin
      up_q <= {up_q[0], phy_channel_up_i};
      lasts_q <= {lasts_q[0], err_q};
      turned_q <= {turned_q[1:0], turns_q};
    end
  end
  assign channel_up_o = up_q[1];
  assign hard_err_o = turned_q[2] != turned_q[1] || lasts_q[1];
endmodule
