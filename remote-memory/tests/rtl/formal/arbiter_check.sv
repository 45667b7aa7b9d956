// SPDX-License-Identifier: Apache-2.0
// The round-robin arbiter: one grant at most, to one that asks, whenever one asks; and who keeps asking is served after at
// most N - 1 grants to others.
module arbiter_check (
    input logic       clk,
    input logic       rst_n,
    input logic [3:0] request,
    input logic       taken,
    input logic [1:0] who      // any one of them, the same for ever
);
  localparam int unsigned N = 4;
  logic [N-1:0] grant;
  logic [2:0] others_q;      // grants to others while it asks
  logic past_valid = 1'b0;
  logic [1:0] who_q;

  consort_arbiter #(.N(N)) dut (.clk_i(clk), .rst_ni(rst_n), .request_i(request), .grant_o(grant), .taken_i(taken));

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    who_q <= who;
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && who == who_q);
  end

  always_ff @(posedge clk) begin
    if (!rst_n || !request[who] || (taken && grant[who])) others_q <= '0;
    else if (taken && grant != '0) others_q <= others_q + 3'd1;
  end

  // The wait by the arbiter's state: those of the mask before us, then the rest.
  function automatic logic [2:0] ahead(logic [N-1:0] mask, logic [1:0] of);
    logic [2:0] count;
    count = 3'd0;
    for (int unsigned i = 0; i < N; i++) begin
      if (mask[of]) count = count + 3'(mask[i] && i < of);
      else count = count + 3'(mask[i] || i < of);
    end
    return count;
  endfunction

  always_comb begin
    if (past_valid && rst_n) begin
      assert ((grant & (grant - 1'b1)) == '0);
      assert ((grant & ~request) == '0);
      assert ((grant != '0) == (request != '0));
      assert (others_q <= 3'(N - 1));
`ifdef PROVE
      // About its state.
      // The mask is always of the upper ones, so after its first bit all are set.
      assert ((dut.mask_q | (dut.mask_q << 1)) == dut.mask_q);
      assert (others_q + ahead(dut.mask_q, who) <= 3'(N - 1));
`endif
      cover (others_q == 3'(N - 1));
    end
  end
endmodule
