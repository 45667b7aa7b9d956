// SPDX-License-Identifier: Apache-2.0
// The mBlock's acknowledgements of writes: one for each write, also where it came in several messages, which are a write each
// towards the memory. Of each port one such write is under way at a time.
//
// The link's other end is not trusted: a write of several messages that another one of its port overtakes before its last message
// ends there, with SLVERR; of more than 16 messages the next ones wait; and answers of one tag that was used twice at a time are
// counted so that every write ends. A write starts where its acknowledgement has a place: no answer waits at a memory for the link.
// Interface: tag_i to good_i of a write that starts; done_* of one whose data were taken; b of AXI4; ack_* to the framer.
// Parameters: Acks, of writes under way or waiting for the link, a power of two, at least 4.
// Throughput: an acknowledgement a cycle.
// Latency: two cycles from an answer to its acknowledgement.
// Assumes: a tag comes again after its acknowledgement; the memory answers what it has; a drain ends when nothing is under way.
// Held by: proof tests/rtl/formal/write_acks_check.sv, tests/rtl/test_proofs.py.
module consort_write_acks
  import consort_remote_pkg::*;
#(
    parameter int unsigned Acks = 128
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                drain_i,
    // A write that may start, and starts when it may: where one of several messages is open, a cycle after it shows first.
    input  logic [TagWidth-1:0] tag_i,
    input  logic                more_i,
    input  logic                valid_i,
    output logic                may_start_o,
    output logic                several_o,   // it is one of several messages
    input  logic                start_i,
    input  logic                good_i,      // it goes to the memory
    // The end of the data of one that started.
    input  logic                done_i,
    input  logic [TagWidth-1:0] done_tag_i,
    input  logic                done_more_i,
    input  logic                done_several_i,
    input  logic                done_good_i,
    // The memory's answers.
    input  axi_b_t              b_i,
    input  logic                b_valid_i,
    output logic                b_ready_o,
    output ack_t                ack_o,
    output logic                ack_valid_o,
    input  logic                ack_taken_i
);
  localparam int unsigned Ports = 2 ** PortWidth;

  // ---- Writes of several messages, of each port ----

  logic [Ports-1:0] open_q, whole_q;  // there is one; its last message's data were taken
  logic [TagWidth-1:0] tag_q[Ports];
  logic [4:0] count_q[Ports];         // writes at the memory
  logic [1:0] resp_q[Ports];
  logic [Ports-1:0] done_q, done_first;  // all are answered

  // ---- The one that may start ----

  logic known_q, blocked_q, continues_q, goes_on, bad_due_q, overtakes, abandons;
  logic data_q;  // data of one that started come
  logic [$clog2(Acks):0] under_q;  // writes whose acknowledgement the link has not
  logic room_q;
  logic [Ports-1:0] continues;
  logic [PortWidth-1:0] port, done_port;

  assign port = tag_i[TagWidth-1-:PortWidth];
  assign done_port = done_tag_i[TagWidth-1-:PortWidth];
  assign may_start_o = room_q && !bad_due_q && (open_q == '0 || (known_q && !blocked_q));
  assign goes_on = known_q && continues_q;
  assign several_o = more_i || goes_on;
  assign overtakes = open_q[port] && more_i && continues == '0;
  // A master's write has all its messages before the next one begins.
  assign abandons = valid_i && known_q && overtakes && !whole_q[port] && !data_q;

  for (genvar p = 0; p < Ports; p++) begin : gen_continues
    assign continues[p] = open_q[p] && !whole_q[p] && tag_q[p] == tag_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      known_q <= 1'b0;
      blocked_q <= 1'b0;
      continues_q <= 1'b0;
    end else begin
      known_q <= valid_i && !start_i;
      continues_q <= continues != '0;
      blocked_q <= overtakes || (continues != '0 && count_q[port][4]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      under_q <= '0;
      room_q  <= 1'b0;
    end else begin
      under_q <= drain_i ? '0 : under_q + ($clog2(Acks) + 1)'(start_i && !goes_on) -
          ($clog2(Acks) + 1)'(ack_valid_o && ack_taken_i);
      // One may start between this look and the next.
      room_q <= under_q < ($clog2(Acks) + 1)'(Acks - 1);
    end
  end

  // ---- An answer, and which of them it is of ----

  logic b_valid_q, b_single, b_leaves, ack_ready;
  logic [Ports-1:0] b_of_q, b_of;
  logic [TagWidth-1:0] b_tag_q;
  logic [1:0] b_resp_q;

  for (genvar p = 0; p < Ports; p++) begin : gen_of
    assign b_of[p] = open_q[p] && tag_q[p] == b_i.id[TagWidth-1:0];
  end
  assign b_single = b_of_q == '0;
  assign b_leaves = !b_single || ack_ready;
  assign b_ready_o = drain_i || !b_valid_q || b_leaves;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) b_valid_q <= 1'b0;
    else if (drain_i) b_valid_q <= 1'b0;
    else if (b_ready_o) b_valid_q <= b_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (b_ready_o) begin
      b_of_q <= b_of;
      b_tag_q <= b_i.id[TagWidth-1:0];
      b_resp_q <= b_i.resp;
    end
  end

  // ---- Acknowledgements ----

  logic [TagWidth-1:0] bad_tag_q;
  logic shows_b, takes_done, takes_bad;
  ack_t ack;

  assign shows_b = b_valid_q && b_single;
  assign takes_done = !shows_b && done_q != '0 && ack_ready;
  assign takes_bad = !shows_b && done_q == '0 && bad_due_q && ack_ready;
  assign done_first = done_q & (~done_q + 1'b1);

  always_comb begin
    ack = '{resp: RespSlverr, tag: bad_tag_q, valid: 1'b1};
    if (shows_b) begin
      ack = '{resp: b_resp_q, tag: b_tag_q, valid: 1'b1};
    end else if (done_q != '0) begin
      ack = '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        if (done_first[p]) ack = ack | ack_t'({resp_q[p], tag_q[p], 1'b1});
      end
    end
  end

  consort_fifo #(
      .T(ack_t),
      .Depth(Acks)
  ) i_acks (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(ack),
      .valid_i(shows_b || done_q != '0 || bad_due_q),
      .ready_o(ack_ready),
      .data_o(ack_o),
      .valid_o(ack_valid_o),
      .ready_i(ack_taken_i)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
      whole_q <= '0;
      done_q <= '0;
      bad_due_q <= 1'b0;
      data_q <= 1'b0;
      for (int unsigned p = 0; p < Ports; p++) begin
        count_q[p] <= '0;
        resp_q[p]  <= '0;
        tag_q[p]   <= '0;
      end
    end else begin
      for (int unsigned p = 0; p < Ports; p++) begin
        automatic logic starts_here = start_i && several_o && port == PortWidth'(p);
        automatic logic ends_here = b_valid_q && b_of_q[p] && count_q[p] != '0;
        count_q[p] <= count_q[p] + 5'(starts_here && good_i) - 5'(ends_here);
        if (starts_here) begin
          open_q[p] <= 1'b1;
          tag_q[p]  <= tag_i;
          if (!goes_on) begin
            whole_q[p] <= 1'b0;
            resp_q[p]  <= RespOkay;
          end
          if (!good_i) resp_q[p] <= RespSlverr;
        end
        if (done_i && done_several_i && !done_more_i && done_port == PortWidth'(p)) whole_q[p] <= 1'b1;
        if (abandons && port == PortWidth'(p)) begin
          whole_q[p] <= 1'b1;
          resp_q[p]  <= RespSlverr;
        end
        if (ends_here && b_resp_q > resp_q[p]) resp_q[p] <= b_resp_q;
        done_q[p] <= open_q[p] && whole_q[p] && count_q[p] == '0 && !(takes_done && done_first[p]);
        if (takes_done && done_first[p]) open_q[p] <= 1'b0;
      end
      data_q <= start_i || (data_q && !done_i);
      // One that was refused is acknowledged after its data. The next one waits until there is room for that.
      if (takes_bad) bad_due_q <= 1'b0;
      if (done_i && !done_several_i && !done_good_i) bad_due_q <= 1'b1;
      if (drain_i) begin
        open_q <= '0;
        whole_q <= '0;
        done_q <= '0;
        bad_due_q <= 1'b0;
        for (int unsigned p = 0; p < Ports; p++) count_q[p] <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (done_i) bad_tag_q <= done_tag_i;
  end
endmodule
