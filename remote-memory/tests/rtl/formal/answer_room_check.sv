// SPDX-License-Identifier: Apache-2.0
// Room for answers at the mBlock: whatever was asked for and is not taken by the link yet never exceeds the room, and a read that waits goes
// on once nothing is owed or kept.
module answer_room_check (
    input logic       clk,
    input logic       rst_n,
    input logic       drain,
    input logic       shows,
    input logic [7:0] len,
    input logic       wants,   // what shows goes, if it may
    input logic       refused, // it goes, and takes no room
    input logic       comes,
    input logic       gives
);
  localparam int unsigned Room = 512;
  logic fits, takes, goes;
  logic past_valid = 1'b0;

  assign takes = shows && wants && fits && !refused;
  assign goes  = shows && wants && fits;

  consort_answer_room #(
      .Room(Room)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .drain_i(drain), .waits_i(shows && !goes), .len_i(len), .takes_i(takes), .comes_i(comes),
      .gives_i(gives), .fits_o(fits)
  );

  logic [10:0] owed_q, kept_q;
  logic [7:0] len_q;
  logic waits_q;
  logic [1:0] idle_q;  // cycles in which one waited and there was nothing else
  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    len_q <= len;
    waits_q <= rst_n && shows && !goes && !drain;
    if (!rst_n) begin
      owed_q <= '0;
      kept_q <= '0;
      idle_q <= '0;
    end else begin
      owed_q <= owed_q + (takes ? 11'(len) + 11'd1 : '0) - 11'(comes);
      kept_q <= drain ? '0 : kept_q + 11'(comes) - 11'(gives);
      idle_q <= shows && !goes && owed_q == '0 && kept_q == '0 && !drain ? idle_q + 2'(idle_q != 2'd3) : '0;
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (waits_q) assume (shows && len == len_q);
      if (drain) assume (!shows);
      if (comes) assume (owed_q != '0);
      if (gives) assume (kept_q != '0 && !drain);
    end
  end

  always_comb begin
    if (past_valid && rst_n) begin
      assert (owed_q + kept_q <= 11'(Room));
      if (takes) assert (owed_q + kept_q + 11'(len) < 11'(Room));
      if (idle_q >= 2'd2) assert (fits);
`ifdef PROVE
      // About its state.
      assert (11'(dut.owed_q) == owed_q && 11'(dut.kept_q) == kept_q);
      if (dut.plenty_q) assert (owed_q + kept_q <= 11'(Room - 16));
      if (dut.fits_q) assert (shows && waits_q && owed_q + kept_q + 11'(len) < 11'(Room));
      if (idle_q != '0) assert (owed_q == '0 && kept_q == '0 && shows);
      if (idle_q >= 2'd1) assert (dut.fits_q || len[7:4] == '0);
      if (idle_q >= 2'd2) assert (dut.plenty_q);
`endif
    end
  end
endmodule
