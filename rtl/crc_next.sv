// SPDX-License-Identifier: Apache-2.0
// The CRC after a beat (see consort_remote_pkg), from the one before it and what the beat adds. A level of hierarchy of its
// own, as crc_sum.
(* keep_hierarchy *)
module crc_next
  import consort_remote_pkg::*;
(
    input  logic [31:0] crc_i,
    input  logic        first_i,  // there is none before it
    input  logic [31:0] sum_i,
    output logic [31:0] crc_o
);
  for (genvar row = 0; row < 32; row++) begin : gen_row
    assign crc_o[row] = sum_i[row] ^ (first_i ? CrcFirst[row] : ^(crc_i & CrcMatrix[row][BeatWidth+31:BeatWidth]));
  end
endmodule
