// SPDX-License-Identifier: Apache-2.0
// Beats of two 64-bit databeats back to streamed transactions. Beats of several master interfaces may alternate. At most one
// transaction is completed by a beat: only data transactions share beats, and each has three parts.
// Interface: beats in, transactions out, as streams.
// Parameters: Mifs, ports whose beats may alternate.
// Throughput: a beat a cycle.
// Latency: one cycle after the beat that ends a transaction.
// Assumes: beats are such as consort_packetizer makes.
// Held by: proof remote-memory/tests/rtl/formal/depacketizer_check.sv, remote-memory/tests/rtl/test_proofs.py.
module consort_depacketizer
  import consort_remote_pkg::*;
#(
    parameter int unsigned Mifs = 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [BeatWidth-1:0] beat_i,
    input  logic                 beat_valid_i,
    output logic                 beat_ready_o,
    output txn_t                 txn_o,
    output logic                 txn_valid_o,
    input  logic                 txn_ready_i
);

  localparam int unsigned MifWidth = Mifs > 1 ? $clog2(Mifs) : 1;

  part_t low, high, done;
  logic low_ends, high_ends;
  logic [PartPayload-1:0] kept_q[Mifs][2];
  logic [MifWidth-1:0] mif;
  logic [2*PartPayload-1:0] lower;
  logic beat_valid, beat_ready;

  // Keeps the block's and the wire's ready apart.
  consort_fifo #(
      .T(logic [BeatWidth-1:0]),
      .Depth(4)
  ) i_in (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(beat_i),
      .valid_i(beat_valid_i),
      .ready_o(beat_ready_o),
      .data_o({high, low}),
      .valid_o(beat_valid),
      .ready_i(beat_ready)
  );

  function automatic logic ends(part_t part);
    return part.valid && part.part + 2'd1 == parts_of(part.tid);
  endfunction

  assign low_ends = ends(low);
  assign high_ends = ends(high);
  assign done = low_ends ? low : high;
  // A beat has parts of one interface only.
  assign mif = Mifs > 1 ? low.mif[MifWidth-1:0] : '0;

  always_comb begin
    lower = {kept_q[mif][1], kept_q[mif][0]};
    if (high_ends) begin
      // The part before the last one is the lower half of this very beat.
      if (high.part == 2'd1) lower[0+:PartPayload] = low.payload;
      else lower[PartPayload+:PartPayload] = low.payload;
    end
    txn_o = '{tid: done.tid, mif: done.mif, link: done.link, last: done.last, payload: '0};
    case (done.part)
      2'd0: txn_o.payload = TxnWidth'(done.payload);
      2'd1: txn_o.payload = TxnWidth'({done.payload, lower[0+:PartPayload]});
      default: txn_o.payload = TxnWidth'({done.payload, lower});
    endcase
  end

  assign txn_valid_o = beat_valid && (low_ends || high_ends);
  assign beat_ready  = !txn_valid_o || txn_ready_i;

  // The link delivers in order, so the parts kept need no reset: a transaction always starts with its part 0.
  always_ff @(posedge clk_i) begin
    if (beat_valid && beat_ready) begin
      if (low.valid && !low_ends) kept_q[mif][low.part[0]] <= low.payload;
      if (high.valid && !high_ends) kept_q[mif][high.part[0]] <= high.payload;
    end
  end

endmodule
