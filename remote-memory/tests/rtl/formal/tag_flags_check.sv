// SPDX-License-Identifier: Apache-2.0
// Flags of tags against one that any user may choose: clear after a reset, whatever the RAM held; set and cleared as asked, and never
// by what is done to another.
module tag_flags_check (
    input logic       clk,
    input logic       rst_n,
    input logic       set,
    input logic [1:0] set_index,
    input logic       clear,
    input logic [1:0] clear_index,
    input logic [1:0] who          // the same for ever
);
  logic flag, swept, expected_q;
  logic past_valid = 1'b0;
  logic [1:0] who_q;
  logic [2:0] cycles_q;  // since the reset

  consort_tag_flags #(
      .Width(2)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .swept_o(swept), .set_i(set), .set_index_i(set_index), .clear_i(clear),
      .clear_index_i(clear_index), .index_i(who), .flag_o(flag)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    who_q <= who;
    if (!rst_n) begin
      expected_q <= 1'b0;
      cycles_q <= '0;
    end else begin
      if (!swept) cycles_q <= cycles_q + 3'd1;
      if (set && set_index == who) expected_q <= 1'b1;
      else if (clear && clear_index == who) expected_q <= 1'b0;
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && who == who_q);
    assume (!(set && clear && set_index == clear_index));
    if (past_valid && !swept) assume (!set && !clear);
  end
  always_comb begin
    if (past_valid && rst_n) begin
      assert (swept == (cycles_q == 3'd4));
      if (swept) assert (flag == expected_q);
`ifdef PROVE
      // About its state.
      assert (cycles_q <= 3'd4 && dut.sweep_q == cycles_q);
      if (!swept) assert (!expected_q);
      if (cycles_q > {1'b0, who}) assert (flag == expected_q);
`endif
    end
  end
endmodule
