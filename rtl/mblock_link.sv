// SPDX-License-Identifier: Apache-2.0
// What the mBlock does for one of its links: requests are checked against the link's own segments, become AXI4 transactions,
// and their answers frames. A tag names a transaction towards the memory too, so the memory may answer in any order.
module mblock_link
  import consort_remote_pkg::*;
#(
    parameter int unsigned Link     = 0,
    parameter int unsigned Segments = 16
) (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  segment_t segments_i[Segments],
    output logic     refused_o,  // a request was outside of the segments or against their permissions

    input  logic                 drain_i,
    output logic                 drained_o,
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
  localparam int unsigned Ports = 2 ** PortWidth;

  // ---- Frames to single requests ----

  typedef enum logic [1:0] {
    SplitHead,
    SplitEven,
    SplitOdd,
    SplitData
  } split_e;

  split_e split_q;
  request_meta_t meta;
  request_t pushed, odd;
  logic push, queue_ready, pop_unit;
  logic [4:0] pairs_q, data_q, pairs;

  assign meta  = request_meta_t'(rx_meta_i);
  assign pairs = ({1'b0, meta.extra} + 5'd1) >> 1;
  assign odd   = request_t'(rx_unit_i[126:64]);

  always_comb begin
    pushed = meta.first;
    push = 1'b0;
    rx_ready_o = 1'b0;
    case (split_q)
      SplitHead: begin
        push = rx_valid_i;
        rx_ready_o = queue_ready;
      end
      SplitEven: begin
        pushed = request_t'(rx_unit_i[62:0]);
        push   = rx_unit_valid_i;
      end
      SplitOdd: begin
        pushed = odd;
        push   = odd.op != OpNone;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      split_q <= SplitHead;
      pairs_q <= '0;
      data_q  <= '0;
    end else if (drain_i) begin
      split_q <= SplitHead;
      data_q  <= '0;
    end else begin
      case (split_q)
        SplitHead:
        if (rx_valid_i && queue_ready) begin
          pairs_q <= pairs;
          data_q  <= rx_units_i - pairs;
          if (pairs != '0) split_q <= SplitEven;
          else if (rx_units_i != '0) split_q <= SplitData;
        end
        SplitEven: if (rx_unit_valid_i && queue_ready) split_q <= SplitOdd;
        SplitOdd:
        if (queue_ready) begin
          pairs_q <= pairs_q - 5'd1;
          split_q <= pairs_q != 5'd1 ? SplitEven : data_q != '0 ? SplitData : SplitHead;
        end
        default:
        if (pop_unit) begin
          data_q <= data_q - 5'd1;
          if (data_q == 5'd1) split_q <= SplitHead;
        end
      endcase
    end
  end

  // A request that finds the queue empty passes it by.
  request_t request, queued;
  logic request_valid, request_done, queue_valid;

  assign request = queue_valid ? queued : pushed;
  assign request_valid = queue_valid || push;

  fifo #(
      .T(request_t),
      .Depth(32)
  ) i_queue (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(pushed),
      .valid_i(push && (queue_valid || !request_done)),
      .ready_o(queue_ready),
      .data_o(queued),
      .valid_o(queue_valid),
      .ready_i(request_done)
  );

  // ---- Requests to transactions ----

  typedef enum logic [1:0] {
    IssueIdle,
    IssueStrobes,
    IssueData
  } issue_e;

  issue_e issue_q;
  segment_t segment;
  logic good, is_write, data_there;
  logic good_q, more_q;
  logic [TagWidth-1:0] tag_q;
  logic [3:0] left_q, lane_q;
  logic strobed_q, two_strobes_q;
  logic [255:0] strobes_q;
  logic [AddrWidth-1:0] address;
  axi_a_t transaction;
  logic unit_valid, take_data, drop_write_q;
  logic read_error, read_error_ready, write_error, write_error_ready;
  logic same_multi_done, start_write, w_free;

  // Answers to reads that were refused, and to writes that were.
  assign segment = segments_i[request.handle.index];
  assign is_write = request.op != OpRead;
  assign good = segment.valid && segment.generation == request.handle.generation &&
      (is_write ? segment.writable : segment.readable) && request.offset[OffsetWidth-1:12] <= segment.last;
  assign address = {segment.base, 12'd0} + AddrWidth'(request.offset);
  assign transaction = '{
          addr: address,
          id: IdWidth'({2'(Link), request.tag}),
          len: request.len,
          size: request.size,
          burst: request.burst,
          lock: 1'b0,
          cache: 4'b0011,
          prot: request.prot,
          qos: 4'd0
      };

  assign unit_valid = rx_unit_valid_i && split_q == SplitData && !drain_i;
  assign data_there = drop_write_q || unit_valid;
  assign read_error = request_valid && issue_q == IssueIdle && !is_write && !good && !drain_i;
  // Data are taken before the next address is shown: it may go to another memory.
  assign start_write = request_valid && issue_q == IssueIdle && is_write && !drain_i && same_multi_done &&
      (!aw_valid_o || aw_ready_i) && w_free;
  assign request_done = !drain_i && (queue_valid || queue_ready) && ((request_valid && issue_q == IssueIdle && !is_write &&
      (good ? !ar_valid_o || ar_ready_i : read_error_ready)) || start_write);

  // A refused write's data go nowhere; one whose link went down is filled up without strobes.
  // A beat once shown stays as it is, also when the link goes down: it waits in a register.
  assign w_free = !w_valid_o || w_ready_i;
  assign take_data = issue_q == IssueData && data_there && (good_q ? w_free : left_q != '0 || write_error_ready);
  assign write_error = issue_q == IssueData && !good_q && data_there && left_q == '0;
  assign pop_unit = (unit_valid && issue_q == IssueStrobes) || (take_data && !drop_write_q);
  assign rx_unit_ready_o = pop_unit || (split_q == SplitOdd && queue_ready);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      issue_q <= IssueIdle;
      ar_valid_o <= 1'b0;
      aw_valid_o <= 1'b0;
      w_valid_o <= 1'b0;
      drop_write_q <= 1'b0;
      refused_o <= 1'b0;
    end else begin
      refused_o <= request_done && !good;
      if (ar_ready_i) ar_valid_o <= 1'b0;
      if (aw_ready_i) aw_valid_o <= 1'b0;
      if (request_done && !is_write && good) ar_valid_o <= 1'b1;
      if (start_write && good) aw_valid_o <= 1'b1;
      if (w_free) w_valid_o <= issue_q == IssueData && good_q && data_there;
      case (issue_q)
        IssueIdle: if (start_write) issue_q <= request.op == OpWriteStrobe ? IssueStrobes : IssueData;
        IssueStrobes: if (drop_write_q || (unit_valid && !two_strobes_q)) issue_q <= IssueData;
        default: if (take_data && left_q == '0) issue_q <= IssueIdle;
      endcase
      if (drain_i && (issue_q != IssueIdle || start_write)) drop_write_q <= 1'b1;
      if (issue_q == IssueData && take_data && left_q == '0) drop_write_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (request_done && !is_write && good) begin
      ar_o <= transaction;
      ar_memory_o <= segment.memory;
    end
    if (start_write) begin
      if (good) begin
        aw_o <= transaction;
        aw_memory_o <= segment.memory;
      end
      good_q <= good;
      more_q <= request.more;
      tag_q <= request.tag;
      left_q <= request.len[3:0];
      lane_q <= '0;
      strobed_q <= request.op == OpWriteStrobe;
      two_strobes_q <= request.len[3:0] > 4'd7;
    end
    if (issue_q == IssueStrobes && unit_valid) begin
      two_strobes_q <= 1'b0;
      strobes_q <= lane_q[0] ? {rx_unit_i, strobes_q[127:0]} : {128'd0, rx_unit_i};
      lane_q <= two_strobes_q ? 4'd1 : 4'd0;
    end
    if (w_free) begin
      w_o <= '{
          data: rx_unit_i,
          strb: drop_write_q ? '0 : strobed_q ? strobes_q[16*lane_q+:16] : '1,
          last: left_q == '0
      };
    end
    if (take_data) begin
      left_q <= left_q - 4'd1;
      lane_q <= lane_q + 4'd1;
    end
  end

  // ---- Acknowledgements ----

  // A write in several messages is acknowledged once. Of each port one such write is under way at a time.
  logic [Ports-1:0] multi_q, multi_whole_q, multi_done;
  logic [TagWidth-1:0] multi_tag_q[Ports];
  logic [4:0] multi_count_q[Ports];
  logic [1:0] multi_resp_q[Ports];
  logic [PortWidth-1:0] request_port, b_port, port_q;
  logic [TagWidth-1:0] b_tag;
  logic b_multi, continues, becomes_multi, bad_multi;

  assign request_port = request.tag[TagWidth-1-:PortWidth];
  assign b_tag = b_i.id[TagWidth-1:0];
  assign b_port = b_tag[TagWidth-1-:PortWidth];
  assign port_q = tag_q[TagWidth-1-:PortWidth];
  assign b_multi = multi_q[b_port] && multi_tag_q[b_port] == b_tag;
  assign continues = multi_q[request_port] && multi_tag_q[request_port] == request.tag && !multi_whole_q[request_port];
  assign becomes_multi = request.more || continues;
  assign same_multi_done = !multi_q[request_port] || continues || !request.more;
  assign bad_multi = multi_q[port_q] && multi_tag_q[port_q] == tag_q;

  ack_t ack_in, ack_out;
  logic ack_push, ack_ready, ack_valid, ack_pop;
  logic [Ports-1:0] multi_first;

  assign multi_first = multi_done & (~multi_done + 1'b1);
  for (genvar p = 0; p < Ports; p++) begin : gen_done
    assign multi_done[p] = multi_q[p] && multi_whole_q[p] && multi_count_q[p] == '0;
  end

  always_comb begin
    ack_in = '{resp: b_i.resp, tag: b_tag, valid: 1'b1};
    ack_push = 1'b0;
    b_ready_o = drain_i || b_multi;
    write_error_ready = drain_i || bad_multi || more_q;
    if (b_valid_i && !b_multi) begin
      ack_push  = 1'b1;
      b_ready_o = drain_i || ack_ready;
    end else if (multi_done != '0) begin
      ack_push = 1'b1;
      ack_in   = '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        if (multi_first[p]) ack_in = ack_in | ack_t'({multi_resp_q[p], multi_tag_q[p], 1'b1});
      end
    end else if (write_error && !bad_multi) begin
      ack_in = '{resp: RespSlverr, tag: tag_q, valid: 1'b1};
      ack_push = 1'b1;
      write_error_ready = drain_i || ack_ready;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      multi_q <= '0;
      multi_whole_q <= '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        multi_count_q[p] <= '0;
        multi_resp_q[p]  <= '0;
        multi_tag_q[p]   <= '0;
      end
    end else begin
      for (int unsigned p = 0; p < Ports; p++) begin
        automatic logic starts_here = start_write && becomes_multi && request_port == PortWidth'(p);
        automatic logic ends_here = b_valid_i && b_ready_o && b_multi && b_port == PortWidth'(p);
        multi_count_q[p] <= multi_count_q[p] + 5'(starts_here && good) - 5'(ends_here);
        if (starts_here) begin
          multi_q[p] <= 1'b1;
          multi_tag_q[p] <= request.tag;
          multi_whole_q[p] <= !request.more;
          if (!continues) multi_resp_q[p] <= RespOkay;
          if (!good) multi_resp_q[p] <= RespSlverr;
        end
        if (ends_here && b_i.resp > multi_resp_q[p]) multi_resp_q[p] <= b_i.resp;
        if (multi_done[p] && ack_ready && multi_first[p] && !(b_valid_i && !b_multi)) multi_q[p] <= 1'b0;
      end
      if (drain_i) begin
        multi_q <= '0;
        multi_whole_q <= '0;
        for (int unsigned p = 0; p < Ports; p++) multi_count_q[p] <= '0;
      end
    end
  end

  fifo #(
      .T(ack_t),
      .Depth(32)
  ) i_acks (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(ack_in),
      .valid_i(ack_push),
      .ready_o(ack_ready),
      .data_o(ack_out),
      .valid_o(ack_valid),
      .ready_i(ack_pop)
  );

  // ---- Data of reads ----

  // A part ends with its burst, when it fills a frame, or where the next beat is of another burst or has another answer.
  response_t part_q, part_in, part_out;
  logic part_open_q, part_done_q, differs, full, part_push, part_ready, part_valid, part_pop;
  logic unit_ready, r_takes;
  logic [TagWidth-1:0] r_tag;
  logic unused_unit_valid;  // a part's data are there before it is

  assign r_tag = r_i.id[TagWidth-1:0];
  assign differs = part_open_q && (part_q.tag != r_tag || part_q.resp != r_i.resp);
  assign full = part_open_q && !differs ? part_q.len == 5'(MaxUnits - 2) : 1'b0;
  // Two beats of room for descriptions: the one that ends here, and the one that ends with this beat.
  assign r_ready_o = drain_i || (unit_ready && part_ready && !part_done_q);
  assign r_takes = r_valid_i && r_ready_o && !drain_i;

  always_comb begin
    part_push = 1'b0;
    part_in   = part_q;
    if (part_done_q) begin
      part_push = 1'b1;
    end else if (r_takes && differs) begin
      part_push = 1'b1;
    end else if (r_takes && (r_i.last || full)) begin
      part_push = 1'b1;
      part_in   = '{len: part_open_q ? part_q.len + 5'd1 : 5'd0, resp: r_i.resp, tag: r_tag, kind: RspData};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      part_open_q <= 1'b0;
      part_done_q <= 1'b0;
      part_q <= '0;
    end else if (drain_i) begin
      part_open_q <= 1'b0;
      part_done_q <= 1'b0;
    end else if (part_done_q) begin
      if (part_ready) begin
        part_done_q <= 1'b0;
        part_open_q <= 1'b0;
      end
    end else if (r_takes) begin
      part_q <= '{
          len: part_open_q && !differs ? part_q.len + 5'd1 : 5'd0,
          resp: r_i.resp,
          tag: r_tag,
          kind: RspData
      };
      part_open_q <= !(r_i.last || full) || differs;
      part_done_q <= differs && r_i.last;
    end
  end

  // A part of more than one beat, the first of which are there, passes the queue by when that is empty.
  response_t part_queued;
  logic part_queue_valid;

  assign part_out = part_queue_valid ? part_queued : part_in;
  assign part_valid = part_queue_valid || (part_push && part_in.len != '0);

  fifo #(
      .T(response_t),
      .Depth(32)
  ) i_parts (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(part_in),
      .valid_i(part_push && (part_queue_valid || !part_pop)),
      .ready_o(part_ready),
      .data_o(part_queued),
      .valid_o(part_queue_valid),
      .ready_i(part_pop)
  );

  fifo #(
      .T(logic [DataWidth-1:0]),
      .Depth(64)
  ) i_units (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(r_i.data),
      .valid_i(r_takes),
      .ready_o(unit_ready),
      .data_o(tx_unit_o),
      .valid_o(unused_unit_valid),
      .ready_i(tx_unit_valid_o && tx_unit_ready_i)
  );

  // ---- Frames of responses: what is there goes at once; while a frame is on its way the next one fills ----

  response_meta_t fill_q, fill;
  logic [4:0] fill_units_q, fill_units, sending_q, part_units;
  logic some, adds_part, adds_ack;
  logic error_valid_q;
  logic [TagWidth-1:0] error_tag_q;
  logic adds_error;

  assign read_error_ready = !error_valid_q || adds_error;
  assign part_units = part_out.len + 5'd1;

  always_comb begin
    fill = fill_q;
    fill_units = fill_units_q;
    adds_part = 1'b0;
    adds_ack = 1'b0;
    adds_error = 1'b0;
    // A frame of several parts is no longer than one of 16 beats; a part of more goes alone.
    if (part_valid && (fill_units_q == '0 || {1'b0, fill_units_q} + {1'b0, part_units} <= 6'd16)) begin
      adds_part = 1'b1;
      fill_units = fill_units_q + part_units;
      if (fill_q.parts[0].kind == RspNone) fill.parts[0] = part_out;
      else if (fill_q.parts[1].kind == RspNone) fill.parts[1] = part_out;
      else begin
        adds_part  = 1'b0;
        fill_units = fill_units_q;
      end
    end else if (error_valid_q && fill_q.parts[1].kind == RspNone) begin
      adds_error = 1'b1;
      if (fill_q.parts[0].kind == RspNone) fill.parts[0] = '{len: '0, resp: RespSlverr, tag: error_tag_q, kind: RspError};
      else fill.parts[1] = '{len: '0, resp: RespSlverr, tag: error_tag_q, kind: RspError};
    end
    if (ack_valid) begin
      adds_ack = 1'b1;
      if (!fill_q.acks[0].valid) fill.acks[0] = ack_out;
      else if (!fill_q.acks[1].valid) fill.acks[1] = ack_out;
      else if (!fill_q.acks[2].valid) fill.acks[2] = ack_out;
      else if (fill.parts[1].kind == RspNone) fill.parts[1] = '{len: '0, resp: ack_out.resp, tag: ack_out.tag, kind: RspAck};
      else if (fill.parts[0].kind == RspNone) fill.parts[0] = '{len: '0, resp: ack_out.resp, tag: ack_out.tag, kind: RspAck};
      else adds_ack = 1'b0;
    end
    some = fill.parts[0].kind != RspNone || fill.parts[1].kind != RspNone || fill.acks[0].valid;
  end

  assign part_pop = adds_part;
  assign ack_pop = adds_ack;
  assign tx_meta_o = fill;
  assign tx_units_o = fill_units;
  assign tx_valid_o = some && sending_q == '0 && !drain_i;
  assign tx_unit_valid_o = sending_q != '0 || (tx_valid_o && fill_units != '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q <= '0;
      fill_units_q <= '0;
      sending_q <= '0;
      error_valid_q <= 1'b0;
    end else if (drain_i) begin
      fill_q <= '0;
      fill_units_q <= '0;
      sending_q <= '0;
      error_valid_q <= 1'b0;
    end else begin
      if (read_error && read_error_ready) error_valid_q <= 1'b1;
      else if (adds_error) error_valid_q <= 1'b0;
      if (tx_valid_o && tx_ready_i) begin
        fill_q <= '0;
        fill_units_q <= '0;
        sending_q <= fill_units - 5'(tx_unit_valid_o && tx_unit_ready_i);
      end else begin
        fill_q <= fill;
        fill_units_q <= fill_units;
        if (sending_q != '0 && tx_unit_ready_i) sending_q <= sending_q - 5'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_error && read_error_ready) error_tag_q <= request.tag;
  end

  // ---- Draining ----

  logic [9:0] reads_q, writes_q;

  assign drained_o = reads_q == '0 && writes_q == '0 && issue_q == IssueIdle && !ar_valid_o && !aw_valid_o && !w_valid_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reads_q  <= '0;
      writes_q <= '0;
    end else begin
      reads_q <= reads_q + 10'(request_done && !is_write && good) - 10'(r_valid_i && r_ready_o && r_i.last);
      writes_q <= writes_q + 10'(start_write && good) - 10'(b_valid_i && b_ready_o);
    end
  end
endmodule
