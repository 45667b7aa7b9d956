// SPDX-License-Identifier: Apache-2.0
// What the mBlock does for one of its links: requests are checked against the link's own segments, become AXI4 transactions,
// and their answers frames.
// Interface: rx_* and tx_* are frames of the link; aw, w, b, ar, r of AXI4 with the memory that each is for; faults and busy_o to the registers.
// Parameters: Link, which it is; Segments; Room for answers in beats; Ordered, as of consort_read_parts.
// Throughput: a beat each way a cycle.
// Latency: that of its parts.
// Assumes: that of its parts.
// Held by: the proofs of its parts, tests/rtl/test_proofs.py; hostile frames, tests/rtl/test_trust.py.
module consort_mblock_link
  import consort_remote_pkg::*;
#(
    parameter int unsigned Link     = 0,
    parameter int unsigned Segments = 16,
    parameter bit          Ordered  = 1'b0,
    parameter int unsigned Room     = 512  // beats of answers that memories may owe or the link may keep waiting, a power of two
) (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  segment_t segments_i[Segments],
    output logic     refused_o,  // a request was outside of the segments or against their permissions
    output fault_t   faults_o[3],  // refused; reads and writes that a memory answered with an error

    output logic                 busy_o,     // something is under way at the memories
    input  logic                 drain_i,
    output logic                 drained_o,
    input  logic                 rx_waited_i,
    input  logic [MetaWidth-1:0] rx_arriving_meta_i,
    input  logic [MetaWidth-1:0] rx_meta_i,
    input  logic [4:0]           rx_units_i,
    input  logic                 rx_valid_i,
    output logic                 rx_ready_o,
    input  logic [BeatWidth-1:0] rx_unit_i,
    input  logic                 rx_unit_valid_i,
    output logic                 rx_unit_ready_o,
    output logic [MetaWidth-1:0] tx_meta_o,
    output logic [4:0]           tx_units_o,
    output logic                 tx_valid_o,
    input  logic                 tx_ready_i,
    output logic [BeatWidth-1:0] tx_unit_o,
    output logic                 tx_unit_valid_o,
    input  logic                 tx_unit_ready_i,

    output axi_a_t     aw_o,
    output logic [1:0] aw_memory_o,
    output logic       aw_valid_o,
    input  logic       aw_ready_i,
    output axi_w_t     w_o,
    output logic       w_valid_o,
    input  logic       w_ready_i,
    input  axi_b_t     b_i,
    input  logic       b_valid_i,
    output logic       b_ready_o,
    output axi_a_t     ar_o,
    output logic [1:0] ar_memory_o,
    output logic       ar_valid_o,
    input  logic       ar_ready_i,
    input  axi_r_t     r_i,
    input  logic       r_valid_i,
    output logic       r_ready_o
);
  // ---- Requests ----

  request_t split, request;
  segment_t split_segment, segment;
  logic split_legal, split_valid, split_taken, request_good;
  logic [AddrWidth-1:0] request_addr;
  logic request_valid, request_taken, request_legal, data_valid, data_taken, data_none;
  logic idle;  // nothing is under way towards the memories

  consort_request_splitter #(
      .Segments(Segments)
  ) i_splitter (
      .clk_i,
      .rst_ni,
      .segments_i,
      .drain_i,
      .frame_meta_i(rx_meta_i),
      .frame_waited_i(rx_waited_i),
      .arriving_meta_i(rx_arriving_meta_i),
      .frame_units_i(rx_units_i),
      .frame_valid_i(rx_valid_i),
      .frame_ready_o(rx_ready_o),
      .unit_i(rx_unit_i),
      .unit_valid_i(rx_unit_valid_i),
      .unit_ready_o(rx_unit_ready_o),
      .request_o(split),
      .segment_o(split_segment),
      .legal_o(split_legal),
      .request_valid_o(split_valid),
      .request_taken_i(split_taken),
      .data_valid_o(data_valid),
      .data_taken_i(data_taken),
      .data_none_o(data_none),
      .data_idle_i(idle && !request_valid)
  );

  consort_request_rights i_rights (
      .clk_i,
      .rst_ni,
      .drain_i,
      .request_i(split),
      .segment_i(split_segment),
      .legal_i(split_legal),
      .valid_i(split_valid),
      .taken_o(split_taken),
      .request_o(request),
      .segment_o(segment),
      .legal_o(request_legal),
      .good_o(request_good),
      .addr_o(request_addr),
      .valid_o(request_valid),
      .gone_i(request_taken)
  );

  logic [TagWidth-1:0] error_tag, done_tag;
  logic error_valid, error_taken;
  logic may_start, several, start, start_good, done, done_more, done_several, done_good, reads, answer_room;

  consort_answer_room #(
      .Room(Room)
  ) i_room (
      .clk_i,
      .rst_ni,
      .drain_i,
      .waits_i(request_valid && !request_taken),
      .len_i(request.len),
      .takes_i(reads),
      .comes_i(r_valid_i && r_ready_o),
      .gives_i(tx_unit_valid_o && tx_unit_ready_i),
      .fits_o(answer_room)
  );

  consort_request_issuer #(
      .Link(Link)
  ) i_issuer (
      .clk_i,
      .rst_ni,
      .drain_i,
      .idle_o(idle),
      .refused_o,
      .fault_o(faults_o[0]),
      .request_i(request),
      .segment_i(segment),
      .legal_i(request_legal),
      .good_i(request_good),
      .addr_i(request_addr),
      .request_valid_i(request_valid),
      .answer_room_i(answer_room),
      .request_taken_o(request_taken),
      .data_i(rx_unit_i),
      .data_valid_i(data_valid),
      .data_taken_o(data_taken),
      .data_none_i(data_none),
      .error_tag_o(error_tag),
      .error_valid_o(error_valid),
      .error_taken_i(error_taken),
      .may_start_i(may_start),
      .several_i(several),
      .start_o(start),
      .start_good_o(start_good),
      .done_o(done),
      .done_tag_o(done_tag),
      .done_more_o(done_more),
      .done_several_o(done_several),
      .done_good_o(done_good),
      .reads_o(reads),
      .aw_o,
      .aw_memory_o,
      .aw_valid_o,
      .aw_ready_i,
      .w_o,
      .w_valid_o,
      .w_ready_i,
      .ar_o,
      .ar_memory_o,
      .ar_valid_o,
      .ar_ready_i
  );

  // ---- Answers ----

  ack_t ack;
  response_t part;
  logic [4:0] part_units;
  logic ack_valid, ack_taken, part_valid, part_ready;

  consort_write_acks i_acks (
      .clk_i,
      .rst_ni,
      .drain_i,
      .tag_i(request.tag),
      .more_i(request.more),
      .valid_i(request_valid && request.op != OpRead),
      .may_start_o(may_start),
      .several_o(several),
      .start_i(start),
      .good_i(start_good),
      .done_i(done),
      .done_tag_i(done_tag),
      .done_more_i(done_more),
      .done_several_i(done_several),
      .done_good_i(done_good),
      .b_i,
      .b_valid_i,
      .b_ready_o,
      .ack_o(ack),
      .ack_valid_o(ack_valid),
      .ack_taken_i(ack_taken)
  );

  consort_read_parts #(
      .Room(Room),
      .Ordered(Ordered)
  ) i_parts (
      .clk_i,
      .rst_ni,
      .drain_i,
      .r_i,
      .r_valid_i,
      .r_ready_o,
      .part_o(part),
      .part_units_o(part_units),
      .part_valid_o(part_valid),
      .part_ready_i(part_ready),
      .unit_o(tx_unit_o),
      .unit_valid_o(tx_unit_valid_o),
      .unit_ready_i(tx_unit_ready_i)
  );

  consort_response_framer #(
      .Parts(Room)
  ) i_framer (
      .clk_i,
      .rst_ni,
      .drain_i,
      .part_i(part),
      .part_units_i(part_units),
      .part_valid_i(part_valid),
      .part_ready_o(part_ready),
      .error_tag_i(error_tag),
      .error_valid_i(error_valid),
      .error_taken_o(error_taken),
      .ack_i(ack),
      .ack_valid_i(ack_valid),
      .ack_taken_o(ack_taken),
      .frame_meta_o(tx_meta_o),
      .frame_units_o(tx_units_o),
      .frame_valid_o(tx_valid_o),
      .frame_ready_i(tx_ready_i),
      .unit_taken_i(tx_unit_valid_o && tx_unit_ready_i)
  );

  // ---- Errors of memories: one for each access, whatever its beats are ----

  logic [2**PortWidth-1:0] read_bad_q;  // of each port's read that is under way
  logic [PortWidth-1:0] read_port_q;
  logic read_q, read_last_q, read_error_q, ack_q, ack_error_q, read_bad;
  assign read_bad = read_error_q || read_bad_q[read_port_q];

  // Answers come late in a cycle: they are looked at in the next one.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      ack_q <= 1'b0;
      read_bad_q <= '0;
      faults_o[1] <= '0;
      faults_o[2] <= '0;
    end else begin
      read_q <= r_valid_i && r_ready_o;
      ack_q  <= b_valid_i && b_ready_o;
      if (read_q) read_bad_q[read_port_q] <= read_bad && !read_last_q;
      faults_o[1] <= '{
          cause: read_q && read_last_q && read_bad ? FaultMemory : FaultNone,
          write: 1'b0,
          port: 2'(Link),
          window: '0,
          addr: '0
      };
      faults_o[2] <= '{
          cause: ack_q && ack_error_q ? FaultMemory : FaultNone,
          write: 1'b1,
          port: 2'(Link),
          window: '0,
          addr: '0
      };
    end
  end

  always_ff @(posedge clk_i) begin
    read_port_q <= r_i.id[TagWidth-1-:PortWidth];
    read_last_q <= r_i.last;
    read_error_q <= r_i.resp[1];
    ack_error_q <= b_i.resp[1];
  end

  // ---- Draining ----

  logic [9:0] reads_q, writes_q;  // at the memories

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reads_q   <= '0;
      writes_q  <= '0;
      drained_o <= 1'b0;
      busy_o <= 1'b0;
    end else begin
      reads_q <= reads_q + 10'(reads) - 10'(r_valid_i && r_ready_o && r_i.last);
      writes_q <= writes_q + 10'(start && start_good) - 10'(b_valid_i && b_ready_o);
      busy_o <= reads_q != '0 || writes_q != '0 || !idle || request_valid || split_valid;
      // While it drains nothing starts.
      drained_o <= drain_i && reads_q == '0 && writes_q == '0 && idle;
    end
  end
endmodule
