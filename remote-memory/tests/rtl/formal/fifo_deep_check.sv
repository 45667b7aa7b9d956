// SPDX-License-Identifier: Apache-2.0
// The FIFO in block RAM against a word that any user may mark: it comes out as it went in, after exactly those that went in before it,
// and stays until it is taken; it is empty when it says so; what finds it empty shows in the next cycle, what is held within three; and it has room for its depth less one.
module fifo_deep_check (
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

  consort_fifo_deep #(
      .T(logic [3:0]),
      .Depth(Depth)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .clear_i(clear), .data_i(data_in), .valid_i(valid_in),   .ready_o(ready_in), .empty_o(empty),
      .data_o(data_out), .valid_o(valid_out), .ready_i(ready_out)
  );

  logic [2:0] count_q;   // held, counted apart
  logic follows_q;       // the marked word is inside
  logic [2:0] before_q;  // words that come out before it
  logic [3:0] word_q, shown_q;
  logic waits_q, first_q;  // what showed was not taken; what came last found it empty
  logic [1:0] hidden_q;    // cycles in which something was held and nothing showed
  logic goes_in, goes_out;

  assign goes_in  = valid_in && ready_in;
  assign goes_out = valid_out && ready_out;

  marked_word i_marked (
      .clk, .clear(!rst_n || clear), .goes_in, .goes_out, .data_in, .mark, .count_q, .follows_q, .before_q, .word_q
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    shown_q <= data_out;
    hidden_q <= rst_n && !clear && count_q != '0 && !valid_out ? hidden_q + 2'd1 : '0;
    waits_q <= rst_n && !clear && valid_out && !ready_out;
    first_q <= rst_n && !clear && goes_in && count_q == 3'(goes_out);
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
  end

  logic [2:0] behind, place;
  assign behind = dut.write_q - dut.read_q;
  assign place  = dut.read_q + before_q - 3'(valid_out) - 3'(dut.behind_q);

  always_comb begin
    if (past_valid && rst_n) begin
      assert (count_q <= 3'(Depth + 2));
      assert (empty == (count_q == '0));
      if (valid_out) assert (count_q != '0);
      if (first_q) assert (valid_out);
      assert (hidden_q <= 2'd2);
      if (waits_q) assert (valid_out && data_out == shown_q);
      if (!ready_in) assert (count_q >= 3'(Depth - 1));
      if (follows_q && before_q == '0 && valid_out) assert (data_out == word_q);
`ifdef PROVE
      // About its state.
      assert (behind <= 3'(Depth) && count_q == behind + 3'(valid_out) + 3'(dut.behind_q));
      assert (!ready_in || behind < 3'(Depth));
      assert (dut.count_q == 4'(count_q) && dut.one_q == (count_q == 3'd1));
      if (hidden_q != '0) assert (count_q != '0);
      if (hidden_q == 2'd1) assert (dut.behind_q || valid_out);
      if (hidden_q == 2'd2) assert (valid_out);
      if (follows_q) begin
        assert (before_q < count_q);
        if (valid_out && before_q == '0) assert (data_out == word_q);
        else if (dut.behind_q && before_q == 3'(valid_out)) assert (dut.behind == word_q);
        else assert (dut.memory[place[1:0]] == word_q);
      end
`endif
    end
  end
endmodule
