// SPDX-License-Identifier: Apache-2.0
// The cBlock's egress controller and switch of one link: requests of all ports, taken in turn, into frames. A read that finds
// everything idle goes into its frame at once; while a frame is on its way the next one is gathered.
//
// Where offsets have more than 28 bits the upper ones of a frame's requests go into its first unit, if any of them is not 0, or with a
// lone read into its header.
//
// While the link is down everything is taken and dropped: its tags are answered with errors where they are kept.
// Interface: req_* are sources: reads and writes of each port; unit_* their data; frame_* to the link.
// Parameters: Ports.
// Throughput: a request a cycle, a unit a cycle.
// Latency: a read that finds everything idle goes into its frame at once; any other waits for one frame at most before its own is closed, and for
// its turn.
// Assumes: a request that is offered stays, with its units; its data come in the end.
// Held by: simulation with functional coverage of frames, tests/rtl/test_cocotb.py; counted beats, tests/rtl/test_remote.py.
module consort_request_framer
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
    input  logic [2*Ports-1:0]   req_urgent_i,
    output logic [2*Ports-1:0]   req_ready_o,
    input  logic [BeatWidth-1:0] unit_i[Ports],
    input  logic [Ports-1:0]     unit_valid_i,
    input  logic [Ports-1:0]     unit_last_i,   // of its message
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
  localparam int unsigned Pairs = (MostRequests + 1) / 2;
  localparam int unsigned Slots = MostRequests + 1;
  request_t first_q;
  short_t even[2*Pairs];
  short_t odd[2*Pairs];
  logic [PortWidth-1:0] port_of_write[2*Slots];

  // ---- Gathering ----

  logic fill_q;                 // the bank that is gathered
  logic [4:0] count_q, data_q;  // requests in it, and their units
  logic [3:0] writes_q;         // those of them that have units
  logic [2*Ports-1:0] candidates, grant, fits_q;
  logic [4:0] chosen_units, extra;
  logic [PortWidth-1:0] chosen_port;
  request_t chosen;
  logic reads_fit_q, takes, takes_write, closes, straight, frame_valid_q, sending_q, some_q;

  logic [5:0] free_q;           // units that fit, beside those of the pairs with one more request
  logic took_q;

  // A frame is closed when the one before it is on its way. What fits is known a cycle before: of reads with one more that may
  // be taken in that cycle, of a write after two cycles in which nothing was taken, or when a new bank begins.
  assign closes = some_q && !frame_valid_q && !sending_q;
  for (genvar i = 0; i < Ports; i++) begin : gen_candidate
    assign candidates[2*i] = req_valid_i[2*i] && reads_fit_q && !closes;
    assign candidates[2*i+1] = fits_q[2*i+1] && !closes;
  end

  consort_class_arbiter #(
      .N(2 * Ports)
  ) i_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(candidates),
      .waits_i(req_valid_i & req_urgent_i),
      .grant_o(grant)
  );

  always_comb begin
    chosen = '0;
    chosen_units = '0;
    chosen_port = '0;
    takes_write = 1'b0;
    for (int unsigned i = 0; i < 2 * Ports; i++) begin
      if (grant[i]) begin
        chosen = chosen | req_i[i];
        chosen_units = chosen_units | req_units_i[i];
        chosen_port = chosen_port | PortWidth'(i / 2);
      end
      if (i % 2 == 1) takes_write = takes_write || grant[i];
    end
  end
  assign straight = !some_q && !frame_valid_q && !sending_q && grant != '0 && !takes_write;
  assign takes = grant != '0 && !straight;
  assign req_ready_o = grant;
  assign extra = count_q - 5'd1;  // extra requests before this one, where it is one

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q <= 1'b0;
      count_q <= '0;
      some_q <= 1'b0;
      data_q <= '0;
      writes_q <= '0;
      reads_fit_q <= 1'b0;
      took_q <= 1'b0;
      free_q <= '0;
      fits_q <= '0;
    end else begin
      if (closes) begin
        fill_q <= ~fill_q;
        count_q <= '0;
        some_q <= 1'b0;
        data_q <= '0;
        writes_q <= '0;
      end else if (takes) begin
        count_q <= count_q + 5'd1;
        some_q <= 1'b1;
        data_q <= data_q + chosen_units;
        writes_q <= writes_q + 4'(takes_write);
      end
      took_q <= takes;
      free_q <= GatherUnits - {1'b0, data_q} - 6'((count_q + 5'd1) >> 1);
      reads_fit_q <= closes || (!takes_write && count_q < 5'(MaxRequests - 1) &&
          {1'b0, data_q} + 6'((count_q + 5'd2) >> 1) <= GatherUnits);
      for (int unsigned i = 0; i < 2 * Ports; i++) begin
        fits_q[i] <= req_valid_i[i] && (closes || (grant == '0 && !took_q && (!some_q ||
            (count_q < 5'(MaxRequests) && !free_q[5] && {1'b0, req_units_i[i]} <= free_q))));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) begin
      if (!some_q) first_q <= chosen;
      if (extra[0]) odd[{fill_q, extra[3:1]}] <= short_of(chosen);
      else even[{fill_q, extra[3:1]}] <= short_of(chosen);
      if (takes_write) port_of_write[{fill_q, writes_q}] <= chosen_port;
    end
  end

  // ---- Upper bits of offsets ----

  logic highs;                            // some of the bank that is closed
  logic [BeatWidth-1:0] highs_of_frame;   // of the frame that is sent

  if (HighWidth > 0) begin : gen_high
    logic [BeatWidth-1:0] filled_q, sent_q;
    logic some_high_q;
    always_ff @(posedge clk_i) begin
      if (takes) begin
        if (!some_q) filled_q <= BeatWidth'(high_of(chosen));
        else filled_q[HighWidth*count_q+:HighWidth] <= high_of(chosen);
        some_high_q <= (some_high_q && some_q) || high_of(chosen) != '0;
      end
      if (closes) sent_q <= filled_q;
    end
    // A read alone in its frame has them in the header.
    assign highs = some_high_q && (count_q != 5'd1 || data_q != '0);
    assign highs_of_frame = sent_q;
  end else begin : gen_low
    assign highs = 1'b0;
    assign highs_of_frame = '0;
  end

  // ---- The frame ----

  logic [MetaWidth-1:0] frame_meta_q;
  logic [4:0] frame_units_q;
  logic frame_taken;

  assign frame_valid_o = frame_valid_q && up_i;
  assign frame_meta_o = frame_meta_q;
  assign frame_units_o = frame_units_q;
  assign frame_taken = frame_valid_q && (frame_ready_i || !up_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) frame_valid_q <= 1'b0;
    else if (closes || straight) frame_valid_q <= 1'b1;
    else if (frame_taken) frame_valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (!frame_valid_q) begin
      frame_meta_q  <= !some_q ? lone_read(chosen) : HighWidth > 0 && count_q == 5'd1 && data_q == '0 ? lone_read(first_q) :
          {extra[3:0], 3'd0, highs, short_of(first_q)};
      frame_units_q <= some_q ? (count_q >> 1) + data_q + 5'(highs) : '0;
    end
  end

  // ---- Its units ----

  logic unit_push, unit_room, data_valid, pairs_now_q, half_pair_q, last_pair_q, data_last_q, data_some_q;
  logic highs_now_q, pairs_some_q;
  logic [4:0] pairs_left_q, data_left_q;
  logic [2:0] pair_q;
  logic [3:0] slot_q;
  logic [PortWidth-1:0] port;
  logic [BeatWidth-1:0] pair, data, unit;
  logic data_ends;

  assign port = Ports > 1 ? port_of_write[{~fill_q, slot_q}] : '0;
  assign pair = {
    half_pair_q && last_pair_q ? short_t'('0) : odd[{~fill_q, pair_q}], even[{~fill_q, pair_q}]
  };

  always_comb begin
    data = '0;
    data_valid = 1'b0;
    data_ends = 1'b0;
    unit_ready_o = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (port == PortWidth'(i)) begin
        data = unit_i[i];
        data_valid = unit_valid_i[i];
        data_ends = unit_last_i[i];
        unit_ready_o[i] = sending_q && !highs_now_q && !pairs_now_q && unit_room;
      end
    end
  end
  assign unit = highs_now_q ? highs_of_frame : pairs_now_q ? pair : data;
  assign unit_push = sending_q && (highs_now_q || pairs_now_q || data_valid);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sending_q <= 1'b0;
      highs_now_q <= 1'b0;
      pairs_now_q <= 1'b0;
      pairs_some_q <= 1'b0;
      pair_q <= '0;
      pairs_left_q <= '0;
      last_pair_q <= 1'b0;
      half_pair_q <= 1'b0;
      data_left_q <= '0;
      data_last_q <= 1'b0;
      data_some_q <= 1'b0;
      slot_q <= '0;
    end else if (closes) begin
      sending_q <= count_q != 5'd1 || data_q != '0;
      highs_now_q <= highs;
      pairs_now_q <= count_q != 5'd1 && !highs;
      pairs_some_q <= count_q != 5'd1;
      pair_q <= '0;
      pairs_left_q <= count_q >> 1;
      last_pair_q <= count_q >> 1 == 5'd1;
      half_pair_q <= !count_q[0];
      data_left_q <= data_q;
      data_last_q <= data_q == 5'd1;
      data_some_q <= data_q != '0;
      slot_q <= '0;
    end else if (unit_push && unit_room) begin
      if (highs_now_q) begin
        highs_now_q <= 1'b0;
        pairs_now_q <= pairs_some_q;
      end else if (pairs_now_q) begin
        pair_q <= pair_q + 3'd1;
        pairs_left_q <= pairs_left_q - 5'd1;
        last_pair_q <= pairs_left_q == 5'd2;
        if (last_pair_q) begin
          pairs_now_q <= 1'b0;
          sending_q <= data_some_q;
        end
      end else begin
        if (data_ends) slot_q <= slot_q + 4'd1;
        data_left_q <= data_left_q - 5'd1;
        data_last_q <= data_left_q == 5'd2;
        if (data_last_q) sending_q <= 1'b0;
      end
    end
  end

  consort_fifo #(
      .T(logic [BeatWidth-1:0]),
      .Depth(4)
  ) i_units (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(unit),
      .valid_i(unit_push),
      .ready_o(unit_room),
      .data_o(frame_unit_o),
      .valid_o(frame_unit_valid_o),
      .ready_i(frame_unit_ready_i || !up_i)
  );
endmodule
