// SPDX-License-Identifier: Apache-2.0
// The cBlock's streamer: requests of one AXI4 slave port to streamed transactions, streamed responses back to R and B.
// The data of a write follow its address; reads go between them only while the master gives none.
// Interface: AXI4 on the one side, streamed transactions on the other.
// Parameters: Mif, the port that it is.
// Throughput: a transaction a cycle.
// Latency: none.
// Assumes: data of a write come in the end.
// Held by: proof remote-memory/tests/rtl/formal/axi_to_txn_check.sv, remote-memory/tests/rtl/test_proofs.py.
module consort_axi_to_txn
  import consort_remote_pkg::*;
#(
    parameter int unsigned Mif = 0
) (
    input  logic   clk_i,
    input  logic   rst_ni,
    input  axi_a_t aw_i,
    input  logic [1:0] aw_link_i,
    input  logic   aw_valid_i,
    output logic   aw_ready_o,
    input  axi_w_t w_i,
    input  logic   w_valid_i,
    output logic   w_ready_o,
    output axi_b_t b_o,
    output logic   b_valid_o,
    input  logic   b_ready_i,
    input  axi_a_t ar_i,
    input  logic [1:0] ar_link_i,
    input  logic   ar_valid_i,
    output logic   ar_ready_o,
    output axi_r_t r_o,
    output logic   r_valid_o,
    input  logic   r_ready_i,
    output txn_t   txn_o,
    output logic   txn_valid_o,
    input  logic   txn_ready_i,
    input  txn_t   rsp_i,
    input  logic   rsp_valid_i,
    output logic   rsp_ready_o
);

  typedef enum logic [1:0] {
    SelAw,
    SelAr,
    SelW
  } sel_e;

  sel_e sel;
  logic burst_q, reads_next_q, granted_q;
  logic [1:0] w_link_q;
  sel_e sel_q;

  // A choice once shown stays until it is taken: a valid transaction must not change.
  always_comb begin
    if (granted_q) sel = sel_q;
    else if (burst_q) sel = ar_valid_i && !w_valid_i ? SelAr : SelW;
    else if (ar_valid_i && (reads_next_q || !aw_valid_i)) sel = SelAr;
    else sel = SelAw;
    txn_o = '{tid: TidWa, mif: 4'(Mif), link: 4'(aw_link_i), last: 1'b1, payload: TxnWidth'(aw_i)};
    txn_valid_o = aw_valid_i;
    case (sel)
      SelAr: begin
        txn_o.tid = TidRa;
        txn_o.link = 4'(ar_link_i);
        txn_o.payload = TxnWidth'(ar_i);
        txn_valid_o = ar_valid_i;
      end
      SelW: begin
        txn_o.tid = TidWd;
        txn_o.link = 4'(w_link_q);
        txn_o.last = w_i.last;
        txn_o.payload = TxnWidth'(w_i);
        txn_valid_o = w_valid_i;
      end
      default: ;
    endcase
  end

  assign aw_ready_o = sel == SelAw && txn_ready_i;
  assign ar_ready_o = sel == SelAr && txn_ready_i;
  assign w_ready_o  = sel == SelW && txn_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      burst_q <= 1'b0;
      reads_next_q <= 1'b0;
      granted_q <= 1'b0;
      sel_q <= SelAw;
      w_link_q <= '0;
    end else begin
      granted_q <= txn_valid_o && !txn_ready_i;
      sel_q <= sel;
      if (txn_valid_o && txn_ready_i) begin
        if (sel == SelAw) begin
          burst_q  <= 1'b1;
          w_link_q <= aw_link_i;
        end
        if (sel == SelW && w_i.last) burst_q <= 1'b0;
        reads_next_q <= sel != SelAr;
      end
    end
  end

  assign r_o = axi_r_t'(rsp_i.payload);
  assign r_valid_o = rsp_valid_i && rsp_i.tid == TidRd;
  assign b_o = axi_b_t'(rsp_i.payload[0+:$bits(axi_b_t)]);
  assign b_valid_o = rsp_valid_i && rsp_i.tid == TidWack;
  assign rsp_ready_o = rsp_i.tid == TidRd ? r_ready_i : b_ready_i;

endmodule
