# SPDX-License-Identifier: Apache-2.0
"""Runs of a plan on an emulated board. Its cores are served by the executive, with workers on it and beside
it, or by the board's scratchpad kernel.

The record is as of a run on this machine, in nanoseconds since each core's own first release, and is judged
as that is: outputs against golden ones or the same steps in logical order. With instruction counting (all
sides on the board, or processes beside it in its time) two runs give the same record to the tick. With
Linux, or a process in this machine's time, the run is untimed: its times are the emulator's, and no deadline
or bound is judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput, EnvironmentLacks, environment_errors
from consort.base.waiting import STANDSTILL_S, Progress, silent
from consort.board import executive, kernel, kernel_plan, programs, records, refusals
from consort.board.placement import Placement, placement
from consort.board.programs import Programs
from consort.board.records import Recorded
from consort.board.rtlinux import find, version
from consort.judge import Expected
from consort.model import Configuration, System
from consort.model.channel import STAND_IN
from consort.plan import ModePlans, Plan
from consort.record.ran import STATUS
from consort.record.raw import write_manifest, write_table
from consort.record.writer import scratch_folder
from consort.run.blocks import input_rows, member_rows, sized, write_rows
from consort.run.build import build_application, describe
from consort.run.collect import golden_of, replay_command
from consort.run.config import Placement as Cpus
from consort.run.config import run_config
from consort.run.flow import Recording
from consort.run.live import Announcement
from consort.run.options import Options, duration_of
from consort.run.plan_image import write_image

# The record's clock, and its reading at each core's first release: 0 means that a thing did not happen.
HERTZ, BEGIN = 10**9, 1000
# The processor that all of a board's cores are on where instructions are counted.
EMULATOR = 0
STAMPS = ("release", "ready", "start", "sent", "worker_receive", "worker_send", "received", "loaded",
          "executed", "finish")  # fmt: skip


@dataclass(frozen=True)
class BoardRun:
    """A run's subject: placement, programs, inputs, and the expected outputs."""

    where: Placement
    programs: Programs
    # This machine's program of the plan: it knows the layouts, and computes the steps in logical order.
    replay: Path
    described: Mapping[str, Any]
    rows: Mapping[str, NDArray[Any]]
    members: Mapping[str, Mapping[str, NDArray[Any]]]
    golden: Mapping[str, Expected]
    system: System

    @property
    def plan(self) -> Plan:
        return self.where.plan

    @property
    def images(self) -> Mapping[str, Path]:
        return self.programs.images

    @property
    def key(self) -> Configuration:
        return "offloaded-off" if self.plan.workers else "local-off"

    def configurations(self, _options: Options) -> list[Configuration]:
        return [self.key]

    def request(self, duration_ps: int, *, counted: bool, shift: int = 0) -> executive.Request:
        return executive.Request(
            self.where,
            self.programs,
            self.described,
            self.rows,
            self.members,
            duration_ps,
            counted=counted,
            begin=BEGIN,
            shift=shift,
            seed=self.plan.run.seed,
        )

    def recordings(
        self,
        key: Configuration,
        options: Options,
        progress: Progress,
        *,
        entry: str = "",
        title: str = "",
        scratch: Path | None = None,
        live: Announcement | EnvironmentLacks | None = None,
    ) -> Generator[Recording, None, None]:
        """The one recording of a configuration: nobody watches it."""
        del live
        duration = duration_of(self.plan, options)
        with nullcontext(scratch) if scratch else scratch_folder(options.root) as folder:
            counted = self.where.counted
            recorded = record_raw(
                self, folder, duration, counted=counted, shift=options.shift, progress=progress
            )
            yield recording(self, folder, recorded, entry or key, title or self.where.title)


def recording(run: BoardRun, raw: Path, recorded: Recorded, key: str, title: str) -> Recording:
    """The recording of a raw run folder, ready to be judged."""
    return Recording(
        key,
        title,
        run.plan,
        raw,
        replay_command(run.replay, raw),
        unpredicted=recorded.unpredicted,
        overhead_ps=recorded.overhead_ps,
        findings=recorded.findings,
        sections=recorded.sections,
    )


@environment_errors()
def prepare_board(system: System, progress: Progress, options: Options | None = None) -> BoardRun:
    """Builds the programs and computes what the outputs must be."""
    wanted = options or Options(target="board")
    where = _placement(system, wanted)
    if wanted.must_count and not where.counted:
        beside = where.beside[0]
        raise BadInput(
            f"--counted: {where.sides[beside]} does not run in the board's counted time",
            file=system.file,
            field=f"tasks.{where.plan.cores[beside].serves[0]}.on",
        )
    return built(system, lambda described: _placement(described, wanted), progress)


