# SPDX-License-Identifier: Apache-2.0
# Constraints of an instance of consort_phy_cdc, in SDC. Before it is sourced `cdc` is the instance's path with its last separator, `clk_period` and
# `phy_period` are the periods of its clocks, which are in groups that are not asynchronous to each other, or these would say nothing.
# All that crosses between its two clocks is here (tests/rtl/test_constraints.py).

# Pointers in Gray code: the bits of one may not come further apart than a period of the clock that writes them.
set_max_delay $clk_period -from [get_cells ${cdc}i_tx/write_gray_q*] -to [get_cells ${cdc}i_tx/write_seen_q*]
set_max_delay $phy_period -from [get_cells ${cdc}i_tx/read_gray_q*] -to [get_cells ${cdc}i_tx/read_seen_q*]
set_max_delay $phy_period -from [get_cells ${cdc}i_rx/write_gray_q*] -to [get_cells ${cdc}i_rx/write_seen_q*]
set_max_delay $clk_period -from [get_cells ${cdc}i_rx/read_gray_q*] -to [get_cells ${cdc}i_rx/read_seen_q*]

# Words: each is written two cycles of the reading clock before it is read.
set_max_delay $phy_period -from [get_cells ${cdc}i_tx/memory*]
set_max_delay $clk_period -from [get_cells ${cdc}i_rx/memory*]

# What the PHY says, one bit each.
set_max_delay $phy_period -from [get_cells ${cdc}turns_q*] -to [get_cells ${cdc}turned_q*]
set_max_delay $phy_period -from [get_cells ${cdc}err_q*] -to [get_cells ${cdc}lasts_q*]
set_false_path -to [get_cells ${cdc}up_q*]

# Resets begin at any time and end with their clock.
set_false_path -to [get_cells ${cdc}i_reset/stages_q*]
set_false_path -to [get_cells ${cdc}i_phy_reset/stages_q*]

# Between the two clocks no edge has to be kept: a synchroniser may see what changes as it was or as it is.
set_false_path -hold -from [get_cells ${cdc}*gray_q*] -to [get_cells ${cdc}*seen_q*]
set_false_path -hold -from [get_cells ${cdc}*memory*]
set_false_path -hold -from [get_cells ${cdc}turns_q*] -to [get_cells ${cdc}turned_q*]
set_false_path -hold -from [get_cells ${cdc}err_q*] -to [get_cells ${cdc}lasts_q*]
