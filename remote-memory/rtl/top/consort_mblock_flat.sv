// SPDX-License-Identifier: Apache-2.0
// The mBlock with one memory and one link as flat signals, by the names from which IP packagers infer interfaces: for
// tools and languages that have no structs. With more of them use consort_mblock itself. The PHY's words and their marks are
// an AXI4-Stream each way, in the PHY's clock; that from the PHY has no TREADY, for each word is taken.
// Interface: m_axi_* (AXI4) with mem_* beside it, s_axil_* (AXI-Lite), AXI4-Streams to and from the PHY, irq.
// Parameters: AxiAddrWidth, AxiIdWidth, AxiDataWidth; Segments, Credits, PhyWidth as in consort_mblock; PhyCdc where the PHY has a clock of its own.
// Throughput: that of consort_mblock.
// Latency: that of consort_mblock, and with PhyCdc that of consort_phy_cdc.
// Assumes: that of consort_mblock.
// Held by: cocotb suite of the flat blocks and IP-XACT against the sources, tests/rtl/test_flat.py.
module consort_mblock_flat
  import consort_remote_pkg::*;
#(
    parameter int unsigned AxiAddrWidth = 40,  // at least that of consort_config_pkg
    parameter int unsigned AxiIdWidth   = 4,   // 4 to that of consort_config_pkg
    parameter int unsigned AxiDataWidth = 128,  // 64, 128, 256 or 512
    parameter int unsigned Segments     = 16,
    parameter int unsigned Credits      = 320,  // of the cBlock's port
    parameter int unsigned PhyWidth     = 128,
    parameter bit          PhyCdc       = 1'b0,  // phy_clk is not aclk
    localparam int unsigned WordWidth = word_width(PhyWidth)
) (
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 aclk CLK" *)
    (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF m_axi:s_axil, ASSOCIATED_RESET aresetn" *)
    input  logic aclk,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 aresetn RST" *)
    (* X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW" *)
    input  logic aresetn,
    // Of the memory: where aresetn falls without it, in step with aclk, what the memory owes ends there. Tie it to aresetn where it is the same.
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 mem_aresetn RST" *)
    (* X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW" *)
    input  logic mem_aresetn,
    // To take the memory away: see consort_mblock.
    input  logic mem_isolate,
    output logic mem_isolated,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWID" *)
    output logic [AxiIdWidth-1:0] m_axi_awid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWADDR" *)
    output logic [AxiAddrWidth-1:0] m_axi_awaddr,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWLEN" *)
    output logic [7:0] m_axi_awlen,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWSIZE" *)
    output logic [2:0] m_axi_awsize,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWBURST" *)
    output logic [1:0] m_axi_awburst,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWLOCK" *)
    output logic m_axi_awlock,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWCACHE" *)
    output logic [3:0] m_axi_awcache,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWPROT" *)
    output logic [2:0] m_axi_awprot,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWQOS" *)
    output logic [3:0] m_axi_awqos,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWVALID" *)
    output logic m_axi_awvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi AWREADY" *)
    input  logic m_axi_awready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi WDATA" *)
    output logic [AxiDataWidth-1:0] m_axi_wdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi WSTRB" *)
    output logic [AxiDataWidth/8-1:0] m_axi_wstrb,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi WLAST" *)
    output logic m_axi_wlast,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi WVALID" *)
    output logic m_axi_wvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi WREADY" *)
    input  logic m_axi_wready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi BID" *)
    input  logic [AxiIdWidth-1:0] m_axi_bid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi BRESP" *)
    input  logic [1:0] m_axi_bresp,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi BVALID" *)
    input  logic m_axi_bvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi BREADY" *)
    output logic m_axi_bready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARID" *)
    output logic [AxiIdWidth-1:0] m_axi_arid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARADDR" *)
    output logic [AxiAddrWidth-1:0] m_axi_araddr,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARLEN" *)
    output logic [7:0] m_axi_arlen,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARSIZE" *)
    output logic [2:0] m_axi_arsize,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARBURST" *)
    output logic [1:0] m_axi_arburst,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARLOCK" *)
    output logic m_axi_arlock,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARCACHE" *)
    output logic [3:0] m_axi_arcache,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARPROT" *)
    output logic [2:0] m_axi_arprot,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARQOS" *)
    output logic [3:0] m_axi_arqos,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARVALID" *)
    output logic m_axi_arvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi ARREADY" *)
    input  logic m_axi_arready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi RID" *)
    input  logic [AxiIdWidth-1:0] m_axi_rid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi RDATA" *)
    input  logic [AxiDataWidth-1:0] m_axi_rdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi RRESP" *)
    input  logic [1:0] m_axi_rresp,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi RLAST" *)
    input  logic m_axi_rlast,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi RVALID" *)
    input  logic m_axi_rvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 m_axi RREADY" *)
    output logic m_axi_rready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWADDR" *)
    input  logic [11:0] s_axil_awaddr,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWPROT" *)
    input  logic [2:0] s_axil_awprot,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWVALID" *)
    input  logic s_axil_awvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWREADY" *)
    output logic s_axil_awready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WDATA" *)
    input  logic [31:0] s_axil_wdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WSTRB" *)
    input  logic [3:0] s_axil_wstrb,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WVALID" *)
    input  logic s_axil_wvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WREADY" *)
    output logic s_axil_wready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil BRESP" *)
    output logic [1:0] s_axil_bresp,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil BVALID" *)
    output logic s_axil_bvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil BREADY" *)
    input  logic s_axil_bready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARADDR" *)
    input  logic [11:0] s_axil_araddr,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARPROT" *)
    input  logic [2:0] s_axil_arprot,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARVALID" *)
    input  logic s_axil_arvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARREADY" *)
    output logic s_axil_arready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RDATA" *)
    output logic [31:0] s_axil_rdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RRESP" *)
    output logic [1:0] s_axil_rresp,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RVALID" *)
    output logic s_axil_rvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RREADY" *)
    input  logic s_axil_rready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_phy TDATA" *)
    output logic [PhyWidth-1:0] m_axis_phy_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_phy TUSER" *)
    output logic [PhyWidth/64-1:0] m_axis_phy_tuser,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_phy TVALID" *)
    output logic m_axis_phy_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_phy TREADY" *)
    input  logic m_axis_phy_tready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_phy TDATA" *)
    input  logic [PhyWidth-1:0] s_axis_phy_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_phy TUSER" *)
    input  logic [PhyWidth/64-1:0] s_axis_phy_tuser,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_phy TVALID" *)
    input  logic s_axis_phy_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:signal:interrupt:1.0 irq INTERRUPT" *)
    (* X_INTERFACE_PARAMETER = "SENSITIVITY LEVEL_HIGH" *)
    output logic irq,
    // Of the PHY, as its core names them: low, or high, the link is down at once.
    input  logic phy_channel_up,
    input  logic phy_hard_err,
    // Of the PHY's words; with PhyCdc any clock no faster than aclk, otherwise aclk itself.
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 phy_clk CLK" *)
    (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF m_axis_phy:s_axis_phy" *)
    input  logic phy_clk
);
  if (AxiAddrWidth < consort_remote_pkg::AddrWidth || AxiIdWidth < 4 || AxiIdWidth > consort_remote_pkg::IdWidth)
  begin : gen_check_widths
    $error("mblock_flat: AxiAddrWidth or AxiIdWidth does not fit consort_config_pkg");
  end

  typedef struct packed {
    logic [AxiDataWidth-1:0]   data;
    logic [AxiDataWidth/8-1:0] strb;
    logic                      last;
  } port_w_t;
  typedef struct packed {
    logic [AxiDataWidth-1:0]                data;
    logic [consort_remote_pkg::IdWidth-1:0] id;
    logic [1:0]                             resp;
    logic                                   last;
  } port_r_t;
  typedef struct packed {
    axi_a_t  aw;
    logic    aw_valid;
    port_w_t w;
    logic    w_valid;
    logic    b_ready;
    axi_a_t  ar;
    logic    ar_valid;
    logic    r_ready;
  } port_req_t;
  typedef struct packed {
    logic    aw_ready;
    logic    w_ready;
    axi_b_t  b;
    logic    b_valid;
    logic    ar_ready;
    port_r_t r;
    logic    r_valid;
  } port_resp_t;

  logic isolate[1], isolated[1];
  assign isolate[0] = mem_isolate;
  assign mem_isolated = isolated[0];

  port_req_t req[1];
  port_resp_t resp[1];
  assign m_axi_awid = AxiIdWidth'(req[0].aw.id);
  assign m_axi_awaddr = AxiAddrWidth'(req[0].aw.addr);
  assign m_axi_awlen = req[0].aw.len;
  assign m_axi_awsize = req[0].aw.size;
  assign m_axi_awburst = req[0].aw.burst;
  assign m_axi_awlock = req[0].aw.lock;
  assign m_axi_awcache = req[0].aw.cache;
  assign m_axi_awprot = req[0].aw.prot;
  assign m_axi_awqos = req[0].aw.qos;
  assign m_axi_awvalid = req[0].aw_valid;
  assign m_axi_arid = AxiIdWidth'(req[0].ar.id);
  assign m_axi_araddr = AxiAddrWidth'(req[0].ar.addr);
  assign m_axi_arlen = req[0].ar.len;
  assign m_axi_arsize = req[0].ar.size;
  assign m_axi_arburst = req[0].ar.burst;
  assign m_axi_arlock = req[0].ar.lock;
  assign m_axi_arcache = req[0].ar.cache;
  assign m_axi_arprot = req[0].ar.prot;
  assign m_axi_arqos = req[0].ar.qos;
  assign m_axi_arvalid = req[0].ar_valid;
  assign m_axi_wdata = req[0].w.data;
  assign m_axi_wstrb = req[0].w.strb;
  assign m_axi_wlast = req[0].w.last;
  assign m_axi_wvalid = req[0].w_valid;
  assign m_axi_bready = req[0].b_ready;
  assign m_axi_rready = req[0].r_ready;
  assign resp[0] = '{
          aw_ready: m_axi_awready,
          w_ready: m_axi_wready,
          b: '{id: consort_remote_pkg::IdWidth'(m_axi_bid), resp: m_axi_bresp},
          b_valid: m_axi_bvalid,
          ar_ready: m_axi_arready,
          r: '{
              data: m_axi_rdata,
              id: consort_remote_pkg::IdWidth'(m_axi_rid),
              resp: m_axi_rresp,
              last: m_axi_rlast
          },
          r_valid: m_axi_rvalid
      };

  lite_req_t lite_req;
  lite_resp_t lite_resp;
  assign lite_req = '{
          aw: '{addr: s_axil_awaddr, prot: s_axil_awprot},
          aw_valid: s_axil_awvalid,
          w: '{data: s_axil_wdata, strb: s_axil_wstrb},
          w_valid: s_axil_wvalid,
          b_ready: s_axil_bready,
          ar: '{addr: s_axil_araddr, prot: s_axil_arprot},
          ar_valid: s_axil_arvalid,
          r_ready: s_axil_rready
      };
  assign {s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid, s_axil_arready, s_axil_rdata, s_axil_rresp,
      s_axil_rvalid} = lite_resp;

  logic [WordWidth-1:0] tx[1], rx[1];
  logic tx_valid[1], tx_ready[1], rx_valid[1], channel_up[1], hard_err[1];

  if (PhyCdc) begin : gen_cdc
    consort_phy_cdc #(
        .WordWidth(WordWidth)
    ) i_cdc (
        .clk_i(aclk),
        .rst_ni(aresetn),
        .tx_i(tx[0]),
        .tx_valid_i(tx_valid[0]),
        .tx_ready_o(tx_ready[0]),
        .rx_o(rx[0]),
        .rx_valid_o(rx_valid[0]),
        .channel_up_o(channel_up[0]),
        .hard_err_o(hard_err[0]),
        .phy_clk_i(phy_clk),
        .phy_tx_o({m_axis_phy_tuser, m_axis_phy_tdata}),
        .phy_tx_valid_o(m_axis_phy_tvalid),
        .phy_tx_ready_i(m_axis_phy_tready),
        .phy_rx_i({s_axis_phy_tuser, s_axis_phy_tdata}),
        .phy_rx_valid_i(s_axis_phy_tvalid),
        .phy_channel_up_i(phy_channel_up),
        .phy_hard_err_i(phy_hard_err)
    );
  end else begin : gen_direct
    logic unused;
    assign unused = &{1'b0, phy_clk};
    assign {m_axis_phy_tuser, m_axis_phy_tdata} = tx[0];
    assign m_axis_phy_tvalid = tx_valid[0];
    assign tx_ready[0] = m_axis_phy_tready;
    assign rx[0] = {s_axis_phy_tuser, s_axis_phy_tdata};
    assign rx_valid[0] = s_axis_phy_tvalid;
    assign channel_up[0] = phy_channel_up;
    assign hard_err[0] = phy_hard_err;
  end

  consort_mblock #(
      .axi_req_t(port_req_t),
      .axi_resp_t(port_resp_t),
      .Segments(Segments),
      .Credits(Credits),
      .PhyWidth(PhyWidth)
  ) i_mblock (
      .clk_i(aclk),
      .rst_ni(aresetn),
      .m_rst_ni(mem_aresetn),
      .isolate_i(isolate),
      .isolated_o(isolated),
      .m_req_o(req),
      .m_resp_i(resp),
      .lite_req_i(lite_req),
      .lite_resp_o(lite_resp),
      .irq_o(irq),
      .phy_channel_up_i(channel_up),
      .phy_hard_err_i(hard_err),
      .phy_tx_o(tx),
      .phy_tx_valid_o(tx_valid),
      .phy_tx_ready_i(tx_ready),
      .phy_rx_i(rx),
      .phy_rx_valid_i(rx_valid)
  );
endmodule
