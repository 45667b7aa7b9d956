// SPDX-License-Identifier: Apache-2.0
// Says when a link has to acknowledge by itself what it received, and when it has to ask for a repetition.
//
// It counts frames that were accepted since an acknowledgement went, and the cycles that the oldest of them waits. Each header
// carries an acknowledgement, so this is only for what finds no frame to travel in.
// Interface: what the receiver found, a cycle after the frame ended; ack_sent_i and nak_sent_i from the sender; nak_due_o and ack_now_o to it.
// Parameters: SeqWidth, TimerWidth; Delay in cycles and Frames in frames after which an acknowledgement goes by itself.
// Throughput: a frame a cycle.
// Latency: ack_now_o three cycles after the frame, or the end of the time, that makes it due.
// Assumes: ack_sent_i with each header that goes out.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py), with a wrong version of this module.
module consort_link_acks
  import consort_remote_pkg::*;
#(
    parameter int unsigned SeqWidth   = 8,
    parameter int unsigned TimerWidth = 24,
    parameter int unsigned Delay      = 512,
    parameter int unsigned Frames     = 32
) (
    input logic clk_i,
    input logic rst_ni,
    input logic up_i,
    input logic accepted_i,
    input logic duplicate_i,
    input logic confirms_i,                      // the session has begun, which the other end has to hear
    input logic bad_i,
    input logic repeat_i,
    input logic [TimerWidth-1:0] keep_after_i,   // cycles after which something has to go

    input  logic ack_sent_i,                     // a header with the number that is expected goes out
    input  logic nak_sent_i,
    output logic ack_sent_o,                     // a cycle later
    output logic ack_now_o,
    output logic nak_due_o,
    output logic [31:0] bad_frames_o
);
  logic [SeqWidth-1:0] since_ack_q;         // frames accepted since an acknowledgement went
  logic [15:0] ack_wait_q;
  logic ack_sent_q, none_since_q, ack_full_q, ack_wait_over_q;

  assign ack_sent_o = ack_sent_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      nak_due_o <= 1'b0;
      ack_now_o <= 1'b0;
      since_ack_q <= '0;
      ack_wait_q <= '0;
      {ack_sent_q, none_since_q, ack_full_q, ack_wait_over_q} <= '0;
      bad_frames_o <= '0;
    end else begin
      bad_frames_o <= bad_frames_o + 32'(bad_i);
      if (bad_i) nak_due_o <= repeat_i;
      else if (nak_sent_i) nak_due_o <= 1'b0;
      ack_wait_q <= none_since_q || ack_sent_q ? '0 : ack_wait_q + 1'b1;
      none_since_q <= since_ack_q == '0;
      ack_sent_q <= ack_sent_i;
      ack_full_q <= (since_ack_q >= SeqWidth'(Frames) || ack_wait_over_q) && !ack_sent_i && !ack_sent_q;
      ack_wait_over_q <= !ack_sent_q && (ack_wait_q >= 16'(Delay) || TimerWidth'(ack_wait_q) >= keep_after_i);
      since_ack_q <= ack_sent_q ? SeqWidth'(accepted_i) : since_ack_q + SeqWidth'(accepted_i);
      if (ack_sent_i) ack_now_o <= 1'b0;
      else if (ack_full_q || duplicate_i || confirms_i) ack_now_o <= 1'b1;
      if (!up_i) begin
        nak_due_o <= 1'b0;
        ack_now_o <= 1'b0;
        since_ack_q <= '0;
      end
    end
  end
endmodule
