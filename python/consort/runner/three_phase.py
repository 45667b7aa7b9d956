# SPDX-License-Identifier: Apache-2.0
"""Runs a three-phase system on this machine: pinned threads play its cores, locked memory its scratchpads.

With a processor for each core and the I/O core all run together. With fewer, one core at a time, while the
slots of the others pass empty: under TDMA what a core sees does not depend on the others.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.result import Bound
from consort.analysis.scratchpad import NotAnalysable, ThreePhaseCore, core_of, three_phase_cores
from consort.analysis.three_phase import bound_core
from consort.errors import BadInput, EnvironmentLacks, SystemFails
from consort.model import System, need_runnable
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.record.columns import STATUS
from consort.record.raw_writer import write_manifest, write_table
from consort.record.store import default_root
from consort.record.three_phase import DURATIONS, JOB, STAMPS
from consort.runner.application import Options
from consort.runner.build import build_program, identifier
from consort.runner.cpus import usable_cpus
from consort.runner.data import task_inputs
from consort.runner.process import environment_errors, execute
from consort.runner.scratch import scratch_folder

# Longer than this a run is more likely a slip than wished for.
MOST_SECONDS = 24 * 3600
# Events that say that the machine did not give what the bounds take for granted, and what they are called.
BROKEN = {
    "slot missed": "slots that the I/O core came too late for",
    "slot overrun": "slots whose operation did not end in time",
    "DMA error": "copies that failed",
    "DMA stuck": "copies that could not be stopped",
    "release lost": "releases lost",
    "execution overrun": "executions longer than their WCET",
}
DISTURBANCE = np.dtype([("at", "<u8"), ("core", "<u4"), ("kind", "<u4")])
RESPONSES = "Longest executions and responses of undisturbed jobs, measured; bounds"


@dataclass(frozen=True)
class Observed:
    """One task's jobs of a run; times in ps.

    A job is undisturbed when nothing that the bounds take for granted was broken since its core was idle
    last: such a job's response has to be within its bound. What a disturbed job takes says something about
    the machine.
    """

    task: str
    core: str
    jobs: int
    undisturbed: int
    response: int
    undisturbed_response: int | None
    above: int  # jobs that took longer than the bound
    execution: int  # of undisturbed jobs
    bound: Bound
    # The bound for executions as long as the longest undisturbed one.
    bound_as_seen: int | None


def only_three_phase(system: System) -> bool:
    return all(task.execution == "three-phase" for task in system.tasks.values())


@environment_errors()
def run_three_phase(system: System, options: Options, progress: Progress) -> Run:
    """Runs the system and holds every response against its bound; the run's verdict says whether it held."""
    need_runnable(system)
    for name, channel in system.channels.items():
        if channel.kind == "subscription":
            raise BadInput(
                "a run on this machine moves no messages of devices; --board versal does",
                file=system.file,
                field=f"channels.{name}",
            )
    planned = planned_cores(system)
    cores = list(planned)
    duration = _duration(system, options)
    groups = _groups(system, cores, planned)
    progress("building", None)
    program = build_program(system, program_source(system))
    sizes = {row["name"]: row for row in _described(program)}
    inputs = {name: task_rows(system, name, sizes[name]["inputs"]) for name in system.tasks}
    name = options.name or system.file.resolve().parent.name or system.file.stem
    observed: list[Observed] = []
    broken: dict[str, int] = {}
    with RunWriter(
        name, "application", options.root, command=options.command, source=system.file.parent
    ) as writer:
        writer.add_description(system.file)
        for busy in groups:
            with scratch_folder(options.root if options.root is not None else default_root()) as scratch:
                config = _config(system, planned, busy, inputs, duration, options, scratch)
                result = _execute(program, config, scratch, system, duration, busy, progress)
                for kind in BROKEN:
                    broken[kind] = broken.get(kind, 0) + result["events"][kind]
                # A core that was alone has the others' slots in its bound all the same.
                for core in busy:
                    number = cores.index(core)
                    observed += _record(system, planned[core], number, result, scratch, config, writer)
        _judge(writer, observed, broken, options.realtime)
        progress("writing the report", None)
        return writer.finish()


def planned_cores(system: System) -> dict[str, ThreePhaseCore]:
    """The cores with three-phase tasks by name, in order; `BadInput` where one cannot be analysed."""
    try:
        return {core: core_of(system, core) for core in three_phase_cores(system)}
    except NotAnalysable as error:
        raise BadInput(str(error), file=system.file) from None


