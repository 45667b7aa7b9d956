# SPDX-License-Identifier: Apache-2.0
"""Small descriptions, runs of them in this process, the command around them, and a look at its processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import stacks
from consort.judge import Verdict
from consort.model import load_system
from consort.plan import Plan
from consort.record import Ran as PlanThatRan
from consort.record import RawRun, Run, RunWriter
from consort.record.ran import EVENTS, OPERATIONS, STATUS
from consort.run import Options, Prepared, prepare
from consort.run.flow import record_configuration
from consort.run.plan_image import keeping
from consort.simulate import build
from effort import PATIENCE, Time, beside_others, needs_own_time, own_time, wait_for

DIGEST = Path(__file__).parent / "digest"
CONSORT = Path(sys.executable).with_name("consort")

MISSED, HELD = STATUS["deadline_misses"], STATUS["outputs_held"]
FALLBACK, LOST = STATUS["local_fallbacks"], STATUS["worker_lost"]
WRONG, SKIPPED = STATUS["output_errors"], STATUS["unserved"]

# A busy machine's effect on a run, in the words of the verdict: it comes late, and nothing else.
LATE = re.compile(
    r"missed their deadline|the machine disturbed|took more CPU time than the WCET|above its bound|"
    r"took longer than deadline and bound allow|"
    r"above its agreement|took up to .* allowed|no \w+ was seen whole|longer than its WCET|of a period late|"
    r"this machine cannot show|the machine may have taken the rest"
)

TASK: dict[str, Any] = {
    "step": "step.hpp::digest::step",
    "period": "10ms",
    "on": "worker-0",
    "execution": "offloaded",
    "master": "master-0",
    "on_miss": "local-fallback",
    "restart_worker": True,
    "input": {"function": "digest.py::inputs", "arguments": {"rows": 64}},
    "golden": {"function": "digest.py::golden"},
}
LOCAL: dict[str, Any] = {
    "on": "master-0",
    "execution": "local",
    "master": None,
    "on_miss": "hold-last-output",
    "restart_worker": None,
}


def task(**changes: Any) -> dict[str, Any]:
    """The digest task with changes; None removes a key."""
    return {key: value for key, value in {**TASK, **changes}.items() if value is not None}


def both(slow_period: str = "25ms", **changes: Any) -> dict[str, Any]:
    """The digest task with changes, and a slower one beside it on the same core.

    Every description has both, so that all share one program: compiling takes longer than anything else here.
    """
    shared = {k: v for k, v in changes.items() if k in ("on", "execution", "master", "restart_worker")}
    policy = "hold-last-output" if changes.get("execution") == "local" else "local-fallback"
    slow = task(step="step.hpp::digest::slow_step", period=slow_period, on_miss=policy, **shared)
    return {"digest": task(**changes), "slow": slow}


def describe(
    folder: Path, tasks: Mapping[str, Any] | None = None, parts: Mapping[str, Any] | None = None, **run: Any
) -> Path:
    """Writes a description, with the files it names beside it. JSON is YAML too."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("step.hpp", "digest.py"):
        shutil.copy(DIGEST / name, folder)
    settings = {"iterations": 60, "time_base": "sleep", "interference": [], **run}
    return write(folder, {"tasks": dict(tasks or both()), "run": settings, **(parts or {})})


