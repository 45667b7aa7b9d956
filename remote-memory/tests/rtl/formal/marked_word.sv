// SPDX-License-Identifier: Apache-2.0
// The state of a FIFO's check: how many words are held, and of a word that any user may mark what it was and how many come out
// before it.
module marked_word (
    input  logic       clk,
    input  logic       clear,
    input  logic       goes_in,
    input  logic       goes_out,
    input  logic [3:0] data_in,
    input  logic       mark,      // follow the word that goes in now
    output logic [2:0] count_q,   // held
    output logic       follows_q, // the marked word is inside
    output logic [2:0] before_q,  // words that come out before it
    output logic [3:0] word_q
);
  always_ff @(posedge clk) begin
    if (clear) begin
      count_q <= '0;
      follows_q <= 1'b0;
      before_q <= '0;
    end else begin
      count_q <= count_q + 3'(goes_in) - 3'(goes_out);
      if (mark && goes_in && !follows_q) begin
        follows_q <= 1'b1;
        before_q <= count_q - 3'(goes_out);
        word_q <= data_in;
      end else if (follows_q && goes_out) begin
        follows_q <= before_q != '0;
        before_q <= before_q - 3'd1;
      end
    end
  end
endmodule
