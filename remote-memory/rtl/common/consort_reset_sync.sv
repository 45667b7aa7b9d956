// SPDX-License-Identifier: Apache-2.0
// A reset for another clock: it begins at once, with or without that clock, and ends with it.
// Interface: rst_ni of any clock, rst_no of clk_i.
// Parameters: Stages of the synchroniser, at least 2.
// Throughput: not applicable.
// Latency: it begins at once and ends Stages cycles after rst_ni.
// Assumes: clk_i runs when the reset ends.
// Held by: tests/rtl/test_cdc.py.
module consort_reset_sync #(
    parameter int unsigned Stages = 2
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic rst_no
);
  (* ASYNC_REG = "TRUE" *) logic [Stages-1:0] stages_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stages_q <= '0;
    else stages_q <= {stages_q[Stages-2:0], 1'b1};
  end
  assign rst_no = stages_q[Stages-1];
endmodule
