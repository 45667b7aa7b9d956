// SPDX-License-Identifier: Apache-2.0
// The mBlock's interconnect: links to memories, or in the paper's packetizations the links' ports. Each memory serves the links in turn; a write's
// data follow its address.
// Interface: l_* of the links, m_* of the memories: channels of AXI4.
// Parameters: Links, Memories; IdLow and IdBits, where in an id the link is.
// Throughput: an address, a beat of data and an answer a cycle for each memory.
// Latency: none.
// Assumes: data of a write follow its address; an answer's id says whose it is.
// Held by: simulation with four links and memories, tests/rtl/test_remote.py; the proof of consort_arbiter.
module consort_mblock_xbar
  import consort_remote_pkg::*;
#(
    parameter int unsigned Links    = 1,
    parameter int unsigned Memories = 1,
    parameter int unsigned IdLow    = TagWidth,  // where in an id the link is
    parameter int unsigned IdBits   = 2
) (
    input logic clk_i,
    input logic rst_ni,

    input  axi_a_t     l_aw_i       [Links],
    input  logic [1:0] l_aw_memory_i[Links],
    input  logic       l_aw_valid_i [Links],
    output logic       l_aw_ready_o [Links],
    input  axi_w_t     l_w_i        [Links],
    input  logic       l_w_valid_i  [Links],
    output logic       l_w_ready_o  [Links],
    output axi_b_t     l_b_o        [Links],
    output logic       l_b_valid_o  [Links],
    input  logic       l_b_ready_i  [Links],
    input  axi_a_t     l_ar_i       [Links],
    input  logic [1:0] l_ar_memory_i[Links],
    input  logic       l_ar_valid_i [Links],
    output logic       l_ar_ready_o [Links],
    output axi_r_t     l_r_o        [Links],
    output logic       l_r_valid_o  [Links],
    input  logic       l_r_ready_i  [Links],

    output axi_a_t m_aw_o      [Memories],
    output logic   m_aw_valid_o[Memories],
    input  logic   m_aw_ready_i[Memories],
    output axi_w_t m_w_o       [Memories],
    output logic   m_w_valid_o [Memories],
    input  logic   m_w_ready_i [Memories],
    input  axi_b_t m_b_i       [Memories],
    input  logic   m_b_valid_i [Memories],
    output logic   m_b_ready_o [Memories],
    output axi_a_t m_ar_o      [Memories],
    output logic   m_ar_valid_o[Memories],
    input  logic   m_ar_ready_i[Memories],
    input  axi_r_t m_r_i       [Memories],
    input  logic   m_r_valid_i [Memories],
    output logic   m_r_ready_o [Memories]
);
  // What is the only one shows whatever is granted: else a late grant would hold up all bits of it.
  localparam bit OneLink = Links == 1;
  localparam bit OneMemory = Memories == 1;

  logic [Links-1:0] aw_grant[Memories], ar_grant[Memories], w_owner_q[Memories];
  logic [Memories-1:0] b_grant[Links], r_grant[Links];

  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    logic [Links-1:0] aw_wants, ar_wants;
    // An address once shown stays until it is taken; its turn counts then, or one that waits would keep it.
    logic [Links-1:0] ar_held_q, aw_held_q;
    logic burst_q;

    for (genvar l = 0; l < Links; l++) begin : gen_wants
      assign aw_wants[l] = l_aw_valid_i[l] && (Memories == 1 || l_aw_memory_i[l] == 2'(m));
      assign ar_wants[l] = l_ar_valid_i[l] && (Memories == 1 || l_ar_memory_i[l] == 2'(m));
    end
    consort_arbiter #(
        .N(Links)
    ) i_aw (
        .clk_i,
        .rst_ni,
        .request_i(aw_held_q != '0 ? aw_held_q : aw_wants),
        .grant_o(aw_grant[m]),
        .taken_i(m_aw_valid_o[m] && m_aw_ready_i[m])
    );
    consort_arbiter #(
        .N(Links)
    ) i_ar (
        .clk_i,
        .rst_ni,
        .request_i(ar_held_q != '0 ? ar_held_q : ar_wants),
        .grant_o(ar_grant[m]),
        .taken_i(m_ar_valid_o[m] && m_ar_ready_i[m])
    );
    assign m_aw_valid_o[m] = aw_grant[m] != '0 && !burst_q;
    assign m_ar_valid_o[m] = ar_grant[m] != '0;

    always_comb begin
      m_aw_o[m] = '0;
      m_ar_o[m] = '0;
      m_w_o[m] = '0;
      m_w_valid_o[m] = 1'b0;
      m_b_ready_o[m] = 1'b0;
      m_r_ready_o[m] = 1'b0;
      for (int unsigned l = 0; l < Links; l++) begin
        if (OneLink || aw_grant[m][l]) m_aw_o[m] = m_aw_o[m] | l_aw_i[l];
        if (OneLink || ar_grant[m][l]) m_ar_o[m] = m_ar_o[m] | l_ar_i[l];
        if (OneLink || w_owner_q[m][l]) m_w_o[m] = m_w_o[m] | l_w_i[l];
        if (burst_q && (OneLink || w_owner_q[m][l])) m_w_valid_o[m] = l_w_valid_i[l];
        if ((OneLink && OneMemory) || b_grant[l][m]) m_b_ready_o[m] = l_b_ready_i[l];
        if ((OneLink && OneMemory) || r_grant[l][m]) m_r_ready_o[m] = l_r_ready_i[l];
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        burst_q <= 1'b0;
        w_owner_q[m] <= '0;
        ar_held_q <= '0;
        aw_held_q <= '0;
      end else begin
        ar_held_q <= m_ar_valid_o[m] && !m_ar_ready_i[m] ? ar_grant[m] : '0;
        aw_held_q <= m_aw_valid_o[m] && !m_aw_ready_i[m] ? aw_grant[m] : '0;
        if (m_aw_valid_o[m] && m_aw_ready_i[m]) begin
          burst_q <= 1'b1;
          w_owner_q[m] <= aw_grant[m];
        end
        if (m_w_valid_o[m] && m_w_ready_i[m] && m_w_o[m].last) burst_q <= 1'b0;
      end
    end
  end

  for (genvar l = 0; l < Links; l++) begin : gen_link
    logic [Memories-1:0] b_wants, r_wants;

    for (genvar m = 0; m < Memories; m++) begin : gen_wants
      assign b_wants[m] = m_b_valid_i[m] && (Links == 1 || m_b_i[m].id[IdLow+:IdBits] == IdBits'(l));
      assign r_wants[m] = m_r_valid_i[m] && (Links == 1 || m_r_i[m].id[IdLow+:IdBits] == IdBits'(l));
    end
    consort_arbiter #(
        .N(Memories)
    ) i_b (
        .clk_i,
        .rst_ni,
        .request_i(b_wants),
        .grant_o(b_grant[l]),
        .taken_i(l_b_ready_i[l])
    );
    consort_arbiter #(
        .N(Memories)
    ) i_r (
        .clk_i,
        .rst_ni,
        .request_i(r_wants),
        .grant_o(r_grant[l]),
        .taken_i(l_r_ready_i[l])
    );
    always_comb begin
      l_b_o[l] = '0;
      l_r_o[l] = '0;
      l_aw_ready_o[l] = 1'b0;
      l_ar_ready_o[l] = 1'b0;
      l_w_ready_o[l] = 1'b0;
      for (int unsigned m = 0; m < Memories; m++) begin
        if (OneMemory || b_grant[l][m]) l_b_o[l] = l_b_o[l] | m_b_i[m];
        if (OneMemory || r_grant[l][m]) l_r_o[l] = l_r_o[l] | m_r_i[m];
        if (aw_grant[m][l] && m_aw_valid_o[m]) l_aw_ready_o[l] = m_aw_ready_i[m];
        if ((OneLink && OneMemory) || ar_grant[m][l]) l_ar_ready_o[l] = m_ar_ready_i[m];
        if (w_owner_q[m][l] && m_w_valid_o[m]) l_w_ready_o[l] = m_w_ready_i[m];
      end
    end
    assign l_b_valid_o[l] = b_grant[l] != '0;
    assign l_r_valid_o[l] = r_grant[l] != '0;
  end
endmodule
