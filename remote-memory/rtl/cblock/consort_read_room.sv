// SPDX-License-Identifier: Apache-2.0
// Room for the answers of a port's reads: whether the read that waits finds some, and whether it keeps to the port's share.
//
// It counts the beats that are under way. A read of up to 16 beats goes where there is plenty of room; what it was compared for while it waited, any
// other does. A read that is held waits until with it they are no more than the share, or until there are none.
// Interface: the read that waits with len_i and held_i; takes_i when it leaves; gives_i for each beat that the master took.
// Parameters: Room in beats, a power of two, at least 256.
// Throughput: a short read a cycle; of long and of held ones one in two.
// Latency: of plenty of room none; that a read fits otherwise, or keeps to the share, is known a cycle after it shows.
// Assumes: a read that waits stays as it is; it leaves only where there is room and, held, where it fits; no more is given than was taken.
// Held by: proof tests/rtl/formal/read_room_check.sv, tests/rtl/test_proofs.py.
module consort_read_room #(
    parameter int unsigned Room = 512,
    localparam int unsigned Width = $clog2(Room) + 1
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic [9:0] share_i,  // beats
    input  logic       waits_i,
    input  logic [7:0] len_i,
    input  logic       held_i,
    input  logic       moves_i,  // what waits goes away, also where it takes no room
    input  logic       takes_i,
    input  logic       gives_i,
    output logic       room_o,
    output logic       fits_o
);
  localparam int unsigned Short = 16;

  logic [Width-1:0] used_q, used_less, used_more;
  logic plenty_q, room_q, fits_q, long;

  assign used_less = used_q - Width'(gives_i);
  assign used_more = used_q + Width'(len_i) + Width'(!gives_i);
  assign long = len_i[7:4] != '0;
  assign room_o = (plenty_q && !long) || room_q;
  assign fits_o = !held_i || fits_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      plenty_q <= 1'b0;
      room_q <= 1'b0;
      fits_q <= 1'b0;
    end else begin
      used_q <= takes_i ? used_more : used_less;
      // A short one may go between this look and the next.
      plenty_q <= !(takes_i && long) && used_q <= Width'(Room - 2 * Short);
      // Of what has been waiting for a cycle; less may be under way in the next one, not more.
      room_q <= waits_i && !moves_i && used_q + Width'(len_i) < Width'(Room);
      fits_q <= waits_i && !moves_i && (used_q == '0 || 11'(used_q) + 11'(len_i) < 11'(share_i));
    end
  end
endmodule
