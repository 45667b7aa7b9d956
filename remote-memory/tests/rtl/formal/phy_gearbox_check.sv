// SPDX-License-Identifier: Apache-2.0
// A gearbox that hears itself over a wire without errors that stops at will: each beat comes out once, unaltered, with its marks and
// in order;
// what it shows the PHY stays until it is taken. 64 and 128: a beat comes out in the cycle in which it is taken. 256: what is
// put between is a GapBeat, and only between frames, or where a frame was not continued for 15 cycles; the words' FIFO does not
// overflow. And of 64: a receiver that hunts finds a ResyncBeat wherever in the words it begins, and then whole beats.
module phy_gearbox_check
  import consort_remote_pkg::*;
#(
    parameter int unsigned PhyWidth = 128,
    localparam int unsigned WordWidth = word_width(PhyWidth)
) (
    input logic                 clk,
    input logic                 rst_n,
    input wire_t                tx_beat,
    input logic                 tx_valid,
    input logic                 phy_ready,
    input logic                 mark,          // follow the beat that goes in now
    input logic [WordWidth-1:0] any_word,      // of a wire with errors
    input logic                 any_valid
);
  logic tx_ready, rx_gap, rx_valid, phy_tx_valid;
  wire_t rx_beat;
  logic [WordWidth-1:0] phy_tx;
  logic past_valid = 1'b0;

  consort_phy_gearbox #(
      .PhyWidth(PhyWidth)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .tx_beat_i(tx_beat), .tx_valid_i(tx_valid), .tx_ready_o(tx_ready), .rx_beat_o(rx_beat),
      .rx_gap_o(rx_gap), .rx_valid_o(rx_valid), .rx_hunting_i(1'b0), .phy_tx_o(phy_tx), .phy_tx_valid_o(phy_tx_valid),
      .phy_tx_ready_i(phy_ready), .phy_rx_i(phy_tx), .phy_rx_valid_i(phy_tx_valid && phy_ready)
  );

  logic tx_waits_q, phy_waits_q;
  wire_t tx_before_q;
  logic [WordWidth-1:0] phy_before_q;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    tx_before_q <= tx_beat;
    phy_before_q <= phy_tx;
    if (!rst_n) {tx_waits_q, phy_waits_q} <= '0;
    else begin
      tx_waits_q <= tx_valid && !tx_ready;
      phy_waits_q <= phy_tx_valid && !phy_ready;
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && tx_waits_q) assume (tx_valid && tx_beat == tx_before_q);
    if (past_valid && rst_n && phy_waits_q) assert (phy_tx_valid && phy_tx == phy_before_q);
  end

  if (PhyWidth <= 128) begin : gen_at_once
    always_comb begin
      if (past_valid && rst_n) begin
        assert (rx_valid == (tx_valid && tx_ready));
        if (rx_valid) assert (rx_beat == tx_beat);
        assert (!rx_gap);
        if (tx_valid && phy_ready) assert (phy_tx_valid);
      end
    end
  end

  if (PhyWidth == 64) begin : gen_half
    always_comb begin
      if (past_valid && rst_n) begin
