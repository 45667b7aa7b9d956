// SPDX-License-Identifier: Apache-2.0
// The pair behind a port of 512 bits, a memory of 64 bits behind it: each reached from 128 bits by converters, so that the bench is
// that of the pair itself.
module resized_pair
  import consort_remote_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  axi_a_t      s_aw_i,
    input  logic        s_aw_valid_i,
    output logic        s_aw_ready_o,
    input  axi_w_t      s_w_i,
    input  logic        s_w_valid_i,
    output logic        s_w_ready_o,
    output axi_b_t      s_b_o,
    output logic        s_b_valid_o,
    input  logic        s_b_ready_i,
    input  axi_a_t      s_ar_i,
    input  logic        s_ar_valid_i,
    output logic        s_ar_ready_o,
    output axi_r_t      s_r_o,
    output logic        s_r_valid_o,
    input  logic        s_r_ready_i,
    output axi_a_t      m_aw_o,
    output logic        m_aw_valid_o,
    input  logic        m_aw_ready_i,
    output axi_w_t      m_w_o,
    output logic        m_w_valid_o,
    input  logic        m_w_ready_i,
    input  axi_b_t      m_b_i,
    input  logic        m_b_valid_i,
    output logic        m_b_ready_o,
    output axi_a_t      m_ar_o,
    output logic        m_ar_valid_o,
    input  logic        m_ar_ready_i,
    input  axi_r_t      m_r_i,
    input  logic        m_r_valid_i,
    output logic        m_r_ready_o,
    input  lite_req_t   c_lite_req_i,
    output lite_resp_t  c_lite_resp_o,
    input  lite_req_t   m_lite_req_i,
    output lite_resp_t  m_lite_resp_o,
    input  logic [15:0] rate_i,
    input  logic [ 9:0] latency_i,
    input  logic [31:0] flip_chance_i,
    input  logic [ 6:0] flip_span_i,
    input  logic [31:0] drop_chance_i,
    input  logic [31:0] repeat_chance_i,
    input  logic        cut_i,
    input  logic [ 1:0] stall_i,
    input  logic [15:0] stuck_i,
    input  logic        c_reset_i,
    input  logic        m_reset_i,
    input  logic        isolate_i,
    output logic        isolated_o,
    input  logic        phy_down_i,
    output logic        c_irq_o,
    output logic        m_irq_o,
    output logic [63:0] request_words_o,
    output logic [63:0] response_words_o,
    output logic [127:0] corrupted_o,
    input  logic phy_clk_i,
    input  logic [31:0] pause_chance_i,
    input  logic [7:0] longest_pause_i,
    output logic [127:0] kept_o
);
  // The port's side: 128 to 512 to 128 bits; the memory's: 128 to 64 to 128.
  localparam int unsigned Between[2] = '{512, 64};
  axi_a_t aw[4], ar[4];
  axi_w_t w[4];
  axi_b_t b[4];
  axi_r_t r[4];
  logic aw_valid[4], aw_ready[4], w_valid[4], w_ready[4], b_valid[4], b_ready[4];
  logic ar_valid[4], ar_ready[4], r_valid[4], r_ready[4];

  assign aw[0] = s_aw_i;
  assign aw_valid[0] = s_aw_valid_i;
  assign s_aw_ready_o = aw_ready[0];
  assign w[0] = s_w_i;
  assign w_valid[0] = s_w_valid_i;
  assign s_w_ready_o = w_ready[0];
  assign s_b_o = b[0];
  assign s_b_valid_o = b_valid[0];
  assign b_ready[0] = s_b_ready_i;
  assign ar[0] = s_ar_i;
  assign ar_valid[0] = s_ar_valid_i;
  assign s_ar_ready_o = ar_ready[0];
  assign s_r_o = r[0];
  assign s_r_valid_o = r_valid[0];
  assign r_ready[0] = s_r_ready_i;
  assign m_aw_o = aw[3];
  assign m_aw_valid_o = aw_valid[3];
  assign aw_ready[3] = m_aw_ready_i;
  assign m_w_o = w[3];
  assign m_w_valid_o = w_valid[3];
  assign w_ready[3] = m_w_ready_i;
  assign b[3] = m_b_i;
  assign b_valid[3] = m_b_valid_i;
  assign m_b_ready_o = b_ready[3];
  assign m_ar_o = ar[3];
  assign m_ar_valid_o = ar_valid[3];
  assign ar_ready[3] = m_ar_ready_i;
  assign r[3] = m_r_i;
  assign r_valid[3] = m_r_valid_i;
  assign m_r_ready_o = r_ready[3];

  for (genvar i = 0; i < 2; i++) begin : gen_side
    localparam int unsigned Width = Between[i];
    axi_a_t aw_there, ar_there;
    logic [Width-1:0] w_data, r_data;
    logic [Width/8-1:0] w_strb;
    axi_b_t b_there, r_there, r_first, r_last_of;
    logic w_last, r_last, aw_v, aw_r, w_v, w_r, b_v, b_r, ar_v, ar_r, r_v, r_r;
    assign {r[2*i].id, r[2*i].resp} = r_first;
    assign r_last_of = '{id: r[2*i+1].id, resp: r[2*i+1].resp};

    consort_axi_resize #(
        .SlaveWidth(128),
        .MasterWidth(Width)
    ) i_there (
        .clk_i, .rst_ni,
        .s_aw_i(aw[2*i]), .s_aw_valid_i(aw_valid[2*i]), .s_aw_ready_o(aw_ready[2*i]),
        .s_w_data_i(w[2*i].data), .s_w_strb_i(w[2*i].strb), .s_w_last_i(w[2*i].last),
        .s_w_valid_i(w_valid[2*i]), .s_w_ready_o(w_ready[2*i]),
        .s_b_o(b[2*i]), .s_b_valid_o(b_valid[2*i]), .s_b_ready_i(b_ready[2*i]),
        .s_ar_i(ar[2*i]), .s_ar_valid_i(ar_valid[2*i]), .s_ar_ready_o(ar_ready[2*i]),
        .s_r_o(r_first), .s_r_data_o(r[2*i].data), .s_r_last_o(r[2*i].last),
        .s_r_valid_o(r_valid[2*i]), .s_r_ready_i(r_ready[2*i]),
        .m_aw_o(aw_there), .m_aw_valid_o(aw_v), .m_aw_ready_i(aw_r),
        .m_w_data_o(w_data), .m_w_strb_o(w_strb), .m_w_last_o(w_last), .m_w_valid_o(w_v), .m_w_ready_i(w_r),
        .m_b_i(b_there), .m_b_valid_i(b_v), .m_b_ready_o(b_r),
        .m_ar_o(ar_there), .m_ar_valid_o(ar_v), .m_ar_ready_i(ar_r),
        .m_r_i(r_there), .m_r_data_i(r_data), .m_r_last_i(r_last), .m_r_valid_i(r_v), .m_r_ready_o(r_r)
    );
    consort_axi_resize #(
        .SlaveWidth(Width),
        .MasterWidth(128)
    ) i_back (
        .clk_i, .rst_ni,
        .s_aw_i(aw_there), .s_aw_valid_i(aw_v), .s_aw_ready_o(aw_r),
        .s_w_data_i(w_data), .s_w_strb_i(w_strb), .s_w_last_i(w_last), .s_w_valid_i(w_v), .s_w_ready_o(w_r),
        .s_b_o(b_there), .s_b_valid_o(b_v), .s_b_ready_i(b_r),
        .s_ar_i(ar_there), .s_ar_valid_i(ar_v), .s_ar_ready_o(ar_r),
        .s_r_o(r_there), .s_r_data_o(r_data), .s_r_last_o(r_last), .s_r_valid_o(r_v), .s_r_ready_i(r_r),
        .m_aw_o(aw[2*i+1]), .m_aw_valid_o(aw_valid[2*i+1]), .m_aw_ready_i(aw_ready[2*i+1]),
        .m_w_data_o(w[2*i+1].data), .m_w_strb_o(w[2*i+1].strb), .m_w_last_o(w[2*i+1].last),
        .m_w_valid_o(w_valid[2*i+1]), .m_w_ready_i(w_ready[2*i+1]),
        .m_b_i(b[2*i+1]), .m_b_valid_i(b_valid[2*i+1]), .m_b_ready_o(b_ready[2*i+1]),
        .m_ar_o(ar[2*i+1]), .m_ar_valid_o(ar_valid[2*i+1]), .m_ar_ready_i(ar_ready[2*i+1]),
        .m_r_i(r_last_of), .m_r_data_i(r[2*i+1].data), .m_r_last_i(r[2*i+1].last),
        .m_r_valid_i(r_valid[2*i+1]), .m_r_ready_o(r_ready[2*i+1])
    );
  end

  consort_remote_pair i_pair (
      .clk_i, .rst_ni,
      .s_aw_i('{aw[1]}), .s_aw_valid_i('{aw_valid[1]}), .s_aw_ready_o('{aw_ready[1]}),
      .s_w_i('{w[1]}), .s_w_valid_i('{w_valid[1]}), .s_w_ready_o('{w_ready[1]}),
      .s_b_o('{b[1]}), .s_b_valid_o('{b_valid[1]}), .s_b_ready_i('{b_ready[1]}),
      .s_ar_i('{ar[1]}), .s_ar_valid_i('{ar_valid[1]}), .s_ar_ready_o('{ar_ready[1]}),
      .s_r_o('{r[1]}), .s_r_valid_o('{r_valid[1]}), .s_r_ready_i('{r_ready[1]}),
      .m_aw_o('{aw[2]}), .m_aw_valid_o('{aw_valid[2]}), .m_aw_ready_i('{aw_ready[2]}),
      .m_w_o('{w[2]}), .m_w_valid_o('{w_valid[2]}), .m_w_ready_i('{w_ready[2]}),
      .m_b_i('{b[2]}), .m_b_valid_i('{b_valid[2]}), .m_b_ready_o('{b_ready[2]}),
      .m_ar_o('{ar[2]}), .m_ar_valid_o('{ar_valid[2]}), .m_ar_ready_i('{ar_ready[2]}),
      .m_r_i('{r[2]}), .m_r_valid_i('{r_valid[2]}), .m_r_ready_o('{r_ready[2]}),
      .c_lite_req_i, .c_lite_resp_o, .m_lite_req_i, .m_lite_resp_o, .rate_i, .latency_i, .flip_chance_i, .flip_span_i,
      .drop_chance_i, .repeat_chance_i, .cut_i('{cut_i}), .stall_i('{stall_i[1], stall_i[0]}),
      .stuck_i('{stuck_i[15:8], stuck_i[7:0]}), .c_reset_i, .m_reset_i,
      .isolate_i('{isolate_i}), .isolated_o('{isolated_o}),
      .phy_down_i('{phy_down_i}), .c_irq_o, .m_irq_o, .request_words_o('{request_words_o}),
      .response_words_o('{response_words_o}), .corrupted_o('{corrupted_o[127:64], corrupted_o[63:0]}),
      .phy_clk_i, .pause_chance_i, .longest_pause_i, .kept_o('{kept_o[127:64], kept_o[63:0]})
  );
endmodule
