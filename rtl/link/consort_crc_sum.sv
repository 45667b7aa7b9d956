// SPDX-License-Identifier: Apache-2.0
// What a beat adds to a CRC (see consort_remote_pkg): sums of up to 53 bits. A level of hierarchy of its own, so that it is
// mapped to trees: with what is around it, it becomes deeper.
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
