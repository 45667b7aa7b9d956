// SPDX-License-Identifier: Apache-2.0
// Sends the messages of a port's writes, each when the mBlock has room for it, and then their units.
//
// a message is offered when there are credits for its units. Its strobes, where it has some, and its data follow in the order of the
// messages.
// Interface: message_* from the collector; req_* to the framers, of which that of req_link_o takes it; unit_* to the same framer; credit_give_i comes
// back with the answers.
// Parameters: Links; Credits in units.
// Throughput: a unit a cycle; a message in three cycles.
// Latency: a message is offered one cycle after it shows, where there are credits.
// Assumes: data of a message that was taken are there, or come by themselves.
// Held by: the exploration of credits (tests/rtl/test_explore.py), with wrong versions; the proof of consort_credit.
module consort_write_sender
  import consort_remote_pkg::*;
#(
    parameter int unsigned Links   = 1,
    parameter int unsigned Credits = 320,
    localparam int unsigned CreditWidth = $clog2(Credits + 1)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic [9:0]             share_i,        // units that may be out where a message is held
    input  write_message_t         message_i,
    input  logic                   message_valid_i,
    output logic                   message_pop_o,
    input  logic [CreditWidth-1:0] credit_give_i,

    input  logic [255:0]         strobes_i,
    output logic                 strobes_next_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic                 data_valid_i,
    output logic                 data_ready_o,

    output request_t             req_o,
    output logic [4:0]           req_units_o,
    output logic [1:0]           req_link_o,
    output logic                 req_urgent_o,
    output logic                 req_valid_o,
    input  logic                 req_ready_i,
    output logic [BeatWidth-1:0] unit_o,
    output logic                 unit_valid_o,
    output logic                 unit_last_o,
    input  logic                 unit_ready_i
);
  // ---- Messages: sent when the mBlock has room for them ----

  logic [4:0] want_q;
  logic message_pop, credit_enough, enough_q, take_q, same_link, order_ready, order_valid, sending_q;
  logic [1:0] order_link_q;
  logic [CreditWidth-1:0] free;
  logic fits;

  // A message is offered a cycle after it showed first, or later: its units are in the register by then.
  assign req_units_o = want_q;
  assign req_o = message_i.request;
  assign req_link_o = message_i.link;
  assign req_urgent_o = message_i.urgent;
  // Units leave in the order of the messages. Those of another link wait until all before them are out, or two links
  // could wait for each other's.
  assign same_link = Links == 1 || message_i.link == order_link_q || !(order_valid || sending_q);
  assign req_valid_o = message_valid_i && enough_q && same_link && order_ready;
  assign message_pop = req_valid_o && req_ready_i;
  assign message_pop_o = message_pop;

  consort_credit #(
      .Max(Credits)
  ) i_credit (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .want_i(take_q ? CreditWidth'(want_q) : CreditWidth'(message_i.units)),
      .enough_o(credit_enough),
      .free_o(free),
      .take_i(take_q),
      .give_i(credit_give_i)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enough_q <= 1'b0;
      take_q <= 1'b0;
    end else begin
      take_q   <= message_pop;
      enough_q <= message_valid_i && credit_enough && !message_pop && !take_q && fits;
    end
  end

  always_ff @(posedge clk_i) want_q <= message_i.units;

  consort_write_share #(
      .Credits(Credits)
  ) i_share (
      .clk_i,
      .rst_ni,
      .share_i,
      .waits_i(message_valid_i),
      .held_i(message_i.held),
      .most_i(message_i.most),
      .pop_i(message_pop),
      .takes_i(take_q),
      .free_i(free),
      .fits_o(fits)
  );

  // ---- Units ----

  typedef struct packed {
    logic [4:0] beats;
    logic       strobed;
  } order_t;

  order_t order;
  logic order_next, strobing_q, second_q, two_q, last_q;
  logic [4:0] left_q;       // data of the order at hand
  logic taken, pull;

  consort_fifo #(
      .T(order_t),
      .Depth(16)
  ) i_orders (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({message_i.beats, message_i.request.op == OpWriteStrobe}),
      .valid_i(message_pop),
      .ready_o(order_ready),
      .data_o(order),
      .valid_o(order_valid),
      .ready_i(order_next)
  );

  assign unit_valid_o = sending_q && (strobing_q || data_valid_i);
  assign unit_last_o = !strobing_q && last_q;
  assign unit_o = strobing_q ? (second_q ? strobes_i[255:128] : strobes_i[127:0]) : data_i;
  assign taken = unit_valid_o && unit_ready_i;
  assign pull = taken && !strobing_q;
  assign order_next = !sending_q || (pull && last_q);
  assign data_ready_o = pull;
  assign strobes_next_o = pull && last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sending_q <= 1'b0;
      strobing_q <= 1'b0;
      second_q <= 1'b0;
      two_q <= 1'b0;
      last_q <= 1'b0;
      left_q <= '0;
      order_link_q <= '0;
    end else begin
      if (order_next) begin
        sending_q <= order_valid;
        strobing_q <= order.strobed;
        second_q <= 1'b0;
        two_q <= order.beats > 5'd8;
        last_q <= order.beats == 5'd1;
        left_q <= order.beats;
      end else if (taken) begin
        if (strobing_q) begin
          second_q <= 1'b1;
          strobing_q <= two_q && !second_q;
        end else begin
          left_q <= left_q - 1'b1;
          last_q <= left_q == 5'd2;
        end
      end
      if (message_pop) order_link_q <= message_i.link;
    end
  end
endmodule
