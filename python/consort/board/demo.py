# SPDX-License-Identifier: Apache-2.0
"""All boards once: the servo with a microcontroller as master, three instruction sets at once, RT Linux.

One run folder and one report; each configuration is a system of examples/servo, each row of the table a pair.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.board.application import prepare_board, record_raw
from consort.board.boards import board_named
from consort.board.exchange import SIZES, Exchange, Pair, exchange, pair
from consort.model import load_system
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.runner.process import environment_errors
from consort.source import need_source_tree


@dataclass(frozen=True)
class Part:
    """One configuration: a system of examples/servo."""

    key: str
    title: str
    system: str
    rt_linux: bool = False


PARTS = (
    Part("r5f-a72", "master Cortex-R5F, worker Cortex-A72, bare metal", "versal"),
    Part("r5f-a72-linux", "master Cortex-R5F, worker Cortex-A72 under PREEMPT_RT Linux", "versal", True),
    Part("m4f-armv7", "master Cortex-M4F, worker an ARMv7 process", "stm32mp157"),
    Part("r5f-x86", "master Cortex-R5F, worker an x86 process", "embedded-plus"),
)
# What runs at once, and on what.
EXCHANGES: tuple[tuple[str, tuple[Pair, ...], bool], ...] = (
    ("versal", (pair("r5f", "a72"),), True),
    ("versal", (pair("r5f", "a72", on_chip=True),), True),
    ("versal", (pair("a72", "x86-64"), pair("r5f", "x86-64")), False),
    ("mps2", (pair("m4f", "armv7"),), False),
)
PERCENTILES = (50, 99, 99.9)


@environment_errors()
def demo(jobs: int, messages: int, root: Path | None, command: list[str], progress: Progress) -> Run:
    """Runs everything and records it; the run's verdict says whether all of it held."""
    servo = need_source_tree("the boards' demo") / "examples" / "servo"
    with RunWriter("boards", "application", root, command=command, source=servo) as writer:
        for part in PARTS:
            progress(part.title, None)
            with tempfile.TemporaryDirectory(prefix="consort-board-") as folder:
                system = load_system(servo / f"{part.system}.yaml")
                run = prepare_board(system, progress, rt_linux=part.rt_linux)
                record_raw(run, Path(folder), jobs, counted=run.where.on_board)
                writer.add_configuration(part.key, part.title, RawRun.load(folder))
        rows: list[list[Any]] = []
        for board, pairs, counted in EXCHANGES:
            found = exchange(board_named(board), pairs, messages, counted=counted)
            for who, one in zip(pairs, found, strict=True):
                rows.append(_row(who, one, counted))
        for provenance in ("counted", "emulated"):
            writer.add_section(
                f"Messages of 0 to 1024 bytes, content checked: round trips, {provenance}",
                columns=[
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


def _row(who: Pair, one: Exchange, counted: bool) -> list[Any]:
    trips = {row["bytes"]: row for row in one.round_trips()}
    figures = [
        None if (ns := trips[size][name]) is None else round(ns / 1000, 3)
        for size in (SIZES[4], SIZES[-1])
        for name in ("p50_ns", "p99_ns", "p999_ns")
    ]
    memory = "OCM" if who.on_chip else "DDR"
    kind = "counted" if counted else "emulated"
    return [kind, who.asker.name, who.answerer.name, memory, one.messages, *figures]


def table(run: Run) -> list[str]:
    """What the demo prints: a line for each configuration and for each pair."""
    lines = [f"{'servo':<62}{'jobs':>7}{'wrong':>7}{'missed':>8}  response median / p99 [us]"]
    for c in run.data["configurations"]:
        response = c["summary"]["response"]
        lines.append(
            f"{c['name']:<62}{c['jobs']['jobs']:>7}{c['jobs']['output_errors']:>7}"
            f"{c['jobs']['deadline_misses']:>8}"
            f"  {response['median'] / 1000:.3f} / {response['p99'] / 1000:.3f} {response['provenance']}"
        )
    for section in run.data["sections"]:
        lines += ["", section["title"] + " [us]"]
        heads = [column["name"] for column in section["columns"]]
        lines.append("".join(f"{head:>15}" for head in heads))
        lines += ["".join(f"{'' if cell is None else cell:>15}" for cell in row) for row in section["rows"]]
    return lines
