// SPDX-License-Identifier: Apache-2.0
// Room for answers, with a user that keeps to it: never more under way than there is room for, and after a held read left no more than the share, or
// that read alone.
module read_room_check (
    input logic       clk,
    input logic       rst_n,
    input logic [9:0] share,
    input logic       waits,
    input logic [7:0] len,
    input logic       held,
    input logic       good,   // it takes room
    input logic       leaves,
    input logic       gives
);
  localparam int unsigned Room = 256;
  logic room, fits, moves, takes;
  logic past_valid = 1'b0;
  logic [9:0] share_q;
  logic [9:0] out_q;  // beats under way, counted apart
  logic waited_q, held_q, was_none_q;
  logic [7:0] len_q;

  assign moves = waits && leaves && (!good || (room && fits));
  assign takes = moves && good;

  consort_read_room #(.Room(Room)) dut (
      .clk_i(clk), .rst_ni(rst_n), .share_i(share), .waits_i(waits), .len_i(len), .held_i(held), .moves_i(moves), .takes_i(takes),
      .gives_i(gives), .room_o(room), .fits_o(fits)
  );

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    share_q <= share;
    was_none_q <= rst_n && out_q == '0 && !takes;
    waited_q <= rst_n && waits && !moves;
    len_q <= len;
    held_q <= held;
    if (!rst_n) out_q <= '0;
    else out_q <= out_q + (takes ? 10'(len) + 10'd1 : 10'd0) - 10'(gives);
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n && share == share_q);
    // A waiting request stays as it is.
    if (past_valid && waited_q) assume (waits && len == len_q && held == held_q);
    assume (!gives || out_q != '0);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      assert (out_q <= 10'(Room));
      if (takes && held) assert (out_q == '0 || 11'(out_q) + 11'(len) + 11'd1 <= 11'(share));
      // One that is held does not wait in vain: with nothing under way it may leave in its second cycle.
      if (waits && waited_q && was_none_q) assert (room && fits);
`ifdef PROVE
      assert (out_q == 10'(dut.used_q));
      if (dut.plenty_q) assert (out_q <= 10'(Room - 16));
      if (dut.room_q) assert (waited_q && 11'(out_q) + 11'(len) < 11'(Room));
      if (waited_q && was_none_q) assert (dut.room_q);
      if (dut.fits_q) assert (waited_q && (out_q == '0 || 11'(out_q) + 11'(len) < 11'(share)));
      if (waited_q && was_none_q) assert (dut.fits_q);
`endif
    end
  end
endmodule
