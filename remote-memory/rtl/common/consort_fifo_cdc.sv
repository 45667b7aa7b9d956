// SPDX-License-Identifier: Apache-2.0
// A FIFO from one clock to another that has nothing to do with it. Each side's pointer goes to the other one in Gray code, of which one bit
// changes at a time: whatever a synchroniser makes of a bit that changes as it looks, it sees the pointer as it was or as it is.
// Interface: a stream in each clock.
// Parameters: Width of a word; Depth, a power of two, at least 4; Stages of a synchroniser.
// Throughput: a word a cycle of the slower clock, with a Depth of 8 or more.
// Latency: Stages and one cycles of the side that reads.
// Assumes: both sides are reset together, each with a reset of its own clock (consort_reset_sync).
// Held by: proof tests/rtl/formal/fifo_cdc_check.sv, tests/rtl/test_proofs.py; random clocks, tests/rtl/test_cdc.py.
module consort_fifo_cdc #(
    parameter int unsigned Width  = 8,
    parameter int unsigned Depth  = 8,  // a power of two, at least 4
    parameter int unsigned Stages = 2   // of a synchroniser
) (
    input  logic             write_clk_i,
    input  logic             write_rst_ni,
    input  logic [Width-1:0] data_i,
    input  logic             valid_i,
    output logic             ready_o,

    input  logic             read_clk_i,
    input  logic             read_rst_ni,
    output logic [Width-1:0] data_o,
    output logic             valid_o,
    input  logic             ready_i
);
  localparam int unsigned Ptr = $clog2(Depth) + 1;

  if (Depth < 4 || Depth != 2 ** $clog2(Depth)) begin : gen_check_depth
    $error("fifo_cdc: Depth must be a power of two, at least 4");
  end
  if (Stages < 2) begin : gen_check_stages
    $error("fifo_cdc: a synchroniser has at least 2 stages");
  end

  logic [Ptr-1:0] write_q, write_d, write_gray_q, read_q, read_d, read_gray_q;
  (* ASYNC_REG = "TRUE" *) logic [Ptr-1:0] read_seen_q[Stages];   // in the clock of the writer
  (* ASYNC_REG = "TRUE" *) logic [Ptr-1:0] write_seen_q[Stages];  // in the clock of the reader
  logic [Width-1:0] memory[Depth];
  logic push, pop;

  // Full: as far ahead as there are places, which in Gray code turns the two upper bits.
  assign ready_o = write_gray_q != (read_seen_q[Stages-1] ^ (Ptr'(3) << (Ptr - 2)));
  assign valid_o = read_gray_q != write_seen_q[Stages-1];
  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;
  assign write_d = write_q + Ptr'(push);
  assign read_d = read_q + Ptr'(pop);
  assign data_o = memory[read_q[Ptr-2:0]];

  always_ff @(posedge write_clk_i or negedge write_rst_ni) begin
    if (!write_rst_ni) begin
      write_q <= '0;
      write_gray_q <= '0;
      for (int unsigned i = 0; i < Stages; i++) read_seen_q[i] <= '0;
    end else begin
      write_q <= write_d;
      write_gray_q <= write_d ^ (write_d >> 1);
      read_seen_q[0] <= read_gray_q;
      for (int unsigned i = 1; i < Stages; i++) read_seen_q[i] <= read_seen_q[i-1];
    end
  end

  always_ff @(posedge write_clk_i) begin
    if (push) memory[write_q[Ptr-2:0]] <= data_i;
  end

  always_ff @(posedge read_clk_i or negedge read_rst_ni) begin
    if (!read_rst_ni) begin
      read_q <= '0;
      read_gray_q <= '0;
      for (int unsigned i = 0; i < Stages; i++) write_seen_q[i] <= '0;
    end else begin
      read_q <= read_d;
      read_gray_q <= read_d ^ (read_d >> 1);
      write_seen_q[0] <= write_gray_q;
      for (int unsigned i = 1; i < Stages; i++) write_seen_q[i] <= write_seen_q[i-1];
    end
  end
endmodule
