// SPDX-License-Identifier: Apache-2.0
// Finds the frames in what a link receives, and says of each whether it is whole.
//
// It takes beats as they come, waits for a ResyncBeat while it hunts, cuts frames by their headers' length, and checks CRC and marks.
// After a frame that is no good, or that the receiver refuses, it hunts again.
// Interface: phy_* and gap_i are a beat as it comes; first_o to unit_o are of the beat before that one; end_o and good_o of the frame that ended
// a cycle earlier, with its header and the 32 bits of its tail. A unit shows with unit_valid_o and counts only when its frame does.
// Parameters: none.
// Throughput: a beat a cycle, without a pause between frames.
// Latency: a frame's end is known two cycles after its last beat came.
// Assumes: refuse_i is set only together with end_o.
// Held by: the exploration of consort_link (tests/rtl/test_explore.py), with a wrong version of this module.
module consort_link_deframer
  import consort_remote_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  wire_t phy_i,
    input  logic  phy_valid_i,
    input  logic  gap_i,      // between frames: no beat at all
    output logic  hunting_o,

    output logic                 first_o,         // the first beat of a frame, and its header
    output header_t              first_header_o,
    output header_t              header_o,        // of the frame that is under way, after its first beat
    output logic                 last_o,          // the last beat of a frame
    output logic                 unit_valid_o,
    output logic    [BeatWidth-1:0] unit_o,
    output logic                 bad_header_o,    // where a frame had to begin there is none

    output logic                 end_o,
    output logic                 good_o,
    output header_t              end_header_o,
    output logic    [31:0]       end_meta_o,
    input  logic                 refuse_i         // the frame that ended is to come again
);
  typedef enum logic [1:0] {
    Hunt,
    Boundary,
    Inside
  } rx_state_e;

  rx_state_e rx_state_q;
  logic [BeatWidth-1:0] in_q;
  logic [1:0] in_marks_q;
  logic marks_bad_q;  // of the frame so far: data where control has to be, or the other way round
  logic in_valid_q, in_gap_q;
  // Of the beat in in_q, found out on its way there.
  logic in_resync_q, in_good_q, in_empty_q;
  logic [31:0] in_crc, in_crc_q;
  header_t phy_header, in_header, header_q;
  header_t ended_q;  // of the frame that ended: the next one may already be in header_q
  logic [4:0] left_q;
  logic left_one_q;
  logic [31:0] rx_due_q, rx_step;  // what a beat that ends a right frame adds to the CRC
  logic [63:0] half_q;
  logic frame_first, frame_last, frame_more;
  logic end_q, crc_good_q, bad_crc;

  assign phy_header = header_t'(phy_i.data[63:0]);
  assign in_header = header_t'(in_q[63:0]);
  assign frame_first = in_valid_q && rx_state_q == Boundary && !in_resync_q && in_good_q;
  assign frame_last = (frame_first && in_empty_q) || (in_valid_q && rx_state_q == Inside && left_one_q);
  assign frame_more = (frame_first && !in_empty_q) || (rx_state_q == Inside && !left_one_q);
  assign bad_header_o = in_valid_q && rx_state_q == Boundary && !in_resync_q && !in_good_q && !in_gap_q;
  assign bad_crc = end_q && !crc_good_q;

  assign hunting_o = rx_state_q == Hunt;
  assign first_o = frame_first;
  assign first_header_o = in_header;
  assign header_o = header_q;
  assign last_o = frame_last;
  assign unit_valid_o = in_valid_q && rx_state_q == Inside;
  assign unit_o = {in_q[63:0], half_q};
  assign end_o = end_q;
  assign good_o = crc_good_q;
  assign end_header_o = ended_q;

  consort_crc_sum i_rx_sum (
      .data_i(phy_i.data),
      .sum_o(in_crc)
  );
  consort_crc_step i_rx_step (
      .crc_i(in_crc_q ^ rx_due_q),
      .crc_o(rx_step)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_valid_q <= 1'b0;
      rx_state_q <= Hunt;
      end_q <= 1'b0;
    end else begin
      in_valid_q <= phy_valid_i;
      end_q <= frame_last;
      if (in_valid_q) begin
        case (rx_state_q)
          Hunt: if (in_resync_q) rx_state_q <= Boundary;
          Boundary: begin
            if (bad_header_o) rx_state_q <= Hunt;
            else if (frame_first && !frame_last) rx_state_q <= Inside;
          end
          default: if (frame_last) rx_state_q <= Boundary;
        endcase
      end
      // The beat that is looked at now came after a frame that was no good: it counts only if it is a ResyncBeat.
      if (bad_crc || refuse_i) begin
        rx_state_q <= in_valid_q && in_resync_q ? Boundary : Hunt;
        end_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    in_q <= phy_i.data;
    in_marks_q <= phy_i.control;
    in_gap_q <= gap_i;
    in_resync_q <= phy_i == {MarksWhole, ResyncBeat};
    in_good_q <= phy_header.kind inside {FrameData, FrameAck, FrameNak, FrameInit, FrameInitAck, FrameAgain} &&
        phy_header.units <= (phy_header.kind inside {FrameData, FrameAgain} ? 5'(MaxUnits) : 5'd0) &&
        phy_i.control == (phy_header.units == '0 ? MarksWhole : MarksFirst);
    in_empty_q <= phy_header.units == 5'd0;
    in_crc_q <= in_crc;
    if (in_valid_q) begin
      if (frame_first) header_q <= in_header;
      left_q <= frame_first ? in_header.units : left_q - 5'd1;
      left_one_q <= frame_first ? in_header.units == 5'd1 : left_q == 5'd2;
      half_q <= in_q[127:64];
      // Outside of a frame every beat may be the first of one.
      rx_due_q <= frame_more ? rx_step : CrcFirst;
      marks_bad_q <= rx_state_q == Inside && (marks_bad_q || in_marks_q != MarksInner);
      crc_good_q <= in_crc_q == rx_due_q && (rx_state_q != Inside || (!marks_bad_q && in_marks_q == MarksLast));
      end_meta_o <= in_q[95:64];
      if (frame_last) ended_q <= frame_first ? in_header : header_q;
    end
  end
endmodule
