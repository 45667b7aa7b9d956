// SPDX-License-Identifier: Apache-2.0
// Widths of a build. A SoC that needs others gives its own package of this name in place of this file, as a proof does; tops and
// tests set no macros. What each may be is checked when a block is elaborated.
package consort_config_pkg;
  localparam int unsigned AddrWidth = 40;    // of AXI4: 36 to 44, for a page's number has a register of 32 bits
  localparam int unsigned IdWidth = 16;      // of AXI4: 10 and more, for towards the memory an id names link and tag
  localparam int unsigned DataWidth = 128;   // of AXI4 in hardware; what proofs only hand on may be narrower
  // Of an address within a segment: 28 are segments of up to 256 MiB; up to 38, 256 GiB, take a longer form of requests on the link.
  localparam int unsigned OffsetWidth = 28;
  localparam int unsigned TagWidth = 8;      // of a port and its accesses, on the link
  // Of a frame: 16 beats of data and two units of strobes. Where offsets are wider than 28 it may have one more.
  localparam int unsigned MaxUnits = 18;
endpackage
