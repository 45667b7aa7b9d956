# SPDX-License-Identifier: Apache-2.0
"""Proves the assertions of a module of this folder by induction, in the environment of the hardware tools.

prove.py DUT.sv CHECK.sv TOP
"""

import sys

from pyosys import libyosys

dut, check, top = sys.argv[1:]
design = libyosys.Design()
for command in (
    f"read_slang --top {top} {dut} {check}",
    "async2sync",
    f"prep -flatten -top {top}",
    "chformal -cover -remove",
    "opt -full",
    f"sat -tempinduct -prove-asserts -set-assumes -verify -maxsteps 12 {top}",
):
    libyosys.run_pass(command, design)
print("proven")
