// SPDX-License-Identifier: Apache-2.0
// Streams into one, in turn. What was once shown stays until it is taken.
// Interface: N streams in, one out.
// Parameters: T, of a word; N streams.
// Throughput: a word a cycle.
// Latency: none.
// Assumes: a word that shows stays.
// Held by: proof remote-memory/tests/rtl/formal/rr_switch_check.sv, remote-memory/tests/rtl/test_proofs.py.
module consort_rr_switch #(
    parameter type T = logic,
    parameter int unsigned N = 2
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  T             data_i [N],
    input  logic [N-1:0] valid_i,
    output logic [N-1:0] ready_o,
    output T             data_o,
    output logic         valid_o,
    input  logic         ready_i
);
  logic [N-1:0] grant, held_q;

  consort_arbiter #(
      .N(N)
  ) i_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(held_q != '0 ? held_q : valid_i),
      .grant_o(grant),
      .taken_i(ready_i)
  );

  assign valid_o = grant != '0;
  assign ready_o = ready_i ? grant : '0;

  always_comb begin
    data_o = '0;
    for (int unsigned i = 0; i < N; i++) begin
      if (grant[i]) data_o = data_o | data_i[i];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= '0;
    else held_q <= ready_i ? '0 : grant;
  end
endmodule
