// SPDX-License-Identifier: Apache-2.0
// Whether a link is up, and how two ends agree on a new session.
//
// an end is down when it hears nothing good for down_after_i cycles, when what it sends is in vain as long, or when it is switched
// off. The initiator stays silent for one and a half times that and then asks with a nonce; the target drains, answers, and is up when it hears that
// the initiator is. A target that is up and is asked was forgotten, and ends its session. Both tell each other how long they wait.
// Interface: heard_* from the receiver, vain_over_i from the timers; init_due_o and init_ack_due_o until they were sent.
// Parameters: Initiator; SeqWidth of the nonce; TimerWidth of the times.
// Throughput: not applicable.
// Latency: up_o falls two cycles after its time is over; with enable_i low in the next cycle.
// Assumes: down_after_i is longer than a round trip of the wire and what an acknowledgement waits.
// Held by: the exploration of consort_link with resets of one side and unequal times (tests/rtl/test_explore.py), with three wrong versions.
module consort_link_session
  import consort_remote_pkg::*;
#(
    parameter bit          Initiator  = 1'b1,
    parameter int unsigned SeqWidth   = 8,
    parameter int unsigned TimerWidth = 24
) (
    input logic clk_i,
    input logic rst_ni,
    input logic enable_i,
    input logic [TimerWidth-1:0] down_after_i,

    input logic heard_i,
    input logic heard_init_i,
    input logic heard_same_i,
    input logic heard_init_ack_i,
    input logic heard_control_i,
    input logic heard_talk_i,
    input logic [SeqWidth-1:0] heard_seq_i,
    input settings_t heard_settings_i,
    input logic vain_over_i,

    input  logic init_sent_i,
    input  logic init_ack_sent_i,
    output logic init_due_o,
    output logic init_ack_due_o,
    output logic confirms_o,                    // of the initiator: it is up, and says so
    output logic [SeqWidth-1:0] nonce_o,

    output logic up_o,
    output logic starting_o,
    output logic drain_o,
    input  logic drained_i,
    output logic [TimerWidth-1:0] keep_after_o, // cycles after which something has to go
    output logic [TimerWidth-1:0] peer_after_o,
    output logic [31:0] downs_o
);
  typedef logic [TimerWidth-1:0] timer_t;

  typedef enum logic [1:0] {
    Down,
    Starting,  // initiator: sends FrameInit; target: drains
    Waiting,   // target: has answered, and waits to hear that the initiator is up
    Up
  } state_e;

  state_e state_q;
  timer_t start_after_q;
  timer_t quiet_q;          // cycles since the last good frame; while down, since it went down
  logic quiet_over_q, quiet_start_q, quiet_retry_q;  // it is longer than the time to go down, to start, to ask again
  logic failed, over, quiet_clear, heard_version;

  assign up_o = state_q == Up;
  assign starting_o = state_q == Starting;
  assign heard_version = heard_settings_i.version == LinkVersion;
  assign drain_o = !Initiator && !up_o;

  // A target that is asked for a session has lost the one that it has.
  assign failed = up_o && (quiet_over_q || vain_over_i || !enable_i || (!Initiator && heard_init_i));
  assign over = failed || !enable_i || (state_q == Waiting && quiet_over_q);

  always_comb begin
    quiet_clear = heard_i && (up_o || state_q == Waiting);
    case (state_q)
      Down: if (Initiator && quiet_start_q && enable_i) quiet_clear = 1'b1;
      Starting: begin
        if (Initiator && ((heard_init_ack_i && heard_same_i) || quiet_retry_q)) quiet_clear = 1'b1;
        if (!Initiator && drained_i) quiet_clear = 1'b1;
      end
      default: if (over) quiet_clear = 1'b1;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Down;
      nonce_o <= '0;
      quiet_q <= '0;
      quiet_over_q <= 1'b0;
      quiet_start_q <= 1'b0;
      quiet_retry_q <= 1'b0;
      start_after_q <= '1;
      peer_after_o <= '0;
      keep_after_o <= '1;
      init_due_o <= 1'b0;
      init_ack_due_o <= 1'b0;
      confirms_o <= 1'b0;
      downs_o <= '0;
    end else begin
      quiet_q <= quiet_clear ? '0 : (quiet_q == '1 ? quiet_q : quiet_q + 1'b1);
      // Longer than what this end sent, and what was sent to it, is on the wire.
      start_after_q <= down_after_i + (down_after_i >> 1);
      quiet_over_q <= !quiet_clear && quiet_q > down_after_i;
      quiet_start_q <= !quiet_clear && quiet_q > start_after_q;
      quiet_retry_q <= !quiet_clear && quiet_q > down_after_i >> 3;
      // Often enough for the end that waits less.
      keep_after_o <= (peer_after_o != '0 && peer_after_o < down_after_i ? peer_after_o : down_after_i) >> 3;
      // An acknowledgement alone that took no ResyncBeat tells nothing, its version is 0.
      if (heard_control_i && heard_version) peer_after_o <= TimerWidth'(heard_settings_i.down_after);
      if (init_sent_i) init_due_o <= 1'b0;
      if (init_ack_sent_i) init_ack_due_o <= 1'b0;
      confirms_o <= 1'b0;
      case (state_q)
        Down: begin
          if (Initiator && quiet_start_q && enable_i) begin
            state_q <= Starting;
            nonce_o <= nonce_o + 1'b1;
            init_due_o <= 1'b1;
          end
          if (!Initiator && heard_init_i && heard_version && enable_i) begin
            state_q <= Starting;
            nonce_o <= heard_seq_i;
          end
        end
        Starting: begin
          if (Initiator) begin
            if (heard_init_ack_i && heard_same_i && heard_version) begin
              state_q <= Up;
              confirms_o <= 1'b1;
            end else if (quiet_retry_q) init_due_o <= 1'b1;
          end else begin
            if (heard_init_i) nonce_o <= heard_seq_i;
            if (drained_i) begin
              state_q <= Waiting;
              init_ack_due_o <= 1'b1;
            end
          end
        end
        Waiting: begin
          if (heard_init_i) begin
            nonce_o <= heard_seq_i;
            init_ack_due_o <= 1'b1;
          end else if (heard_talk_i) state_q <= Up;
        end
        default: ;
      endcase
      if (over) state_q <= Down;
      if (failed) downs_o <= downs_o + 1'b1;
    end
  end
endmodule
