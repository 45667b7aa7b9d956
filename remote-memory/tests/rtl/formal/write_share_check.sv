// SPDX-License-Identifier: Apache-2.0
// The share of writes, with the credits and a sender as consort_write_sender is: after the first message of a held write went, its units and those
// that are out are no more than the share, or it is alone.
module write_share_check (
    input logic       clk,
    input logic       rst_n,
    input logic [9:0] share,
    input logic       waits,
    input logic       held,
    input logic [8:0] most,
    input logic [3:0] units,   // of the message
    input logic       ready,
    input logic [3:0] give
);
  localparam int unsigned Credits = 12;
  logic [3:0] free, want_q;
  logic fits, pop, enough, enough_q, take_q;
  logic past_valid = 1'b0;
  logic [9:0] share_q;
  logic waited_q, held_q, nothing_q;
  logic [8:0] most_q;
  logic [3:0] units_q;
  logic [4:0] out_q;           // with what is taken in the next cycle
  logic [1:0] waits_long_q;

  assign pop = waits && enough_q && ready;

  consort_credit #(.Max(Credits)) i_credit (
      .clk_i(clk), .rst_ni(rst_n), .clear_i(1'b0), .want_i(take_q ? want_q : units), .enough_o(enough), .free_o(free),
      .take_i(take_q), .give_i(give)
  );
  consort_write_share #(.Credits(Credits)) dut (
      .clk_i(clk), .rst_ni(rst_n), .share_i(share), .waits_i(waits), .held_i(held), .most_i(most), .pop_i(pop), .takes_i(take_q),
      .free_i(free), .fits_o(fits)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    share_q <= share;
    waited_q <= rst_n && waits && !pop;
    held_q <= held;
    most_q <= most;
    units_q <= units;
    want_q <= units;
    if (!rst_n) {take_q, enough_q, out_q, waits_long_q, nothing_q} <= '0;
    else begin
      take_q <= pop;
      enough_q <= waits && enough && !pop && !take_q && fits;
      out_q <= out_q + (pop ? 5'(units) : 5'd0) - 5'(give);
      waits_long_q <= !waits || pop || !(out_q == '0 && give == '0) ? '0 : waits_long_q == '1 ? '1 : waits_long_q + 2'd1;
      nothing_q <= out_q == '0;
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && share == share_q);
    if (past_valid && waited_q) assume (waits && held == held_q && most == most_q && units == units_q);
    assume (units != '0 && 9'(units) <= most && units <= 4'(Credits));
    assume (5'(give) + (take_q ? 5'(want_q) : 5'd0) <= out_q);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      if (pop && held) assert (out_q == '0 || 11'(out_q) + 11'(most) <= 11'(share));
      assert (out_q <= 5'(Credits));
      // It does not wait in vain: with nothing out, what is held may go in its fourth cycle.
      if (waits_long_q == '1) assert (fits);
`ifdef PROVE
      assert (out_q == 5'(Credits) - 5'(free) + (take_q ? 5'(want_q) : 5'd0));
      assert (free <= 4'(Credits));
      if (dut.seen_q) assert (waited_q && dut.floor_q == $signed(12'(most)) + 12'sd12 - $signed(12'(share)));
      if (dut.fits_q) assert (waited_q && !take_q);
      if (dut.fits_q) assert (out_q == '0 || $signed(12'(free)) >= $signed(12'(most)) + 12'sd12 - $signed(12'(share)));
      if (enough_q) assert (waited_q && !take_q && units <= free);
      if (enough_q && held) assert (out_q == '0 || 11'(out_q) + 11'(most) <= 11'(share));
      if (waited_q) assert (!take_q || !enough_q);
      if (waits_long_q >= 2'd1) assert (nothing_q && dut.seen_q);
      if (waits_long_q >= 2'd2) assert (!take_q);
`endif
    end
  end
  logic unused;
  assign unused = &{1'b0, nothing_q};
endmodule
