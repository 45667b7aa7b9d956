// SPDX-License-Identifier: Apache-2.0
// The round-robin switch between streams that keep their rule: what it shows stays until it is taken; a word goes out exactly
// when one of the inputs is taken, and it is that input's; and an input that waits is taken after at most N - 1 others.
module rr_switch_check (
    input logic       clk,
    input logic       rst_n,
    input logic [3:0] data_in[4],
    input logic [3:0] valid_in,
    input logic       ready_out,
    input logic [1:0] who           // any one of them, the same for ever
);
  localparam int unsigned N = 4;
  logic [N-1:0] ready_in;
  logic valid_out;
  logic [3:0] data_out;
  logic past_valid = 1'b0;

  consort_rr_switch #(
      .T(logic [3:0]),
      .N(N)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .data_i(data_in), .valid_i(valid_in), .ready_o(ready_in), .data_o(data_out),
      .valid_o(valid_out), .ready_i(ready_out)
  );

  logic [N-1:0] waited_q;    // inputs that were not taken
  logic [3:0] before_q[N];
  logic shown_q;             // the output was not taken
  logic [3:0] shown_data_q;
  logic [1:0] who_q;
  logic [2:0] others_q;      // words of others that went while this one waited

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    who_q <= who;
    for (int i = 0; i < N; i++) before_q[i] <= data_in[i];
    shown_data_q <= data_out;
    if (!rst_n) begin
      waited_q <= '0;
      shown_q <= 1'b0;
      others_q <= '0;
    end else begin
      waited_q <= valid_in & ~ready_in;
      shown_q  <= valid_out && !ready_out;
      if (!valid_in[who] || ready_in[who]) others_q <= '0;
      else if (ready_in != '0) others_q <= others_q + 3'd1;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && who == who_q);
    if (past_valid && rst_n) begin
      for (int i = 0; i < N; i++) begin
        if (waited_q[i]) assume (valid_in[i] && data_in[i] == before_q[i]);
      end
    end
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
      // One input at a time, one that has something, and only with the output.
      assert ((ready_in & (ready_in - 1'b1)) == '0);
      assert ((ready_in & ~valid_in) == '0);
      assert ((ready_in != '0) == (valid_out && ready_out));
      for (int i = 0; i < N; i++) begin
        if (ready_in[i]) assert (data_out == data_in[i]);
      end
      // Something is shown whenever there is something.
      assert (valid_out == (valid_in != '0));
      if (shown_q) assert (valid_out && data_out == shown_data_q);
      assert (others_q <= 3'(N - 1));
`ifdef PROVE
      // About its state.
      assert ((dut.held_q & (dut.held_q - 1'b1)) == '0);
      assert ((dut.held_q != '0) == shown_q);
      assert ((dut.held_q & ~waited_q) == '0);
      for (int i = 0; i < N; i++) begin
        if (dut.held_q[i]) assert (shown_data_q == before_q[i]);
      end
      assert ((dut.i_arbiter.mask_q | (dut.i_arbiter.mask_q << 1)) == dut.i_arbiter.mask_q);
      // A held one goes first, then those after it come before the rest.
      if (dut.held_q == '0) assert (others_q + ahead(dut.i_arbiter.mask_q, who) <= 3'(N - 1));
      else if (!dut.held_q[who]) assert (others_q + 3'd1 + ahead(~(dut.held_q | (dut.held_q - 1'b1)), who) <= 3'(N - 1));
`endif
    end
  end
endmodule
