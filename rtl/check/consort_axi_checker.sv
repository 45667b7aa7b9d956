// SPDX-License-Identifier: Apache-2.0
// The rules of AXI4 that one can see at an interface, for simulation: handshakes, shape and place of bursts, WLAST and RLAST,
// answers only to what was asked, with its id and in the order of that id. Both sides are held to them.
module consort_axi_checker
  import consort_remote_pkg::*;
#(
    parameter string       Name = "axi",
    parameter int unsigned Outstanding = 512  // a power of two
) (
    input logic   clk_i,
    input logic   rst_ni,
    input axi_a_t aw_i,
    input logic   aw_valid_i,
    input logic   aw_ready_i,
    input axi_w_t w_i,
    input logic   w_valid_i,
    input logic   w_ready_i,
    input axi_b_t b_i,
    input logic   b_valid_i,
    input logic   b_ready_i,
    input axi_a_t ar_i,
    input logic   ar_valid_i,
    input logic   ar_ready_i,
    input axi_r_t r_i,
    input logic   r_valid_i,
    input logic   r_ready_i
);
  localparam int unsigned Ptr = $clog2(Outstanding);

  // ---- Handshakes ----

  consort_stream_checker #(.Width($bits(axi_a_t)), .Name({Name, " AW"})) i_aw (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(aw_valid_i), .ready_i(aw_ready_i), .data_i(aw_i)
  );
  consort_stream_checker #(.Width($bits(axi_w_t)), .Name({Name, " W"})) i_w (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(w_valid_i), .ready_i(w_ready_i), .data_i(w_i)
  );
  consort_stream_checker #(.Width($bits(axi_b_t)), .Name({Name, " B"})) i_b (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(b_valid_i), .ready_i(b_ready_i), .data_i(b_i)
  );
  consort_stream_checker #(.Width($bits(axi_a_t)), .Name({Name, " AR"})) i_ar (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(ar_valid_i), .ready_i(ar_ready_i), .data_i(ar_i)
  );
  consort_stream_checker #(.Width($bits(axi_r_t)), .Name({Name, " R"})) i_r (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(r_valid_i), .ready_i(r_ready_i), .data_i(r_i)
  );

  // ---- Bursts ----

  function automatic logic shape_good(axi_a_t a);
    if (int'(a.size) > $clog2(StrbWidth)) return 1'b0;
    case (a.burst)
      BurstFixed: return a.len <= 8'd15;
      BurstIncr: return 1'b1;
      // Aligned to its size, and of 2, 4, 8 or 16 beats.
      BurstWrap: return a.len inside {8'd1, 8'd3, 8'd7, 8'd15} && (a.addr & ((AddrWidth'(1) << a.size) - 1'b1)) == '0;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic in_one_page(axi_a_t a);
    logic [16:0] last;
    last = {5'd0, a.addr[11:0]} & ~((17'd1 << a.size) - 17'd1);
    last = last + ((17'(a.len) + 17'd1) << a.size) - 17'd1;
    return a.burst != BurstIncr || last <= 17'd4095;
  endfunction

  logic on_q;  // reset is over
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) on_q <= 1'b0;
    else on_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (on_q && aw_valid_i) begin
      aw_shape : assert (shape_good(aw_i)) else $error("%s: a write's burst is not one of AXI4", Name);
      aw_page : assert (in_one_page(aw_i)) else $error("%s: a write crosses 4 KiB", Name);
    end
    if (on_q && ar_valid_i) begin
      ar_shape : assert (shape_good(ar_i)) else $error("%s: a read's burst is not one of AXI4", Name);
      ar_page : assert (in_one_page(ar_i)) else $error("%s: a read crosses 4 KiB", Name);
    end
  end

  // ---- Writes ----

  // Addresses and bursts of data are counted apart: either may come first.
  logic [7:0] aw_len[Outstanding], w_len[Outstanding];
  logic [IdWidth-1:0] aw_id[Outstanding];
  logic [Outstanding-1:0] answered;
  logic [Ptr:0] aw_count, w_count, b_oldest;  // accepted so far, and the oldest without an answer
  logic [7:0] w_beat;

  // ---- Reads ----

  logic [7:0] ar_len[Outstanding], ar_done[Outstanding];
  logic [IdWidth-1:0] ar_id[Outstanding];
  logic [Outstanding-1:0] finished;
  logic [Ptr:0] ar_count, r_oldest;

  // Blocking throughout: one process keeps the state of a cycle, in the order that AXI4 gives the channels.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    automatic logic found;
    automatic logic [Ptr:0] at;
    if (!rst_ni) begin
      aw_count = '0;
      w_count = '0;
      b_oldest = '0;
      w_beat = '0;
      ar_count = '0;
      r_oldest = '0;
      answered = '0;
      finished = '0;
    end else begin
      // An answer comes a cycle after the last of its request at the soonest: it looks at the state first.
      if (b_valid_i && b_ready_i) begin
        found = 1'b0;
        at = b_oldest;
        while (!found && at != aw_count && at != w_count) begin
          if (!answered[at[Ptr-1:0]] && aw_id[at[Ptr-1:0]] == b_i.id) found = 1'b1;
          else at = at + 1'b1;
        end
        b_asked : assert (found) else $error("%s: an answer to no write of id %0d", Name, b_i.id);
        if (found) answered[at[Ptr-1:0]] = 1'b1;
        while (b_oldest != aw_count && answered[b_oldest[Ptr-1:0]]) begin
          answered[b_oldest[Ptr-1:0]] = 1'b0;
          b_oldest = b_oldest + 1'b1;
        end
      end
      if (r_valid_i && r_ready_i) begin
        found = 1'b0;
        at = r_oldest;
        while (!found && at != ar_count) begin
          if (!finished[at[Ptr-1:0]] && ar_id[at[Ptr-1:0]] == r_i.id) found = 1'b1;
          else at = at + 1'b1;
        end
        r_asked : assert (found) else $error("%s: data of no read of id %0d", Name, r_i.id);
        if (found) begin
          r_last : assert (r_i.last == (ar_done[at[Ptr-1:0]] == ar_len[at[Ptr-1:0]]))
          else $error("%s: RLAST on beat %0d of %0d", Name, ar_done[at[Ptr-1:0]], ar_len[at[Ptr-1:0]]);
          if (r_i.last) finished[at[Ptr-1:0]] = 1'b1;
          ar_done[at[Ptr-1:0]] = ar_done[at[Ptr-1:0]] + 8'd1;
        end
        while (r_oldest != ar_count && finished[r_oldest[Ptr-1:0]]) begin
          finished[r_oldest[Ptr-1:0]] = 1'b0;
          r_oldest = r_oldest + 1'b1;
        end
      end
      if (aw_valid_i && aw_ready_i) begin
        aw_len[aw_count[Ptr-1:0]] = aw_i.len;
        aw_id[aw_count[Ptr-1:0]] = aw_i.id;
        if (aw_count != w_count && !((w_count - aw_count) > (Ptr + 1)'(Outstanding))) begin
          w_first : assert (w_len[aw_count[Ptr-1:0]] == aw_i.len)
          else $error("%s: a write of %0d beats after its data of %0d", Name, aw_i.len, w_len[aw_count[Ptr-1:0]]);
        end
        aw_count = aw_count + 1'b1;
      end
      if (w_valid_i && w_ready_i) begin
        if (w_count != aw_count && (aw_count - w_count) <= (Ptr + 1)'(Outstanding)) begin
          w_last : assert (w_i.last == (w_beat == aw_len[w_count[Ptr-1:0]]))
          else $error("%s: WLAST on beat %0d of %0d", Name, w_beat, aw_len[w_count[Ptr-1:0]]);
        end
        w_len[w_count[Ptr-1:0]] = w_beat;
        w_beat = w_beat + 8'd1;
        if (w_i.last) begin
          w_beat  = '0;
          w_count = w_count + 1'b1;
        end
      end
      if (ar_valid_i && ar_ready_i) begin
        ar_len[ar_count[Ptr-1:0]] = ar_i.len;
        ar_id[ar_count[Ptr-1:0]] = ar_i.id;
        ar_done[ar_count[Ptr-1:0]] = '0;
        ar_count = ar_count + 1'b1;
      end
      within_bounds : assert ((aw_count - b_oldest) < (Ptr + 1)'(Outstanding) && (ar_count - r_oldest) < (Ptr + 1)'(Outstanding))
      else $error("%s: more outstanding than the checker can hold", Name);
    end
  end
endmodule
