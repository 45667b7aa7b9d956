# SPDX-License-Identifier: Apache-2.0
"""Starts an executive's program with its configuration and waits for its recording."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.waiting import Progress
from consort.plan import Plan
from consort.record.ran import write_plan
from consort.record.raw import MANIFEST
from consort.run import sanitizer
from consort.run.interference import interfering
from consort.run.process import execute, signal_words

# The exit status of a run to whose end a core ended otherwise than by finishing (linux/program.hpp).
CORE_FAILS = 4


@dataclass(frozen=True)
class Launched:
    """The results of a program that ended.

    `command` started it and starts a replay with `--replay`. `status` is its exit status: 0, 1 where the run
    ended before its last job, or `CORE_FAILS`, with `words` on standard error, and `findings` of sanitizers
    among them.
    """

    raw: Path
    command: list[str]
    status: int
    words: str
    findings: tuple[str, ...]
    interference: Path | None
    notes: tuple[str, ...]


def launch(
    program: Path,
    config: Mapping[str, Any],
    folder: Path,
    what: str,
    progress: Progress,
    *,
    plan: Plan,
    sources: Sequence[str] = (),
    cpus: Sequence[int] = (),
    summary: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Launched:
    """Runs `program` once, with interference from `sources` on `cpus`, and leaves the recording in `folder`.

    `what` names the run for the user; `plan` is the one that runs; `summary`: the memory that a watcher looks
    at; `environment`: variables beside those of this process. Without a recording it raises `BadInput`,
    `EnvironmentLacks` or `SystemFails`, as the program ended.
    """
    config_file = folder / "config.json"
    config_file.write_text(json.dumps(config), encoding="utf-8")
    raw = folder / "raw"
    raw.mkdir()
    seconds = config["record"]["duration_ns"] / 1e9
    command = [str(program), "--config", str(config_file), "--raw", str(raw)]
    with interfering(sources, cpus, 3 * seconds + 60, folder / "interference") as state:
        # The application ends with this process, also when it is killed.
        watched = ["--summary", summary] if summary is not None else []
        whole = [*command, *watched, "--parent", str(os.getpid())]
        notes: list[str] = []
        status, words = execute(whole, seconds, what, progress, environment=environment, notes=notes)
    findings, words = sanitizer.findings_in(words)
    if status < 0:
        words = "\n".join(filter(None, [words, f"the supervisor was ended by {signal_words(-status)}"]))
        if not (raw / MANIFEST).is_file():
            # Its processes ended with it. What the recorder had written is kept.
            subprocess.run([*command, "--complete"], capture_output=True)
    # Bad input and a lacking machine end a run before its first job, perhaps after the recorder has begun.
    if not (raw / MANIFEST).is_file() or (status in (2, 3) and not _has_jobs(raw)):
        message = "; ".join([*findings, words] if words else findings)
        message = message or f"the application ended with status {status}"
        if status == 2:
            raise BadInput(message, file=plan.file)
        if status == 3:
            raise EnvironmentLacks(message, "see `consort doctor`")
        raise SystemFails(f"{what}: {message}; nothing was recorded")
    # Not before: the recorder takes an empty folder alone.
    write_plan(raw, plan)
    other = state.raw if state.raw is not None and (state.raw / MANIFEST).is_file() else None
    return Launched(raw, command, status, words, tuple(findings), other, (*state.notes, *notes))


def _has_jobs(raw: Path) -> bool:
    tables = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))["tables"]
    return any(table["name"] == "jobs" and table["rows"] for table in tables)
