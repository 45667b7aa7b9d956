// SPDX-License-Identifier: Apache-2.0
// The segment table of one port and direction: which window an address lies in, and what it is at the other end. Two steps:
// comparisons and offsets in the cycle that load_i is in, the choice after it. Of windows that overlap the first one counts.
// Interface: addr_i with load_i; the answer in the next cycle, until the next load_i.
// Parameters: Windows; Links; Write, which rights count.
// Throughput: an address a cycle.
// Latency: one cycle.
// Assumes: a window that is moved is closed first.
// Held by: proof tests/rtl/formal/window_table_check.sv, tests/rtl/test_proofs.py.
module consort_window_table
  import consort_remote_pkg::*;
#(
    parameter int unsigned Windows = 8,
    parameter int unsigned Links   = 1,
    parameter bit          Write   = 1'b0
) (
    input  logic                       clk_i,
    input  window_t                    windows_i[Windows],
    input  logic [3:0]           up_i,
    input  logic [AddrWidth-1:0]       addr_i,
    input  logic                       load_i,
    output logic                       mapped_o,   // else the answer is DECERR
    output logic                       allowed_o,  // else SLVERR; also while the link is down
    output logic                       rights_o,   // the window allows it
    output logic [Windows-1:0]         window_o,   // one of them, or none
    output logic [1:0]                 link_o,
    output handle_t                    handle_o,
    output logic [OffsetWidth-1:0]     offset_o
);
  logic [Windows-1:0] hits, first;
  logic [OffsetWidth-13:0] pages_q[Windows], page;
  logic [11:0] low_q;
  window_t window;

  for (genvar i = 0; i < Windows; i++) begin : gen_hit
    assign hits[i] = windows_i[i].valid && addr_i[AddrWidth-1:12] >= windows_i[i].first &&
        addr_i[AddrWidth-1:12] <= windows_i[i].last;
  end
  assign first = hits & (~hits + 1'b1);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      window_o <= first;
      low_q <= addr_i[11:0];
      for (int unsigned i = 0; i < Windows; i++) begin
        pages_q[i] <= addr_i[OffsetWidth-1:12] - windows_i[i].first[OffsetWidth-13:0];
      end
    end
  end

  always_comb begin
    window = '0;
    page = '0;
    for (int unsigned i = 0; i < Windows; i++) begin
      if (window_o[i]) window = window | windows_i[i];
      if (window_o[i]) page = page | pages_q[i];
    end
  end

  // A window that was closed between the two steps, or lost its rights, is no longer there. The address lies in it as it
  // was at the first step: to move a window is to close it first.
  assign mapped_o = window.valid;
  assign rights_o = (Write ? window.writable : window.readable);
  assign allowed_o = rights_o && up_i[Links > 1 ? window.link : 2'd0];
  assign link_o = Links > 1 ? window.link : 2'd0;
  assign handle_o = window.handle;
  assign offset_o = {page, low_q};
endmodule
