// SPDX-License-Identifier: Apache-2.0
// The cBlock's ingress controller of one link: frames of responses into single beats and acknowledgements for the ports.
module response_parser
  import consort_remote_pkg::*;
(
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 up_i,
    input  logic [MetaWidth-1:0] frame_meta_i,
    input  logic                 frame_valid_i,
    output logic                 frame_ready_o,
    input  logic [BeatWidth-1:0] unit_i,
    input  logic                 unit_valid_i,
    output logic                 unit_ready_o,
    // One thing at a time: a beat of a read, an error of a read, or an acknowledgement.
    output rsp_e                 kind_o,
    output logic [TagWidth-1:0]  tag_o,
    output logic [1:0]           resp_o,
    output logic [DataWidth-1:0] data_o,
    input  logic                 ready_i
);
  response_meta_t meta;
  logic [2:0] item_q, item;  // parts 0 and 1, then acknowledgements 0 to 2
  logic [4:0] beat_q;
  response_t part;
  ack_t ack;
  logic [4:0] wanted, left;
  logic ends, finishes;

  assign meta = response_meta_t'(frame_meta_i);
  // What of the frame holds something; the lowest of it that is still to do is next.
  assign wanted = {
    meta.acks[2].valid, meta.acks[1].valid, meta.acks[0].valid, meta.parts[1].kind != RspNone, meta.parts[0].kind != RspNone
  };
  assign left = wanted & (5'h1F << item_q);
  always_comb begin
    item = 3'd5;
    for (int i = 4; i >= 0; i--) if (left[i]) item = 3'(i);
  end
  assign part = meta.parts[item[0]];
  assign ack  = meta.acks[item == 3'd2 ? 2'd0 : item == 3'd3 ? 2'd1 : 2'd2];

  always_comb begin
    kind_o = RspNone;
    tag_o = part.tag;
    resp_o = part.resp;
    ends = 1'b1;
    if (frame_valid_i && up_i && left != '0) begin
      if (item < 3'd2) begin
        kind_o = part.kind;
        if (part.kind == RspData) begin
          if (!unit_valid_i) kind_o = RspNone;
          ends = beat_q == part.len;
        end
      end else begin
        kind_o = RspAck;
        tag_o  = ack.tag;
        resp_o = ack.resp;
      end
    end
  end
  assign data_o = unit_i;
  assign unit_ready_o = kind_o == RspData && ready_i;
  // The last thing of the frame goes together with it.
  assign finishes = kind_o != RspNone && ready_i && ends && (left & (left - 5'd1)) == '0;
  assign frame_ready_o = finishes || (frame_valid_i && left == '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      item_q <= '0;
      beat_q <= '0;
    end else if (!up_i || frame_ready_o) begin
      item_q <= '0;
      beat_q <= '0;
    end else if (kind_o != RspNone && ready_i) begin
      beat_q <= ends ? '0 : beat_q + 5'd1;
      if (ends) item_q <= item + 3'd1;
    end
  end
endmodule
