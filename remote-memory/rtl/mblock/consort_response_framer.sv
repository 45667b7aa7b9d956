// SPDX-License-Identifier: Apache-2.0
// The mBlock's egress controller of one link: parts of reads, errors of reads and acknowledgements into frames. A part or an
// acknowledgement that finds everything idle is a frame at once; while a frame is on its way the next one is gathered. What a
// frame has of each kind lies in its places from the first one on.
// Interface: part_*, error_* and ack_* in; frame_* to the link.
// Parameters: Parts that may wait, a power of two, at least 4.
// Throughput: a part, an error and an acknowledgement a cycle, as far as a frame has places.
// Latency: one cycle where everything is idle; within three where nothing is on its way.
// Assumes: a part's units are taken in their order, after its frame.
// Held by: proof tests/rtl/formal/response_framer_check.sv, tests/rtl/test_proofs.py.
module consort_response_framer
  import consort_remote_pkg::*;
#(
    parameter int unsigned Parts = 32
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 drain_i,
    input  response_t            part_i,
    input  logic [4:0]           part_units_i,
    input  logic                 part_valid_i,
    output logic                 part_ready_o,
    input  logic [TagWidth-1:0]  error_tag_i,
    input  logic                 error_valid_i,
    output logic                 error_taken_o,
    input  ack_t                 ack_i,
    input  logic                 ack_valid_i,
    output logic                 ack_taken_o,
    output logic [MetaWidth-1:0] frame_meta_o,
    output logic [4:0]           frame_units_o,
    output logic                 frame_valid_o,
    input  logic                 frame_ready_i,
    input  logic                 unit_taken_i   // of the frame that was taken, or is
);
  // Units of a frame of more than one part.
  localparam logic [5:0] GatherUnits = 6'd16;

  typedef struct packed {
    response_t  part;
    logic [4:0] units;
  } entry_t;

  // ---- Parts that wait ----

  entry_t next;
  logic next_valid, none_waits, straight, ack_straight, adds_part;

  consort_fifo_deep #(
      .T(entry_t),
      .Depth(Parts)
  ) i_parts (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i({part_i, part_units_i}),
      .valid_i(part_valid_i && !straight),
      .ready_o(part_ready_o),
      .empty_o(none_waits),
      .data_o(next),
      .valid_o(next_valid),
      .ready_i(adds_part)
  );

  // ---- Gathering ----

  response_meta_t fill_q, frame_q;
  logic [4:0] units_q, frame_left_q;
  logic [1:0] parts_q, acks_q;  // places that are taken
  logic [5:0] free_q;           // units that another part may have
  logic some_q, frame_valid_q, sending_q, last_q, closes, adds_error, adds_ack, ack_as_part;
  logic error_goes, error_went_q;
  response_t added;

  assign closes = some_q && !frame_valid_q && !sending_q;
  assign straight = !some_q && !frame_valid_q && !sending_q && none_waits;
  assign ack_straight = straight && ack_valid_i && !error_valid_i;

  // Where both wait, parts and errors go in turn: neither keeps the other waiting.
  assign error_goes = error_valid_i && !(error_went_q && next_valid);
  assign adds_error = error_goes && parts_q != 2'd2 && !closes;
  assign adds_part = next_valid && !error_goes && parts_q != 2'd2 && !closes &&
      !free_q[5] && {1'b0, next.units} <= free_q;
  // An acknowledgement for which there is no place of its own may have one of the parts'.
  assign ack_as_part = acks_q == 2'd3 && parts_q != 2'd2 && !next_valid && !error_valid_i;
  assign adds_ack = ack_valid_i && !closes && !ack_straight && (acks_q != 2'd3 || ack_as_part);
  assign error_taken_o = adds_error;
  assign ack_taken_o = adds_ack || ack_straight;

  always_comb begin
    added = next.part;
    if (error_goes) added = '{len: '0, resp: RespSlverr, tag: error_tag_i, kind: RspError};
    else if (!next_valid) added = '{len: '0, resp: ack_i.resp, tag: ack_i.tag, kind: RspAck};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q <= '0;
      units_q <= '0;
      parts_q <= '0;
      acks_q <= '0;
      free_q <= 6'd31;
      some_q <= 1'b0;
      error_went_q <= 1'b0;
    end else if (drain_i || closes) begin
      fill_q <= '0;
      units_q <= '0;
      parts_q <= '0;
      acks_q <= '0;
      // The first part may be as long as parts are.
      free_q <= 6'd31;
      some_q <= 1'b0;
    end else begin
      if (adds_part || adds_error || (adds_ack && ack_as_part)) begin
        fill_q.parts[parts_q[0]] <= added;
        parts_q <= parts_q + 2'd1;
      end
      if (adds_part) begin
        units_q <= units_q + next.units;
        free_q  <= (units_q == '0 ? GatherUnits : free_q) - {1'b0, next.units};
      end
      if (adds_ack && !ack_as_part) begin
        fill_q.acks[acks_q] <= ack_i;
        acks_q <= acks_q + 2'd1;
      end
      if (adds_part || adds_error) error_went_q <= adds_error;
      if (adds_part || adds_error || adds_ack) some_q <= 1'b1;
    end
  end

  // ---- The frame ----

  logic frame_taken;

  assign frame_meta_o = frame_q;
  assign frame_valid_o = frame_valid_q;
  assign frame_taken = frame_valid_q && frame_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frame_valid_q <= 1'b0;
      sending_q <= 1'b0;
      last_q <= 1'b0;
      frame_left_q <= '0;
    end else if (drain_i) begin
      frame_valid_q <= 1'b0;
      sending_q <= 1'b0;
    end else begin
      if (closes || (straight && part_valid_i) || ack_straight) frame_valid_q <= 1'b1;
      else if (frame_taken) frame_valid_q <= 1'b0;
      // Its first unit goes with it.
      if (frame_taken) begin
        sending_q <= frame_units_o > 5'd1;
        last_q <= frame_units_o == 5'd2;
        frame_left_q <= frame_units_o - 5'd1;
      end else if (sending_q && unit_taken_i) begin
        sending_q <= !last_q;
        last_q <= frame_left_q == 5'd2;
        frame_left_q <= frame_left_q - 5'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!frame_valid_q) begin
      frame_q <= some_q ? fill_q : '{
          zero: '0,
          acks: '{ack_t'('0), ack_t'('0), ack_straight ? ack_i : ack_t'('0)},
          parts: '{response_t'('0), part_valid_i ? part_i : response_t'('0)}
      };
      frame_units_o <= some_q ? units_q : part_valid_i ? part_units_i : '0;
    end
  end
endmodule
