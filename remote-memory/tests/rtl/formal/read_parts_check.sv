// SPDX-License-Identifier: Apache-2.0
// The mBlock's parts of reads: each part says of how many beats it is, and these are the next ones that were taken, all of its tag
// and with its response; one part after the other describes every beat once; a part ends with its burst at the latest, and fits a
// frame; one that waits stays. Where it is told so, beats of one port's reads come burst by burst. There are as many data as
// beats were taken; they go through a FIFO, which is proven apart.
module read_parts_check
  import consort_remote_pkg::*;
#(
    parameter bit Ordered = 1'b0
) (
    input logic   clk,
    input logic   rst_n,
    input logic   drain,
    input axi_r_t r,
    input logic   r_valid,
    input logic   part_ready,
    input logic   unit_ready
);
  localparam int unsigned Room = 64;
  logic r_ready, part_valid, unit_valid;
  response_t part;
  logic [4:0] part_units;
  logic [DataWidth-1:0] unit_out;
  logic past_valid = 1'b0;

  consort_read_parts #(
      .Room(Room),
      .Ordered(Ordered)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .drain_i(drain), .r_i(r), .r_valid_i(r_valid), .r_ready_o(r_ready), .part_o(part),
      .part_units_o(part_units), .part_valid_o(part_valid), .part_ready_i(part_ready), .unit_o(unit_out),
      .unit_valid_o(unit_valid), .unit_ready_i(unit_ready)
  );

  logic [4:0] pending_q;           // beats that were taken and that no part describes yet
  logic [TagWidth-1:0] tag_q;      // of all of them
  logic [1:0] resp_q;
  logic [6:0] data_q;              // of beats that were taken, and not handed on
  logic ended_q;                   // the last of them ended its burst
  logic takes, same, given, part_waits_q;
  response_t part_before_q;

  logic [6:0] behind;  // the FIFO's RAM
  assign behind = dut.i_units.write_q - dut.i_units.read_q;
  assign takes = r_valid && r_ready && !drain;
  assign same = pending_q != '0 && r.id[TagWidth-1:0] == tag_q && r.resp == resp_q;
  assign given = part_valid && part_ready && !drain;

  always_ff @(posedge clk) begin
    past_valid <= 1'b1;
    part_before_q <= part;
    part_waits_q <= rst_n && !drain && part_valid && !part_ready;
    if (!rst_n || drain) begin
      pending_q <= '0;
      data_q <= '0;
      ended_q <= 1'b0;
    end else begin
      data_q <= data_q + 7'(takes) - 7'(unit_valid && unit_ready);
      if (takes) begin
        tag_q <= r.id[TagWidth-1:0];
        resp_q <= r.resp;
        ended_q <= r.last;
      end
      // A part is of all before the beat that comes, or of them and this one.
      if (given && part.len + 5'd1 == pending_q && (!takes || !same)) pending_q <= 5'(takes);
      else if (given) pending_q <= '0;
      else pending_q <= pending_q + 5'(takes);
    end
  end
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (Ordered && r_valid && pending_q != '0 && !ended_q && r.id[TagWidth-1-:PortWidth] == tag_q[TagWidth-1-:PortWidth]) begin
      assume (r.id[TagWidth-1:0] == tag_q);
    end
  end

  always_comb begin
    if (past_valid && rst_n && !drain) begin
      if (part_waits_q) assert (part_valid && part == part_before_q);
      if (given) begin
        assert (part.kind == RspData && part_units == part.len + 5'd1 && part_units <= 5'(MaxUnits));
        if (pending_q != '0 && (!takes || !same)) begin
          assert (part_units == pending_q && part.tag == tag_q && part.resp == resp_q);
        end else begin
          assert (takes && part_units == pending_q + 5'd1);
          assert (part.tag == r.id[TagWidth-1:0] && part.resp == r.resp);
        end
      end
      // One of another tag or response is not taken without the part before it.
      if (takes && pending_q != '0 && !same) assert (given && part_units == pending_q);
      // The end of a burst ends its part, in its cycle or, behind another part, in the next that has room.
      if (takes && r.last && (same || pending_q == '0)) assert (given);
      if (pending_q != '0 && ended_q) assert (part_valid && !takes);
      assert (pending_q < 5'(MaxUnits));
      if (unit_valid) assert (data_q != '0);
`ifdef PROVE
      // About its state.
      assert (behind <= 7'(Room) && behind + 7'(unit_valid) + 7'(dut.i_units.behind_q) == data_q);
      assert (!dut.i_units.ready_o || behind < 7'(Room));
      assert (dut.open_q == (pending_q != '0) && dut.due_q == (pending_q != '0 && ended_q));
      if (pending_q != '0) begin
        assert (dut.part_q.kind == RspData && dut.part_q.tag == tag_q && dut.part_q.resp == resp_q);
        assert (dut.part_q.len == pending_q - 5'd1 && dut.units_q == pending_q);
      end
      if (part_waits_q) assert (dut.due_q);
      if (part_waits_q) assert (part_before_q == dut.part_q);
`endif
    end
  end
endmodule
