// SPDX-License-Identifier: Apache-2.0
// Holds a write back until all its data are there: a memory that has taken its address never waits for a link, on which
// the data may be behind a write that waits for that memory.
// Interface: addresses and data of writes in, and out.
// Parameters: Room for data in beats, a power of two, at least 256.
// Throughput: a beat a cycle.
// Latency: an address shows when its last data have come.
// Assumes: data do not come before their address is shown.
// Held by: proof remote-memory/tests/rtl/formal/burst_store_check.sv, remote-memory/tests/rtl/test_proofs.py.
module consort_burst_store
  import consort_remote_pkg::*;
#(
    parameter int unsigned Room = 256  // beats, a power of two; a burst has up to 256
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  axi_a_t     aw_i,
    input  logic [1:0] aw_to_i,
    input  logic       aw_valid_i,
    output logic       aw_ready_o,
    input  axi_w_t     w_i,
    input  logic       w_valid_i,
    output logic       w_ready_o,
    output axi_a_t     aw_o,
    output logic [1:0] aw_to_o,
    output logic       aw_valid_o,
    input  logic       aw_ready_i,
    output axi_w_t     w_o,
    output logic       w_valid_o,
    input  logic       w_ready_i
);
  localparam int unsigned CountWidth = $clog2(Room) + 1;

  logic [CountWidth-1:0] whole_q;  // writes whose data are all there and whose address is not taken
  logic there;

  assign aw_valid_o = there && whole_q != '0;

  consort_fifo #(
      .T(logic [$bits(axi_a_t)+1:0]),
      .Depth(4)
  ) i_addresses (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i({aw_to_i, aw_i}),
      .valid_i(aw_valid_i),
      .ready_o(aw_ready_o),
      .data_o({aw_to_o, aw_o}),
      .valid_o(there),
      .ready_i(aw_ready_i && whole_q != '0)
  );

  consort_fifo #(
      .T(axi_w_t),
      .Depth(Room)
  ) i_data (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .data_i(w_i),
      .valid_i(w_valid_i),
      .ready_o(w_ready_o),
      .data_o(w_o),
      .valid_o(w_valid_o),
      .ready_i(w_ready_i)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) whole_q <= '0;
    else whole_q <= whole_q + CountWidth'(w_valid_i && w_ready_o && w_i.last) - CountWidth'(aw_valid_o && aw_ready_i);
  end
endmodule
