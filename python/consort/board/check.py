# SPDX-License-Identifier: Apache-2.0
"""Checks a board against its folder: each core runs, keeps its time, and counted runs repeat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from consort.base.waiting import Progress
from consort.board.description import BoardSpec
from consort.board.image import build_image, program_source
from consort.board.session import Board

PROGRAM = "identity"
# Results of the program identity.
CORE_ID, TICKS_PER_SECOND, CLOCK_READS, ON_CHIP = range(4)


@dataclass(frozen=True)
class CoreCheck:
    """The result for one core; `problems` is empty if all is as its board.yaml says."""

    core: str
    title: str
    core_id: int
    ticks_per_second: int
    clock_reads_ticks: int
    """Ticks of 1,000 readings of the clock, where time is instructions executed."""
    on_chip_bytes: int
    """The part of the on-chip memory that was written and read back."""
    problems: tuple[str, ...]


def check_board(spec: BoardSpec, progress: Progress) -> list[CoreCheck]:
    """Builds a program for every core, runs it twice in counted time, and compares.

    `BadInput` where an image cannot be built, `EnvironmentLacks` where a tool is missing, `SystemFails` where
    a core does not come up or says itself what is wrong.
    """
    images: dict[str, Path] = {}
    for number, core in enumerate(spec.cores):
        progress(f"building for {core.title}", number / (len(spec.cores) + 2))
        images[core.name] = build_image(core, program_source(PROGRAM))
    runs = []
    for again in range(2):
        progress("running", (len(spec.cores) + again) / (len(spec.cores) + 2))
        runs.append(_results(spec, images))
    first, second = runs
    found = []
    for core in spec.cores:
        results = first[core.name]
        problems = []
        if results[TICKS_PER_SECOND] != core.clock.hertz:
            problems.append(
                f"its clock has {results[TICKS_PER_SECOND]} ticks a second,"
                f" board.yaml says {core.clock.hertz}"
            )
        if results != second[core.name]:
            problems.append("a second counted run gave other figures: time is not instructions alone")
        found.append(
            CoreCheck(
                core.name,
                core.title,
                results[CORE_ID],
                results[TICKS_PER_SECOND],
                results[CLOCK_READS],
                results[ON_CHIP],
                tuple(problems),
            )
        )
    return found


def _results(spec: BoardSpec, images: dict[str, Path]) -> dict[str, tuple[int, ...]]:
    orders = {core.place: (1, ()) for core in spec.cores}
    with Board(spec, images, orders=orders, counted=True) as up:
        up.wait([core.place for core in spec.cores])
        return {core.name: tuple(up.control_blocks[core.place].results[: ON_CHIP + 1]) for core in spec.cores}
