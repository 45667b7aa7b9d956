// SPDX-License-Identifier: Apache-2.0
// The mapper at the mBlock between streams that keep their rule: a transaction goes to its channel as it is, and stays there until
// it is taken; answers go out once each, as they are, and stay; the data of a read are not parted by an acknowledgement; an
// acknowledgement waits for the end of one read at most, and a read for one acknowledgement.
module txn_to_axi_check
  import consort_remote_pkg::*;
(
    input logic   clk,
    input logic   rst_n,
    input txn_t   txn,
    input logic   txn_valid,
    input logic   aw_ready,
    input logic   w_ready,
    input axi_b_t b,
    input logic   b_valid,
    input logic   ar_ready,
    input axi_r_t r,
    input logic   r_valid,
    input logic   rsp_ready
);
  localparam int unsigned Mif = 2;
  localparam int unsigned Link = 1;
  logic txn_ready, aw_valid, w_valid, b_ready, ar_valid, r_ready, rsp_valid;
  axi_a_t aw, ar;
  axi_w_t w;
  txn_t rsp;
  logic past_valid = 1'b0;

  consort_txn_to_axi #(
      .Mif (Mif),
      .Link(Link)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n),
      .txn_i(txn), .txn_valid_i(txn_valid), .txn_ready_o(txn_ready),
      .aw_o(aw), .aw_valid_o(aw_valid), .aw_ready_i(aw_ready),
      .w_o(w), .w_valid_o(w_valid), .w_ready_i(w_ready),
      .b_i(b), .b_valid_i(b_valid), .b_ready_o(b_ready),
      .ar_o(ar), .ar_valid_o(ar_valid), .ar_ready_i(ar_ready),
      .r_i(r), .r_valid_i(r_valid), .r_ready_o(r_ready),
      .rsp_o(rsp), .rsp_valid_o(rsp_valid), .rsp_ready_i(rsp_ready)
  );

  logic txn_waits_q, b_waits_q, r_waits_q, rsp_waits_q, aw_waits_q, w_waits_q, ar_waits_q;
  txn_t txn_q, rsp_q;
  axi_b_t b_q;
  axi_r_t r_q;
  axi_a_t aw_q, ar_q;
  axi_w_t w_q;
  logic burst_q;             // of a read something was taken, and its end was not
  logic [1:0] ends_q;        // of reads, while an acknowledgement waited
  logic [1:0] acks_q;        // while data waited

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    txn_q <= txn;
    rsp_q <= rsp;
    b_q <= b;
    r_q <= r;
    aw_q <= aw;
    w_q <= w;
    ar_q <= ar;
    if (!rst_n) begin
      {txn_waits_q, b_waits_q, r_waits_q, rsp_waits_q, aw_waits_q, w_waits_q, ar_waits_q, burst_q} <= '0;
      ends_q <= '0;
      acks_q <= '0;
    end else begin
      txn_waits_q <= txn_valid && !txn_ready;
      b_waits_q <= b_valid && !b_ready;
      r_waits_q <= r_valid && !r_ready;
      rsp_waits_q <= rsp_valid && !rsp_ready;
      aw_waits_q <= aw_valid && !aw_ready;
      w_waits_q <= w_valid && !w_ready;
      ar_waits_q <= ar_valid && !ar_ready;
      if (r_valid && r_ready) burst_q <= !r.last;
      if (!b_valid || b_ready) ends_q <= '0;
      else if (r_valid && r_ready && r.last) ends_q <= ends_q + 2'd1;
      if (!r_valid || r_ready) acks_q <= '0;
      else if (b_valid && b_ready) acks_q <= acks_q + 2'd1;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (txn_waits_q) assume (txn_valid && txn == txn_q);
    if (b_waits_q) assume (b_valid && b == b_q);
    if (r_waits_q) assume (r_valid && r == r_q);
    assume (txn.tid == TidWa || txn.tid == TidRa || txn.tid == TidWd);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      // Requests.
      if (aw_waits_q) assert (aw_valid && aw == aw_q);
      if (w_waits_q) assert (w_valid && w == w_q);
      if (ar_waits_q) assert (ar_valid && ar == ar_q);
      assert (2'(aw_valid) + 2'(w_valid) + 2'(ar_valid) == 2'(txn_valid));
      assert ((txn_valid && txn_ready) == ((aw_valid && aw_ready) || (w_valid && w_ready) || (ar_valid && ar_ready)));
      if (aw_valid) assert (txn.tid == TidWa && aw == txn.payload[0+:$bits(axi_a_t)]);
      if (ar_valid) assert (txn.tid == TidRa && ar == txn.payload[0+:$bits(axi_a_t)]);
      if (w_valid) assert (txn.tid == TidWd && w == txn.payload[0+:$bits(axi_w_t)]);
      // Answers.
      if (rsp_waits_q) assert (rsp_valid && rsp == rsp_q);
      assert (rsp_valid == (b_valid || r_valid) || (burst_q && !r_valid));
      assert ((rsp_valid && rsp_ready) == ((b_valid && b_ready) || (r_valid && r_ready)));
      assert (!(b_valid && b_ready && r_valid && r_ready));
      if (rsp_valid) begin
        assert (rsp.mif == 4'(Mif) && rsp.link == 4'(Link));
        if (rsp.tid == TidWack) begin
          assert (b_valid && !burst_q && rsp.payload == TxnWidth'(b) && rsp.last && b_ready == rsp_ready);
        end else begin
          assert (rsp.tid == TidRd && r_valid && rsp.payload == TxnWidth'(r) && rsp.last == r.last && r_ready == rsp_ready);
        end
      end
      assert (ends_q <= 2'd1 && acks_q <= 2'd1);
`ifdef PROVE
      // About its state.
      assert (!burst_q || dut.burst_q);
      if (dut.burst_q && !burst_q) assert (r_waits_q && rsp_waits_q && rsp_q.tid == TidRd);
      if (rsp_waits_q && rsp_q.tid == TidRd) assert (dut.burst_q && r_waits_q);
      if (rsp_waits_q && rsp_q.tid == TidWack) assert (!dut.burst_q && b_waits_q && dut.b_held_q);
      if (rsp_waits_q) begin
        assert (rsp_q.tid == TidRd || rsp_q.tid == TidWack);
        assert (rsp_q.mif == 4'(Mif) && rsp_q.link == 4'(Link));
        assert (rsp_q.last == (rsp_q.tid == TidWack || r_q.last));
        assert (rsp_q.payload == (rsp_q.tid == TidWack ? TxnWidth'(b_q) : TxnWidth'(r_q)));
      end
      if (dut.b_held_q) assert (b_waits_q && !dut.burst_q);
      if (ends_q != '0) assert (dut.b_held_q);
      if (acks_q != '0) assert (r_waits_q && !dut.b_held_q);
      if (aw_waits_q || w_waits_q || ar_waits_q) assert (txn_waits_q);
      if (aw_waits_q) assert (txn_q.tid == TidWa && aw_q == txn_q.payload[0+:$bits(axi_a_t)]);
      if (w_waits_q) assert (txn_q.tid == TidWd && w_q == txn_q.payload[0+:$bits(axi_w_t)]);
      if (ar_waits_q) assert (txn_q.tid == TidRa && ar_q == txn_q.payload[0+:$bits(axi_a_t)]);
`endif
    end
  end
endmodule
