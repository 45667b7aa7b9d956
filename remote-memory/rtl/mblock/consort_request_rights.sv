// SPDX-License-Identifier: Apache-2.0
// Whether the mBlock's requests may go to a memory, and to which address, found out a cycle before they go: the comparisons with their segments end
// in registers, and so does whether there is room for the next one.
// Interface: request_i with its segment and whether it is a burst from the splitter, taken_o when it is taken; the same to the issuer with good_o and
// addr_o, gone_i when it takes it.
// Parameters: none.
// Throughput: a request a cycle.
// Latency: one cycle.
// Assumes: nothing.
// Held by: proof tests/rtl/formal/request_rights_check.sv, tests/rtl/test_proofs.py.
module consort_request_rights
  import consort_remote_pkg::*;
(
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 drain_i,
    input  request_t             request_i,
    input  segment_t             segment_i,
    input  logic                 legal_i,  // it is a burst that AXI4 has
    input  logic                 valid_i,
    output logic                 taken_o,
    output request_t             request_o,
    output segment_t             segment_o,
    output logic                 legal_o,
    output logic                 good_o,
    output logic [AddrWidth-1:0] addr_o,
    output logic                 valid_o,
    input  logic                 gone_i
);
  typedef struct packed {
    request_t             request;
    segment_t             segment;
    logic                 legal;
    logic                 good;
    logic [AddrWidth-1:0] addr;
  } judged_t;

  judged_t judged, front_q, spare_q;
  logic spare_valid_q, allowed, good, free;

  // A burst that AXI4 has stays in its 4 KiB, and a segment is of whole ones.
  assign allowed = (request_i.op != OpRead ? segment_i.writable : segment_i.readable);
  assign good = legal_i && segment_i.valid && segment_i.generation == request_i.handle.generation &&
      allowed && request_i.offset[OffsetWidth-1:12] <= segment_i.last;
  assign judged = '{
          request: request_i,
          segment: segment_i,
          legal: legal_i,
          good: good,
          addr: {segment_i.base, 12'd0} + AddrWidth'(request_i.offset)
      };

  assign free = !valid_o || gone_i;
  assign taken_o = valid_i && !spare_valid_q;
  assign request_o = front_q.request;
  assign segment_o = front_q.segment;
  assign legal_o = front_q.legal;
  assign good_o = front_q.good;
  assign addr_o = front_q.addr;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_o <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (drain_i) begin
      valid_o <= 1'b0;
      spare_valid_q <= 1'b0;
    end else begin
      valid_o <= !free || spare_valid_q || valid_i;
      spare_valid_q <= !free && (spare_valid_q || valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (free) front_q <= spare_valid_q ? spare_q : judged;
    if (!spare_valid_q) spare_q <= judged;
  end
endmodule
