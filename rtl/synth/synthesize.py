# SPDX-License-Identifier: Apache-2.0
"""Maps a top module to the cells of UltraScale+ with Yosys, in the environment of the hardware tools.

synthesize.py TOP OUT.json NAME=VALUE... FILE.sv...
"""

import sys

from pyosys import libyosys

top, out, *rest = sys.argv[1:]
parameters = " ".join(f"-G {word}" for word in rest if not word.endswith(".sv"))
files = " ".join(word for word in rest if word.endswith(".sv"))
design = libyosys.Design()
for command in (
    f"read_slang --top {top} {parameters} {files}",
    # No pads: the block lies inside of a device.
    f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -abc9 -top {top}",
    f"write_json {out}",
):
    libyosys.run_pass(command, design)
