# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap-size`: what cBlock and mBlock cost, estimated as experiments/remap/size says."""

from __future__ import annotations

from typing import Any

from consort.base.environment import environment
from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_remote.synthesis import DEFAULT, FEWEST_LEVELS, estimate

# One port, link and memory, reliable; the cBlock with one window, and with as many as simulations have.
BLOCKS = (("cblock", {"Windows": 1}), ("cblock", {"Windows": 8}), ("mblock", {"Segments": 16}))
# Converters of data widths: of a port in front of the cBlock, and of a memory behind the mBlock.
WIDTHS = ((64, 128), (256, 128), (512, 128), (128, 64), (128, 256), (128, 512))
# The paper's, which the cells of the slowest path have to leave something of for wires.
CLOCK_PS = 3200
# The longest paths that are named.
PATHS = 10


def run(options: Options) -> BenchResult:
    """Synthesises with Yosys."""
    rows: list[dict[str, Any]] = []
    for block, parameters in BLOCKS[:1] if options.quick else BLOCKS:
        of = ", ".join(f"{name}: {value}" for name, value in parameters.items())
        options.progress(f"{block} of one link, {of}", None)
        rows += [_row(block, parameters, flow) for flow in (FEWEST_LEVELS, DEFAULT)]
    smallest, plain = rows[:2]
    goals = [
        goal("cblock_luts", smallest["luts"], "LUTs", "<=", 6500, provenance="counted"),
        goal("cblock_ramb36", smallest["ramb36"], "RAMB36", "<=", 8, provenance="counted"),
        # Of a netlist that nothing was placed of: the cells' own delays, no clock. LUT levels are in the
        # rows without a goal: one of 4 stood for the clock while nothing was placed, and `consort bench
        # remap` has the clock with its wires now (placed_mhz_*).
        goal(
            "cblock_cell_delay_default_flow",
            plain["cell_delay_ps"],
            "ps",
            "<=",
            CLOCK_PS,
            provenance="counted",
        ),
    ]
    if not options.quick:
        for slave, master in WIDTHS:
            options.progress(f"converter of {slave} to {master} bits", None)
            rows.append(_row("axi_resize", {"SlaveWidth": slave, "MasterWidth": master}, DEFAULT))
    published = read_published(experiment_folder("remap", "size") / "published.csv")
    notes = [
        f"Published: {row.statistic} {row.text} {row.unit} ({row.source}; {row.note})" for row in published
    ]
    notes.append(
        "Cell delays are sums of the synthesis tool's library values, without wires. "
        "The default flow weighs a level as 300 ps of wire, the flow of fewest levels as 3000. "
        "Levels have no goal: `consort bench remap` places the blocks, and has the clock."
    )
    return BenchResult(goals, rows, environment(), notes)


def _row(block: str, parameters: dict[str, int], flow: str) -> dict[str, Any]:
    cost = estimate(f"consort_{block}", parameters, flow)
    return {
        "block": block,
        "flow": flow,
        **{name.lower(): value for name, value in parameters.items()},
        "luts": cost.luts,
        "ram_luts": cost.ram_luts,
        "flip_flops": cost.flip_flops,
        "ramb36": cost.ramb36,
        "levels": cost.levels,
        "cell_delay_ps": cost.cell_delay_ps,
        "paths": cost.paths_of_most_levels(PATHS),
        "provenance": "counted",
    }
