# SPDX-License-Identifier: Apache-2.0
"""Runs a system: each configuration once, recorded into one run folder."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.errors import BadInput, EnvironmentLacks, SystemFails
from consort.model import Configuration, System, Tolerance, need_runnable
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.record.raw import MANIFEST
from consort.record.store import default_root
from consort.runner.build import build_application, describe
from consort.runner.cpus import place, usable_cpus
from consort.runner.data import golden_outputs, struct_dtype, task_inputs
from consort.runner.golden import mark_output_errors
from consort.runner.interference import interfering
from consort.runner.process import add_note, environment_errors, execute
from consort.runner.scratch import scratch_folder
from consort.source import cache_folder

NAMES: dict[str, str] = {
    "local-off": "local, interference off",
    "local-on": "local, interference on",
    "offloaded-off": "offloaded, interference off",
    "offloaded-on": "offloaded, interference on",
}
# A worker is started again this often in one configuration; one that dies more often is broken.
MAX_RESTARTS = 100
# Of the deadline: when a job with a local fallback is given up, so that the fallback can still be in time.
FALLBACK_SHARE = 5


@dataclass(frozen=True)
class Prepared:
    """A system made ready to run: its program, inputs and golden outputs."""

    system: System
    program: Path
    inputs: dict[str, NDArray[Any]]
    golden: dict[int, tuple[str, NDArray[Any], dict[str, Tolerance]]]
    out_dtypes: dict[int, np.dtype[Any]]


@dataclass(frozen=True)
class Options:
    """How a run differs from what the description says."""

    iterations: int | None = None
    configurations: Sequence[Configuration] | None = None
    time_base: str | None = None
    realtime: bool = True
    name: str | None = None
    root: Path | None = None
    command: list[str] | None = None


@environment_errors()
def prepare(system: System, progress: Progress) -> Prepared:
    """Builds the program and computes what its outputs must be. `BadInput` when either is not possible."""
    need_runnable(system)
    masters = list(dict.fromkeys(task.released_by for task in system.tasks.values()))
    if len(masters) > 1:
        raise BadInput(
            f"the tasks are released by {', '.join(masters)}; one run has one master, which owns its time",
            file=system.file,
            field="tasks",
        )
    progress("building", None)
    program = build_application(system)
    layouts = {task["name"]: task for task in describe(program)["tasks"]}
    inputs: dict[str, NDArray[Any]] = {}
    golden: dict[int, tuple[str, NDArray[Any], dict[str, Tolerance]]] = {}
    out_dtypes: dict[int, np.dtype[Any]] = {}
    for kind, (name, task) in enumerate(system.tasks.items()):
        progress(f"inputs of {name}", None)
        try:
            inputs[name] = task_inputs(system, task, struct_dtype(layouts[name]["in"]))
        except BadInput as error:
            if error.file is not None:
                raise
            # What does not lie in the input's file lies in its description.
            field = ".".join(filter(None, ("tasks", name, "input", error.field)))
            raise BadInput(error.message, file=system.file, field=field) from error
        out_dtypes[kind] = struct_dtype(layouts[name]["out"])
        if task.golden is not None:
            progress(f"golden outputs of {name}", None)
            expected = golden_outputs(
                system, task.golden, inputs[name], out_dtypes[kind], cache_folder() / "golden"
            )
            golden[kind] = (name, expected, dict(task.golden.tolerance))
    return Prepared(system, program, inputs, golden, out_dtypes)


@environment_errors()
def run_system(prepared: Prepared, options: Options, progress: Progress) -> Run:
    """Runs all configurations and returns the finished run; its verdict says whether the system held."""
    system = prepared.system
    name = options.name or system.file.resolve().parent.name or system.file.stem
    with RunWriter(
        name, "application", options.root, command=options.command, source=system.file.parent
    ) as writer:
        writer.add_description(system.file)
        for key in options.configurations or system.configurations():
            with scratch_folder(options.root if options.root is not None else default_root()) as scratch:
                record_configuration(prepared, key, options, scratch, writer, progress)
        progress("writing the report", None)
        return writer.finish()


def record_configuration(
    prepared: Prepared,
    key: Configuration,
    options: Options,
    scratch: Path,
    writer: RunWriter,
    progress: Progress,
    *,
    entry: str = "",
    title: str = "",
) -> None:
    """Runs one configuration and adds it to the run, as `entry` and `title` where these are given."""
    entry, title = entry or key, title or NAMES[key]
    system = prepared.system
    config = app_config(prepared, key, options, scratch)
    config_file = scratch / "config.json"
    config_file.write_text(json.dumps(config), encoding="utf-8")
    raw = scratch / "raw"
    raw.mkdir()
    seconds = config["iterations"] * config["tasks"][0]["period_ns"] / 1e9
    sources = system.run.interference if key.endswith("-on") else ()
    used = {config["master_cpu"], *config["worker_cpus"]}
    others = [cpu for cpu in usable_cpus() if cpu not in used]
    with interfering(sources, others or sorted(used), 3 * seconds + 60, scratch / "interference") as state:
        status, words = execute(
            # The application ends with this process, also when it is killed.
            [
                str(prepared.program),
                *("--config", str(config_file)),
                *("--raw", str(raw)),
                *("--parent", str(os.getpid())),
            ],
            seconds,
            title,
            progress,
        )
    other = RawRun.load(state.raw) if state.raw is not None and (state.raw / MANIFEST).is_file() else None
    if not (raw / MANIFEST).is_file():
        message = words or f"the application ended with status {status}"
        if status == 2:
            raise BadInput(message, file=system.file)
        if status == 3:
            raise EnvironmentLacks(message, "see `consort doctor`")
        raise SystemFails(f"{title}: {message}; nothing was recorded")
    for note in state.notes:
        add_note(raw, note)
    if sources and not others:
        add_note(
            raw,
            "the machine has no CPU to spare: interference shares the CPUs of master and workers, and runs"
            " only in the time that the kernel keeps from real-time threads",
        )
    progress(f"{title}: checking outputs", None)
    mark_output_errors(raw, prepared.golden, prepared.out_dtypes)
    writer.add_configuration(entry, title, RawRun.load(raw), interference=other)
    if status != 0:
        writer.fail(f"{title}: the run ended before its last job" + (f" ({words})" if words else ""))


def app_config(prepared: Prepared, key: Configuration, options: Options, scratch: Path) -> dict[str, Any]:
    """The configuration file of the C++ runner (ports/linux/include/consort/linux/app_config.hpp)."""
    system = prepared.system
    offloaded = key.startswith("offloaded")
    master = next(iter(system.tasks.values())).released_by
    workers = system.workers() if offloaded else []
    cpus = place(system, [master, *workers])
    tasks: list[dict[str, Any]] = []
    for name, task in system.tasks.items():
        file = scratch / f"{len(tasks)}.input"
        # Not tofile: its errors do not say what went wrong.
        file.write_bytes(prepared.inputs[name].tobytes())
        remote = offloaded and task.execution == "offloaded"
        tasks.append(
            {
                "name": name,
                "period_ns": task.interval.nanoseconds,
                "deadline_ns": task.deadline.nanoseconds,
                "execution": "offloaded" if remote else "local",
                "worker": workers.index(task.on) if remote else 0,
                "on_miss": task.on_miss,
                "fallback_margin_ns": task.deadline.nanoseconds // FALLBACK_SHARE
                if task.on_miss == "local-fallback"
                else 0,
                "input_file": str(file),
            }
        )
    restarts = any(t.restart_worker for t in system.tasks.values() if t.execution == "offloaded")
    return {
        "tasks": tasks,
        "deadline_ns": tasks[0]["deadline_ns"],
        "iterations": options.iterations or system.run.iterations,
        "time_base": options.time_base or system.run.time_base,
        "master_cpu": cpus[master],
        "worker_cpus": [cpus[w] for w in workers],
        "workers": workers,
        "master": master,
        "realtime": options.realtime,
        "max_restarts": MAX_RESTARTS if restarts else 0,
    }


def duration_estimate(system: System, options: Options) -> float:
    """Seconds that the releases of all configurations take."""
    first = next(iter(system.tasks.values()))
    count = len(options.configurations or system.configurations())
    return count * (options.iterations or system.run.iterations) * first.interval.nanoseconds / 1e9


def signals_to_exceptions() -> None:
    """SIGTERM and SIGHUP unwind this process like an interrupt, so that everything is cleaned up."""

    def stop(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


__all__ = [
    "Options",
    "Prepared",
    "app_config",
    "duration_estimate",
    "prepare",
    "record_configuration",
    "run_system",
    "signals_to_exceptions",
]
