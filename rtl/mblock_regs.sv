// SPDX-License-Identifier: Apache-2.0
// Registers of the mBlock. Their places come from remote.rdl through consort_remote_regs_pkg.
module mblock_regs
  import consort_remote_pkg::*;
  import consort_remote_regs_pkg::*;
#(
    parameter int unsigned Links    = 1,
    parameter int unsigned Memories = 1,
    parameter int unsigned Segments = 16
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [11:0] cfg_awaddr_i,
    input  logic        cfg_awvalid_i,
    output logic        cfg_awready_o,
    input  logic [31:0] cfg_wdata_i,
    input  logic        cfg_wvalid_i,
    output logic        cfg_wready_o,
    output logic [ 1:0] cfg_bresp_o,
    output logic        cfg_bvalid_o,
    input  logic        cfg_bready_i,
    input  logic [11:0] cfg_araddr_i,
    input  logic        cfg_arvalid_i,
    output logic        cfg_arready_o,
    output logic [31:0] cfg_rdata_o,
    output logic [ 1:0] cfg_rresp_o,
    output logic        cfg_rvalid_o,
    input  logic        cfg_rready_i,

    output segment_t         segments_o   [Links][Segments],
    output logic [Links-1:0] enable_o,
    input  logic [Links-1:0] up_i,
    output logic [     15:0] ack_timeout_o,
    output logic [     23:0] down_after_o,
    input  logic [     31:0] bad_frames_i [Links],
    input  logic [     31:0] replays_i    [Links],
    input  logic [     31:0] downs_i      [Links],
    input  logic [Links-1:0] refused_i
);
  logic write, write_good, read_good;
  logic [11:0] write_addr, read_addr;
  logic [31:0] write_data, read_data;
  logic [31:0] refused_q[Links];

  lite_slave i_lite (
      .clk_i,
      .rst_ni,
      .awaddr_i(cfg_awaddr_i),
      .awvalid_i(cfg_awvalid_i),
      .awready_o(cfg_awready_o),
      .wdata_i(cfg_wdata_i),
      .wvalid_i(cfg_wvalid_i),
      .wready_o(cfg_wready_o),
      .bresp_o(cfg_bresp_o),
      .bvalid_o(cfg_bvalid_o),
      .bready_i(cfg_bready_i),
      .araddr_i(cfg_araddr_i),
      .arvalid_i(cfg_arvalid_i),
      .arready_o(cfg_arready_o),
      .rdata_o(cfg_rdata_o),
      .rresp_o(cfg_rresp_o),
      .rvalid_o(cfg_rvalid_o),
      .rready_i(cfg_rready_i),
      .write_o(write),
      .write_addr_o(write_addr),
      .write_data_o(write_data),
      .write_good_i(write_good),
      .read_addr_o(read_addr),
      .read_data_i(read_data),
      .read_good_i(read_good)
  );

  function automatic logic is_segment(logic [11:0] addr, int unsigned link, int unsigned segment);
    return addr[11:4] == 8'((MblockSegments + 12'(link) * MblockLinkSegmentsStride + 12'(segment) * MblockSegmentStride) >> 4);
  endfunction

  always_comb begin
    write_good = write_addr inside {MblockEnable, MblockAckTimeout, MblockDownAfter};
    for (int unsigned l = 0; l < Links; l++) begin
      for (int unsigned s = 0; s < Segments; s++) begin
        if (is_segment(write_addr, l, s)) begin
          write_good = write_addr[3:0] inside {MblockSegmentBase, MblockSegmentLast, MblockSegmentControl};
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_o <= '0;
      ack_timeout_o <= 16'(MblockAckTimeoutReset);
      down_after_o <= 24'(MblockDownAfterReset);
      for (int unsigned l = 0; l < Links; l++) begin
        refused_q[l] <= '0;
        for (int unsigned s = 0; s < Segments; s++) segments_o[l][s] <= '0;
      end
    end else begin
      if (write && write_good) begin
        case (write_addr)
          MblockEnable: enable_o <= write_data[Links-1:0];
          MblockAckTimeout: ack_timeout_o <= write_data[15:0];
          MblockDownAfter: down_after_o <= write_data[23:0];
          default:
          for (int unsigned l = 0; l < Links; l++) begin
            for (int unsigned s = 0; s < Segments; s++) begin
              if (is_segment(write_addr, l, s)) begin
                case (write_addr[3:0])
                  MblockSegmentBase: segments_o[l][s].base <= write_data[PageWidth-1:0];
                  MblockSegmentLast: segments_o[l][s].last <= write_data[OffsetWidth-13:0];
                  default:
                  {segments_o[l][s].generation, segments_o[l][s].memory, segments_o[l][s].writable,
                      segments_o[l][s].readable, segments_o[l][s].valid} <= write_data[8:0];
                endcase
              end
            end
          end
        endcase
      end
      for (int unsigned l = 0; l < Links; l++) refused_q[l] <= refused_q[l] + 32'(refused_i[l]);
    end
  end

  always_comb begin
    read_data = '0;
    read_good = 1'b1;
    case (read_addr)
      MblockId: read_data = MblockIdReset;
      MblockShape: read_data = {8'd0, 8'(Segments), 8'(Links), 8'(Memories)};
      MblockEnable: read_data = 32'(enable_o);
      MblockUp: read_data = 32'(up_i);
      MblockAckTimeout: read_data = 32'(ack_timeout_o);
      MblockDownAfter: read_data = 32'(down_after_o);
      default: begin
        read_good = 1'b0;
        for (int unsigned l = 0; l < Links; l++) begin
          if (read_addr[11:4] == 8'((MblockLinks + 12'(l) * MblockLinkStride) >> 4)) begin
            read_good = 1'b1;
            case (read_addr[3:0])
              4'(MblockLinkBadFrames): read_data = bad_frames_i[l];
              4'(MblockLinkReplays): read_data = replays_i[l];
              4'(MblockLinkDowns): read_data = downs_i[l];
              4'(MblockLinkRefused): read_data = refused_q[l];
              default: read_good = 1'b0;
            endcase
          end
          for (int unsigned s = 0; s < Segments; s++) begin
            if (is_segment(read_addr, l, s)) begin
              read_good = 1'b1;
              case (read_addr[3:0])
                MblockSegmentBase: read_data = 32'(segments_o[l][s].base);
                MblockSegmentLast: read_data = 32'(segments_o[l][s].last);
                MblockSegmentControl:
                read_data = 32'({
                  segments_o[l][s].generation,
                  segments_o[l][s].memory,
                  segments_o[l][s].writable,
                  segments_o[l][s].readable,
                  segments_o[l][s].valid
                });
                default: read_good = 1'b0;
              endcase
            end
          end
        end
      end
    endcase
  end
endmodule
