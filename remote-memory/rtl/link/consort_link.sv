// SPDX-License-Identifier: Apache-2.0
// One end of a reliable link: frames go out with a sequence number and a CRC and stay in a buffer until the other end has
// acknowledged them; what arrives is handed on once, in order, and only when its CRC was good.
// A receiver that sees a bad frame asks for a repetition (FrameNak) and ignores everything up to the next ResyncBeat. The sender goes
// back to the oldest frame without acknowledgement on a request or when its time is over. What is framing and what is data the marks of the wire
// say (wire_t), so data are never taken for a ResyncBeat, a header or a tail. When a link is up says consort_link_session. This module is wires:
//   receiving  phy_rx -> deframer -> receiver (numbers, room) -> buffer -> rx_*
//   sending    tx_* -> sender (what goes next) -> replay (CRC, kept frames) -> phy_tx;  acks and timers say what is due
// Interface: tx_* and rx_* are frames as streams, each with its units as a stream; phy_* are beats, of which none is refused on its way in.
// Parameters: Initiator, which end it is; RxDepth in units, HeadDepth in frames and ReplayDepth in beats, powers of two; AckDelay and AckFrames, after
// which an acknowledgement goes by itself; SeqWidth and TimerWidth of numbers and times.
// Throughput: a beat a cycle each way; a frame of U units is U + 1 beats.
// Latency: from tx_valid_i to the first beat at phy_tx_o three cycles; from the last beat at phy_rx_i to rx_valid_o two.
// Assumes: down_after_i is longer than a round trip of the wire and AckDelay or an eighth of it, whichever is less; both ends are of one version.
// Held by: the exploration of two of them, small, with a wire's faults and fourteen wrong versions (tests/rtl/test_explore.py); checkers (rtl/check).
module consort_link
  import consort_remote_pkg::*;
