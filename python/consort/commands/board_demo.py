# SPDX-License-Identifier: Apache-2.0
"""All boards once: the servo with a microcontroller as master, several instruction sets at once, RT Linux.

Beside it the drive's control loop with its arm on bare cores. One run folder and one report; each
configuration is a system of these examples whose platform is emulated, each row of the table a pair that a
board.yaml lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.errors import environment_errors
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import Progress
from consort.board.application import prepare_board
from consort.board.boards import all_boards
from consort.board.description import BoardSpec
from consort.board.exchange import SIZES, Exchange, Pair, exchange, pair_of
from consort.board.placement import Placement, board_of, is_emulated, placement
from consort.model import BadDescription, System, load_system
from consort.record import Run, RunWriter
from consort.report import PAGES
from consort.run.flow import record_configuration
from consort.run.options import Options


@dataclass(frozen=True)
class Part:
    """One configuration: a system, and whether the worker's core runs Linux."""

    system: System
    where: Placement

    @property
    def rt_linux(self) -> bool:
        return self.where.linux_core is not None

    @property
    def key(self) -> str:
        sides = self._sides(self.where.masters) + self._sides(self.where.workers)
        return "-".join([self._example, self._board, *sides])

    @property
    def title(self) -> str:
        masters, workers = (
            ", ".join(map(self._title, self._sides(names)))
            for names in (self.where.masters, self.where.workers)
        )
        name = f"{self._example} on {self._board}"
        return f"{name}: master {masters}, worker {workers}" if workers else f"{name}: {masters}"

    @property
    def _example(self) -> str:
        return self.system.file.parent.name

    @property
    def _board(self) -> str:
        return board_of(self.system).name

    def _sides(self, cores: list[str]) -> list[str]:
        return [self.where.sides[core] for core in cores]

    def _title(self, side: str) -> str:
        spec = self.where.board
        if spec.linux is not None and side == spec.linux_side:
            return f"{spec.core(spec.linux.core).title} under PREEMPT_RT Linux"
        return spec.core(side).title if side in spec.named_cores else f"process ({side})"


def parts(folder: Path) -> Iterator[Part]:
    """The systems of a folder that emulated boards stand for, on each target, and with Linux where it can."""
    for file in sorted(folder.glob("*.yaml")):
        # Other data of an example lies beside its systems.
        if "\nplatform:" not in file.read_text(encoding="utf-8"):
            continue
        described = load_system(file)
        for system in (described, *(load_system(file, on) for on in described.targets)):
            if is_emulated(system):
                yield from _parts_of(system)


def _parts_of(system: System) -> Iterator[Part]:
    where = placement(system)
    yield Part(system, where)
    linux = where.board.linux
    if linux is not None and linux.core in [where.sides[name] for name in where.workers]:
        try:
            beside = placement(system, rt_linux=True)
        except BadDescription:
            # Such as one with a plant: beside Linux a run has no time of its own.
            return
        yield Part(system, beside)


def exchanges(spec: BoardSpec) -> Iterator[tuple[list[Pair], bool]]:
    """The pairs of a board, and whether they are counted: those on the board one by one, and as many with
    processes at once as there are cores for."""
    pairs = [pair_of(given) for given in spec.exchanges]
    on_board = [p for p in pairs if {p.asker.name, p.answerer.name} <= spec.named_cores.keys()]
    yield from (([one], True) for one in on_board)
    waiting = [
        p for p in pairs if p not in on_board and spec.linux_side not in (p.asker.name, p.answerer.name)
    ]
    while waiting:
        taken: list[Pair] = []
        for one in waiting:
            busy = {side.name for p in taken for side in (p.asker, p.answerer)} & spec.named_cores.keys()
            if not busy & {one.asker.name, one.answerer.name}:
                taken.append(one)
        yield taken, False
        waiting = [p for p in waiting if p not in taken]


PERCENTILES = (50, 99, 99.9)


@environment_errors()
def demo(jobs: int, messages: int, root: Path | None, command: list[str], progress: Progress) -> Run:
    """Runs everything and records it; the run's verdict says whether all of it held."""
    examples = need_source_tree("the boards' demo") / "examples"
    servo = examples / "servo"
    with RunWriter("boards", "application", root, command=command, source=servo, pages=PAGES) as writer:
        for part in (*parts(servo), *parts(examples / "drive")):
            progress(part.title, None)
            options = Options(target="board", iterations=jobs, rt_linux=part.rt_linux, root=root)
            run = prepare_board(part.system, progress, options)
            record_configuration(run, run.key, options, writer, progress, entry=part.key, title=part.title)
        rows: list[list[Any]] = []
        for spec in all_boards():
            for pairs, counted in exchanges(spec):
                found = exchange(spec, pairs, messages, counted=counted)
                for who, one in zip(pairs, found, strict=True):
                    rows.append(_row(spec, who, one, counted))
        for provenance in ("counted", "emulated"):
            writer.add_section(
                f"Messages of 0 to 1024 bytes, content checked: round trips, {provenance}",
                columns=[
                    {"name": "board"},
                    {"name": "asks"},
                    {"name": "answers"},
                    {"name": "memory"},
                    {"name": "messages"},
                    *(
                        {"name": f"p{p:g}, {size} B", "unit": "us", "provenance": provenance}
                        for size in (SIZES[4], SIZES[-1])
                        for p in PERCENTILES
                    ),
                ],
                rows=[row for kind, *row in rows if kind == provenance],
                note="Round trips of an emulator: no cache, no bus, no memory order of a part. A quantile"
                " that would be the largest sample is left out.",
            )
        return writer.finish()


def _row(spec: BoardSpec, who: Pair, one: Exchange, counted: bool) -> list[Any]:
    trips = {row["bytes"]: row for row in one.round_trips()}
    figures = [
        None if (ns := trips[size][name]) is None else round(ns / 1000, 3)
        for size in (SIZES[4], SIZES[-1])
        for name in ("p50_ns", "p99_ns", "p999_ns")
    ]
    memory = "OCM" if who.on_chip else "DDR"
    kind = "counted" if counted else "emulated"
    return [kind, spec.name, who.asker.name, who.answerer.name, memory, one.messages, *figures]


def table(run: Run) -> list[str]:
    """The demo's output: a line for each configuration and for each pair."""
    lines = [f"{'system':<68}{'jobs':>7}{'wrong':>7}{'missed':>8}  response median / p99 [us]"]
    for c in run.data["configurations"]:
        response = next(v for k, v in c["summary"].items() if k.endswith(".response"))
        lines.append(
            f"{c['name']:<68}{c['jobs']['jobs']:>7}{c['jobs']['output_errors']:>7}"
            f"{c['jobs']['deadline_misses']:>8}"
            f"  {response['median'] / 1000:.3f} / {response['p99'] / 1000:.3f} {response['provenance']}"
        )
    for section in run.data["sections"]:
        lines += ["", section["title"] + " [us]"]
        heads = [column["name"] for column in section["columns"]]
        lines.append("".join(f"{head:>15}" for head in heads))
        lines += ["".join(f"{'' if cell is None else cell:>15}" for cell in row) for row in section["rows"]]
    return lines
