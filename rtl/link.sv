// SPDX-License-Identifier: Apache-2.0
// One end of a reliable link: frames go out with a sequence number and a CRC and stay in a buffer until the other end has
// acknowledged them; what arrives is handed on once, in order, and only when its CRC was good.
//
// A receiver that sees a bad frame asks for a repetition (FrameNak) and ignores everything up to the next ResyncBeat. The
// sender goes back to the oldest frame without acknowledgement on a request or when its time is over. An end that hears
// nothing good for down_after_i cycles, or repeats itself in vain, is down: it falls silent, so the other end gets down too.
// The initiator then starts anew with a nonce; the target answers once its user has drained what was under way.
module link
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
    input  logic [23:0] down_after_i,   // cycles without a good frame after which the link is down
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

    // Frames received, and their units.
    output logic [MetaWidth-1:0] rx_meta_o,
    output logic [4:0]           rx_units_o,
    output logic                 rx_valid_o,
    input  logic                 rx_ready_i,
    output logic [BeatWidth-1:0] rx_unit_o,
    output logic                 rx_unit_valid_o,
    input  logic                 rx_unit_ready_i,

    output logic [BeatWidth-1:0] phy_tx_o,
    output logic                 phy_tx_valid_o,
    input  logic                 phy_tx_ready_i,
    input  logic [BeatWidth-1:0] phy_rx_i,
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
  localparam logic [3:0] MaxRetries = 4'd15;

  // ---- What both directions know ----

  typedef enum logic [1:0] {
    Down,
    Starting,  // initiator: sends FrameInit; target: drains
    Up
  } state_e;

  state_e state_q;
  seq_t nonce_q;
  timer_t down_after;
  timer_t quiet_q;          // cycles since the last good frame; while down, since it went down
  logic start_now, failed;
  logic got_init, got_init_ack, good_frame;  // from the receiver, one cycle
  seq_t got_seq, got_ack;
  logic init_due_q, init_ack_due_q;
  logic [3:0] retries_q;
  logic up;

  assign down_after = TimerWidth'(down_after_i);
  assign up = state_q == Up;
  assign up_o = up;
  assign drain_o = !Initiator && !up;

  // ---- Receiver ----

  typedef enum logic [1:0] {
    Hunt,
    Boundary,
    Inside
  } rx_state_e;

  rx_state_e rx_state_q;
  logic [BeatWidth-1:0] in_q;
  logic in_valid_q, in_gap_q;
  header_t in_header, header_q;
  header_t ended_q;  // of the frame that ended: the next one may already be in header_q
  logic [4:0] left_q;
  logic [31:0] rx_crc_q;
  logic [63:0] half_q;
  logic in_resync, header_good, frame_first, frame_last;
  logic end_q;
  logic [31:0] tail_meta_q, tail_crc_q;
  logic bad_header, bad_crc, frame_ok, accept, duplicate, ahead, refused_q, refused_now;
  seq_t expected_q, ahead_of;
  logic [RxPtr:0] rx_spec_q, rx_commit_q, rx_read_q;
  logic [RxPtr:0] rx_used;
  logic room_q;
  logic nak_due_q, ack_now_q, nak_sent;
  seq_t since_ack_q;         // frames accepted since an acknowledgement went
  logic [15:0] ack_wait_q;
  logic ack_sent;            // from the sender: a header with expected_q goes out
  logic head_ready;

  assign in_header = header_t'(in_q[63:0]);
  assign in_resync = in_q == ResyncBeat;
  assign header_good = in_header.kind inside {FrameData, FrameAck, FrameNak, FrameInit, FrameInitAck} &&
      in_header.units <= (in_header.kind == FrameData ? 5'(MaxUnits) : 5'd0);
  assign frame_first = in_valid_q && rx_state_q == Boundary && !in_resync && header_good;
  assign frame_last = (frame_first && in_header.units == 5'd0) || (in_valid_q && rx_state_q == Inside && left_q == 5'd1);
  assign bad_header = in_valid_q && rx_state_q == Boundary && !in_resync && !header_good && !in_gap_q;
  assign phy_rx_hunting_o = rx_state_q == Hunt;
  assign bad_crc = end_q && rx_crc_q != tail_crc_q;
  assign frame_ok = end_q && !bad_crc;
  assign accept = frame_ok && ended_q.kind == FrameData && up && got_seq == expected_q && !refused_q && head_ready;
  assign duplicate = frame_ok && ended_q.kind == FrameData && up && !accept && ahead_of[SeqWidth-1];
  assign ahead = frame_ok && ended_q.kind == FrameData && up && !accept && !duplicate;

  assign ahead_of = got_seq - expected_q;
  assign good_frame = frame_ok;
  assign got_seq = ended_q.seq[SeqWidth-1:0];
  assign got_ack = ended_q.ack[SeqWidth-1:0];
  assign got_init = frame_ok && ended_q.kind == FrameInit;
  assign got_init_ack = frame_ok && ended_q.kind == FrameInitAck;

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
          Hunt: if (in_resync) rx_state_q <= Boundary;
          Boundary: begin
            if (bad_header) rx_state_q <= Hunt;
            else if (frame_first && !frame_last) rx_state_q <= Inside;
          end
          default: if (frame_last) rx_state_q <= Boundary;
        endcase
      end
      // The beat that is looked at now came after a frame that was no good: it counts only if it is a ResyncBeat.
      if (bad_crc || ahead) begin
        rx_state_q <= in_valid_q && in_resync ? Boundary : Hunt;
        end_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    in_q <= phy_rx_i;
    in_gap_q <= phy_rx_gap_i;
    if (in_valid_q) begin
      if (frame_first) header_q <= in_header;
      left_q <= frame_first ? in_header.units : left_q - 5'd1;
      half_q <= in_q[127:64];
      rx_crc_q <= crc_next(frame_first ? '1 : rx_crc_q, frame_last ? {32'd0, in_q[95:0]} : in_q);
      tail_meta_q <= in_q[95:64];
      tail_crc_q <= in_q[127:96];
      if (frame_last) ended_q <= frame_first ? in_header : header_q;
    end
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
      refused_q   <= 1'b0;
      room_q      <= 1'b0;
    end else begin
      // Two frames may be on their way between this look at the room and their writes.
      room_q <= rx_used <= (RxPtr + 1)'(RxDepth - 3 * MaxUnits);
      if (frame_first) refused_now <= !room_q || in_header.kind != FrameData;
      if (frame_last) refused_q <= frame_first ? !room_q : refused_now;
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

  fifo #(
      .T(logic [MetaWidth+4:0]),
      .Depth(HeadDepth)
  ) i_heads (
      .clk_i,
      .rst_ni,
      .clear_i(!up),
      .data_i({ended_q.units, ended_q.meta, tail_meta_q}),
      .valid_i(accept),
      .ready_o(head_ready),
      .data_o({rx_units_o, rx_meta_o}),
      .valid_o(rx_valid_o),
      .ready_i(rx_ready_i)
  );

  // Block RAM reads take a cycle: a register in front shows the next unit.
  logic unit_valid_q;
  assign rx_unit_valid_o = unit_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_read_q <= '0;
      unit_valid_q <= 1'b0;
    end else if (!up) begin
      rx_read_q <= '0;
      unit_valid_q <= 1'b0;
    end else if (!unit_valid_q || rx_unit_ready_i) begin
      unit_valid_q <= rx_read_q != rx_commit_q;
      if (rx_read_q != rx_commit_q) rx_read_q <= rx_read_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!unit_valid_q || rx_unit_ready_i) rx_unit_o <= rx_ram[rx_read_q[RxPtr-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      expected_q <= '0;
      nak_due_q <= 1'b0;
      ack_now_q <= 1'b0;
      since_ack_q <= '0;
      ack_wait_q <= '0;
      bad_frames_o <= '0;
    end else begin
      if (bad_header || bad_crc || ahead) begin
        // No request where there was no room: the sender's time must run out, or it would repeat at once and in vain.
        nak_due_q <= up && !(ahead && got_seq == expected_q);
        bad_frames_o <= bad_frames_o + 1'b1;
      end else if (nak_sent) begin
        nak_due_q <= 1'b0;
      end
      ack_wait_q <= since_ack_q == '0 ? '0 : ack_wait_q + 1'b1;
      if (ack_sent) begin
        since_ack_q <= SeqWidth'(accept);
        ack_now_q <= 1'b0;
        ack_wait_q <= '0;
      end else begin
        since_ack_q <= since_ack_q + SeqWidth'(accept);
        if (since_ack_q >= SeqWidth'(AckFrames) || ack_wait_q >= 16'(AckDelay)) ack_now_q <= 1'b1;
      end
      if (duplicate) ack_now_q <= 1'b1;
      if (accept) expected_q <= expected_q + 1'b1;
      if (!up) begin
        expected_q <= '0;
        nak_due_q <= 1'b0;
        ack_now_q <= 1'b0;
        since_ack_q <= '0;
      end
    end
  end

  // ---- Sender ----

  typedef enum logic [2:0] {
    TxIdle,
    TxHead,     // the header waits for the first unit, which goes into the same beat
    TxUnits,
    TxControl,  // the control frame after its ResyncBeat
    TxReplay
  } tx_state_e;

  tx_state_e tx_state_q;
  logic advance;                 // the pipeline moves
  logic [BeatWidth-1:0] a_beat, a_beat_q;
  logic a_valid, a_valid_q, a_first, a_first_q, a_last, a_last_q, a_new, a_new_q, a_raw, a_raw_q, a_replay, a_replay_q;
  seq_t seq_q, oldest_q, a_seq_q, a_next_seq, in_flight;
  logic [4:0] tx_left_q;
  logic [63:0] tx_half_q;
  logic [31:0] tx_meta_q;
  logic [39:0] tx_head_q;
  logic [31:0] tx_crc_q, tx_crc;
  logic [ReplayPtr-1:0] replay_write_q, replay_oldest_q, replay_read_q;
  logic [ReplayPtr-1:0] next_start[2**SeqWidth];
  logic [BeatWidth-1:0] replay_ram[ReplayDepth];
  logic [BeatWidth-1:0] replay_data_q;
  logic replay_due_q, replay_start, space;
  logic [15:0] ack_timer_q;
  timer_t silent_q;
  logic keep_due;
  frame_e control_kind, control_q;
  header_t header_out;
  logic new_ack;
  logic pipe_empty;

  assign advance = !phy_tx_valid_o || phy_tx_ready_i;
  assign in_flight = seq_q - oldest_q;
  assign a_next_seq = a_seq_q + 1'b1;
  assign space = in_flight < SeqWidth'(MaxInFlight) &&
      (replay_write_q - replay_oldest_q) <= ReplayPtr'(ReplayDepth - 3 * (MaxUnits + 1));
  assign new_ack = frame_ok && up && ended_q.kind inside {FrameData, FrameAck, FrameNak} &&
      got_ack != oldest_q && (got_ack - oldest_q) <= in_flight;
  assign pipe_empty = !a_valid_q;
  // An eighth of the time after which the other end gives up, so several must be lost.
  assign keep_due = up && silent_q >= down_after >> 3;

  always_comb begin
    control_kind = FrameNone;
    if (init_due_q) control_kind = FrameInit;
    else if (init_ack_due_q) control_kind = FrameInitAck;
    else if (up && nak_due_q) control_kind = FrameNak;
    else if (up && (ack_now_q || keep_due)) control_kind = FrameAck;
  end

  always_comb begin
    header_out = '{meta: tx_meta_i[71:32], ack: 8'(expected_q), seq: 8'(seq_q), units: tx_units_i, kind: FrameData};
    a_beat = {tx_unit_i[63:0], header_out};
    a_valid = 1'b0;
    a_first = 1'b0;
    a_last = 1'b0;
    a_new = 1'b0;
    a_raw = 1'b0;
    a_replay = 1'b0;
    tx_ready_o = 1'b0;
    tx_unit_ready_o = 1'b0;
    replay_start = 1'b0;
    case (tx_state_q)
      TxIdle: begin
        if (control_kind == FrameAck && !keep_due) begin
          // Between frames the other end is at a boundary or hunts anyway: no ResyncBeat.
          header_out = '{meta: '0, ack: 8'(expected_q), seq: '0, units: '0, kind: FrameAck};
          a_beat = {64'd0, header_out};
          a_valid = 1'b1;
          a_first = 1'b1;
          a_last = 1'b1;
        end else if (control_kind != FrameNone) begin
          a_beat  = ResyncBeat;
          a_valid = 1'b1;
          a_raw   = 1'b1;
        end else if (up && replay_due_q) begin
          if (pipe_empty) begin
            a_beat = ResyncBeat;
            a_valid = 1'b1;
            a_raw = 1'b1;
            replay_start = advance;
          end
        end else if (up && space) begin
          if (tx_units_i == '0) a_beat = {32'd0, tx_meta_i[31:0], header_out};
          a_valid = tx_valid_i && (tx_units_i == '0 || tx_unit_valid_i);
          a_first = 1'b1;
          a_last = tx_units_i == '0;
          a_new = 1'b1;
          tx_ready_o = advance;
          tx_unit_ready_o = advance && tx_valid_i && tx_units_i != '0;
        end
      end
      TxHead: begin
        header_out.meta = tx_head_q;
        header_out.units = tx_left_q;
        a_beat = {tx_unit_i[63:0], header_out};
        a_valid = tx_unit_valid_i;
        a_first = 1'b1;
        a_new = 1'b1;
        tx_unit_ready_o = advance;
      end
      TxUnits: begin
        a_beat  = {tx_left_q == 5'd1 ? {32'd0, tx_meta_q} : tx_unit_i[63:0], tx_half_q};
        a_valid = tx_left_q == 5'd1 || tx_unit_valid_i;
        a_last  = tx_left_q == 5'd1;
        a_new   = 1'b1;
        tx_unit_ready_o = advance && tx_left_q != 5'd1;
      end
      TxControl: begin
        header_out = '{
            meta: '0,
            ack: 8'(expected_q),
            seq: control_q inside {FrameInit, FrameInitAck} ? 8'(nonce_q) : '0,
            units: '0,
            kind: control_q
        };
        a_beat = {64'd0, header_out};
        a_valid = 1'b1;
        a_first = 1'b1;
        a_last = 1'b1;
      end
      default: begin  // TxReplay
        a_valid = replay_read_q != replay_write_q;
        a_raw = 1'b1;
        a_replay = 1'b1;
      end
    endcase
  end

  assign ack_sent = a_valid && a_first && advance && up;
  assign nak_sent = tx_state_q == TxControl && control_q == FrameNak && advance;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tx_state_q <= TxIdle;
      control_q <= FrameNone;
      seq_q <= '0;
      tx_left_q <= '0;
      replay_read_q <= '0;
      replay_due_q <= 1'b0;
      replays_o <= '0;
      silent_q <= '0;
      ack_timer_q <= '0;
      retries_q <= '0;
    end else begin
      silent_q <= silent_q + 1'b1;
      if (advance) begin
        if (a_valid && a_first) silent_q <= '0;
        case (tx_state_q)
          TxIdle: begin
            if (a_valid && a_raw) begin
              if (replay_start) begin
                tx_state_q <= TxReplay;
                replay_read_q <= replay_oldest_q;
                replay_due_q <= 1'b0;
                replays_o <= replays_o + 1'b1;
              end else begin
                tx_state_q <= TxControl;
                control_q  <= control_kind;
              end
            end else if (tx_ready_o && tx_valid_i) begin
              tx_left_q <= tx_units_i;
              if (a_valid) seq_q <= seq_q + 1'b1;
              if (!a_valid) tx_state_q <= TxHead;
              else if (!a_last) tx_state_q <= TxUnits;
            end
          end
          TxHead:
          if (a_valid) begin
            seq_q <= seq_q + 1'b1;
            tx_state_q <= TxUnits;
          end
          TxUnits:
          if (a_valid) begin
            tx_left_q <= tx_left_q - 5'd1;
            if (a_last) tx_state_q <= TxIdle;
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
      if (new_ack || in_flight == '0 || tx_state_q == TxReplay || replay_due_q) ack_timer_q <= '0;
      else ack_timer_q <= ack_timer_q + 1'b1;
      if (new_ack) retries_q <= '0;
      if (ack_timer_q >= ack_timeout_i) begin
        replay_due_q <= 1'b1;
        ack_timer_q <= '0;
        if (!new_ack) retries_q <= retries_q + 1'b1;
      end
      if (frame_ok && ended_q.kind == FrameNak && up) replay_due_q <= 1'b1;
      if (!up) begin
        seq_q <= '0;
        replay_due_q <= 1'b0;
        ack_timer_q <= '0;
        retries_q <= '0;
        if (tx_state_q inside {TxHead, TxUnits, TxReplay}) tx_state_q <= TxIdle;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      if (tx_state_q == TxIdle) {tx_head_q, tx_meta_q} <= tx_meta_i;
      if (tx_unit_ready_o && tx_unit_valid_i) tx_half_q <= tx_unit_i[127:64];
      a_beat_q <= a_beat;
      if (tx_state_q inside {TxIdle, TxHead}) a_seq_q <= seq_q;
      replay_data_q <= replay_ram[replay_read_q];
    end
  end

  // Second stage: the CRC goes into the last beat, and new beats into the buffer.
  logic [BeatWidth-1:0] b_beat;
  assign tx_crc = crc_next(a_first_q ? '1 : tx_crc_q, a_beat_q);
  always_comb begin
    b_beat = a_replay_q ? replay_data_q : a_beat_q;
    if (a_last_q && !a_raw_q) b_beat[127:96] = tx_crc;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {a_valid_q, a_first_q, a_last_q, a_new_q, a_raw_q, a_replay_q} <= '0;
      phy_tx_valid_o <= 1'b0;
      replay_write_q <= '0;
      replay_oldest_q <= '0;
      oldest_q <= '0;
    end else begin
      if (advance) begin
        {a_valid_q, a_first_q, a_last_q, a_new_q, a_raw_q, a_replay_q} <= {a_valid, a_first, a_last, a_new, a_raw, a_replay};
        phy_tx_valid_o <= a_valid_q;
        if (a_valid_q && a_new_q) replay_write_q <= replay_write_q + 1'b1;
      end
      if (new_ack) begin
        oldest_q <= got_ack;
        replay_oldest_q <= next_start[got_ack];
      end
      if (!up) begin
        oldest_q <= '0;
        replay_write_q <= '0;
        replay_oldest_q <= '0;
        a_new_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      phy_tx_o <= b_beat;
      if (a_valid_q) tx_crc_q <= tx_crc;
      if (a_valid_q && a_new_q) begin
        replay_ram[replay_write_q] <= b_beat;
        if (a_last_q) next_start[a_next_seq] <= replay_write_q + 1'b1;
      end
    end
  end

  // ---- Up and down ----

  assign failed = up && (quiet_q > down_after || retries_q == MaxRetries || !enable_i);
  // Silent long enough for the other end to be down too, whatever it heard last.
  assign start_now = quiet_q > down_after + (down_after >> 1) && enable_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Down;
      nonce_q <= '0;
      quiet_q <= '0;
      init_due_q <= 1'b0;
      init_ack_due_q <= 1'b0;
      downs_o <= '0;
    end else begin
      quiet_q <= good_frame && up ? '0 : (quiet_q == '1 ? quiet_q : quiet_q + 1'b1);
      if (tx_state_q == TxControl && advance) begin
        if (control_q == FrameInit) init_due_q <= 1'b0;
        if (control_q == FrameInitAck) init_ack_due_q <= 1'b0;
      end
      case (state_q)
        Down: begin
          if (Initiator && start_now) begin
            state_q <= Starting;
            nonce_q <= nonce_q + 1'b1;
            quiet_q <= '0;
            init_due_q <= 1'b1;
          end
          if (!Initiator && got_init && enable_i) begin
            state_q <= Starting;
            nonce_q <= got_seq;
          end
        end
        Starting: begin
          if (Initiator) begin
            if (got_init_ack && got_seq == nonce_q) begin
              state_q <= Up;
              quiet_q <= '0;
            end else if (quiet_q > down_after >> 3) begin
              quiet_q <= '0;
              init_due_q <= 1'b1;
            end
          end else if (drained_i) begin
            state_q <= Up;
            quiet_q <= '0;
            init_ack_due_q <= 1'b1;
          end
        end
        default: begin
          if (!Initiator && got_init) begin
            if (got_seq == nonce_q) init_ack_due_q <= 1'b1;
            else state_q <= Down;
          end
          if (failed) begin
            state_q <= Down;
            quiet_q <= '0;
            downs_o <= downs_o + 1'b1;
          end
        end
      endcase
      if (!enable_i) state_q <= Down;
    end
  end

endmodule
