# SPDX-License-Identifier: Apache-2.0
"""Writes a top module as plain Verilog for a four-state simulator, in the environment of the hardware tools.

to_verilog.py TOP OUT.v FILE.sv...

Registers and RAMs keep no value to begin with; decisions become multiplexers, which hand on the unknown.
"""

import sys

from pyosys import libyosys

top, out, *files = sys.argv[1:]
design = libyosys.Design()
for command in (
    f"read_slang --top {top} {' '.join(files)}",
    "proc",
    "opt_clean",
    "bwmuxmap",
    f"write_verilog -noattr {out}",
):
    libyosys.run_pass(command, design)
