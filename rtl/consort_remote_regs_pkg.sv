// SPDX-License-Identifier: Apache-2.0
// Places of registers, in bytes. Made from rtl/remote.rdl by rtl/registers.py: do not edit.
package consort_remote_regs_pkg;
  localparam logic [11:0] CblockId = 12'h000;
  localparam logic [31:0] CblockIdReset = 32'h4342_0001;
  localparam logic [11:0] CblockShape = 12'h004;
  localparam logic [11:0] CblockEnable = 12'h008;
  localparam logic [11:0] CblockUp = 12'h00C;
  localparam logic [11:0] CblockAckTimeout = 12'h010;
  localparam int unsigned CblockAckTimeoutReset = 1024;
  localparam logic [11:0] CblockDownAfter = 12'h014;
  localparam int unsigned CblockDownAfterReset = 65536;
  localparam logic [11:0] CblockLinks = 12'h100;
  localparam logic [11:0] CblockLinkStride = 12'h010;
  localparam int unsigned CblockLinkBadFrames = 0;
  localparam int unsigned CblockLinkReplays = 4;
  localparam int unsigned CblockLinkDowns = 8;
  localparam logic [11:0] CblockWindows = 12'h400;
  localparam logic [11:0] CblockPortStride = 12'h200;
  localparam logic [11:0] CblockWindowStride = 12'h020;
  localparam logic [4:0] CblockWindowFirst = 5'h00;
  localparam logic [4:0] CblockWindowLast = 5'h04;
  localparam logic [4:0] CblockWindowControl = 5'h08;
  localparam logic [4:0] CblockWindowReads = 5'h0C;
  localparam logic [4:0] CblockWindowWrites = 5'h10;

  localparam logic [11:0] MblockId = 12'h000;
  localparam logic [31:0] MblockIdReset = 32'h4D42_0001;
  localparam logic [11:0] MblockShape = 12'h004;
  localparam logic [11:0] MblockEnable = 12'h008;
  localparam logic [11:0] MblockUp = 12'h00C;
  localparam logic [11:0] MblockAckTimeout = 12'h010;
  localparam int unsigned MblockAckTimeoutReset = 1024;
  localparam logic [11:0] MblockDownAfter = 12'h014;
  localparam int unsigned MblockDownAfterReset = 65536;
  localparam logic [11:0] MblockLinks = 12'h100;
  localparam logic [11:0] MblockLinkStride = 12'h010;
  localparam int unsigned MblockLinkBadFrames = 0;
  localparam int unsigned MblockLinkReplays = 4;
  localparam int unsigned MblockLinkDowns = 8;
  localparam int unsigned MblockLinkRefused = 12;
  localparam logic [11:0] MblockSegments = 12'h400;
  localparam logic [11:0] MblockLinkSegmentsStride = 12'h100;
  localparam logic [11:0] MblockSegmentStride = 12'h010;
  localparam logic [3:0] MblockSegmentBase = 4'h0;
  localparam logic [3:0] MblockSegmentLast = 4'h4;
  localparam logic [3:0] MblockSegmentControl = 4'h8;
endpackage
