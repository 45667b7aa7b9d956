// SPDX-License-Identifier: Apache-2.0
// The writes of a port, with a master, an mBlock that acknowledges in any order, and a link that goes down: credits are taken
// and given back exactly once, and every write is answered once, as it must be. Choice 0: all go on at once.
module credit_world
  import consort_remote_pkg::*;
(
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] choice,
    input  logic [1:0] downs,   // cycles in which the link may be down, altogether
    input  logic [2:0] idles,   // times that somebody holds back, altogether
    input  logic [2:0] writes,  // that the master makes
    output logic       legal,
    output logic [4:0] bad,
    output logic       progress
);
  localparam int unsigned Credits = 24;
  localparam int unsigned Tags = 2 ** IndexWidth;
  localparam int unsigned CreditWidth = $clog2(Credits + 1);

  // 0 to 5: the kind of the next write; 6: the framer does not take; 7: nor a unit; 8: no acknowledgement for 31 cycles;
  // 9: of the newest instead of the oldest; 10: the answer is not taken; 11: the link goes down, or stays so.
  logic no_request, no_unit, no_ack, newest, no_answer, goes_down;
  logic [2:0] kind;
  assign kind = choice <= 4'd5 ? 3'(choice) : 3'd0;
  assign no_request = choice == 4'd6;
  assign no_unit = choice == 4'd7;
  assign no_ack = choice == 4'd8;
  assign newest = choice == 4'd9;
  assign no_answer = choice == 4'd10;
  assign goes_down = choice == 4'd11;

  // ---- The port ----

  axi_a_t aw;
  axi_w_t w;
  axi_b_t b;
  logic aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready;
  request_t req;
  logic [4:0] req_units;
  logic [1:0] req_link;
  logic req_valid, req_ready, unit_valid, unit_last, unit_ready, up;
  logic [BeatWidth-1:0] unit;
  window_t windows[1];
  logic [0:0] counted;
  logic ack;
  logic [IndexWidth-1:0] ack_index;

  assign windows[0] = '{valid: 1'b1, readable: 1'b1, writable: 1'b1, link: '0, handle: '0, first: '0, last: '0};

  consort_port_write #(
      .Windows(1),
      .Room(32),
      .Credits(Credits)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .windows_i(windows), .up_i({3'd0, up}), .counted_o(counted),
      .qos_i('0), .fence_i(1'b0), .fenced_o(),
      .aw_i(aw), .aw_valid_i(aw_valid), .aw_ready_o(aw_ready), .w_i(w), .w_valid_i(w_valid), .w_ready_o(w_ready),
      .b_o(b), .b_valid_o(b_valid), .b_ready_i(b_ready), .req_o(req), .req_units_o(req_units), .req_link_o(req_link),
      .req_urgent_o(),
      .req_valid_o(req_valid), .req_ready_i(req_ready), .unit_o(unit), .unit_valid_o(unit_valid),
      .unit_last_o(unit_last), .unit_ready_i(unit_ready),
      .rsp_link_i('0), .rsp_index_i(ack_index), .rsp_resp_i(2'd0), .rsp_valid_i(ack), .tick_i(1'b0), .silent_o()
  );

  // ---- The master: one write after the other, without waiting for answers ----

  logic showing_q, sending_q, unmapped_q, strobed_q;
  logic [4:0] left_q;
  assign aw_valid = showing_q;
  assign aw = '{addr: unmapped_q ? AddrWidth'(1) << 20 : '0, len: 8'(left_q), size: 3'd4, burst: BurstIncr, default: '0};
  assign w_valid = sending_q;
  assign w = '{data: '0, strb: {15'h7FFF, !strobed_q}, last: left_q == '0};
  assign b_ready = !no_answer;

  // ---- The mBlock: it has a write when all of it is there, and acknowledges it once ----

  logic [Tags-1:0] has_q;
  logic [4:0] busy_q;  // so many cycles without an acknowledgement
  logic [IndexWidth-1:0] oldest_q, at;
  logic [IndexWidth-1:0] req_index;
  assign req_ready = !no_request;
  assign unit_ready = !no_unit;
  assign req_index = req.tag[IndexWidth-1:0];
  always_comb begin
    ack_index = oldest_q;
    at = oldest_q;
    for (int unsigned i = 0; i < Tags; i++) begin
      at = oldest_q + IndexWidth'(newest ? i : Tags - 1 - i);
      if (has_q[at]) ack_index = at;
    end
    ack = has_q != '0 && !no_ack && busy_q == '0 && up;
  end

  // ---- The link ----

  logic up_q;
  logic [1:0] downs_q;
  logic [2:0] idles_q, writes_q;
  assign up = up_q;

  // ---- What is counted ----

  logic [CreditWidth:0] out_q;
  logic [2:0] begun_q;             // addresses taken and not answered
  logic [Tags+1:0] unmapped_of_q;  // of those, oldest first
  logic [Tags-1:0] acked_q;
  logic takes, answers;
  logic [CreditWidth-1:0] gives;
  assign takes = dut.i_sender.i_credit.take_i;
  assign gives = dut.i_sender.i_credit.give_i;
  assign answers = b_valid && b_ready;
  // All are answered in the end.
  assign progress = writes_q == '0 && !showing_q && !sending_q && begun_q == '0;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      {showing_q, sending_q, unmapped_q, strobed_q, left_q} <= '0;
      has_q <= '0;
      busy_q <= '0;
      oldest_q <= '0;
      up_q <= 1'b1;
      downs_q <= downs;
      idles_q <= idles;
      writes_q <= writes;
      out_q <= '0;
      begun_q <= '0;
      unmapped_of_q <= '0;
    end else begin
      if (!showing_q && !sending_q && writes_q != '0) begin
        writes_q   <= writes_q - 1'b1;
        showing_q  <= 1'b1;
        unmapped_q <= kind >= 3'd4;
        strobed_q  <= kind[0] && kind < 3'd4;
        left_q     <= kind == 3'd2 || kind == 3'd3 || kind == 3'd5 ? 5'd16 : 5'd0;
      end
      if (aw_valid && aw_ready) begin
        showing_q <= 1'b0;
        sending_q <= 1'b1;
      end
      if (w_valid && w_ready) begin
        left_q <= left_q - 1'b1;
        if (w.last) sending_q <= 1'b0;
      end
      if (req_valid && req_ready && !req.more && up) has_q[req_index] <= 1'b1;
      if (busy_q != '0) busy_q <= busy_q - 1'b1;
      else if (no_ack) busy_q <= '1;
      if (ack) begin
        has_q[ack_index] <= 1'b0;
        oldest_q <= ack_index + 1'b1;
      end
      up_q <= !goes_down;
      if (goes_down) downs_q <= downs_q - 1'b1;
      if (choice inside {[4'd6 : 4'd10]}) idles_q <= idles_q - 1'b1;
      if (!up_q) has_q <= '0;
      out_q <= out_q + (takes ? (CreditWidth + 1)'(dut.i_sender.i_credit.want_i) : '0) - (CreditWidth + 1)'(gives);
      begun_q <= begun_q + 3'(aw_valid && aw_ready) - 3'(answers);
      if (answers) unmapped_of_q <= unmapped_of_q >> 1;
      if (aw_valid && aw_ready) unmapped_of_q[begun_q-3'(answers)] <= unmapped_q;
    end
  end

  always_comb begin
    legal = 1'b1;
    if (choice >= 4'd1 && choice <= 4'd5) legal = !showing_q && !sending_q && writes_q != '0;
    if (no_request) legal = req_valid;
    if (no_unit) legal = unit_valid;
    if (no_ack) legal = has_q != '0 && up && busy_q == '0;
    if (newest) legal = (has_q & (has_q - 1'b1)) != '0 && up && busy_q == '0;
    if (no_answer) legal = b_valid;
    if (goes_down) legal = downs_q != '0;
    if (choice inside {[4'd6 : 4'd10]} && idles_q == '0) legal = 1'b0;
    if (choice > 4'd11) legal = 1'b0;
  end

  assign bad[0] = (CreditWidth + 1)'(gives) > out_q;
  assign bad[1] = out_q > (CreditWidth + 1)'(Credits);
  assign bad[2] = answers && (begun_q == '0 || (b.resp == RespDecerr) != unmapped_of_q[0]);
  // Without a link that goes down nothing is in error.
  assign bad[3] = answers && downs == '0 && b.resp == RespSlverr;
  // Nothing under way: nothing is out.
  assign bad[4] = begun_q == '0 && !b_valid && out_q != '0;
endmodule
