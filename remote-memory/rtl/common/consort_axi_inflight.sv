// SPDX-License-Identifier: Apache-2.0
// Which of the accesses under way an answer is of: the oldest with its id. Accesses of one id are a list, from the oldest to the youngest,
// so answers of other ids may come between those of one in any order, as AXI4 allows.
// Interface: an access begins (push_*), an id is looked up (find_*), the access that was found ends (pop_i).
// Parameters: Entries, accesses under way at once.
// Throughput: one begins, one is looked up and one ends in each cycle.
// Latency: none for the one that is looked up; an access that began can be found in the next cycle.
// Assumes: nothing begins without room, and nothing ends that was not found.
// Held by: proof tests/rtl/formal/axi_inflight_check.sv, tests/rtl/test_proofs.py; tests/rtl/test_widths.py.
module consort_axi_inflight
  import consort_remote_pkg::*;
#(
    parameter int unsigned Entries = 32,
    localparam int unsigned Index = $clog2(Entries)
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    output logic               room_o,
    input  logic               push_i,
    input  logic [IdWidth-1:0] push_id_i,
    output logic [Index-1:0]   push_index_o,  // the place that it gets
    input  logic [IdWidth-1:0] find_id_i,
    output logic               found_o,
    output logic [Index-1:0]   find_index_o,
    input  logic               pop_i
);
  logic [Entries-1:0] used_q, oldest_q, youngest_q;  // of those with the same id
  logic [Entries-1:0] earlier, found;                 // the youngest with the id of the one that begins; the oldest
  logic [IdWidth-1:0] id_q[Entries];
  logic [Index-1:0] next_q[Entries];
  logic [Index-1:0] before_index;
  logic before_none;

  assign room_o  = used_q != '1;
  assign found_o = found != '0;
  assign before_none = earlier == '0;

  always_comb begin
    push_index_o = '0;
    before_index = '0;
    find_index_o = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      earlier[i] = used_q[i] && youngest_q[i] && id_q[i] == push_id_i;
      found[i]  = used_q[i] && oldest_q[i] && id_q[i] == find_id_i;
      if (!used_q[i]) push_index_o = Index'(i);
      if (earlier[i]) before_index = before_index | Index'(i);
      if (found[i]) find_index_o = find_index_o | Index'(i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      oldest_q <= '0;
      youngest_q <= '0;
    end else begin
      if (pop_i) begin
        used_q[find_index_o] <= 1'b0;
        if (!youngest_q[find_index_o]) oldest_q[next_q[find_index_o]] <= 1'b1;
      end
      if (push_i) begin
        used_q[push_index_o] <= 1'b1;
        // Also where the only one before it ends just now.
        oldest_q[push_index_o] <= before_none || (pop_i && earlier == found);
        youngest_q[push_index_o] <= 1'b1;
        if (!before_none) youngest_q[before_index] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      id_q[push_index_o] <= push_id_i;
      if (!before_none) next_q[before_index] <= push_index_o;
    end
  end
endmodule
