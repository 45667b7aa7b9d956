// SPDX-License-Identifier: Apache-2.0
// Which tags of a port wait for something from a link, and from which: what comes for another, or over another link, does not count. And which link
// has left what waits longest without an answer for a whole period.
// Interface: begins_i with a tag and its link, asks_i if it goes there; ends_i when it is answered; counts_o of what comes for rsp_index_i over
// rsp_link_i; waits_i while that of head_index_i waits for its link; silent_o, the links, in the cycle after tick_i.
// Parameters: Width of a tag's index; Links.
// Throughput: one begins, one ends and one is looked at a cycle.
// Latency: counts_o none; what begins or ends counts from the next cycle on.
// Assumes: nothing begins before swept_o; a tag ends before it begins again.
// Held by: proof tests/rtl/formal/asked_tags_check.sv, tests/rtl/test_proofs.py; bad lenders, tests/rtl/test_lenders.py.
module consort_asked_tags #(
    parameter int unsigned Width = 6,
    parameter int unsigned Links = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    output logic             swept_o,
    input  logic             begins_i,
    input  logic             asks_i,
    input  logic [Width-1:0] tail_i,
    input  logic [      1:0] link_i,
    input  logic             ends_i,
    input  logic [Width-1:0] end_index_i,
    input  logic [Width-1:0] rsp_index_i,
    input  logic [      1:0] rsp_link_i,
    output logic             counts_o,
    input  logic             waits_i,
    input  logic [Width-1:0] head_index_i,
    input  logic             tick_i,
    output logic [      3:0] silent_o
);
  logic asked, mine, old_q;
  logic [1:0] head_link;

  assign counts_o = asked && mine;

  consort_tag_flags #(
      .Width(Width)
  ) i_asked (
      .clk_i,
      .rst_ni,
      .swept_o,
      .set_i(begins_i && asks_i),
      .set_index_i(tail_i),
      .clear_i(ends_i),
      .clear_index_i(end_index_i),
      .index_i(rsp_index_i),
      .flag_o(asked)
  );

  if (Links > 1) begin : gen_links
    logic [1:0] links[2**Width];
    assign mine = links[rsp_index_i] == rsp_link_i;
    assign head_link = links[head_index_i];
    always_ff @(posedge clk_i) if (begins_i) links[tail_i] <= link_i;
  end else begin : gen_link
    logic unused;
    assign unused = &{1'b0, link_i, rsp_link_i, head_index_i};
    assign mine = 1'b1;
    assign head_link = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      old_q <= 1'b0;
      silent_o <= '0;
    end else begin
      old_q <= waits_i && (old_q || tick_i);
      silent_o <= tick_i && old_q && waits_i ? 4'd1 << head_link : '0;
    end
  end
endmodule
