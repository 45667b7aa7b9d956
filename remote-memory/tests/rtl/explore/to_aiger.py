# SPDX-License-Identifier: Apache-2.0
"""Writes a module as an and-inverter graph, in the environment of the hardware tools.

to_aiger.py OUT.aig TOP FILE.sv... [NAME=VALUE...]
"""

import sys

from pyosys import libyosys

out, top, *rest = sys.argv[1:]
files = [word for word in rest if "=" not in word]
parameters = " ".join(f"-G {word}" for word in rest if "=" in word)
design = libyosys.Design()
for command in (
    f"read_slang --top {top} {parameters} {' '.join(files)}",
    "async2sync",
    f"prep -flatten -top {top}",
    "chformal -remove",
    "memory_map",
    "opt -full",
    "dffunmap",
    "simplemap",
    "techmap",
    "opt -full",
    "setundef -undriven -init -zero",
    "dfflegalize -cell $_DFF_P_ 01",
    "opt_expr",
    "opt_merge",
    "setundef -undriven -init -zero",
    "aigmap",
    "opt_clean -purge",
    f"write_aiger -symbols {out}",
):
    libyosys.run_pass(command, design)
