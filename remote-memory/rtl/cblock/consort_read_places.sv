// SPDX-License-Identifier: Apache-2.0
// Where the next beat of each read's answer goes in a port's buffer: the places that were set aside for it, one after the other, and none behind
// them, however many beats come. And whether what is handed on next is there.
//
// Of each tag it keeps the next place with a mark. A tag that begins gets the other mark than its place has, so what it had before is known for old,
// until its first beat marks it anew. The distributed RAM has no reset: after a reset all are marked, one in each cycle, and until swept_o
// nothing may begin.
// Interface: begins_i with a tag and its places, from first_i up to past_i; rsp_valid_i with a beat for rsp_index_i; place_o and comes_o, whether it
// has one. head_i is the tag and read_i the place that is handed on, read_next_i the one after that; each goes on with ends_i and steps_i.
// Parameters: Width of a tag's index; Places, bits of a place with the turn of the buffer.
// Throughput: a beat in and one out a cycle.
// Latency: of a place none; there_o, of what is handed on in the cycle in which it shows, two cycles after it came.
// Assumes: nothing begins before swept_o; what comes is of a tag that waits; ends_i only with the last beat of its tag, or all of it failed.
// Held by: search of all runs of twelve cycles against tests/rtl/formal/read_places_check.sv, tests/rtl/test_proofs.py; bad lenders, tests/rtl/test_lenders.py.
module consort_read_places #(
    parameter int unsigned Width  = 6,
    parameter int unsigned Places = 10
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    output logic              swept_o,
    input  logic              begins_i,
    input  logic [ Width-1:0] tail_i,
    input  logic [Places-1:0] first_i,
    input  logic [Places-1:0] past_i,
    input  logic              rsp_valid_i,
    input  logic [ Width-1:0] rsp_index_i,
    output logic [Places-1:0] place_o,
    output logic              comes_o,
    input  logic [ Width-1:0] head_i,
    input  logic [Places-1:0] read_i,
    input  logic [Places-1:0] read_next_i,
    input  logic              steps_i,
    input  logic              ends_i,
    output logic              there_o
);
  typedef struct packed {
    logic              mark;
    logic [Places-1:0] place;
  } next_t;

  logic [Places-1:0] first[2**Width];
  logic [Places-1:0] past[2**Width];
  logic marks[2**Width];
  next_t next[2**Width];

  logic [Width:0] sweep_q;
  logic [Width-1:0] next_at, after;
  next_t known, next_in, of_head, of_after;
  logic [1:0][1:0] there;  // of this tag and the one after it, at this place and the next one

  assign swept_o = sweep_q[Width];
  assign known = next[rsp_index_i];
  assign place_o = known.mark == marks[rsp_index_i] ? known.place : first[rsp_index_i];
  assign comes_o = rsp_valid_i && place_o != past[rsp_index_i];
  assign next_at = swept_o ? rsp_index_i : sweep_q[Width-1:0];
  assign next_in = swept_o ? '{mark: marks[rsp_index_i], place: place_o + 1'b1} : '{mark: 1'b0, place: '0};

  always_ff @(posedge clk_i) begin
    if (begins_i) begin
      first[tail_i] <= first_i;
      past[tail_i]  <= past_i;
      marks[tail_i] <= !next[tail_i].mark;
    end
    if (comes_o || !swept_o) next[next_at] <= next_in;
  end

  // What shows in the next cycle, whichever that is, of what had come before this one.
  assign after = head_i + 1'b1;
  assign of_head = next[head_i];
  assign of_after = next[after];
  assign there[0][0] = of_head.mark == marks[head_i] && of_head.place != read_i;
  assign there[0][1] = of_head.mark == marks[head_i] && of_head.place != read_next_i;
  assign there[1][0] = of_after.mark == marks[after] && of_after.place != read_i;
  assign there[1][1] = of_after.mark == marks[after] && of_after.place != read_next_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= '0;
      there_o <= 1'b0;
    end else begin
      if (!swept_o) sweep_q <= sweep_q + 1'b1;
      there_o <= swept_o && there[ends_i][steps_i];
    end
  end
endmodule
