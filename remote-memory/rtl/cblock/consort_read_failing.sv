// SPDX-License-Identifier: Apache-2.0
// Whether the read that is answered next ends without data: it was refused at the port, its link went down, or the other end said that no more
// come. After its first beat without data a burst has no more, whatever comes.
// Interface: error_i with the news for rsp_index_i; the head's tag with what is known of it; shows_data_i and answered_i of its beats; failing_o
// and broken_o, that the other end said so.
// Parameters: Links.
// Throughput: a read a cycle; one that fails in two.
// Latency: what failed is known a cycle after the head moved, and shows in the next.
// Assumes: nothing begins before swept_o.
// Held by: wrong versions, tests/rtl/test_wrong_blocks.py; the proofs of consort_tag_flags and consort_failed_tags; faults, tests/rtl/test_trust.py.
module consort_read_failing
  import consort_remote_pkg::*;
#(
    parameter int unsigned Links = 1
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    output logic                  swept_o,
    input  logic [           3:0] up_i,
    input  logic                  begins_i,
    input  logic [  IndexWidth:0] tail_i,
    input  logic                  error_i,
    input  logic [IndexWidth-1:0] rsp_index_i,
    input  logic [  IndexWidth:0] head_i,
    input  logic [           1:0] link_i,
    input  logic                  local_error_i,
    input  logic                  known_i,       // link_i and local_error_i are the head's
    input  logic                  shows_data_i,
    input  logic                  answered_i,
    output logic                  broken_o,
    output logic                  failing_o
);
  logic [3:0] links_failed, unused_failed, failed_q;
  logic settled_q;

  // The rest of its answer will not come.
  consort_tag_flags #(
      .Width(IndexWidth)
  ) i_broken (
      .clk_i,
      .rst_ni,
      .swept_o,
      .set_i(error_i),
      .set_index_i(rsp_index_i),
      .clear_i(begins_i),
      .clear_index_i(tail_i[IndexWidth-1:0]),
      .index_i(head_i[IndexWidth-1:0]),
      .flag_o(broken_o)
  );

  consort_failed_tags #(
      .Width(IndexWidth + 1),
      .Links(Links)
  ) i_failed (
      .clk_i,
      .rst_ni,
      .up_i,
      .head_i,
      .tail_i,
      .answer_i(head_i[IndexWidth-1:0]),
      .failed_o(links_failed),
      .index_i('0),
      .index_failed_o(unused_failed)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      failing_o <= 1'b0;
      settled_q <= 1'b0;
      failed_q <= '0;
    end else begin
      settled_q <= !answered_i && known_i;
      failed_q <= answered_i ? '0 : links_failed;
      if (answered_i) failing_o <= 1'b0;
      else if (settled_q && !shows_data_i && (local_error_i || broken_o || failed_q[Links > 1 ? link_i : 2'd0])) begin
        failing_o <= 1'b1;
      end
    end
  end
endmodule
