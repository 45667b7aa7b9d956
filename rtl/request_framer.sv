// SPDX-License-Identifier: Apache-2.0
// The cBlock's egress controller and switch of one link: requests of all ports, taken in turn, into frames. A request that
// finds the link idle leaves at once; while a frame is on its way the next one is gathered.
//
// While the link is down everything is taken and dropped: its tags are answered with errors where they are kept.
module request_framer
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports = 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 up_i,
    // Sources: reads of port 0, writes of port 0, reads of port 1, ...
    input  request_t             req_i[2*Ports],
    input  logic [4:0]           req_units_i[2*Ports],
    input  logic [2*Ports-1:0]   req_valid_i,
    output logic [2*Ports-1:0]   req_ready_o,
    input  logic [BeatWidth-1:0] unit_i[Ports],
    input  logic [Ports-1:0]     unit_valid_i,
    output logic [Ports-1:0]     unit_ready_o,
    output logic [MetaWidth-1:0] frame_meta_o,
    output logic [4:0]           frame_units_o,
    output logic                 frame_valid_o,
    input  logic                 frame_ready_i,
    output logic [BeatWidth-1:0] frame_unit_o,
    output logic                 frame_unit_valid_o,
    input  logic                 frame_unit_ready_i
);
  // Units of a frame of more than one message. Three writes of 64 bytes are 13; a fourth would save nothing.
  localparam logic [5:0] GatherUnits = 6'd16;

  // Two banks: one is gathered, one is sent. Requests beside the first lie in pairs, as they go into units.
  localparam int unsigned Pairs = (MaxRequests + 1) / 2;
  localparam int unsigned Slots = MaxRequests + 1;
  request_t first_q[2];
  request_t even[2*Pairs];
  request_t odd[2*Pairs];
  logic [4:0] units_of_slot[2*Slots];
  logic [PortWidth-1:0] port_of_slot[2*Slots];

  // ---- Gathering ----

  logic fill_q;                 // the bank that is gathered
  logic [4:0] count_q, data_q;  // requests in it, and their units
  logic [2*Ports-1:0] candidates, grant;
  logic [4:0] chosen_units, pairs_after, extra;
  request_t chosen;
  logic takes, sends, straight, sending_q, frame_ready;

  assign pairs_after = (count_q + 5'd1) >> 1;  // with one more request

  for (genvar i = 0; i < 2 * Ports; i++) begin : gen_candidate
    assign candidates[i] = req_valid_i[i] && !sends && (count_q == '0 ||
        (count_q < 5'(MaxRequests) && {1'b0, data_q} + {1'b0, req_units_i[i]} + {1'b0, pairs_after} <= GatherUnits));
  end

  arbiter #(
      .N(2 * Ports)
  ) i_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(candidates),
      .grant_o(grant),
      .taken_i(1'b1)
  );

  always_comb begin
    chosen = '0;
    chosen_units = '0;
    for (int unsigned i = 0; i < 2 * Ports; i++) begin
      if (grant[i]) begin
        chosen = chosen | req_i[i];
        chosen_units = chosen_units | req_units_i[i];
      end
    end
  end
  // A read that finds everything idle goes into its frame without being stored.
  assign straight = count_q == '0 && !sending_q && grant != '0 && chosen_units == '0;
  assign takes = grant != '0 && !(straight && frame_ready);
  assign req_ready_o = grant;
  assign extra = count_q - 5'd1;  // extra requests before this one, where it is one

  always_ff @(posedge clk_i) begin
    if (takes) begin
      if (count_q == '0) first_q[fill_q] <= chosen;
      else if (extra[0]) odd[{fill_q, extra[3:1]}] <= chosen;
      else even[{fill_q, extra[3:1]}] <= chosen;
      units_of_slot[{fill_q, count_q[3:0]}] <= chosen_units;
      port_of_slot[{fill_q, count_q[3:0]}] <= chosen.tag[TagWidth-1-:PortWidth];
    end
  end

  // ---- Sending ----

  logic unit_ready, in_pairs, half_pair_q, unit_taken, message_ends;
  logic [4:0] pairs_left_q, data_left_q, done_q;  // done_q: units of the message at hand
  logic [2:0] pair_q;
  logic [3:0] slot_q;
  logic [PortWidth-1:0] port;
  logic [4:0] slot_units;

  assign frame_ready = up_i ? frame_ready_i : 1'b1;
  assign unit_ready = up_i ? frame_unit_ready_i : 1'b1;
  assign frame_valid_o = up_i && ((count_q != '0 && !sending_q) || straight);
  assign sends = count_q != '0 && !sending_q && frame_ready;
  assign frame_units_o = (count_q >> 1) + data_q;  // none where straight
  assign frame_meta_o = straight ? {9'd0, chosen} : {extra[3:0], 5'd0, first_q[fill_q]};

  assign in_pairs = sending_q && pairs_left_q != '0;
  assign port = port_of_slot[{~fill_q, slot_q}];
  assign slot_units = units_of_slot[{~fill_q, slot_q}];

  // The link takes the first unit together with the frame's header, so units show from the cycle of that on.
  always_comb begin
    frame_unit_o = {
      1'b0, half_pair_q && pairs_left_q == 5'd1 ? request_t'('0) : odd[{~fill_q, pair_q}], 1'b0, even[{~fill_q, pair_q}]
    };
    frame_unit_valid_o = in_pairs;
    unit_ready_o = '0;
    if (sending_q && !in_pairs) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        if (port == PortWidth'(i) && slot_units != '0) begin
          frame_unit_o = unit_i[i];
          frame_unit_valid_o = unit_valid_i[i];
          unit_ready_o[i] = unit_ready;
        end
      end
    end
  end
  assign unit_taken   = frame_unit_valid_o && unit_ready;
  assign message_ends = done_q + 5'd1 == slot_units;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q <= 1'b0;
      count_q <= '0;
      data_q <= '0;
      sending_q <= 1'b0;
      pair_q <= '0;
      pairs_left_q <= '0;
      half_pair_q <= 1'b0;
      data_left_q <= '0;
      slot_q <= '0;
      done_q <= '0;
    end else begin
      if (takes) begin
        count_q <= count_q + 5'd1;
        data_q  <= data_q + chosen_units;
      end
      if (sends) begin
        fill_q <= ~fill_q;
        count_q <= '0;
        data_q <= '0;
        sending_q <= frame_units_o != '0;
        pair_q <= '0;
        pairs_left_q <= count_q >> 1;
        half_pair_q <= !count_q[0];
        data_left_q <= data_q;
        slot_q <= '0;
        done_q <= '0;
      end
      if (sending_q) begin
        if (in_pairs) begin
          if (unit_taken) begin
            pair_q <= pair_q + 3'd1;
            pairs_left_q <= pairs_left_q - 5'd1;
            if (pairs_left_q == 5'd1 && data_left_q == '0) sending_q <= 1'b0;
          end
        end else if (slot_units == '0) begin
          slot_q <= slot_q + 4'd1;
        end else if (unit_taken) begin
          done_q <= message_ends ? '0 : done_q + 5'd1;
          if (message_ends) slot_q <= slot_q + 4'd1;
          data_left_q <= data_left_q - 5'd1;
          if (data_left_q == 5'd1) sending_q <= 1'b0;
        end
      end
    end
  end
endmodule
