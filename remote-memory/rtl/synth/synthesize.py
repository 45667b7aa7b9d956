# SPDX-License-Identifier: Apache-2.0
"""Maps a top module to the cells of a device with Yosys, in the environment of the hardware tools.

synthesize.py FLOW TOP OUT.json NAME=VALUE... FILE.sv...

FLOW is `fewest-levels`, which makes every path as short in LUTs as it can, or `default`: synth_xilinx as it is, both for
UltraScale+; or `ecp5`: synth_ecp5 as it is. Beside OUT.json it writes OUT.json.sta, the slowest path by the cells' delays alone
(none for `ecp5`, whose cells' delays Yosys does not have).
"""

import sys

from pyosys import libyosys

flow, top, out, *rest = sys.argv[1:]
parameters = " ".join(f"-G {word}" for word in rest if not word.endswith(".sv"))
files = " ".join(word for word in rest if word.endswith(".sv"))
mapped = f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -abc9 -top {top}"
design = libyosys.Design()
read = (
    f"read_slang --keep-hierarchy --top {top} {parameters} {files}",
    "setattr -mod -unset keep_hierarchy *",
)
fewest_levels = (
    "setattr -mod -set keep_hierarchy 1 crc_sum* crc_step* *lite_slave*",
    # No pads: the block lies inside of a device.
    f"{mapped} -run begin:map_luts",
    # Registers after the signals they hold: mapping to LUTs loses the signals' own names.
    "rename -wire t:FD*",
    # As synth_xilinx does it, but for two things. A LUT's level weighs far more than what is within a
    # cell: else the mapper lets every path have as many as fit beside the longest carry chain. And no
    # wide multiplexers, which would be levels that nobody counts.
    "opt_expr -mux_undef -noclkinv",
    "scratchpad -set abc9.W 3000",
    "abc9 -luts 2:2,3,6:5",
    "clean",
    "xilinx_srl -fixed -minlen 3",
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
    "xilinx_dffopt",
    "opt_lut_ins -tech xilinx",
    f"{mapped} -run finalize:",
    # Blocks that are mapped by themselves become parts of the whole.
    "setattr -mod -unset keep_hierarchy *",
    "flatten",
    "opt_clean",
)
flows = {"fewest-levels": fewest_levels, "default": (mapped,), "ecp5": (f"synth_ecp5 -noiopad -top {top}",)}
timing = (f"tee -q -o {out}.sta sta",) if flow != "ecp5" else ()
for command in (*read, *flows[flow], *timing, f"write_json {out}"):
    libyosys.run_pass(command, design)
