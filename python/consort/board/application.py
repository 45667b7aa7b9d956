# SPDX-License-Identifier: Apache-2.0
"""Runs a plan on an emulated board: local tasks, and offloaded ones with workers on it and beside it.

The record is as of a run on this machine, in nanoseconds since each core's own first release, and is judged
as that is: outputs against golden ones or the same steps in logical order. With instruction counting (all
sides on the board) two runs give the same record to the tick. With a process or Linux beside the bare-metal
cores the run is untimed: its times are the emulator's, and no deadline or bound is judged.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.board import executive, programs
from consort.board.placement import Placement, placement
from consort.board.programs import Programs
from consort.board.qemu import find, version
from consort.errors import BadInput
from consort.judge import Expected, Verdict, judge
from consort.model import System
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.record.raw_writer import write_manifest, write_table
from consort.record.status import STATUS
from consort.report import PAGES
from consort.run.bounds import bounds_of
from consort.run.build import build_application, describe
from consort.run.collect import expected_outputs, golden_of
from consort.run.config import Placement as Cpus
from consort.run.config import run_config
from consort.run.process import environment_errors
from consort.run.rows import input_rows, write_rows

# The record's clock, and its reading at each core's first release: 0 means that a thing did not happen.
HERTZ, BEGIN = 10**9, 1000
STAMPS = ("release", "ready", "start", "sent", "worker_receive", "worker_send", "received", "loaded",
          "executed", "finish")  # fmt: skip


@dataclass(frozen=True)
class BoardRun:
    """What to run: programs, inputs, and what the outputs must be."""

    where: Placement
    programs: Programs
    # This machine's program of the plan: it knows the layouts, and computes the steps in logical order.
    replay: Path
    described: Mapping[str, Any]
    rows: Mapping[str, NDArray[Any]]
    expected: Mapping[str, Expected]

    @property
    def images(self) -> Mapping[str, Path]:
        return self.programs.images


@environment_errors()
def prepare_board(system: System, progress: Progress, *, rt_linux: bool = False) -> BoardRun:
    """Builds the programs and computes what the outputs must be."""
    where = placement(system, rt_linux=rt_linux)
    # A missing emulator is reported before anything is built.
    find(where.board.emulator)
    progress("building", None)
    replay = build_application(replace(where.plan, target="linux"))
    described = describe(replay)
    layouts = {task["name"]: task for task in described["tasks"]}
    rows = input_rows(where.plan, layouts)
    expected = golden_of(where.plan, layouts, rows, progress)
    return BoardRun(where, programs.build(where, progress), replay, described, rows, expected)


def record_raw(run: BoardRun, raw: Path, jobs: int, *, counted: bool, seconds: float = 600) -> None:
    """Runs the application once, for so many jobs of its first task, and writes its raw run folder."""
    plan = run.where.plan
    duration = jobs * next(iter(plan.tasks.values())).period_ps
    request = executive.Request(
        run.where, run.programs, run.described, run.rows, duration, counted=counted, begin=BEGIN
    )
    recorded = executive.run(request, seconds=seconds)
    data = write_rows(plan, run.rows, {}, raw)
    cpus = Cpus({}, None, shared=False)
    config = run_config(
        plan, cpus, data, run.described, configuration=f"{run.where.kind}-off", duration_ps=duration
    )
    (raw / "config.json").write_text(json.dumps(config), encoding="utf-8")
    _write(run, raw, recorded, config["record"], counted)


def _write(
    run: BoardRun, raw: Path, recorded: executive.Recorded, facts: Mapping[str, Any], counted: bool
) -> None:
    where = run.where
    layouts = {task["name"]: task for task in run.described["tasks"]}
    jobs = recorded.jobs[np.argsort(recorded.jobs["release"], kind="stable")]
    tables = [write_table(raw, "jobs", jobs, stamps=STAMPS, durations=("compute",))]
    if recorded.events.size:
        events = recorded.events[np.argsort(recorded.events["time"], kind="stable")]
        tables.append(write_table(raw, "events", events, stamps=("time",)))
    for number, name in enumerate(where.plan.tasks):
        if layouts[name]["out"]["bytes"]:
            tables.append(write_table(raw, f"outputs-{number}", recorded.outputs[name]))
    counters = {
        key: int(np.count_nonzero(jobs["status"] & STATUS[key]))
        for key in ("deadline_misses", "unserved", "outputs_held", "local_fallbacks")
    }
    counters |= {"jobs": len(jobs), "records_lost": recorded.lost, "worker_deaths": 0}
    counters |= {"preemptions": sum(recorded.preemptions.values())}
    write_manifest(
        raw,
        "board",
        tables,
        clock={
            "name": "nanoseconds since each core's first release",
            "ticks_per_second": float(HERTZ),
            "provenance": "counted" if counted else "emulated",
            "source": "one nanosecond for each instruction executed" if counted else "the emulator's clock",
        },
        config={
            **facts,
            "board": where.board.name,
            "sides": dict(where.sides),
            "emulator": version(find(where.board.emulator)),
            "start_tick": BEGIN,
        },
        counters=counters,
    )


def judged(run: BoardRun, raw: Path) -> tuple[RawRun, Verdict]:
    """A recording and what is to be thought of it. Of an untimed one no bound is judged."""
    line = [str(run.replay), "--config", str(raw / "config.json"), "--raw", str(raw), "--replay"]
    expected = expected_outputs(line, raw, run.where.plan, run.described, run.expected, run.where.title)
    record = RawRun.load(raw)
    counted = record.manifest.clock.provenance == "counted"
    bounds = bounds_of(run.where.plan) if counted else None
    return record, judge(None, record, bounds, expected=expected)


def add_judged(writer: RunWriter, key: str, title: str, raw: Path, run: BoardRun) -> Verdict:
    """Judges a board's recording and adds it to a run."""
    record, verdict = judged(run, raw)
    writer.add_configuration(key, title, record, verdict=verdict)
    return verdict


@environment_errors()
def run_on_board(
    system: System,
    *,
    iterations: int | None,
    name: str | None,
    root: Path | None,
    command: list[str] | None,
    must_count: bool,
    rt_linux: bool = False,
    progress: Progress,
) -> Run:
    """Runs and records a system on its board; counts instructions if all sides are on it.

    The run's verdict says whether every job met its deadline and output.
    """
    where = placement(system, rt_linux=rt_linux)
    if must_count and not where.on_board:
        beside = where.beside[0]
        raise BadInput(
            f"--counted: {where.sides[beside]} does not run in the board's counted time",
            file=system.file,
            field=f"tasks.{where.plan.cores[beside].serves[0]}.on",
        )
    run = prepare_board(system, progress, rt_linux=rt_linux)
    jobs = iterations or where.plan.run.iterations
    label = name or system.file.resolve().parent.name or system.file.stem
    progress(f"{where.title}: {jobs} jobs", None)
    with (
        RunWriter(
            label, "application", root, command=command, source=system.file.parent, pages=PAGES
        ) as writer,
        tempfile.TemporaryDirectory(prefix="consort-board-") as folder,
    ):
        writer.add_description(system.file)
        record_raw(run, Path(folder), jobs, counted=where.on_board)
        progress(f"{where.title}: checking outputs", None)
        add_judged(writer, f"{where.kind}-off", where.title, Path(folder), run)
        return writer.finish()
