// SPDX-License-Identifier: Apache-2.0
// One of each checker, for checker_user.cpp, which plays both sides of what they watch.
module checkers_top
  import consort_remote_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input axi_a_t aw_i,
    input logic   aw_valid_i,
    input logic   aw_ready_i,
    input axi_w_t w_i,
    input logic   w_valid_i,
    input logic   w_ready_i,
    input axi_b_t b_i,
    input logic   b_valid_i,
    input logic   b_ready_i,
    input axi_a_t ar_i,
    input logic   ar_valid_i,
    input logic   ar_ready_i,
    input axi_r_t r_i,
    input logic   r_valid_i,
    input logic   r_ready_i,

    input logic       stream_clear_i,
    input logic       stream_valid_i,
    input logic       stream_ready_i,
    input logic [7:0] stream_data_i,

    input logic       up_i,
    input logic       phy_valid_i,
    input logic       phy_ready_i,
    input logic [7:0] phy_data_i,
    input logic       frames_valid_i,
    input logic       frames_ready_i,
    input logic [4:0] frames_data_i,
    input logic       units_valid_i,
    input logic       units_ready_i,
    input logic [7:0] units_data_i,

    input logic       credit_clear_i,
    input logic [4:0] want_i,
    input logic       enough_i,
    input logic       take_i,
    input logic [4:0] give_i,

    input logic       accept_i,
    input logic [3:0] kept_i,
    input logic [4:0] units_of_i
);
  consort_axi_checker #(.DataWithin(64)) i_axi (.*);

  header_t kept_of;
  assign kept_of = '{kind: FrameData, units: units_of_i, default: '0};
  consort_buffer_checker #(
      .RxPtr(3)
  ) i_buffer (
      .clk_i,
      .accept_i,
      .rx_spec_q(kept_i),
      .rx_commit_q('0),
      .end_header_i(kept_of)
  );

  consort_stream_checker #(
      .Width(8)
  ) i_stream (
      .clk_i,
      .rst_ni,
      .clear_i(stream_clear_i),
      .valid_i(stream_valid_i),
      .ready_i(stream_ready_i),
      .data_i(stream_data_i)
  );

  consort_link_checker i_link (
      .clk_i,
      .rst_ni,
      .up_o(up_i),
      .phy_tx_o($bits(wire_t)'(phy_data_i)),
      .phy_tx_valid_o(phy_valid_i),
      .phy_tx_ready_i(phy_ready_i),
      .rx_meta_o('0),
      .rx_units_o(frames_data_i),
      .rx_valid_o(frames_valid_i),
      .rx_ready_i(frames_ready_i),
      .rx_unit_o(BeatWidth'(units_data_i)),
      .rx_unit_valid_o(units_valid_i),
      .rx_unit_ready_i(units_ready_i)
  );

  consort_credit_checker #(
      .Max(16)
  ) i_credit (
      .clk_i,
      .rst_ni,
      .clear_i(credit_clear_i),
      .want_i,
      .enough_o(enough_i),
      .take_i,
      .give_i
  );
endmodule
