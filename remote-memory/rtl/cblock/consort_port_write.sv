// SPDX-License-Identifier: Apache-2.0
// Writes of one AXI4 slave port of the cBlock. A burst is collected in messages of up to 16 beats and sent when one is whole,
// so a master that pauses never holds the link. Acknowledgements go to the master in the order of the addresses.
//
// wires between consort_write_collector (addresses and data), consort_write_sender (credits and units), consort_write_answers (tags and
// answers) and consort_fence.
// Interface: aw, w, b of AXI4; req_* and unit_* to the framers of the links; rsp_* from their parsers; windows and fence from the registers.
// Parameters: Port, Links, Windows; Room and Credits as in its parts.
// Throughput: a beat a cycle; a write of up to 16 beats in three cycles.
// Latency: a write that needs no credits is offered two cycles after its last beat; refused ones are answered within 8 cycles.
// Assumes: the master keeps to AXI4 and sends as many data as it said.
// Held by: the exploration of its credits (tests/rtl/test_explore.py); wrong versions of its parts (tests/rtl/test_wrong_blocks.py).
module consort_port_write
  import consort_remote_pkg::*;
#(
    parameter int unsigned Port     = 0,
    parameter int unsigned Links    = 1,
    parameter int unsigned Windows  = 8,
    parameter int unsigned Room     = 256,  // beats collected and not sent, a power of two
    parameter int unsigned Credits  = 320,  // units that the mBlock keeps room for; a burst has up to 288
    localparam int unsigned CreditWidth = $clog2(Credits + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  window_t               windows_i[Windows],
    input  logic [3:0]      up_i,
    output logic [Windows-1:0]    counted_o,
    input  qos_t                  qos_i,
    input  logic                  fence_i,
    output logic                  fenced_o,      // something from before the fence is not answered yet
    input  axi_a_t                aw_i,
    input  logic                  aw_valid_i,
    output logic                  aw_ready_o,
    input  axi_w_t                w_i,
    input  logic                  w_valid_i,
    output logic                  w_ready_o,
    output axi_b_t                b_o,
    output logic                  b_valid_o,
    input  logic                  b_ready_i,
    output request_t              req_o,
    output logic [4:0]            req_units_o,
    output logic [1:0]            req_link_o,
    output logic                  req_urgent_o,
    output logic                  req_valid_o,
    input  logic                  req_ready_i,
    // The units of the requests taken, in their order.
    output logic [BeatWidth-1:0]  unit_o,
    output logic                  unit_valid_o,
    output logic                  unit_last_o,   // of its request
    input  logic                  unit_ready_i,
    input  logic [1:0]            rsp_link_i,
    input  logic [IndexWidth-1:0] rsp_index_i,
    input  logic [1:0]            rsp_resp_i,
    input  logic                  rsp_valid_i,
    input  logic                  tick_i,
    output logic [3:0]            silent_o,
    output fault_t                fault_o        // of an access that was answered with an error
);
  logic starts, good, mapped, swept, busy, done, message_valid, message_pop, strobes_next, data_valid, data_ready;
  logic [1:0] link;
  logic [IdWidth-1:0] id;
  origin_t origin;
  logic [IndexWidth:0] head, tail, current;
  logic [4:0] done_units;
  write_message_t message;
  logic [255:0] strobes;
  logic [DataWidth-1:0] data;
  logic [CreditWidth-1:0] credit_give;

  consort_write_collector #(
      .Port(Port),
      .Links(Links),
      .Windows(Windows),
      .Room(Room)
  ) i_collector (
      .clk_i,
      .rst_ni,
      .windows_i,
      .up_i,
      .qos_i,
      .counted_o,
      .aw_i,
      .aw_valid_i,
      .aw_ready_o,
      .w_i,
      .w_valid_i,
      .w_ready_o,
      .starts_o(starts),
      .good_o(good),
      .mapped_o(mapped),
      .link_o(link),
      .id_o(id),
      .origin_o(origin),
      .tail_o(tail),
      .head_i(head),
      .swept_i(swept),
      .busy_o(busy),
      .current_o(current),
      .done_o(done),
      .done_units_o(done_units),
      .message_o(message),
      .message_valid_o(message_valid),
      .message_ready_i(message_pop),
      .strobes_o(strobes),
      .strobes_next_i(strobes_next),
      .data_o(data),
      .data_valid_o(data_valid),
      .data_ready_i(data_ready)
  );

  consort_write_sender #(
      .Links(Links),
      .Credits(Credits)
  ) i_sender (
      .clk_i,
      .rst_ni,
      .share_i(qos_i.writes),
      .message_i(message),
      .message_valid_i(message_valid),
      .message_pop_o(message_pop),
      .credit_give_i(credit_give),
      .strobes_i(strobes),
      .strobes_next_o(strobes_next),
      .data_i(data),
      .data_valid_i(data_valid),
      .data_ready_o(data_ready),
      .req_o,
      .req_units_o,
      .req_link_o,
      .req_urgent_o,
      .req_valid_o,
      .req_ready_i,
      .unit_o,
      .unit_valid_o,
      .unit_last_o,
      .unit_ready_i
  );

  consort_write_answers #(
      .Port(Port),
      .Links(Links),
      .Credits(Credits)
  ) i_answers (
      .clk_i,
      .rst_ni,
      .up_i,
      .starts_i(starts),
      .good_i(good),
      .mapped_i(mapped),
      .link_i(link),
      .id_i(id),
      .origin_i(origin),
      .tail_i(tail),
      .head_o(head),
      .swept_o(swept),
      .busy_i(busy),
      .current_i(current),
      .done_i(done),
      .done_units_i(done_units),
      .message_i(message),
      .message_valid_i(message_valid),
      .message_pop_i(message_pop),
      .credit_give_o(credit_give),
      .rsp_link_i,
      .rsp_index_i,
      .rsp_resp_i,
      .rsp_valid_i,
      .tick_i,
      .silent_o,
      .b_o,
      .b_valid_o,
      .b_ready_i,
      .fault_o
  );

  consort_fence #(
      .Width(IndexWidth + 1)
  ) i_fence (
      .clk_i,
      .rst_ni,
      .set_i(fence_i),
      .begins_i(starts),
      .head_i(head),
      .tail_i(tail),
      .waits_o(fenced_o)
  );
endmodule
