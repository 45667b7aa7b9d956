// SPDX-License-Identifier: Apache-2.0
// The last stages of what a link sends: the CRC goes into a frame's last beat, and frames are kept until they are acknowledged.
//
// beats go through three registers; the CRC is added up on their way. New beats are written to the replay buffer as a repetition sends
// them: as FrameAgain, with the CRC that goes with that. An acknowledgement frees all frames before its number.
// Interface: beat_* from consort_link_sender, taken when advance_o; phy_* is a stream; replay_read_i reads the buffer for beats marked beat_replay_i.
// Parameters: Depth of the replay buffer in beats, a power of two; SeqWidth.
// Throughput: a beat a cycle.
// Latency: three cycles from beat_* to phy_tx_o.
// Assumes: a beat that is kept finds room: the sender starts a frame only while space_o; of numbers fewer than half are under way.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py), with a wrong version of this module.
module consort_link_replay
  import consort_remote_pkg::*;
#(
    parameter int unsigned Depth    = 512,
    parameter int unsigned SeqWidth = 8,
    localparam int unsigned ReplayPtr = $clog2(Depth)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic up_i,

    input  logic                 ack_i,            // an acknowledgement was heard
    input  logic [SeqWidth-1:0]  ack_number_i,
    output logic                 new_ack_o,        // one of something new, a cycle later
    output logic [SeqWidth-1:0]  oldest_o,         // frame without acknowledgement
    output logic                 space_o,          // for three of the longest frames
    output logic                 empty_o,          // no beat is on its way
    output logic                 between_o,        // the beat in the second register ends a frame, or is between frames
    input  logic                 drop_i,           // the beats behind that one do not go
    output logic [ReplayPtr-1:0] replay_write_o,
    output logic [ReplayPtr-1:0] replay_oldest_o,
    input  logic [ReplayPtr-1:0] replay_read_i,

    output logic                 advance_o,
    input  logic [BeatWidth-1:0] beat_i,
    input  logic                 beat_valid_i,
    input  logic                 beat_first_i,
    input  logic                 beat_last_i,
    input  logic                 beat_new_i,
    input  logic                 beat_raw_i,
    input  logic                 beat_replay_i,
    input  logic                 beat_counts_i,
    input  logic [SeqWidth-1:0]  beat_seq_i,

    output wire_t                phy_tx_o,
    output logic                 phy_tx_valid_o,
    input  logic                 phy_tx_ready_i
);
  typedef logic [SeqWidth-1:0] seq_t;

  logic advance;                 // the pipeline moves
  logic [BeatWidth-1:0] a_beat_q, b_beat_q;
  logic a_valid_q, a_first_q, a_last_q, a_new_q, a_raw_q, a_replay_q;
  logic b_valid_q, b_first_q, b_last_q, b_more_q, b_new_q;  // b_more_q: another of its frame follows
  logic [1:0] a_marks_q, b_marks_q;
  seq_t oldest_q, a_seq_q, b_seq_q, b_next_seq;
  logic [31:0] tx_due_q, tx_crc, tx_step, b_crc, b_crc_q;
  logic [ReplayPtr-1:0] replay_write_q, replay_oldest_q, replay_used_q;
  logic [ReplayPtr-1:0] next_start[2**(SeqWidth-1)];  // of the frames in flight, by the number after theirs
  // Beats with their marks: whether they end a frame, and begin one.
  logic [BeatWidth+1:0] replay_ram[Depth];
  logic [BeatWidth+1:0] replay_data_q;
  logic new_ack, new_ack_q;
  seq_t acked, unacked;          // frames that the acknowledgement is of, and those behind them

  assign advance = !phy_tx_valid_o || phy_tx_ready_i;
  assign advance_o = advance;
  assign b_next_seq = b_seq_q + 1'b1;
  // Of a frame under way, or of the next one: no more are under way than half of the numbers less one, so that two upper bits say it.
  assign acked = ack_number_i - oldest_q;
  assign unacked = beat_seq_i - ack_number_i;
  assign new_ack = ack_i && up_i && ack_number_i != oldest_q && !acked[SeqWidth-1] && !unacked[SeqWidth-1];
  assign new_ack_o = new_ack_q;
  assign oldest_o = oldest_q;
  assign empty_o = !a_valid_q && !b_valid_q;
  assign between_o = b_valid_q && b_marks_q[1];
  assign replay_write_o = replay_write_q;
  assign replay_oldest_o = replay_oldest_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      replay_used_q <= '0;
      space_o <= 1'b0;
      new_ack_q <= 1'b0;
    end else begin
      replay_used_q <= replay_write_q - replay_oldest_q;
      space_o <= replay_used_q <= ReplayPtr'(Depth - 3 * (MaxUnits + 1));
      new_ack_q <= new_ack;
    end
  end

  // Second stage: what each beat adds to the CRC.
  consort_crc_sum i_tx_sum (
      .data_i(a_beat_q),
      .sum_o(b_crc)
  );

  always_ff @(posedge clk_i) begin
    if (advance) begin
      a_beat_q <= beat_i;
      a_marks_q <= beat_raw_i ? MarksWhole : {beat_last_i, beat_first_i};
      if (beat_counts_i) a_seq_q <= beat_seq_i;
      replay_data_q <= replay_ram[replay_read_i];
      {b_marks_q, b_beat_q} <= a_replay_q ? replay_data_q : {a_marks_q, a_beat_q};
      b_crc_q <= b_crc;
      b_seq_q <= a_seq_q;
    end
  end

  // Third stage: the CRC goes into the last beat, and new beats into the buffer.
  // What is kept for a repetition is of another kind, with the CRC that goes with it.
  logic [BeatWidth-1:0] c_beat, kept_beat;
  logic [4:0] b_units, b_units_q;
  assign b_units = b_first_q ? b_beat_q[7:3] : b_units_q;
  assign tx_crc = b_crc_q ^ tx_due_q;
  consort_crc_step i_tx_step (
      .crc_i(tx_crc),
      .crc_o(tx_step)
  );
  always_comb begin
    kept_beat = c_beat;
    if (b_first_q) kept_beat[2:0] = FrameAgain;
    if (b_last_q) kept_beat[127:96] = tx_crc ^ CrcAgain[b_units];
  end
  assign c_beat = {b_last_q ? tx_crc : b_beat_q[127:96], b_beat_q[95:0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {a_valid_q, a_first_q, a_last_q, a_new_q, a_raw_q, a_replay_q} <= '0;
      {b_valid_q, b_first_q, b_last_q, b_more_q, b_new_q} <= '0;
      phy_tx_valid_o <= 1'b0;
      replay_write_q <= '0;
      replay_oldest_q <= '0;
      oldest_q <= '0;
    end else begin
      if (advance) begin
        {a_valid_q, a_first_q, a_last_q} <= {beat_valid_i && !drop_i, beat_first_i, beat_last_i};
        {a_new_q, a_raw_q, a_replay_q} <= {beat_new_i, beat_raw_i, beat_replay_i};
        {b_valid_q, b_first_q} <= {a_valid_q && !drop_i, a_first_q};
        b_last_q <= a_last_q && !a_raw_q;
        b_more_q <= !a_last_q && !a_raw_q;
        b_new_q <= a_valid_q && a_new_q;
        phy_tx_valid_o <= b_valid_q;
        if (b_new_q) replay_write_q <= replay_write_q + 1'b1;
      end
      if (new_ack) begin
        oldest_q <= ack_number_i;
        replay_oldest_q <= next_start[ack_number_i[SeqWidth-2:0]];
      end
      if (!up_i) begin
        oldest_q <= '0;
        replay_write_q <= '0;
        replay_oldest_q <= '0;
        a_new_q <= 1'b0;
        b_new_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      phy_tx_o <= {b_marks_q, c_beat};
      b_units_q <= b_units;
      // A frame that was broken off because the link went down is followed by a ResyncBeat.
      if (b_valid_q) tx_due_q <= b_more_q ? tx_step : CrcFirst;
      if (b_new_q) begin
        replay_ram[replay_write_q] <= {b_marks_q, kept_beat};
        if (b_last_q) next_start[b_next_seq[SeqWidth-2:0]] <= replay_write_q + 1'b1;
      end
    end
  end
endmodule
