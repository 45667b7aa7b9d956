// SPDX-License-Identifier: Apache-2.0
// The FIFO between two clocks, which rise whenever the solver likes: any word that went in comes out as it was, in its place, once. Nothing is
// taken where there is no room and nothing shown where there is nothing. Of what crosses from one clock to the other one bit changes at a time:
// on that the synchronisers rest. From the reset on, of which all registers are zero.
module fifo_cdc_check (
    input logic       write_clk,
    input logic       read_clk,
    input logic [3:0] data_in,
    input logic       valid_in,
    input logic       ready_out,
    input logic       mark        // follow the word that goes in now
);
  localparam int unsigned Depth = 4;
  logic ready_in, valid_out;
  logic [3:0] data_out;

  consort_fifo_cdc #(
      .Width(4),
      .Depth(Depth)
  ) dut (
      .write_clk_i(write_clk), .write_rst_ni(1'b1), .data_i(data_in), .valid_i(valid_in), .ready_o(ready_in),
      .read_clk_i(read_clk), .read_rst_ni(1'b1), .data_o(data_out), .valid_o(valid_out), .ready_i(ready_out)
  );

  // The first word that is marked, its place among all, and whether it came out. Places are counted apart.
  logic marked_q, done_q;
  logic [3:0] word_q;
  logic [2:0] place_q, in_q, out_q;
  logic [2:0] write_before_q, read_before_q;

  always_ff @(posedge write_clk) begin
    write_before_q <= dut.write_gray_q;
    if (valid_in && ready_in) in_q <= in_q + 3'd1;
    if (valid_in && ready_in && mark && !marked_q) begin
      marked_q <= 1'b1;
      word_q   <= data_in;
      place_q  <= in_q;
    end
  end
  always_ff @(posedge read_clk) begin
    read_before_q <= dut.read_gray_q;
    if (valid_out && ready_out) begin
      out_q <= out_q + 3'd1;
      if (marked_q && out_q == place_q) done_q <= 1'b1;
    end
  end

  function automatic logic one_bit(logic [2:0] changed);
    return (changed & (changed - 3'd1)) == '0;
  endfunction

  logic [2:0] held, left;
  assign held = in_q - out_q;
  assign left = in_q - place_q;

  always_comb begin
    assert (held <= 3'(Depth));
    if (held == 3'(Depth)) assert (!ready_in);
    if (held == '0) assert (!valid_out);
    if (marked_q && !done_q) begin
      assert (left != '0 && left <= held);
      if (out_q == place_q && valid_out) assert (data_out == word_q);
    end
    assert (one_bit(dut.write_gray_q ^ write_before_q));
    assert (one_bit(dut.read_gray_q ^ read_before_q));
  end

`ifdef PROVE
  // About its state: what each side saw of the other's pointer lies between where that is and where it was full or empty.
  function automatic logic [2:0] plain(logic [2:0] gray);
    return {gray[2], gray[2] ^ gray[1], gray[2] ^ gray[1] ^ gray[0]};
  endfunction
  function automatic logic [4:0] from(logic [2:0] a, logic [2:0] b);
    return 5'(3'(a - b));
  endfunction

  logic [2:0] w, r, ws0, ws1, rs0, rs1;
  assign w = dut.write_q;
  assign r = dut.read_q;
  assign ws0 = plain(dut.write_seen_q[0]);
  assign ws1 = plain(dut.write_seen_q[1]);
  assign rs0 = plain(dut.read_seen_q[0]);
  assign rs1 = plain(dut.read_seen_q[1]);

  always_comb begin
    assert (w == in_q && r == out_q);
    assert (dut.write_gray_q == (w ^ (w >> 1)));
    assert (dut.read_gray_q == (r ^ (r >> 1)));
    assert (from(w, rs1) <= 5'(Depth));
    assert (from(w, r) + from(r, rs0) + from(rs0, rs1) == from(w, rs1));
    assert (from(w, ws0) + from(ws0, ws1) + from(ws1, r) == from(w, r));
    assert (from(w, plain(write_before_q)) <= 5'd1 && from(r, plain(read_before_q)) <= 5'd1);
    if (marked_q && !done_q) assert (dut.memory[place_q[1:0]] == word_q);
  end
`endif
endmodule
