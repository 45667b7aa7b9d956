# SPDX-License-Identifier: Apache-2.0
"""Maps a top module to the cells of UltraScale+ with Yosys, in the environment of the hardware tools.

synthesize.py TOP OUT.json NAME=VALUE... FILE.sv...
"""

import sys

from pyosys import libyosys

top, out, *rest = sys.argv[1:]
parameters = " ".join(f"-G {word}" for word in rest if not word.endswith(".sv"))
files = " ".join(word for word in rest if word.endswith(".sv"))
mapped = f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -abc9 -top {top}"
design = libyosys.Design()
for command in (
    f"read_slang --keep-hierarchy --top {top} {parameters} {files}",
    "setattr -mod -unset keep_hierarchy *",
    "setattr -mod -set keep_hierarchy 1 crc_sum* crc_next*",
    # No pads: the block lies inside of a device.
    f"{mapped} -run begin:map_luts",
    # Registers after the signals they hold: mapping to LUTs loses the signals' own names.
    "rename -wire t:FD*",
    f"{mapped} -run map_luts:",
    # Blocks that are mapped by themselves become parts of the whole.
    "setattr -mod -unset keep_hierarchy *",
    "flatten",
    "opt_clean",
    f"write_json {out}",
):
    libyosys.run_pass(command, design)
