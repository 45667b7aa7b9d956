// SPDX-License-Identifier: Apache-2.0
// Which accesses of a port keep their order. Those of one AXI4 id do; those of different ids may overtake each other.
//
// Three ids at a time have a list of tags of their own, from their first access until none is left in it. An access of another id goes into the
// fourth list, with all others that found none: they keep their order among each other, too.
// Interface: begins_i with the id and the tag of an access that begins; of each list its oldest tag, and whether it has any; ends_i takes the oldest
// one of end_list_i, end_tag_i; after_o is the one behind it and more_o says whether there is one. told_o is the list of the tag tell_i.
// Parameters: Width of a tag.
// Throughput: one that begins and one that ends every second cycle.
// Latency: a tag shows after two cycles.
// Assumes: none begins in the cycle after another, nor ends so; a tag does not begin again before it ended; end_tag_i is the oldest of its list, which
// is not empty.
// Held by: proof tests/rtl/formal/order_check.sv, tests/rtl/test_proofs.py.
module consort_order
  import consort_remote_pkg::*;
#(
    parameter int unsigned Width = 6
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               begins_i,
    input  logic [IdWidth-1:0] id_i,
    input  logic [  Width-1:0] tag_i,
    output logic [        3:0] some_o,
    output logic [  Width-1:0] oldest_o  [4],
    input  logic               ends_i,
    input  logic [        1:0] end_list_i,
    input  logic [  Width-1:0] end_tag_i,
    output logic [  Width-1:0] after_o,
    output logic               more_o,
    input  logic [  Width-1:0] tell_i,
    output logic [        1:0] told_o
);
  localparam logic [1:0] Others = 2'd3;

  logic [Width-1:0] next[2**Width];   // of each tag the one behind it in its list
  logic [1:0] lists[2**Width];        // of each tag
  logic [Width-1:0] newest_q[4];
  logic [3:0] some_q;
  logic [Width-1:0] oldest_q[4];
  logic [IdWidth-1:0] ids_q[3];       // of the lists of one id
  // One that began in the cycle before: to compare its id and to choose its list would be too long a path for one cycle.
  logic begins_q;
  logic [IdWidth-1:0] id_q;
  logic [Width-1:0] tag_q;
  logic [2:0] same_q;                 // as the id of a list
  logic [3:0] single_q;               // the oldest one of the list is its newest; it is known two cycles after one ended
  logic [2:0] own;
  logic first;                        // of its list, as none is left in it
  logic [1:0] list;

  for (genvar i = 0; i < 3; i++) begin : gen_own
    assign own[i] = some_q[i] && same_q[i];
    always_ff @(posedge clk_i) same_q[i] <= ids_q[i] == id_i;
  end

  always_comb begin
    list = Others;
    if (own[0]) list = 2'd0;
    else if (own[1]) list = 2'd1;
    else if (own[2]) list = 2'd2;
    else if (some_q[Others]) list = Others;  // some of its id may be in there
    else if (!some_q[0]) list = 2'd0;
    else if (!some_q[1]) list = 2'd1;
    else if (!some_q[2]) list = 2'd2;
  end

  assign some_o = some_q;
  assign oldest_o = oldest_q;
  assign after_o = next[end_tag_i];
  assign more_o = !single_q[end_list_i];
  assign told_o = lists[tell_i];
  assign first = !some_q[list] || (ends_i && end_list_i == list && !more_o);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begins_q <= 1'b0;
      some_q   <= '0;
    end else begin
      begins_q <= begins_i;
      if (ends_i && !more_o) some_q[end_list_i] <= 1'b0;
      if (begins_q) some_q[list] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    id_q  <= id_i;
    tag_q <= tag_i;
    if (ends_i) oldest_q[end_list_i] <= after_o;
    for (int unsigned i = 0; i < 4; i++) single_q[i] <= oldest_q[i] == newest_q[i];
    if (begins_q) begin
      if (some_q[list]) next[newest_q[list]] <= tag_q;
      lists[tag_q] <= list;
      newest_q[list] <= tag_q;
      single_q[list] <= first;
      if (first) oldest_q[list] <= tag_q;
      for (int unsigned i = 0; i < 3; i++) if (list == 2'(i) && !some_q[i]) ids_q[i] <= id_q;
    end
  end
endmodule
