// SPDX-License-Identifier: Apache-2.0
// A reset for another clock: it begins at once, with or without that clock, and ends with it.
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