#(
    parameter bit          Initiator   = 1'b1,
    parameter int unsigned RxDepth     = 512,  // units, a power of two
    parameter int unsigned HeadDepth   = 128,  // frames received and not taken, a power of two
    parameter int unsigned ReplayDepth = 512,  // beats, a power of two
    parameter int unsigned AckDelay    = 512,  // cycles that an acknowledgement waits for a frame to travel in
    parameter int unsigned AckFrames   = 32,   // frames without acknowledgement after which it goes by itself
    parameter int unsigned SeqWidth    = 8,    // of the header's 8 bits; fewer for the exploration of all states
    parameter int unsigned TimerWidth  = 24
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic        enable_i,
    input  logic [15:0] ack_timeout_i,  // cycles without acknowledgement after which all is repeated
    input  logic [23:0] down_after_i,   // cycles without a good frame, or without progress, after which the link is down
    output logic [23:0] peer_after_o,   // the other end's; 0: not known yet
    output logic        up_o,
    // Of the target: up_o is low, the user drops what it has, and the link waits for drained_i.
    output logic        drain_o,
    input  logic        drained_i,

    // A frame to send: its units follow, each when it is asked for. tx_units_i is stable while tx_valid_i.
    input  logic [MetaWidth-1:0] tx_meta_i,
    input  logic [4:0]           tx_units_i,
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    input  logic [BeatWidth-1:0] tx_unit_i,
    input  logic                 tx_unit_valid_i,
    output logic                 tx_unit_ready_o,

    // Frames received, and their units, which show a cycle later. One that did not wait shows as what arrives, too: in less
    // logic.
    output logic                 rx_waited_o,
    output logic [MetaWidth-1:0] rx_arriving_meta_o,
    output logic [MetaWidth-1:0] rx_meta_o,
    output logic [4:0]           rx_units_o,
    output logic                 rx_valid_o,
    input  logic                 rx_ready_i,
    output logic [BeatWidth-1:0] rx_unit_o,
    output logic                 rx_unit_valid_o,
    input  logic                 rx_unit_ready_i,

    output wire_t                phy_tx_o,
    output logic                 phy_tx_valid_o,
    input  logic                 phy_tx_ready_i,
    input  wire_t                phy_rx_i,
    input  logic                 phy_rx_valid_i,
    input  logic                 phy_rx_gap_i,      // between frames: no beat at all
    output logic                 phy_rx_hunting_o,  // waits for a ResyncBeat

    output logic [31:0] bad_frames_o,
    output logic [31:0] replays_o,
    output logic [31:0] downs_o
);

  localparam int unsigned ReplayPtr = $clog2(ReplayDepth);
  typedef logic [SeqWidth-1:0] seq_t;
  typedef logic [TimerWidth-1:0] timer_t;

  timer_t down_after, keep_after, peer_after;
  logic up, starting, confirms, vain_over, init_due, init_ack_due, init_sent, init_ack_sent;
  seq_t nonce, expected, heard_seq, heard_number;
  settings_t heard_settings;
  logic heard, heard_init, heard_same, heard_init_ack, heard_control, heard_talk, heard_nak, heard_ack;
  logic accepted, duplicate, bad, repeats;

  assign down_after = TimerWidth'(down_after_i);
  assign up_o = up;
  assign peer_after_o = 24'(peer_after);

  // ---- Receiving ----

  logic first, last, unit_valid, bad_header, frame_end, good, ahead, room, head_ready, refused, accept;
  header_t first_header, header, end_header;
  logic [BeatWidth-1:0] unit;
  logic [31:0] end_meta;

  consort_link_deframer i_deframer (
      .clk_i,
      .rst_ni,
      .phy_i(phy_rx_i),
      .phy_valid_i(phy_rx_valid_i),
      .gap_i(phy_rx_gap_i),
      .hunting_o(phy_rx_hunting_o),
      .first_o(first),
      .first_header_o(first_header),
      .header_o(header),
      .last_o(last),
      .unit_valid_o(unit_valid),
      .unit_o(unit),
      .bad_header_o(bad_header),
      .end_o(frame_end),
      .good_o(good),
      .end_header_o(end_header),
      .end_meta_o(end_meta),
      .refuse_i(ahead)
  );

  consort_link_receiver #(
      .SeqWidth(SeqWidth)
  ) i_receiver (
      .clk_i,
      .rst_ni,
      .up_i(up),
      .starting_i(starting),
      .nonce_i(nonce),
      .first_i(first),
      .first_header_i(first_header),
      .header_i(header),
      .last_i(last),
      .bad_header_i(bad_header),
      .end_i(frame_end),
      .good_i(good),
      .end_header_i(end_header),
      .end_meta_i(end_meta),
      .ahead_o(ahead),
      .room_i(room),
      .head_ready_i(head_ready),
      .refused_o(refused),
      .accept_o(accept),
      .expected_o(expected),
      .accepted_o(accepted),
      .duplicate_o(duplicate),
      .bad_o(bad),
      .repeat_o(repeats),
      .heard_o(heard),
      .heard_init_o(heard_init),
      .heard_same_o(heard_same),
      .heard_init_ack_o(heard_init_ack),
      .heard_control_o(heard_control),
      .heard_talk_o(heard_talk),
      .heard_nak_o(heard_nak),
      .heard_ack_o(heard_ack),
      .heard_seq_o(heard_seq),
      .heard_number_o(heard_number),
      .heard_settings_o(heard_settings)
  );

  consort_link_buffer #(
      .Depth(RxDepth),
      .Heads(HeadDepth)
  ) i_buffer (
      .clk_i,
      .rst_ni,
      .up_i(up),
      .unit_valid_i(unit_valid && !refused),
      .unit_i(unit),
      .end_i(frame_end),
      .accept_i(accept),
      .end_header_i(end_header),
      .end_meta_i(end_meta),
      .room_o(room),
      .head_ready_o(head_ready),
      .waited_o(rx_waited_o),
      .arriving_meta_o(rx_arriving_meta_o),
      .meta_o(rx_meta_o),
      .units_o(rx_units_o),
      .valid_o(rx_valid_o),
      .ready_i(rx_ready_i),
      .rx_unit_o,
      .rx_unit_valid_o,
      .rx_unit_ready_i
  );

  // ---- Sending ----

  logic ack_sent, ack_sent_late, nak_sent, ack_now, nak_due, keep_due, new_ack, none_out, late;
  logic idle, repeating, repeat_due, space, pipe_empty, between, drop, advance;
  seq_t oldest, beat_seq;
  logic [ReplayPtr-1:0] replay_write, replay_oldest, replay_read;
  logic [BeatWidth-1:0] beat;
  logic beat_valid, beat_first, beat_last, beat_new, beat_raw, beat_replay, beat_counts;

  consort_link_acks #(
      .SeqWidth(SeqWidth),
      .TimerWidth(TimerWidth),
      .Delay(AckDelay),
      .Frames(AckFrames)
  ) i_acks (
      .clk_i,
      .rst_ni,
      .up_i(up),
      .accepted_i(accepted),
      .duplicate_i(duplicate),
      .confirms_i(confirms),
      .bad_i(bad),
      .repeat_i(repeats),
      .keep_after_i(keep_after),
      .ack_sent_i(ack_sent),
      .nak_sent_i(nak_sent),
      .ack_sent_o(ack_sent_late),
      .ack_now_o(ack_now),
      .nak_due_o(nak_due),
      .bad_frames_o
  );

  consort_link_timers #(
      .TimerWidth(TimerWidth)
  ) i_timers (
      .clk_i,
      .rst_ni,
      .up_i(up),
      .ack_timeout_i,
      .down_after_i(down_after),
      .keep_after_i(keep_after),
      .new_ack_i(new_ack),
      .none_out_i(none_out),
      .repeating_i(repeating),
      .repeat_due_i(repeat_due),
      .idle_i(idle),
      .ack_sent_i(ack_sent_late),
      .late_o(late),
      .vain_over_o(vain_over),
      .keep_due_o(keep_due)
  );

  consort_link_sender #(
      .SeqWidth(SeqWidth),
      .TimerWidth(TimerWidth),
      .ReplayPtr(ReplayPtr)
  ) i_sender (
      .clk_i,
      .rst_ni,
      .up_i(up),
      .tx_meta_i,
      .tx_units_i,
      .tx_valid_i,
      .tx_ready_o,
      .tx_unit_i,
      .tx_unit_valid_i,
      .tx_unit_ready_o,
      .expected_i(expected),
      .nonce_i(nonce),
      .down_after_i(down_after),
      .init_due_i(init_due),
      .init_ack_due_i(init_ack_due),
      .nak_due_i(nak_due),
      .ack_now_i(ack_now),
      .keep_due_i(keep_due),
      .init_sent_o(init_sent),
      .init_ack_sent_o(init_ack_sent),
      .nak_sent_o(nak_sent),
      .ack_sent_o(ack_sent),
      .repeat_i(late || heard_nak),
      .oldest_i(oldest),
      .space_i(space),
      .pipe_empty_i(pipe_empty),
      .replay_write_i(replay_write),
      .replay_oldest_i(replay_oldest),
      .replay_read_o(replay_read),
      .idle_o(idle),
      .repeating_o(repeating),
      .repeat_due_o(repeat_due),
      .between_i(between),
      .drop_o(drop),
      .none_out_o(none_out),
      .replays_o,
      .advance_i(advance),
      .beat_o(beat),
      .beat_valid_o(beat_valid),
      .beat_first_o(beat_first),
      .beat_last_o(beat_last),
      .beat_new_o(beat_new),
      .beat_raw_o(beat_raw),
      .beat_replay_o(beat_replay),
      .beat_counts_o(beat_counts),
      .beat_seq_o(beat_seq)
  );

  consort_link_replay #(
      .Depth(ReplayDepth),
      .SeqWidth(SeqWidth)
  ) i_replay (
      .clk_i,
      .rst_ni,
      .up_i(up),
      .ack_i(heard_ack),
      .ack_number_i(heard_number),
      .new_ack_o(new_ack),
      .oldest_o(oldest),
      .space_o(space),
      .empty_o(pipe_empty),
      .between_o(between),
      .drop_i(drop),
      .replay_write_o(replay_write),
      .replay_oldest_o(replay_oldest),
      .replay_read_i(replay_read),
      .advance_o(advance),
      .beat_i(beat),
      .beat_valid_i(beat_valid),
      .beat_first_i(beat_first),
      .beat_last_i(beat_last),
      .beat_new_i(beat_new),
      .beat_raw_i(beat_raw),
      .beat_replay_i(beat_replay),
      .beat_counts_i(beat_counts),
      .beat_seq_i(beat_seq),
      .phy_tx_o,
      .phy_tx_valid_o,
      .phy_tx_ready_i
  );

  // ---- Up and down ----

  consort_link_session #(
      .Initiator(Initiator),
      .SeqWidth(SeqWidth),
      .TimerWidth(TimerWidth)
  ) i_session (
      .clk_i,
      .rst_ni,
      .enable_i,
      .down_after_i(down_after),
      .heard_i(heard),
      .heard_init_i(heard_init),
      .heard_same_i(heard_same),
      .heard_init_ack_i(heard_init_ack),
      .heard_control_i(heard_control),
      .heard_talk_i(heard_talk),
      .heard_seq_i(heard_seq),
      .heard_settings_i(heard_settings),
      .vain_over_i(vain_over),
      .init_sent_i(init_sent),
      .init_ack_sent_i(init_ack_sent),
      .init_due_o(init_due),
      .init_ack_due_o(init_ack_due),
      .confirms_o(confirms),
      .nonce_o(nonce),
      .up_o(up),
      .starting_o(starting),
      .drain_o,
      .drained_i,
      .keep_after_o(keep_after),
      .peer_after_o(peer_after),
      .downs_o
  );
endmodule
