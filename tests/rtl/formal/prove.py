# SPDX-License-Identifier: Apache-2.0
"""Proves the assertions of a module of this folder by induction, in the environment of the hardware tools.

prove.py FILE.sv... TOP
"""

import sys

from pyosys import libyosys

*files, top = sys.argv[1:]
design = libyosys.Design()
for command in (
    f"read_slang --top {top} {' '.join(files)}",
    "async2sync",
    f"prep -flatten -top {top}",
    "chformal -cover -remove",
    "memory_map",
    "opt -full",
    f"sat -tempinduct -prove-asserts -set-assumes -verify -maxsteps 12 {top}",
):
    libyosys.run_pass(command, design)
print("proven")
