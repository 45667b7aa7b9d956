// SPDX-License-Identifier: Apache-2.0
// What a beat adds to a CRC (see consort_remote_pkg): sums of up to 53 bits. A level of hierarchy of its own, so that it is
// mapped to trees: with what is around it, it becomes deeper.
// Interface: a beat, and what it adds.
// Parameters: none.
// Throughput: a beat a cycle.
// Latency: none, one sum of up to 53 bits.
// Assumes: nothing.
// Held by: tests/rtl/test_explore.py (of a link); frames read by another program, tests/rtl/test_cocotb.py.
(* keep_hierarchy *)
module consort_crc_sum
  import consort_remote_pkg::*;
(
    input  logic [BeatWidth-1:0] data_i,
    output logic [31:0]          sum_o
);
  for (genvar row = 0; row < 32; row++) begin : gen_row
    assign sum_o[row] = ^(data_i & CrcMatrix[row][BeatWidth-1:0]);
  end
endmodule
