// SPDX-License-Identifier: Apache-2.0
// A flag for each tag, in distributed RAM: one user sets them and another clears them, each at a place of its own. Each writes
// its own half, and a flag is set where the halves differ. They must not change the same flag in one cycle. A flag is not known
// before it was set or cleared.
module tag_flags #(
    parameter int unsigned Width = 6
) (
    input  logic             clk_i,
    input  logic             set_i,
    input  logic [Width-1:0] set_index_i,
    input  logic             clear_i,
    input  logic [Width-1:0] clear_index_i,
    input  logic [Width-1:0] index_i,
    output logic             flag_o
);
  logic sets[2**Width];
  logic clears[2**Width];

  assign flag_o = sets[index_i] != clears[index_i];

  always_ff @(posedge clk_i) begin
    if (set_i) sets[set_index_i] <= !clears[set_index_i];
    if (clear_i) clears[clear_index_i] <= sets[clear_index_i];
  end
endmodule
