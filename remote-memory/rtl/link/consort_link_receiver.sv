// SPDX-License-Identifier: Apache-2.0
// Says what becomes of each frame that a link received: accepted, once and in order, or not, and what the other end said with it.
//
// It compares the number of a frame that is whole with the one that is due, looks for room, and accepts the frame, asks for it again
// or knows it as one that came already. What a frame said shows a cycle later as heard_*.
// Interface: the frames' beats and ends from consort_link_deframer; room and its writes to consort_link_buffer; heard_* to session and sender.
// Parameters: SeqWidth, of the header's 8 bits for sequence numbers.
// Throughput: a frame a cycle.
// Latency: accept_o and ahead_o in the cycle of end_i; heard_* one cycle later.
// Assumes: a unit comes only between the first and the last beat of its frame.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py), with four wrong versions of this module; starts over PHYs
// that pause, tests/rtl/test_starts.py.
module consort_link_receiver
  import consort_remote_pkg::*;
#(
    parameter int unsigned SeqWidth = 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic up_i,
    input logic starting_i,            // an answer to FrameInit is awaited
    input logic [SeqWidth-1:0] nonce_i,

    input  logic          first_i,
    input  header_t       first_header_i,
    input  header_t       header_i,
    input  logic          last_i,
    input  logic          bad_header_i,
    input  logic          end_i,
    input  logic          good_i,
    input  header_t       end_header_i,
    input  logic   [31:0] end_meta_i,
    output logic          ahead_o,     // it has to come again: others before it are missing, or there was no room

    input  logic room_i,               // for this frame and two more
    input  logic head_ready_i,
    output logic refused_o,            // units of the frame under way are not kept
    output logic accept_o,

    output logic [SeqWidth-1:0] expected_o,
    output logic accepted_o,
    output logic duplicate_o,
    output logic bad_o,
    output logic repeat_o,             // with bad_o: ask for it

    output logic heard_o,              // a frame that is whole
    output logic heard_init_o,
    output logic heard_same_o,         // of this end's own nonce
    output logic heard_init_ack_o,
    output logic heard_control_o,
    output logic heard_talk_o,         // a good frame that is neither FrameInit nor FrameInitAck
    output logic heard_nak_o,
    output logic heard_ack_o,          // its acknowledgement counts
    output logic [SeqWidth-1:0] heard_seq_o,
    output logic [SeqWidth-1:0] heard_number_o,
    output settings_t heard_settings_o
);
  typedef logic [SeqWidth-1:0] seq_t;

  logic bad_crc, frame_ok, data_ok, duplicate;
  logic data_q, wanted_q, match_q;  // of the frame that ended: it is of data; there was room for it; it is the next one
  seq_t expected_q, following_q, got_seq, ahead_of;  // following_q: the number after expected_q

  assign bad_crc = end_i && !good_i;
  assign frame_ok = end_i && good_i;
  assign got_seq = end_header_i.seq[SeqWidth-1:0];
  assign ahead_of = got_seq - expected_q;
  assign accept_o = end_i && good_i && wanted_q && match_q && up_i && head_ready_i;
  assign data_ok = end_i && good_i && data_q && up_i;
  assign duplicate = data_ok && ahead_of[SeqWidth-1];
  assign ahead_o = data_ok && !ahead_of[SeqWidth-1] && !(wanted_q && match_q && head_ready_i);
  assign expected_o = expected_q;

  always_ff @(posedge clk_i) begin
    if (last_i) begin
      data_q <= (first_i ? first_header_i.kind : header_i.kind) inside {FrameData, FrameAgain};
      wanted_q <= first_i ? first_header_i.kind inside {FrameData, FrameAgain} && room_i : !refused_o;
      // Seen from after the frame that ends now.
      if (first_i) match_q <= first_header_i.seq[SeqWidth-1:0] == (accept_o ? following_q : expected_q);
      else match_q <= header_i.seq[SeqWidth-1:0] == (accept_o ? following_q : expected_q);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      expected_q  <= '0;
      following_q <= SeqWidth'(1);
      refused_o   <= 1'b0;
    end else begin
      // The buffer drops a unit that comes while the link is down: of such a frame it has only a part.
      if (!up_i) refused_o <= 1'b1;
      else if (first_i) refused_o <= !room_i || !(first_header_i.kind inside {FrameData, FrameAgain});
      if (accept_o) begin
        expected_q  <= following_q;
        following_q <= following_q + 1'b1;
      end
      if (!up_i) begin
        expected_q  <= '0;
        following_q <= SeqWidth'(1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {heard_o, heard_init_o, heard_same_o, heard_init_ack_o} <= '0;
      {heard_talk_o, heard_control_o, heard_nak_o, heard_ack_o} <= '0;
      {accepted_o, duplicate_o, bad_o} <= '0;
    end else begin
      heard_o <= frame_ok;
      heard_init_o <= frame_ok && end_header_i.kind == FrameInit;
      heard_same_o <= got_seq == nonce_i;
      heard_init_ack_o <= frame_ok && end_header_i.kind == FrameInitAck && starting_i;
      heard_control_o <= frame_ok && !(end_header_i.kind inside {FrameData, FrameAgain});
      heard_talk_o <= frame_ok && !(end_header_i.kind inside {FrameInit, FrameInitAck});
      heard_nak_o <= frame_ok && up_i && end_header_i.kind == FrameNak;
      heard_ack_o <= frame_ok && up_i && end_header_i.kind inside {FrameData, FrameAck, FrameNak};
      accepted_o <= accept_o;
      duplicate_o <= duplicate;
      bad_o <= bad_header_i || bad_crc || ahead_o;
    end
  end

  always_ff @(posedge clk_i) begin
    heard_seq_o <= got_seq;
    heard_number_o <= end_header_i.ack[SeqWidth-1:0];
    heard_settings_o <= settings_t'({end_header_i.meta, end_meta_i});
    // No request where there was no room: the sender's time must run out, or it would repeat at once and in vain.
    repeat_o <= bad_header_i || bad_crc || got_seq != expected_q;
  end
endmodule