def _duration(system: System, options: Options) -> int:
    """How long jobs are released [ps]."""
    first = next(iter(system.tasks.values()))
    duration = (options.iterations or system.run.iterations) * first.interval.picoseconds
    if duration > MOST_SECONDS * 10**12:
        raise BadInput(
            f"so many jobs take {duration // 10**12} s; at most {MOST_SECONDS} s are run, give fewer"
            " --iterations",
            file=system.file,
            field="run.iterations",
        )
    return duration


def _groups(system: System, cores: list[str], planned: Mapping[str, ThreePhaseCore]) -> list[list[str]]:
    """The cores that run at the same time; each group is run after the one before."""
    usable = len(usable_cpus())
    if usable > len(cores):
        return [cores]
    if usable < 2:
        raise EnvironmentLacks(
            "one processor is usable here; a core and the I/O core need two", "widen the affinity mask"
        )
    if any(core.method != "corrected" for core in planned.values()):
        raise EnvironmentLacks(
            f"{len(cores)} cores and the I/O core need {len(cores) + 1} processors, {usable} are usable here,"
            " and under round robin the cores cannot be run one after the other",
            "use a machine with more processors, or 'arbitration: tdma'",
        )
    return [[core] for core in cores]


def program_source(system: System) -> str:
    """The application's own translation unit."""
    headers = dict.fromkeys(
        str(system.path(task.step_to_run.header).resolve()) for task in system.tasks.values()
    )
    lines = [
        "// Made by `consort run` from " + system.file.name + "; not to be edited.",
        '#include "consort/linux/spm_app.hpp"',
    ]
    lines += [f'#include "{header}"' for header in headers]
    for name, task in system.tasks.items():
        step = task.step_to_run.function
        owner = step.rpartition("::")[0]
        lines.append(
            f"struct {identifier(name)} : consort::spm::ThreePhase<&::{step}> {{\n"
            f'    static constexpr const char* name = "{name}";\n'
            f"    using Owner = ::{owner};\n"
            "    static void call(const Constants& constants, const In& in, State& state, Out& out) {\n"
            f"        ::{step}(constants, in, state, out);\n    }}\n}};"
        )
    names = ", ".join(identifier(name) for name in system.tasks)
    main = f"consort::linux_port::spm_application<{names}>(argc, argv)"
    lines.append(f"int main(int argc, char** argv) {{ return {main}; }}")
    return "\n".join(lines) + "\n"


def _described(program: Path) -> list[dict[str, Any]]:
    text = subprocess.run([str(program), "--describe"], check=True, capture_output=True, text=True).stdout
    described: list[dict[str, Any]] = json.loads(text)
    return described


def task_rows(system: System, name: str, size: int) -> NDArray[Any]:
    """A task's input rows; without an input one of zeros."""
    task = system.tasks[name]
    if task.input is None or size == 0:
        return np.zeros(1, dtype=f"V{max(size, 1)}")
    try:
        return task_inputs(system, task, np.dtype(f"V{size}"))
    except BadInput as error:
        if error.file is not None:
            raise
        field = ".".join(filter(None, ("tasks", name, "input", error.field)))
        raise BadInput(error.message, file=system.file, field=field) from error


