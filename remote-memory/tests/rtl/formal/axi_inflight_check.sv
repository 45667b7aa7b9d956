// SPDX-License-Identifier: Apache-2.0
// The accesses under way against a list of them in the order in which they began: of an id the oldest is found, at the place that it was
// given, and nothing where there is none; there is room unless all places are taken.
module axi_inflight_check
  import consort_remote_pkg::*;
(
    input logic               clk,
    input logic               rst_n,
    input logic               push,
    input logic [IdWidth-1:0] push_id,
    input logic [IdWidth-1:0] find_id,
    input logic               pop
);
  localparam int unsigned Entries = 4;
  logic room, found;
  logic [1:0] push_index, find_index;
  logic past_valid = 1'b0;

  consort_axi_inflight #(
      .Entries(Entries)
  ) dut (
      .clk_i(clk), .rst_ni(rst_n), .room_o(room), .push_i(push), .push_id_i(push_id), .push_index_o(push_index),
      .find_id_i(find_id), .found_o(found), .find_index_o(find_index), .pop_i(pop)
  );

  always_ff @(posedge clk) past_valid <= 1'b1;
  always_comb begin
    if (!past_valid) assume (!rst_n);
    else assume (rst_n);
    if (push) assume (room);
    if (pop) assume (found);
  end

  // All of them, in the order in which they began: of each its id and place.
  logic [2:0] count_q;
  logic [IdWidth-1:0] id_q[Entries];
  logic [1:0] place_q[Entries];
  logic [2:0] first;  // the oldest with the id that is looked up
  always_comb begin
    first = 3'd4;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (first == 3'd4 && 3'(i) < count_q && id_q[i] == find_id) first = 3'(i);
    end
  end
  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      count_q <= '0;
    end else begin
      count_q <= count_q + 3'(push) - 3'(pop);
    end
  end
  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < Entries; i++) begin
      if (pop && 3'(i) >= first && i < Entries - 1) begin
        id_q[i] <= id_q[(i+1)%Entries];
        place_q[i] <= place_q[(i+1)%Entries];
      end
    end
    for (int unsigned i = 0; i < Entries; i++) begin
      if (push && 3'(i) == count_q - 3'(pop)) begin
        id_q[i] <= push_id;
        place_q[i] <= push_index;
      end
    end
  end

  always_comb begin
    if (past_valid && rst_n) begin
      assert (room == (count_q < 3'd4));
      assert (found == (first != 3'd4));
      if (found) assert (find_index == place_q[first[1:0]]);
`ifdef PROVE
      // About its state.
      assert (count_q <= 3'd4);
      for (int unsigned i = 0; i < Entries; i++) begin
        logic used, oldest, youngest;
        used = 1'b0;
        for (int unsigned j = 0; j < Entries; j++) begin
          if (3'(j) < count_q && place_q[j] == 2'(i)) used = 1'b1;
        end
        assert (dut.used_q[i] == used);
        if (3'(i) < count_q) begin
          oldest = 1'b1;
          youngest = 1'b1;
          for (int unsigned j = 0; j < Entries; j++) begin
            if (j != i && 3'(j) < count_q) assert (place_q[i] != place_q[j]);
            if (j < i && id_q[j] == id_q[i]) oldest = 1'b0;
          end
          for (int unsigned j = Entries; j > 0; j--) begin
            // From the youngest down: the last one that is seen comes next.
            if (j - 1 > i && 3'(j - 1) < count_q && id_q[j-1] == id_q[i]) youngest = 1'b0;
          end
          assert (dut.id_q[place_q[i]] == id_q[i]);
          assert (dut.oldest_q[place_q[i]] == oldest);
          assert (dut.youngest_q[place_q[i]] == youngest);
          for (int unsigned j = 0; j < Entries; j++) begin
            logic between;
            between = 1'b0;
            for (int unsigned k = 0; k < Entries; k++) if (k > i && k < j && id_q[k] == id_q[i]) between = 1'b1;
            if (j > i && 3'(j) < count_q && id_q[j] == id_q[i] && !between) assert (dut.next_q[place_q[i]] == place_q[j]);
          end
        end
      end
`endif
    end
  end
endmodule
