// SPDX-License-Identifier: Apache-2.0
// The depacketizer with beats as beat_grammar has them, those of two interfaces alternating: a transaction comes out with the
// beat that ends it, with what its parts held, and with no other; it stays until it is taken. The FIFO in front, which is proven
// apart, is a wire here: any beats may come out of it.
module consort_fifo #(
    parameter type T = logic,
    parameter int unsigned Depth = 4
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic clear_i,
    input  T     data_i,
    input  logic valid_i,
    output logic ready_o,
    output T     data_o,
    output logic valid_o,
    input  logic ready_i
);
  assign data_o = data_i;
  assign valid_o = valid_i;
  assign ready_o = ready_i;
endmodule

module depacketizer_check
  import consort_remote_pkg::*;
(
    input logic                 clk,
    input logic                 rst_n,
    input logic [BeatWidth-1:0] beat,
    input logic                 beat_valid,
    input logic                 txn_ready
);
  logic beat_ready, txn_valid;
  txn_t txn;
  logic past_valid = 1'b0;

  consort_depacketizer #(
      .Mifs(2)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .beat_i(beat), .beat_valid_i(beat_valid), .beat_ready_o(beat_ready), .txn_o(txn),
      .txn_valid_o(txn_valid), .txn_ready_i(txn_ready)
  );

  logic good;
  logic [3:0] next;
  beat_grammar #(
      .Mifs(2)
  ) grammar (
      .clk, .rst_n, .beat, .taken(beat_valid && beat_ready), .good, .next_o(next)
  );

  // The transaction at hand of each interface, put together as it comes.
  part_t low, high, final_part;
  logic [2*PartPayload-1:0] came_q[2], came;
  logic ends;
  logic [3*PartPayload-1:0] payload;
  logic beat_waits_q, txn_waits_q;
  logic [BeatWidth-1:0] beat_before_q;
  txn_t txn_before_q;

  assign {high, low} = beat;
  function automatic logic ends_it(part_t part);
    return part.valid && part.part + 2'd1 == parts_of(part.tid);
  endfunction
  assign ends = ends_it(low) || ends_it(high);

  always_comb begin
    final_part = ends_it(low) ? low : high;
    came = came_q[low.mif[0]];
    if (ends_it(high) && low.valid) came[PartPayload*low.part[0]+:PartPayload] = low.payload;
    payload = '0;
    case (parts_of(final_part.tid))
      2'd1: payload[0+:PartPayload] = final_part.payload;
      2'd2: payload[0+:2*PartPayload] = {final_part.payload, came[0+:PartPayload]};
      default: payload = {final_part.payload, came};
    endcase
  end

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    beat_before_q <= beat;
    txn_before_q <= txn;
    if (!rst_n) {beat_waits_q, txn_waits_q} <= '0;
    else begin
      beat_waits_q <= beat_valid && !beat_ready;
      txn_waits_q <= txn_valid && !txn_ready;
    end
    if (beat_valid && beat_ready) begin
      if (low.valid && !ends_it(low)) came_q[low.mif[0]][PartPayload*low.part[0]+:PartPayload] <= low.payload;
      if (high.valid && !ends_it(high)) came_q[high.mif[0]][PartPayload*high.part[0]+:PartPayload] <= high.payload;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (beat_valid) assume (good);
    if (past_valid && beat_waits_q) assume (beat_valid && beat == beat_before_q);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      if (txn_waits_q) assert (txn_valid && txn == txn_before_q);
      assert (txn_valid == (beat_valid && ends));
      assert (beat_ready == (!txn_valid || txn_ready));
      if (txn_valid) begin
        assert (txn.tid == final_part.tid && txn.mif == final_part.mif && txn.link == final_part.link);
        assert (txn.last == final_part.last && txn.payload == payload[0+:TxnWidth]);
      end
`ifdef PROVE
      // About its state.
      for (int m = 0; m < 2; m++) begin
        if (next[2*m+:2] != 2'd0) assert (dut.kept_q[m][0] == came_q[m][0+:PartPayload]);
        if (next[2*m+:2] == 2'd2) assert (dut.kept_q[m][1] == came_q[m][PartPayload+:PartPayload]);
      end
`endif
    end
  end
endmodule
