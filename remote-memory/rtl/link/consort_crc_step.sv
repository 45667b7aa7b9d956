// SPDX-License-Identifier: Apache-2.0
// A CRC taken on over the beat that follows (see consort_remote_pkg): added to what that beat adds, it is the next one.
// Interface: crc_i, and what it is a beat later.
// Parameters: none.
// Throughput: a beat a cycle.
// Latency: none, one sum of up to 32 bits.
// Assumes: nothing.
// Held by: tests/rtl/test_explore.py (of a link); frames read by another program, tests/rtl/test_cocotb.py.
module consort_crc_step
  import consort_remote_pkg::*;
(
    input  logic [31:0] crc_i,
    output logic [31:0] crc_o
);
  for (genvar row = 0; row < 32; row++) begin : gen_row
    assign crc_o[row] = ^(crc_i & CrcMatrix[row][BeatWidth+31:BeatWidth]);
  end
endmodule
