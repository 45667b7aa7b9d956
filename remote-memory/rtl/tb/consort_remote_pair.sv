// SPDX-License-Identifier: Apache-2.0
// A cBlock and an mBlock with PHYs between them, for simulation. Link l of the one is link l of the other. Where queue_i says so each PHY
// pauses and keeps words meanwhile; where cdc_i does, the PHYs have a clock of their own, behind consort_phy_cdc. Both keep their value.
module consort_remote_pair
  import consort_remote_pkg::*;
#(
    parameter int unsigned Ports    = 1,
    parameter int unsigned Links    = 1,
    parameter int unsigned Memories = 1,
    parameter int unsigned PhyWidth = 128,
    localparam int unsigned WordWidth = word_width(PhyWidth)
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t s_aw_i      [Ports],
    input  logic   s_aw_valid_i[Ports],
    output logic   s_aw_ready_o[Ports],
    input  axi_w_t s_w_i       [Ports],
    input  logic   s_w_valid_i [Ports],
    output logic   s_w_ready_o [Ports],
    output axi_b_t s_b_o       [Ports],
    output logic   s_b_valid_o [Ports],
    input  logic   s_b_ready_i [Ports],
    input  axi_a_t s_ar_i      [Ports],
    input  logic   s_ar_valid_i[Ports],
    output logic   s_ar_ready_o[Ports],
    output axi_r_t s_r_o       [Ports],
    output logic   s_r_valid_o [Ports],
    input  logic   s_r_ready_i [Ports],

    output axi_a_t m_aw_o[Memories],
    output logic m_aw_valid_o[Memories],
    input logic m_aw_ready_i[Memories],
    output axi_w_t m_w_o[Memories],
    output logic m_w_valid_o[Memories],
    input logic m_w_ready_i[Memories],
    input axi_b_t m_b_i[Memories],
    input logic m_b_valid_i[Memories],
    output logic m_b_ready_o[Memories],
    output axi_a_t m_ar_o[Memories],
    output logic m_ar_valid_o[Memories],
    input logic m_ar_ready_i[Memories],
    input axi_r_t m_r_i[Memories],
    input logic m_r_valid_i[Memories],
    output logic m_r_ready_o[Memories],

    input  lite_req_t  c_lite_req_i,
    output lite_resp_t c_lite_resp_o,

    input  lite_req_t  m_lite_req_i,
    output lite_resp_t m_lite_resp_o,

    input  logic        phy_clk_i,             // clk_i itself without cdc_i, otherwise no faster than it
    input  logic        queue_i,
    input  logic        cdc_i,
    input  logic [15:0] rate_i,
    input  logic [ 9:0] latency_i,
    input  logic [31:0] pause_chance_i,
    input  logic [ 7:0] longest_pause_i,
    input  logic [31:0] flip_chance_i,
    input  logic [ 6:0] flip_span_i,
    input  logic [31:0] drop_chance_i,
    input  logic [31:0] repeat_chance_i,
    input  logic        cut_i          [Links],
    input  logic        stall_i        [2*Links],  // of a direction: the PHY takes nothing
    input  logic [ 7:0] stuck_i        [2*Links],  // a bit of the PHY, there and back
    input  logic        c_reset_i,                 // of one block alone
    input  logic        m_reset_i,
    input  logic        isolate_i  [Memories],
    output logic        isolated_o [Memories],
    input  logic        phy_down_i     [Links],    // the PHY says so, at both ends
    output logic        c_irq_o,
    output logic        m_irq_o,
    output logic [63:0] request_words_o [Links],  // of the PHY
    output logic [63:0] response_words_o[Links],
    output logic [63:0] corrupted_o        [2*Links],
    output logic [63:0] kept_o             [2*Links]
);
  // The cBlock hears of it by hard_err, the mBlock by channel_up.
  logic c_up[Links], m_up[Links], c_error[Links], m_error[Links];

  axi_req_t s_req[Ports];
  axi_resp_t s_resp[Ports];
  axi_req_t m_req[Memories];
  axi_resp_t m_resp[Memories];
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    consort_axi_pack i_axi (
        .req_o(s_req[p]),
        .resp_i(s_resp[p]),
        .aw_i(s_aw_i[p]),
        .aw_valid_i(s_aw_valid_i[p]),
        .aw_ready_o(s_aw_ready_o[p]),
        .w_i(s_w_i[p]),
        .w_valid_i(s_w_valid_i[p]),
        .w_ready_o(s_w_ready_o[p]),
        .b_o(s_b_o[p]),
        .b_valid_o(s_b_valid_o[p]),
        .b_ready_i(s_b_ready_i[p]),
        .ar_i(s_ar_i[p]),
        .ar_valid_i(s_ar_valid_i[p]),
        .ar_ready_o(s_ar_ready_o[p]),
        .r_o(s_r_o[p]),
        .r_valid_o(s_r_valid_o[p]),
        .r_ready_i(s_r_ready_i[p])
    );
  end
  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    consort_axi_unpack i_axi (
        .req_i(m_req[m]),
        .resp_o(m_resp[m]),
        .aw_o(m_aw_o[m]),
        .aw_valid_o(m_aw_valid_o[m]),
        .aw_ready_i(m_aw_ready_i[m]),
        .w_o(m_w_o[m]),
        .w_valid_o(m_w_valid_o[m]),
        .w_ready_i(m_w_ready_i[m]),
        .b_i(m_b_i[m]),
        .b_valid_i(m_b_valid_i[m]),
        .b_ready_o(m_b_ready_o[m]),
        .ar_o(m_ar_o[m]),
        .ar_valid_o(m_ar_valid_o[m]),
        .ar_ready_i(m_ar_ready_i[m]),
        .r_i(m_r_i[m]),
        .r_valid_i(m_r_valid_i[m]),
        .r_ready_o(m_r_ready_o[m])
    );
  end

  logic [WordWidth-1:0] c_tx[Links], c_rx[Links], m_tx[Links], m_rx[Links];
  logic c_tx_valid[Links], c_tx_ready[Links], c_rx_valid[Links];
  logic m_tx_valid[Links], m_tx_ready[Links], m_rx_valid[Links];

  consort_cblock #(
      .Ports(Ports),
      .Links(Links),
      .PhyWidth(PhyWidth)
  ) i_cblock (
      .clk_i,
      .rst_ni(rst_ni && !c_reset_i),
      .s_req_i(s_req),
      .s_resp_o(s_resp),
      .lite_req_i(c_lite_req_i),
      .lite_resp_o(c_lite_resp_o),
      .irq_o(c_irq_o),
      .phy_tx_o(c_tx),
      .phy_tx_valid_o(c_tx_valid),
      .phy_tx_ready_i(c_tx_ready),
      .phy_rx_i(c_rx),
      .phy_rx_valid_i(c_rx_valid),
      .phy_channel_up_i(c_up),
      .phy_hard_err_i(c_error)
  );

  consort_mblock #(
      .Links(Links),
      .Memories(Memories),
      .Ports(Ports),
      .PhyWidth(PhyWidth)
  ) i_mblock (
      .clk_i,
      .rst_ni(rst_ni && !m_reset_i),
      .m_rst_ni(rst_ni),
      .isolate_i,
      .isolated_o,
      .m_req_o(m_req),
      .m_resp_i(m_resp),
      .lite_req_i(m_lite_req_i),
      .lite_resp_o(m_lite_resp_o),
      .irq_o(m_irq_o),
      .phy_tx_o(m_tx),
      .phy_tx_valid_o(m_tx_valid),
      .phy_tx_ready_i(m_tx_ready),
      .phy_rx_i(m_rx),
      .phy_rx_valid_i(m_rx_valid),
      .phy_channel_up_i(m_up),
      .phy_hard_err_i(m_error)
  );

  // Of the PHYs: what the blocks give them and what comes from the wire.
  logic [WordWidth-1:0] tx[2*Links], rx[2*Links];
  logic tx_valid[2*Links], tx_ready[2*Links], rx_valid[2*Links];

  for (genvar l = 0; l < Links; l++) begin : gen_end
    // Behind consort_phy_cdc: what the block at either end sees, and what the PHY there does.
    logic [WordWidth-1:0] c_rx_cdc, m_rx_cdc, c_tx_cdc, m_tx_cdc;
    logic c_rx_cdc_valid, m_rx_cdc_valid, c_tx_cdc_valid, m_tx_cdc_valid, c_tx_cdc_ready, m_tx_cdc_ready;
    logic c_up_cdc, m_up_cdc, c_error_cdc, m_error_cdc;

    consort_phy_cdc #(
        .WordWidth(WordWidth)
    ) i_cblock (
        .clk_i,
        .rst_ni(rst_ni && !c_reset_i),
        .tx_i(c_tx[l]),
        .tx_valid_i(c_tx_valid[l] && cdc_i),
        .tx_ready_o(c_tx_cdc_ready),
        .rx_o(c_rx_cdc),
        .rx_valid_o(c_rx_cdc_valid),
        .channel_up_o(c_up_cdc),
        .hard_err_o(c_error_cdc),
        .phy_clk_i,
        .phy_tx_o(c_tx_cdc),
        .phy_tx_valid_o(c_tx_cdc_valid),
        .phy_tx_ready_i(tx_ready[2*l]),
        .phy_rx_i(rx[2*l+1]),
        .phy_rx_valid_i(rx_valid[2*l+1] && cdc_i),
        .phy_channel_up_i(1'b1),
        .phy_hard_err_i(phy_down_i[l])
    );
    consort_phy_cdc #(
        .WordWidth(WordWidth)
    ) i_mblock (
        .clk_i,
        .rst_ni(rst_ni && !m_reset_i),
        .tx_i(m_tx[l]),
        .tx_valid_i(m_tx_valid[l] && cdc_i),
        .tx_ready_o(m_tx_cdc_ready),
        .rx_o(m_rx_cdc),
        .rx_valid_o(m_rx_cdc_valid),
        .channel_up_o(m_up_cdc),
        .hard_err_o(m_error_cdc),
        .phy_clk_i,
        .phy_tx_o(m_tx_cdc),
        .phy_tx_valid_o(m_tx_cdc_valid),
        .phy_tx_ready_i(tx_ready[2*l+1]),
        .phy_rx_i(rx[2*l]),
        .phy_rx_valid_i(rx_valid[2*l] && cdc_i),
        .phy_channel_up_i(!phy_down_i[l]),
        .phy_hard_err_i(1'b0)
    );

    assign c_up[l] = cdc_i ? c_up_cdc : 1'b1;
    assign c_error[l] = cdc_i ? c_error_cdc : phy_down_i[l];
    assign m_up[l] = cdc_i ? m_up_cdc : !phy_down_i[l];
    assign m_error[l] = cdc_i && m_error_cdc;
    assign tx[2*l] = cdc_i ? c_tx_cdc : c_tx[l];
    assign tx_valid[2*l] = cdc_i ? c_tx_cdc_valid : c_tx_valid[l];
    assign c_tx_ready[l] = cdc_i ? c_tx_cdc_ready : tx_ready[2*l];
    assign c_rx[l] = cdc_i ? c_rx_cdc : rx[2*l+1];
    assign c_rx_valid[l] = cdc_i ? c_rx_cdc_valid : rx_valid[2*l+1];
    assign tx[2*l+1] = cdc_i ? m_tx_cdc : m_tx[l];
    assign tx_valid[2*l+1] = cdc_i ? m_tx_cdc_valid : m_tx_valid[l];
    assign m_tx_ready[l] = cdc_i ? m_tx_cdc_ready : tx_ready[2*l+1];
    assign m_rx[l] = cdc_i ? m_rx_cdc : rx[2*l];
    assign m_rx_valid[l] = cdc_i ? m_rx_cdc_valid : rx_valid[2*l];
  end

  // Direction 2 l is that of link l from the cBlock, the next one the way back.
  for (genvar d = 0; d < 2 * Links; d++) begin : gen_phy
    logic [WordWidth-1:0] word;
    logic word_valid, word_ready;
    logic [63:0] words;
    if (d % 2 == 0) begin : gen_out
      assign request_words_o[d/2] = words;
    end else begin : gen_back
      assign response_words_o[d/2] = words;
    end

    logic [WordWidth-1:0] shown;
    logic shown_valid, queue_ready;
    consort_phy_queue #(
        .Seed(d+1),
        .Width(WordWidth)
    ) i_queue (
        .clk_i(phy_clk_i),
        .rst_ni,
        .pause_chance_i,
        .longest_pause_i,
        .tx_i(tx[d]),
        .tx_valid_i(tx_valid[d] && queue_i),
        .tx_ready_o(queue_ready),
        .word_o(shown),
        .word_valid_o(shown_valid),
        .word_ready_i(word_ready && queue_i),
        .kept_o(kept_o[d])
    );
    assign word = queue_i ? shown : tx[d];
    assign word_valid = queue_i ? shown_valid : tx_valid[d];
    assign tx_ready[d] = queue_i ? queue_ready : word_ready;

    consort_phy_model #(
        .Seed(d+1),
        .Width(WordWidth)
    ) i_wire (
        .clk_i(phy_clk_i),
        .rst_ni,
        .rate_i,
        .latency_i,
        .flip_chance_i,
        .flip_span_i,
        .drop_chance_i,
        .repeat_chance_i,
        .cut_i(cut_i[d/2]),
        .stall_i(stall_i[d]),
        .stuck_i(stuck_i[d]),
        .tx_i(word),
        .tx_valid_i(word_valid),
        .tx_ready_o(word_ready),
        .rx_o(rx[d]),
        .rx_valid_o(rx_valid[d]),
        .words_o(words),
        .corrupted_o(corrupted_o[d])
    );
  end
endmodule
