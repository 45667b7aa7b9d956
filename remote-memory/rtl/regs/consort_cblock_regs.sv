// SPDX-License-Identifier: Apache-2.0
// Registers of the cBlock. Their places come from remote.rdl through consort_remote_regs_pkg.
// Interface: AXI-Lite; windows, switches and times to the block; counters and states from it; irq_o.
// Parameters: Ports, Links, Windows; lite_req_t and lite_resp_t of the SoC.
// Throughput: one write and one read at a time.
// Latency: three cycles to an answer.
// Assumes: nothing.
// Held by: every register and every place between them is read and written, tests/rtl/test_remote_registers.py.
module consort_cblock_regs
  import consort_remote_pkg::*;
  import consort_remote_regs_pkg::*;
#(
    parameter int unsigned Ports   = 1,
    parameter int unsigned Links   = 1,
    parameter int unsigned Windows = 8,
    parameter type lite_req_t = consort_remote_pkg::lite_req_t,
    parameter type lite_resp_t = consort_remote_pkg::lite_resp_t
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  lite_req_t  lite_req_i,
    output lite_resp_t lite_resp_o,

    // Those of more than 2^OffsetWidth bytes are not valid: an address beyond would come out at another one.
    output window_t            windows_o     [Ports][Windows],
    input  logic [Windows-1:0] count_reads_i [Ports],
    input  logic [Windows-1:0] count_writes_i[Ports],
    output logic [  Links-1:0] enable_o,
    input  logic [  Links-1:0] up_i,
    output logic [       15:0] ack_timeout_o,
    output logic [       23:0] down_after_o,
    output logic [       23:0] answer_after_o,
    output qos_t               qos_o,
    output logic [  Ports-1:0] fence_o,          // pulses
    input  logic [  Ports-1:0] fenced_i,
    input  logic [       31:0] bad_frames_i  [Links],
    input  logic [       31:0] replays_i     [Links],
    input  logic [       31:0] downs_i       [Links],
    input  logic [       23:0] peer_after_i  [Links],
    input  fault_t             faults_i      [2*Ports],
    output logic               irq_o
);
  localparam int unsigned WindowIndex = $clog2(CblockWindowStride);

  logic write, write_good, read_good;
  logic [11:0] write_addr, read_addr;
  logic [31:0] write_data, read_data;
  logic [31:0] reads_q[Ports][Windows], writes_q[Ports][Windows];
  window_t windows_q[Ports][Windows];
  logic [PageWidth-1:0] pages[Ports][Windows];
  logic [Windows-1:0] fits_q[Ports];

  for (genvar p = 0; p < Ports; p++) begin : gen_fits
    for (genvar w = 0; w < Windows; w++) begin : gen_window
      assign pages[p][w] = windows_q[p][w].last - windows_q[p][w].first;
      always_comb begin
        windows_o[p][w] = windows_q[p][w];
        windows_o[p][w].valid = windows_q[p][w].valid && fits_q[p][w];
      end
      always_ff @(posedge clk_i) fits_q[p][w] <= pages[p][w][PageWidth-1:OffsetWidth-12] == '0;
    end
  end

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

  function automatic logic is_window(logic [11:0] addr, int unsigned port, int unsigned window);
    logic [11:0] at;
    at = CblockWindows + 12'(port) * CblockPortStride + 12'(window) * CblockWindowStride;
    return addr[11:WindowIndex] == at[11:WindowIndex];
  endfunction

  // What an address means, a cycle after it.
  logic write_enable_q, write_timeout_q, write_down_q, write_answer_q, write_fence_q, write_urgent_q, write_share_q;
  logic write_status_q, write_irq_q, write_log_q;
  logic [Windows-1:0] write_first_q[Ports], write_last_q[Ports], write_control_q[Ports];
  logic write_window_good_q;

  always_ff @(posedge clk_i) begin
    write_enable_q <= write_addr == CblockEnable;
    write_timeout_q <= write_addr == CblockAckTimeout;
    write_down_q <= write_addr == CblockDownAfter;
    write_answer_q <= write_addr == CblockAnswerAfter;
    write_fence_q <= write_addr == CblockFence;
    write_urgent_q <= write_addr == CblockUrgent;
    write_share_q <= write_addr == CblockShare;
    write_status_q <= write_addr == CblockIrqStatus;
    write_irq_q <= write_addr == CblockIrqEnable;
    write_log_q <= write_addr == CblockFault;
    write_window_good_q <= 1'b0;
    for (int unsigned p = 0; p < Ports; p++) begin
      for (int unsigned w = 0; w < Windows; w++) begin
        write_first_q[p][w] <= is_window(write_addr, p, w) && write_addr[WindowIndex-1:0] == CblockWindowFirst;
        write_last_q[p][w] <= is_window(write_addr, p, w) && write_addr[WindowIndex-1:0] == CblockWindowLast;
        write_control_q[p][w] <= is_window(write_addr, p, w) && write_addr[WindowIndex-1:0] == CblockWindowControl;
        if (is_window(write_addr, p, w) &&
            write_addr[WindowIndex-1:0] inside {CblockWindowFirst, CblockWindowLast, CblockWindowControl}) begin
          write_window_good_q <= 1'b1;
        end
      end
    end
  end
  assign write_good = write_enable_q || write_timeout_q || write_down_q || write_fence_q || write_window_good_q ||
      write_answer_q || write_status_q || write_irq_q || write_log_q || write_urgent_q || write_share_q;
  assign fence_o = write && write_fence_q ? write_data[Ports-1:0] : '0;

  // ---- Faults ----

  logic [Causes-1:0] irq_status, irq_enable;
  logic [31:0] fault, fault_count;
  logic [63:0] fault_addr;
  logic [Links-1:0] up_q;
  fault_t faults[2 * Ports];
  assign faults = faults_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) up_q <= '0;
    else up_q <= up_i;
  end

  consort_fault_log #(
      .Sources(2 * Ports)
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

  logic [Windows-1:0] counted_reads_q[Ports], counted_writes_q[Ports];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_o <= '0;
      ack_timeout_o <= 16'(CblockAckTimeoutReset);
      down_after_o <= 24'(CblockDownAfterReset);
      answer_after_o <= 24'(CblockAnswerAfterReset);
      qos_o <= '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        counted_reads_q[p]  <= '0;
        counted_writes_q[p] <= '0;
        for (int unsigned w = 0; w < Windows; w++) begin
          windows_q[p][w] <= '0;
          reads_q[p][w]   <= '0;
          writes_q[p][w]  <= '0;
        end
      end
    end else begin
      if (write) begin
        if (write_enable_q) enable_o <= write_data[Links-1:0];
        if (write_timeout_q) ack_timeout_o <= write_data[15:0];
        if (write_down_q) down_after_o <= write_data[23:0];
        if (write_answer_q) answer_after_o <= write_data[23:0];
        if (write_urgent_q) qos_o.from <= write_data[3:0];
        if (write_share_q) {qos_o.writes, qos_o.reads} <= {write_data[25:16], write_data[9:0]};
        for (int unsigned p = 0; p < Ports; p++) begin
          for (int unsigned w = 0; w < Windows; w++) begin
            if (write_first_q[p][w]) windows_q[p][w].first <= write_data[PageWidth-1:0];
            if (write_last_q[p][w]) windows_q[p][w].last <= write_data[PageWidth-1:0];
            if (write_control_q[p][w]) begin
              {windows_q[p][w].handle, windows_q[p][w].link, windows_q[p][w].writable, windows_q[p][w].readable,
                  windows_q[p][w].valid} <= write_data[12:0];
            end
          end
        end
      end
      counted_reads_q  <= count_reads_i;
      counted_writes_q <= count_writes_i;
      for (int unsigned p = 0; p < Ports; p++) begin
        for (int unsigned w = 0; w < Windows; w++) begin
          reads_q[p][w]  <= reads_q[p][w] + 32'(counted_reads_q[p][w]);
          writes_q[p][w] <= writes_q[p][w] + 32'(counted_writes_q[p][w]);
        end
      end
    end
  end

  localparam int unsigned Sources = 16 + 4 * Links + 5 * Ports * Windows;
  logic [31:0] values[Sources];
  logic [11:0] places[Sources];

  assign values[0] = CblockIdReset;
  assign places[0] = CblockId;
  assign values[1] = {8'(HighWidth), 8'(Windows), 8'(Links), 8'(Ports)};
  assign places[1] = CblockShape;
  assign values[2] = 32'(enable_o);
  assign places[2] = CblockEnable;
  assign values[3] = 32'(up_i);
  assign places[3] = CblockUp;
  assign values[4] = 32'(ack_timeout_o);
  assign places[4] = CblockAckTimeout;
  assign values[5] = 32'(down_after_o);
  assign places[5] = CblockDownAfter;
  assign values[6] = 32'(fenced_i);
  assign places[6] = CblockFence;
  assign values[7] = 32'(irq_status);
  assign places[7] = CblockIrqStatus;
  assign values[8] = 32'(irq_enable);
  assign places[8] = CblockIrqEnable;
  assign values[9] = fault;
  assign places[9] = CblockFault;
  assign values[10] = fault_count;
  assign places[10] = CblockFaultCount;
  assign values[11] = fault_addr[31:0];
  assign places[11] = CblockFaultLow;
  assign values[12] = fault_addr[63:32];
  assign places[12] = CblockFaultHigh;
  assign values[13] = 32'(qos_o.from);
  assign places[13] = CblockUrgent;
  assign values[14] = {6'd0, qos_o.writes, 6'd0, qos_o.reads};
  assign places[14] = CblockShare;
  assign values[15] = 32'(answer_after_o);
  assign places[15] = CblockAnswerAfter;
  for (genvar l = 0; l < Links; l++) begin : gen_link
    localparam int unsigned First = 16 + 4 * l;
    localparam logic [11:0] Place = CblockLinks + 12'(l) * CblockLinkStride;
    assign values[First] = bad_frames_i[l];
    assign places[First] = Place + 12'(CblockLinkBadFrames);
    assign values[First+1] = replays_i[l];
    assign places[First+1] = Place + 12'(CblockLinkReplays);
    assign values[First+2] = downs_i[l];
    assign places[First+2] = Place + 12'(CblockLinkDowns);
    assign values[First+3] = 32'(peer_after_i[l]);
    assign places[First+3] = Place + 12'(CblockLinkPeerAfter);
  end
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    for (genvar w = 0; w < Windows; w++) begin : gen_window
      localparam int unsigned First = 16 + 4 * Links + 5 * (p * Windows + w);
      localparam logic [11:0] Place = CblockWindows + 12'(p) * CblockPortStride + 12'(w) * CblockWindowStride;
      window_t window;
      assign window = windows_q[p][w];
      assign values[First] = 32'(window.first);
      assign places[First] = Place + 12'(CblockWindowFirst);
      assign values[First+1] = 32'(window.last);
      assign places[First+1] = Place + 12'(CblockWindowLast);
      assign values[First+2] = 32'({window.handle, window.link, window.writable, window.readable, window.valid});
      assign places[First+2] = Place + 12'(CblockWindowControl);
      assign values[First+3] = reads_q[p][w];
      assign places[First+3] = Place + 12'(CblockWindowReads);
      assign values[First+4] = writes_q[p][w];
      assign places[First+4] = Place + 12'(CblockWindowWrites);
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
