// SPDX-License-Identifier: Apache-2.0
// Registers of the mBlock. Their places come from remote.rdl through consort_remote_regs_pkg.
// Interface: AXI-Lite; segments, switches and times to the block; counters and states from it; irq_o.
// Parameters: Links, Memories, Segments; lite_req_t and lite_resp_t of the SoC.
// Throughput: one write and one read at a time.
// Latency: three cycles to an answer.
// Assumes: nothing.
// Held by: every register and every place between them is read and written, tests/rtl/test_remote_registers.py.
module consort_mblock_regs
  import consort_remote_pkg::*;
  import consort_remote_regs_pkg::*;
#(
    parameter int unsigned Links    = 1,
    parameter int unsigned Memories = 1,
    parameter int unsigned Segments = 16,
    parameter type lite_req_t = consort_remote_pkg::lite_req_t,
    parameter type lite_resp_t = consort_remote_pkg::lite_resp_t
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  lite_req_t  lite_req_i,
    output lite_resp_t lite_resp_o,

    output segment_t         segments_o   [Links][Segments],
    output logic [Links-1:0] enable_o,
    input  logic [Links-1:0] up_i,
    output logic [     15:0] ack_timeout_o,
    output logic [     23:0] down_after_o,
    output logic [     23:0] answer_after_o,
    input  logic [Memories-1:0] silent_i,
    input  logic [Links-1:0] busy_i,
    input  logic [     31:0] bad_frames_i [Links],
    input  logic [     31:0] replays_i    [Links],
    input  logic [     31:0] downs_i      [Links],
    input  logic [     23:0] peer_after_i [Links],
    input  logic [Links-1:0] refused_i,
    input  fault_t           faults_i     [3*Links],
    output logic             irq_o
);
  logic write, write_good, read_good;
  logic [11:0] write_addr, read_addr;
  logic [31:0] write_data, read_data;
  logic [31:0] refused_q[Links];

  consort_lite_slave #(
      .req_t (lite_req_t),
      .resp_t(lite_resp_t)
  ) i_lite (
      .clk_i,
      .rst_ni,
      .req_i(lite_req_i),
      .resp_o(lite_resp_o),
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

  // What an address means, a cycle after it.
  logic write_enable_q, write_timeout_q, write_down_q, write_answer_q, write_segment_good_q;
  logic write_status_q, write_irq_q, write_log_q;
  logic [Segments-1:0] write_base_q[Links], write_last_q[Links], write_control_q[Links];

  always_ff @(posedge clk_i) begin
    write_enable_q <= write_addr == MblockEnable;
    write_timeout_q <= write_addr == MblockAckTimeout;
    write_down_q <= write_addr == MblockDownAfter;
    write_answer_q <= write_addr == MblockAnswerAfter;
    write_status_q <= write_addr == MblockIrqStatus;
    write_irq_q <= write_addr == MblockIrqEnable;
    write_log_q <= write_addr == MblockFault;
    write_segment_good_q <= 1'b0;
    for (int unsigned l = 0; l < Links; l++) begin
      for (int unsigned s = 0; s < Segments; s++) begin
        write_base_q[l][s] <= is_segment(write_addr, l, s) && write_addr[3:0] == MblockSegmentBase;
        write_last_q[l][s] <= is_segment(write_addr, l, s) && write_addr[3:0] == MblockSegmentLast;
        write_control_q[l][s] <= is_segment(write_addr, l, s) && write_addr[3:0] == MblockSegmentControl;
        if (is_segment(write_addr, l, s) &&
            write_addr[3:0] inside {MblockSegmentBase, MblockSegmentLast, MblockSegmentControl}) begin
          write_segment_good_q <= 1'b1;
        end
      end
    end
  end
  assign write_good = write_enable_q || write_timeout_q || write_down_q || write_answer_q || write_segment_good_q ||
      write_status_q || write_irq_q || write_log_q;

  // ---- Faults ----

  logic [Causes-1:0] irq_status, irq_enable;
  logic [31:0] fault, fault_count;
  logic [63:0] fault_addr;
  logic [Links-1:0] up_q;
  fault_t faults[3 * Links + Memories];
  logic [Memories-1:0] silent_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) silent_q <= '0;
    else silent_q <= silent_i;
  end
  assign faults[0:3*Links-1] = faults_i;
  for (genvar m = 0; m < Memories; m++) begin : gen_silent
    assign faults[3*Links+m] = '{
            cause: silent_i[m] && !silent_q[m] ? FaultSilent : FaultNone,
            write: 1'b0,
            port: 2'(m),
            window: '0,
            addr: '0
        };
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) up_q <= '0;
    else up_q <= up_i;
  end

  consort_fault_log #(
      .Sources(3 * Links + Memories)
  ) i_log (
      .clk_i,
      .rst_ni,
      .faults_i(faults),
      .down_i((up_q & ~up_i) != '0),
      .status_clear_i(write && write_status_q ? write_data[Causes-1:0] : '0),
      .enable_write_i(write && write_irq_q),
      .enable_i(write_data[Causes-1:0]),
      .log_clear_i(write && write_log_q && write_data[0]),
      .status_o(irq_status),
      .enable_o(irq_enable),
      .fault_o(fault),
      .addr_o(fault_addr),
      .count_o(fault_count),
      .irq_o
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_o <= '0;
      ack_timeout_o <= 16'(MblockAckTimeoutReset);
      down_after_o <= 24'(MblockDownAfterReset);
      answer_after_o <= 24'(MblockAnswerAfterReset);
      for (int unsigned l = 0; l < Links; l++) begin
        refused_q[l] <= '0;
        for (int unsigned s = 0; s < Segments; s++) segments_o[l][s] <= '0;
      end
    end else begin
      if (write) begin
        if (write_enable_q) enable_o <= write_data[Links-1:0];
        if (write_timeout_q) ack_timeout_o <= write_data[15:0];
        if (write_down_q) down_after_o <= write_data[23:0];
        if (write_answer_q) answer_after_o <= write_data[23:0];
        for (int unsigned l = 0; l < Links; l++) begin
          for (int unsigned s = 0; s < Segments; s++) begin
            if (write_base_q[l][s]) segments_o[l][s].base <= write_data[PageWidth-1:0];
            if (write_last_q[l][s]) segments_o[l][s].last <= write_data[OffsetWidth-13:0];
            if (write_control_q[l][s]) begin
              {segments_o[l][s].generation, segments_o[l][s].memory, segments_o[l][s].writable, segments_o[l][s].readable,
                  segments_o[l][s].valid} <= write_data[8:0];
            end
          end
        end
      end
      for (int unsigned l = 0; l < Links; l++) refused_q[l] <= refused_q[l] + 32'(refused_i[l]);
    end
  end

  localparam int unsigned Sources = 15 + 5 * Links + 3 * Links * Segments;
  logic [31:0] values[Sources];
  logic [11:0] places[Sources];

  assign values[0] = MblockIdReset;
  assign places[0] = MblockId;
  assign values[1] = {8'(HighWidth), 8'(Segments), 8'(Links), 8'(Memories)};
  assign places[1] = MblockShape;
  assign values[2] = 32'(enable_o);
  assign places[2] = MblockEnable;
  assign values[3] = 32'(up_i);
  assign places[3] = MblockUp;
  assign values[4] = 32'(ack_timeout_o);
  assign places[4] = MblockAckTimeout;
  assign values[5] = 32'(down_after_o);
  assign places[5] = MblockDownAfter;
  assign values[6] = 32'(answer_after_o);
  assign places[6] = MblockAnswerAfter;
  assign values[7] = 32'(silent_i);
  assign places[7] = MblockSilent;
  assign values[8] = 32'(busy_i);
  assign places[8] = MblockBusy;
  assign values[9] = 32'(irq_status);
  assign places[9] = MblockIrqStatus;
  assign values[10] = 32'(irq_enable);
  assign places[10] = MblockIrqEnable;
  assign values[11] = fault;
  assign places[11] = MblockFault;
  assign values[12] = fault_count;
  assign places[12] = MblockFaultCount;
  assign values[13] = fault_addr[31:0];
  assign places[13] = MblockFaultLow;
  assign values[14] = fault_addr[63:32];
  assign places[14] = MblockFaultHigh;
  for (genvar l = 0; l < Links; l++) begin : gen_link
    localparam int unsigned First = 15 + 5 * l;
    localparam logic [11:0] Place = MblockLinks + 12'(l) * MblockLinkStride;
    assign values[First] = bad_frames_i[l];
    assign places[First] = Place + 12'(MblockLinkBadFrames);
    assign values[First+1] = replays_i[l];
    assign places[First+1] = Place + 12'(MblockLinkReplays);
    assign values[First+2] = downs_i[l];
    assign places[First+2] = Place + 12'(MblockLinkDowns);
    assign values[First+3] = refused_q[l];
    assign values[First+4] = 32'(peer_after_i[l]);
    assign places[First+4] = Place + 12'(MblockLinkPeerAfter);
    assign places[First+3] = Place + 12'(MblockLinkRefused);
    for (genvar s = 0; s < Segments; s++) begin : gen_segment
      localparam int unsigned At = 15 + 5 * Links + 3 * (l * Segments + s);
      localparam logic [11:0] Segment = MblockSegments + 12'(l) * MblockLinkSegmentsStride + 12'(s) * MblockSegmentStride;
      segment_t segment;
      assign segment = segments_o[l][s];
      assign values[At] = 32'(segment.base);
      assign places[At] = Segment + 12'(MblockSegmentBase);
      assign values[At+1] = 32'(segment.last);
      assign places[At+1] = Segment + 12'(MblockSegmentLast);
      assign values[At+2] = 32'({segment.generation, segment.memory, segment.writable, segment.readable, segment.valid});
      assign places[At+2] = Segment + 12'(MblockSegmentControl);
    end
  end

  consort_registers_read #(
      .Sources(Sources)
  ) i_read (
      .clk_i,
      .addr_i(read_addr),
      .places_i(places),
      .values_i(values),
      .value_o(read_data),
      .there_o(read_good)
  );
endmodule
