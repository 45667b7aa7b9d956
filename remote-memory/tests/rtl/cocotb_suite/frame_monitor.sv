// SPDX-License-Identifier: Apache-2.0
// Counts for functional coverage what leaves an end of a link, and what stands still there. It reads the frames' format for
// itself: a known beat, or a header and as many beats as it says.
module frame_monitor
  import consort_remote_pkg::*;
#(
    parameter bit Initiator = 1'b1
) (
    input logic                 clk_i,
    input logic                 rst_ni,
    input logic                 up_o,
    input wire_t                phy_tx_o,
    input logic                 phy_tx_valid_o,
    input logic                 phy_tx_ready_i,
    input logic                 rx_valid_o,
    input logic                 rx_ready_i
);
  int unsigned data_frames = 0, ack_frames = 0, nak_frames = 0, init_frames = 0, init_ack_frames = 0;
  int unsigned no_units = 0, few_units = 0, full_units = 0;
  int unsigned replays = 0, replays_begun_anew = 0, cut_short = 0;
  int unsigned phy_waits = 0, rx_waits = 0, ups = 0, downs = 0;
  // An initiator's frames.
  int unsigned first_read = 0, first_write = 0, first_strobed = 0, alone = 0, with_few = 0, with_many = 0;
  // A target's frames.
  int unsigned one_part = 0, two_parts = 0, error_part = 0, ack_part = 0, one_ack = 0, more_acks = 0, errors_carried = 0;

  logic [4:0] left;
  logic resynced, replaying, was_up;
  header_t header, frame;
  logic [31:0] tail;
  request_meta_t request;
  response_meta_t response;
  logic ends;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left = '0;
      resynced = 1'b0;
      replaying = 1'b0;
      was_up = 1'b0;
    end else begin
      ends = 1'b0;
      header = header_t'(phy_tx_o.data[63:0]);
      if (up_o && !was_up) ups = ups + 1;
      if (!up_o && was_up) downs = downs + 1;
      was_up = up_o;
      if (phy_tx_valid_o && !phy_tx_ready_i) phy_waits = phy_waits + 1;
      if (rx_valid_o && !rx_ready_i) rx_waits = rx_waits + 1;
      if (phy_tx_valid_o && phy_tx_ready_i) begin
        tail = phy_tx_o.data[95:64];
        if (phy_tx_o == {MarksWhole, ResyncBeat}) begin
          if (left != '0) cut_short = cut_short + 1;
          if (replaying && left != '0) replays_begun_anew = replays_begun_anew + 1;
          left = '0;
          resynced = 1'b1;
          replaying = 1'b0;
        end else if (left != '0) begin
          left = left - 5'd1;
          ends = left == '0;
        end else begin
          frame = header;
          left  = header.units;
          ends  = left == '0;
          if (resynced && header.kind == FrameAgain) begin
            replays = replays + 1;
            replaying = 1'b1;
          end
          resynced = 1'b0;
        end
      end
      if (ends) begin
        case (frame.kind)
          FrameData, FrameAgain: data_frames = data_frames + 1;
          FrameAck: ack_frames = ack_frames + 1;
          FrameNak: nak_frames = nak_frames + 1;
          FrameInit: init_frames = init_frames + 1;
          FrameInitAck: init_ack_frames = init_ack_frames + 1;
          default: ;
        endcase
        if (frame.kind inside {FrameData, FrameAgain}) begin
          if (frame.units == '0) no_units = no_units + 1;
          else if (frame.units < 5'd16) few_units = few_units + 1;
          else full_units = full_units + 1;
          request  = request_meta_t'({frame.meta, tail});
          response = response_meta_t'({frame.meta, tail});
          if (Initiator) begin
            case (request.first.op)
              OpRead: first_read = first_read + 1;
              OpWrite: first_write = first_write + 1;
              OpWriteStrobe: first_strobed = first_strobed + 1;
              default: ;
            endcase
            if (request.extra == '0) alone = alone + 1;
            else if (request.extra < 4'd7) with_few = with_few + 1;
            else with_many = with_many + 1;
          end else begin
            if (response.parts[1].kind != RspNone) two_parts = two_parts + 1;
            else if (response.parts[0].kind != RspNone) one_part = one_part + 1;
            for (int i = 0; i < 2; i++) begin
              if (response.parts[i].kind == RspError) error_part = error_part + 1;
              if (response.parts[i].kind == RspAck) ack_part = ack_part + 1;
              if (response.parts[i].kind == RspData && response.parts[i].resp != '0) errors_carried = errors_carried + 1;
            end
            if (response.acks[1].valid) more_acks = more_acks + 1;
            else if (response.acks[0].valid) one_ack = one_ack + 1;
          end
        end
      end
    end
  end
endmodule

module credit_monitor (
    input logic clk_i,
    input logic rst_ni,
    input logic enough_o
);
  int unsigned waits = 0;
  always_ff @(posedge clk_i) if (rst_ni && !enough_o) waits = waits + 1;
endmodule

bind consort_link frame_monitor #(.Initiator(Initiator)) monitor (.*);
bind consort_credit credit_monitor monitor (.*);
