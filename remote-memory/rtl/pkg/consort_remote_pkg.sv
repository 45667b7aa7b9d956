// SPDX-License-Identifier: Apache-2.0
// Formats that more than one module shares. Each width is defined here once.
// Those of the build are in consort_config_pkg.

package consort_remote_pkg;

  localparam int unsigned AddrWidth = consort_config_pkg::AddrWidth;
  localparam int unsigned DataWidth = consort_config_pkg::DataWidth;
  localparam int unsigned StrbWidth = DataWidth / 8;
  localparam int unsigned IdWidth = consort_config_pkg::IdWidth;
  localparam int unsigned BeatWidth = 128;

  typedef enum logic [1:0] {
    RespOkay = 2'd0,
    RespExokay = 2'd1,
    RespSlverr = 2'd2,
    RespDecerr = 2'd3
  } resp_e;

  // What an answer from a link means: EXOKAY is none to an access that is not exclusive, and no other goes over a link.
  function automatic logic [1:0] resp_of(logic [1:0] told);
    return told == RespExokay ? RespSlverr : told;
  endfunction

  localparam logic [1:0] BurstFixed = 2'd0;
  localparam logic [1:0] BurstIncr = 2'd1;
  localparam logic [1:0] BurstWrap = 2'd2;

  // AXI4 address channel without its handshake: 81 bits, with addresses of 40 and ids of 16 as all these.
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

  // A whole interface, by the names that the open AXI libraries give its members. Blocks take them as type parameters: those of a SoC may have
  // narrower addresses and ids and more members.
  typedef struct packed {
    axi_a_t aw;
    logic   aw_valid;
    axi_w_t w;
    logic   w_valid;
    logic   b_ready;
    axi_a_t ar;
    logic   ar_valid;
    logic   r_ready;
  } axi_req_t;

  typedef struct packed {
    logic   aw_ready;
    logic   w_ready;
    axi_b_t b;
    logic   b_valid;
    logic   ar_ready;
    axi_r_t r;
    logic   r_valid;
  } axi_resp_t;

  // AXI-Lite of the registers.
  localparam int unsigned LiteAddrWidth = 12;

  typedef struct packed {
    logic [LiteAddrWidth-1:0] addr;
    logic [2:0]               prot;
  } lite_a_t;

  typedef struct packed {
    logic [31:0] data;
    logic [3:0]  strb;
  } lite_w_t;

  typedef struct packed {
    logic [31:0] data;
    logic [1:0]  resp;
  } lite_r_t;

  typedef struct packed {
    logic [1:0] resp;
  } lite_b_t;

  typedef struct packed {
    lite_a_t aw;
    logic    aw_valid;
    lite_w_t w;
    logic    w_valid;
    logic    b_ready;
    lite_a_t ar;
    logic    ar_valid;
    logic    r_ready;
  } lite_req_t;

  typedef struct packed {
    logic    aw_ready;
    logic    w_ready;
    lite_b_t b;
    logic    b_valid;
    logic    ar_ready;
    lite_r_t r;
    logic    r_valid;
  } lite_resp_t;

  // Where an address leads, as consort_axi_gate asks it.
  typedef struct packed {
    logic                 mapped;   // else the answer is DECERR
    logic                 allowed;  // else SLVERR
    logic [1:0]           to;
    logic [AddrWidth-1:0] addr;     // there
  } place_t;

  // ---- Streamed transactions and databeats of the b2b and pipelined packetizations ----

  typedef enum logic [2:0] {
    TidWa = 3'd0,
    TidRa = 3'd1,
    TidWd = 3'd2,
    TidRd = 3'd3,
    TidWack = 3'd4
  } tid_e;

  // Of the largest of them.
  localparam int unsigned TxnWidth = $bits(axi_r_t) > $bits(axi_w_t) ? $bits(axi_r_t) : $bits(axi_w_t);

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

  // ---- Frames of the compact packetization ----
  // A frame of U units of 128 bits is U + 1 beats: header (64 bits), units, tail (64 bits), one after the other. So every
  // unit lies half a beat further up, whatever the frame holds.

  // Of an offset 28 bits have a place in a request of 64 bits. The bits above them, where a build has such, go beside the requests
  // (request_meta_t).
  localparam int unsigned OffsetWidth = consort_config_pkg::OffsetWidth;
  localparam int unsigned LowWidth = OffsetWidth < 28 ? OffsetWidth : 28;
  localparam int unsigned HighWidth = OffsetWidth - LowWidth;
  localparam int unsigned HighBits = HighWidth > 0 ? HighWidth : 1;

  localparam int unsigned MaxUnits = consort_config_pkg::MaxUnits + (HighWidth > 0 ? 1 : 0);
  localparam int unsigned MetaWidth = 72;  // of the frame's content: 40 bits in the header, 32 in the tail

  typedef enum logic [2:0] {
    FrameNone    = 3'd0,
    FrameData    = 3'd1,
    FrameAck     = 3'd2,
    FrameNak     = 3'd3,
    FrameInit    = 3'd4,
    FrameInitAck = 3'd5,
    FrameAgain   = 3'd6   // FrameData that is repeated: its acknowledgement is of long ago
  } frame_e;

  typedef struct packed {
    logic [39:0] meta;
    logic [7:0]  ack;    // the sequence number that is expected next
    logic [7:0]  seq;    // of data frames; the nonce of FrameInit and FrameInitAck
    logic [4:0]  units;
    frame_e      kind;
  } header_t;

  typedef struct packed {
    logic [31:0] crc;
    logic [31:0] meta;
  } tail_t;

  // A beat on the wire. Each of its 64-bit words is marked beside its data, as 64b/66b marks its blocks: control or data. Of a frame
  // the header and the tail are control and all between them is data; a beat between frames is control as a whole. So nothing
  // that a user writes can be taken for the beginning or the end of a frame, whatever it holds.
  typedef struct packed {
    logic [1:0]           control;
    logic [BeatWidth-1:0] data;
  } wire_t;

  localparam logic [1:0] MarksWhole = 2'b11;  // a frame without units, or between frames
  localparam logic [1:0] MarksFirst = 2'b01;
  localparam logic [1:0] MarksInner = 2'b00;
  localparam logic [1:0] MarksLast  = 2'b10;

  // Bits of a PHY's word with its marks, which are the upper ones.
  function automatic int unsigned word_width(int unsigned phy_width);
    return phy_width + phy_width / 64;
  endfunction

  // What a control frame after a ResyncBeat tells the other end.
  // Of what is on the wire. Ends whose offsets have unlike widths do not come up with each other.
  localparam logic [7:0] LinkVersion = 8'd2 + 8'(16 * HighWidth);
  typedef struct packed {
    logic [39:0] zero;
    logic [7:0]  version;
    logic [23:0] down_after;  // cycles
  } settings_t;

  // What a receiver that lost the frames' boundaries waits for. Its low bits are not a frame_e.
  localparam logic [BeatWidth-1:0] ResyncBeat = 128'hC0A5_0F37_9E11_D24B_6A83_F05C_1B7E_44AF;

  // What fills a word of a PHY that is wider than a beat, between frames. Its low bits are not a frame_e.
  localparam logic [BeatWidth-1:0] GapBeat = 128'h93D8_6A41_C57F_20BE_E91C_5D06_B372_48FF;

  // CRC-32 as Ethernet has it (polynomial 04C11DB7, the low bit of each byte first, begun with ones), over all of a frame but
  // the CRC itself, its last 32 bits; sent without inversion. Between beats the remainder is kept with the last 32 bits
  // added and not yet divided. So a beat of the sender with nothing in the CRC's place ends with the CRC, and a frame of
  // the receiver ends with zero when it is right. A matrix over GF(2), one row for each bit of the next remainder: a loop
  // over the bits would synthesise to a chain. CrcFirst is what the ones at the beginning add to the first beat.
  typedef logic [BeatWidth+31:0] crc_row_t;
  typedef crc_row_t [31:0] crc_matrix_t;

  function automatic logic [31:0] crc_shift(logic [31:0] rem, int unsigned bits);
    for (int unsigned i = 0; i < bits; i++) rem = (rem >> 1) ^ (rem[0] ? 32'hEDB8_8320 : 32'd0);
    return rem;
  endfunction

  function automatic crc_matrix_t crc_matrix();
    crc_matrix_t matrix;
    logic [31:0] rem;
    for (int unsigned column = 0; column < BeatWidth + 32; column++) begin
      // The remainder of a single set bit: in the register before (upper 32 columns), or in the data.
      if (column >= BeatWidth) rem = crc_shift(32'd1 << (column - BeatWidth), BeatWidth);
      else if (column >= BeatWidth - 32) rem = 32'd1 << (column - (BeatWidth - 32));
      else rem = crc_shift(32'd1, BeatWidth - 32 - column);
      for (int unsigned row = 0; row < 32; row++) matrix[row][column] = rem[row];
    end
    return matrix;
  endfunction

  localparam crc_matrix_t CrcMatrix = crc_matrix();
  localparam logic [31:0] CrcFirst = crc_shift('1, BeatWidth - 32);

  // What the CRC of a frame of so many units differs by where it is FrameAgain instead of FrameData.
  typedef logic [31:0][31:0] crc_again_t;
  localparam logic [2:0] AgainFlip = FrameData ^ FrameAgain;
  function automatic crc_again_t crc_again();
    crc_again_t again;
    logic [31:0] crc;
    crc = '0;
    for (int unsigned i = 0; i < 3; i++) crc = crc ^ (AgainFlip[i] ? crc_shift(32'd1, BeatWidth - 32 - i) : 32'd0);
    for (int unsigned units = 0; units < 32; units++) begin
      again[units] = crc;
      crc = crc_shift(crc, BeatWidth);
    end
    return again;
  endfunction
  localparam crc_again_t CrcAgain = crc_again();

  // ---- Messages ----

  localparam int unsigned TagWidth = consort_config_pkg::TagWidth;
  localparam int unsigned PortWidth = 2;  // upper bits of a tag: the port of the cBlock
  localparam int unsigned IndexWidth = TagWidth - PortWidth;

  typedef enum logic [1:0] {
    OpNone        = 2'd0,
    OpRead        = 2'd1,
    OpWrite       = 2'd2,
    OpWriteStrobe = 2'd3   // units of strobes, 8 beats in each, go before its data
  } op_e;

  typedef struct packed {
    logic [3:0] generation;
    logic [3:0] index;
  } handle_t;

  typedef struct packed {
    logic                   modifiable;  // AxCACHE[1]: normal memory, or a device
    logic [2:0]             prot;
    logic                   more;    // of a write: another message of the same tag follows
    logic [1:0]             burst;
    logic [2:0]             size;
    logic [7:0]             len;
    logic [OffsetWidth-1:0] offset;  // within the segment
    handle_t                handle;
    logic [TagWidth-1:0]    tag;
    op_e                    op;
  } request_t;

  // Its 64 bits on the link.
  typedef struct packed {
    logic                modifiable;
    logic [2:0]          prot;
    logic                more;
    logic [1:0]          burst;
    logic [2:0]          size;
    logic [7:0]          len;
    logic [LowWidth-1:0] offset;
    handle_t             handle;
    logic [TagWidth-1:0] tag;
    op_e                 op;
  } short_t;

  function automatic short_t short_of(request_t of);
    return '{
        modifiable: of.modifiable,
        prot: of.prot,
        more: of.more,
        burst: of.burst,
        size: of.size,
        len: of.len,
        offset: of.offset[LowWidth-1:0],
        handle: of.handle,
        tag: of.tag,
        op: of.op
    };
  endfunction

  function automatic logic [HighBits-1:0] high_of(request_t of);
    return HighBits'({1'b0, of.offset} >> LowWidth);
  endfunction

  function automatic request_t request_from(short_t of, logic [HighBits-1:0] high);
    return '{
        modifiable: of.modifiable,
        prot: of.prot,
        more: of.more,
        burst: of.burst,
        size: of.size,
        len: of.len,
        offset: OffsetWidth'({high, of.offset}),
        handle: of.handle,
        tag: of.tag,
        op: of.op
    };
  endfunction

  // What a port asks for with an address.
  function automatic request_t request_of(axi_a_t a, op_e op, logic [TagWidth-1:0] tag, handle_t handle,
                                          logic [OffsetWidth-1:0] offset);
    return '{
        modifiable: a.cache[1],
        prot: a.prot,
        more: 1'b0,
        burst: a.burst,
        size: a.size,
        len: a.len,
        offset: offset,
        handle: handle,
        tag: tag,
        op: op
    };
  endfunction

  // Whether AXI4 has such a burst and a message can hold it: one of a write has 16 beats at most, which its frame brings. An
  // incrementing burst stays in its 4 KiB; so do the others, as they are.
  function automatic logic legal(request_t of);
    logic crosses, aligned;
    logic [8:0] last;
    crosses = 1'b0;
    aligned = 1'b1;
    for (int unsigned size = 0; size <= 4; size++) begin
      // Where the last beat is, in beats from the start of the 4 KiB, of which the upper bits are looked at apart.
      last = {1'b0, of.offset[size+:8]} + {1'b0, of.len};
      if (of.size == 3'(size)) crosses = last[8] && (of.offset[11:4] | (8'hFF >> (4 - size))) == '1;
      if (3'(size) < of.size && of.offset[size]) aligned = 1'b0;
    end
    case (of.burst)
      BurstFixed: legal = of.len[7:4] == '0;
      BurstIncr: legal = !crosses && (of.op == OpRead || of.len[7:4] == '0);
      BurstWrap: legal = aligned && of.len inside {8'd1, 8'd3, 8'd7, 8'd15};
      default: legal = 1'b0;
    endcase
    return legal && of.size <= 3'd4 && of.op != OpNone;
  endfunction

  localparam int unsigned MostRequests = 15;  // in a frame, of any build
  localparam int unsigned MaxRequests = HighWidth * MostRequests > BeatWidth ? BeatWidth / HighBits : MostRequests;

  typedef struct packed {
    logic [3:0] extra;  // requests in the frame beside this one
    logic [2:0] zero;
    logic       highs;  // the frame's first unit has the upper bits of its requests' offsets, in their order; else they are 0
    short_t     first;
  } request_meta_t;

  // A frame without units has one request, a read. Where offsets have upper bits, those are in place of what such a frame need not say.
  localparam int unsigned LoneWidth = 10;
  function automatic logic [MetaWidth-1:0] lone_read(request_t of);
    short_t read;
    logic [LoneWidth-1:0] high;
    read = short_of(of);
    high = LoneWidth'(high_of(of));
    if (HighWidth > 0) read.op = op_e'(high[1:0]);
    return MetaWidth'({high[9:2], read});
  endfunction

  function automatic request_t lone_read_of(request_meta_t of);
    short_t read;
    read = of.first;
    read.op = OpRead;
    return request_from(read, HighBits'({of.extra, of.zero, of.highs, of.first.op}));
  endfunction

  typedef enum logic [1:0] {
    RspNone  = 2'd0,
    RspData  = 2'd1,  // len + 1 beats of a read, all with this resp
    RspAck   = 2'd2,
    RspError = 2'd3   // the rest of the read is SLVERR and has no data
  } rsp_e;

  typedef struct packed {
    logic [4:0]          len;
    logic [1:0]          resp;
    logic [TagWidth-1:0] tag;
    rsp_e                kind;
  } response_t;

  typedef struct packed {
    logic [1:0]          resp;
    logic [TagWidth-1:0] tag;
    logic                valid;
  } ack_t;

  typedef struct packed {
    logic [4:0]      zero;
    ack_t [2:0]      acks;
    response_t [1:0] parts;
  } response_meta_t;

  // Units of a write of so many beats.
  function automatic logic [4:0] units_of(op_e op, logic [4:0] beats);
    case (op)
      OpWrite: return beats;
      OpWriteStrobe: return beats + (beats > 5'd8 ? 5'd2 : 5'd1);
      default: return 5'd0;
    endcase
  endfunction

  // ---- What may be under way ----
  // Of each port of a cBlock: a read for each of its tags; a write for each, of which some have several messages.

  localparam int unsigned MaxCredits = 400;  // units of writes

  function automatic int unsigned messages_of(int unsigned ports, int unsigned credits);
    return ports * (2 ** IndexWidth + (credits - 2 ** IndexWidth) / 16);
  endfunction

  // Frames of requests that a receiver may hold at once, each message in one of its own; a power of two.
  function automatic int unsigned request_frames(int unsigned ports, int unsigned credits);
    return 2 ** $clog2(ports * 2 ** IndexWidth + messages_of(ports, credits));
  endfunction

  // Units of them, where the messages share frames as well; with what a receiver keeps free.
  function automatic int unsigned request_units(int unsigned ports, int unsigned credits);
    int unsigned requests, highs;
    requests = ports * 2 ** IndexWidth + messages_of(ports, credits);
    highs = HighWidth > 0 ? requests : 0;  // each of them in a frame of its own
    return ports * credits + (requests + 1) / 2 + highs + 3 * MaxUnits;
  endfunction

  // Frames of answers without data: each tag has one.
  function automatic int unsigned answer_frames(int unsigned ports);
    return 2 ** $clog2(2 * ports * 2 ** IndexWidth);
  endfunction

  // ---- Segments ----

  localparam int unsigned PageWidth = AddrWidth - 12;

  // Of a port of the cBlock: where the processor sees it.
  typedef struct packed {
    logic                 valid;
    logic                 readable;
    logic                 writable;
    logic [1:0]           link;
    handle_t              handle;
    logic [PageWidth-1:0] first;  // pages of 4 KiB
    logic [PageWidth-1:0] last;
  } window_t;

  // ---- Urgent accesses, and the share of the others ----

  typedef struct packed {
    logic [9:0] writes;  // units that one port may have under way; 0: no less than there is room for
    logic [9:0] reads;   // beats
    logic [3:0] from;    // AxQOS from which an access is urgent; 0: none is
  } qos_t;

  function automatic logic is_urgent(axi_a_t a, qos_t qos);
    return qos.from != '0 && a.qos >= qos.from;
  endfunction

  // ---- Faults ----

  // Why an access ended with an error; what a number means in which block is in remote.rdl.
  localparam int unsigned Causes = 7;  // with the one that is not an access: a link went down
  typedef enum logic [2:0] {
    FaultNone      = 3'd0,
    FaultUnmapped  = 3'd1,  // no window; at the mBlock, no open segment of this generation
    FaultRights    = 3'd2,
    FaultExclusive = 3'd3,
    FaultDown      = 3'd4,  // the link was down
    FaultLost      = 3'd5,  // the link went down before the answer
    FaultAnswer    = 3'd6   // the answer is an error
  } fault_e;
  localparam fault_e FaultEnd = FaultExclusive;  // at the mBlock: beyond the segment's end
  localparam fault_e FaultBurst = FaultDown;     // no burst that AXI4 has
  localparam fault_e FaultMemory = FaultLost;    // the memory answered with an error
  localparam fault_e FaultSilent = FaultAnswer;  // the memory did not answer in time

  typedef struct packed {
    fault_e               cause;   // FaultNone: there is none
    logic                 write;
    logic [1:0]           port;    // at the mBlock: the link, or the memory that did not answer
    logic [3:0]           window;  // or segment
    logic [AddrWidth-1:0] addr;    // at the mBlock: within the segment
  } fault_t;

  // Where an access of a port came from, until it is answered.
  typedef struct packed {
    fault_e               cause;   // of its error, if that was made at the port
    logic [3:0]           window;
    logic [AddrWidth-1:0] addr;
  } origin_t;

  // What the segment table said of an address: its window is one of 16, or none.
  function automatic origin_t origin_of(axi_a_t a, logic mapped, logic rights, logic allowed, logic [15:0] window);
    origin_of = '{cause: FaultNone, window: '0, addr: a.addr};
    for (int unsigned i = 0; i < 16; i++) if (window[i]) origin_of.window = origin_of.window | 4'(i);
    if (!mapped) origin_of.cause = FaultUnmapped;
    else if (!rights) origin_of.cause = FaultRights;
    else if (a.lock) origin_of.cause = FaultExclusive;
    else if (!allowed) origin_of.cause = FaultDown;
  endfunction

  // A message of a write, collected at a port of the cBlock.
  typedef struct packed {
    logic       turn;   // of its tag: the bit above it where tags are counted
    request_t   request;
    logic [1:0] link;
    logic [4:0] beats;
    logic [4:0] units;
    logic       urgent;
    logic       held;   // the first of a write that waits for its port's share
    logic [8:0] most;   // units of the whole write, at most
  } write_message_t;

  // Of a link of the mBlock: where the memory is.
  typedef struct packed {
    logic                  valid;
    logic                  readable;
    logic                  writable;
    logic [3:0]            generation;
    logic [1:0]            memory;
    logic [PageWidth-1:0]  base;
    logic [OffsetWidth-13:0] last;  // last page, from the base
  } segment_t;

endpackage
