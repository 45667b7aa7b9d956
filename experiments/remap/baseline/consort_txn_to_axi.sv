// SPDX-License-Identifier: Apache-2.0
// The mBlock's mapper and streamer: streamed requests to an AXI4 master, its responses to streamed transactions. The data of
// a read burst stay together; acknowledgements go between bursts.
// Interface: streamed transactions on the one side, AXI4 on the other.
// Parameters: Mif and Link, which port of which cBlock it is.
// Throughput: a transaction a cycle.
// Latency: none.
// Assumes: data of a read burst come together.
// Held by: proof remote-memory/tests/rtl/formal/txn_to_axi_check.sv, remote-memory/tests/rtl/test_proofs.py.
module consort_txn_to_axi
  import consort_remote_pkg::*;
#(
    parameter int unsigned Mif  = 0,
    parameter int unsigned Link = 0
) (
    input  logic   clk_i,
    input  logic   rst_ni,
    input  txn_t   txn_i,
    input  logic   txn_valid_i,
    output logic   txn_ready_o,
    output axi_a_t aw_o,
    output logic   aw_valid_o,
    input  logic   aw_ready_i,
    output axi_w_t w_o,
    output logic   w_valid_o,
    input  logic   w_ready_i,
    input  axi_b_t b_i,
    input  logic   b_valid_i,
    output logic   b_ready_o,
    output axi_a_t ar_o,
    output logic   ar_valid_o,
    input  logic   ar_ready_i,
    input  axi_r_t r_i,
    input  logic   r_valid_i,
    output logic   r_ready_o,
    output txn_t   rsp_o,
    output logic   rsp_valid_o,
    input  logic   rsp_ready_i
);

  assign aw_o = axi_a_t'(txn_i.payload[0+:$bits(axi_a_t)]);
  assign ar_o = axi_a_t'(txn_i.payload[0+:$bits(axi_a_t)]);
  assign w_o = axi_w_t'(txn_i.payload[0+:$bits(axi_w_t)]);
  assign aw_valid_o = txn_valid_i && txn_i.tid == TidWa;
  assign ar_valid_o = txn_valid_i && txn_i.tid == TidRa;
  assign w_valid_o = txn_valid_i && txn_i.tid == TidWd;

  always_comb begin
    case (txn_i.tid)
      TidWa:   txn_ready_o = aw_ready_i;
      TidRa:   txn_ready_o = ar_ready_i;
      default: txn_ready_o = w_ready_i;
    endcase
  end

  logic burst_q, select_b, b_held_q;

  // An acknowledgement once shown stays until it is taken.
  assign select_b = !burst_q && b_valid_i && (b_held_q || !r_valid_i);
  assign rsp_valid_o = select_b || r_valid_i;
  assign rsp_o = select_b
      ? '{tid: TidWack, mif: 4'(Mif), link: 4'(Link), last: 1'b1, payload: TxnWidth'(b_i)}
      : '{tid: TidRd, mif: 4'(Mif), link: 4'(Link), last: r_i.last, payload: TxnWidth'(r_i)};
  assign b_ready_o = select_b && rsp_ready_i;
  assign r_ready_o = !select_b && rsp_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      burst_q  <= 1'b0;
      b_held_q <= 1'b0;
    end else begin
      // Also set where a burst's end is taken while an acknowledgement waits: it goes before the next burst.
      b_held_q <= b_valid_i && !b_ready_o && (select_b || (r_valid_i && r_ready_o && r_i.last));
      if (r_valid_i && !select_b) burst_q <= !(r_ready_o && r_i.last);
    end
  end

endmodule
