// SPDX-License-Identifier: Apache-2.0
// What went wrong, for software: of the first fault since the log was cleared where and why, whether more came after it, how many there
// were since the reset, which causes there were since they were cleared, and an interrupt for those of them that are enabled. A fault shows three
// cycles after it was handed in; any number may come in one cycle, of which the lowest is the first.
// Interface: faults_i in, the registers' values out; what they clear in.
// Parameters: Sources of faults.
// Throughput: a fault of each source a cycle.
// Latency: three cycles.
// Assumes: nothing.
// Held by: faults of each cause one at a time, tests/rtl/test_trust.py; tests/rtl/test_remote_registers.py.
module consort_fault_log
  import consort_remote_pkg::*;
#(
    parameter int unsigned Sources = 2
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  fault_t            faults_i     [Sources],
    input  logic              down_i,                  // a link went down
    input  logic [Causes-1:0] status_clear_i,
    input  logic              enable_write_i,
    input  logic [Causes-1:0] enable_i,
    input  logic              log_clear_i,
    output logic [Causes-1:0] status_o,                // by cause; 0: a link went down
    output logic [Causes-1:0] enable_o,
    output logic [      31:0] fault_o,                 // as remote.rdl has it
    output logic [      63:0] addr_o,
    output logic [      31:0] count_o,
    output logic              irq_o
);
  localparam int unsigned NumberWidth = $clog2(Sources + 1);

  logic [Sources-1:0] hits, first;
  logic [Causes-1:0] seen, seen_q;
  logic [NumberWidth-1:0] number_q;
  logic several_q, valid_q, overflow_q;
  fault_t chosen, chosen_q, log_q;

  for (genvar s = 0; s < Sources; s++) begin : gen_hit
    assign hits[s] = faults_i[s].cause != FaultNone;
  end
  assign first = hits & (~hits + 1'b1);

  always_comb begin
    chosen = '0;
    seen = '0;
    seen[0] = down_i;
    for (int unsigned s = 0; s < Sources; s++) begin
      if (first[s]) chosen = fault_t'(chosen | faults_i[s]);
      for (int unsigned c = 1; c < Causes; c++) seen[c] = seen[c] || faults_i[s].cause == 3'(c);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      seen_q <= '0;
      number_q <= '0;
      several_q <= 1'b0;
      chosen_q <= '0;
      status_o <= '0;
      enable_o <= '0;
      valid_q <= 1'b0;
      overflow_q <= 1'b0;
      log_q <= '0;
      count_o <= '0;
      irq_o <= 1'b0;
    end else begin
      seen_q <= seen;
      number_q <= NumberWidth'($countones(hits));
      several_q <= (hits & ~first) != '0;
      chosen_q <= chosen;
      // What comes in the cycle in which it is cleared is not lost.
      status_o <= (status_o & ~status_clear_i) | seen_q;
      if (enable_write_i) enable_o <= enable_i;
      if (number_q != '0 && (!valid_q || log_clear_i)) begin
        log_q <= chosen_q;
        valid_q <= 1'b1;
        overflow_q <= several_q;
      end else if (log_clear_i) begin
        log_q <= '0;
        valid_q <= 1'b0;
        overflow_q <= 1'b0;
      end else if (number_q != '0) begin
        overflow_q <= 1'b1;
      end
      count_o <= count_o + 32'(number_q);
      irq_o <= (status_o & enable_o) != '0;
    end
  end

  // All zero where there is none.
  assign fault_o = 32'({log_q.cause, log_q.window, log_q.port, log_q.write, overflow_q, valid_q});
  assign addr_o = 64'(log_q.addr);
endmodule
