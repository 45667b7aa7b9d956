// SPDX-License-Identifier: Apache-2.0
// The streamer of requests between streams that keep their rule: what it shows stays until it is taken; each address and beat of
// data goes out once, as it is, with its link; data follow their address, of one write after the other; reads go between them
// only where no data are there, and else in turn with writes. Answers go to their channel, and stay.
module axi_to_txn_check
  import consort_remote_pkg::*;
(
    input logic       clk,
    input logic       rst_n,
    input axi_a_t     aw,
    input logic [1:0] aw_link,
    input logic       aw_valid,
    input axi_w_t     w,
    input logic       w_valid,
    input logic       b_ready,
    input axi_a_t     ar,
    input logic [1:0] ar_link,
    input logic       ar_valid,
    input logic       r_ready,
    input logic       txn_ready,
    input txn_t       rsp,
    input logic       rsp_valid
);
  localparam int unsigned Mif = 2;
  logic aw_ready, w_ready, b_valid, ar_ready, r_valid, txn_valid, rsp_ready;
  axi_b_t b;
  axi_r_t r;
  txn_t txn;
  logic past_valid = 1'b0;

  consort_axi_to_txn #(
      .Mif(Mif)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n),
      .aw_i(aw), .aw_link_i(aw_link), .aw_valid_i(aw_valid), .aw_ready_o(aw_ready),
      .w_i(w), .w_valid_i(w_valid), .w_ready_o(w_ready),
      .b_o(b), .b_valid_o(b_valid), .b_ready_i(b_ready),
      .ar_i(ar), .ar_link_i(ar_link), .ar_valid_i(ar_valid), .ar_ready_o(ar_ready),
      .r_o(r), .r_valid_o(r_valid), .r_ready_i(r_ready),
      .txn_o(txn), .txn_valid_o(txn_valid), .txn_ready_i(txn_ready),
      .rsp_i(rsp), .rsp_valid_i(rsp_valid), .rsp_ready_o(rsp_ready)
  );

  logic aw_waits_q, w_waits_q, ar_waits_q, rsp_waits_q, txn_waits_q, b_waits_q, r_waits_q;
  logic [$bits(axi_a_t)+1:0] aw_q, ar_q;
  axi_w_t w_q;
  txn_t rsp_q, txn_q;
  axi_b_t b_q;
  axi_r_t r_q;
  logic burst_q;            // data of a write are still to come
  logic [1:0] link_q;       // its link
  logic [1:0] passed_by_q;  // writes that began while a read waited

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    aw_q <= {aw_link, aw};
    ar_q <= {ar_link, ar};
    w_q <= w;
    rsp_q <= rsp;
    txn_q <= txn;
    b_q <= b;
    r_q <= r;
    if (!rst_n) begin
      {aw_waits_q, w_waits_q, ar_waits_q, rsp_waits_q, txn_waits_q, b_waits_q, r_waits_q, burst_q} <= '0;
      passed_by_q <= '0;
    end else begin
      aw_waits_q <= aw_valid && !aw_ready;
      w_waits_q <= w_valid && !w_ready;
      ar_waits_q <= ar_valid && !ar_ready;
      rsp_waits_q <= rsp_valid && !rsp_ready;
      txn_waits_q <= txn_valid && !txn_ready;
      b_waits_q <= b_valid && !b_ready;
      r_waits_q <= r_valid && !r_ready;
      if (aw_valid && aw_ready) begin
        burst_q <= 1'b1;
        link_q <= aw_link;
      end
      if (w_valid && w_ready && w.last) burst_q <= 1'b0;
      if (!ar_valid || ar_ready) passed_by_q <= '0;
      else if (aw_valid && aw_ready) passed_by_q <= passed_by_q + 2'd1;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (aw_waits_q) assume (aw_valid && {aw_link, aw} == aw_q);
    if (ar_waits_q) assume (ar_valid && {ar_link, ar} == ar_q);
    if (w_waits_q) assume (w_valid && w == w_q);
    if (rsp_waits_q) assume (rsp_valid && rsp == rsp_q);
    assume (rsp.tid == TidRd || rsp.tid == TidWack);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      if (txn_waits_q) assert (txn_valid && txn == txn_q);
      if (b_waits_q) assert (b_valid && b == b_q);
      if (r_waits_q) assert (r_valid && r == r_q);
      // One source at a time, and what it has.
      assert (2'(aw_valid && aw_ready) + 2'(w_valid && w_ready) + 2'(ar_valid && ar_ready) == 2'(txn_valid && txn_ready));
      if (txn_valid) begin
        assert (txn.mif == 4'(Mif));
        case (txn.tid)
          TidWa: assert (aw_valid && !burst_q && txn.payload == TxnWidth'(aw) && txn.link == 4'(aw_link) && txn.last);
          TidRa: assert (ar_valid && txn.payload == TxnWidth'(ar) && txn.link == 4'(ar_link) && txn.last);
          TidWd: assert (w_valid && burst_q && txn.payload == TxnWidth'(w) && txn.link == 4'(link_q) && txn.last == w.last);
          default: assert (1'b0);
        endcase
        if (txn_ready) assert (txn.tid == TidWa ? aw_ready : txn.tid == TidRa ? ar_ready : w_ready);
        // A read goes between data only where none are there.
        if (txn.tid == TidRa && burst_q && !txn_waits_q) assert (!w_valid);
      end
      // Nobody waits for nothing.
      if (ar_valid || (burst_q ? w_valid : aw_valid)) assert (txn_valid);
      assert (passed_by_q <= 2'd1);
      // Answers.
      assert (b_valid == (rsp_valid && rsp.tid == TidWack) && r_valid == (rsp_valid && rsp.tid == TidRd));
      assert ((rsp_valid && rsp_ready) == ((b_valid && b_ready) || (r_valid && r_ready)));
      if (b_valid) assert (b == rsp.payload[0+:$bits(axi_b_t)]);
      if (r_valid) assert (r == rsp.payload[0+:$bits(axi_r_t)]);
`ifdef PROVE
      // About its state.
      assert (dut.burst_q == burst_q && dut.granted_q == txn_waits_q);
      if (burst_q) assert (dut.w_link_q == link_q);
      if (txn_waits_q) assert (txn_q.tid == (dut.sel_q == 2'd0 ? TidWa : dut.sel_q == 2'd1 ? TidRa : TidWd) && dut.sel_q != 2'd3);
      if (txn_waits_q) assert (dut.sel_q == 2'd0 ? aw_waits_q : dut.sel_q == 2'd1 ? ar_waits_q : w_waits_q);
      if (txn_waits_q) assert (dut.sel_q == 2'd0 ? !burst_q : dut.sel_q == 2'd2 ? burst_q : 1'b1);
      if (txn_waits_q && dut.sel_q == 2'd0) begin
        assert (txn_q.payload == TxnWidth'(aw_q[$bits(axi_a_t)-1:0]) && txn_q.link == 4'(aw_q[$bits(axi_a_t)+:2]));
        if (dut.reads_next_q) assert (!ar_waits_q || passed_by_q == '0);
      end
      if (txn_waits_q && dut.sel_q == 2'd1) begin
        assert (txn_q.payload == TxnWidth'(ar_q[$bits(axi_a_t)-1:0]) && txn_q.link == 4'(ar_q[$bits(axi_a_t)+:2]));
      end
      if (txn_waits_q && dut.sel_q == 2'd2) assert (txn_q.payload == TxnWidth'(w_q) && txn_q.last == w_q.last);
      if (txn_waits_q && dut.sel_q != 2'd2) assert (txn_q.last);
      if (txn_waits_q) assert (txn_q.mif == 4'(Mif));
      if (txn_waits_q && dut.sel_q == 2'd2) assert (txn_q.link == 4'(link_q));
      if (passed_by_q != '0) assert (dut.reads_next_q && (burst_q || !(txn_waits_q && dut.sel_q == 2'd0)));
      if (rsp_waits_q) assert (rsp_q.tid == TidRd ? r_waits_q : b_waits_q);
      if (b_waits_q) assert (rsp_waits_q && rsp_q.tid == TidWack && b_q == rsp_q.payload[0+:$bits(axi_b_t)]);
      if (r_waits_q) assert (rsp_waits_q && rsp_q.tid == TidRd && r_q == rsp_q.payload[0+:$bits(axi_r_t)]);
`endif
    end
  end
endmodule
