// SPDX-License-Identifier: Apache-2.0
// Where the next beat of each read's answer goes in a port's buffer: the places that were set aside for it, one after the other, and none behind
// them, however many beats come. And whether what is handed on next is there.
//
// Of each tag it keeps the next place with a mark. A tag that begins gets the other mark than its place has, so what it had before is known for old,
// until its first beat marks it anew. The distributed RAM has no reset: after a reset all are marked, one in each cycle, and until swept_o
// nothing may begin.
//
// What is kept is read a cycle before it is wanted: place_o is a register, and so is whether a beat counts.
// Interface: begins_i with a tag and its places, from first_i up to past_i; look_i, the tag of what comes in the next cycle, and look_counts_i,
// whether that waits; rsp_valid_i with a beat for what was looked at; counts_o, whether its tag waited and did not end since; place_o and comes_o,
// whether it has one. head_i is the tag and read_i the place that is handed on, read_next_i the one after that; each goes on with ends_i and steps_i.
// Parameters: Width of a tag's index; Places, bits of a place with the turn of the buffer.
// Throughput: a beat in and one out a cycle.
// Latency: of a place one cycle after look_i; there_o, of what is handed on in the cycle in which it shows, two cycles after it came.
// Assumes: nothing begins before swept_o; look_counts_i only of a tag that waits; ends_i only with the last beat of its tag, or all of it failed.
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
    input  logic [ Width-1:0] look_i,
    input  logic              look_counts_i,
    input  logic              rsp_valid_i,
    output logic              counts_o,
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
  logic [Width-1:0] next_at, after_q, index_q;  // after_q: the tag after the head
  logic again, mark_q;
  logic [Places-1:0] past_q, following;
  next_t looked, next_in, of_head, of_after;
  logic [1:0][1:0] there;  // of this tag and the one after it, at this place and the next one

  assign swept_o = sweep_q[Width];
  assign looked = next[look_i];
  assign following = place_o + 1'b1;
  // The beat before was of the same tag.
  assign again = comes_o && look_i == index_q;
  assign comes_o = rsp_valid_i && counts_o && place_o != past_q;
  assign next_at = swept_o ? index_q : sweep_q[Width-1:0];
  assign next_in = swept_o ? '{mark: mark_q, place: following} : '{mark: 1'b0, place: '0};

  always_ff @(posedge clk_i) begin
    if (begins_i) begin
      first[tail_i] <= first_i;
      past[tail_i]  <= past_i;
      marks[tail_i] <= !next[tail_i].mark;
    end
    if (comes_o || !swept_o) next[next_at] <= next_in;
    index_q <= look_i;
    mark_q  <= marks[look_i];
    past_q  <= past[look_i];
    place_o <= again ? following : looked.mark == marks[look_i] ? looked.place : first[look_i];
  end

  // What shows in the next cycle, whichever that is, of what had come before this one. Which it is is known late: as sums of bits the comparisons stay
  // four before that; as comparisons a synthesis tool makes one of them, behind it.
  assign of_head = next[head_i];
  assign of_after = next[after_q];
  assign there[0][0] = of_head.mark == marks[head_i] && |(of_head.place ^ read_i);
  assign there[0][1] = of_head.mark == marks[head_i] && |(of_head.place ^ read_next_i);
  assign there[1][0] = of_after.mark == marks[after_q] && |(of_after.place ^ read_i);
  assign there[1][1] = of_after.mark == marks[after_q] && |(of_after.place ^ read_next_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= '0;
      counts_o <= 1'b0;
      there_o <= 1'b0;
      after_q <= Width'(1);
    end else begin
      if (ends_i) after_q <= after_q + 1'b1;
      counts_o <= look_counts_i && !(ends_i && look_i == head_i);
      if (!swept_o) sweep_q <= sweep_q + 1'b1;
      there_o <= swept_o && there[ends_i][steps_i];
    end
  end
endmodule
