// SPDX-License-Identifier: Apache-2.0
// The parser of responses with frames as the mBlock makes them (parts and acknowledgements in their places from the first on), while the
// link is up: of each frame every beat, error and acknowledgement is shown once, beats in order, each with what its part says;
// a unit is taken exactly with its beat; what is shown stays until it is taken; and the next frame is taken when all is done.
module response_parser_check
  import consort_remote_pkg::*;
(
    input logic                 clk,
    input logic                 rst_n,
    input logic                 up,
    input logic [MetaWidth-1:0] frame_meta,
    input logic                 frame_valid,
    input logic [BeatWidth-1:0] unit,
    input logic                 unit_valid,
    input logic                 read_ready,
    input logic                 ack_ready
);
  logic frame_ready, unit_ready, ack_valid;
  rsp_e read_kind;
  logic [TagWidth-1:0] read_tag, ack_tag;
  logic [1:0] read_resp, ack_resp;
  logic [DataWidth-1:0] read_data;
  logic past_valid = 1'b0;

  consort_response_parser dut (
      .clk_i(clk), .rst_ni(rst_n), .up_i(up), .frame_meta_i(frame_meta), .frame_valid_i(frame_valid),
      .frame_ready_o(frame_ready), .unit_i(unit), .unit_valid_i(unit_valid), .unit_ready_o(unit_ready),
      .read_kind_o(read_kind), .read_tag_o(read_tag), .read_resp_o(read_resp), .read_data_o(read_data),
      .read_ready_i(read_ready), .ack_valid_o(ack_valid), .ack_tag_o(ack_tag), .ack_resp_o(ack_resp), .ack_ready_i(ack_ready)
  );

  // The frame as it came, and how far it was reported: the part at hand and its beats so far, and acknowledgements so far.
  response_meta_t meta, meta_q;
  logic [1:0] part_q;
  logic [4:0] beat_q;
  logic [2:0] acked_q;
  logic some_q;
  logic shown_q, ack_shown_q, unit_waits_q, frame_waits_q;
  rsp_e kind_before_q;
  logic [TagWidth+1:0] tag_before_q, ack_before_q;
  logic [DataWidth-1:0] data_before_q;
  logic [BeatWidth-1:0] unit_before_q;
  logic [MetaWidth-1:0] frame_before_q;
  logic reads_now, acks_now;

  assign meta = response_meta_t'(frame_meta);
  assign reads_now = read_kind != RspNone && read_ready;
  assign acks_now = ack_valid && ack_ready;

  // The part at hand: those without content are passed over.
  function automatic logic [1:0] at_least(response_meta_t of, logic [1:0] from);
    logic [1:0] part;
    part = from;
    if (part == 2'd0 && of.parts[0].kind == RspNone) part = 2'd1;
    if (part == 2'd1 && of.parts[1].kind == RspNone) part = 2'd2;
    return part;
  endfunction
  response_t now;
  logic [1:0] own;      // acknowledgements in their own places
  logic [1:0] in_parts; // and in parts
  logic part_left;
  assign now = part_q[0] ? meta_q.parts[1] : meta_q.parts[0];
  assign part_left = some_q && part_q != 2'd2;
  assign own = 2'(meta_q.acks[0].valid) + 2'(meta_q.acks[1].valid) + 2'(meta_q.acks[2].valid);
  assign in_parts = 2'(meta_q.parts[0].kind == RspAck) + 2'(meta_q.parts[1].kind == RspAck);

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    kind_before_q <= read_kind;
    tag_before_q <= {read_resp, read_tag};
    data_before_q <= read_data;
    ack_before_q <= {ack_resp, ack_tag};
    unit_before_q <= unit;
    frame_before_q <= frame_meta;
    if (!rst_n || !up) begin
      {some_q, shown_q, ack_shown_q, unit_waits_q, frame_waits_q} <= '0;
      acked_q <= '0;
    end else begin
      shown_q <= read_kind != RspNone && !read_ready;
      ack_shown_q <= ack_valid && !ack_ready;
      unit_waits_q <= unit_valid && !unit_ready;
      frame_waits_q <= frame_valid && !frame_ready;
      if (frame_valid && frame_ready) begin
        some_q <= 1'b1;
        meta_q <= meta;
        part_q <= at_least(meta, 2'd0);
        beat_q <= '0;
        acked_q <= '0;
      end else if (frame_ready) begin
        some_q <= 1'b0;
      end else begin
        if (acks_now) acked_q <= acked_q + 3'd1;
        if (now.kind == RspAck ? acks_now && acked_q >= {1'b0, own} : reads_now) begin
          if (now.kind == RspData && beat_q != now.len) beat_q <= beat_q + 5'd1;
          else begin
            beat_q <= '0;
            part_q <= at_least(meta_q, part_q + 2'd1);
          end
        end
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    // As the mBlock makes them.
    assume (meta.parts[1].kind == RspNone || meta.parts[0].kind != RspNone);
    assume (!meta.acks[1].valid || meta.acks[0].valid);
    assume (!meta.acks[2].valid || meta.acks[1].valid);
    if (unit_waits_q && up) assume (unit_valid && unit == unit_before_q);
    if (frame_waits_q && up) assume (frame_valid && frame_meta == frame_before_q);
  end

  always_comb begin
    if (past_valid && rst_n) begin
      if (up) begin
        if (shown_q) assert (read_kind == kind_before_q && {read_resp, read_tag} == tag_before_q);
        if (shown_q && read_kind == RspData) assert (read_data == data_before_q);
        if (ack_shown_q) assert (ack_valid && {ack_resp, ack_tag} == ack_before_q);
      end
      // A beat, an error, an acknowledgement: the next of the frame, as its part says.
      if (read_kind != RspNone) begin
        assert (part_left && read_kind == now.kind && read_tag == now.tag && read_resp == now.resp);
        assert (read_kind == RspData || read_kind == RspError);
      end
      if (read_kind == RspData) assert (unit_valid && read_data == unit);
      if (part_left && (now.kind == RspError || (now.kind == RspData && unit_valid))) assert (read_kind == now.kind);
      assert ((unit_valid && unit_ready) == (read_kind == RspData && read_ready));
      if (ack_valid) begin
        assert (some_q && acked_q < {1'b0, own} + {1'b0, in_parts});
        if (acked_q < {1'b0, own}) begin
          assert (ack_resp == meta_q.acks[acked_q[1:0]].resp && ack_tag == meta_q.acks[acked_q[1:0]].tag);
        end else assert (part_left && now.kind == RspAck && {ack_resp, ack_tag} == {now.resp, now.tag});
      end
      if (some_q && acked_q < {1'b0, own}) assert (ack_valid);
      if (part_left && now.kind == RspAck && acked_q >= {1'b0, own}) assert (ack_valid);
      // All is done, and only then the next.
      if (some_q) assert (frame_ready == (!part_left && acked_q == {1'b0, own} + {1'b0, in_parts}));
      else assert (frame_ready);
`ifdef PROVE
      // About its state.
      if (some_q) begin
        assert (meta_q.parts[1].kind == RspNone || meta_q.parts[0].kind != RspNone);
        assert (!meta_q.acks[1].valid || meta_q.acks[0].valid);
        assert (!meta_q.acks[2].valid || meta_q.acks[1].valid);
        assert (part_q <= 2'd2 && at_least(meta_q, part_q) == part_q);
        assert (dut.parts_q[0] == (part_left ? now : response_t'('0)) || (!part_left && dut.parts_q[0].kind == RspNone));
        if (part_q == 2'd0) assert (dut.parts_q[1] == meta_q.parts[1] || meta_q.parts[1].kind == RspNone);
        if (part_q == 2'd0) assert (dut.parts_q[1].kind == meta_q.parts[1].kind);
        if (part_q != 2'd0) assert (dut.parts_q[1].kind == RspNone);
        if (part_left && now.kind == RspData) begin
          assert (beat_q <= now.len);
          assert (dut.left_q == now.len - beat_q);
        end
        if (now.kind != RspData) assert (beat_q == '0);
        for (int i = 0; i < 3; i++) begin
          if (3'(i) + acked_q < {1'b0, own}) assert (dut.acks_q[i] == meta_q.acks[2'(3'(i)+acked_q)]);
          else assert (!dut.acks_q[i].valid);
        end
        // The finished parts of acknowledgements in parts were shown.
        assert (acked_q <= {1'b0, own} + {1'b0, in_parts});
        if (acked_q < {1'b0, own}) assert (!(part_q > 2'd0 && meta_q.parts[0].kind == RspAck) &&
            !(part_q > 2'd1 && meta_q.parts[1].kind == RspAck));
        else assert (acked_q - {1'b0, own} == 3'(part_q > 2'd0 && meta_q.parts[0].kind == RspAck) +
            3'(part_q > 2'd1 && meta_q.parts[1].kind == RspAck));
      end else begin
        assert (dut.parts_q[0].kind == RspNone && !dut.acks_q[0].valid);
      end
`endif
    end
  end
endmodule
