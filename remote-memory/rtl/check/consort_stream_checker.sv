// SPDX-License-Identifier: Apache-2.0
// A stream with valid and ready: what is shown stays, unchanged, until it is taken.
module consort_stream_checker #(
    parameter int unsigned Width = 1,
    parameter string       Name = "stream"
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             clear_i,  // what is shown may go
    input logic             valid_i,
    input logic             ready_i,
    input logic [Width-1:0] data_i
);
  logic waits_q;
  logic [Width-1:0] data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waits_q <= 1'b0;
    else waits_q <= valid_i && !ready_i && !clear_i;
  end
  always_ff @(posedge clk_i) data_q <= data_i;

  always_ff @(posedge clk_i) begin
    if (waits_q && !clear_i) begin
      valid_stays : assert (valid_i) else $error("%s: valid went before ready", Name);
      data_stays : assert (!valid_i || data_i == data_q) else $error("%s: changed before ready", Name);
    end
  end
endmodule
