// SPDX-License-Identifier: Apache-2.0
// The FIFO against a word that any user may mark: it comes out as it went in, after exactly those that went in before it; it
// is never fuller than its depth and shows something whenever it holds something.
module fifo_check (
    input logic       clk,
    input logic       rst_n,
    input logic       clear,
    input logic [3:0] data_in,
    input logic       valid_in,
    input logic       ready_out,
    input logic       mark      // follow the word that goes in now
);
  localparam int unsigned Depth = 4;
  logic ready_in, valid_out;
  logic [3:0] data_out;
  logic past_valid = 1'b0;

  consort_fifo #(
      .T(logic [3:0]),
      .Depth(Depth)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .clear_i(clear), .data_i(data_in), .valid_i(valid_in), .ready_o(ready_in),
      .data_o(data_out), .valid_o(valid_out), .ready_i(ready_out)
  );

  logic [2:0] count_q;   // held, counted apart
  logic follows_q;       // the marked word is inside
  logic [2:0] before_q;  // words that come out before it
  logic [3:0] word_q;
  logic goes_in, goes_out;

  assign goes_in  = valid_in && ready_in;
  assign goes_out = valid_out && ready_out;

  always_ff @(posedge clk) past_valid <= 1'b1;
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
  end

  marked_word i_marked (
      .clk, .clear(!rst_n || clear), .goes_in, .goes_out, .data_in, .mark, .count_q, .follows_q, .before_q, .word_q
  );

  logic [2:0] place;
  assign place = dut.read_q + before_q;

  always_comb begin
    if (past_valid && rst_n) begin
      assert (count_q <= 3'(Depth));
      assert (valid_out == (count_q != '0));
      assert (ready_in == (count_q != 3'(Depth)));
      if (follows_q && before_q == '0) assert (valid_out && data_out == word_q);
`ifdef PROVE
      // About its state.
      assert (dut.write_q - dut.read_q == count_q);
      assert (dut.one_q == (count_q == 3'd1));
      assert (dut.one_left_q == (count_q == 3'(Depth - 1)));
      if (follows_q) assert (before_q < count_q && dut.memory[place[1:0]] == word_q);
`endif
    end
  end
endmodule
