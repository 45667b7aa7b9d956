// SPDX-License-Identifier: Apache-2.0
// Chooses what a link sends next: a user's frame, a control frame, or a repetition.
//
// It makes a beat of each half of a header, unit and tail, in the order in which frames go out. Control frames go between frames and,
// where the other end may hunt, after a ResyncBeat; a repetition goes when the pipeline is empty, from the oldest frame without acknowledgement.
// Interface: tx_* is the user's frame, its units follow each when it is asked for; *_due_i is what has to be sent; beat_* is a beat for
// consort_link_replay, which takes it when advance_i.
// Parameters: SeqWidth, TimerWidth as in consort_link; ReplayPtr, the width of a place in the replay buffer.
// Throughput: a beat a cycle; a frame of U units is U + 1 beats. A control frame is one beat, after a ResyncBeat two.
// Latency: none; a beat is made in the cycle in which its unit is taken.
// Assumes: tx_units_i is stable while tx_valid_i, and units of a frame that began come in the end.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py), with three wrong versions of this module.
module consort_link_sender
  import consort_remote_pkg::*;
#(
    parameter int unsigned SeqWidth   = 8,
    parameter int unsigned TimerWidth = 24,
    parameter int unsigned ReplayPtr  = 9
) (
    input logic clk_i,
    input logic rst_ni,
    input logic up_i,

    input  logic [MetaWidth-1:0] tx_meta_i,
    input  logic [4:0]           tx_units_i,
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    input  logic [BeatWidth-1:0] tx_unit_i,
    input  logic                 tx_unit_valid_i,
    output logic                 tx_unit_ready_o,

    // What every frame, or a control frame, says.
    input logic [SeqWidth-1:0]   expected_i,
    input logic [SeqWidth-1:0]   nonce_i,
    input logic [TimerWidth-1:0] down_after_i,

    input  logic init_due_i,
    input  logic init_ack_due_i,
    input  logic nak_due_i,
    input  logic ack_now_i,
    input  logic keep_due_i,
    output logic init_sent_o,
    output logic init_ack_sent_o,
    output logic nak_sent_o,
    output logic ack_sent_o,         // a header with expected_i goes out

    input  logic                 repeat_i,         // all from the oldest on
    input  logic [SeqWidth-1:0]  oldest_i,
    input  logic                 space_i,          // in the replay buffer, for three of the longest frames
    input  logic                 pipe_empty_i,
    input  logic [ReplayPtr-1:0] replay_write_i,
    input  logic [ReplayPtr-1:0] replay_oldest_i,
    output logic [ReplayPtr-1:0] replay_read_o,
    output logic                 idle_o,
    output logic                 repeating_o,
    output logic                 repeat_due_o,
    input  logic                 between_i,        // the beat two before this one was the last of its frame
    output logic                 drop_o,           // this beat and the one before it do not go: all is repeated once more
    output logic                 none_out_o,       // a cycle later
    output logic [31:0]          replays_o,

    input  logic                 advance_i,
    output logic [BeatWidth-1:0] beat_o,
    output logic                 beat_valid_o,
    output logic                 beat_first_o,     // with a header
    output logic                 beat_last_o,      // the last of its frame
    output logic                 beat_new_o,       // to be kept
    output logic                 beat_raw_o,       // goes out as it is
    output logic                 beat_replay_o,    // from the replay buffer
    output logic                 beat_counts_o,    // the number is of the frame that begins
    output logic [SeqWidth-1:0]  beat_seq_o
);
  localparam int unsigned MaxInFlight = 2 ** (SeqWidth - 1) - 1;
  typedef logic [SeqWidth-1:0] seq_t;

  typedef enum logic [1:0] {
    TxIdle,
    TxUnits,
    TxControl,  // the control frame after its ResyncBeat
    TxReplay
  } tx_state_e;

  tx_state_e tx_state_q;
  seq_t seq_q, in_flight;
  logic [4:0] tx_left_q;
  logic tx_left_one_q, tx_empty, tx_go, tx_starts;
  logic [63:0] tx_half_q;
  logic [31:0] tx_meta_q;
  logic [ReplayPtr-1:0] replay_read_q;
  logic replay_due_q, replay_start, window_q, open_q;
  settings_t settings;
  frame_e control_kind, control_q;
  logic control_due, control_short;
  header_t header_out;

  assign in_flight = seq_q - oldest_i;
  assign replay_read_o = replay_read_q;
  assign idle_o = tx_state_q == TxIdle;
  assign repeating_o = tx_state_q == TxReplay;
  assign repeat_due_o = replay_due_q;
  // Asked again: what is still to come would be ignored. A frame that has begun goes whole, or the other end would take what follows for
  // its rest, and ask once more.
  assign drop_o = tx_state_q == TxReplay && replay_due_q && between_i;
  assign beat_counts_o = tx_state_q == TxIdle;
  assign beat_seq_o = seq_q;

  // An acknowledgement alone needs no ResyncBeat: between frames the other end is at a boundary or hunts anyway.
  assign control_due = init_due_i || init_ack_due_i || (up_i && (nak_due_i || ack_now_i || keep_due_i));
  assign control_short = !init_due_i && !init_ack_due_i && !nak_due_i && !keep_due_i;
  always_comb begin
    control_kind = FrameAck;
    if (init_due_i) control_kind = FrameInit;
    else if (init_ack_due_i) control_kind = FrameInitAck;
    else if (nak_due_i) control_kind = FrameNak;
  end

  assign settings = '{zero: '0, version: LinkVersion, down_after: 24'(down_after_i)};
  assign tx_empty = tx_units_i == '0;
  assign tx_go = tx_state_q == TxIdle && open_q && window_q;
  assign tx_starts = tx_go && tx_valid_i && (tx_empty || tx_unit_valid_i);
  assign tx_ready_o = tx_go && advance_i && (tx_empty || tx_unit_valid_i);
  assign tx_unit_ready_o = advance_i && (tx_state_q == TxUnits ? !tx_left_one_q : tx_go && tx_valid_i && !tx_empty);
  assign replay_start = tx_state_q == TxIdle && !open_q && !control_due && replay_due_q && up_i && pipe_empty_i;

  always_comb begin
    header_out = '{meta: tx_meta_i[71:32], ack: 8'(expected_i), seq: 8'(seq_q), units: tx_units_i, kind: FrameData};
    beat_o = {tx_empty ? {32'd0, tx_meta_i[31:0]} : tx_unit_i[63:0], header_out};
    beat_valid_o = tx_starts;
    beat_first_o = 1'b1;
    beat_last_o = tx_empty;
    beat_new_o = 1'b1;
    beat_raw_o = 1'b0;
    beat_replay_o = 1'b0;
    case (tx_state_q)
      TxIdle: begin
        if (!open_q && control_due) begin
          header_out = '{meta: '0, ack: 8'(expected_i), seq: '0, units: '0, kind: FrameAck};
          beat_o = control_short ? {64'd0, header_out} : ResyncBeat;
          beat_valid_o = 1'b1;
          beat_first_o = control_short;
          beat_last_o = control_short;
          beat_new_o = 1'b0;
          beat_raw_o = !control_short;
        end else if (!open_q) begin
          beat_o = ResyncBeat;
          beat_valid_o = replay_start;
          beat_first_o = 1'b0;
          beat_last_o = 1'b0;
          beat_new_o = 1'b0;
          beat_raw_o = 1'b1;
        end
      end
      TxUnits: begin
        beat_o = {tx_left_one_q ? {32'd0, tx_meta_q} : tx_unit_i[63:0], tx_half_q};
        beat_valid_o = tx_left_one_q || tx_unit_valid_i;
        beat_first_o = 1'b0;
        beat_last_o = tx_left_one_q;
      end
      TxControl: begin
        header_out = '{
            meta: settings[71:32],
            ack: 8'(expected_i),
            seq: control_q inside {FrameInit, FrameInitAck} ? 8'(nonce_i) : '0,
            units: '0,
            kind: control_q
        };
        beat_o = {32'd0, settings[31:0], header_out};
        beat_valid_o = 1'b1;
        beat_last_o = 1'b1;
        beat_new_o = 1'b0;
      end
      default: begin  // TxReplay
        beat_valid_o = replay_read_q != replay_write_i;
        beat_first_o = 1'b0;
        beat_last_o = 1'b0;
        beat_new_o = 1'b0;
        beat_raw_o = 1'b1;
        beat_replay_o = 1'b1;
      end
    endcase
  end

  assign ack_sent_o = beat_valid_o && beat_first_o && advance_i;
  assign init_sent_o = tx_state_q == TxControl && control_q == FrameInit && advance_i;
  assign init_ack_sent_o = tx_state_q == TxControl && control_q == FrameInitAck && advance_i;
  assign nak_sent_o = tx_state_q == TxControl && control_q == FrameNak && advance_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tx_state_q <= TxIdle;
      control_q <= FrameNone;
      seq_q <= '0;
      tx_left_q <= '0;
      tx_left_one_q <= 1'b0;
      replay_read_q <= '0;
      replay_due_q <= 1'b0;
      replays_o <= '0;
      window_q <= 1'b0;
      open_q <= 1'b0;
      none_out_o <= 1'b1;
    end else begin
      // With the frame that starts now.
      window_q <= tx_starts && advance_i ? in_flight < SeqWidth'(MaxInFlight - 1) : in_flight < SeqWidth'(MaxInFlight);
      // Frames may start, unless something else has to go first.
      open_q <= up_i && space_i && !control_due && !replay_due_q;
      none_out_o <= seq_q == oldest_i;
      if (advance_i) begin
        case (tx_state_q)
          TxIdle: begin
            if (!open_q && control_due) begin
              control_q <= control_kind;
              if (!control_short) tx_state_q <= TxControl;
            end else if (replay_start) begin
              tx_state_q <= TxReplay;
              replay_read_q <= replay_oldest_i;
              replay_due_q <= 1'b0;
              replays_o <= replays_o + 1'b1;
            end else if (tx_starts) begin
              seq_q <= seq_q + 1'b1;
              if (!tx_empty) tx_state_q <= TxUnits;
            end
            tx_left_q <= tx_units_i;
            tx_left_one_q <= tx_units_i == 5'd1;
          end
          TxUnits:
          if (beat_valid_o) begin
            tx_left_q <= tx_left_q - 5'd1;
            tx_left_one_q <= tx_left_q == 5'd2;
            if (tx_left_one_q) tx_state_q <= TxIdle;
          end
          TxControl: tx_state_q <= TxIdle;
          default: begin
            if (beat_valid_o) replay_read_q <= replay_read_q + 1'b1;
            if (!beat_valid_o || drop_o) tx_state_q <= TxIdle;
          end
        endcase
      end
      if (repeat_i) replay_due_q <= 1'b1;
      if (!up_i) begin
        seq_q <= '0;
        replay_due_q <= 1'b0;
        if (tx_state_q inside {TxUnits, TxReplay}) tx_state_q <= TxIdle;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      if (tx_state_q == TxIdle) tx_meta_q <= tx_meta_i[31:0];
      if (tx_unit_ready_o && tx_unit_valid_i) tx_half_q <= tx_unit_i[127:64];
    end
  end
endmodule
