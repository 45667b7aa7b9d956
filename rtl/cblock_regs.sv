// SPDX-License-Identifier: Apache-2.0
// Registers of the cBlock. Their places come from remote.rdl through consort_remote_regs_pkg.
module cblock_regs
  import consort_remote_pkg::*;
  import consort_remote_regs_pkg::*;
#(
    parameter int unsigned Ports   = 1,
    parameter int unsigned Links   = 1,
    parameter int unsigned Windows = 8
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

    output window_t            windows_o     [Ports][Windows],
    input  logic [Windows-1:0] count_reads_i [Ports],
    input  logic [Windows-1:0] count_writes_i[Ports],
    output logic [  Links-1:0] enable_o,
    input  logic [  Links-1:0] up_i,
    output logic [       15:0] ack_timeout_o,
    output logic [       23:0] down_after_o,
    input  logic [       31:0] bad_frames_i  [Links],
    input  logic [       31:0] replays_i     [Links],
    input  logic [       31:0] downs_i       [Links]
);
  localparam int unsigned WindowIndex = $clog2(CblockWindowStride);

  logic write, write_good, read_good;
  logic [11:0] write_addr, read_addr;
  logic [31:0] write_data, read_data;
  logic [31:0] reads_q[Ports][Windows], writes_q[Ports][Windows];

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

  function automatic logic is_window(logic [11:0] addr, int unsigned port, int unsigned window);
    logic [11:0] at;
    at = CblockWindows + 12'(port) * CblockPortStride + 12'(window) * CblockWindowStride;
    return addr[11:WindowIndex] == at[11:WindowIndex];
  endfunction

  always_comb begin
    write_good = write_addr inside {CblockEnable, CblockAckTimeout, CblockDownAfter};
    for (int unsigned p = 0; p < Ports; p++) begin
      for (int unsigned w = 0; w < Windows; w++) begin
        if (is_window(write_addr, p, w)) begin
          write_good = write_addr[WindowIndex-1:0] inside {CblockWindowFirst, CblockWindowLast, CblockWindowControl};
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_o <= '0;
      ack_timeout_o <= 16'(CblockAckTimeoutReset);
      down_after_o <= 24'(CblockDownAfterReset);
      for (int unsigned p = 0; p < Ports; p++) begin
        for (int unsigned w = 0; w < Windows; w++) begin
          windows_o[p][w] <= '0;
          reads_q[p][w]   <= '0;
          writes_q[p][w]  <= '0;
        end
      end
    end else begin
      if (write && write_good) begin
        case (write_addr)
          CblockEnable: enable_o <= write_data[Links-1:0];
          CblockAckTimeout: ack_timeout_o <= write_data[15:0];
          CblockDownAfter: down_after_o <= write_data[23:0];
          default:
          for (int unsigned p = 0; p < Ports; p++) begin
            for (int unsigned w = 0; w < Windows; w++) begin
              if (is_window(write_addr, p, w)) begin
                case (write_addr[WindowIndex-1:0])
                  CblockWindowFirst: windows_o[p][w].first <= write_data[PageWidth-1:0];
                  CblockWindowLast: windows_o[p][w].last <= write_data[PageWidth-1:0];
                  default:
                  {windows_o[p][w].handle, windows_o[p][w].link, windows_o[p][w].writable, windows_o[p][w].readable,
                      windows_o[p][w].valid} <= write_data[12:0];
                endcase
              end
            end
          end
        endcase
      end
      for (int unsigned p = 0; p < Ports; p++) begin
        for (int unsigned w = 0; w < Windows; w++) begin
          reads_q[p][w]  <= reads_q[p][w] + 32'(count_reads_i[p][w]);
          writes_q[p][w] <= writes_q[p][w] + 32'(count_writes_i[p][w]);
        end
      end
    end
  end

  always_comb begin
    read_data = '0;
    read_good = 1'b1;
    case (read_addr)
      CblockId: read_data = CblockIdReset;
      CblockShape: read_data = {8'd0, 8'(Windows), 8'(Links), 8'(Ports)};
      CblockEnable: read_data = 32'(enable_o);
      CblockUp: read_data = 32'(up_i);
      CblockAckTimeout: read_data = 32'(ack_timeout_o);
      CblockDownAfter: read_data = 32'(down_after_o);
      default: begin
        read_good = 1'b0;
        for (int unsigned l = 0; l < Links; l++) begin
          if (read_addr == CblockLinks + 12'(l) * CblockLinkStride + 12'(CblockLinkBadFrames)) begin
            read_data = bad_frames_i[l];
            read_good = 1'b1;
          end
          if (read_addr == CblockLinks + 12'(l) * CblockLinkStride + 12'(CblockLinkReplays)) begin
            read_data = replays_i[l];
            read_good = 1'b1;
          end
          if (read_addr == CblockLinks + 12'(l) * CblockLinkStride + 12'(CblockLinkDowns)) begin
            read_data = downs_i[l];
            read_good = 1'b1;
          end
        end
        for (int unsigned p = 0; p < Ports; p++) begin
          for (int unsigned w = 0; w < Windows; w++) begin
            if (is_window(read_addr, p, w)) begin
              read_good = 1'b1;
              case (read_addr[WindowIndex-1:0])
                CblockWindowFirst: read_data = 32'(windows_o[p][w].first);
                CblockWindowLast: read_data = 32'(windows_o[p][w].last);
                CblockWindowControl:
                read_data = 32'({
                  windows_o[p][w].handle,
                  windows_o[p][w].link,
                  windows_o[p][w].writable,
                  windows_o[p][w].readable,
                  windows_o[p][w].valid
                });
                CblockWindowReads: read_data = reads_q[p][w];
                CblockWindowWrites: read_data = writes_q[p][w];
                default: read_good = 1'b0;
              endcase
            end
          end
        end
      end
    endcase
  end
endmodule
