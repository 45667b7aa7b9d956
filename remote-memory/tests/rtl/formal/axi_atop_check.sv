// SPDX-License-Identifier: Apache-2.0
// Atomic operations before a port: every address goes on once, as it is, those of operations as exclusive ones; of an operation with data as its
// answer one exclusive read of its id and as many beats goes beside it, after its write and before the next such one, within two reads; no other does;
// and what is shown stays until it is taken.
module axi_atop_check
  import consort_remote_pkg::*;
(
    input logic       clk,
    input logic       rst_n,
    input axi_a_t     aw,
    input logic [5:0] atop,
    input logic       aw_valid,
    input axi_a_t     ar,
    input logic       ar_valid,
    input logic       aw_ready,
    input logic       ar_ready
);
  axi_a_t aw_out, ar_out;
  logic aw_valid_out, ar_valid_out, aw_taken, ar_taken;
  logic past_valid = 1'b0;

  consort_axi_atop dut (
      .clk_i(clk), .rst_ni(rst_n), .aw_i(aw), .aw_atop_i(atop), .aw_valid_i(aw_valid), .aw_ready_o(aw_taken), .ar_i(ar),
      .ar_valid_i(ar_valid), .ar_ready_o(ar_taken), .aw_o(aw_out), .aw_valid_o(aw_valid_out), .aw_ready_i(aw_ready),
      .ar_o(ar_out), .ar_valid_o(ar_valid_out), .ar_ready_i(ar_ready)
  );

  logic owes_q, in_waits_aw_q, in_waits_ar_q, waits_aw_q, waits_ar_q;
  logic [1:0] passed_q;  // reads that went while one was owed
  logic [IdWidth-1:0] id_q;
  logic [8:0] beats_q;
  axi_a_t in_aw_q, in_ar_q, aw_q, ar_q;
  logic [5:0] atop_q;
  logic own;  // a read that goes is the master's
  assign own = ar_valid && ar_taken;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    {in_aw_q, in_ar_q, aw_q, ar_q, atop_q} <= {aw, ar, aw_out, ar_out, atop};
    in_waits_aw_q <= rst_n && aw_valid && !aw_taken;
    in_waits_ar_q <= rst_n && ar_valid && !ar_taken;
    waits_aw_q <= rst_n && aw_valid_out && !aw_ready;
    waits_ar_q <= rst_n && ar_valid_out && !ar_ready;
    if (!rst_n) begin
      owes_q <= 1'b0;
      passed_q <= '0;
    end else begin
      if (ar_valid_out && ar_ready && !own) owes_q <= 1'b0;
      if (owes_q && own) passed_q <= passed_q + 2'd1;
      if (aw_valid && aw_taken && atop[5]) begin
        owes_q <= 1'b1;
        passed_q <= '0;
        id_q <= aw.id;
        beats_q <= atop == 6'b110001 && aw.len != '0 ? (9'(aw.len) + 9'd1) >> 1 : 9'(aw.len) + 9'd1;
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (in_waits_aw_q) assume (aw_valid && aw == in_aw_q && atop == atop_q);
      if (in_waits_ar_q) assume (ar_valid && ar == in_ar_q);
    end
  end

  always_comb begin
    if (past_valid && rst_n) begin
      assert ((aw_valid && aw_taken) == (aw_valid_out && aw_ready));
      if (aw_valid_out) begin
        assert (aw_out.lock == (aw.lock || atop != '0));
        assert ({aw_out.addr, aw_out.id, aw_out.len, aw_out.size, aw_out.burst} == {aw.addr, aw.id, aw.len, aw.size, aw.burst});
      end
      if (aw_valid && aw_taken && atop[5]) assert (!owes_q);
      if (own) assert (ar_valid_out && ar_ready && ar_out == ar);
      if (ar_valid_out && ar_ready && !own) begin
        assert (owes_q && ar_out.lock && ar_out.id == id_q && 9'(ar_out.len) + 9'd1 == beats_q);
      end
      assert (passed_q <= 2'd1);
      if (waits_aw_q) assert (aw_valid_out && aw_out == aw_q);
      if (waits_ar_q) assert (ar_valid_out && ar_out == ar_q);
      if (owes_q) assert (ar_valid_out);
`ifdef PROVE
      // About its state.
      assert (dut.due_q == owes_q && (!owes_q || passed_q == '0 || !dut.held_q));
      if (dut.due_q) assert (dut.due_ar_q.lock && dut.due_ar_q.id == id_q && 9'(dut.due_ar_q.len) + 9'd1 == beats_q);
      assert (dut.held_q == (in_waits_ar_q && waits_ar_q && ar_q == in_ar_q && ar == ar_q && dut.held_q));
      if (dut.held_q) assert (in_waits_ar_q && waits_ar_q && ar_q == in_ar_q);
      if (waits_ar_q && !dut.held_q) assert (owes_q && ar_q == dut.due_ar_q);
      if (passed_q != '0) assert (!dut.held_q || !owes_q);
`endif
    end
  end
endmodule
