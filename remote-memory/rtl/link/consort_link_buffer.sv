// SPDX-License-Identifier: Apache-2.0
// Keeps what a link received until its user takes it: the frames' contents and their units.
//
// units are written as they come and count only when their frame is accepted; else they are taken back. Frames that wait lie in a
// FIFO; one that finds none before it passes the FIFO by.
// Interface: unit_* and end_i, accept_i from the receiver; frame_* and rx_unit_* to the user, as streams.
// Parameters: Depth in units and Heads in frames, both powers of two; of units, three of the longest frames stay free.
// Throughput: a unit a cycle in and out; a frame a cycle.
// Latency: a frame shows in the cycle in which it is accepted, its first unit a cycle later.
// Assumes: units of a frame come before its end_i; of no frame more than MaxUnits.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py); its FIFO by the proof of consort_fifo_head.
module consort_link_buffer
  import consort_remote_pkg::*;
#(
    parameter int unsigned Depth = 512,
    parameter int unsigned Heads = 128
) (
    input logic clk_i,
    input logic rst_ni,
    input logic up_i,

    input  logic                 unit_valid_i,
    input  logic [BeatWidth-1:0] unit_i,
    input  logic                 end_i,
    input  logic                 accept_i,
    input  header_t              end_header_i,
    input  logic [31:0]          end_meta_i,
    output logic                 room_o,        // for three of the longest frames
    output logic                 head_ready_o,

    output logic                 waited_o,
    output logic [MetaWidth-1:0] arriving_meta_o,
    output logic [MetaWidth-1:0] meta_o,
    output logic [4:0]           units_o,
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic [BeatWidth-1:0] rx_unit_o,
    output logic                 rx_unit_valid_o,
    input  logic                 rx_unit_ready_i
);
  localparam int unsigned RxPtr = $clog2(Depth);

  // Written, counted, read out of the RAM, and shown to the user.
  logic [RxPtr:0] rx_spec_q, rx_commit_q, rx_read_q, rx_shown_q;
  logic [RxPtr:0] rx_used;
  logic [BeatWidth-1:0] rx_ram[Depth];

  assign rx_used = rx_commit_q - rx_shown_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_spec_q   <= '0;
      rx_commit_q <= '0;
      room_o      <= 1'b0;
    end else begin
      // Two frames may be on their way between this look at the room and their writes.
      room_o <= rx_used <= (RxPtr + 1)'(Depth - 3 * MaxUnits);
      if (end_i) begin
        if (accept_i) rx_commit_q <= rx_spec_q;
        else rx_spec_q <= rx_commit_q;
      end
      if (unit_valid_i) rx_spec_q <= rx_spec_q + 1'b1;
      if (!up_i) begin
        rx_spec_q   <= '0;
        rx_commit_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (unit_valid_i) rx_ram[rx_spec_q[RxPtr-1:0]] <= unit_i;
  end

  // A frame that finds none before it passes them by.
  logic [MetaWidth+4:0] head_in, head_out;
  logic heads_some, unused;
  assign head_in = {end_header_i.units, end_header_i.meta, end_meta_i};
  assign {units_o, meta_o} = heads_some ? head_out : head_in;
  assign valid_o = heads_some || accept_i;
  assign waited_o = heads_some;
  assign arriving_meta_o = head_in[MetaWidth-1:0];

  consort_fifo_head #(
      .T(logic [MetaWidth+4:0]),
      .Depth(Heads)
  ) i_heads (
      .clk_i,
      .rst_ni,
      .clear_i(!up_i),
      .data_i(head_in),
      .valid_i(accept_i && (heads_some || !ready_i)),
      .ready_o(head_ready_o),
      .data_o(head_out),
      .valid_o(heads_some),
      .one_o(unused),
      .ready_i(ready_i)
  );

  // A block RAM gives its word late in a cycle: a register behind it shows the next unit, so its user has the whole cycle. The RAM is read
  // before the unit counts, and what was read of a frame that is not accepted is forgotten: so a unit shows a cycle after its frame.
  logic unit_valid_q, behind_q, counts, rejects, moves, fetch, forgets;
  logic [BeatWidth-1:0] behind;
  assign rx_unit_valid_o = unit_valid_q;
  assign rejects = end_i && !accept_i;
  // Whether a frame is accepted is known late. As sums of bits the comparisons stay apart before that; as comparisons a synthesis tool makes one of
  // both, behind it.
  assign counts = accept_i ? |(rx_shown_q ^ rx_spec_q) : |(rx_shown_q ^ rx_commit_q);
  assign moves = behind_q && counts && (!unit_valid_q || rx_unit_ready_i);
  assign fetch = (rejects ? |(rx_read_q ^ rx_commit_q) : |(rx_read_q ^ rx_spec_q)) && (!behind_q || moves);
  assign forgets = rejects && behind_q && rx_shown_q == rx_commit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_read_q <= '0;
      rx_shown_q <= '0;
      behind_q <= 1'b0;
      unit_valid_q <= 1'b0;
    end else if (!up_i) begin
      rx_read_q <= '0;
      rx_shown_q <= '0;
      behind_q <= 1'b0;
      unit_valid_q <= 1'b0;
    end else begin
      if (moves) rx_shown_q <= rx_shown_q + 1'b1;
      if (forgets) rx_read_q <= rx_commit_q;
      else if (fetch) rx_read_q <= rx_read_q + 1'b1;
      behind_q <= !forgets && (fetch || (behind_q && !moves));
      unit_valid_q <= moves || (unit_valid_q && !rx_unit_ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetch) behind <= rx_ram[rx_read_q[RxPtr-1:0]];
    if (moves) rx_unit_o <= behind;
  end
endmodule
