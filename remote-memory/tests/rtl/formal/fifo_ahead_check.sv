// SPDX-License-Identifier: Apache-2.0
// The FIFO that reads ahead against a word that any user may mark: it comes out as it went in, after exactly those that went in
// before it, and stays until it is taken; what is held shows in the next cycle at the latest; it is empty when it says so; and
// it holds its depth and one more.
module fifo_ahead_check (
    input logic       clk,
    input logic       rst_n,
    input logic       clear,
    input logic [3:0] data_in,
    input logic       valid_in,
    input logic       ready_out,
    input logic       mark      // follow the word that goes in now
);
  localparam int unsigned Depth = 4;
  logic ready_in, valid_out, empty;
  logic [3:0] data_out;
  logic past_valid = 1'b0;

  consort_fifo_ahead #(
      .T(logic [3:0]),
      .Depth(Depth)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .clear_i(clear), .data_i(data_in), .valid_i(valid_in), .ready_o(ready_in), .empty_o(empty),
      .data_o(data_out), .valid_o(valid_out), .ready_i(ready_out)
  );

  logic [2:0] count_q;   // held, counted apart
  logic follows_q;       // the marked word is inside
  logic [2:0] before_q;  // words that come out before it
  logic [3:0] word_q, shown_q;
  logic hidden_q, waits_q;  // something was held that did not show; what showed was not taken
  logic goes_in, goes_out;

  assign goes_in  = valid_in && ready_in;
  assign goes_out = valid_out && ready_out;

  marked_word i_marked (
      .clk, .clear(!rst_n || clear), .goes_in, .goes_out, .data_in, .mark, .count_q, .follows_q, .before_q, .word_q
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    shown_q <= data_out;
    hidden_q <= rst_n && !clear && count_q != '0 && !valid_out;
    waits_q <= rst_n && !clear && valid_out && !ready_out;
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
  end

  logic [2:0] behind, place;
  assign behind = dut.i_behind.write_q - dut.i_behind.read_q;
  assign place  = dut.i_behind.read_q + before_q - 3'(valid_out);

  always_comb begin
    if (past_valid && rst_n) begin
      assert (count_q <= 3'(Depth + 1));
      assert (empty == (count_q == '0));
      if (valid_out) assert (count_q != '0);
      if (hidden_q) assert (valid_out);
      if (waits_q) assert (valid_out && data_out == shown_q);
      if (!ready_in) assert (count_q >= 3'(Depth));
      if (follows_q && before_q == '0 && valid_out) assert (data_out == word_q);
`ifdef PROVE
      // About its state.
      assert (behind <= 3'(Depth) && count_q == behind + 3'(valid_out));
      assert (dut.i_behind.valid_o == (behind != '0) && dut.i_behind.ready_o == (behind != 3'(Depth)));
      assert (dut.i_behind.one_q == (behind == 3'd1) && dut.i_behind.one_left_q == (behind == 3'(Depth - 1)));
      if (hidden_q) assert (count_q != '0);
      if (follows_q) begin
        assert (before_q < count_q);
        assert (valid_out && before_q == '0 ? data_out == word_q : dut.i_behind.memory[place[1:0]] == word_q);
      end
`endif
    end
  end
endmodule
