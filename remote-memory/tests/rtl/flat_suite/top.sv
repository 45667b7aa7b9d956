// SPDX-License-Identifier: Apache-2.0
// The flat blocks, one PHY's stream to the other's, in a clock of its own: Python has every port of both.
module top #(
    parameter int unsigned SlaveData  = 128,
    parameter int unsigned MasterData = 128
) (
    input logic clk,
    input logic phy_clk,  // of the link, for both
    input logic rst_n
);
  logic m_alone;  // the mBlock is reset and its memory is not
  logic mem_isolate;
  logic mem_isolated;
  logic [15:0] s_axi_awid;
  logic [39:0] s_axi_awaddr;
  logic [7:0] s_axi_awlen;
  logic [2:0] s_axi_awsize;
  logic [1:0] s_axi_awburst;
  logic s_axi_awlock;
  logic [3:0] s_axi_awcache;
  logic [2:0] s_axi_awprot;
  logic [3:0] s_axi_awqos;
  logic s_axi_awvalid;
  logic s_axi_awready;
  logic [SlaveData-1:0] s_axi_wdata;
  logic [SlaveData/8-1:0] s_axi_wstrb;
  logic s_axi_wlast;
  logic s_axi_wvalid;
  logic s_axi_wready;
  logic [15:0] s_axi_bid;
  logic [1:0] s_axi_bresp;
  logic s_axi_bvalid;
  logic s_axi_bready;
  logic [15:0] s_axi_arid;
  logic [39:0] s_axi_araddr;
  logic [7:0] s_axi_arlen;
  logic [2:0] s_axi_arsize;
  logic [1:0] s_axi_arburst;
  logic s_axi_arlock;
  logic [3:0] s_axi_arcache;
  logic [2:0] s_axi_arprot;
  logic [3:0] s_axi_arqos;
  logic s_axi_arvalid;
  logic s_axi_arready;
  logic [15:0] s_axi_rid;
  logic [SlaveData-1:0] s_axi_rdata;
  logic [1:0] s_axi_rresp;
  logic s_axi_rlast;
  logic s_axi_rvalid;
  logic s_axi_rready;
  logic [11:0] c_s_axil_awaddr;
  logic [2:0] c_s_axil_awprot;
  logic c_s_axil_awvalid;
  logic c_s_axil_awready;
  logic [31:0] c_s_axil_wdata;
  logic [3:0] c_s_axil_wstrb;
  logic c_s_axil_wvalid;
  logic c_s_axil_wready;
  logic [1:0] c_s_axil_bresp;
  logic c_s_axil_bvalid;
  logic c_s_axil_bready;
  logic [11:0] c_s_axil_araddr;
  logic [2:0] c_s_axil_arprot;
  logic c_s_axil_arvalid;
  logic c_s_axil_arready;
  logic [31:0] c_s_axil_rdata;
  logic [1:0] c_s_axil_rresp;
  logic c_s_axil_rvalid;
  logic c_s_axil_rready;
  logic [127:0] there_tdata;
  logic [1:0] there_tuser;
  logic there_tvalid;
  logic there_tready;
  logic c_irq;
  logic c_phy_channel_up;
  logic c_phy_hard_err;

  consort_cblock_flat #(
      .AxiDataWidth(SlaveData),
      .PhyCdc(1'b1)
  ) i_cblock (
      .aclk(clk), .aresetn(rst_n), .s_axi_awid(s_axi_awid), .s_axi_awaddr(s_axi_awaddr), .s_axi_awlen(s_axi_awlen),
      .s_axi_awsize(s_axi_awsize), .s_axi_awburst(s_axi_awburst), .s_axi_awlock(s_axi_awlock), .s_axi_awcache(s_axi_awcache),
      .s_axi_awprot(s_axi_awprot), .s_axi_awqos(s_axi_awqos), .s_axi_awvalid(s_axi_awvalid), .s_axi_awready(s_axi_awready),
      .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb), .s_axi_wlast(s_axi_wlast), .s_axi_wvalid(s_axi_wvalid),
      .s_axi_wready(s_axi_wready), .s_axi_bid(s_axi_bid), .s_axi_bresp(s_axi_bresp), .s_axi_bvalid(s_axi_bvalid),
      .s_axi_bready(s_axi_bready), .s_axi_arid(s_axi_arid), .s_axi_araddr(s_axi_araddr), .s_axi_arlen(s_axi_arlen),
      .s_axi_arsize(s_axi_arsize), .s_axi_arburst(s_axi_arburst), .s_axi_arlock(s_axi_arlock), .s_axi_arcache(s_axi_arcache),
      .s_axi_arprot(s_axi_arprot), .s_axi_arqos(s_axi_arqos), .s_axi_arvalid(s_axi_arvalid), .s_axi_arready(s_axi_arready),
      .s_axi_rid(s_axi_rid), .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp), .s_axi_rlast(s_axi_rlast),
      .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready), .s_axil_awaddr(c_s_axil_awaddr), .s_axil_awprot(c_s_axil_awprot),
      .s_axil_awvalid(c_s_axil_awvalid), .s_axil_awready(c_s_axil_awready), .s_axil_wdata(c_s_axil_wdata),
      .s_axil_wstrb(c_s_axil_wstrb), .s_axil_wvalid(c_s_axil_wvalid), .s_axil_wready(c_s_axil_wready),
      .s_axil_bresp(c_s_axil_bresp),
      .s_axil_bvalid(c_s_axil_bvalid), .s_axil_bready(c_s_axil_bready), .s_axil_araddr(c_s_axil_araddr),
      .s_axil_arprot(c_s_axil_arprot), .s_axil_arvalid(c_s_axil_arvalid), .s_axil_arready(c_s_axil_arready),
      .s_axil_rdata(c_s_axil_rdata), .s_axil_rresp(c_s_axil_rresp), .s_axil_rvalid(c_s_axil_rvalid),
      .s_axil_rready(c_s_axil_rready),
      .m_axis_phy_tdata(there_tdata), .m_axis_phy_tuser(there_tuser), .m_axis_phy_tvalid(there_tvalid),
      .m_axis_phy_tready(there_tready), .s_axis_phy_tdata(back_tdata), .s_axis_phy_tuser(back_tuser),
      .s_axis_phy_tvalid(back_tvalid), .irq(c_irq), .phy_channel_up(c_phy_channel_up), .phy_hard_err(c_phy_hard_err),
      .phy_clk(phy_clk)
  );

  logic [3:0] m_axi_awid;
  logic [39:0] m_axi_awaddr;
  logic [7:0] m_axi_awlen;
  logic [2:0] m_axi_awsize;
  logic [1:0] m_axi_awburst;
  logic m_axi_awlock;
  logic [3:0] m_axi_awcache;
  logic [2:0] m_axi_awprot;
  logic [3:0] m_axi_awqos;
  logic m_axi_awvalid;
  logic m_axi_awready;
  logic [MasterData-1:0] m_axi_wdata;
  logic [MasterData/8-1:0] m_axi_wstrb;
  logic m_axi_wlast;
  logic m_axi_wvalid;
  logic m_axi_wready;
  logic [3:0] m_axi_bid;
  logic [1:0] m_axi_bresp;
  logic m_axi_bvalid;
  logic m_axi_bready;
  logic [3:0] m_axi_arid;
  logic [39:0] m_axi_araddr;
  logic [7:0] m_axi_arlen;
  logic [2:0] m_axi_arsize;
  logic [1:0] m_axi_arburst;
  logic m_axi_arlock;
  logic [3:0] m_axi_arcache;
  logic [2:0] m_axi_arprot;
  logic [3:0] m_axi_arqos;
  logic m_axi_arvalid;
  logic m_axi_arready;
  logic [3:0] m_axi_rid;
  logic [MasterData-1:0] m_axi_rdata;
  logic [1:0] m_axi_rresp;
  logic m_axi_rlast;
  logic m_axi_rvalid;
  logic m_axi_rready;
  logic [11:0] m_s_axil_awaddr;
  logic [2:0] m_s_axil_awprot;
  logic m_s_axil_awvalid;
  logic m_s_axil_awready;
  logic [31:0] m_s_axil_wdata;
  logic [3:0] m_s_axil_wstrb;
  logic m_s_axil_wvalid;
  logic m_s_axil_wready;
  logic [1:0] m_s_axil_bresp;
  logic m_s_axil_bvalid;
  logic m_s_axil_bready;
  logic [11:0] m_s_axil_araddr;
  logic [2:0] m_s_axil_arprot;
  logic m_s_axil_arvalid;
  logic m_s_axil_arready;
  logic [31:0] m_s_axil_rdata;
  logic [1:0] m_s_axil_rresp;
  logic m_s_axil_rvalid;
  logic m_s_axil_rready;
  logic [127:0] back_tdata;
  logic [1:0] back_tuser;
  logic back_tvalid;
  logic back_tready;
  logic m_irq;
  logic m_phy_channel_up;
  logic m_phy_hard_err;

  consort_mblock_flat #(
      .AxiDataWidth(MasterData),
      .AxiIdWidth(4),
      .PhyCdc(1'b1)
  ) i_mblock (
      .aclk(clk), .aresetn(rst_n && !m_alone), .mem_aresetn(rst_n), .mem_isolate(mem_isolate), .mem_isolated(mem_isolated),
      .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen),
      .m_axi_awsize(m_axi_awsize), .m_axi_awburst(m_axi_awburst), .m_axi_awlock(m_axi_awlock), .m_axi_awcache(m_axi_awcache),
      .m_axi_awprot(m_axi_awprot), .m_axi_awqos(m_axi_awqos), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
      .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
      .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
      .m_axi_bready(m_axi_bready), .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen),
      .m_axi_arsize(m_axi_arsize), .m_axi_arburst(m_axi_arburst), .m_axi_arlock(m_axi_arlock), .m_axi_arcache(m_axi_arcache),
      .m_axi_arprot(m_axi_arprot), .m_axi_arqos(m_axi_arqos), .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready),
      .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast),
      .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready), .s_axil_awaddr(m_s_axil_awaddr),
      .s_axil_awprot(m_s_axil_awprot), .s_axil_awvalid(m_s_axil_awvalid), .s_axil_awready(m_s_axil_awready),
      .s_axil_wdata(m_s_axil_wdata), .s_axil_wstrb(m_s_axil_wstrb), .s_axil_wvalid(m_s_axil_wvalid),
      .s_axil_wready(m_s_axil_wready), .s_axil_bresp(m_s_axil_bresp), .s_axil_bvalid(m_s_axil_bvalid),
      .s_axil_bready(m_s_axil_bready), .s_axil_araddr(m_s_axil_araddr), .s_axil_arprot(m_s_axil_arprot),
      .s_axil_arvalid(m_s_axil_arvalid), .s_axil_arready(m_s_axil_arready), .s_axil_rdata(m_s_axil_rdata),
      .s_axil_rresp(m_s_axil_rresp), .s_axil_rvalid(m_s_axil_rvalid), .s_axil_rready(m_s_axil_rready),
      .m_axis_phy_tdata(back_tdata), .m_axis_phy_tuser(back_tuser), .m_axis_phy_tvalid(back_tvalid),
      .m_axis_phy_tready(back_tready), .s_axis_phy_tdata(there_tdata), .s_axis_phy_tuser(there_tuser),
      .s_axis_phy_tvalid(there_tvalid), .irq(m_irq), .phy_channel_up(m_phy_channel_up), .phy_hard_err(m_phy_hard_err),
      .phy_clk(phy_clk)
  );

  assign there_tready = 1'b1;
  assign back_tready = 1'b1;
endmodule
