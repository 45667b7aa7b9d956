// SPDX-License-Identifier: Apache-2.0
// Which reads of a port ended with an error, and why: one fault for each, whatever its beats are.
//
// It keeps of each tag where its address came from, and looks at the beats that the master takes: what it is in the cycle of the last one, and that
// it was the last one a cycle later.
// Interface: begins_i with a new tag and its origin; looks_i reads that of the tag that is answered next; step_i is a beat that the master took.
// Parameters: Port, which it is.
// Throughput: a beat a cycle.
// Latency: a fault shows one cycle after its last beat.
// Assumes: a tag is looked at before its first beat is taken.
// Held by: faults of each cause, one at a time, tests/rtl/test_trust.py.
module consort_read_faults
  import consort_remote_pkg::*;
#(
    parameter int unsigned Port = 0
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  begins_i,
    input  logic [IndexWidth-1:0] tail_i,
    input  origin_t               origin_i,
    input  logic                  looks_i,
    input  logic [IndexWidth-1:0] look_i,
    input  logic                  step_i,
    input  logic                  last_i,
    input  logic                  error_i,
    input  logic                  local_error_i,  // made here
    input  logic                  failing_i,      // without data
    input  logic                  broken_i,       // the other end said that no more come
    output fault_t                fault_o
);
  origin_t origins[2**IndexWidth];
  origin_t head_origin;
  logic bad_q, lost_q, ended_q, ended_bad_q;
  fault_t ended;

  always_ff @(posedge clk_i) begin
    if (begins_i) origins[tail_i] <= origin_i;
    if (looks_i) head_origin <= origins[look_i];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bad_q <= 1'b0;
      lost_q <= 1'b0;
      ended_q <= 1'b0;
      ended_bad_q <= 1'b0;
      ended <= '0;
    end else begin
      if (step_i) bad_q <= !last_i && (bad_q || error_i);
      if (!failing_i) lost_q <= !broken_i;
      ended_q <= step_i && last_i;
      ended_bad_q <= bad_q || error_i;
      ended <= '{
          cause: local_error_i ? head_origin.cause : failing_i && lost_q ? FaultLost : FaultAnswer,
          write: 1'b0,
          port: 2'(Port),
          window: head_origin.window,
          addr: head_origin.addr
      };
    end
  end

  always_comb begin
    fault_o = ended;
    if (!ended_q || !ended_bad_q) fault_o.cause = FaultNone;
  end
endmodule