def write(folder: Path, described: Mapping[str, Any], **files: str) -> Path:
    """Writes a description for this machine, and files beside it (`step_hpp` is step.hpp)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    description = folder / "system.yaml"
    whole = {"consort": 1, "platform": "linux-host", **described}
    description.write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return description


def consort(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [str(CONSORT), *map(str, arguments)]
    runs_here = arguments[0] == "run" and "--for" not in arguments
    with own_time(runs_here and Time.own):
        ended = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, **options)
    # A run that was refused took no time of the machine.
    if runs_here and ended.returncode not in (2, 3):
        needs_own_time()
    return ended


def silent(_what: str, _share: float | None) -> None:
    pass


@dataclass
class Ran:
    """One configuration that was run and judged, with its raw recording."""

    raw: RawRun
    verdict: Verdict
    run: Run
    prepared: Prepared
    scratch: Path

    @property
    def config(self) -> dict[str, Any]:
        return self.raw.manifest.config

    @property
    def system(self) -> PlanThatRan:
        assert self.raw.ran is not None
        return self.raw.ran

    @property
    def counters(self) -> Mapping[str, Any]:
        return self.raw.manifest.counters

    def number(self, name: str) -> int:
        return self.system.task_names.index(name)

    def jobs(self, name: str, skipped: bool = False) -> np.ndarray:
        """A task's jobs in order; releases that were skipped only when asked for."""
        rows = np.array(self.raw.tables["jobs"].rows)
        rows = rows[rows["task"] == self.number(name)]
        rows = rows[np.argsort(rows["seq"])]
        return rows if skipped else rows[(rows["status"] & SKIPPED) == 0]

    def outputs(self, name: str) -> np.ndarray:
        """The outputs of the jobs that were begun, in their order."""
        rows = np.array(self.raw.tables[f"outputs-{self.number(name)}"].rows)
        return rows[np.argsort(rows["seq"])]

    def operations(self, channel: str, kind: str, name: str | None = None) -> np.ndarray:
        """The operations on a channel, by one task or all, in the order of time."""
        rows = np.array(self.raw.tables["operations"].rows)
        place = self.system.channel_names.index(channel)
        mine = (rows["channel"] == place) & (rows["kind"] == OPERATIONS.index(kind))
        if name is not None:
            mine &= rows["task"] == self.number(name)
        return rows[mine][np.argsort(rows[mine]["time"], kind="stable")]

    def events(self, kind: str) -> np.ndarray:
        if "events" not in self.raw.tables:
            return np.zeros(0, [("time", "<u8"), ("value", "<u8"), ("task", "<u2"), ("core", "<u2")])
        rows = np.array(self.raw.tables["events"].rows)
        return rows[rows["kind"] == EVENTS.index(kind)]

    @property
    def wrong(self) -> int:
        """The number of outputs that the judge found wrong."""
        return int(((self.verdict.status & WRONG) != 0).sum())


def ran(description: Path, key: Any = None, **options: Any) -> Ran:
    """Runs one configuration of a description in this process, as `consort run` does."""
    system = load_system(description)
    wanted = Options(**options)
    with beside_others():
        prepared = prepare(system, silent, wanted)
    key = key or system.configurations()[0]
    # A test that is run again has the same description.
    scratch = Path(tempfile.mkdtemp(prefix="raw-", dir=description.parent))
    with RunWriter("test", "application", description.parent / "runs") as writer:
        writer.add_description(system.file)
        with own_time(wanted.target == "linux"):
            recorded = record_configuration(prepared, key, wanted, writer, silent, scratch=scratch)
        run = writer.finish()
    assert len(recorded) == 1, "the machine has a CPU for each core, or times are stretched"
    return Ran(recorded[0].raw, recorded[0].verdict, run, prepared, scratch)


def as_executed(made: Plan, described: Mapping[str, Any], time_scale: int = 1) -> build.Prepared:
    """The simulator's system of a plan as a program in virtual time executes it, which `described` itself."""
    keeps = keeping(described)
    return build.prepare(made, skips=True, keeps=keeps, time_scale=time_scale)


def beside_time(reasons: Any) -> list[str]:
    """The reasons of a verdict that no busy machine explains."""
    return [reason for reason in reasons if not LATE.search(reason)]


@dataclass(frozen=True)
class Process:
    """A process, as /proc shows it."""

    pid: int

    @property
    def parent(self) -> int | None:
        """Its parent, None when it has ended."""
        found = stacks.process(self.pid)
        return None if found is None else found.parent

    @property
    def arguments(self) -> list[str]:
        try:
            return Path(f"/proc/{self.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return []


def processes(executable: Path | str) -> list[Process]:
    """The living processes that run this program."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # A zombie has no program any more.
                if str((entry / "exe").readlink()).removesuffix(" (deleted)") == str(executable):
                    found.append(Process(int(entry.name)))
            except OSError:
                continue
    return found


def pinned(executable: Path | str, cpu: int, parent: int | None = None) -> Process | None:
    """The process of the application that keeps to this CPU: its worker, or its master.

    A core's process pins itself before it serves.
    """
    for process in processes(executable):
        try:
            if os.sched_getaffinity(process.pid) == {cpu} and parent in (None, process.parent):
                return process
        except OSError:
            continue
    return None


def no_process_left(executable: Path | str) -> None:
    wait_for("all processes end", lambda: not processes(executable))


def names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir())
