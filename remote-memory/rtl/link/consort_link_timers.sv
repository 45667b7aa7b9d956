// SPDX-License-Identifier: Apache-2.0
// The times of a link's sender: after which all is repeated, after which it is in vain, and after which something has to go.
//
// one time runs while something waits for its acknowledgement and nothing is being repeated; one however often it is repeated, and
// whatever is heard meanwhile; one while nothing is sent.
// Interface: late_o for a cycle when the first is over; vain_over_o when the second is; keep_due_o while the third is.
// Parameters: TimerWidth, of the longer times.
// Throughput: not applicable.
// Latency: each shows two cycles after its time is over.
// Assumes: none_out_i and new_ack_i are a cycle old.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py), with a wrong version of this module.
module consort_link_timers #(
    parameter int unsigned TimerWidth = 24
) (
    input logic clk_i,
    input logic rst_ni,
    input logic up_i,
    input logic [15:0] ack_timeout_i,
    input logic [TimerWidth-1:0] down_after_i,
    input logic [TimerWidth-1:0] keep_after_i,
    input logic new_ack_i,
    input logic none_out_i,   // nothing waits for its acknowledgement
    input logic repeating_i,
    input logic repeat_due_i,
    input logic idle_i,
    input logic ack_sent_i,
    output logic late_o,
    output logic vain_over_o,
    output logic keep_due_o
);
  logic [15:0] ack_timer_q;
  logic [TimerWidth-1:0] vain_q;  // cycles since the last acknowledgement of something new, while one is awaited
  logic [TimerWidth-1:0] silent_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      silent_q <= '0;
      keep_due_o <= 1'b0;
      ack_timer_q <= '0;
      late_o <= 1'b0;
      vain_q <= '0;
      vain_over_o <= 1'b0;
    end else begin
      silent_q <= ack_sent_i ? '0 : silent_q + 1'b1;
      // An eighth of the time after which the other end gives up, so several must be lost.
      keep_due_o <= up_i && idle_i && !ack_sent_i && silent_q >= keep_after_i;
      // The time runs while something waits for its acknowledgement and nothing is being repeated.
      if (new_ack_i || none_out_i || repeating_i || repeat_due_i || late_o) ack_timer_q <= '0;
      else ack_timer_q <= ack_timer_q + 1'b1;
      late_o <= ack_timer_q >= ack_timeout_i && !late_o;
      // However often it is repeated, and whatever is heard meanwhile.
      vain_q <= new_ack_i || none_out_i ? '0 : vain_q == '1 ? vain_q : vain_q + 1'b1;
      vain_over_o <= vain_q > down_after_i;
      if (!up_i) begin
        ack_timer_q <= '0;
        late_o <= 1'b0;
        vain_q <= '0;
        vain_over_o <= 1'b0;
      end
    end
  end
endmodule
