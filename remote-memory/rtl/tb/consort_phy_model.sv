// SPDX-License-Identifier: Apache-2.0
// A behavioural PHY and wire of one direction, for simulation: rate, latency, and errors from a generator of its own. Words
// that are given to it go out in order after latency_i cycles, with chances as 32-bit fractions of a word.
module consort_phy_model
#(
    parameter int unsigned Seed = 1,
    parameter int unsigned MaxLatency = 1024,  // a power of two
    parameter int unsigned Width = 130         // of a word with its marks
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [15:0]          rate_i,        // words a cycle, of 65536; 0 is one each cycle
    input  logic [9:0]           latency_i,     // 0: what goes in comes out in the same cycle
    input  logic [31:0]          flip_chance_i, // that bits of a word are flipped
    input  logic [6:0]           flip_span_i,   // in a burst of up to so many bits beside the first
    input  logic [31:0]          drop_chance_i,
    input  logic [31:0]          repeat_chance_i,
    input  logic                 cut_i,
    input  logic                 stall_i,       // it takes nothing
    input  logic [7:0]           stuck_i,       // 0, or which bit of a word is stuck at 0
    input  logic [Width-1:0]     tx_i,
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    output logic [Width-1:0]     rx_o,
    output logic                 rx_valid_o,
    output logic [63:0]          words_o,       // taken
    output logic [63:0]          corrupted_o       // flipped, dropped or repeated
);
  localparam int unsigned Ptr = $clog2(MaxLatency);
  localparam int unsigned Place = $clog2(Width);

  logic [16:0] budget_q;
  logic [63:0] random_q, random_a, random_b, random_c, second_q, second_a, second_b, second_c;
  logic [Width-1:0] line[MaxLatency], mask, working, corrupted;
  logic [Place-1:0] place;  // of the first bit that is flipped
  logic [127:0] span;
  logic [MaxLatency-1:0] line_valid_q;
  logic [Ptr-1:0] now_q;
  logic flips, drops, repeats, takes, again_q, through;
  logic [Width-1:0] again_word_q;

  assign tx_ready_o = (rate_i == '0 || budget_q[16]) && !again_q && !stall_i;
  assign takes = tx_valid_i && tx_ready_o;

  assign random_a = random_q ^ (random_q << 13);
  assign random_b = random_a ^ (random_a >> 7);
  assign random_c = random_b ^ (random_b << 17);
  assign second_a = second_q ^ (second_q << 13);
  assign second_b = second_a ^ (second_a >> 7);
  assign second_c = second_b ^ (second_b << 17);

  assign flips = random_q[31:0] < flip_chance_i;
  assign drops = random_q[63:32] < drop_chance_i;
  assign repeats = second_q[63:32] < repeat_chance_i;
  // The first bit for certain, those of the span after it at random.
  assign span = {second_q[31:0], second_q[31:0], second_q[63:0]} & ((128'd1 << flip_span_i) - 1'b1);
  assign mask = Width'({span, 1'b1});
  assign place = Place'(random_q[32+:16] % 16'(Width));
  assign working = stuck_i == '0 ? '1 : ~(Width'(1) << stuck_i);
  assign corrupted = (tx_i & working) ^ (flips ? mask << place | mask >> (Place'(Width - 1) - place) : '0);
  assign through = (takes && !drops || again_q) && !cut_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      budget_q <= '0;
      random_q <= 64'(Seed) * 64'h9E37_79B9_7F4A_7C15 + 64'd1;
      second_q <= 64'(Seed) * 64'hBF58_476D_1CE4_E5B9 + 64'd1;
      now_q <= '0;
      line_valid_q <= '0;
      again_q <= 1'b0;
      words_o <= '0;
      corrupted_o <= '0;
    end else begin
      // A slot that is not used is lost, as on a real link.
      budget_q <= {1'b0, budget_q[15:0]} + {1'b0, rate_i};
      random_q <= random_c;
      second_q <= second_c;
      now_q <= now_q + 1'b1;
      line_valid_q[now_q] <= through;
      again_q <= takes && !drops && repeats;
      words_o <= words_o + 64'(takes);
      corrupted_o <= corrupted_o + 64'(takes && (flips || drops || repeats));
    end
  end

  always_ff @(posedge clk_i) begin
    line[now_q] <= again_q ? again_word_q : corrupted;
    if (takes) again_word_q <= corrupted;
  end

  assign rx_valid_o = latency_i == '0 ? through : line_valid_q[now_q - latency_i];
  assign rx_o = latency_i == '0 ? (again_q ? again_word_q : corrupted) : line[now_q - latency_i];
endmodule
