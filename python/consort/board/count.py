# SPDX-License-Identifier: Apache-2.0
"""Instructions that each emulated core counts, beside stored figures; and a board held against its folder."""

from __future__ import annotations

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import BadInput
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import STANDSTILL_S, Progress
from consort.board.boards import all_boards
from consort.board.description import BoardSpec, CoreSpec
from consort.board.image import build_image, program_source
from consort.board.session import Board

# In the order of the counted program's results, behind the empty call.
OPERATIONS = (
    "step f32",
    "step q31",
    "step dense f32",
    "mailbox write and read, 8 B",
    "mailbox write and read, 48 B",
    "mailbox write and read, 256 B",
    "mailbox write and read, 1024 B",
    "master's cycle, f32",
)
CALLS = 1000
# A change above this share is reported.
ALLOWED = 0.02
FIELDS = ("core", "operation", "instructions", "compiler")


def missing_tools(spec: BoardSpec) -> list[str]:
    """The Debian packages of a board's compilers and emulator that are not here."""
    wanted = {core.compiler: core.package for core in spec.cores}
    wanted[spec.emulator.program] = spec.emulator.package
    return sorted({package for tool, package in wanted.items() if shutil.which(tool) is None})


@dataclass(frozen=True)
class Count:
    """Instructions of one operation on one core, of a call without what the loop around it takes."""

    core: str
    operation: str
    instructions: int
    compiler: str


def compiler_version(core: CoreSpec) -> str:
    done = finished([core.compiler, "-dumpfullversion"], check=True)
    return f"{core.compiler} {done.stdout.strip()}"


def count(*, seconds: float = STANDSTILL_S) -> list[Count]:
    """Counts on every kind of core of the boards whose tools are here, on the first that has one.

    Cores are of one kind where one compiler makes the same code for them.
    """
    root = need_source_tree("counting instructions")
    source = root / "examples" / "servo" / "bench" / "board_count.cpp"
    found = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for board in (spec for spec in all_boards() if not missing_tools(spec)):
        for core in board.cores:
            kind = (core.compiler, tuple(flag for flag in core.flags if not flag.startswith("-D")))
            if kind in seen:
                continue
            seen.add(kind)
            images = {c.name: build_image(c, source) for c in board.with_images([core.name])}
            orders = {c.place: (int(c is core), ()) for c in board.cores if c.name in images}
            with Board(board, images, orders=orders, counted=True) as up:
                # One counter for all cores: the others must have come to rest.
                up.wait([core.place], seconds)
                empty, *totals = up.control_blocks[core.place].results[: len(OPERATIONS) + 1]
            version = compiler_version(core)
            found += [
                Count(core.title, operation, round((total - empty) / CALLS), version)
                for operation, total in zip(OPERATIONS, totals, strict=True)
            ]
    return found


def stored_file() -> Path:
    return need_source_tree("comparing counts") / "examples" / "servo" / "bench" / "counted.csv"


def load(path: Path) -> list[Count]:
    """Counts stored earlier."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        return [Count(r["core"], r["operation"], int(r["instructions"]), r["compiler"]) for r in rows]
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", file=path) from error
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a table of counts: {error!r}; write it with --store", file=path) from error


def store(counts: list[Count], path: Path, command: str = "consort board count --store") -> None:
    """Writes what `load` reads; `command` is what made it."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(f"# Instructions a call, counted by QEMU: {command}. Provenance: counted.\n")
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            writer.writerows((c.core, c.operation, c.instructions, c.compiler) for c in counts)
    except OSError as error:
        raise BadInput(f"cannot be written ({error.strerror})", file=path) from error


def changes(counts: list[Count], before: list[Count]) -> list[str]:
    """Differences of over 2 % from the stored counts of the same compiler, a sentence each."""
    known = {(c.core, c.operation): c for c in before}
    cores = {c.core for c in before}
    said = []
    # A core without stored counts has nothing to compare with.
    for now in (c for c in counts if c.core in cores):
        old = known.get((now.core, now.operation))
        if old is None:
            said.append(f"{now.core}: {now.operation}: nothing is stored")
        elif old.compiler == now.compiler and abs(now.instructions - old.instructions) > ALLOWED * max(
            old.instructions, 1
        ):
            change = 100 * (now.instructions / max(old.instructions, 1) - 1)
            said.append(
                f"{now.core}: {now.operation}: {now.instructions} instructions, stored {old.instructions}"
                f" ({change:+.1f} %)"
            )
    return said


def missing(counts: list[Count], before: list[Count]) -> list[str]:
    """Operations with a stored count and no new one, a sentence each."""
    here = {(c.core, c.operation) for c in counts}
    return [f"{c.core}: {c.operation}: not counted" for c in before if (c.core, c.operation) not in here]


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
