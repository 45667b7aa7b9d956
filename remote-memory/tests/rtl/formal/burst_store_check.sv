// SPDX-License-Identifier: Apache-2.0
// The store of writes with data that do not come before their address is shown, which need not be taken: an address is shown exactly when all data of its write
// have come, so who takes it never waits for them; addresses and data come out as they went in (a FIFO each, proven apart); and
// what is shown stays until it is taken.
module burst_store_check
  import consort_remote_pkg::*;
(
    input logic       clk,
    input logic       rst_n,
    input axi_a_t     aw,
    input logic [1:0] aw_to,
    input logic       aw_valid,
    input axi_w_t     w,
    input logic       w_valid,
    input logic       aw_ready_out,
    input logic       w_ready_out,
    input logic       mark          // follow the write whose address goes in now
);
  logic aw_ready, w_ready, aw_valid_out, w_valid_out;
  axi_a_t aw_out;
  logic [1:0] aw_to_out;
  axi_w_t w_out;
  logic past_valid = 1'b0;

  consort_burst_store #(
      .Room(4)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .aw_i(aw), .aw_to_i(aw_to), .aw_valid_i(aw_valid), .aw_ready_o(aw_ready), .w_i(w),
      .w_valid_i(w_valid), .w_ready_o(w_ready), .aw_o(aw_out), .aw_to_o(aw_to_out), .aw_valid_o(aw_valid_out),
      .aw_ready_i(aw_ready_out), .w_o(w_out), .w_valid_o(w_valid_out), .w_ready_i(w_ready_out)
  );

  // For the marked write: how many addresses are still shown before it, and how many bursts of data end
  // before its own has.
  logic follows_q, whole_q;
  logic [2:0] before_q;
  logic signed [3:0] bursts_q;
  logic [2:0] held_q;  // addresses inside
  // Bursts whose end has not come, by the addresses that went in; negative where data are there before their
  // address is.
  logic signed [3:0] open_q;
  axi_a_t aw_q;
  logic [1:0] aw_to_q;
  logic aw_waits_q, w_waits_q;
  axi_a_t aw_shown_q;
  logic [1:0] aw_to_shown_q;
  axi_w_t w_shown_q;
  logic goes_in, goes_out, ends_in;

  logic signed [3:0] still_open;
  assign still_open = open_q - 4'(ends_in);
  assign goes_in = aw_valid && aw_ready;
  assign goes_out = aw_valid_out && aw_ready_out;
  assign ends_in = w_valid && w_ready && w.last;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    aw_shown_q <= aw_out;
    aw_to_shown_q <= aw_to_out;
    w_shown_q <= w_out;
    if (!rst_n) begin
      {follows_q, whole_q, aw_waits_q, w_waits_q} <= '0;
      held_q <= '0;
      open_q <= '0;
    end else begin
      aw_waits_q <= aw_valid_out && !aw_ready_out;
      w_waits_q <= w_valid_out && !w_ready_out;
      held_q <= held_q + 3'(goes_in) - 3'(goes_out);
      open_q <= open_q + 4'(goes_in) - 4'(ends_in);
      if (!follows_q && mark && goes_in) begin
        follows_q <= 1'b1;
        before_q <= held_q - 3'(goes_out);
        bursts_q <= still_open;
        whole_q <= still_open < 0;
        aw_q <= aw;
        aw_to_q <= aw_to;
      end else if (follows_q) begin
        if (goes_out) begin
          before_q <= before_q - 3'd1;
          if (before_q == '0) follows_q <= 1'b0;
        end
        if (ends_in && !whole_q) begin
          bursts_q <= bursts_q - 4'd1;
          if (bursts_q == '0) whole_q <= 1'b1;
        end
      end
    end
  end

  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    // Data follow their address.
    if (past_valid && rst_n && w_valid) assume (open_q > 0 || (open_q == 0 && aw_valid));
    if (past_valid && rst_n && open_q < 0) assume (aw_valid);
  end

  logic [2:0] place;
  assign place = dut.i_addresses.read_q + before_q;

  always_comb begin
    if (past_valid && rst_n) begin
      if (aw_waits_q) assert (aw_valid_out && {aw_out, aw_to_out} == {aw_shown_q, aw_to_shown_q});
      if (w_waits_q) assert (w_valid_out && w_out == w_shown_q);
      if (follows_q && before_q == '0) begin
        assert (aw_valid_out == whole_q);
        if (aw_valid_out) assert ({aw_out, aw_to_out} == {aw_q, aw_to_q});
      end
`ifdef PROVE
      // About its state.
      assert (held_q <= 3'd4 && open_q >= -1 && open_q <= $signed({1'b0, held_q}));
      assert (dut.whole_q == 3'($signed({1'b0, held_q}) - open_q));
      for (int i = 0; i < 2; i++) begin
        assert (i == 0 ? dut.i_addresses.write_q - dut.i_addresses.read_q == held_q
                       : dut.i_data.write_q - dut.i_data.read_q <= 3'd4);
      end
      assert (dut.i_addresses.valid_o == (held_q != '0));
      assert (dut.i_addresses.ready_o == (held_q != 3'd4));
      assert (dut.i_addresses.one_q == (held_q == 3'd1));
      assert (dut.i_addresses.one_left_q == (held_q == 3'd3));
      assert (dut.i_data.valid_o == (dut.i_data.write_q != dut.i_data.read_q));
      assert (dut.i_data.ready_o == (dut.i_data.write_q - dut.i_data.read_q != 3'd4));
      assert (dut.i_data.one_q == (dut.i_data.write_q - dut.i_data.read_q == 3'd1));
      assert (dut.i_data.one_left_q == (dut.i_data.write_q - dut.i_data.read_q == 3'd3));
      if (w_waits_q) assert (w_shown_q == dut.i_data.memory[dut.i_data.read_q[1:0]]);
      if (follows_q) begin
        assert (before_q < held_q);
        assert (whole_q ? before_q < dut.whole_q : bursts_q >= 0 && bursts_q < open_q && before_q == dut.whole_q + bursts_q[2:0]);
        assert (dut.i_addresses.memory[place[1:0]] == {aw_to_q, aw_q});
      end
`endif
    end
  end
endmodule
