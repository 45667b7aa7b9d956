// SPDX-License-Identifier: Apache-2.0
// The credit counter: with a user that takes only what is enough and an other end that gives back only what was taken, it
// never counts below nothing or above all, and knows exactly what is out.
module credit_check (
    input logic       clk,
    input logic       rst_n,
    input logic [3:0] want,
    input logic       take,
    input logic [3:0] give
);
  localparam int unsigned Max = 12;
  logic enough;
  logic [4:0] out_q;  // what is out, counted apart
  logic past_valid = 1'b0;

  consort_credit #(.Max(Max)) dut (
      .clk_i(clk), .rst_ni(rst_n), .clear_i(1'b0), .want_i(want), .enough_o(enough), .take_i(take), .give_i(give)
  );

  always_ff @(posedge clk) past_valid <= 1'b1;
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    assume (!take || enough);
    assume ({1'b0, give} <= out_q);
  end

  always_ff @(posedge clk) begin
    if (!rst_n) out_q <= '0;
    else out_q <= out_q + (take ? {1'b0, want} : 5'd0) - {1'b0, give};
  end

  always_comb begin
    if (past_valid) begin
      assert (out_q <= 5'(Max));
      assert (enough == ({1'b0, want} + out_q <= 5'(Max)));
`ifdef PROVE
      // About its state.
      assert (dut.free_q <= 4'(Max));
      assert ({1'b0, dut.free_q} + out_q == 5'(Max));
`endif
    end
    if (past_valid) cover (dut.free_q == 4'd0);
  end
endmodule
