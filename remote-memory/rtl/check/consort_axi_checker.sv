// SPDX-License-Identifier: Apache-2.0
// The rules of AXI4 that one can see at an interface, for simulation: handshakes, reset, shape and place of bursts, attributes, strobes, WLAST
// and RLAST, exclusive accesses, answers only to what was asked, with its id and in the order of that id. Both sides are held to them.
// Which of the published rules each assertion stands for: docs/axi-rules.md.
module consort_axi_checker
  import consort_remote_pkg::*;
#(
    parameter string       Name = "axi",
    parameter int unsigned Outstanding = 512,  // a power of two
    parameter int unsigned DataWithin = 0,     // cycles in which a write that shows has data, whatever is taken; 0: any number
    parameter type w_t = axi_w_t,  // channels with the data of this interface
    parameter type r_t = axi_r_t
) (
    input logic   clk_i,
    input logic   rst_ni,
    input axi_a_t aw_i,
    input logic   aw_valid_i,
    input logic   aw_ready_i,
    input w_t     w_i,
    input logic   w_valid_i,
    input logic   w_ready_i,
    input axi_b_t b_i,
    input logic   b_valid_i,
    input logic   b_ready_i,
    input axi_a_t ar_i,
    input logic   ar_valid_i,
    input logic   ar_ready_i,
    input r_t     r_i,
    input logic   r_valid_i,
    input logic   r_ready_i
);
  localparam int unsigned Ptr = $clog2(Outstanding);
  localparam int unsigned Strobes = $bits(w_i.strb);

  // ---- Handshakes ----

  consort_stream_checker #(.Width($bits(axi_a_t)), .Name({Name, " AW"})) i_aw (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(aw_valid_i), .ready_i(aw_ready_i), .data_i(aw_i)
  );
  consort_stream_checker #(.Width($bits(w_t)), .Name({Name, " W"})) i_w (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(w_valid_i), .ready_i(w_ready_i), .data_i(w_i)
  );
  consort_stream_checker #(.Width($bits(axi_b_t)), .Name({Name, " B"})) i_b (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(b_valid_i), .ready_i(b_ready_i), .data_i(b_i)
  );
  consort_stream_checker #(.Width($bits(axi_a_t)), .Name({Name, " AR"})) i_ar (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(ar_valid_i), .ready_i(ar_ready_i), .data_i(ar_i)
  );
  consort_stream_checker #(.Width($bits(r_t)), .Name({Name, " R"})) i_r (
      .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(r_valid_i), .ready_i(r_ready_i), .data_i(r_i)
  );

  // ---- Bursts ----

  function automatic logic shape_good(axi_a_t a);
    if (int'(a.size) > $clog2(Strobes)) return 1'b0;
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

  // Without "modifiable" an access has no allocation.
  function automatic logic cache_good(axi_a_t a);
    return a.cache[1] || a.cache[3:2] == 2'd0;
  endfunction

  // 1 to 16 beats of 128 bytes at most, a power of two of bytes, and aligned to as many.
  function automatic logic exclusive_good(axi_a_t a);
    logic [15:0] bytes;
    bytes = (16'(a.len) + 16'd1) << a.size;
    return !a.lock || (a.len <= 8'd15 && bytes <= 16'd128 && (bytes & (bytes - 16'd1)) == '0 &&
                       (a.addr[6:0] & 7'(bytes - 16'd1)) == '0);
  endfunction

  // The byte lanes of a beat of a burst.
  function automatic logic [Strobes-1:0] lanes(axi_a_t a, logic [7:0] beat);
    localparam int unsigned Lane = $clog2(Strobes);
    logic [11:0] bytes, at, span;
    logic [Strobes-1:0] all;
    bytes = 12'd1 << a.size;
    at = a.addr[11:0] & ~(bytes - 12'd1);
    span = (12'(a.len) + 12'd1) << a.size;
    if (a.burst == BurstIncr) at = at + (12'(beat) << a.size);
    if (a.burst == BurstWrap) at = (at & ~(span - 12'd1)) | ((at + (12'(beat) << a.size)) & (span - 12'd1));
    all = Strobes'((65'd1 << bytes) - 65'd1) << at[Lane-1:0];
    // What lies below an address within its beat is not of the burst.
    if (beat == '0 || a.burst == BurstFixed) all = all & ({Strobes{1'b1}} << a.addr[Lane-1:0]);
    return all;
  endfunction

  logic on_q;  // reset is over
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      on_q <= 1'b0;
    end else begin
      on_q <= 1'b1;
      if (!on_q) begin
        aw_reset : assert (!aw_valid_i) else $error("%s: AW valid in the cycle after the reset", Name);
        w_reset : assert (!w_valid_i) else $error("%s: W valid in the cycle after the reset", Name);
        b_reset : assert (!b_valid_i) else $error("%s: B valid in the cycle after the reset", Name);
        ar_reset : assert (!ar_valid_i) else $error("%s: AR valid in the cycle after the reset", Name);
        r_reset : assert (!r_valid_i) else $error("%s: R valid in the cycle after the reset", Name);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (on_q && aw_valid_i) begin
      aw_shape : assert (shape_good(aw_i)) else $error("%s: a write's burst is not one of AXI4", Name);
      aw_page : assert (in_one_page(aw_i)) else $error("%s: a write crosses 4 KiB", Name);
      aw_cache : assert (cache_good(aw_i)) else $error("%s: a write's attributes are reserved", Name);
      aw_exclusive : assert (exclusive_good(aw_i)) else $error("%s: an exclusive write is not one of AXI4", Name);
    end
    if (on_q && ar_valid_i) begin
      ar_shape : assert (shape_good(ar_i)) else $error("%s: a read's burst is not one of AXI4", Name);
      ar_page : assert (in_one_page(ar_i)) else $error("%s: a read crosses 4 KiB", Name);
      ar_cache : assert (cache_good(ar_i)) else $error("%s: a read's attributes are reserved", Name);
      ar_exclusive : assert (exclusive_good(ar_i)) else $error("%s: an exclusive read is not one of AXI4", Name);
    end
  end

  // ---- Writes ----

  // Addresses and bursts of data are counted apart: either may come first.
  axi_a_t aw[Outstanding];
  logic [7:0] w_len[Outstanding];
  logic [Strobes-1:0] early[$];  // strobes of beats that came before their address
  logic [Outstanding-1:0] answered;
  logic [Ptr:0] aw_count, w_count, b_oldest;  // accepted so far, and the oldest without an answer
  logic [7:0] w_beat;

  // ---- Data that wait for their address ----

  // A master that has data when it shows an address shows them too, also where the address is not taken (AXI4, A3.3.1).
  logic [15:0] lone_q;  // cycles in which an address shows and nothing of its data
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lone_q <= '0;
    else if (aw_valid_i && !aw_ready_i && !w_valid_i && w_count == aw_count && w_beat == '0) lone_q <= lone_q + 16'd1;
    else lone_q <= '0;
  end
  always_ff @(posedge clk_i) begin
    w_waits : assert (DataWithin == 0 || lone_q < 16'(DataWithin))
    else $error("%s: data wait until their address is taken", Name);
  end

  // ---- Reads ----

  logic [7:0] ar_len[Outstanding], ar_done[Outstanding];
  logic [IdWidth-1:0] ar_id[Outstanding];
  logic [Outstanding-1:0] ar_lock;
  logic [Outstanding-1:0] finished;
  logic [Ptr:0] ar_count, r_oldest;

  // Blocking throughout: one process keeps the state of a cycle, in the order that AXI4 gives the channels.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    automatic logic found;
    automatic logic [Ptr:0] at;
    automatic logic [7:0] beat;
    automatic logic [8:0] came;
    if (!rst_ni) begin
      early.delete();
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
          if (!answered[at[Ptr-1:0]] && aw[at[Ptr-1:0]].id == b_i.id) found = 1'b1;
          else at = at + 1'b1;
        end
        b_asked : assert (found) else $error("%s: an answer to no write of id %0d", Name, b_i.id);
        if (found) begin
          answered[at[Ptr-1:0]] = 1'b1;
          b_exclusive : assert (b_i.resp != 2'b01 || aw[at[Ptr-1:0]].lock)
          else $error("%s: EXOKAY of a write that is not exclusive", Name);
        end
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
          r_exclusive : assert (r_i.resp != 2'b01 || ar_lock[at[Ptr-1:0]])
          else $error("%s: EXOKAY of a read that is not exclusive", Name);
          if (r_i.last) finished[at[Ptr-1:0]] = 1'b1;
          ar_done[at[Ptr-1:0]] = ar_done[at[Ptr-1:0]] + 8'd1;
        end
        while (r_oldest != ar_count && finished[r_oldest[Ptr-1:0]]) begin
          finished[r_oldest[Ptr-1:0]] = 1'b0;
          r_oldest = r_oldest + 1'b1;
        end
      end
      if (aw_valid_i && aw_ready_i) begin
        aw[aw_count[Ptr-1:0]] = aw_i;
        if (aw_count != w_count && !((w_count - aw_count) > (Ptr + 1)'(Outstanding))) begin
          w_first : assert (w_len[aw_count[Ptr-1:0]] == aw_i.len)
          else $error("%s: a write of %0d beats after its data of %0d", Name, aw_i.len, w_len[aw_count[Ptr-1:0]]);
        end
        // Of its data those that came before it: all, or what there is of them.
        came = aw_count == w_count ? 9'(w_beat) : 9'(w_len[aw_count[Ptr-1:0]]) + 9'd1;
        beat = '0;
        while (came != '0 && early.size() != 0) begin
          w_strobes_early : assert ((early[0] & ~lanes(aw_i, beat)) == '0)
          else $error("%s: strobes beside the lanes of beat %0d, before its address", Name, beat);
          void'(early.pop_front());
          beat = beat + 8'd1;
          came = came - 9'd1;
        end
        aw_count = aw_count + 1'b1;
      end
      if (w_valid_i && w_ready_i) begin
        if (w_count != aw_count && (aw_count - w_count) <= (Ptr + 1)'(Outstanding)) begin
          w_last : assert (w_i.last == (w_beat == aw[w_count[Ptr-1:0]].len))
          else $error("%s: WLAST on beat %0d of %0d", Name, w_beat, aw[w_count[Ptr-1:0]].len);
          w_strobes : assert ((w_i.strb & ~lanes(aw[w_count[Ptr-1:0]], w_beat)) == '0)
          else $error("%s: strobes beside the lanes of beat %0d", Name, w_beat);
        end else begin
          early.push_back(w_i.strb);
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
        ar_lock[ar_count[Ptr-1:0]] = ar_i.lock;
        ar_done[ar_count[Ptr-1:0]] = '0;
        ar_count = ar_count + 1'b1;
      end
      within_bounds : assert ((aw_count - b_oldest) < (Ptr + 1)'(Outstanding) && (ar_count - r_oldest) < (Ptr + 1)'(Outstanding))
      else $error("%s: more outstanding than the checker can hold", Name);
    end
  end
endmodule
