# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap-size`: what cBlock and mBlock cost, estimated as experiments/remap/size says."""

from __future__ import annotations

from typing import Any

from consort.errors import EnvironmentLacks
from consort.record import environment
from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_remote.synthesis import DEFAULT, FEWEST_LEVELS, estimate

from consort_remote_bench.place_and_route import placed

# One port, link and memory, reliable; the cBlock with one window, and with as many as simulations have.
BLOCKS = (("cblock", {"Windows": 1}), ("cblock", {"Windows": 8}), ("mblock", {"Segments": 16}))
# Converters of data widths: of a port in front of the cBlock, and of a memory behind the mBlock.
WIDTHS = ((64, 128), (256, 128), (512, 128), (128, 64), (128, 256), (128, 512))
# The paper's, which the cells of the slowest path have to leave something of for wires.
CLOCK_PS = 3200
# The placed and routed clocks, in MHz, less a twentieth, as much as the placer's choices change. They are no
# figures of the paper's, whose device is another.
PLACED_MHZ = {"cblock": 87.0, "mblock": 110.0}
# At which a block of 128 bits a cycle keeps up with the paper's wire: 20 Gb/s less 64b/66b.
WIRE_MHZ = 20_000 * 64 / 66 / 128
# The longest paths that are named.
PATHS = 10


def run(options: Options) -> BenchResult:
    """Synthesises with Yosys, and without `--quick` places and routes for another device with nextpnr."""
    rows: list[dict[str, Any]] = []
    for block, parameters in BLOCKS[:1] if options.quick else BLOCKS:
        of = ", ".join(f"{name}: {value}" for name, value in parameters.items())
        options.progress(f"{block} of one link, {of}", None)
        rows += [_row(block, parameters, flow) for flow in (FEWEST_LEVELS, DEFAULT)]
    smallest, plain = rows[:2]
    goals = [
        goal("cblock_luts", smallest["luts"], "LUTs", "<=", 6500, provenance="counted"),
        goal("cblock_ramb36", smallest["ramb36"], "RAMB36", "<=", 8, provenance="counted"),
        # Goals of netlists that nothing was placed or routed of: levels and the cells' own delays, no clock.
        goal(
            "cblock_lut_levels_fewest_levels_flow",
            smallest["levels"],
            "LUT levels",
            "<=",
            4,
            provenance="counted",
        ),
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
        goals.append(
            goal(
                "mblock_lut_levels_fewest_levels_flow",
                rows[-2]["levels"],
                "LUT levels",
                "<=",
                4,
                provenance="counted",
            )
        )
        for slave, master in WIDTHS:
            options.progress(f"converter of {slave} to {master} bits", None)
            rows.append(_row("axi_resize", {"SlaveWidth": slave, "MasterWidth": master}, DEFAULT))
    lacking = False
    if not options.quick:
        for block, parameters in (BLOCKS[0], BLOCKS[-1]):
            options.progress(f"{block} placed and routed", None)
            found = _placed(block, parameters)
            lacking = lacking or found["value"] is None
            rows += found.pop("rows")
            goals.append(found)
    published = read_published(experiment_folder("remap", "size") / "published.csv")
    notes = [
        f"Published: {row.statistic} {row.text} {row.unit} ({row.source}; {row.note})" for row in published
    ]
    notes.append(
        "Cell delays are sums of the synthesis tool's library values, without wires. "
        "The default flow weighs a level as 300 ps of wire, the flow of fewest levels as 3000."
    )
    notes.append(
        "The placed and routed clock is of a Lattice ECP5 (40 nm, LUTs of four inputs), by nextpnr's delays "
        "and with one seed: with wires, but not the paper's device. Its limit is what it was, less a "
        f"twentieth. With the paper's wire 128 bits a cycle keep up from {WIRE_MHZ:.1f} MHz on."
    )
    return BenchResult(goals, rows, environment(), notes, lacking=lacking)


def _placed(block: str, parameters: dict[str, int]) -> dict[str, Any]:
    """Its goal, with `rows` for the report."""
    name = f"{block}_ecp5_placed_routed_clock"
    try:
        found = placed(f"consort_{block}", parameters)
    except EnvironmentLacks as lack:
        return goal(name, None, "MHz", ">=", PLACED_MHZ[block], reason=str(lack)) | {"rows": []}
    row = {
        "block": block,
        "flow": "ecp5, placed and routed",
        **{parameter.lower(): value for parameter, value in parameters.items()},
        "mhz": found.mhz,
        "logic_ps": found.logic_ps,
        "wire_ps": found.wire_ps,
        "path": list(found.path),
        "used": found.used,
        "provenance": "counted",
    }
    made = goal(name, round(found.mhz, 1), "MHz", ">=", PLACED_MHZ[block], provenance="counted")
    return made | {"rows": [row]}


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
