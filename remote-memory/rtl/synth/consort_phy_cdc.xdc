# SPDX-License-Identifier: Apache-2.0
# Constraints of consort_phy_cdc for Vivado, for each instance of it:
#   read_xdc -ref consort_phy_cdc rtl/synth/consort_phy_cdc.xdc
# All that crosses between its two clocks is here (tests/rtl/test_constraints.py). Not tried in Vivado.

set clk_period [get_property -min PERIOD [get_clocks -of_objects [get_ports clk_i]]]
set phy_period [get_property -min PERIOD [get_clocks -of_objects [get_ports phy_clk_i]]]

# Pointers in Gray code: the bits of one may not come further apart than a period of the clock that writes them.
set_max_delay -datapath_only -from [get_cells {i_tx/write_gray_q_reg*}] -to [get_cells {i_tx/write_seen_q_reg*}] $clk_period
set_max_delay -datapath_only -from [get_cells {i_tx/read_gray_q_reg*}] -to [get_cells {i_tx/read_seen_q_reg*}] $phy_period
set_max_delay -datapath_only -from [get_cells {i_rx/write_gray_q_reg*}] -to [get_cells {i_rx/write_seen_q_reg*}] $phy_period
set_max_delay -datapath_only -from [get_cells {i_rx/read_gray_q_reg*}] -to [get_cells {i_rx/read_seen_q_reg*}] $clk_period

# Words: each is written two cycles of the reading clock before it is read.
set_max_delay -datapath_only -from [get_cells {i_tx/memory_reg*}] $phy_period
set_max_delay -datapath_only -from [get_cells {i_rx/memory_reg*}] $clk_period

# What the PHY says, one bit each.
set_max_delay -datapath_only -from [get_cells {turns_q_reg*}] -to [get_cells {turned_q_reg*}] $phy_period
set_max_delay -datapath_only -from [get_cells {err_q_reg*}] -to [get_cells {lasts_q_reg*}] $phy_period
set_false_path -to [get_pins {up_q_reg[0]/D}]

# Resets begin at any time and end with their clock.
set_false_path -to [get_pins {i_reset/stages_q_reg[*]/CLR}]
set_false_path -to [get_pins {i_phy_reset/stages_q_reg[*]/CLR}]
