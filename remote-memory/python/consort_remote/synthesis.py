# SPDX-License-Identifier: Apache-2.0
"""The cost of a block of rtl/ in an UltraScale+ device, estimated from the cells that Yosys maps it to.

Not place and route: LUTs are counted before any are merged or packed in pairs, and a path's length is its
number of LUTs, carry chains and wide multiplexers counted as nothing (they are shown beside it). Of a clock
only what the cells on the slowest path take is said, by the tool's delays; wires are not. A clock with wires,
of another device, is `consort_remote_bench.place_and_route`'s.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from consort.base.children import finished
from consort.base.errors import SystemFails
from consort.base.owned import temporary_folder

from consort_remote import build
from consort_remote.source import need_folder

# LUTs that a cell of distributed RAM takes: a slice's eight, or the two of a bit with two ports.
RAM_LUTS = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM64X1D": 2,
    "RAM32X1D": 2,
    "RAM64X1S": 1,
    "RAM32X1S": 1,
}
# Cells that a path goes through; all other cells end one and begin another.
CARRY = ("CARRY4", "CARRY8")
FREE = (*CARRY, "MUXF7", "MUXF8", "MUXF9", "INV")


@dataclass(frozen=True)
class Longest:
    """The longest path into some signal."""

    levels: int  # LUTs, and reads of distributed RAM
    others: int  # carry chains and wide multiplexers on it, each cell of a chain for itself
    start: str
    end: str
    through: tuple[str, ...]  # the cells with their signals, where those have names


@dataclass(frozen=True)
class Cost:
    """The cost of one block."""

    luts: int  # of logic and of distributed RAM
    ram_luts: int
    flip_flops: int
    ramb36: float
    paths: tuple[Longest, ...]  # of each signal the longest, the longest of all first
    cells: dict[str, int]
    cell_delay_ps: int | None = None  # of the slowest path, without wires; None of a netlist alone

    @property
    def levels(self) -> int:
        """LUTs of the longest path."""
        return self.paths[0].levels if self.paths else 0

    def paths_of_most_levels(self, count: int) -> list[dict[str, Any]]:
        """So many of them, each into another signal, for a report."""
        return [asdict(path) for path in self.paths[:count]]


# The mapper asked to make every path as short in LUTs as it can, and the tool as it is by default.
FEWEST_LEVELS, DEFAULT = "fewest-levels", "default"
# To the cells of a Lattice ECP5, for which there is an open placer and router.
ECP5 = "ecp5"


@contextlib.contextmanager
def netlist(top: str, parameters: dict[str, int] | None, flow: str) -> Iterator[Path]:
    """The cells that Yosys maps a block to, as its JSON, as long as the caller uses them."""
    root = need_folder("synthesising the hardware")
    python = build.tools() / "bin" / "python"
    with temporary_folder("netlist") as folder:
        out = Path(folder) / "netlist.json"
        command = [str(python), str(root / "rtl" / "synth" / "synthesize.py"), flow, top, str(out)]
        command += [f"{name}={value}" for name, value in sorted((parameters or {}).items())]
        command += map(str, build.synthesised(root))
        result = finished(command, cwd=root, env=build.environment())
        if result.returncode != 0 or not out.exists():
            raise SystemFails(f"synthesis of {top} fails: {(result.stdout + result.stderr).strip()[-1500:]}")
        yield out


def estimate(top: str, parameters: dict[str, int] | None = None, flow: str = FEWEST_LEVELS) -> Cost:
    """Synthesises it, which takes a minute or two."""
    with netlist(top, parameters, flow) as out:
        found = json.loads(out.read_text())
        timing = out.with_name(out.name + ".sta").read_text()
    latest = re.search(r"Latest arrival time in '\w+' is (\d+)", timing)
    if latest is None:
        raise SystemFails(f"synthesis of {top} says no delay of its slowest path: {timing.strip()[-500:]}")
    return replace(cost(found["modules"][top]), cell_delay_ps=int(latest[1]))


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
    return Cost(
        luts=sum(count for name, count in cells.items() if name.startswith("LUT")) + ram,
        ram_luts=ram,
        flip_flops=sum(count for name, count in cells.items() if name in ("FDRE", "FDSE", "FDCE", "FDPE")),
        ramb36=cells.get("RAMB36E2", 0) + cells.get("RAMB18E2", 0) / 2,
        paths=tuple(longest_paths(module)),
        cells=dict(sorted(cells.items())),
    )


def longest_paths(module: dict[str, Any]) -> list[Longest]:
    """The longest path into each signal that registers, memories or the block's outputs hold.

    A path begins at a register, a block RAM or an input of the block. A read of distributed RAM is a level.
    """
    names = net_names(module)
    arcs: dict[int, tuple[str, list[int]]] = {}  # of a net: the kind of its cell, and the nets it depends on
    ends: list[tuple[int, str]] = []  # a net, and the signal that it ends in
    for name, port in module["ports"].items():
        if port["direction"] != "input":
            ends += [(bit, name) for bit in port["bits"] if isinstance(bit, int)]
    for label, cell in module["cells"].items():
        kind = cell["type"]
        pins = {
            port: [bit for bit in bits if isinstance(bit, int)] for port, bits in cell["connections"].items()
        }
        outputs = [port for port in pins if cell["port_directions"][port] == "output"]
        inputs = [port for port in pins if cell["port_directions"][port] == "input"]
        through = kind.startswith("LUT") or kind in FREE
        if through or kind in RAM_LUTS:
            for port in outputs:
                for place, bit in enumerate(cell["connections"][port]):
                    if isinstance(bit, int):
                        arcs[bit] = (kind, inputs_of(kind, port, place, cell["connections"]))
        if not through:
            what = signal(label)
            ends += [(bit, what) for port in inputs for bit in pins[port]]
    depth = depths(arcs, [bit for bit, _ in ends])
    longest: dict[str, int] = {}
    for bit, what in ends:
        if what not in longest or depth[bit][:2] > depth[longest[what]][:2]:
            longest[what] = bit
    found = []
    for what, bit in longest.items():
        levels, others, _ = depth[bit]
        through_cells = []
        while bit in arcs and depth[bit][2] is not None:
            through_cells.append(f"{arcs[bit][0]} {names.get(bit, '')}".rstrip())
            bit = depth[bit][2]
        found.append(Longest(levels, others, names.get(bit, "?"), what, tuple(reversed(through_cells))))
    return sorted(found, key=lambda path: (-path.levels, -path.others, path.end))


def net_names(module: dict[str, Any]) -> dict[int, str]:
    """The register, memory or port that drives each net, or else its shortest name in the source."""
    names: dict[int, str] = {}
    for name, port in module["ports"].items():
        for place, bit in enumerate(port["bits"]):
            names[bit] = f"{name}[{place}]" if len(port["bits"]) > 1 else name
    for label, cell in module["cells"].items():
        if cell["type"].startswith(("FD", "RAM")):
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    names |= dict.fromkeys(bits, label.split("\\")[0])
    nets = module["netnames"].items()
    for name, net in sorted(nets, key=lambda item: (len(item[0]), item[0])):
        if "$" not in name:
            for place, bit in enumerate(net["bits"]):
                names.setdefault(bit, f"{name}[{place}]")
    return names


def signal(name: str) -> str:
    """The signal of a register's bit or a memory's slice."""
    return re.sub(r"(\[\d+\]|\.\d+\.\d+(\..*)?)$", "", name.split("\\")[0])


def inputs_of(kind: str, port: str, place: int, pins: dict[str, list[Any]]) -> list[int]:
    """The nets that one output of a cell depends on without a clock."""

    def chosen() -> Iterator[Any]:
        if kind in CARRY:
            # Bit n of a sum depends on what is below it; its carry on its own inputs too.
            below = place + 1
            yield from pins.get("CI", []) + pins.get("CYINIT", []) + pins.get("CI_TOP", [])
            yield from pins.get("S", [])[:below] + pins.get("DI", [])[: below - (port == "O")]
        elif kind in RAM_LUTS:
            # Each output has an address of its own; the one for writing is that of SPO and O.
            address = {"DPO": "DPRA", "SPO": "A", "O": "A"}.get(port) or "ADDR" + port[2:]
            for name, bits in pins.items():
                if name.rstrip("0123456789") == address:
                    yield from bits
        else:
            for name, bits in pins.items():
                if name != port:
                    yield from bits

    return [bit for bit in chosen() if isinstance(bit, int)]


def depths(arcs: dict[int, tuple[str, list[int]]], ends: list[int]) -> dict[int, tuple[int, int, int | None]]:
    """Levels, other cells, and the net before it on its longest path, for each net before these ends."""
    depth: dict[int, tuple[int, int, int | None]] = {}
    for end in ends:
        work = [end]
        while work:
            bit = work[-1]
            if bit in depth:
                work.pop()
                continue
            kind, before = arcs.get(bit, ("", []))
            missing = [b for b in before if b not in depth]
            if missing:
                work += missing
                if len(work) > 10 * len(arcs) + 10:
                    raise SystemFails("the netlist has a combinational loop")
                continue
            work.pop()
            if not before:
                depth[bit] = (0, 0, None)
                continue
            last = max(before, key=lambda b: depth[b][:2])
            free = kind in FREE and kind != "INV"
            depth[bit] = (depth[last][0] + (kind not in FREE), depth[last][1] + free, last)
    return depth
