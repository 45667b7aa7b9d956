// SPDX-License-Identifier: Apache-2.0
// The byte lanes of a beat as AXI4 has them, from the number of the beat; the low bits of addresses say all of it.
package lanes_of_beat;
  import consort_remote_pkg::*;

  typedef struct packed {
    logic [3:0] offset;
    logic [2:0] size;
    logic [1:0] burst;
    logic [3:0] len;
  } burst_t;

  // An AXI4 burst of 16 beats at most.
  function automatic logic exists(burst_t of);
    logic [3:0] bytes;
    bytes = (4'd1 << of.size) - 4'd1;
    if (of.size > 3'd4 || of.burst == 2'd3) return 1'b0;
    return of.burst != BurstWrap || ((of.offset & bytes) == '0 && of.len inside {4'd1, 4'd3, 4'd7, 4'd15});
  endfunction

  // Where a beat begins, and the first lane that it uses.
  function automatic logic [3:0] begin_of(burst_t of, logic [3:0] beat);
    logic [11:0] bytes, span, at, sum;
    bytes = 12'd1 << of.size;
    span = (12'(of.len) + 12'd1) << of.size;
    at = 12'(of.offset) & ~(bytes - 12'd1);
    sum = at + (12'(beat) << of.size);
    case (of.burst)
      BurstFixed: return at[3:0];
      BurstWrap: return 4'((at & ~(span - 12'd1)) | (sum & (span - 12'd1)));
      default: return sum[3:0];
    endcase
  endfunction

  function automatic logic [3:0] first_of(burst_t of, logic [3:0] beat);
    return beat == '0 || of.burst == BurstFixed ? of.offset : begin_of(of, beat);
  endfunction

  function automatic logic [15:0] lanes_of(burst_t of, logic [3:0] beat);
    logic [15:0] all;
    all = '0;
    for (int unsigned i = 0; i < 16; i++) begin
      all[i] = i >= 32'(first_of(of, beat)) && i < 32'(begin_of(of, beat)) + (32'd1 << of.size);
    end
    return all;
  endfunction

  // By the state of consort_write_lanes.
  function automatic logic [3:0] moves_of(burst_t of);
    case (of.burst)
      BurstFixed: return '0;
      BurstWrap: return 4'(((8'(of.len) + 8'd1) << of.size) - 8'd1);
      default: return '1;
    endcase
  endfunction
endpackage
