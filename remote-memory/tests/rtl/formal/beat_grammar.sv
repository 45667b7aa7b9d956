// SPDX-License-Identifier: Apache-2.0
// Beats of databeats that a depacketizer can read: the packetizer is proven to make no others, the
// depacketizer to read all of these. The parts of an interface's transaction come in order, one transaction
// after the other; a beat has parts of one interface, in its lower half first; and it ends one transaction at
// most.
module beat_grammar
  import consort_remote_pkg::*;
#(
    parameter int unsigned Mifs = 2  // a power of two
) (
    input  logic                    clk,
    input  logic                    rst_n,
    input  logic [BeatWidth-1:0]    beat,
    input  logic                    taken,
    output logic                    good,
    output logic [2*Mifs-1:0]       next_o  // of each interface the part that comes next
);
  localparam int unsigned MifWidth = $clog2(Mifs);
  part_t low, high;
  logic [1:0] next_q[Mifs];
  tid_e tid_q[Mifs];
  logic [3:0] link_q[Mifs];
  logic [Mifs-1:0] last_q;
  logic [MifWidth-1:0] mif;
  logic low_ends, high_ends, same;

  assign {high, low} = beat;
  assign mif = low.mif[MifWidth-1:0];
  assign low_ends = low.valid && low.part + 2'd1 == parts_of(low.tid);
  assign high_ends = high.valid && high.part + 2'd1 == parts_of(high.tid);
  for (genvar m = 0; m < Mifs; m++) begin : gen_next
    assign next_o[2*m+:2] = next_q[m];
  end

  always_comb begin
    good = 1'b1;
    if (low.valid) begin
      same = low.tid == tid_q[mif] && low.link == link_q[mif] && low.last == last_q[mif];
      if (low.part != next_q[mif] || (next_q[mif] != 2'd0 && !same)) good = 1'b0;
      if (low.tid > TidWack || low.mif >= 4'(Mifs)) good = 1'b0;
      if (high.valid) begin
        same = high.tid == low.tid && high.link == low.link && high.last == low.last;
        if (high.mif != low.mif || high.tid > TidWack) good = 1'b0;
        if (low_ends ? high.part != 2'd0 : high.part != low.part + 2'd1 || !same) good = 1'b0;
        if (low_ends && high_ends) good = 1'b0;
      end
    end else begin
      same = 1'b0;
      if (high.valid) good = 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      for (int m = 0; m < Mifs; m++) next_q[m] <= 2'd0;
    end else if (taken && low.valid) begin
      if (high.valid) begin
        next_q[mif] <= high_ends ? 2'd0 : high.part + 2'd1;
        {tid_q[mif], link_q[mif], last_q[mif]} <= {high.tid, high.link, high.last};
      end else begin
        next_q[mif] <= low_ends ? 2'd0 : low.part + 2'd1;
        {tid_q[mif], link_q[mif], last_q[mif]} <= {low.tid, low.link, low.last};
      end
    end
  end
endmodule
