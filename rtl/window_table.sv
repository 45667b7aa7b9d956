// SPDX-License-Identifier: Apache-2.0
// The segment table of one port and direction: which window an address lies in, and what it is at the other end. Two steps:
// comparisons in the cycle that load_i is in, the rest of them after it. Of windows that overlap the first one counts.
module window_table
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
    output logic [Windows-1:0]         window_o,   // one of them, or none
    output logic [1:0]                 link_o,
    output handle_t                    handle_o,
    output logic [OffsetWidth-1:0]     offset_o
);
  logic [Windows-1:0] hits, first;
  logic [AddrWidth-1:0] addr_q;
  window_t window;

  for (genvar i = 0; i < Windows; i++) begin : gen_hit
    assign hits[i] = windows_i[i].valid && addr_i[AddrWidth-1:12] >= windows_i[i].first &&
        addr_i[AddrWidth-1:12] <= windows_i[i].last;
  end
  assign first = hits & (~hits + 1'b1);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      window_o <= first;
      addr_q   <= addr_i;
    end
  end

  always_comb begin
    window = '0;
    for (int unsigned i = 0; i < Windows; i++) begin
      if (window_o[i]) window = window | windows_i[i];
    end
  end

  // A window that was closed or moved between the two steps is no longer there.
  assign mapped_o = window_o != '0 && window.valid && addr_q[AddrWidth-1:12] >= window.first;
  assign allowed_o = (Write ? window.writable : window.readable) && up_i[Links > 1 ? window.link : 2'd0];
  assign link_o = Links > 1 ? window.link : 2'd0;
  assign handle_o = window.handle;
  assign offset_o = OffsetWidth'(addr_q - {window.first, 12'd0});
endmodule
