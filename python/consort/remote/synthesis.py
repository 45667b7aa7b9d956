# SPDX-License-Identifier: Apache-2.0
"""What a block of rtl/ costs in an UltraScale+ device, estimated from the cells that Yosys maps it to.

Not place and route: LUTs are counted before any are merged or packed in pairs, and a path's length is its
number of LUTs, carry chains and wide multiplexers counted as nothing. Nothing is said of a clock.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.errors import SystemFails
from consort.remote import build
from consort.source import need_source_tree

# LUTs that a cell of distributed RAM takes: a slice's eight, or the two of a bit with two ports.
RAM_LUTS = {"RAM32M16": 8, "RAM64M8": 8, "RAM32M": 4, "RAM64M": 4, "RAM64X1D": 2, "RAM32X1D": 2}
RAM_READ_ADDRESS = ("ADDRA", "ADDRB", "ADDRC", "ADDRD", "ADDRE", "ADDRF", "ADDRG", "ADDRH", "DPRA", "A")
# Of these a path goes through; all other cells end one and begin another.
FREE = ("CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "INV")


@dataclass(frozen=True)
class Cost:
    """Of one block."""

    luts: int  # of logic and of distributed RAM
    ram_luts: int
    flip_flops: int
    ramb36: float
    levels: int  # LUTs of the longest path from a register or block RAM to another
    path_from: str
    path_to: str
    cells: dict[str, int]


def estimate(top: str, parameters: dict[str, int] | None = None) -> Cost:
    """Synthesises it, which takes a minute or two."""
    root = need_source_tree("synthesising the hardware")
    python = build.tools() / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "netlist.json"
        command = [str(python), str(root / "rtl" / "synth" / "synthesize.py"), top, str(out)]
        command += [f"{name}={value}" for name, value in sorted((parameters or {}).items())]
        command += [
            str(path)
            for path in build.sources(root)
            if path.stem not in ("phy_model", "paper_wire", "remote_pair", "paper_pair", "remote_figure4")
        ]
        result = subprocess.run(command, cwd=root, env=build.environment(), capture_output=True, text=True)
        if result.returncode != 0 or not out.exists():
            raise SystemFails(f"synthesis of {top} fails: {(result.stdout + result.stderr).strip()[-1500:]}")
        netlist = json.loads(out.read_text())
    return cost(netlist["modules"][top])


def cost(module: dict[str, Any]) -> Cost:
    """Counts the cells of a flat module of Yosys' JSON, and the LUTs of its longest path."""
    cells: dict[str, int] = {}
    for cell in module["cells"].values():
        cells[cell["type"]] = cells.get(cell["type"], 0) + 1
    ram = sum(luts * cells.get(name, 0) for name, luts in RAM_LUTS.items())
    unknown = [
        name
        for name in cells
        if name.startswith("RAM") and name not in RAM_LUTS and not name.startswith("RAMB")
    ]
    if unknown:
        raise SystemFails(f"cells whose LUTs are not known: {', '.join(unknown)}")
    levels, first, last = longest_path(module)
    return Cost(
        luts=sum(count for name, count in cells.items() if name.startswith("LUT")) + ram,
        ram_luts=ram,
        flip_flops=sum(count for name, count in cells.items() if name in ("FDRE", "FDSE", "FDCE", "FDPE")),
        ramb36=cells.get("RAMB36E2", 0) + cells.get("RAMB18E2", 0) / 2,
        levels=levels,
        path_from=first,
        path_to=last,
        cells=dict(sorted(cells.items())),
    )


def longest_path(module: dict[str, Any]) -> tuple[int, str, str]:
    """LUT levels, where the path begins and where it ends; a read of distributed RAM is a level."""
    names: dict[int, str] = {}
    for name, net in sorted(
        module["netnames"].items(), key=lambda item: (item[1].get("hide_name", 0), item[0])
    ):
        for place, bit in enumerate(net["bits"]):
            names.setdefault(bit, f"{name}[{place}]")
    driver: dict[
        int, tuple[int, list[int]]
    ] = {}  # of a net: the levels of its cell, and the nets it depends on
    ends: list[int] = []
    for cell in module["cells"].values():
        kind = cell["type"]
        inputs = [
            bit
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "input"
            for bit in bits
        ]
        inputs = [bit for bit in inputs if isinstance(bit, int)]
        outputs = [
            bit
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "output"
            for bit in bits
        ]
        if kind.startswith("LUT") or kind in FREE:
            for bit in outputs:
                driver[bit] = (int(kind.startswith("LUT")), inputs)
        elif kind in RAM_LUTS:
            read = [
                bit
                for port, bits in cell["connections"].items()
                if port.rstrip("0123456789") in RAM_READ_ADDRESS
                for bit in bits
                if isinstance(bit, int)
            ]
            for bit in outputs:
                driver[bit] = (1, read)
            ends += inputs
        else:
            ends += inputs
    depth: dict[int, tuple[int, int]] = {}  # of a net: its levels, and where its longest path begins
    for end in ends:
        work = [end]
        while work:
            bit = work[-1]
            if bit in depth:
                work.pop()
            elif bit not in driver:
                depth[bit] = (0, bit)
                work.pop()
            else:
                own, before = driver[bit]
                missing = [b for b in before if b not in depth]
                if missing:
                    work += missing
                    if len(work) > 10 * len(driver) + 10:
                        raise SystemFails("the netlist has a combinational loop")
                else:
                    most = max((depth[b] for b in before), default=(0, bit))
                    depth[bit] = (most[0] + own, most[1])
                    work.pop()
    if not ends:
        return 0, "", ""
    last = max(ends, key=lambda bit: depth[bit][0])
    return depth[last][0], names.get(depth[last][1], "?"), names.get(last, "?")
