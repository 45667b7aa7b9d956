// SPDX-License-Identifier: Apache-2.0
// First-in first-out buffer in registers or distributed RAM; the oldest entry shows without a read.
module fifo #(
    parameter type T = logic,
    parameter int unsigned Depth = 4  // a power of two
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic clear_i,
    input  T     data_i,
    input  logic valid_i,
    output logic ready_o,
    output T     data_o,
    output logic valid_o,
    input  logic ready_i
);
  localparam int unsigned PtrWidth = $clog2(Depth);

  logic [PtrWidth:0] write_q, read_q;
  T memory[Depth];

  assign ready_o = (write_q ^ read_q) != (PtrWidth + 1)'(Depth);
  assign valid_o = write_q != read_q;
  assign data_o  = memory[read_q[PtrWidth-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
    end else if (clear_i) begin
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (valid_i && ready_o) write_q <= write_q + 1'b1;
      if (valid_o && ready_i) read_q <= read_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) memory[write_q[PtrWidth-1:0]] <= data_i;
  end
endmodule
