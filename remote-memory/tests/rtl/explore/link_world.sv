// SPDX-License-Identifier: Apache-2.0
// Two ends of a link, small, with a wire between them that loses, harms, repeats, delays and queues beats as `choice` says, and with
// users that number what they send; with ends that are reset alone, that wait for unlike times, and a wire that harms all data of one
// direction, or makes other numbers of its acknowledgements, for as long as it is up. All that may happen is a choice; choice 0 is a good
// wire and users that want to send and take at once.
module link_world
  import consort_remote_pkg::*;
#(
    parameter int unsigned SeqWidth = 2,
    parameter int unsigned Queue    = 4,  // beats that a wire keeps while it pauses
    parameter int unsigned Pause    = 24  // cycles
) (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [4:0] choice,
    // The same all the time.
    input  logic [2:0] errors,   // that the wire makes altogether
    input  logic [1:0] cuts,     // times that it is cut for a while
    input  logic [2:0] idles,    // cycles in which a user or the wire holds back, altogether
    input  logic [5:0] timeout,  // cycles until all is repeated
    input  logic [1:0] resets,   // of one end, altogether
    input  logic [0:0] breaks,   // times that the wire begins to harm all data, until the link is down
    input  logic [0:0] lies,     // it makes numbers that were never sent of those of acknowledgements, instead
    input  logic [8:0] down0,    // cycles after which each end is down
    input  logic [8:0] down1,
    input  logic [1:0] mute,     // ends whose user sends nothing
    input  logic [2:0] most,     // repetitions altogether; 7: any number
    input  logic [1:0] pauses,   // times that a direction queues what it is given, and then gives it without gaps
    input  logic [1:0] late,     // cycles that a user waits with its first message after the link is up
    output logic       legal,
    output logic [7:0] bad,
    output logic [1:0] progress  // a message came to its user, in each direction
);
  localparam int unsigned Num = 3;

  // ---- Choices: one thing in a cycle ----
  // 0 nothing; 1 to 6, 7 to 12: an error to the beat in either direction; 13, 14: a user does not offer; 15, 16: a user does
  // not take; 17, 18: the wire does not take; 19: the cut begins; 20: the cut goes on; 21, 22: an end is reset; 23, 24: a direction
  // breaks; 25, 26: a direction pauses.
  logic [1:0] lost, twice, corrupted, holds, blocks, stalls;
  logic [1:0][2:0] error;
  logic cut_begins, cut_goes_on, cut_q;
  logic [1:0] restarts, snaps, rests, broken_q;
  logic [1:0] pauses_q;
  logic [1:0] resets_q;
  logic [0:0] breaks_q;
  logic [10:0] broken_for_q;
  logic [2:0] repeated_q;
  logic [2:0] errors_q;
  logic [2:0] idles_q;
  logic [1:0] cuts_q;
  logic [1:0] beat;

  always_comb begin
    error = '0;
    if (choice >= 5'd1 && choice <= 5'd6) error[0] = 3'(choice);
    if (choice >= 5'd7 && choice <= 5'd12) error[1] = 3'(choice - 5'd6);
    holds = {choice == 5'd14, choice == 5'd13};
    blocks = {choice == 5'd16, choice == 5'd15};
    stalls = {choice == 5'd18, choice == 5'd17};
    cut_begins = choice == 5'd19;
    cut_goes_on = choice == 5'd20;
    restarts = {choice == 5'd22, choice == 5'd21};
    snaps = {choice == 5'd24, choice == 5'd23};
    rests = {choice == 5'd26, choice == 5'd25};
  end

  // ---- The ends: 0 is the initiator ----

  logic [1:0] up, tx_valid, tx_ready, tx_unit_ready, rx_valid, rx_ready, rx_unit_valid, rx_unit_ready, phy_valid, phy_ready;
  logic [1:0][MetaWidth-1:0] tx_meta, rx_meta;
  logic [1:0][4:0] tx_units, rx_units;
  logic [1:0][BeatWidth-1:0] tx_unit, rx_unit;
  wire_t [1:0] phy, wire_q;
  logic [1:0] wire_valid_q;

  logic [1:0] replays_odd, replays_odd_q, repeats, wrong_count;
  for (genvar e = 0; e < 2; e++) begin : gen_end
    logic [31:0] bad_frames, replays, downs;
    assign replays_odd[e] = replays[0];
    // Who is asked while nothing waits for its acknowledgement repeats nothing.
    assign repeats[e] = replays_odd[e] != replays_odd_q[e] && !i_link.none_out;
    logic drain, hunting;
    // The buffer has as much of an accepted frame as its header says.
    logic [2:0] kept;
    assign kept = i_link.i_buffer.rx_spec_q - i_link.i_buffer.rx_commit_q;
    assign wrong_count[e] = i_link.i_buffer.accept_i && {2'd0, kept} != i_link.i_buffer.end_header_i.units;
    consort_link #(
        .Initiator(e == 0),
        .RxDepth(4),
        .HeadDepth(2),
        .ReplayDepth(8),
        .AckDelay(4),
        .AckFrames(2),
        .SeqWidth(SeqWidth),
        .TimerWidth(10)
    ) i_link (
        .clk_i(clk),
        .rst_ni(rst_n && !restarts[e]),
        .enable_i(1'b1),
        .ack_timeout_i(16'(timeout)),
        .down_after_i(e == 0 ? 24'(down0) : 24'(down1)),
        .peer_after_o(),
        .up_o(up[e]),
        .drain_o(drain),
        .drained_i(1'b1),
        .tx_meta_i(tx_meta[e]),
        .tx_units_i(tx_units[e]),
        .tx_valid_i(tx_valid[e]),
        .tx_ready_o(tx_ready[e]),
        .tx_unit_i(tx_unit[e]),
        .tx_unit_valid_i(1'b1),
        .tx_unit_ready_o(tx_unit_ready[e]),
        .rx_meta_o(rx_meta[e]),
        .rx_units_o(rx_units[e]),
        .rx_valid_o(rx_valid[e]),
        .rx_ready_i(rx_ready[e]),
        .rx_unit_o(rx_unit[e]),
        .rx_unit_valid_o(rx_unit_valid[e]),
        .rx_unit_ready_i(rx_unit_ready[e]),
        .phy_tx_o(phy[e]),
        .phy_tx_valid_o(phy_valid[e]),
        .phy_tx_ready_i(phy_ready[e]),
        .phy_rx_i(wire_q[1-e]),
        .phy_rx_valid_i(wire_valid_q[1-e]),
        .phy_rx_gap_i(1'b0),
        .phy_rx_hunting_o(hunting),
        .bad_frames_o(bad_frames),
        .replays_o(replays),
        .downs_o(downs)
    );
  end

  // ---- The wire: a beat arrives a cycle after it went, or twice, or never, or corrupted, or after a pause ----

  logic [1:0] again_q, full, queued, goes, enters;
  logic [1:0][$clog2(Pause+1)-1:0] pause_q;
  logic [1:0][Queue-1:0] queue_valid_q;  // the first place is the next to go
  wire_t [1:0][Queue-1:0] queue_q;
  wire_t [1:0] entry;
  wire_t [1:0] mask;
  logic [1:0][SeqWidth-1:0] lie;
  logic [1:0] lied, lied_q;
  header_t [1:0] header;
  logic [1:0] of_data;
  assign phy_ready = ~again_q & ~stalls & ~full;
  assign beat = phy_valid & phy_ready;
  always_comb begin
    for (int e = 0; e < 2; e++) begin
      lost[e] = error[e] == 3'd1 || cut_q || cut_begins;
      twice[e] = error[e] == 3'd2 && !cut_q;
      corrupted[e] = error[e] >= 3'd3;
      mask[e] = '0;
      header[e] = header_t'(phy[e].data[63:0]);
      of_data[e] = phy[e].control == MarksLast || (phy[e].control == MarksWhole && header[e].kind inside {FrameData, FrameAgain});
      if (broken_q[e] && of_data[e] && !lies[0]) mask[e].data[101] = 1'b1;
      // A frame without units says another number, and its CRC is right: half of the numbers further, and one more in turn.
      lied[e] = broken_q[e] && lies[0] && phy[e].control == MarksWhole && header[e].kind inside {FrameData, FrameAck, FrameNak};
      lie[e] = header[e].ack[SeqWidth-1:0] ^
          (header[e].ack[SeqWidth-1:0] + SeqWidth'(2 ** (SeqWidth - 1)) + SeqWidth'(lied_q[e]));
      if (lied[e]) begin
        for (int i = 0; i < SeqWidth; i++) begin
          mask[e].data[16+i] = lie[e][i];
          mask[e].data[127:96] ^= lie[e][i] ? crc_shift(32'd1, BeatWidth - 32 - 16 - i) : 32'd0;
        end
      end
      case (error[e])
        3'd3: mask[e].data[1] = 1'b1;    // of a header: its kind
        3'd4: mask[e].data[3] = 1'b1;    // its length
        3'd5: mask[e].control[1] = 1'b1; // the mark of a frame's end
        3'd6: mask[e].data[100] = 1'b1;  // the CRC
        default: ;
      endcase
      full[e] = queue_valid_q[e][Queue-1];
      queued[e] = queue_valid_q[e][0];
      goes[e] = pause_q[e] == '0 && !rests[e];
      enters[e] = beat[e] && !lost[e];
      entry[e] = phy[e] ^ mask[e];
    end
  end

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      wire_valid_q <= '0;
      again_q <= '0;
      wire_q <= '0;
      pause_q <= '0;
      queue_valid_q <= '0;
      queue_q <= '0;
      lied_q <= '0;
    end else begin
      for (int e = 0; e < 2; e++) if (lied[e] && beat[e]) lied_q[e] <= !lied_q[e];
      for (int e = 0; e < 2; e++) begin
        again_q[e] <= beat[e] && twice[e];
        if (rests[e]) pause_q[e] <= ($clog2(Pause + 1))'(Pause);
        else if (pause_q[e] != '0) pause_q[e] <= pause_q[e] - 1'b1;
        // Invalid words are zero, so that they make no states.
        if (!again_q[e]) begin
          wire_valid_q[e] <= goes[e] && (queued[e] || enters[e]);
          wire_q[e] <= !goes[e] ? '0 : queued[e] ? queue_q[e][0] : enters[e] ? entry[e] : '0;
        end
        for (int q = 0; q < Queue; q++) begin
          if (goes[e] && queued[e]) begin
            if (q + 1 < Queue && queue_valid_q[e][(q+1)%Queue]) queue_q[e][q] <= queue_q[e][(q+1)%Queue];
            else begin
              // The last of them goes: here it stays free, or what enters takes it.
              queue_valid_q[e][q] <= queue_valid_q[e][q] && enters[e];
              queue_q[e][q] <= queue_valid_q[e][q] && enters[e] ? entry[e] : '0;
            end
          end else if (!goes[e] && enters[e] && !queue_valid_q[e][q] && (q == 0 || queue_valid_q[e][(q+Queue-1)%Queue])) begin
            queue_valid_q[e][q] <= 1'b1;
            queue_q[e][q] <= entry[e];
          end
        end
      end
    end
  end

  // ---- What may be chosen ----

  logic may_error, may_idle;
  assign may_error = errors_q != '0 && !cut_q;
  assign may_idle = idles_q != '0;
  always_comb begin
    legal = 1'b1;
    if (error[0] != '0) legal = may_error && phy_valid[0] && !again_q[0] && !queued[0] && goes[0];
    if (error[1] != '0) legal = may_error && phy_valid[1] && !again_q[1] && !queued[1] && goes[1];
    if (holds[0]) legal = may_idle && tx_ready[0] && up[0];
    if (holds[1]) legal = may_idle && tx_ready[1] && up[1];
    if (blocks[0]) legal = may_idle && rx_valid[0];
    if (blocks[1]) legal = may_idle && rx_valid[1];
    if (stalls[0]) legal = may_idle && phy_valid[0];
    if (stalls[1]) legal = may_idle && phy_valid[1];
    if (cut_begins) legal = cuts_q != '0 && !cut_q && up == 2'b11;
    if (cut_goes_on) legal = cut_q;
    if (restarts != '0) legal = resets_q != '0 && up != '0;
    if (snaps != '0) legal = breaks_q != '0 && up == 2'b11 && broken_q == '0;
    // Nobody waits for an acknowledgement by who gets nothing.
    if (lies[0] && ((snaps[0] && mute[1]) || (snaps[1] && mute[0]))) legal = 1'b0;
    if (rests[0]) legal = pauses_q != '0 && pause_q[0] == '0 && !again_q[0];
    if (rests[1]) legal = pauses_q != '0 && pause_q[1] == '0 && !again_q[1];
    if (choice > 5'd26) legal = 1'b0;
  end

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      errors_q <= errors;
      idles_q <= idles;
      cuts_q <= cuts;
      cut_q <= 1'b0;
      resets_q <= resets;
      breaks_q <= breaks;
      pauses_q <= pauses;
      broken_q <= '0;
      broken_for_q <= '0;
      repeated_q <= '0;
      replays_odd_q <= '0;
    end else begin
      replays_odd_q <= restarts == '0 ? replays_odd : '0;
      if (most != 3'd7 && repeated_q != 3'd7) begin
        repeated_q <= repeated_q + 3'(repeats[0]) + 3'(repeats[1]);
      end
      if (error != '0) errors_q <= errors_q - 1'b1;
      if ((holds | blocks | stalls) != '0) idles_q <= idles_q - 1'b1;
      if (cut_begins) cuts_q <= cuts_q - 1'b1;
      cut_q <= cut_begins || cut_goes_on;
      if (restarts != '0) resets_q <= resets_q - 1'b1;
      if (snaps != '0) breaks_q <= breaks_q - 1'b1;
      if (rests != '0) pauses_q <= pauses_q - 1'b1;
      broken_q <= up == '0 ? '0 : broken_q | snaps;
      broken_for_q <= broken_q == '0 ? '0 : broken_for_q + 1'b1;
    end
  end

  // ---- Users ----

  // A message is its number since the link came up, the session in which it was sent, and that of the messages which its sender had got
  // before: it may be an answer to one of them. Every other message has a unit, the first one too.
  logic [1:0][Num-1:0] send_q, expect_q;
  logic [1:0][1:0] session_q, session_at_up_q, heard_q;
  logic [1:0] knows_q, unit_waits_q, unit_due_q, was_up_q;
  logic [1:0][Num-1:0] unit_num_q, due_num_q;
  logic [1:0][1:0] wait_q;
  logic [1:0][1:0] rx_session;
  logic [1:0][Num-1:0] rx_num;
  logic [1:0][1:0] rx_answered;
  logic [1:0] rx_answers;

  for (genvar e = 0; e < 2; e++) begin : gen_user
    assign tx_valid[e] = !holds[e] && !mute[e] && wait_q[e] == '0;
    assign tx_meta[e] = MetaWidth'({knows_q[e], heard_q[e], session_q[e], send_q[e]});
    assign tx_units[e] = 5'(!send_q[e][0]);
    // The unit of the message that is shown, or of the one that was taken before its unit.
    assign tx_unit[e] = BeatWidth'(unit_due_q[e] ? due_num_q[e] : send_q[e]);
    assign rx_ready[e] = !blocks[e] && !unit_waits_q[e];
    assign rx_unit_ready[e] = unit_waits_q[e];
    assign {rx_answers[e], rx_answered[e], rx_session[e], rx_num[e]} = rx_meta[e][Num+4:0];
  end

  logic [1:0] taken, came;
  assign taken = tx_valid & tx_ready & up;
  assign came = rx_valid & rx_ready & up;
  assign progress = came | {mute[0], mute[1]};

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      {send_q, expect_q, session_q, session_at_up_q, heard_q} <= '0;
      {knows_q, unit_waits_q, unit_due_q, was_up_q, unit_num_q, due_num_q} <= '0;
      wait_q <= {2{late}};
    end else begin
      was_up_q <= up;
      for (int e = 0; e < 2; e++) begin
        if (!up[e]) wait_q[e] <= late;
        else if (wait_q[e] != '0) wait_q[e] <= wait_q[e] - 1'b1;
        if (taken[e]) begin
          send_q[e] <= send_q[e] + 1'b1;
          if (!send_q[e][0] && !tx_unit_ready[e]) begin
            unit_due_q[e] <= 1'b1;
            due_num_q[e]  <= send_q[e];
          end
        end
        if (unit_due_q[e] && tx_unit_ready[e]) unit_due_q[e] <= 1'b0;
        if (came[e]) begin
          expect_q[e] <= expect_q[e] + 1'b1;
          knows_q[e]  <= 1'b1;
          heard_q[e]  <= rx_session[e];
          if (rx_units[e] != '0) begin
            unit_waits_q[e] <= 1'b1;
            unit_num_q[e]   <= rx_num[e];
          end
        end
        if (unit_waits_q[e] && rx_unit_valid[e]) unit_waits_q[e] <= 1'b0;
        if (!up[e]) begin
          send_q[e] <= '0;
          expect_q[e] <= '0;
          knows_q[e] <= 1'b0;
          heard_q[e] <= '0;
          unit_waits_q[e] <= 1'b0;
          unit_due_q[e] <= 1'b0;
          unit_num_q[e] <= '0;
          due_num_q[e] <= '0;
          session_at_up_q[e] <= session_q[1-e];
          if (was_up_q[e]) session_q[e] <= session_q[e] + 1'b1;
        end
      end
    end
  end

  // ---- What must not be ----

  logic [1:0] wrong_number, wrong_unit, wrong_session, too_many;
  always_comb begin
    for (int e = 0; e < 2; e++) begin
      // Once, and in order.
      wrong_number[e] = came[e] && (rx_num[e] != expect_q[e] || rx_units[e] != 5'(!expect_q[e][0]));
      wrong_unit[e] = unit_waits_q[e] && rx_unit_valid[e] && up[e] && rx_unit[e] != BeatWidth'(unit_num_q[e]);
      // From one session of the sender, which was not over when this end came up, and no answer to what this end sent in another one.
      wrong_session[e] = came[e] && ((knows_q[e] && heard_q[e] != rx_session[e]) ||
          rx_session[e] - session_at_up_q[e] > 2'd1 || (rx_answers[e] && rx_answered[e] != session_q[e]));
      // A unit that nobody waits for, behind all messages.
      too_many[e] = up[e] && !unit_waits_q[e] && !rx_valid[e] && rx_unit_valid[e];
    end
  end
  // A link without a cut, a reset or a broken direction stays up, whatever few errors it sees. One that makes no progress ends: at
  // the end that notices first in its time, and at the other one in its own after that.
  // A reset is seen in the cycle in which it comes, before it is counted.
  assign bad = {
    wrong_count != '0,
    broken_for_q > 11'(down0) + 11'(down1) + 11'd64,
    repeated_q > most,
    was_up_q != '0 && (was_up_q & ~up) != '0 && cuts_q == cuts && resets_q == resets && restarts == '0 && breaks_q == breaks,
    too_many != '0,
    wrong_session != '0,
    wrong_unit != '0,
    wrong_number != '0
  };
endmodule
