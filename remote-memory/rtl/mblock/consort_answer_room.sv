// SPDX-License-Identifier: Apache-2.0
// Room for the answers of a link's reads, set aside before a read goes to a memory: so a memory never holds an answer because of a link,
// and a link that takes nothing keeps no other link from that memory.
//
// It counts beats that memories owe and beats that wait for the link. A read of up to 16 beats goes where there is plenty of room; a
// longer one is compared while it waits.
// Interface: the read that shows with len_i, waits_i while it stays; takes_i when it goes; comes_i for each beat of an answer; gives_i for
// each beat that the link took.
// Parameters: Room in beats, at least 288.
// Throughput: a short read a cycle; a long one in two.
// Latency: of a short read none; a longer one waits for a cycle.
// Assumes: a read that waits stays as it is until it goes or drain_i; only what is owed comes, and only what was kept is given.
// Held by: proof tests/rtl/formal/answer_room_check.sv, tests/rtl/test_proofs.py.
module consort_answer_room #(
    parameter int unsigned Room = 512,
    localparam int unsigned Width = $clog2(Room) + 1
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       drain_i,   // nothing is kept any more
    input  logic       waits_i,   // what shows goes on showing
    input  logic [7:0] len_i,
    input  logic       takes_i,
    input  logic       comes_i,
    input  logic       gives_i,
    output logic       fits_o
);
  localparam int unsigned Short = 16;

  logic [Width-1:0] owed_q, kept_q, used;
  logic plenty_q, fits_q;

  assign used = owed_q + kept_q;
  assign fits_o = len_i[7:4] == '0 ? plenty_q : fits_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owed_q <= '0;
      kept_q <= '0;
      plenty_q <= 1'b0;
      fits_q <= 1'b0;
    end else begin
      owed_q <= owed_q + (takes_i ? Width'(len_i) + 1'b1 : '0) - Width'(comes_i);
      kept_q <= drain_i ? '0 : kept_q + Width'(comes_i) - Width'(gives_i);
      // A short one may go between this look and the next.
      plenty_q <= !(takes_i && len_i[7:4] != '0) && used <= Width'(Room - 2 * Short);
      fits_q <= waits_i && used + Width'(len_i) < Width'(Room);
    end
  end
endmodule
