// SPDX-License-Identifier: Apache-2.0
// Flags of tags against one that any user may choose: set and cleared as told, and never by what is done to another.
module tag_flags_check (
    input logic       clk,
    input logic       rst_n,
    input logic       set,
    input logic [1:0] set_index,
    input logic       clear,
    input logic [1:0] clear_index,
    input logic [1:0] who          // the same for ever
);
  logic flag, known_q, expected_q;
  logic past_valid = 1'b0;
  logic [1:0] who_q;

  tag_flags #(
      .Width(2)
  ) dut (
      .clk_i(clk), .set_i(set), .set_index_i(set_index), .clear_i(clear), .clear_index_i(clear_index), .index_i(who),
      .flag_o(flag)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    who_q <= who;
    if (!rst_n) begin
      known_q <= 1'b0;
    end else if (set && set_index == who) begin
      known_q <= 1'b1;
      expected_q <= 1'b1;
    end else if (clear && clear_index == who) begin
      known_q <= 1'b1;
      expected_q <= 1'b0;
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && who == who_q);
    assume (!(set && clear && set_index == clear_index));
  end
  always_comb begin
    if (past_valid && known_q) assert (flag == expected_q);
  end
endmodule
