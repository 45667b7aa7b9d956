// SPDX-License-Identifier: Apache-2.0
// The requests that wait for the issuer: each shows once, in its place, with its segment as it came with it; it is good exactly when it is a burst and
// its segment is valid, of its generation, allows it and holds its offset; its address is the segment's with its offset. Two wait at
// most, one shows exactly when one waits, and after a drain none does.
module request_rights_check
  import consort_remote_pkg::*;
(
    input logic     clk,
    input logic     rst_n,
    input logic     drain,
    input request_t request,
    input segment_t segment,
    input logic     legal,
    input logic     valid,
    input logic     wants_gone
);
  typedef struct packed {
    request_t             request;
    segment_t             segment;
    logic                 legal;
    logic                 good;
    logic [AddrWidth-1:0] addr;
  } judged_t;

  judged_t came, first_q, second_q, shown;
  logic taken, shows, gone;
  logic [1:0] count_q;
  logic past_valid = 1'b0;

  assign gone = wants_gone && shows;

  consort_request_rights dut (
      .clk_i(clk), .rst_ni(rst_n), .drain_i(drain), .request_i(request), .segment_i(segment), .legal_i(legal), .valid_i(valid),
      .taken_o(taken), .request_o(shown.request), .segment_o(shown.segment), .legal_o(shown.legal), .good_o(shown.good),
      .addr_o(shown.addr), .valid_o(shows), .gone_i(gone)
  );

  always_comb begin
    came.request = request;
    came.segment = segment;
    came.legal = legal;
    came.good = legal && segment.valid && request.handle.generation == segment.generation &&
        (request.op == OpRead ? segment.readable : segment.writable) && request.offset >> 12 <= OffsetWidth'(segment.last);
    came.addr = AddrWidth'(segment.base) * AddrWidth'(4096) + AddrWidth'(request.offset);
  end

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n || drain) count_q <= '0;
    else begin
      count_q <= count_q + 2'(taken) - 2'(gone);
      if (taken && count_q == 2'(gone)) first_q <= came;
      else if (gone) first_q <= second_q;
      if (taken && count_q == 2'd1 + 2'(gone)) second_q <= came;
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      assert (taken == (valid && count_q != 2'd2));
      assert (shows == (count_q != '0));
      if (shows) assert (shown == first_q);
`ifdef PROVE
      // About its state.
      assert (count_q != 2'd3 && dut.spare_valid_q == (count_q == 2'd2));
      if (count_q == 2'd2) assert (dut.spare_q == second_q);
`endif
    end
  end
endmodule
