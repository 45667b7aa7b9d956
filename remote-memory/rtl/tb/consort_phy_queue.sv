// SPDX-License-Identifier: Apache-2.0
// A PHY of one direction that keeps words while it pauses, for simulation. It pauses at random, as one does for its clock's compensation, and
// gives what it kept without gaps then: words of frames that were apart come back to back.
module consort_phy_queue
#(
    parameter int unsigned Seed = 1,
    parameter int unsigned Depth = 16,  // words that it keeps, a power of two
    parameter int unsigned Width = 130  // of a word with its marks
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [31:0]      pause_chance_i,   // that a pause begins in a cycle, as a 32-bit fraction
    input  logic [ 7:0]      longest_pause_i,  // cycles, a power of two less one
    input  logic [Width-1:0] tx_i,
    input  logic             tx_valid_i,
    output logic             tx_ready_o,
    output logic [Width-1:0] word_o,
    output logic             word_valid_o,
    input  logic             word_ready_i,
    output logic [63:0]      kept_o            // words that came while it paused
);
  logic [63:0] random_q, random_a, random_b, random_c;
  logic [7:0] left_q;
  logic pauses, shows;

  assign random_a = random_q ^ (random_q << 13);
  assign random_b = random_a ^ (random_a >> 7);
  assign random_c = random_b ^ (random_b << 17);
  assign pauses = left_q != '0;
  assign word_valid_o = shows && !pauses;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      random_q <= 64'(Seed) * 64'h9E37_79B9_7F4A_7C15 + 64'd1;
      left_q <= '0;
      kept_o <= '0;
    end else begin
      random_q <= random_c;
      if (pauses) left_q <= left_q - 8'd1;
      else if (random_q[31:0] < pause_chance_i) left_q <= random_q[39:32] & longest_pause_i;
      kept_o <= kept_o + 64'(pauses && tx_valid_i && tx_ready_o);
    end
  end

  consort_fifo #(
      .T(logic [Width-1:0]),
      .Depth(Depth)
  ) i_words (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(tx_i),
      .valid_i(tx_valid_i),
      .ready_o(tx_ready_o),
      .data_o(word_o),
      .valid_o(shows),
      .ready_i(word_ready_i && !pauses)
  );
endmodule
