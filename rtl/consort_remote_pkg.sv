// SPDX-License-Identifier: Apache-2.0
// Formats that more than one module shares. Each width is defined here once.
package consort_remote_pkg;

  localparam int unsigned AddrWidth = 40;
  localparam int unsigned DataWidth = 128;
  localparam int unsigned StrbWidth = DataWidth / 8;
  localparam int unsigned IdWidth = 16;
  localparam int unsigned BeatWidth = 128;

  typedef enum logic [1:0] {
    RespOkay = 2'd0,
    RespExokay = 2'd1,
    RespSlverr = 2'd2,
    RespDecerr = 2'd3
  } resp_e;

  localparam logic [1:0] BurstFixed = 2'd0;
  localparam logic [1:0] BurstIncr = 2'd1;
  localparam logic [1:0] BurstWrap = 2'd2;

  // AXI4 address channel without its handshake: 81 bits.
  typedef struct packed {
    logic [AddrWidth-1:0] addr;
    logic [IdWidth-1:0]   id;
    logic [7:0]           len;
    logic [2:0]           size;
    logic [1:0]           burst;
    logic                 lock;
    logic [3:0]           cache;
    logic [2:0]           prot;
    logic [3:0]           qos;
  } axi_a_t;

  // 145 bits.
  typedef struct packed {
    logic [DataWidth-1:0] data;
    logic [StrbWidth-1:0] strb;
    logic                 last;
  } axi_w_t;

  // 147 bits.
  typedef struct packed {
    logic [DataWidth-1:0] data;
    logic [IdWidth-1:0]   id;
    logic [1:0]           resp;
    logic                 last;
  } axi_r_t;

  // 18 bits.
  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [1:0]         resp;
  } axi_b_t;

  // ---- Streamed transactions and databeats of the b2b and pipelined packetizations ----

  typedef enum logic [2:0] {
    TidWa = 3'd0,
    TidRa = 3'd1,
    TidWd = 3'd2,
    TidRd = 3'd3,
    TidWack = 3'd4
  } tid_e;

  localparam int unsigned TxnWidth = $bits(axi_r_t);

  typedef struct packed {
    tid_e                tid;
    logic [3:0]          mif;   // the master interface it belongs to
    logic [3:0]          link;
    logic                last;  // last data of its burst; set for all others
    logic [TxnWidth-1:0] payload;  // least significant bits first
  } txn_t;

  // A 64-bit databeat: 49 bits of payload, annotated.
  localparam int unsigned PartPayload = 49;
  typedef struct packed {
    logic                   valid;
    logic [3:0]             mif;
    logic [3:0]             link;
    tid_e                   tid;
    logic [1:0]             part;
    logic                   last;
    logic [PartPayload-1:0] payload;
  } part_t;

  function automatic logic [1:0] parts_of(tid_e tid);
    case (tid)
      TidWa, TidRa: return 2'd2;
      TidWack: return 2'd1;
      default: return 2'd3;
    endcase
  endfunction

endpackage
