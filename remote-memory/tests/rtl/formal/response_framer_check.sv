// SPDX-License-Identifier: Apache-2.0
// The mBlock's frames of answers, with one thing that is handed in followed: a part, an error or an acknowledgement goes into one
// frame, once, as it is, after exactly those of its kind that were handed in before it. In a frame what it has of each kind lies in
// its places from the first one on, its units are those of its parts, and not more than a frame may have. A frame that shows stays
// until it is taken, and none shows before the units of the one before were taken. While no frame shows and none has units left,
// what was handed in shows in a frame after three cycles at most. An acknowledgement is taken at the latest when the next frame
// shows; of errors, and parts that wait, when the one after it does, whatever else is handed in.
//
// Taken for granted: parts are as consort_read_parts makes them, and a frame's first unit is taken with it.
module response_framer_check
  import consort_remote_pkg::*;
(
    input logic                clk,
    input logic                rst_n,
    input logic                drain,
    input response_t           part,
    input logic                part_valid,
    input logic [TagWidth-1:0] error_tag,
    input logic                error_valid,
    input ack_t                ack,
    input logic                ack_valid,
    input logic                frame_ready,
    input logic                unit_taken,
    input logic                mark,         // follow what is handed in now
    input rsp_e                mark_kind
);
  localparam int unsigned Depth = 4;  // of the FIFO of parts
  logic part_ready, error_taken, ack_taken, frame_valid;
  response_meta_t frame;
  logic [4:0] frame_units;
  logic past_valid = 1'b0;

  consort_response_framer #(
      .Parts(Depth)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .drain_i(drain), .part_i(part), .part_units_i(part.len + 5'd1), .part_valid_i(part_valid),
      .part_ready_o(part_ready), .error_tag_i(error_tag), .error_valid_i(error_valid), .error_taken_o(error_taken),
      .ack_i(ack), .ack_valid_i(ack_valid), .ack_taken_o(ack_taken), .frame_meta_o(frame), .frame_units_o(frame_units),
      .frame_valid_o(frame_valid), .frame_ready_i(frame_ready), .unit_taken_i(unit_taken)
  );

  // ---- What a frame has of a kind ----

  function automatic logic [2:0] number(response_meta_t of, rsp_e kind);
    logic [2:0] own;
    own = 3'(of.acks[0].valid) + 3'(of.acks[1].valid) + 3'(of.acks[2].valid);
    return 3'(of.parts[0].kind == kind) + 3'(of.parts[1].kind == kind) + (kind == RspAck ? own : 3'd0);
  endfunction
  // Acknowledgements in their own places go first.
  function automatic response_t item(response_meta_t of, rsp_e kind, logic [2:0] place);
    logic [2:0] own;
    own = kind == RspAck ? 3'(of.acks[0].valid) + 3'(of.acks[1].valid) + 3'(of.acks[2].valid) : 3'd0;
    if (place < own) return '{len: '0, resp: of.acks[place[1:0]].resp, tag: of.acks[place[1:0]].tag, kind: RspAck};
    return place == own && of.parts[0].kind == kind ? of.parts[0] : of.parts[1];
  endfunction
  function automatic logic in_order(response_meta_t of);
    return (of.parts[1].kind == RspNone || of.parts[0].kind != RspNone) && (!of.acks[1].valid || of.acks[0].valid) &&
        (!of.acks[2].valid || of.acks[1].valid) && of.zero == '0;
  endfunction
  function automatic logic [5:0] units_in(response_meta_t of);
    return (of.parts[0].kind == RspData ? 6'(of.parts[0].len) + 6'd1 : 6'd0) +
        (of.parts[1].kind == RspData ? 6'(of.parts[1].len) + 6'd1 : 6'd0);
  endfunction

  // ---- What is inside ----

  logic [4:0] inside_q[4];      // of each kind
  logic follows_q;
  response_t followed_q;
  logic [4:0] before_q;         // of its kind inside before it
  logic [4:0] left_q;           // units of the frame that was taken
  logic waits_q, shown_q;
  response_meta_t frame_before_q;
  logic [4:0] units_before_q;
  logic [1:0] idle_q;           // cycles in which something was inside, and no frame
  logic [1:0] part_waits_q, error_waits_q;  // frames that went before what waits
  logic part_goes, frame_goes, any, new_frame;
  logic [3:0] goes_in;          // of each kind
  response_t handed;

  assign part_goes = part_valid && part_ready;
  assign frame_goes = frame_valid && frame_ready;
  assign goes_in = {error_valid && error_taken, ack_valid && ack_taken, part_goes, 1'b0};
  assign any = inside_q[RspData] != '0 || inside_q[RspAck] != '0 || inside_q[RspError] != '0;
  assign new_frame = frame_valid && !shown_q;

  always_comb begin
    handed = part;
    if (mark_kind == RspError) handed = '{len: '0, resp: RespSlverr, tag: error_tag, kind: RspError};
    if (mark_kind == RspAck) handed = '{len: '0, resp: ack.resp, tag: ack.tag, kind: RspAck};
  end

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    frame_before_q <= frame;
    units_before_q <= frame_units;
    if (!rst_n || drain) begin
      for (int i = 0; i < 4; i++) inside_q[i] <= '0;
      {follows_q, waits_q, shown_q} <= '0;
      left_q <= '0;
      idle_q <= '0;
      part_waits_q <= '0;
      error_waits_q <= '0;
    end else begin
      waits_q <= frame_valid && !frame_ready;
      shown_q <= frame_valid && !frame_goes;
      idle_q <= any && !frame_valid && left_q == '0 ? idle_q + 2'd1 : '0;
      error_waits_q <= error_valid && !error_taken ? error_waits_q + 2'(new_frame) : '0;
      part_waits_q <= dut.next_valid && !dut.adds_part ? part_waits_q + 2'(new_frame) : '0;
      for (int i = 1; i < 4; i++) begin
        inside_q[i] <= inside_q[i] + 5'(goes_in[i]) - (frame_goes ? 5'(number(frame, rsp_e'(i))) : 5'd0);
      end
      if (frame_goes && frame_units != '0) left_q <= frame_units - 5'd1;
      else left_q <= left_q - 5'(unit_taken);
      if (!follows_q) begin
        if (mark && goes_in[mark_kind]) begin
          follows_q <= 1'b1;
          followed_q <= handed;
          before_q <= inside_q[mark_kind] - (frame_goes ? 5'(number(frame, mark_kind)) : 5'd0);
        end
      end else if (frame_goes) begin
        if (before_q < 5'(number(frame, followed_q.kind))) follows_q <= 1'b0;
        else before_q <= before_q - 5'(number(frame, followed_q.kind));
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (past_valid && rst_n) begin
      if (part_valid) assume (part.kind == RspData && part.len < 5'(MaxUnits));
      if (ack_valid) assume (ack.valid);
      if (frame_goes) assume (unit_taken == (frame_units != '0));
      else assume (!unit_taken || left_q != '0);
    end
  end

`ifdef PROVE
  logic [2:0] behind, in_frame, in_fill;  // behind: in the RAM of the FIFO
  logic [4:0] place;
  logic [1:0] slot;
  assign behind = dut.i_parts.write_q - dut.i_parts.read_q;
  assign in_frame = frame_valid ? number(frame, followed_q.kind) : 3'd0;
  assign in_fill = number(dut.fill_q, followed_q.kind);
  assign place = before_q - 5'(in_frame) - 5'(in_fill);
  assign slot = dut.i_parts.read_q[1:0] + place[1:0] - 2'(dut.next_valid) - 2'(dut.i_parts.behind_q);
  function automatic logic good(logic [21:0] entry);
    response_t of;
    of = response_t'(entry[21:5]);
    return of.kind == RspData && entry[4:0] == of.len + 5'd1 && of.len < 5'(MaxUnits);
  endfunction
`endif

  always_comb begin
    if (past_valid && rst_n && !drain) begin
      if (frame_valid) begin
        assert (in_order(frame) && (frame.parts[0].kind != RspNone || frame.acks[0].valid));
        assert (6'(frame_units) == units_in(frame) && frame_units <= 5'(MaxUnits));
        assert (left_q == '0);
        for (int i = 1; i < 4; i++) assert (5'(number(frame, rsp_e'(i))) <= inside_q[i]);
        if (follows_q && before_q < 5'(number(frame, followed_q.kind))) begin
          assert (item(frame, followed_q.kind, before_q[2:0]) == followed_q);
        end
      end
      if (waits_q) assert (frame_valid && frame == frame_before_q && frame_units == units_before_q);
      if (follows_q) assert (before_q < inside_q[followed_q.kind]);
      assert (idle_q != 2'd3 || frame_valid);
      if (new_frame) assert (!ack_valid || ack_taken);
      if (inside_q[RspData] == '0) assert (part_ready);
      assert (part_waits_q <= 2'd1 && error_waits_q <= 2'd1);
`ifdef PROVE
      // About its state: frames,
      assert (dut.sending_q == (left_q != '0));
      if (left_q != '0) assert (dut.frame_left_q == left_q && dut.last_q == (left_q == 5'd1));
      assert (left_q < 5'(MaxUnits));
      if (shown_q) assert (frame_valid);
      if (waits_q) assert (shown_q);
      // what is gathered,
      assert (in_order(dut.fill_q));
      assert (dut.some_q == (dut.parts_q != '0 || dut.acks_q != '0));
      assert (dut.parts_q != 2'd3);
      for (int i = 0; i < 2; i++) begin
        assert ((dut.fill_q.parts[i].kind != RspNone) == (2'(i) < dut.parts_q));
        if (dut.fill_q.parts[i].kind == RspAck) assert (dut.acks_q == 2'd3);
        if (frame_valid && frame.parts[i].kind == RspAck) assert (frame.acks[2].valid);
      end
      for (int i = 0; i < 3; i++) assert (dut.fill_q.acks[i].valid == (2'(i) < dut.acks_q));
      assert (6'(dut.units_q) == units_in(dut.fill_q) && dut.units_q <= 5'(MaxUnits));
      assert (dut.free_q == (dut.units_q == '0 ? 6'd31 : 6'd16 - 6'(dut.units_q)));
      // the FIFO of parts,
      assert (behind <= 3'(Depth) && (part_ready ? behind < 3'(Depth) : behind >= 3'(Depth - 2)));
      assert (dut.i_parts.count_q == 4'(behind) + 4'(dut.i_parts.behind_q) + 4'(dut.next_valid));
      assert (dut.none_waits == (dut.i_parts.count_q == '0) && dut.i_parts.one_q == (dut.i_parts.count_q == 4'd1));
      for (int unsigned i = 0; i < Depth; i++) begin
        automatic logic [1:0] at = 2'(i) - dut.i_parts.read_q[1:0];
        if ({1'b0, at} < behind) assert (good(dut.i_parts.memory[i]));
      end
      if (dut.i_parts.behind_q) assert (good(dut.i_parts.behind));
      // A response that does not show came behind one that was gathered.
      if (!dut.next_valid && !dut.i_parts.behind_q && behind != '0) assert (dut.some_q);
      if (!dut.next_valid && dut.i_parts.behind_q) assert (dut.some_q || frame_valid);
      if (dut.next_valid) assert (good({dut.next.part, dut.next.units}));
      // what is inside and where what is followed is.
      for (int i = 1; i < 4; i++) begin
        assert (inside_q[i] == 5'(frame_valid ? number(frame, rsp_e'(i)) : 3'd0) + 5'(number(dut.fill_q, rsp_e'(i))) +
            (i == int'(RspData) ? 5'(dut.i_parts.count_q) : 5'd0));
      end
      if (follows_q) begin
        assert (followed_q.kind != RspNone);
        if (5'(in_frame) <= before_q) begin
          if (before_q - 5'(in_frame) < 5'(in_fill)) begin
            assert (item(dut.fill_q, followed_q.kind, 3'(before_q - 5'(in_frame))) == followed_q);
          end else if (dut.next_valid && place == '0) assert (dut.next.part == followed_q);
          else if (dut.i_parts.behind_q && place == 5'(dut.next_valid)) begin
            assert (dut.i_parts.behind == {followed_q, followed_q.len + 5'd1});
          end else assert (dut.i_parts.memory[slot] == {followed_q, followed_q.len + 5'd1});
        end
      end
      if (idle_q >= 2'd1) assert (dut.next_valid || dut.some_q || frame_valid);
      if (idle_q >= 2'd2) assert (dut.some_q || frame_valid);
      if (new_frame) assert (dut.parts_q < 2'd2 && dut.acks_q < 2'd2 && dut.units_q == '0);
      if (error_waits_q != '0) assert (!dut.error_went_q);
      if (part_waits_q != '0) assert (dut.error_went_q && dut.next_valid);
`endif
    end
  end
endmodule
