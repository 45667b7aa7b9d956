// SPDX-License-Identifier: Apache-2.0
// Before a port of the cBlock whose master makes atomic operations (AWATOP of AXI5): each of them goes on as an exclusive write, which the port ends
// with SLVERR, and one that has data as its answer as an exclusive read of its id and length beside it. Nothing of either reaches the link.
// Interface: aw and ar of AXI4 with aw_atop_i beside the first; the other channels need nothing.
// Parameters: none.
// Throughput: an address a cycle; of operations with data one in two.
// Latency: none; the read of an operation shows a cycle after its write was taken, or after a read that waits.
// Assumes: what is shown stays until it is taken.
// Held by: proof tests/rtl/formal/axi_atop_check.sv, tests/rtl/test_proofs.py.
module consort_axi_atop
  import consort_remote_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  axi_a_t     aw_i,
    input  logic [5:0] aw_atop_i,
    input  logic       aw_valid_i,
    output logic       aw_ready_o,
    input  axi_a_t     ar_i,
    input  logic       ar_valid_i,
    output logic       ar_ready_o,
    output axi_a_t     aw_o,
    output logic       aw_valid_o,
    input  logic       aw_ready_i,
    output axi_a_t     ar_o,
    output logic       ar_valid_o,
    input  logic       ar_ready_i
);
  localparam logic [5:0] Compare = 6'b110001;  // half of its data are compared, and as many are the answer

  logic answers, due_q, held_q, shows_due;
  axi_a_t due_ar_q;

  assign answers = aw_atop_i[5];
  assign aw_valid_o = aw_valid_i && !(answers && due_q);
  assign aw_ready_o = aw_ready_i && !(answers && due_q);
  // A read that is shown stays.
  assign shows_due = due_q && !held_q;
  assign ar_valid_o = ar_valid_i || due_q;
  assign ar_ready_o = ar_ready_i && !shows_due;
  assign ar_o = shows_due ? due_ar_q : ar_i;
  always_comb begin
    aw_o = aw_i;
    aw_o.lock = aw_i.lock || aw_atop_i != '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      due_q  <= 1'b0;
      held_q <= 1'b0;
    end else begin
      held_q <= ar_valid_i && !shows_due && !ar_ready_i;
      if (aw_valid_o && aw_ready_i && answers) due_q <= 1'b1;
      else if (shows_due && ar_ready_i) due_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_valid_o && aw_ready_i && answers) begin
      due_ar_q <= aw_i;
      due_ar_q.lock <= 1'b1;
      if (aw_atop_i == Compare && aw_i.len != '0) due_ar_q.len <= (aw_i.len - 8'd1) >> 1;
    end
  end
endmodule
