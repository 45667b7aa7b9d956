// SPDX-License-Identifier: Apache-2.0
// The paper's link in one direction, for simulation: a rate and a latency, nothing is lost, and back-pressure reaches back.
// Interface: a stream in and one out; rate and latency from the simulation.
// Parameters: PhyWidth; MaxLatency, a power of two.
// Throughput: as the simulation says.
// Latency: as the simulation says.
// Assumes: nothing.
// Held by: remote-memory/tests/rtl/test_paper_packets.py.
module consort_paper_wire #(
    parameter int unsigned PhyWidth = 128,
    parameter int unsigned MaxLatency = 1024  // a power of two
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [15:0]          rate_i,      // words a cycle, of 65536; 0 is one each cycle
    input  logic [ 9:0]          latency_i,   // 0: what goes in comes out in the same cycle
    input  logic [ PhyWidth-1:0] tx_i,
    input  logic                 tx_valid_i,
    output logic                 tx_ready_o,
    output logic [ PhyWidth-1:0] rx_o,
    output logic                 rx_valid_o,
    input  logic                 rx_ready_i,
    output logic [63:0]          words_o      // taken
);
  localparam int unsigned Ptr = $clog2(MaxLatency);

  logic [16:0] budget_q;
  logic [Ptr-1:0] write_q, read_q;
  logic [PhyWidth-1:0] line[MaxLatency];
  logic [63:0] due[MaxLatency], now_q;
  logic [Ptr:0] used_q;
  logic serves, takes, gives;

  assign serves = rate_i == '0 || budget_q[16];
  // As many as are on their way at once, so a receiver that waits stops the sender.
  assign tx_ready_o = serves && (latency_i == '0 ? rx_ready_i : used_q <= {1'b0, latency_i});
  assign takes = tx_valid_i && tx_ready_o;
  assign rx_valid_o = latency_i == '0 ? tx_valid_i && serves : used_q != '0 && due[read_q] <= now_q;
  assign rx_o = latency_i == '0 ? tx_i : line[read_q];
  assign gives = latency_i != '0 && rx_valid_o && rx_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      budget_q <= '0;
      write_q <= '0;
      read_q <= '0;
      now_q <= '0;
      used_q <= '0;
      words_o <= '0;
    end else begin
      // An offer stays until it is taken; beyond that an unused slot is lost.
      if (!budget_q[16] || takes) budget_q <= {1'b0, budget_q[15:0]} + {1'b0, rate_i};
      now_q <= now_q + 1'b1;
      words_o <= words_o + 64'(takes);
      if (latency_i != '0) begin
        write_q <= write_q + Ptr'(takes);
        read_q  <= read_q + Ptr'(gives);
        used_q  <= used_q + (Ptr + 1)'(takes) - (Ptr + 1)'(gives);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) begin
      line[write_q] <= tx_i;
      due[write_q]  <= now_q + 64'(latency_i);
    end
  end
endmodule
