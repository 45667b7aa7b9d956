# SPDX-License-Identifier: Apache-2.0
"""A small description, the command that runs it, and a look at the processes that a run consists of."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from consort.model import load_system
from consort.record import RawRun
from consort.record.columns import STATUS
from consort.runner.application import Options, Prepared, app_config, prepare
from consort.runner.golden import mark_output_errors

DIGEST = Path(__file__).parent / "digest"
CONSORT = Path(sys.executable).with_name("consort")
# Longer than anything here takes on a machine that is not broken; never waited out when all is well.
PATIENCE = 60.0

MISSED, HELD = STATUS["deadline_misses"], STATUS["outputs_held"]
FALLBACK, LOST = STATUS["local_fallbacks"], STATUS["worker_dead"]
WRONG, SKIPPED = STATUS["output_errors"], STATUS["releases_skipped"]

TASK: dict[str, Any] = {
    "step": "step.hpp::digest::step",
    "period": "2ms",
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


def both(slow_period: str = "5ms", **changes: Any) -> dict[str, Any]:
    """The digest task with changes, and a slower one beside it on the same core.

    Every description has both, so that all share one program: compiling takes longer than anything else here.
    """
    shared = {k: v for k, v in changes.items() if k in ("on", "execution", "master", "restart_worker")}
    policy = "hold-last-output" if changes.get("execution") == "local" else "local-fallback"
    slow = task(step="step.hpp::digest::slow_step", period=slow_period, on_miss=policy, **shared)
    return {"digest": task(**changes), "slow": slow}


def describe(folder: Path, tasks: Mapping[str, Any] | None = None, **run: Any) -> Path:
    """Writes a description, with the files it names beside it. JSON is YAML too."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("step.hpp", "digest.py"):
        shutil.copy(DIGEST / name, folder)
    settings = {"iterations": 150, "time_base": "sleep", "interference": [], **run}
    description = folder / "system.yaml"
    description.write_text(
        json.dumps(
            {
                "consort": 1,
                "platform": "linux-host",
                "tasks": dict(tasks or both()),
                "run": settings,
            },
            indent=1,
        ),
        encoding="utf-8",
    )
    return description


def consort(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [str(CONSORT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, **options)


def wait_for(what: str, look: Callable[[], Any]) -> Any:
    """What `look` finds, as soon as it finds something."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {PATIENCE:.0f} s")


@dataclass(frozen=True)
class Process:
    """A process, as /proc shows it."""

    pid: int

    @property
    def parent(self) -> int | None:
        """Its parent, None when it has ended."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        return int(stat.rpartition(")")[2].split()[1])

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

    A worker pins itself before it serves.
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


@dataclass
class Started:
    """A running application, started without the command around it."""

    popen: subprocess.Popen[str]
    config: dict[str, Any]
    raw: Path
    prepared: Prepared

    def worker(self) -> Process | None:
        return pinned(self.prepared.program, self.config["worker_cpus"][0], self.popen.pid)

    def end(self) -> Recorded:
        _, words = self.popen.communicate(timeout=PATIENCE)
        no_process_left(self.prepared.program)
        assert (self.raw / "manifest.json").is_file(), words
        mark_output_errors(self.raw, self.prepared.golden, self.prepared.out_dtypes)
        return Recorded(self.popen.returncode, words, RawRun.load(self.raw), self.prepared)


@dataclass
class Recorded:
    """What an application left behind."""

    status: int
    words: str
    raw: RawRun
    prepared: Prepared

    @property
    def counters(self) -> dict[str, int | float]:
        return self.raw.manifest.counters

    def jobs(self, kind: int = 0, skipped: bool = False) -> np.ndarray:
        """A task's jobs in order; releases that were skipped only when asked for."""
        rows = np.array(self.raw.tables["jobs"].rows)
        rows = rows[rows["kind"] == kind]
        return rows if skipped else rows[(rows["status"] & SKIPPED) == 0]

    def outputs(self, name: str = "digest") -> np.ndarray:
        """The outputs of the jobs (without skipped releases), row for row."""
        kind = list(self.prepared.inputs).index(name)
        rows = np.fromfile(self.raw.path / f"outputs-{name}.bin", self.prepared.out_dtypes[kind])
        return rows[(self.jobs(kind, skipped=True)["status"] & SKIPPED) == 0]

    def ticks(self, event: str) -> list[int]:
        return [e.tick for e in self.raw.manifest.events if e.name == event]


def start(
    prepared: Prepared,
    scratch: Path,
    key: Any = "offloaded-off",
    changes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Started:
    """Starts the application as `consort run` does, with changes of its configuration file."""
    scratch.mkdir(parents=True)
    config = app_config(prepared, key, Options(**options), scratch) | dict(changes or {})
    file = scratch / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    raw = scratch / "raw"
    raw.mkdir()
    command = [str(prepared.program), "--config", str(file), "--raw", str(raw), "--parent", str(os.getpid())]
    popen = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return Started(popen, config, raw, prepared)


def prepared(folder: Path, tasks: Mapping[str, Any] | None = None, **run: Any) -> Prepared:
    return prepare(load_system(describe(folder, tasks, **run)), lambda _what, _share: None)


def names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir())
