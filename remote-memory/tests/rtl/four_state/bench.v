// SPDX-License-Identifier: Apache-2.0
// One write, one read and one refused read through a pair of blocks whose registers and RAMs hold nothing known at power-up. All
// handshakes are known in every cycle after the reset, all that is shown with a valid is known, and the data come back.
`timescale 1ns / 1ps
module bench;
  reg clk = 0, rst_n = 0;
  always #1 clk = !clk;

  // Formats as consort_remote_pkg has them: {addr, id, len, size, burst, lock, cache, prot, qos} and so on.
  reg [80:0] s_aw = 0, s_ar = 0;
  reg [144:0] s_w = 0;
  reg s_aw_valid = 0, s_w_valid = 0, s_ar_valid = 0;
  wire s_aw_ready, s_w_ready, s_b_valid, s_ar_ready, s_r_valid;
  wire [17:0] s_b;
  wire [146:0] s_r;
  wire [80:0] m_aw, m_ar;
  wire [144:0] m_w;
  wire m_aw_valid, m_w_valid, m_b_ready, m_ar_valid, m_r_ready;
  reg m_b_valid = 0, m_r_valid = 0;
  reg [17:0] m_b = 0;
  reg [146:0] m_r = 0;
  reg [11:0] c_addr = 0, m_addr = 0;
  reg [31:0] wdata = 0;
  reg c_awvalid = 0, m_awvalid = 0, c_wvalid = 0, m_wvalid = 0, c_arvalid = 0;
  wire c_awready, c_wready, c_bvalid, c_arready, c_rvalid, m_awready, m_wready, m_bvalid, m_arready, m_rvalid;
  wire [31:0] c_rdata, m_rdata;
  wire c_irq, m_irq;
  wire [1:0] c_bresp, m_bresp, c_rresp, m_rresp;

  `PAIR pair (
      .clk_i(clk), .rst_ni(rst_n),
      .s_aw_i(s_aw), .s_aw_valid_i(s_aw_valid), .s_aw_ready_o(s_aw_ready), .s_w_i(s_w), .s_w_valid_i(s_w_valid),
      .s_w_ready_o(s_w_ready), .s_b_o(s_b), .s_b_valid_o(s_b_valid), .s_b_ready_i(1'b1), .s_ar_i(s_ar),
      .s_ar_valid_i(s_ar_valid), .s_ar_ready_o(s_ar_ready), .s_r_o(s_r), .s_r_valid_o(s_r_valid), .s_r_ready_i(1'b1),
      .m_aw_o(m_aw), .m_aw_valid_o(m_aw_valid), .m_aw_ready_i(1'b1), .m_w_o(m_w), .m_w_valid_o(m_w_valid),
      .m_w_ready_i(1'b1), .m_b_i(m_b), .m_b_valid_i(m_b_valid), .m_b_ready_o(m_b_ready), .m_ar_o(m_ar),
      .m_ar_valid_o(m_ar_valid), .m_ar_ready_i(1'b1), .m_r_i(m_r), .m_r_valid_i(m_r_valid), .m_r_ready_o(m_r_ready),
      .c_lite_req_i({c_addr, 3'd0, c_awvalid, wdata, 4'hF, c_wvalid, 1'b1, c_addr, 3'd0, c_arvalid, 1'b1}),
      .c_lite_resp_o({c_awready, c_wready, c_bresp, c_bvalid, c_arready, c_rdata, c_rresp, c_rvalid}),
      .m_lite_req_i({m_addr, 3'd0, m_awvalid, wdata, 4'hF, m_wvalid, 1'b1, m_addr, 3'd0, 1'b0, 1'b1}),
      .m_lite_resp_o({m_awready, m_wready, m_bresp, m_bvalid, m_arready, m_rdata, m_rresp, m_rvalid}),
`ifdef PAPER
      .pipelined_i(1'b1), .fill_beat_i(1'b0),
`else
      .flip_chance_i(32'd0), .flip_span_i(7'd0), .drop_chance_i(32'd0), .repeat_chance_i(32'd0), .cut_i(1'b0),
      .stuck_i(16'd0), .c_reset_i(1'b0), .m_reset_i(1'b0), .corrupted_o(), .phy_down_i(1'b0), .c_irq_o(c_irq), .m_irq_o(m_irq),
      .stall_i(2'd0), .isolate_i(1'b0), .isolated_o(), .phy_clk_i(1'b0), .pause_chance_i(32'd0), .longest_pause_i(8'd0), .kept_o(),
`endif
      .rate_i(16'd0), .latency_i(10'd1), .request_words_o(), .response_words_o()
  );

  task fail(input [8*60-1:0] what);
    begin
      $display("FAILED at %0t: %0s", $time, what);
      $finish;
    end
  endtask

  // ---- Nothing unknown ----

  always @(negedge clk) begin
    if (rst_n) begin
      if (^{s_aw_ready, s_w_ready, s_b_valid, s_ar_ready, s_r_valid} === 1'bx) fail("a handshake of the cBlock is unknown");
      if (^{m_aw_valid, m_w_valid, m_b_ready, m_ar_valid, m_r_ready} === 1'bx) fail("a handshake of the mBlock is unknown");
      if (^{c_awready, c_wready, c_bvalid, c_arready, c_rvalid} === 1'bx) fail("a handshake of the registers is unknown");
      if (^{m_awready, m_wready, m_bvalid, m_arready, m_rvalid} === 1'bx) fail("a handshake of the registers is unknown");
      if (s_b_valid && ^s_b === 1'bx) fail("an acknowledgement is unknown");
      if (s_r_valid && ^s_r === 1'bx) fail("data of a read are unknown");
      if (m_aw_valid && ^m_aw === 1'bx) fail("the address of a write is unknown");
      if (m_ar_valid && ^m_ar === 1'bx) fail("the address of a read is unknown");
      if (m_w_valid && ^m_w === 1'bx) fail("data of a write are unknown");
`ifndef PAPER
      if (^{c_irq, m_irq} === 1'bx) fail("an interrupt is unknown");
`endif
      if (c_rvalid && ^c_rdata === 1'bx) fail("a register is unknown");
    end
  end

  // ---- A memory of four beats ----

  reg [127:0] memory[0:3];
  reg [1:0] at = 0;
  reg [2:0] left = 0;
  reg [15:0] write_id, read_id;
  always @(posedge clk) if (rst_n) begin
    if (m_aw_valid) write_id <= m_aw[40:25];
    if (m_w_valid) begin
      memory[at] <= m_w[144:17];
      at <= m_w[0] ? 0 : at + 1;
    end
    m_b_valid <= (m_w_valid && m_w[0]) || (m_b_valid && !m_b_ready);
    m_b <= {write_id, 2'd0};
    if (m_ar_valid) begin
      left <= 4;
      read_id <= m_ar[40:25];
    end else if (left != 0 && (!m_r_valid || m_r_ready)) left <= left - 1;
    if (!m_r_valid || m_r_ready) begin
      m_r_valid <= left != 0;
      m_r <= {memory[4 - left], read_id, 2'd0, left == 1};
    end
  end

  // ---- What happens ----

  task set(input cblock, input [11:0] place, input [31:0] value);
    begin
      @(negedge clk);
      if (cblock) c_addr = place; else m_addr = place;
      wdata = value;
      {c_awvalid, c_wvalid} = {cblock, cblock};
      {m_awvalid, m_wvalid} = {!cblock, !cblock};
      @(posedge clk);
      while (!(cblock ? c_awready : m_awready)) @(posedge clk);
      @(negedge clk);
      {c_awvalid, c_wvalid, m_awvalid, m_wvalid} = 0;
      while (!(cblock ? c_bvalid : m_bvalid)) @(negedge clk);
    end
  endtask

  integer i, waited;
  reg up = 0;
  reg [127:0] sent;
  initial begin
    repeat (4) @(negedge clk);
    rst_n = 1;
    set(0, 12'h014, 128);
    set(1, 12'h014, 128);
    set(0, 12'h400, 32'h100);
    set(0, 12'h404, 32'hF);
    set(0, 12'h408, 7);
    set(1, 12'h400, 32'h40_0000);
    set(1, 12'h404, 32'h40_000F);
    set(1, 12'h408, 7);
    set(0, 12'h008, 1);
    set(1, 12'h008, 1);
    for (waited = 0; !up; waited = waited + 1) begin
      if (waited > 2000) fail("the link does not come up");
      @(negedge clk);
      c_addr = 12'h00C;
      c_arvalid = 1;
      @(posedge clk);
      while (!c_arready) @(posedge clk);
      @(negedge clk);
      c_arvalid = 0;
      while (!c_rvalid) @(negedge clk);
      up = c_rdata[0];
    end
    repeat (160) @(negedge clk);
    s_aw = {40'h4_0000_0040, 16'h12, 8'd3, 3'd4, 2'd1, 1'b0, 4'd3, 3'd0, 4'd0};
    s_aw_valid = 1;
    @(posedge clk);
    while (!s_aw_ready) @(posedge clk);
    @(negedge clk);
    s_aw_valid = 0;
    for (i = 0; i < 4; i = i + 1) begin
      sent = {4{32'hC0DE_0000 + i}};
      s_w = {sent, 16'hFFFF, i == 3};
      s_w_valid = 1;
      @(posedge clk);
      while (!s_w_ready) @(posedge clk);
      @(negedge clk);
    end
    s_w_valid = 0;
    for (waited = 0; !s_b_valid; waited = waited + 1) begin
      if (waited > 1000) fail("a write has no answer");
      @(negedge clk);
    end
    if (s_b !== {16'h12, 2'd0}) fail("a write is not answered as it should be");
    s_ar = s_aw;
    s_ar_valid = 1;
    @(posedge clk);
    while (!s_ar_ready) @(posedge clk);
    @(negedge clk);
    s_ar_valid = 0;
    for (i = 0; i < 4; i = i + 1) begin
      for (waited = 0; !s_r_valid; waited = waited + 1) begin
        if (waited > 1000) fail("a read has no answer");
        @(negedge clk);
      end
      sent = {4{32'hC0DE_0000 + i}};
      if (s_r !== {sent, 16'h12, 2'd0, i == 3}) fail("a read gives what was not written");
      @(negedge clk);
    end
    // Where no window is.
    s_ar[80:41] = 40'h1000;
    s_ar_valid = 1;
    @(posedge clk);
    while (!s_ar_ready) @(posedge clk);
    @(negedge clk);
    s_ar_valid = 0;
    for (i = 0; i < 4; i = i + 1) begin
      for (waited = 0; !s_r_valid; waited = waited + 1) begin
        if (waited > 1000) fail("a refused read has no answer");
        @(negedge clk);
      end
      if (s_r[2:1] !== 2'd3) fail("a read outside of all windows is not DECERR");
      @(negedge clk);
    end
    $display("PASSED");
    $finish;
  end
endmodule