def built(system: System, place: Callable[[System], Placement], progress: Progress) -> BoardRun:
    """A system made ready to run where `place` places it."""
    where = place(system)
    # A missing emulator is reported before anything is built.
    find(where.board.emulator)
    progress("building", None)
    replay = build_application(replace(where.plan, target="linux"))
    described = describe(replay)
    where = place(sized(system, where.plan, described))
    layouts = {task["name"]: task for task in described["tasks"]}
    rows = input_rows(ModePlans(where.plan), layouts)
    golden = golden_of(where.plan, layouts, rows, progress)
    if where.kernel is not None:
        kernel = kernel_plan.build(where, replay, described, progress)
        return BoardRun(where, kernel, replay, described, kernel_plan.kernel_rows(rows), {}, golden, system)
    refuse_constants(where.plan, layouts)
    members = member_rows(ModePlans(where.plan), described)
    made = programs.build(where, progress, described["plan"]["layout"])
    return BoardRun(where, made, replay, described, rows, members, golden, system)


def _placement(system: System, wanted: Options) -> Placement:
    if wanted.kernel_board is not None:
        return kernel_plan.placement(system, wanted.kernel_board)
    return placement(
        system,
        mode=wanted.mode,
        rt_linux=wanted.rt_linux,
        counted=wanted.must_count,
        stand_ins=wanted.stand_ins,
    )


def refuse_constants(plan: Plan, layouts: Mapping[str, Any]) -> None:
    """`BadInput` where a step takes constants."""
    for name, known in layouts.items():
        if known["constants"]["bytes"]:
            raise BadInput(
                "the step takes constants, and nothing makes them on a bare core; compute them in the step,"
                " or keep them in its state",
                file=plan.file,
                field=f"tasks.{name}.step",
            )


def record_raw(
    run: BoardRun,
    raw: Path,
    duration_ps: int,
    *,
    counted: bool,
    shift: int = 0,
    seconds: float = STANDSTILL_S,
    progress: Progress = silent,
) -> Recorded:
    """Runs the application once, jobs being released for so long, and writes its raw run folder."""
    progress(run.where.title, None)
    serve = kernel.run if run.where.kernel is not None else executive.run
    request = run.request(duration_ps, counted=counted, shift=shift)
    recorded = serve(request, seconds=seconds, progress=progress)
    data = write_rows(ModePlans(run.plan), run.rows, run.members, raw)
    cpus = Cpus({}, None, shared=False)
    image = write_image(ModePlans(run.plan), run.described, duration_ps, raw)
    config = run_config(
        run.plan, cpus, data, run.described, image=image, configuration=run.key, duration_ps=duration_ps
    )
    # One processor executes what the emulator counts, and a process beside it takes declared times. Jobs of
    # the scratchpad kernel are held to their bounds all the same.
    shared = run.where.bare if counted and run.where.kernel is None else {}
    config["record"]["cpus"] = dict.fromkeys(shared, EMULATOR)
    (raw / "config.json").write_text(json.dumps(config), encoding="utf-8")
    _write(run, raw, recorded, config["record"], counted)
    return recorded


def _write(run: BoardRun, raw: Path, recorded: Recorded, facts: Mapping[str, Any], counted: bool) -> None:
    where = run.where
    layouts = {task["name"]: task for task in run.described["tasks"]}
    jobs = recorded.jobs[np.argsort(recorded.jobs["release"], kind="stable")]
    tables = [write_table(raw, "jobs", jobs, stamps=STAMPS, durations=("compute",))]
    for name, rows in (("operations", recorded.operations), ("events", recorded.events)):
        if rows.size:
            rows = rows[np.argsort(rows["time"], kind="stable")]
            tables.append(write_table(raw, name, rows, stamps=("time",)))
    for number, name in enumerate(where.plan.tasks):
        if layouts[name]["out"]["bytes"] and where.plan.tasks[name].step != STAND_IN:
            tables.append(write_table(raw, f"outputs-{number}", recorded.outputs[name]))
    counters = {
        key: int(np.count_nonzero(jobs["status"] & STATUS[key]))
        for key in ("deadline_misses", "unserved", "outputs_held", "local_fallbacks")
    }
    counters |= {"jobs": len(jobs), "records_lost": recorded.lost, "worker_deaths": 0}
    counters |= {"preemptions": sum(recorded.preemptions.values())}
    notes = [] if where.kernel is not None else list(where.plan.notes)
    time = "the emulator's clock"
    if counted:
        tick = "one nanosecond" if recorded.shift == 0 else f"{1 << recorded.shift} ns"
        time = f"{tick} for each instruction executed"
    if where.synchronized:
        time += ", of processes beside the board their declared times"
        notes += refusals.notes(where.plan, where.beside)
        notes += records.notes(where.plan)
    if not recorded.whole:
        released = [int(np.count_nonzero(jobs["task"] == n)) for n in range(len(where.plan.tasks))]
        facts = {**facts, "jobs": dict(zip(where.plan.tasks, released, strict=True))}
        notes.append(f"of all jobs the first {len(jobs)} are recorded one by one; the others are counted")
    write_manifest(
        raw,
        "board",
        tables,
        clock={
            "name": "nanoseconds since each core's first release",
            "ticks_per_second": float(HERTZ),
            "provenance": "counted" if counted else "emulated",
            "source": time,
        },
        config={
            **facts,
            "board": where.board.name,
            "sides": dict(where.sides),
            "emulator": version(find(where.board.emulator)),
            "start_tick": BEGIN,
        },
        counters=counters,
        plan=where.plan,
        realtime={"notes": notes} if notes else None,
    )
