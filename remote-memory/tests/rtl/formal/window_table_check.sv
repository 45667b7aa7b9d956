// SPDX-License-Identifier: Apache-2.0
// The segment table against a plain reading of it: with a table that stays as it is, an address is mapped exactly when a
// valid window holds it, and then what is shown is the first such window's; one outside of all is never allowed through. A
// table that changes between the two steps never gives rights that no window has now.
module window_table_check
  import consort_remote_pkg::*;
(
    input logic                 clk,
    input logic                 rst_n,
    input window_t              windows_0,
    input window_t              windows_1,
    input logic [3:0]           up,
    input logic [AddrWidth-1:0] addr,
    input logic                 load
);
  localparam int unsigned Windows = 2;
  localparam int unsigned Links = 4;
  window_t windows[Windows], earlier[Windows];
  logic mapped, allowed;
  logic [Windows-1:0] window;
  logic [1:0] link;
  handle_t handle;
  logic [OffsetWidth-1:0] offset;
  logic past_valid = 1'b0;

  assign windows[0] = windows_0;
  assign windows[1] = windows_1;

  consort_window_table #(
      .Windows(Windows),
      .Links(Links),
      .Write(1'b1)
  ) dut (
      .clk_i(clk), .windows_i(windows), .up_i(up), .addr_i(addr), .load_i(load), .mapped_o(mapped), .allowed_o(allowed),
      .window_o(window), .link_o(link), .handle_o(handle), .offset_o(offset)
  );

  // The address at hand, and the table when it was looked up.
  logic loaded_q;
  logic [AddrWidth-1:0] addr_q;
  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    if (!rst_n) loaded_q <= 1'b0;
    else if (load) loaded_q <= 1'b1;
    if (load) begin
      addr_q <= addr;
      for (int i = 0; i < Windows; i++) earlier[i] <= windows[i];
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
  end

  // The first window that holds it, found one after the other.
  logic found, same;
  window_t expected;
  logic [Windows-1:0] one;
  always_comb begin
    found = 1'b0;
    same = 1'b1;
    expected = '0;
    one = '0;
    for (int i = 0; i < Windows; i++) begin
      if (windows[i] != earlier[i]) same = 1'b0;
      if (!found && earlier[i].valid && addr_q[AddrWidth-1:12] >= earlier[i].first &&
          addr_q[AddrWidth-1:12] <= earlier[i].last) begin
        found = 1'b1;
        expected = earlier[i];
        one[i] = 1'b1;
      end
    end
  end

  always_comb begin
    if (past_valid && rst_n && loaded_q) begin
`ifdef PROVE
      // About its state.
      assert (dut.low_q == addr_q[11:0]);
      for (int i = 0; i < Windows; i++) begin
        assert (dut.pages_q[i] == addr_q[OffsetWidth-1:12] - earlier[i].first[OffsetWidth-13:0]);
      end
`endif
      assert (window == one);
      if (same) begin
        assert (mapped == found);
        if (found) begin
          assert (allowed == (expected.writable && up[expected.link]));
          assert (link == expected.link && handle == expected.handle);
          assert (offset == OffsetWidth'(addr_q - {expected.first, 12'h000}));
        end
      end
      if (mapped && allowed) begin
        assert (found);
        for (int i = 0; i < Windows; i++) begin
          if (one[i]) assert (windows[i].valid && windows[i].writable && up[windows[i].link]);
        end
      end
    end
  end
endmodule
