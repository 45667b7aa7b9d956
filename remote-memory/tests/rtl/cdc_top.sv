// SPDX-License-Identifier: Apache-2.0
// consort_phy_cdc with both of its clocks given from outside.
module cdc_top (
    input  logic        clk_i,
    input  logic        phy_clk_i,
    input  logic        rst_ni,
    input  logic [31:0] tx_i,
    input  logic        tx_valid_i,
    output logic        tx_ready_o,
    output logic [31:0] rx_o,
    output logic        rx_valid_o,
    output logic        channel_up_o,
    output logic        hard_err_o,
    output logic [31:0] phy_tx_o,
    output logic        phy_tx_valid_o,
    input  logic        phy_tx_ready_i,
    input  logic [31:0] phy_rx_i,
    input  logic        phy_rx_valid_i,
    input  logic        phy_channel_up_i,
    input  logic        phy_hard_err_i
);
  consort_phy_cdc #(
      .WordWidth(32)
  ) i_cdc (.*);
endmodule
