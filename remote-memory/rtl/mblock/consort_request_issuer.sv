// SPDX-License-Identifier: Apache-2.0
// The mBlock's requests of one link, those that may go to their segments, as AXI4 transactions. Their ids are {link, tag}; what the memory
// sees of that is consort_memory_guard's matter.
//
// The link's other end is not trusted: what no segment allows, or is not a burst of AXI4, does not reach the memory, and a write
// for which its frame has too few data is filled up without strobes, so the memory never waits for a link. Strobes count only in the lanes of
// their beat.
// Interface: request_* from consort_request_rights and data_* from the splitter; aw, w, ar of AXI4; done_* and error_* to the answers.
// Parameters: Link, which it is.
// Throughput: a read a cycle; a write of n beats in n + 1 cycles, with strobes up to two more.
// Latency: an address shows one cycle after its request.
// Assumes: a write that is a burst of AXI4 has 16 beats at most; no data show while it drains, and it drains until it is idle.
// Held by: proof tests/rtl/formal/request_issuer_check.sv, tests/rtl/test_proofs.py.
module consort_request_issuer
  import consort_remote_pkg::*;
#(
    parameter int unsigned Link = 0
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 drain_i,
    output logic                 idle_o,     // nothing is under way towards the memories
    output logic                 refused_o,  // a request was not a burst, or outside of the segments or against their permissions
    output fault_t               fault_o,    // which, and why
    input  request_t             request_i,
    input  segment_t             segment_i,
    input  logic                 legal_i,    // it is a burst that AXI4 has
    input  logic                 good_i,     // and may go to its segment
    input  logic [AddrWidth-1:0] addr_i,     // there
    input  logic                 request_valid_i,
    input  logic                 answer_room_i,  // for the answer of a read
    output logic                 request_taken_o,
    input  logic [BeatWidth-1:0] data_i,
    input  logic                 data_valid_i,
    output logic                 data_taken_o,
    input  logic                 data_none_i,  // its frame has no more data

    // A read that was refused.
    output logic [TagWidth-1:0] error_tag_o,
    output logic                error_valid_o,
    input  logic                error_taken_i,

    // Writes, as consort_write_acks asks for them.
    input  logic                may_start_i,
    input  logic                several_i,
    output logic                start_o,
    output logic                start_good_o,
    output logic                done_o,
    output logic [TagWidth-1:0] done_tag_o,
    output logic                done_more_o,
    output logic                done_several_o,
    output logic                done_good_o,
    output logic                reads_o,  // a read goes to the memory

    output axi_a_t     aw_o,
    output logic [1:0] aw_memory_o,
    output logic       aw_valid_o,
    input  logic       aw_ready_i,
    output axi_w_t     w_o,
    output logic       w_valid_o,
    input  logic       w_ready_i,
    output axi_a_t     ar_o,
    output logic [1:0] ar_memory_o,
    output logic       ar_valid_o,
    input  logic       ar_ready_i
);
  typedef enum logic [1:0] {
    IssueIdle,
    IssueStrobes,
    IssueData
  } issue_e;

  issue_e issue_q;
  logic is_write, reads, ar_room, aw_room, w_room, same_memory;
  logic good_q, more_q, several_q;
  logic [TagWidth-1:0] tag_q;
  logic [1:0] memory_q;
  logic [3:0] left_q, lane_q;
  logic last_q, strobed_q, two_strobes_q, drop_q;
  logic [255:0] strobes_q;
  axi_a_t transaction;
  logic data_there, takes, ar_one, aw_one, unused;
  assign unused = &{1'b0, ar_one, aw_one};

  // ---- What was refused: what it would be, and a cycle later whether it was ----

  fault_t refused;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) refused <= '0;
    else begin
      refused <= '{
          cause: FaultEnd,
          write: is_write,
          port: 2'(Link),
          window: request_i.handle.index,
          addr: AddrWidth'(request_i.offset)
      };
      if (!legal_i) refused.cause <= FaultBurst;
      else if (!segment_i.valid || segment_i.generation != request_i.handle.generation) refused.cause <= FaultUnmapped;
      else if (!(is_write ? segment_i.writable : segment_i.readable)) refused.cause <= FaultRights;
    end
  end

  always_comb begin
    fault_o = refused;
    if (!refused_o) fault_o.cause = FaultNone;
  end

  // ---- What a request is ----

  assign is_write = request_i.op != OpRead;
  assign transaction = '{
          addr: addr_i,
          id: IdWidth'({2'(Link), request_i.tag}),
          len: request_i.len,
          size: request_i.size,
          burst: request_i.burst,
          lock: 1'b0,
          // Normal memory that is not cached, or a device's, whose writes are not buffered.
          cache: request_i.modifiable ? 4'b0011 : 4'b0000,
          prot: request_i.prot,
          qos: 4'd0
      };

  // Addresses lie in registers, not behind a RAM: they go through the interconnect and consort_memory_guard in one cycle.
  // A request is taken when there is room for what may become of it, whatever that is.
  assign reads = request_valid_i && !is_write && ar_room && answer_room_i && !error_valid_o && !drain_i;
  // Data of writes to two memories cannot be distinguished: one has to have all of its own first.
  assign same_memory = segment_i.memory == memory_q || !(aw_valid_o || w_valid_o);
  assign start_o = request_valid_i && is_write && may_start_i && issue_q == IssueIdle && aw_room && same_memory && !drain_i;
  assign start_good_o = good_i;
  assign reads_o = reads && good_i;
  assign request_taken_o = reads || start_o;

  consort_fifo_head #(
      .T(logic [$bits(axi_a_t)+1:0]),
      .Depth(4)
  ) i_ar (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({segment_i.memory, transaction}),
      .valid_i(reads && good_i),
      .ready_o(ar_room),
      .data_o({ar_memory_o, ar_o}),
      .valid_o(ar_valid_o),
      .one_o(ar_one),
      .ready_i(ar_ready_i)
  );

  consort_fifo_head #(
      .T(logic [$bits(axi_a_t)+1:0]),
      .Depth(4)
  ) i_aw (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({segment_i.memory, transaction}),
      .valid_i(start_o && good_i),
      .ready_o(aw_room),
      .data_o({aw_memory_o, aw_o}),
      .valid_o(aw_valid_o),
      .one_o(aw_one),
      .ready_i(aw_ready_i)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      refused_o <= 1'b0;
      error_valid_o <= 1'b0;
    end else begin
      refused_o <= (reads || start_o) && !good_i;
      if (reads && !good_i) error_valid_o <= 1'b1;
      else if (error_taken_i) error_valid_o <= 1'b0;
      if (drain_i) error_valid_o <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (reads) error_tag_o <= request_i.tag;
  end

  // ---- Data of writes ----

  logic [15:0] lanes, strobes;

  consort_write_lanes i_lanes (
      .clk_i,
      .start_i(start_o),
      .offset_i(request_i.offset[3:0]),
      .size_i(request_i.size),
      .burst_i(request_i.burst),
      .len_i(request_i.len[3:0]),
      .next_i(takes),
      .lanes_o(lanes)
  );
  assign strobes = strobed_q ? strobes_q[16*lane_q+:16] : '1;

  // A refused write's data go nowhere; one whose link went down or whose data are too few is filled up without strobes.
  assign data_there = drop_q || data_valid_i;
  assign takes = issue_q == IssueData && data_there && w_room;
  assign data_taken_o = data_valid_i && !drop_q && (issue_q == IssueStrobes || takes);
  assign done_o = takes && last_q;
  assign done_tag_o = tag_q;
  assign done_more_o = more_q;
  assign done_several_o = several_q;
  assign done_good_o = good_q;
  assign idle_o = issue_q == IssueIdle && !ar_valid_o && !aw_valid_o && !w_valid_o;

  consort_fifo #(
      .T(axi_w_t),
      .Depth(4)
  ) i_w (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({data_i, drop_q ? 16'd0 : strobes & lanes, last_q}),
      .valid_i(takes && good_q),
      .ready_o(w_room),
      .data_o(w_o),
      .valid_o(w_valid_o),
      .ready_i(w_ready_i)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      issue_q <= IssueIdle;
      drop_q  <= 1'b0;
    end else begin
      case (issue_q)
        IssueIdle: if (start_o) issue_q <= request_i.op == OpWriteStrobe ? IssueStrobes : IssueData;
        IssueStrobes: if (drop_q || (data_valid_i && !two_strobes_q)) issue_q <= IssueData;
        default: if (done_o) issue_q <= IssueIdle;
      endcase
      if (done_o) drop_q <= 1'b0;
      else if ((drain_i || data_none_i) && issue_q != IssueIdle) drop_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_o) begin
      good_q <= good_i;
      more_q <= request_i.more;
      several_q <= several_i;
      tag_q <= request_i.tag;
      left_q <= request_i.len[3:0];
      last_q <= request_i.len[3:0] == '0;
      lane_q <= '0;
      strobed_q <= request_i.op == OpWriteStrobe;
      two_strobes_q <= request_i.len[3:0] > 4'd7;
    end
    if (start_o && good_i) memory_q <= segment_i.memory;
    if (issue_q == IssueStrobes && data_valid_i) begin
      two_strobes_q <= 1'b0;
      strobes_q <= lane_q[0] ? {data_i, strobes_q[127:0]} : {128'd0, data_i};
      lane_q <= two_strobes_q ? 4'd1 : 4'd0;
    end
    if (takes) begin
      left_q <= left_q - 4'd1;
      last_q <= left_q == 4'd1;
      lane_q <= lane_q + 4'd1;
    end
  end
endmodule
