// SPDX-License-Identifier: Apache-2.0
// Streamed transactions to 128-bit beats of two 64-bit databeats, as the b2b and pipelined packetizations do it.
//
// b2b: each transaction starts a beat. pipelined: the third part of a wd or rd shares a beat with the first part of the next
// one of its burst. fill_beat_i makes the pipeline's fill visible as Table I counts it: one beat without parts before a burst.
// Interface: transactions in, beats out, as streams; pipelined_i and fill_beat_i choose how.
// Parameters: none.
// Throughput: a beat a cycle.
// Latency: none.
// Assumes: a transaction that shows stays.
// Held by: proof remote-memory/tests/rtl/formal/packetizer_check.sv, remote-memory/tests/rtl/test_proofs.py.
module consort_packetizer
  import consort_remote_pkg::*;
(
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // Constant while anything is under way; tied off where one packetization is enough.
    input  logic                 pipelined_i,
    input  logic                 fill_beat_i,
    input  txn_t                 txn_i,
    input  logic                 txn_valid_i,
    output logic                 txn_ready_o,
    output logic [BeatWidth-1:0] beat_o,
    output logic [3:0]           link_o,        // the link it is for; a fill beat does not say it itself
    output logic                 beat_valid_o,
    input  logic                 beat_ready_i
);

  part_t part[3];
  part_t held_q, first, second;
  logic [1:0] pos_q, pos_d;  // parts of the current transaction that are sent
  logic held_valid_q, held_valid_d, filled_q, filled_d;
  logic is_data, taken, fits_held;

  assign is_data = txn_i.tid == TidWd || txn_i.tid == TidRd;
  // A held part waits for the next part of its own burst only; whatever else comes lets it go alone.
  assign fits_held = txn_valid_i && is_data && !held_q.last && txn_i.tid == held_q.tid &&
      txn_i.mif == held_q.mif && txn_i.link == held_q.link;

  for (genvar i = 0; i < 3; i++) begin : gen_part
    localparam int unsigned Width = i == 2 ? TxnWidth - 2 * PartPayload : PartPayload;
    assign part[i] = '{
            valid: 1'b1,
            mif: txn_i.mif,
            link: txn_i.link,
            tid: txn_i.tid,
            part: 2'(i),
            last: txn_i.last,
            payload: PartPayload'(txn_i.payload[i*PartPayload+:Width])
        };
  end

  always_comb begin
    first = '0;
    second = '0;
    taken = 1'b0;
    beat_valid_o = 1'b0;
    pos_d = pos_q;
    held_valid_d = held_valid_q;
    filled_d = filled_q;
    if (held_valid_q && !fits_held) begin
      if (txn_valid_i || held_q.last) begin
        first = held_q;
        held_valid_d = 1'b0;
        filled_d = !held_q.last;
        beat_valid_o = 1'b1;
      end
    end else if (txn_valid_i) begin
      if (pipelined_i && is_data && fill_beat_i && !filled_q) begin
        beat_valid_o = 1'b1;
        filled_d = 1'b1;
      end else if (pipelined_i && is_data) begin
        beat_valid_o = 1'b1;
        if (held_valid_q) begin
          first = held_q;
          second = part[0];
          held_valid_d = 1'b0;
          pos_d = 2'd1;
        end else if (pos_q == 2'd1) begin
          first = part[1];
          second = part[2];
          pos_d = 2'd0;
          taken = 1'b1;
          filled_d = !txn_i.last;
        end else begin
          // The third part goes into the holding register together with this beat.
          first = part[0];
          second = part[1];
          held_valid_d = 1'b1;
          taken = 1'b1;
        end
      end else begin
        beat_valid_o = 1'b1;
        first = part[pos_q];
        if (pos_q + 2'd1 < parts_of(txn_i.tid)) second = part[pos_q+2'd1];
        taken = {1'b0, pos_q} + 3'd2 >= {1'b0, parts_of(txn_i.tid)};
        pos_d = taken ? 2'd0 : pos_q + 2'd2;
      end
    end
  end

  assign beat_o = {second, first};
  assign link_o = held_valid_q ? held_q.link : txn_i.link;
  assign txn_ready_o = taken && beat_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pos_q <= 2'd0;
      held_valid_q <= 1'b0;
      filled_q <= 1'b0;
    end else if (beat_valid_o && beat_ready_i) begin
      pos_q <= pos_d;
      held_valid_q <= held_valid_d;
      filled_q <= filled_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (taken && beat_ready_i) held_q <= part[2];
  end

endmodule
