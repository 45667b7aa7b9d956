// SPDX-License-Identifier: Apache-2.0
// The arbiter of two classes: one grant at most, to one that asks. One that waits urgently is passed by two that do not at most, and by each other
// one that does once; between two grants to others there are Turns + 1 of the urgent at most, and each of those others is granted once at most
// while somebody else waits: so nobody waits for ever.
module class_arbiter_check (
    input logic       clk,
    input logic       rst_n,
    input logic [3:0] request,
    input logic [3:0] waits,
    input logic [1:0] who       // any one of them, the same for ever
);
  localparam int unsigned N = 4;
  localparam int unsigned Turns = 4;
  logic [N-1:0] grant, grant_q, waits_q;
  logic past_valid = 1'b0;
  logic [1:0] who_q;
  logic on;

  consort_class_arbiter #(.N(N), .Turns(Turns)) dut (
      .clk_i(clk), .rst_ni(rst_n), .request_i(request), .waits_i(waits), .grant_o(grant)
  );

  assign on = past_valid && rst_n;
  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    who_q <= who;
    grant_q <= rst_n ? grant : '0;
    waits_q <= rst_n ? waits : '0;
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && who == who_q);
    // An urgent request waits until it is granted.
    if (past_valid) assume ((waits_q & ~grant_q & ~waits) == '0);
  end

  // ---- While it waits urgently and may be taken: grants where only such counted, and others ----

  logic [N-1:0] first;             // these wait urgently since the cycle before, or longer
  logic urgent;
  logic [2:0] urgent_q, lower_q;
  assign first = waits_q & ~grant_q;
  assign urgent = first[who] && request[who];

  always_ff @(posedge clk) begin
    if (!rst_n || !urgent || grant[who]) {urgent_q, lower_q} <= '0;
    else if (grant != '0) begin
      if (dut.holds_q) urgent_q <= urgent_q + 3'd1;
      else lower_q <= lower_q + 3'd1;
    end
  end

  // ---- While it asks, however: grants in which only urgent ones counted, and others ----

  logic [2:0] others_q, holds_q;   // since it asked; since the last of the others, or since it asked

  always_ff @(posedge clk) begin
    if (!rst_n || !request[who] || grant[who]) {others_q, holds_q} <= '0;
    else if (grant != '0) begin
      if (dut.holds_q) holds_q <= holds_q + 3'd1;
      else begin
        holds_q  <= '0;
        others_q <= others_q + 3'd1;
      end
    end
  end

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
    if (on) begin
      assert ((grant & (grant - 1'b1)) == '0);
      assert ((grant & ~request) == '0);
      // Nobody is kept but by one that waits urgently and may not be taken yet.
      if (request != '0 && (waits_q & ~grant_q & ~request) == '0) assert (grant != '0);
      if (dut.holds_q) assert ((grant & ~first) == '0);
      assert (lower_q <= 3'd1);
      assert (urgent_q <= 3'(N - 1));
      assert (others_q <= 3'(N - 1));
      assert (holds_q <= 3'(Turns + 1));
`ifdef PROVE
      // About its state.
      assert ((dut.mask_others_q | (dut.mask_others_q << 1)) == dut.mask_others_q);
      assert ((dut.mask_urgent_q | (dut.mask_urgent_q << 1)) == dut.mask_urgent_q);
      assert (dut.turns_q <= 3'(Turns + 1));
      assert (dut.open_q == (dut.holds_q ? first : '1));
      if (dut.holds_q) assert (first != '0);
      if (dut.holds_q) assert (dut.turns_q <= 3'(Turns));
      if (!dut.holds_q && dut.turns_q < 3'(Turns)) assert (first == '0 || !past_valid);
      assert (holds_q <= dut.turns_q);
      assert (others_q + ahead(dut.mask_others_q, who) <= 3'(N - 1));
      assert (urgent_q + ahead(dut.mask_urgent_q, who) <= 3'(N - 1));
      if (lower_q != '0) assert (dut.turns_q <= urgent_q);
`endif
      cover (lower_q == 3'd1);
      cover (holds_q == 3'(Turns + 1));
    end
  end
endmodule
