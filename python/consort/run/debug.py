# SPDX-License-Identifier: Apache-2.0
"""One task under a debugger: its steps once more, with the inputs that a run recorded, in one process.

A run under a debugger would not be the run: a stopped thread misses every deadline. So the system runs as it
always does, and the debugger gets the task afterwards, up to and with the job in which the run broke off.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput, SystemFails, nearest
from consort.model import Configuration, System
from consort.model.channel import STAND_IN
from consort.model.sources import StepReference
from consort.plan import plan
from consort.record.ran import EVENTS
from consort.record.raw import MANIFEST, RawRun
from consort.run import process
from consort.run.application import Prepared
from consort.run.options import Options, possible

_DEBUGGERS = ("gdb", "gdb-multiarch")
_BROKE = ("crashed", "worker-died", "over-budget")


@dataclass(frozen=True)
class Debugger:
    """A debugger that can be started, and the folder with the recording that it needs."""

    command: list[str]
    folder: Path

    def start_or_print(self) -> None:
        """Starts gdb on this terminal; where there is no gdb or no terminal, prints the command."""
        if shutil.which(self.command[0]) is not None and sys.stdin.isatty() and sys.stdout.isatty():
            subprocess.run(self.command)
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"debug:  {shlex.join(self.command)}\n        (remove {self.folder} afterwards)")


@contextmanager
def kept_recording() -> Iterator[Path]:
    """A folder for a recording that stays, unless the block ends with an exception."""
    folder = Path(tempfile.mkdtemp(prefix="consort-debug-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def debugged_configuration(system: System, options: Options, task: str) -> list[Configuration]:
    """The configuration to run for a debugger: the one that is asked for, else the last that is possible.

    `BadInput` unless the plan has the task, and it has a step.
    """
    made = plan(system, "linux", mode=options.mode, stand_ins=options.stand_ins)
    if task not in made.tasks:
        hint = nearest(task, made.tasks, "tasks")
        raise BadInput(f"there is no task {task!r}; {hint}", file=system.file, field="--debug")
    if made.tasks[task].step in (None, STAND_IN):
        raise BadInput(f"{task!r} has a stand-in, and no step to look at", file=system.file, field="--debug")
    wanted = list(options.configurations or possible(system, made, options))
    if options.configurations and len(wanted) > 1:
        raise BadInput("one configuration is debugged; name one", file=system.file, field="--only")
    return wanted[-1:]


def debugger_command(prepared: Prepared, scratch: Path, task: str, *, sanitized: bool = False) -> list[str]:
    """The gdb command that computes the task's recorded jobs again. `scratch`: where its run was recorded.

    It stops where the step breaks; where nothing broke, in the step's first job.
    """
    folder = _folder_of(scratch, task)
    step = prepared.plan.tasks[task].step
    assert isinstance(step, StepReference), "checked before the run"
    stops = [] if _broke(folder, task) else ["-ex", f"break {step.name}"]
    # With few debugging data some compilers leave the type of the variable out.
    then = [
        "-ex",
        "run",
        "-ex",
        'printf "job %lu of ' + task.replace("%", "%%") + '\\n", *(unsigned long*)&consort_job',
    ]
    options = [f"set environment {name} {value}" for name, value in process.ENVIRONMENT.items()]
    return [
        next((name for name in _DEBUGGERS if shutil.which(name)), _DEBUGGERS[0]),
        "-q",
        "-iex",
        "set debuginfod enabled off",
        *(word for option in options if sanitized for word in ("-ex", option)),
        *stops,
        *then,
        "-ex",
        "backtrace",
        "--args",
        str(prepared.program),
        "--config",
        str(folder / "config.json"),
        "--raw",
        str(folder / "raw"),
        "--replay",
        "--task",
        task,
    ]


def _folder_of(scratch: Path, task: str) -> Path:
    """The folder of the configuration that released the task: parts of a system may run one after another."""
    for folder in (scratch, *sorted(path for path in scratch.iterdir() if path.is_dir())):
        config = folder / "config.json"
        if (folder / "raw" / MANIFEST).is_file() and config.is_file():
            tasks = json.loads(config.read_text(encoding="utf-8"))["tasks"]
            if any(each["name"] == task for each in tasks):
                return folder
    raise SystemFails(f"the run recorded nothing of the task {task!r}")


def _broke(folder: Path, task: str) -> bool:
    """True if the task ended its core, or its worker."""
    raw = RawRun.load(folder / "raw")
    if "events" not in raw.tables or raw.ran is None:
        return False
    number = raw.ran.task_names.index(task)
    rows = raw.tables["events"].rows
    kinds = {EVENTS.index(name) for name in _BROKE}
    return any(row["task"] == number and int(row["kind"]) in kinds for row in rows)
