// SPDX-License-Identifier: Apache-2.0
// The packetizer in both packetizations: its beats hold the parts of its transactions, each once, in order, with the
// transaction's annotation; what is shown stays until it is taken; a beat without parts comes only where the pipeline is to be
// filled before a burst, and once; and beats are such as a depacketizer can read.
module packetizer_check
  import consort_remote_pkg::*;
(
    input logic clk,
    input logic rst_n,
    input logic pipelined,
    input logic fill_beat,
    input txn_t txn,
    input logic txn_valid,
    input logic beat_ready
);
  logic txn_ready, beat_valid;
  logic [BeatWidth-1:0] beat;
  logic [3:0] link;
  logic past_valid = 1'b0;

  consort_packetizer dut (
      .clk_i(clk), .rst_ni(rst_n), .pipelined_i(pipelined), .fill_beat_i(fill_beat), .txn_i(txn), .txn_valid_i(txn_valid),
      .txn_ready_o(txn_ready), .beat_o(beat), .link_o(link), .beat_valid_o(beat_valid), .beat_ready_i(beat_ready)
  );

  logic good;
  logic [3:0] next;
  beat_grammar #(
      .Mifs(2)
  ) grammar (
      .clk, .rst_n, .beat, .taken(beat_valid && beat_ready), .good, .next_o(next)
  );

  // One part of the taken transactions may still be to send; of the shown one some are sent.
  logic owed_q, filled_q, is_data, ends, starts;
  part_t owed_part_q, first, second, awaited, after;
  logic [1:0] sent_q, count;
  txn_t txn_before_q;
  logic [BeatWidth-1:0] beat_before_q;
  logic [3:0] link_before_q;
  logic modes_before_q[2];
  logic txn_waits_q, beat_waits_q;

  function automatic part_t part_of(txn_t of, logic [1:0] number);
    logic [3*PartPayload-1:0] payload;
    payload = (3 * PartPayload)'(of.payload);
    return '{
        valid: 1'b1,
        mif: of.mif,
        link: of.link,
        tid: of.tid,
        part: number,
        last: of.last,
        payload: number == 2'd0 ? payload[0+:PartPayload] : number == 2'd1 ? payload[PartPayload+:PartPayload] :
            payload[2*PartPayload+:PartPayload]
    };
  endfunction

  assign {second, first} = beat;
  assign is_data = txn.tid == TidWd || txn.tid == TidRd;
  assign awaited = owed_q ? owed_part_q : part_of(txn, sent_q);
  assign after = part_of(txn, owed_q ? 2'd0 : sent_q + 2'd1);
  // Parts of the transaction at hand that are sent when this beat is.
  assign count = sent_q + (owed_q ? 2'(second.valid) : 2'(first.valid) + 2'(second.valid));
  assign starts = !owed_q && sent_q == 2'd0 || owed_q && second.valid;
  assign ends = (first.valid && first.part == 2'd2 && first.last) || (second.valid && second.part == 2'd2 && second.last);

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    txn_before_q <= txn;
    beat_before_q <= beat;
    link_before_q <= link;
    modes_before_q <= '{pipelined, fill_beat};
    if (!rst_n) begin
      {owed_q, filled_q, txn_waits_q, beat_waits_q} <= '0;
      sent_q <= '0;
    end else begin
      txn_waits_q <= txn_valid && !txn_ready;
      beat_waits_q <= beat_valid && !beat_ready;
      if (beat_valid && beat_ready) begin
        if (first.valid) owed_q <= 1'b0;
        sent_q <= txn_ready ? 2'd0 : count;
        if (txn_ready && count != parts_of(txn.tid)) begin
          owed_q <= 1'b1;
          owed_part_q <= part_of(txn, 2'd2);
        end
        if (!first.valid) filled_q <= 1'b1;
        else if (ends) filled_q <= 1'b0;
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && modes_before_q[0] == pipelined && modes_before_q[1] == fill_beat);
    assume (txn.tid <= TidWack && txn.mif < 4'd2);
    if (past_valid && txn_waits_q) assume (txn_valid && txn == txn_before_q);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      if (beat_waits_q) assert (beat_valid && beat == beat_before_q && link == link_before_q);
      // The end of a burst does not wait for what comes after it.
      assert (beat_valid == (txn_valid || (owed_q && owed_part_q.last)));
      if (beat_valid) begin
        assert (good);
        if (first.valid) assert (first == awaited && link == first.link);
        if (second.valid) assert (first.valid && second == after);
        if (!owed_q && first.valid || second.valid) assert (txn_valid);
        if (!first.valid) assert (pipelined && fill_beat && txn_valid && is_data && starts && !filled_q && link == txn.link);
        if (pipelined && fill_beat && is_data && starts && first.valid && !owed_q) assert (filled_q);
        // Taken when all its parts are sent, but the third one of a pipeline.
        assert (txn_ready == (beat_ready && txn_valid && first.valid &&
            (count == parts_of(txn.tid) || (pipelined && is_data && count == 2'd2 && starts && !owed_q))));
      end else begin
        assert (!txn_ready);
      end
      // b2b: each transaction starts a beat.
      if (!pipelined) assert (!owed_q);
`ifdef PROVE
      // About its state.
      if (pipelined && fill_beat && (owed_q || sent_q != 2'd0)) assert (filled_q);
      assert (dut.held_valid_q == owed_q && dut.pos_q == sent_q);
      if (pipelined && fill_beat) assert (dut.filled_q == filled_q);
      if (owed_q) assert (dut.held_q == owed_part_q && sent_q == 2'd0 && owed_part_q.part == 2'd2 && owed_part_q.valid);
      if (owed_q) assert (owed_part_q.tid == TidWd || owed_part_q.tid == TidRd);
      if (owed_q) assert (owed_part_q.mif < 4'd2);
      if (sent_q != 2'd0) assert (txn_waits_q && is_data && sent_q == (pipelined ? 2'd1 : 2'd2));
      for (int m = 0; m < 2; m++) begin
        if (owed_q && owed_part_q.mif == 4'(m)) begin
          assert (next[2*m+:2] == 2'd2);
          assert (grammar.tid_q[m] == owed_part_q.tid && grammar.link_q[m] == owed_part_q.link);
          assert (grammar.last_q[m] == owed_part_q.last);
        end else if (sent_q != 2'd0 && txn.mif == 4'(m)) begin
          assert (next[2*m+:2] == sent_q);
          assert (grammar.tid_q[m] == txn.tid && grammar.link_q[m] == txn.link && grammar.last_q[m] == txn.last);
        end else begin
          assert (next[2*m+:2] == 2'd0);
        end
      end
`endif
    end
  end
endmodule
