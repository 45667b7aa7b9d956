// SPDX-License-Identifier: Apache-2.0
// From one beat of a burst to the next, in the low bits of its address. A beat that is wider than the narrower bus is taken in as many
// steps as it has words of that.
// Interface: the burst, where the step is; done_o with the last step of a beat, next_o where the next step is.
// Parameters: Low, the bits of the address, within the wider bus; Narrow, the logarithm of the narrower bus' bytes.
// Throughput: a step a cycle.
// Latency: none.
// Assumes: the burst is one of AXI4.
// Held by: random bursts of all kinds against a model of bytes, tests/rtl/test_widths.py.
module consort_axi_walk
  import consort_remote_pkg::*;
#(
    parameter int unsigned Low = 5,
    parameter int unsigned Narrow = 4
) (
    input  logic [Low-1:0] first_i,  // of the burst
    input  logic [2:0]     size_i,
    input  logic [1:0]     burst_i,
    input  logic [3:0]     len_i,    // of a wrapped burst
    input  logic [Low-1:0] at_i,
    output logic           done_o,
    output logic [Low-1:0] next_o
);
  logic [10:0] bytes, span, wrap, step, beat;
  always_comb begin
    bytes = 11'd1 << size_i;
    span  = bytes - 11'd1;
    wrap  = (11'(len_i) << size_i) | span;
    step  = (11'(at_i) & ~11'((1 << Narrow) - 1)) + 11'(1 << Narrow);
    beat  = (11'(at_i) & ~span) + bytes;
    done_o = 32'(size_i) <= Narrow || (step & span) == '0;
    if (!done_o) next_o = Low'(step);
    else if (burst_i == BurstFixed) next_o = first_i;
    else if (burst_i == BurstWrap) next_o = Low'((11'(at_i) & ~wrap) | (beat & wrap));
    else next_o = Low'(beat);
  end
endmodule
