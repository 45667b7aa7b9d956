// SPDX-License-Identifier: Apache-2.0
// Bursts of a wide bus as bursts of a narrow one. What fits goes on as it is. Of wider beats an incrementing burst becomes one, or two where
// it would have more than 256 beats; a fixed one becomes one for each beat; a wrapped one stays that with up to 16 beats, and else
// becomes two: up to its end, and from its beginning.
// Interface: two streams of addresses; parts_o, of the burst that is taken, the bursts that it becomes beside the first.
// Parameters: MasterWidth, bits of the narrow bus' data.
// Throughput: a burst a cycle.
// Latency: a cycle.
// Assumes: the burst is one of AXI4, and an incrementing one stays in its 4 KiB.
// Held by: AXI4 checkers on both sides and a model of bytes, tests/rtl/test_widths.py.
module consort_axi_split
  import consort_remote_pkg::*;
#(
    parameter int unsigned MasterWidth = 128
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  axi_a_t     a_i,
    input  logic       valid_i,
    output logic       ready_o,
    output logic [3:0] parts_o,
    output axi_a_t     a_o,
    output logic       valid_o,
    input  logic       ready_i
);
  localparam int unsigned Narrow = $clog2(MasterWidth / 8);
  localparam logic [11:0] Inside = 12'(MasterWidth / 8 - 1);  // of a word

  // Of the burst that is taken: the first one, and what all others are.
  axi_a_t first, other;
  logic [3:0] others;
  logic [12:0] bytes, at, span, words, ahead;
  always_comb begin
    bytes = 13'd1 << a_i.size;
    span  = (13'(a_i.len) + 13'd1) << a_i.size;
    at    = '0;
    words = '0;
    ahead = '0;
    first = a_i;
    other = a_i;
    others = '0;
    if (32'(a_i.size) > Narrow) begin
      first.size = 3'(Narrow);
      case (a_i.burst)
        BurstFixed: begin
          at = 13'(a_i.addr[11:0]) & (bytes - 13'd1);
          words = (bytes >> Narrow) - (at >> Narrow);
          first.burst = BurstIncr;
          first.len = 8'(words - 13'd1);
          other = first;
          others = a_i.len[3:0];
        end
        BurstWrap: begin
          at = 13'(a_i.addr[11:0]) & (span - 13'd1);
          words = span >> Narrow;
          ahead = at >> Narrow;
          if (words <= 13'd16) begin
            first.len = 8'(words - 13'd1);
          end else begin
            first.burst = BurstIncr;
            first.len = 8'(words - ahead - 13'd1);
            other = first;
            other.addr[11:0] = a_i.addr[11:0] & ~12'(span - 13'd1);
            other.len = 8'(ahead - 13'd1);
            others = {3'd0, ahead != '0};
          end
        end
        default: begin
          // To the end of the last beat.
          at = (13'(a_i.addr[11:0]) & ~(bytes - 13'd1)) + span;
          words = (at >> Narrow) - (13'(a_i.addr[11:0]) >> Narrow);
          if (words <= 13'd256) begin
            first.len = 8'(words - 13'd1);
          end else begin
            first.len = 8'd255;
            other = first;
            other.addr[11:0] = (a_i.addr[11:0] & ~Inside) + 12'(256 << Narrow);
            other.len = 8'(words - 13'd257);
            others = 4'd1;
          end
        end
      endcase
    end
  end

  axi_a_t other_q;
  logic [3:0] left_q;
  logic goes;

  assign parts_o = others;
  assign goes = valid_o && ready_i;
  assign ready_o = !valid_o || (ready_i && left_q == '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_o <= 1'b0;
      left_q  <= '0;
    end else if (ready_o) begin
      valid_o <= valid_i;
      if (valid_i) left_q <= others;
    end else if (goes) begin
      left_q <= left_q - 4'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      a_o <= first;
      other_q <= other;
    end else if (goes) begin
      a_o <= other_q;
    end
  end
endmodule
