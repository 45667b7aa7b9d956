# SPDX-License-Identifier: Apache-2.0
"""Proves the assertions of a module of this folder by induction, in the environment of the hardware tools.

prove.py FILE.sv... TOP [PARAMETER=VALUE...] [--refute] [--clocks]

With --refute it looks for a run of up to twelve cycles from the reset that breaks what the module promises;
what a proof needs to know of the module's state (PROVE) is left out then. With --clocks no step is a cycle:
each clock is an input that rises when the solver likes, and all registers begin as zero.
"""

import sys

from pyosys import libyosys

refute = "--refute" in sys.argv
clocks = "--clocks" in sys.argv
words = [word for word in sys.argv[1:] if word not in ("--refute", "--clocks")]
*files, top = (word for word in words if "=" not in word)
given = "".join(f" -G {word}" for word in words if "=" in word) + ("" if refute else " -D PROVE")
method = "-tempinduct-baseonly" if refute else ""
steps = 40 if clocks else 12
design = libyosys.Design()
for command in (
    f"read_slang --top {top}{given} {' '.join(files)}",
    *([] if clocks else ["async2sync"]),
    f"prep -flatten -top {top}",
    "chformal -cover -remove",
    "memory_map",
    "opt -full",
    *(["clk2fflogic", "setundef -init -zero", "opt -full"] if clocks else []),
    f"sat -tempinduct {method} -prove-asserts -set-assumes -verify -maxsteps {steps} {top}",
):
    libyosys.run_pass(command, design)
print("not refuted" if refute else "proven")
