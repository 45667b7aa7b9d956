# SPDX-License-Identifier: Apache-2.0
"""Messages between two processors of which at least one is on a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput, SystemFails
from consort.base.toolchain.compiler import PROCESSES
from consort.base.waiting import STANDSTILL_S
from consort.board import rtlinux
from consort.board.description import FIRST_PROCESS, BoardSpec, ExchangeSpec
from consort.board.image import build_image, build_process, program_source
from consort.board.session import Board

SIZES = (0, 1, 4, 8, 16, 48, 64, 128, 256, 512, 1024)
# How a side reaches the shared memory, and what its build needs for that.
POLICIES: dict[str, tuple[str, ...]] = {
    "system-barrier": (),
    "device": ("-DEXCHANGE_DEVICE",),
    "non-coherent": ("-DEXCHANGE_NON_COHERENT",),
    # The system barrier, in a region that a non-coherent side reaches too.
    "whole-lines": ("-DEXCHANGE_WHOLE_LINES",),
}
PROBE_BUILD = "-DEXCHANGE_PROBE"
MAKE, ASK, PROBE, WORK = 1, 2, 4, 8

# Behind the control blocks: a region for each pair; then the askers' logs of round trips.
REGION, REGION_BYTES = 0x10000, 0x10000
LOGS, LOG_BYTES = 0x100000, 0x100000
LINUX_SUFFIX = "-linux"


def size_of(number: NDArray[Any] | int) -> Any:
    """The payload's bytes of message `number` (as the program's index_of)."""
    mixed = (np.asarray(number, dtype=np.uint64) * 2654435761) & 0xFFFFFFFF
    return np.array(SIZES)[(mixed >> 16) % len(SIZES)]


@dataclass(frozen=True)
class Exchange:
    """The result of an exchange: round trips by the asker's clock, by message."""

    messages: int
    ticks: NDArray[np.uint32]
    ticks_per_second: int

    def nanoseconds(self) -> NDArray[np.float64]:
        return self.ticks.astype(np.float64) * (1e9 / self.ticks_per_second)

    def round_trips(self) -> list[dict[str, Any]]:
        """Quantiles of the logged round trips, a row for each size.

        No maximum, also not under another name: it would be the host's. A quantile stands for at least one
        sample above it (None else). The first round trip waits for the other side's start and is left out.
        """
        sizes = size_of(np.arange(2, len(self.ticks) + 1))
        times = self.nanoseconds()[1:]
        rows = []
        for size in SIZES:
            of_size = np.sort(times[sizes == size])
            n = len(of_size)
            row: dict[str, Any] = {"bytes": size, "n": n}
            for name, above in (("p50_ns", 2), ("p99_ns", 100), ("p999_ns", 1000)):
                at = -(-n * (above - 1) // above) - 1
                row[name] = float(of_size[at]) if 0 <= at < n - 1 else None
            rows.append(row)
        return [row for row in rows if row["n"]]


@dataclass(frozen=True)
class Side:
    """One side: a core of the board, or a process of this machine; `flags` change its build."""

    name: str
    policy: str = "system-barrier"
    flags: tuple[str, ...] = ()

    @property
    def build_flags(self) -> tuple[str, ...]:
        return (*POLICIES[self.policy], *self.flags)


@dataclass(frozen=True)
class Pair:
    """An asker and an answerer, the memory between them, the region's maker, and the spoiled message (0:
    none)."""

    asker: Side
    answerer: Side
    on_chip: bool = False
    answerer_makes: bool = False
    spoil: int = 0


def pair(asker: str, answerer: str, policy: str = "system-barrier", **options: Any) -> Pair:
    """A pair of processors by name; processes always use the system barrier.

    Beside a non-coherent side they keep to layouts in which each line has one writer.
    """
    process = "whole-lines" if policy == "non-coherent" else "system-barrier"

    def side(name: str) -> Side:
        if name.endswith(LINUX_SUFFIX):
            # Memory that is held back from Linux is device memory to its processes.
            return Side(name, "device")
        return Side(name, process if name in PROCESSES else policy)

    return Pair(side(asker), side(answerer), **options)


def pair_of(given: ExchangeSpec) -> Pair:
    """A pair that a board.yaml lists."""
    return pair(given.asker, given.answerer, on_chip=given.on_chip)


class Arena:
    """A board and the processes beside it, with the sides that take part."""

    def __init__(self, spec: BoardSpec, sides: Sequence[Side], *, source: str = "exchange") -> None:
        on_linux = any(side.name == spec.linux_side for side in sides)
        self.spec = rtlinux.with_linux(spec) if on_linux else spec
        self.linux: Callable[[Path], rtlinux.LinuxBoot] | None = None
        self.sides = sides
        self._source = program_source(source)
        cores = {core.name: core for core in spec.cores}
        self.places: list[int] = []
        self.commands: dict[int, list[str]] = {}
        flags = {side.name: side.build_flags for side in sides}
        used = FIRST_PROCESS
        for side in sides:
            if side.name in cores:
                self.places.append(cores[side.name].place)
            elif spec.linux is not None and side.name == spec.linux_side:
                self.places.append(cores[spec.linux.core].place)
                self._boot(side)
            elif side.name in PROCESSES:
                self.commands[used] = build_process(PROCESSES[side.name], self._source, *side.build_flags)
                self.places.append(used)
                used += 1
            else:
                known = ", ".join([*cores, *filter(None, [spec.linux_side]), *PROCESSES])
                raise BadInput(
                    f"no processor '{side.name}' on or beside the board {spec.name}; there are {known}"
                )
        if len(set(self.places)) != len(self.places):
            raise BadInput("a core runs one program: it cannot be two sides")
        # Those by which others start always have an image; idle without a role.
        self.images: dict[str, Path] = {
            core.name: build_image(core, self._source, *flags.get(core.name, ()))
            for core in spec.with_images([name for name in flags if name in cores])
            if core.name in flags or self.linux is None
        }

    def _boot(self, side: Side) -> None:
        program = rtlinux.program(self.spec, self._source, *side.build_flags)
        place = self.places[-1]
        self.linux = lambda folder: rtlinux.boot(self.spec, program, place, folder)

    def board(
        self,
        orders: dict[int, tuple[int, Sequence[int]]],
        *,
        counted: bool = False,
        threads: bool | None = None,
    ) -> Board:
        idle = {core.place: (0, ()) for core in self.spec.cores if core.starts}
        return Board(
            self.spec,
            self.images,
            orders={**idle, **orders},
            counted=counted,
            linux=self.linux,
            threads=threads,
            names=dict(zip(self.places, (side.name for side in self.sides), strict=True)),
        )

    def start_processes(self, board: Board) -> None:
        if self.linux is not None:
            board.release_beside_linux()
        for place, command in self.commands.items():
            board.start_process(command, place)


def on_chip_sides(spec: BoardSpec) -> list[str]:
    """Sides that reach on-chip memory: it is not in the board's memory file."""
    return [core.name for core in spec.cores] if "on_chip" in spec.memory else []


def exchange(
    spec: BoardSpec,
    pairs: Sequence[Pair],
    messages: int,
    *,
    counted: bool = False,
    seconds: float = STANDSTILL_S,
    threads: bool | None = None,
) -> list[Exchange]:
    """Runs the pairs at once; `SystemFails` if a content is wrong, a side refuses, or the board dies.

    `seconds`: how long no message may move. `threads`: as `Board` has it.
    """
    for each in pairs:
        outside = [side.name for side in (each.asker, each.answerer) if side.name not in on_chip_sides(spec)]
        if each.on_chip and outside:
            raise BadInput(f"{outside[0]} does not reach the on-chip memory; the board's bare-metal cores do")
    arena = Arena(spec, [side for pair in pairs for side in (pair.asker, pair.answerer)])
    places = list(zip(arena.places[::2], arena.places[1::2], strict=True))
    entries = min(messages, LOG_BYTES // 4)
    orders: dict[int, tuple[int, Sequence[int]]] = {}
    for i, (each, (asker, answerer)) in enumerate(zip(pairs, places, strict=True)):
        # On-chip memory has room for one region a pair as well.
        offset = i * REGION_BYTES + (0 if each.on_chip else REGION)
        where = [int(each.on_chip), offset, REGION_BYTES, messages]
        rest = [each.spoil, LOGS + i * LOG_BYTES, entries]
        makes = (0, MAKE) if each.answerer_makes else (MAKE, 0)
        orders[asker] = (WORK | ASK | makes[0], [*where, *rest])
        orders[answerer] = (WORK | makes[1], [*where, *rest])
    with arena.board(orders, counted=counted, threads=threads) as board:
        arena.start_processes(board)
        board.wait(arena.places, seconds)
        found = []
        for i, (asker, answerer) in enumerate(places):
            asked, answered = board.control_blocks[asker].results, board.control_blocks[answerer].results
            if asked[:3] != answered[:3] or asked[0] != messages:
                raise SystemFails(f"the sides disagree on what they exchanged: {asked[:3]}, {answered[:3]}")
            ticks = np.frombuffer(board.read(LOGS + i * LOG_BYTES, 4 * entries), dtype="<u4").copy()
            found.append(Exchange(messages, ticks, asked[3]))
        return found


def probe(spec: BoardSpec, maker: Side, other: Side, *, seconds: float = STANDSTILL_S) -> str:
    """The answer of `other` to a region that `maker` makes: empty if it attaches and opens, else the
    refusal."""
    arena = Arena(spec, [replace(side, flags=(*side.flags, PROBE_BUILD)) for side in (maker, other)])
    where = [0, REGION, REGION_BYTES, 0]
    orders: dict[int, tuple[int, Sequence[int]]] = {
        place: (WORK | PROBE | makes, [*where, 0, 0, 0])
        for place, makes in zip(arena.places, (MAKE, 0), strict=True)
    }
    with arena.board(orders) as board:
        arena.start_processes(board)
        try:
            board.wait(arena.places, seconds)
        except SystemFails:
            said = board.control_blocks[arena.places[1]].text
            if said:
                return said
            raise
        return ""
