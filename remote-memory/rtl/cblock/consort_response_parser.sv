// SPDX-License-Identifier: Apache-2.0
// The cBlock's ingress controller of one link: frames of responses into single beats of reads, and beside them
// acknowledgements, for the ports.
// Interface: frame_* and unit_* from the link; read_* and ack_* to the ports.
// Parameters: none.
// Throughput: a beat and an acknowledgement a cycle.
// Latency: a frame's first beat shows in the next cycle.
// Assumes: a frame's parts lie in their places from the first one on, and its units are its parts'.
// Held by: proof tests/rtl/formal/response_parser_check.sv, tests/rtl/test_proofs.py.
module consort_response_parser
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
    // A beat of a read, or an error of a read.
    output rsp_e                 read_kind_o,
    output logic [TagWidth-1:0]  read_tag_o,
    output logic [1:0]           read_resp_o,
    output logic [DataWidth-1:0] read_data_o,
    input  logic                 read_ready_i,
    output logic                 ack_valid_o,
    output logic [TagWidth-1:0]  ack_tag_o,
    output logic [1:0]           ack_resp_o,
    input  logic                 ack_ready_i
);
  // What of the frame is still to do, the next first: parts, and acknowledgements, lie in their places from the first one on.
  response_meta_t meta;
  response_t [1:0] parts_q;
  ack_t [2:0] acks_q;
  logic [4:0] left_q;  // beats of the part after this one
  logic part_is_ack, part_done, beat_done, ack_done;

  assign meta = response_meta_t'(frame_meta_i);
  assign frame_ready_o = parts_q[0].kind == RspNone && !acks_q[0].valid;

  always_comb begin
    read_kind_o = RspNone;
    if (parts_q[0].kind == RspData && unit_valid_i) read_kind_o = RspData;
    if (parts_q[0].kind == RspError) read_kind_o = RspError;
  end
  assign read_tag_o = parts_q[0].tag;
  assign read_resp_o = parts_q[0].resp;
  assign read_data_o = unit_i;
  assign unit_ready_o = parts_q[0].kind == RspData && read_ready_i;

  // A part may be an acknowledgement too; it goes after the others.
  assign part_is_ack = parts_q[0].kind == RspAck && !acks_q[0].valid;
  assign ack_valid_o = acks_q[0].valid || part_is_ack;
  assign {ack_resp_o, ack_tag_o} = acks_q[0].valid ? {acks_q[0].resp, acks_q[0].tag} : {parts_q[0].resp, parts_q[0].tag};

  assign beat_done = (read_kind_o != RspNone && read_ready_i) || (part_is_ack && ack_ready_i);
  assign part_done = beat_done && (left_q == '0 || parts_q[0].kind != RspData);
  assign ack_done = acks_q[0].valid && ack_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      parts_q <= '0;
      acks_q  <= '0;
    end else if (!up_i) begin
      parts_q <= '0;
      acks_q  <= '0;
    end else if (frame_ready_o) begin
      parts_q <= '0;
      acks_q  <= '0;
      if (frame_valid_i) begin
        parts_q <= meta.parts;
        acks_q  <= meta.acks;
      end
    end else begin
      if (part_done) parts_q <= {response_t'('0), parts_q[1]};
      if (ack_done) acks_q <= {ack_t'('0), acks_q[2:1]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (frame_ready_o) left_q <= meta.parts[0].len;
    else if (part_done) left_q <= parts_q[1].len;
    else if (beat_done) left_q <= left_q - 5'd1;
  end
endmodule
