// SPDX-License-Identifier: Apache-2.0
// One end of a reliable link: frames go out with a sequence number and a CRC and stay in a buffer until the other end has
// acknowledged them; what arrives is handed on once, in order, and only when its CRC was good.
//
// A receiver that sees a bad frame asks for a repetition (FrameNak) and ignores everything up to the next ResyncBeat. The
// sender goes back to the oldest frame without acknowledgement on a request or when its time is over. What is framing and what
// is data the marks of the wire say (wire_t), so data are never taken for a ResyncBeat, a header or a tail.
//
// An end is down when it hears nothing good for down_after_i cycles, or when what it sent finds no acknowledgement for as long,
// whatever it hears: it falls silent, so the other end gets down too. The initiator stays silent for longer than a round trip of the
// wire takes, and then asks for a new session (FrameInit, with a nonce). The target answers (FrameInitAck) once its user has
// drained what was under way, and is up when it hears that the initiator is. A target that is up and hears FrameInit was forgotten by
// its initiator: its session is over. So neither end takes a new session for the old one, however long each waits by itself.
// Both tell each other how long they wait, with each control frame after a ResyncBeat, and send something often enough for the other.
//
// down_after_i has to be longer than a round trip of the wire and AckDelay or an eighth of it, whichever is less.
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

  localparam int unsigned RxPtr = $clog2(RxDepth);
  localparam int unsigned ReplayPtr = $clog2(ReplayDepth);
  localparam int unsigned MaxInFlight = 2 ** (SeqWidth - 1) - 1;
  typedef logic [SeqWidth-1:0] seq_t;
  typedef logic [TimerWidth-1:0] timer_t;

  // ---- What both directions know ----

  typedef enum logic [1:0] {
    Down,
    Starting,  // initiator: sends FrameInit; target: drains
    Waiting,   // target: has answered, and waits to hear that the initiator is up
    Up
  } state_e;

  state_e state_q;
  seq_t nonce_q;
  timer_t down_after, start_after_q;
  timer_t quiet_q;          // cycles since the last good frame; while down, since it went down
  logic quiet_over_q, quiet_start_q, quiet_retry_q;  // it is longer than the time to go down, to start, to ask again
  timer_t vain_q;           // cycles since the last acknowledgement of something new, while one is awaited
  logic vain_over_q;
  timer_t peer_after_q, keep_after_q;
  logic failed;
  // What the receiver heard, a cycle after the frame ended.
  logic heard_q, heard_init_q, heard_same_q, heard_init_ack_q, heard_nak_q, heard_ack_q, accepted_q, duplicate_q, bad_q, repeat_q;
  seq_t heard_seq_q, heard_number_q;
  settings_t heard_settings_q;
  logic heard_version, heard_control_q;
  logic init_due_q, init_ack_due_q;
  logic heard_talk_q;       // a good frame that is no FrameInit nor FrameInitAck
  logic confirms_q;         // of the initiator: it is up, and says so
  logic up;

  assign down_after = TimerWidth'(down_after_i);
  assign up = state_q == Up;
  assign up_o = up;
  assign heard_version = heard_settings_q.version == LinkVersion;
  assign peer_after_o = 24'(peer_after_q);
  assign drain_o = !Initiator && !up;

  // ---- Receiver ----

  typedef enum logic [1:0] {
    Hunt,
    Boundary,
    Inside
  } rx_state_e;

  rx_state_e rx_state_q;
  logic [BeatWidth-1:0] in_q;
  logic [1:0] in_marks_q;
  logic marks_bad_q;  // of the frame so far: data where control has to be, or the other way round
  logic in_valid_q, in_gap_q;
  // Of the beat in in_q, found out on its way there.
  logic in_resync_q, in_good_q, in_empty_q;
  logic [31:0] in_crc, in_crc_q;
  header_t phy_header, in_header, header_q;
  header_t ended_q;  // of the frame that ended: the next one may already be in header_q
  logic [4:0] left_q;
  logic left_one_q;
  logic [31:0] rx_due_q, rx_step;  // what a beat that ends a right frame adds to the CRC
  logic [63:0] half_q;
  logic frame_first, frame_last, frame_more;
  logic end_q, crc_good_q;
  logic [31:0] tail_meta_q;
  logic bad_header, bad_crc, frame_ok, accept, data_ok, duplicate, ahead, refused_now;
  logic data_q, wanted_q, match_q;  // of the frame that ended: it is of data; there was room for it; it is the next one
  seq_t expected_q, following_q, got_seq, ahead_of;  // following_q: the number after expected_q
  logic [RxPtr:0] rx_spec_q, rx_commit_q, rx_read_q;
  logic [RxPtr:0] rx_used;
  logic room_q;
  logic nak_due_q, ack_now_q, nak_sent;
  seq_t since_ack_q;         // frames accepted since an acknowledgement went
  logic [15:0] ack_wait_q;
  logic ack_sent;            // from the sender: a header with expected_q goes out
  logic ack_sent_q, none_since_q, ack_full_q, ack_wait_over_q;
  logic head_ready;

  assign phy_header = header_t'(phy_rx_i.data[63:0]);
  assign in_header = header_t'(in_q[63:0]);
  assign frame_first = in_valid_q && rx_state_q == Boundary && !in_resync_q && in_good_q;
  assign frame_last = (frame_first && in_empty_q) || (in_valid_q && rx_state_q == Inside && left_one_q);
  assign frame_more = (frame_first && !in_empty_q) || (rx_state_q == Inside && !left_one_q);
  assign bad_header = in_valid_q && rx_state_q == Boundary && !in_resync_q && !in_good_q && !in_gap_q;
  assign phy_rx_hunting_o = rx_state_q == Hunt;
  assign bad_crc = end_q && !crc_good_q;
  assign frame_ok = end_q && crc_good_q;
  assign got_seq = ended_q.seq[SeqWidth-1:0];
  assign ahead_of = got_seq - expected_q;
  assign accept = end_q && crc_good_q && wanted_q && match_q && up && head_ready;
  assign data_ok = end_q && crc_good_q && data_q && up;
  assign duplicate = data_ok && ahead_of[SeqWidth-1];
  assign ahead = data_ok && !ahead_of[SeqWidth-1] && !(wanted_q && match_q && head_ready);

  consort_crc_sum i_rx_sum (
      .data_i(phy_rx_i.data),
      .sum_o(in_crc)
  );
  consort_crc_step i_rx_step (
      .crc_i(in_crc_q ^ rx_due_q),
      .crc_o(rx_step)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_valid_q <= 1'b0;
      rx_state_q <= Hunt;
      end_q <= 1'b0;
    end else begin
      in_valid_q <= phy_rx_valid_i;
      end_q <= frame_last;
      if (in_valid_q) begin
        case (rx_state_q)
          Hunt: if (in_resync_q) rx_state_q <= Boundary;
          Boundary: begin
            if (bad_header) rx_state_q <= Hunt;
            else if (frame_first && !frame_last) rx_state_q <= Inside;
          end
          default: if (frame_last) rx_state_q <= Boundary;
        endcase
      end
      // The beat that is looked at now came after a frame that was no good: it counts only if it is a ResyncBeat.
      if (bad_crc || ahead) begin
        rx_state_q <= in_valid_q && in_resync_q ? Boundary : Hunt;
        end_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    in_q <= phy_rx_i.data;
    in_marks_q <= phy_rx_i.control;
    in_gap_q <= phy_rx_gap_i;
    in_resync_q <= phy_rx_i == {MarksWhole, ResyncBeat};
    in_good_q <= phy_header.kind inside {FrameData, FrameAck, FrameNak, FrameInit, FrameInitAck, FrameAgain} &&
        phy_header.units <= (phy_header.kind inside {FrameData, FrameAgain} ? 5'(MaxUnits) : 5'd0) &&
        phy_rx_i.control == (phy_header.units == '0 ? MarksWhole : MarksFirst);
    in_empty_q <= phy_header.units == 5'd0;
    in_crc_q <= in_crc;
    if (in_valid_q) begin
      if (frame_first) header_q <= in_header;
      left_q <= frame_first ? in_header.units : left_q - 5'd1;
      left_one_q <= frame_first ? in_header.units == 5'd1 : left_q == 5'd2;
      half_q <= in_q[127:64];
      // Outside of a frame every beat may be the first of one.
      rx_due_q <= frame_more ? rx_step : CrcFirst;
      marks_bad_q <= rx_state_q == Inside && (marks_bad_q || in_marks_q != MarksInner);
      crc_good_q <= in_crc_q == rx_due_q && (rx_state_q != Inside || (!marks_bad_q && in_marks_q == MarksLast));
      tail_meta_q <= in_q[95:64];
      if (frame_last) begin
        ended_q <= frame_first ? in_header : header_q;
        data_q <= (frame_first ? in_header.kind : header_q.kind) inside {FrameData, FrameAgain};
        wanted_q <= frame_first ? in_header.kind inside {FrameData, FrameAgain} && room_q : !refused_now;
        // Seen from after the frame that ends now.
        if (frame_first) match_q <= in_header.seq[SeqWidth-1:0] == (accept ? following_q : expected_q);
        else match_q <= header_q.seq[SeqWidth-1:0] == (accept ? following_q : expected_q);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {heard_q, heard_init_q, heard_same_q, heard_init_ack_q, heard_talk_q, heard_control_q, heard_nak_q, heard_ack_q} <= '0;
      {accepted_q, duplicate_q, bad_q} <= '0;
    end else begin
      heard_q <= frame_ok;
      heard_init_q <= frame_ok && ended_q.kind == FrameInit;
      heard_same_q <= got_seq == nonce_q;
      heard_init_ack_q <= frame_ok && ended_q.kind == FrameInitAck && state_q == Starting;
      heard_control_q <= frame_ok && !(ended_q.kind inside {FrameData, FrameAgain});
      heard_talk_q <= frame_ok && !(ended_q.kind inside {FrameInit, FrameInitAck});
      heard_nak_q <= frame_ok && up && ended_q.kind == FrameNak;
      heard_ack_q <= frame_ok && up && ended_q.kind inside {FrameData, FrameAck, FrameNak};
      accepted_q <= accept;
      duplicate_q <= duplicate;
      bad_q <= bad_header || bad_crc || ahead;
    end
  end

  always_ff @(posedge clk_i) begin
    heard_seq_q <= got_seq;
    heard_number_q <= ended_q.ack[SeqWidth-1:0];
    heard_settings_q <= settings_t'({ended_q.meta, tail_meta_q});
    // No request where there was no room: the sender's time must run out, or it would repeat at once and in vain.
    repeat_q <= bad_header || bad_crc || got_seq != expected_q;
  end

  // Units are written as they come and count only with their frame's CRC.
  logic [BeatWidth-1:0] rx_ram[RxDepth];
  logic rx_write;
  assign rx_used = rx_commit_q - rx_read_q;
  assign rx_write = in_valid_q && rx_state_q == Inside && !refused_now;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_spec_q   <= '0;
      rx_commit_q <= '0;
      refused_now <= 1'b0;
      room_q      <= 1'b0;
    end else begin
      // Two frames may be on their way between this look at the room and their writes.
      room_q <= rx_used <= (RxPtr + 1)'(RxDepth - 3 * MaxUnits);
      if (frame_first) refused_now <= !room_q || !(in_header.kind inside {FrameData, FrameAgain});
      if (end_q) begin
        if (accept) rx_commit_q <= rx_spec_q;
        else rx_spec_q <= rx_commit_q;
      end
      if (rx_write) rx_spec_q <= rx_spec_q + 1'b1;
      if (!up) begin
        rx_spec_q   <= '0;
        rx_commit_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rx_write) rx_ram[rx_spec_q[RxPtr-1:0]] <= {in_q[63:0], half_q};
  end

  // A frame that finds none before it passes them by.
  logic [MetaWidth+4:0] head_in, head_out;
  logic heads_some;
  assign head_in = {ended_q.units, ended_q.meta, tail_meta_q};
  assign {rx_units_o, rx_meta_o} = heads_some ? head_out : head_in;
  assign rx_valid_o = heads_some || accept;
  assign rx_waited_o = heads_some;
  assign rx_arriving_meta_o = head_in[MetaWidth-1:0];

  consort_fifo #(
      .T(logic [MetaWidth+4:0]),
      .Depth(HeadDepth)
  ) i_heads (
      .clk_i,
      .rst_ni,
      .clear_i(!up),
      .data_i(head_in),
      .valid_i(accept && (heads_some || !rx_ready_i)),
      .ready_o(head_ready),
      .data_o(head_out),
      .valid_o(heads_some),
      .ready_i(rx_ready_i)
  );

  // Block RAM reads take a cycle: a register in front shows the next unit. It is read before it counts, so it shows a cycle
  // after its frame.
  logic unit_valid_q, unit_next, unit_there;
  assign rx_unit_valid_o = unit_valid_q;
  assign unit_next = !unit_valid_q || rx_unit_ready_i;
  assign unit_there = accept ? rx_read_q != rx_spec_q : rx_read_q != rx_commit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_read_q <= '0;
      unit_valid_q <= 1'b0;
    end else if (!up) begin
      rx_read_q <= '0;
      unit_valid_q <= 1'b0;
    end else if (unit_next) begin
      unit_valid_q <= unit_there;
      if (unit_there) rx_read_q <= rx_read_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (unit_next) rx_unit_o <= rx_ram[rx_read_q[RxPtr-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      expected_q <= '0;
      following_q <= SeqWidth'(1);
      nak_due_q <= 1'b0;
      ack_now_q <= 1'b0;
      since_ack_q <= '0;
      ack_wait_q <= '0;
      {ack_sent_q, none_since_q, ack_full_q, ack_wait_over_q} <= '0;
      bad_frames_o <= '0;
    end else begin
      bad_frames_o <= bad_frames_o + 32'(bad_q);
      if (bad_q) nak_due_q <= repeat_q;
      else if (nak_sent) nak_due_q <= 1'b0;
      ack_wait_q <= none_since_q || ack_sent_q ? '0 : ack_wait_q + 1'b1;
      none_since_q <= since_ack_q == '0;
      ack_sent_q <= ack_sent;
      ack_full_q <= (since_ack_q >= SeqWidth'(AckFrames) || ack_wait_over_q) && !ack_sent && !ack_sent_q;
      ack_wait_over_q <= !ack_sent_q && (ack_wait_q >= 16'(AckDelay) || TimerWidth'(ack_wait_q) >= keep_after_q);
      since_ack_q <= ack_sent_q ? SeqWidth'(accepted_q) : since_ack_q + SeqWidth'(accepted_q);
      if (ack_sent) ack_now_q <= 1'b0;
      else if (ack_full_q || duplicate_q || confirms_q) ack_now_q <= 1'b1;
      if (accept) begin
        expected_q  <= following_q;
        following_q <= following_q + 1'b1;
      end
      if (!up) begin
        expected_q  <= '0;
        following_q <= SeqWidth'(1);
        nak_due_q <= 1'b0;
        ack_now_q <= 1'b0;
        since_ack_q <= '0;
      end
    end
  end

  // ---- Sender ----

  typedef enum logic [1:0] {
    TxIdle,
    TxUnits,
    TxControl,  // the control frame after its ResyncBeat
    TxReplay
  } tx_state_e;

  tx_state_e tx_state_q;
  logic advance;                 // the pipeline moves
  logic [BeatWidth-1:0] a_beat, a_beat_q, b_beat_q;
  logic a_valid, a_valid_q, a_first, a_first_q, a_last, a_last_q, a_new, a_new_q, a_raw, a_raw_q, a_replay, a_replay_q;
  logic b_valid_q, b_first_q, b_last_q, b_more_q, b_new_q;  // b_more_q: another of its frame follows
  logic [1:0] a_marks_q, b_marks_q;
  seq_t seq_q, oldest_q, a_seq_q, b_seq_q, b_next_seq, in_flight;
  logic [4:0] tx_left_q;
  logic tx_left_one_q, tx_empty, tx_go, tx_starts;
  logic [63:0] tx_half_q;
  logic [31:0] tx_meta_q;
  logic [31:0] tx_due_q, tx_crc, tx_step, b_crc, b_crc_q;
  logic [ReplayPtr-1:0] replay_write_q, replay_oldest_q, replay_read_q, replay_used_q;
  logic [ReplayPtr-1:0] next_start[2**(SeqWidth-1)];  // of the frames in flight, by the number after theirs
  // Beats with their marks: whether they end a frame, and begin one.
  logic [BeatWidth+1:0] replay_ram[ReplayDepth];
  logic [BeatWidth+1:0] replay_data_q;
  logic replay_due_q, replay_start, window_q, space_q, open_q, none_out_q;
  logic [15:0] ack_timer_q;
  logic ack_late_q;              // ack_timer_q ran out
  settings_t settings;
  timer_t silent_q;
  logic keep_due_q;
  frame_e control_kind, control_q;
  logic control_due, control_short;
  header_t header_out;
  logic new_ack, new_ack_q;
  logic pipe_empty;

  assign advance = !phy_tx_valid_o || phy_tx_ready_i;
  assign in_flight = seq_q - oldest_q;
  assign b_next_seq = b_seq_q + 1'b1;
  assign new_ack = heard_ack_q && up && heard_number_q != oldest_q && (heard_number_q - oldest_q) <= in_flight;
  assign pipe_empty = !a_valid_q && !b_valid_q;

  // An acknowledgement alone needs no ResyncBeat: between frames the other end is at a boundary or hunts anyway.
  assign control_due = init_due_q || init_ack_due_q || (up && (nak_due_q || ack_now_q || keep_due_q));
  assign control_short = !init_due_q && !init_ack_due_q && !nak_due_q && !keep_due_q;
  always_comb begin
    control_kind = FrameAck;
    if (init_due_q) control_kind = FrameInit;
    else if (init_ack_due_q) control_kind = FrameInitAck;
    else if (nak_due_q) control_kind = FrameNak;
  end

  assign settings = '{zero: '0, version: LinkVersion, down_after: 24'(down_after)};
  assign tx_empty = tx_units_i == '0;
  assign tx_go = tx_state_q == TxIdle && open_q && window_q;
  assign tx_starts = tx_go && tx_valid_i && (tx_empty || tx_unit_valid_i);
  assign tx_ready_o = tx_go && advance && (tx_empty || tx_unit_valid_i);
  assign tx_unit_ready_o = advance && (tx_state_q == TxUnits ? !tx_left_one_q : tx_go && tx_valid_i && !tx_empty);
  assign replay_start = tx_state_q == TxIdle && !open_q && !control_due && replay_due_q && up && pipe_empty;

  always_comb begin
    header_out = '{meta: tx_meta_i[71:32], ack: 8'(expected_q), seq: 8'(seq_q), units: tx_units_i, kind: FrameData};
    a_beat = {tx_empty ? {32'd0, tx_meta_i[31:0]} : tx_unit_i[63:0], header_out};
    a_valid = tx_starts;
    a_first = 1'b1;
    a_last = tx_empty;
    a_new = 1'b1;
    a_raw = 1'b0;
    a_replay = 1'b0;
    case (tx_state_q)
      TxIdle: begin
        if (!open_q && control_due) begin
          header_out = '{meta: '0, ack: 8'(expected_q), seq: '0, units: '0, kind: FrameAck};
          a_beat = control_short ? {64'd0, header_out} : ResyncBeat;
          a_valid = 1'b1;
          a_first = control_short;
          a_last = control_short;
          a_new = 1'b0;
          a_raw = !control_short;
        end else if (!open_q) begin
          a_beat = ResyncBeat;
          a_valid = replay_start;
          a_first = 1'b0;
          a_last = 1'b0;
          a_new = 1'b0;
          a_raw = 1'b1;
        end
      end
      TxUnits: begin
        a_beat  = {tx_left_one_q ? {32'd0, tx_meta_q} : tx_unit_i[63:0], tx_half_q};
        a_valid = tx_left_one_q || tx_unit_valid_i;
        a_first = 1'b0;
        a_last  = tx_left_one_q;
      end
      TxControl: begin
        header_out = '{
            meta: settings[71:32],
            ack: 8'(expected_q),
            seq: control_q inside {FrameInit, FrameInitAck} ? 8'(nonce_q) : '0,
            units: '0,
            kind: control_q
        };
        a_beat = {32'd0, settings[31:0], header_out};
        a_valid = 1'b1;
        a_last = 1'b1;
        a_new = 1'b0;
      end
      default: begin  // TxReplay
        a_valid = replay_read_q != replay_write_q;
        a_first = 1'b0;
        a_last = 1'b0;
        a_new = 1'b0;
        a_raw = 1'b1;
        a_replay = 1'b1;
      end
    endcase
  end

  assign ack_sent = a_valid && a_first && advance;
  assign nak_sent = tx_state_q == TxControl && control_q == FrameNak && advance;

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
      silent_q <= '0;
      keep_due_q <= 1'b0;
      ack_timer_q <= '0;
      ack_late_q <= 1'b0;
      vain_q <= '0;
      vain_over_q <= 1'b0;
      window_q <= 1'b0;
      space_q <= 1'b0;
      open_q <= 1'b0;
      none_out_q <= 1'b1;
      replay_used_q <= '0;
      new_ack_q <= 1'b0;
    end else begin
      // With the frame that starts now. Of beats there is room for three of the longest.
      window_q <= tx_starts && advance ? in_flight < SeqWidth'(MaxInFlight - 1) : in_flight < SeqWidth'(MaxInFlight);
      replay_used_q <= replay_write_q - replay_oldest_q;
      space_q <= replay_used_q <= ReplayPtr'(ReplayDepth - 3 * (MaxUnits + 1));
      // Frames may start, unless something else has to go first.
      open_q <= up && space_q && !control_due && !replay_due_q;
      none_out_q <= seq_q == oldest_q;
      new_ack_q <= new_ack;
      silent_q <= ack_sent_q ? '0 : silent_q + 1'b1;
      // An eighth of the time after which the other end gives up, so several must be lost.
      keep_due_q <= up && tx_state_q == TxIdle && !ack_sent_q && silent_q >= keep_after_q;
      if (advance) begin
        case (tx_state_q)
          TxIdle: begin
            if (!open_q && control_due) begin
              control_q <= control_kind;
              if (!control_short) tx_state_q <= TxControl;
            end else if (replay_start) begin
              tx_state_q <= TxReplay;
              replay_read_q <= replay_oldest_q;
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
          if (a_valid) begin
            tx_left_q <= tx_left_q - 5'd1;
            tx_left_one_q <= tx_left_q == 5'd2;
            if (tx_left_one_q) tx_state_q <= TxIdle;
          end
          TxControl: tx_state_q <= TxIdle;
          default: begin
            if (a_valid) replay_read_q <= replay_read_q + 1'b1;
            // Asked again: what is still to come would be ignored.
            if (!a_valid || replay_due_q) tx_state_q <= TxIdle;
          end
        endcase
      end
      // The time runs while something waits for its acknowledgement and nothing is being repeated.
      if (new_ack_q || none_out_q || tx_state_q == TxReplay || replay_due_q || ack_late_q) ack_timer_q <= '0;
      else ack_timer_q <= ack_timer_q + 1'b1;
      ack_late_q <= ack_timer_q >= ack_timeout_i && !ack_late_q;
      // However often it is repeated, and whatever is heard meanwhile.
      vain_q <= new_ack_q || none_out_q ? '0 : vain_q == '1 ? vain_q : vain_q + 1'b1;
      vain_over_q <= vain_q > down_after;
      if (ack_late_q || heard_nak_q) replay_due_q <= 1'b1;
      if (!up) begin
        seq_q <= '0;
        replay_due_q <= 1'b0;
        ack_timer_q <= '0;
        ack_late_q <= 1'b0;
        vain_q <= '0;
        vain_over_q <= 1'b0;
        if (tx_state_q inside {TxUnits, TxReplay}) tx_state_q <= TxIdle;
      end
    end
  end

  // Second stage: what each beat adds to the CRC.
  consort_crc_sum i_tx_sum (
      .data_i(a_beat_q),
      .sum_o(b_crc)
  );

  always_ff @(posedge clk_i) begin
    if (advance) begin
      if (tx_state_q == TxIdle) tx_meta_q <= tx_meta_i[31:0];
      if (tx_unit_ready_o && tx_unit_valid_i) tx_half_q <= tx_unit_i[127:64];
      a_beat_q <= a_beat;
      a_marks_q <= a_raw ? MarksWhole : {a_last, a_first};
      if (tx_state_q == TxIdle) a_seq_q <= seq_q;
      replay_data_q <= replay_ram[replay_read_q];
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
        {a_valid_q, a_first_q, a_last_q, a_new_q, a_raw_q, a_replay_q} <= {a_valid, a_first, a_last, a_new, a_raw, a_replay};
        {b_valid_q, b_first_q} <= {a_valid_q, a_first_q};
        b_last_q <= a_last_q && !a_raw_q;
        b_more_q <= !a_last_q && !a_raw_q;
        b_new_q <= a_valid_q && a_new_q;
        phy_tx_valid_o <= b_valid_q;
        if (b_new_q) replay_write_q <= replay_write_q + 1'b1;
      end
      if (new_ack) begin
        oldest_q <= heard_number_q;
        replay_oldest_q <= next_start[heard_number_q[SeqWidth-2:0]];
      end
      if (!up) begin
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

  // ---- Up and down ----

  logic quiet_clear, over;

  // A target that is asked for a session has lost the one that it has.
  assign failed = up && (quiet_over_q || vain_over_q || !enable_i || (!Initiator && heard_init_q));
  assign over = failed || !enable_i || (state_q == Waiting && quiet_over_q);

  always_comb begin
    quiet_clear = heard_q && (up || state_q == Waiting);
    case (state_q)
      Down: if (Initiator && quiet_start_q && enable_i) quiet_clear = 1'b1;
      Starting: begin
        if (Initiator && ((heard_init_ack_q && heard_same_q) || quiet_retry_q)) quiet_clear = 1'b1;
        if (!Initiator && drained_i) quiet_clear = 1'b1;
      end
      default: if (over) quiet_clear = 1'b1;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Down;
      nonce_q <= '0;
      quiet_q <= '0;
      quiet_over_q <= 1'b0;
      quiet_start_q <= 1'b0;
      quiet_retry_q <= 1'b0;
      start_after_q <= '1;
      peer_after_q <= '0;
      keep_after_q <= '1;
      init_due_q <= 1'b0;
      init_ack_due_q <= 1'b0;
      confirms_q <= 1'b0;
      downs_o <= '0;
    end else begin
      quiet_q <= quiet_clear ? '0 : (quiet_q == '1 ? quiet_q : quiet_q + 1'b1);
      // Longer than what this end sent, and what was sent to it, is on the wire.
      start_after_q <= down_after + (down_after >> 1);
      quiet_over_q <= !quiet_clear && quiet_q > down_after;
      quiet_start_q <= !quiet_clear && quiet_q > start_after_q;
      quiet_retry_q <= !quiet_clear && quiet_q > down_after >> 3;
      // Often enough for the end that waits less.
      keep_after_q <= (peer_after_q != '0 && peer_after_q < down_after ? peer_after_q : down_after) >> 3;
      // An acknowledgement alone that took no ResyncBeat tells nothing, its version is 0.
      if (heard_control_q && heard_version) peer_after_q <= TimerWidth'(heard_settings_q.down_after);
      if (tx_state_q == TxControl && advance) begin
        if (control_q == FrameInit) init_due_q <= 1'b0;
        if (control_q == FrameInitAck) init_ack_due_q <= 1'b0;
      end
      confirms_q <= 1'b0;
      case (state_q)
        Down: begin
          if (Initiator && quiet_start_q && enable_i) begin
            state_q <= Starting;
            nonce_q <= nonce_q + 1'b1;
            init_due_q <= 1'b1;
          end
          if (!Initiator && heard_init_q && heard_version && enable_i) begin
            state_q <= Starting;
            nonce_q <= heard_seq_q;
          end
        end
        Starting: begin
          if (Initiator) begin
            if (heard_init_ack_q && heard_same_q && heard_version) begin
              state_q <= Up;
              confirms_q <= 1'b1;
            end else if (quiet_retry_q) init_due_q <= 1'b1;
          end else begin
            if (heard_init_q) nonce_q <= heard_seq_q;
            if (drained_i) begin
              state_q <= Waiting;
              init_ack_due_q <= 1'b1;
            end
          end
        end
        Waiting: begin
          if (heard_init_q) begin
            nonce_q <= heard_seq_q;
            init_ack_due_q <= 1'b1;
          end else if (heard_talk_q) state_q <= Up;
        end
        default: ;
      endcase
      if (over) state_q <= Down;
      if (failed) downs_o <= downs_o + 1'b1;
    end
  end

endmodule
