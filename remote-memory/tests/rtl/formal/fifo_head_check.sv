// SPDX-License-Identifier: Apache-2.0
// The FIFO whose oldest word is a register, against a word that any user may mark: it comes out as it went in, after exactly those
// that went in before it, and stays until it is taken; something shows exactly when something is held; it says when that is one;
// and it holds its depth.
module fifo_head_check (
    input logic       clk,
    input logic       rst_n,
    input logic       clear,
    input logic [3:0] data_in,
    input logic       valid_in,
    input logic       ready_out,
    input logic       mark      // follow the word that goes in now
);
  localparam int unsigned Depth = 4;
  logic ready_in, valid_out, one;
  logic [3:0] data_out;
  logic past_valid = 1'b0;

  consort_fifo_head #(
      .T(logic [3:0]),
      .Depth(Depth)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .clear_i(clear), .data_i(data_in), .valid_i(valid_in), .ready_o(ready_in), .data_o(data_out),
      .valid_o(valid_out), .one_o(one), .ready_i(ready_out)
  );

  logic [2:0] count_q;   // held, counted apart
  logic follows_q;       // the marked word is inside
  logic [2:0] before_q;  // words that come out before it
  logic [3:0] word_q, shown_q;
  logic waits_q, goes_in, goes_out;

  assign goes_in  = valid_in && ready_in;
  assign goes_out = valid_out && ready_out;

  marked_word i_marked (
      .clk, .clear(!rst_n || clear), .goes_in, .goes_out, .data_in, .mark, .count_q, .follows_q, .before_q, .word_q
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    shown_q <= data_out;
    waits_q <= rst_n && !clear && valid_out && !ready_out;
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
  end

  logic [1:0] place;
  assign place = dut.next_q + before_q[1:0] - 2'd1;

  always_comb begin
    if (past_valid && rst_n) begin
      assert (count_q <= 3'(Depth));
      assert (valid_out == (count_q != '0) && ready_in == (count_q != 3'(Depth)) && one == (count_q == 3'd1));
      if (waits_q) assert (valid_out && data_out == shown_q);
      if (follows_q && before_q == '0) assert (data_out == word_q);
`ifdef PROVE
      // About its state.
      assert (dut.one_left_q == (count_q == 3'(Depth - 1)));
      assert (dut.count_q == count_q && dut.write_q == 2'(dut.next_q + count_q[1:0] - 2'd1));
      if (follows_q) begin
        assert (before_q < count_q);
        if (before_q != '0) assert (dut.memory[place] == word_q);
      end
`endif
    end
  end
endmodule
