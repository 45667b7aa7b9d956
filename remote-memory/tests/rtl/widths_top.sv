// SPDX-License-Identifier: Apache-2.0
// A converter between each two unlike data widths, side by side; with Few one of each kind alone.
module widths_top
  import consort_remote_pkg::*;
#(
    parameter bit Few = 1'b0,
    localparam int unsigned N = Few ? 4 : 12,
    localparam int unsigned Which[12] = Few ? '{0, 3, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0} : '{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  axi_a_t       s_aw_i      [N],
    input  logic         s_aw_valid_i[N],
    output logic         s_aw_ready_o[N],
    input  logic [511:0] s_w_data_i  [N],
    input  logic [ 63:0] s_w_strb_i  [N],
    input  logic         s_w_last_i  [N],
    input  logic         s_w_valid_i [N],
    output logic         s_w_ready_o [N],
    output axi_b_t       s_b_o       [N],
    output logic         s_b_valid_o [N],
    input  logic         s_b_ready_i [N],
    input  axi_a_t       s_ar_i      [N],
    input  logic         s_ar_valid_i[N],
    output logic         s_ar_ready_o[N],
    output axi_b_t       s_r_o       [N],
    output logic [511:0] s_r_data_o  [N],
    output logic         s_r_last_o  [N],
    output logic         s_r_valid_o [N],
    input  logic         s_r_ready_i [N],
    output axi_a_t       m_aw_o      [N],
    output logic         m_aw_valid_o[N],
    input  logic         m_aw_ready_i[N],
    output logic [511:0] m_w_data_o  [N],
    output logic [ 63:0] m_w_strb_o  [N],
    output logic         m_w_last_o  [N],
    output logic         m_w_valid_o [N],
    input  logic         m_w_ready_i [N],
    input  axi_b_t       m_b_i       [N],
    input  logic         m_b_valid_i [N],
    output logic         m_b_ready_o [N],
    output axi_a_t       m_ar_o      [N],
    output logic         m_ar_valid_o[N],
    input  logic         m_ar_ready_i[N],
    input  axi_b_t       m_r_i       [N],
    input  logic [511:0] m_r_data_i  [N],
    input  logic         m_r_last_i  [N],
    input  logic         m_r_valid_i [N],
    output logic         m_r_ready_o [N]
);
  for (genvar k = 0; k < N; k++) begin : gen_pair
    // The other width is one of the three that are not this one.
    localparam int unsigned Pair = Which[k];
    localparam int unsigned Other = (Pair % 3) + (Pair % 3 >= Pair / 3 ? 1 : 0);
    localparam int unsigned S = 64 << (Pair / 3);
    localparam int unsigned M = 64 << Other;
    logic unused;
    assign unused = &{1'b0, s_w_data_i[k], s_w_strb_i[k], m_r_data_i[k]};
    if (S < 512) begin : gen_narrow_slave
      assign s_r_data_o[k][511:S] = '0;
    end
    if (M < 512) begin : gen_narrow_master
      assign m_w_data_o[k][511:M]   = '0;
      assign m_w_strb_o[k][63:M/8] = '0;
    end
    consort_axi_resize #(
        .SlaveWidth(S),
        .MasterWidth(M)
    ) i_resize (
        .clk_i, .rst_ni,
        .s_aw_i(s_aw_i[k]), .s_aw_valid_i(s_aw_valid_i[k]), .s_aw_ready_o(s_aw_ready_o[k]),
        .s_w_data_i(s_w_data_i[k][S-1:0]), .s_w_strb_i(s_w_strb_i[k][S/8-1:0]), .s_w_last_i(s_w_last_i[k]),
        .s_w_valid_i(s_w_valid_i[k]), .s_w_ready_o(s_w_ready_o[k]),
        .s_b_o(s_b_o[k]), .s_b_valid_o(s_b_valid_o[k]), .s_b_ready_i(s_b_ready_i[k]),
        .s_ar_i(s_ar_i[k]), .s_ar_valid_i(s_ar_valid_i[k]), .s_ar_ready_o(s_ar_ready_o[k]),
        .s_r_o(s_r_o[k]), .s_r_data_o(s_r_data_o[k][S-1:0]), .s_r_last_o(s_r_last_o[k]),
        .s_r_valid_o(s_r_valid_o[k]), .s_r_ready_i(s_r_ready_i[k]),
        .m_aw_o(m_aw_o[k]), .m_aw_valid_o(m_aw_valid_o[k]), .m_aw_ready_i(m_aw_ready_i[k]),
        .m_w_data_o(m_w_data_o[k][M-1:0]), .m_w_strb_o(m_w_strb_o[k][M/8-1:0]), .m_w_last_o(m_w_last_o[k]),
        .m_w_valid_o(m_w_valid_o[k]), .m_w_ready_i(m_w_ready_i[k]),
        .m_b_i(m_b_i[k]), .m_b_valid_i(m_b_valid_i[k]), .m_b_ready_o(m_b_ready_o[k]),
        .m_ar_o(m_ar_o[k]), .m_ar_valid_o(m_ar_valid_o[k]), .m_ar_ready_i(m_ar_ready_i[k]),
        .m_r_i(m_r_i[k]), .m_r_data_i(m_r_data_i[k][M-1:0]), .m_r_last_i(m_r_last_i[k]),
        .m_r_valid_i(m_r_valid_i[k]), .m_r_ready_o(m_r_ready_o[k])
    );
  end
endmodule
