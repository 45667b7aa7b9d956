// SPDX-License-Identifier: Apache-2.0
// The mBlock's data of reads, in parts that a frame may hold: a part ends with its burst, when it fills a frame, or where the
// next beat is of another burst or has another answer. A part's data are there when it shows, or the cycle after, where none before them wait.
// Interface: r of AXI4; part_* and unit_* are streams.
// Parameters: Room in beats, a power of two, at least 4; Ordered, that of one port's reads all beats of a burst come before the next one's.
// Throughput: a beat a cycle; a part that ends where the next one ends at once takes a cycle more.
// Latency: a part shows in the cycle of its last beat.
// Assumes: all beats of one id come in their order.
// Held by: proof tests/rtl/formal/read_parts_check.sv, tests/rtl/test_proofs.py.
module consort_read_parts
  import consort_remote_pkg::*;
#(
    parameter int unsigned Room    = 512,
    parameter bit          Ordered = 1'b0
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 drain_i,
    input  axi_r_t               r_i,
    input  logic                 r_valid_i,
    output logic                 r_ready_o,
    output response_t            part_o,
    output logic [4:0]           part_units_o,
    output logic                 part_valid_o,
    input  logic                 part_ready_i,
    output logic [DataWidth-1:0] unit_o,
    output logic                 unit_valid_o,
    input  logic                 unit_ready_i
);
  response_t part_q;
  logic [4:0] units_q;        // of part_q
  logic open_q, due_q;        // there is one; it is whole, and waits for a cycle in which none before it is handed on
  logic other, differs, full, ends, takes, room, unused;
  logic [TagWidth-1:0] tag;
  logic [4:0] len, units;     // with the beat that comes

  assign tag = r_i.id[TagWidth-1:0];
  // Which read of its port a beat is of is known late; where there is one at a time, its port says it.
  assign other = Ordered ? part_q.tag[TagWidth-1-:PortWidth] != tag[TagWidth-1-:PortWidth] : part_q.tag != tag;
  assign differs = open_q && (other || part_q.resp != r_i.resp);
  assign full = open_q && part_q.len == 5'(MaxUnits - 2);
  assign ends = r_i.last || full;
  assign len = open_q && !differs ? part_q.len + 5'd1 : 5'd0;
  assign units = open_q && !differs ? units_q + 5'd1 : 5'd1;
  // Room for the part that ends here too.
  assign r_ready_o = drain_i || (room && part_ready_i && !due_q);
  assign takes = r_valid_i && room && part_ready_i && !due_q && !drain_i;

  assign part_valid_o = due_q || (takes && (differs || ends));
  assign part_o = due_q || differs ? part_q : '{len: len, resp: r_i.resp, tag: tag, kind: RspData};
  assign part_units_o = due_q || differs ? units_q : units;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q  <= 1'b0;
      due_q   <= 1'b0;
      part_q  <= '0;
      units_q <= '0;
    end else if (drain_i) begin
      open_q <= 1'b0;
      due_q  <= 1'b0;
    end else if (due_q) begin
      if (part_ready_i) begin
        due_q  <= 1'b0;
        open_q <= 1'b0;
      end
    end else if (takes) begin
      part_q  <= '{len: len, resp: r_i.resp, tag: tag, kind: RspData};
      units_q <= units;
      open_q  <= !ends || differs;
      due_q   <= differs && r_i.last;
    end
  end

  consort_fifo_deep #(
      .T(logic [DataWidth-1:0]),
      .Depth(Room)
  ) i_units (
      .clk_i,
      .rst_ni,
      .clear_i(drain_i),
      .data_i(r_i.data),
      .valid_i(takes),
      .ready_o(room),
      .empty_o(unused),
      .data_o(unit_o),
      .valid_o(unit_valid_o),
      .ready_i(unit_ready_i)
  );
endmodule