`ifdef PROVE
        // About its state.
        assert (dut.gen_half.upper_q == dut.gen_half.rx_upper_q);
        if (dut.gen_half.upper_q) assert (tx_waits_q);
        if (dut.gen_half.upper_q) assert (dut.gen_half.before_q == {tx_before_q.control[0], tx_before_q.data[63:0]});
`endif
      end
    end

    // A receiver of any words, which hunts.
    wire_t hunted, joined;
    logic hunted_valid, unused_ready, unused_gap, unused_valid;
    logic [64:0] unused_word, word_q;
    logic found_q, second_q;   // the word before was the end of a ResyncBeat; a whole beat after that another begins
    consort_phy_gearbox #(
        .PhyWidth(64)
    ) receiver (
        .clk_i(clk), .rst_ni(rst_n), .tx_beat_i('0), .tx_valid_i(1'b0), .tx_ready_o(unused_ready), .rx_beat_o(hunted),
        .rx_gap_o(unused_gap), .rx_valid_o(hunted_valid), .rx_hunting_i(1'b1), .phy_tx_o(unused_word),
        .phy_tx_valid_o(unused_valid), .phy_tx_ready_i(1'b1), .phy_rx_i(any_word), .phy_rx_valid_i(any_valid)
    );
    logic is_resync;
    assign joined = '{control: {any_word[64], word_q[64]}, data: {any_word[63:0], word_q[63:0]}};
    assign is_resync = joined == {2'b11, ResyncBeat};
    always_ff @(posedge clk) begin
      if (!rst_n) begin
        word_q <= '0;
        {found_q, second_q} <= '0;
      end else if (any_valid) begin
        word_q <= any_word;
        found_q <= is_resync;
        second_q <= found_q && !is_resync;
      end
    end
    always_comb begin
      if (past_valid && rst_n) begin
        if (any_valid && is_resync) assert (hunted_valid && hunted == joined);
        // The words after it are taken in pairs: not with the first word, but with the second.
        if (any_valid && found_q && !is_resync) assert (!hunted_valid);
        if (any_valid && second_q) assert (hunted_valid && hunted == joined);
        if (!any_valid) assert (!hunted_valid);
`ifdef PROVE
        // About its state.
        assert (receiver.gen_half.before_q == word_q);
        if (found_q) assert (!receiver.gen_half.rx_upper_q);
        if (second_q) assert (receiver.gen_half.rx_upper_q);
`endif
      end
    end
  end

  if (PhyWidth == 256) begin : gen_double
    logic [3:0] held_q, before_q;   // beats under way with those that fill; of the marked one, those before it
    logic [4:0] left_q;             // of the frame that goes in
    logic [3:0] idle_q;             // cycles without a beat
    logic follows_q, goes_in, fills;
    wire_t beat_q;
    header_t header;

    assign goes_in = tx_valid && tx_ready;
    assign fills = dut.gen_double.fills;
    assign header = header_t'(tx_beat.data[63:0]);

    always_ff @(posedge clk) begin
      if (!rst_n) begin
        {held_q, left_q, idle_q} <= '0;
        follows_q <= 1'b0;
      end else begin
        held_q <= held_q + 4'(goes_in) + 4'(fills) - 4'(rx_valid);
        if (tx_valid) idle_q <= '0;
        else if (idle_q != '1) idle_q <= idle_q + 4'd1;
        if (goes_in) begin
          if (left_q != '0) left_q <= left_q - 5'd1;
          else left_q <= header.kind == FrameData || header.kind == FrameAgain ? header.units : 5'd0;
        end else if (fills) begin
          left_q <= '0;
        end
        if (!follows_q && mark && (goes_in || fills)) begin
          follows_q <= 1'b1;
          before_q <= held_q - 4'(rx_valid);
          beat_q <= goes_in ? tx_beat : {2'b11, GapBeat};
        end else if (follows_q && rx_valid) begin
          before_q <= before_q - 4'd1;
          if (before_q == '0) follows_q <= 1'b0;
        end
      end
    end

    // Where the marked beat is: in the FIFO of words, in the word that is shown, or waiting for its other half.
    logic [3:0] stored, at;
    logic [2:0] words;
    logic [WordWidth-1:0] word;
    wire_t there;
    assign words = dut.gen_double.i_words.write_q - dut.gen_double.i_words.read_q;
    assign stored = {words, 1'b0} - 4'(dut.gen_double.rx_upper_q);
    assign at = before_q + 4'(dut.gen_double.rx_upper_q);
    assign word = before_q < stored ? dut.gen_double.i_words.memory[2'(dut.gen_double.i_words.read_q+3'(at>>1))] : phy_tx;
    assign there = before_q >= stored && (!phy_tx_valid || before_q - stored >= 4'd2) ? dut.gen_double.lower_q :
        at[0] ? {word[259:258], word[255:128]} : {word[257:256], word[127:0]};

    always_comb begin
      if (past_valid && rst_n) begin
        assert (!(goes_in && fills));
        if (fills) assert (left_q == '0 || idle_q == 4'd15);
        // Half a word does not wait for the next frame.
        if (dut.gen_double.lower_valid_q && left_q == '0 && !tx_valid && !(phy_tx_valid && !phy_ready)) assert (fills);
        if (phy_tx_valid && phy_ready) assert (dut.gen_double.i_words.ready_o);
        assert (rx_gap == (rx_beat == {2'b11, GapBeat}));
        if (follows_q && before_q == '0 && rx_valid) assert (rx_beat == beat_q);
        // Nothing comes out that did not go in, and what is there comes out.
        if (rx_valid) assert (held_q != '0);
`ifdef PROVE
        // About its state.
        assert (held_q == stored + {2'd0, phy_tx_valid, 1'b0} + 4'(dut.gen_double.lower_valid_q));
        assert (held_q <= 4'd4);
        assert (rx_valid == (words != '0));
        if (dut.gen_double.rx_upper_q) assert (rx_valid);
        assert (dut.gen_double.left_q == left_q);
        if (!tx_valid && dut.gen_double.lower_valid_q) assert (dut.gen_double.waited_q <= idle_q);
        assert (words <= 3'd2);
        assert (dut.gen_double.i_words.ready_o == (words != 3'd4));
        assert (dut.gen_double.i_words.one_q == (words == 3'd1));
        assert (dut.gen_double.i_words.one_left_q == (words == 3'd3));
        if (follows_q) assert (before_q < held_q && there == beat_q);
`endif
      end
    end
  end
endmodule