def _config(
    system: System,
    planned: Mapping[str, ThreePhaseCore],
    busy: list[str],
    inputs: Mapping[str, NDArray[Any]],
    duration: int,
    options: Options,
    scratch: Path,
) -> dict[str, Any]:
    """The configuration file of the C++ runner (ports/linux/include/consort/linux/spm_app.hpp)."""
    kinds = list(system.tasks)
    cores: list[dict[str, Any]] = []
    for core, plan in planned.items():
        tasks = []
        for planned_task in plan.tasks if core in busy else ():
            task = system.tasks[planned_task.name]
            file = scratch / f"{kinds.index(planned_task.name)}.input"
            file.write_bytes(inputs[planned_task.name].tobytes())
            tasks.append(
                {
                    "kind": kinds.index(planned_task.name),
                    "period_ns": task.interval.nanoseconds,
                    "deadline_ns": task.deadline.nanoseconds,
                    "offset_ns": task.offset.nanoseconds,
                    "budget_ns": -(-planned_task.execution // 1000),
                    "input_file": str(file),
                }
            )
        # A slot is as long as it must be, in whole nanoseconds.
        cores.append({"name": core, "slot_ns": -(-plan.share.slot // 1000), "tasks": tasks})
    return {
        "cores": cores,
        "arbitration": "round-robin" if planned[busy[0]].method == "round-robin" else "tdma",
        "duration_ns": duration // 1000,
        "realtime": options.realtime,
    }


def _execute(
    program: Path,
    config: dict[str, Any],
    scratch: Path,
    system: System,
    duration: int,
    busy: list[str],
    progress: Progress,
) -> dict[str, Any]:
    config_file = scratch / "config.json"
    config_file.write_text(json.dumps(config), encoding="utf-8")
    raw = scratch / "raw"
    raw.mkdir()
    command = [str(program), "--config", str(config_file), "--raw", str(raw)]
    what = ", ".join(busy)
    status, words = execute(command, duration / 1e12, what, progress)
    if status == 3:
        raise EnvironmentLacks(words, "see `consort doctor`")
    if status == 2:
        raise BadInput(words, file=system.file)
    if status != 0:
        raise SystemFails(
            f"{what}: {words or f'the application ended with status {status}'}; nothing was recorded"
        )
    result: dict[str, Any] = json.loads((raw / "result.json").read_text(encoding="utf-8"))
    return result


def _record(
    system: System,
    plan: ThreePhaseCore,
    number: int,
    result: dict[str, Any],
    scratch: Path,
    config: dict[str, Any],
    writer: RunWriter,
) -> list[Observed]:
    """Adds a core's tasks to the run, and returns what was seen of them."""
    hertz = int(result["clock"]["ticks_per_second"])

    def picoseconds(ticks: int) -> int:
        return -(-int(ticks) * 10**12 // hertz)

    kinds = list(system.tasks)
    assert JOB.itemsize == result["record_bytes"]
    rows = {
        task.name: np.fromfile(scratch / "raw" / f"{kinds.index(task.name)}.jobs", dtype=JOB)
        for task in plan.tasks
    }
    events = np.fromfile(scratch / "raw" / "disturbances", dtype=DISTURBANCE)
    events = events["at"][events["core"] == number]
    slot = -(-plan.share.slot * hertz // 10**12)
    budgets = {task.name: task.execution * hertz // 10**12 for task in plan.tasks}
    disturbed, executions = disturbances(rows, budgets, events, slot)
    calm = {name: executions[name][~disturbed[name]] for name in rows}
    bounds = {b.task: b for b in bound_core(plan.tasks, plan.share, method=plan.method, core=plan.core)}
    seen = [
        replace(task, execution=max(picoseconds(calm[task.name].max(initial=0)), 1)) for task in plan.tasks
    ]
    as_seen = {b.task: b.response for b in bound_core(seen, plan.share, method=plan.method)}
    observed = []
    for task in seen:
        found = rows[task.name]
        writer.add_configuration(
            task.name, task.name, _raw(system, task.name, found, result, scratch, config)
        )
        responses = found["finish"] - found["release"]
        undisturbed = responses[~disturbed[task.name]]
        limit = bounds[task.name].response
        above = 0 if limit is None else int(np.count_nonzero(responses > limit * hertz // 10**12))
        observed.append(
            Observed(
                task.name,
                plan.core,
                int(found.size),
                int(undisturbed.size),
                picoseconds(responses.max(initial=0)),
                picoseconds(undisturbed.max()) if undisturbed.size else None,
                above,
                task.execution,
                bounds[task.name],
                as_seen[task.name],
            )
        )
    return observed


def disturbances(
    rows: Mapping[str, NDArray[np.void]],
    budgets: Mapping[str, int],
    events: NDArray[np.uint64],
    slot: int,
) -> tuple[dict[str, NDArray[np.bool_]], dict[str, NDArray[np.uint64]]]:
    """For each task of a core which jobs were disturbed, and how long the core was at each of them [ticks].

    The core is at a job from when it could have begun, not from when it did: a core that looks late is as
    long at it. A stretch is busy from a release at which the core had nothing to do until it has nothing to
    do again; what happened before it cannot be seen in it.
    """
    everything = np.concatenate([*rows.values()])
    order = np.argsort(everything["start"], kind="stable")
    before = np.zeros(everything.size, np.uint64)
    before[order[1:]] = everything["executed"][order[:-1]]
    at = everything["executed"] - np.maximum(everything["ready"], before)
    owner = np.repeat(np.arange(len(rows)), [r.size for r in rows.values()])
    limit = np.array([budgets[name] for name in rows], np.uint64)[owner]
    late = everything["start"][at > limit]
    broken = np.sort(np.concatenate([events.astype(np.uint64), late.astype(np.uint64)]))
    # Busy stretches: releases in order; a new one begins where all before have ended.
    by_release = np.argsort(everything["release"], kind="stable")
    ends = np.maximum.accumulate(everything["finish"][by_release]) if by_release.size else before
    begins = everything["release"][by_release].copy()
    for i in range(1, begins.size):
        if begins[i] <= ends[i - 1]:
            begins[i] = begins[i - 1]
    stretch = np.zeros(everything.size, np.uint64)
    stretch[by_release] = begins
    # An event belongs to a slot, and its stamp may lie anywhere in it.
    first = np.searchsorted(broken, stretch - np.uint64(slot))
    last = np.searchsorted(broken, everything["finish"] + np.uint64(slot), side="right")
    hit = last > first
    return (
        {name: hit[owner == i] for i, name in enumerate(rows)},
        {name: at[owner == i] for i, name in enumerate(rows)},
    )


def _raw(
    system: System,
    task: str,
    rows: NDArray[np.void],
    result: dict[str, Any],
    scratch: Path,
    config: dict[str, Any],
) -> RawRun:
    folder = scratch / f"recorded-{task}"
    folder.mkdir()
    described = system.tasks[task]
    status = rows["status"]
    return write_manifest(
        folder,
        "consort run",
        [write_table(folder, "jobs", rows, stamps=STAMPS, durations=DURATIONS)],
        clock=result["clock"],
        config={
            "deadline_ns": described.deadline.nanoseconds,
            "core": described.on,
            "execution": described.execution,
            "duration_ns": config["duration_ns"],
            "arbitration": config["arbitration"],
            "cpus": result["cpus"],
        },
        counters={
            "deadline_misses": int(np.count_nonzero(status & STATUS["deadline_misses"])),
            "output_errors": int(np.count_nonzero(status & STATUS["output_errors"])),
            "records_lost": int(result["records_lost"]),
        },
        events=[{"tick": result["start"], "name": "first-slot"}],
        realtime={"notes": result["notes"]},
    )


def throttled(root: Path = Path("/proc/sys/kernel")) -> str:
    """What the kernel takes from real-time threads that never sleep; empty where it takes nothing."""
    try:
        runtime = int((root / "sched_rt_runtime_us").read_text(encoding="ascii"))
        period = int((root / "sched_rt_period_us").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    if not 0 <= runtime < period:
        return ""
    taken = f"{(period - runtime) / 1000:g} ms of each {period / 1000:g} ms"
    return (
        f"kernel.sched_rt_runtime_us = {runtime} takes {taken} from the real-time threads that play the"
        " cores, unless they sleep as long"
    )


def _judge(writer: RunWriter, observed: list[Observed], broken: dict[str, int], realtime: bool) -> None:
    """The table of responses and bounds, and what of it makes the run fail."""

    def us(ps: int | None) -> float | None:
        return None if ps is None else ps / 1e6

    writer.add_section(
        RESPONSES,
        "table",
        columns=[
            {"name": "task"},
            {"name": "core"},
            {"name": "jobs", "provenance": "measured"},
            {"name": "undisturbed", "provenance": "measured"},
            {"name": "execution", "unit": "us", "provenance": "measured"},
            {"name": "response", "unit": "us", "provenance": "measured"},
            {"name": "bound as seen", "unit": "us", "provenance": "bound"},
            {"name": "bound", "unit": "us", "provenance": "bound"},
            {"name": "deadline", "unit": "us"},
            {"name": "disturbed", "unit": "us", "provenance": "measured"},
        ],
        rows=[
            [
                one.task,
                one.core,
                one.jobs,
                one.undisturbed,
                us(one.execution),
                us(one.undisturbed_response),
                us(one.bound_as_seen),
                us(one.bound.response),
                us(one.bound.deadline),
                us(one.response),
            ]
            for one in observed
        ],
    )
    writer.add_section(
        "What the bounds take for granted",
        "table",
        columns=[{"name": "broken by"}, {"name": "count", "provenance": "measured"}],
        rows=[[text, broken[kind]] for kind, text in BROKEN.items()],
    )
    for one in observed:
        limit = one.bound.response
        if limit is None:
            writer.fail(f"{one.task}: it has no bound; `consort analyze` says why")
        elif one.undisturbed_response is None:
            writer.fail(f"{one.task}: none of its {one.jobs} jobs was undisturbed, so no bound was tried")
        elif one.undisturbed_response > limit:
            said = (
                f"{one.task}: an undisturbed response of {us(one.undisturbed_response):.3f} us is above its"
            )
            writer.fail(f"{said} bound of {us(limit):.3f} us, which is a defect of Consort")
    above, jobs = sum(one.above for one in observed), sum(one.jobs for one in observed)
    if above:
        said = ", ".join(f"{broken[kind]} {text}" for kind, text in BROKEN.items() if broken[kind])
        writer.fail(f"{above} of {jobs} jobs took longer than their bounds: {said or 'a core came late'}")
        if realtime and throttled():
            writer.fail(f"{throttled()}; `consort doctor` says what to do")
    if broken["release lost"]:
        writer.fail(f"{broken['release lost']} releases lost")
