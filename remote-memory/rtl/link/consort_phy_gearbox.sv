// SPDX-License-Identifier: Apache-2.0
// Between the link's beats of 128 bits and a PHY's words of 64 or of 256.
//
// Each 64 bits have a mark beside them: the word's upper bits.
//
// 64: a beat is two words, the lower half first. A word that was lost or came twice shifts all beats after it; the link then
// sees bad frames and hunts, and while it hunts the ResyncBeat counts wherever in the words it begins.
// 256: a word is two beats. Where no beat follows the last one of a frame, a GapBeat fills the word, which the link passes
// over between frames; within a frame a beat waits for the next one.
// Interface: tx_* and rx_* are beats of the link; phy_* are words of the PHY.
// Parameters: PhyWidth: 64, 128 or 256.
// Throughput: a beat in two cycles at 64, a beat a cycle at 128, two beats a word at 256.
// Latency: none at 64 and 128; at 256 up to two cycles each way.
// Assumes: rx words at 256 come no faster than in every other cycle; those that do are lost.
// Held by: proof tests/rtl/formal/phy_gearbox_check.sv in all three widths, tests/rtl/test_proofs.py.
module consort_phy_gearbox
  import consort_remote_pkg::*;
#(
    parameter int unsigned PhyWidth = 128,
    localparam int unsigned WordWidth = word_width(PhyWidth)
) (
    input logic clk_i,
    input logic rst_ni,

    input  wire_t                tx_beat_i,     // does not change until it is taken
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    output wire_t                rx_beat_o,
    output logic                 rx_gap_o,      // it is a GapBeat, unless within a frame
    output logic                 rx_valid_o,
    input  logic                 rx_hunting_i,

    output logic [WordWidth-1:0] phy_tx_o,
    output logic                 phy_tx_valid_o,
    input  logic                 phy_tx_ready_i,
    input  logic [WordWidth-1:0] phy_rx_i,
    input  logic                 phy_rx_valid_i
);
  if (PhyWidth == 128) begin : gen_same
    logic unused;
    assign unused = &{1'b0, clk_i, rst_ni, rx_hunting_i};
    assign phy_tx_o = tx_beat_i;
    assign phy_tx_valid_o = tx_valid_i;
    assign tx_ready_o = phy_tx_ready_i;
    assign rx_beat_o = phy_rx_i;
    assign rx_valid_o = phy_rx_valid_i;
    assign rx_gap_o = 1'b0;
  end else if (PhyWidth == 64) begin : gen_half
    logic upper_q, rx_upper_q, at_resync;
    logic [64:0] before_q;

    assign phy_tx_o = upper_q ? {tx_beat_i.control[1], tx_beat_i.data[127:64]} :
        {tx_beat_i.control[0], tx_beat_i.data[63:0]};
    assign phy_tx_valid_o = tx_valid_i;
    assign tx_ready_o = upper_q && phy_tx_ready_i;

    assign rx_beat_o = {phy_rx_i[64], before_q[64], phy_rx_i[63:0], before_q[63:0]};
    assign at_resync = rx_hunting_i && rx_beat_o == {MarksWhole, ResyncBeat};
    assign rx_valid_o = phy_rx_valid_i && (rx_upper_q || at_resync);
    assign rx_gap_o = 1'b0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        upper_q <= 1'b0;
        rx_upper_q <= 1'b0;
        before_q <= '0;
      end else begin
        if (tx_valid_i && phy_tx_ready_i) upper_q <= !upper_q;
        if (phy_rx_valid_i) begin
          rx_upper_q <= !rx_valid_o;
          before_q   <= phy_rx_i;
        end
      end
    end
  end else if (PhyWidth == 256) begin : gen_double
    wire_t lower_q, upper;
    logic [WordWidth-1:0] word;
    logic [4:0] left_q, left;    // beats of the frame that come after this one
    logic [3:0] waited_q;
    logic lower_valid_q, free, takes, fills, word_valid, unused_ready, rx_upper_q;
    header_t header;

    // Of all beats between frames only the first of a frame with units has more behind it; ResyncBeat is not a frame_e.
    assign header = header_t'(tx_beat_i.data[63:0]);
    assign upper = fills ? {MarksWhole, GapBeat} : tx_beat_i;
    assign left = left_q != '0 ? left_q - 5'd1 : header.kind inside {FrameData, FrameAgain} ? header.units : 5'd0;
    assign free = !phy_tx_valid_o || phy_tx_ready_i;
    assign tx_ready_o = !lower_valid_q || free;
    assign takes = tx_valid_i && tx_ready_o;
    // A frame that the link left unfinished, for it went down, is not waited for.
    assign fills = lower_valid_q && free && !tx_valid_i && (left_q == '0 || waited_q == '1);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        lower_valid_q <= 1'b0;
        left_q <= '0;
        waited_q <= '0;
        phy_tx_valid_o <= 1'b0;
        rx_upper_q <= 1'b0;
      end else begin
        if (free) phy_tx_valid_o <= fills || (lower_valid_q && tx_valid_i);
        if (takes || fills) lower_valid_q <= takes && !lower_valid_q;
        if (takes) left_q <= left;
        else if (fills) left_q <= '0;
        waited_q <= takes || !lower_valid_q || waited_q == '1 ? '0 : waited_q + 1'b1;
        if (word_valid) rx_upper_q <= !rx_upper_q;
      end
    end

    always_ff @(posedge clk_i) begin
      if (takes && !lower_valid_q) lower_q <= tx_beat_i;
      if (free) phy_tx_o <= {upper.control, lower_q.control, upper.data, lower_q.data};
    end

    // A word is taken apart in two cycles. The other end cannot send words faster, but repeated ones can come so; one too many
    // is lost, as it may be on any link.
    consort_fifo #(
        .T(logic [WordWidth-1:0]),
        .Depth(4)
    ) i_words (
        .clk_i,
        .rst_ni,
        .clear_i(1'b0),
        .data_i(phy_rx_i),
        .valid_i(phy_rx_valid_i),
        .ready_o(unused_ready),
        .data_o(word),
        .valid_o(word_valid),
        .ready_i(rx_upper_q)
    );
    logic unused;
    assign unused = &{1'b0, rx_hunting_i, unused_ready};
    assign rx_beat_o = rx_upper_q ? {word[259:258], word[255:128]} : {word[257:256], word[127:0]};
    assign rx_valid_o = word_valid;
    assign rx_gap_o = rx_beat_o == {MarksWhole, GapBeat};
  end else begin : gen_check_width
    $error("consort_phy_gearbox: PhyWidth must be 64, 128 or 256");
  end
endmodule
