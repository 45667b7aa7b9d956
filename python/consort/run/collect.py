# SPDX-License-Identifier: Apache-2.0
"""Prepares a raw run folder for the judge: joins workers' times, reads reference outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import SystemFails
from consort.base.toolchain.builds import cache_folder
from consort.base.waiting import Progress, Standstill, signal_words, silent
from consort.judge import Expected
from consort.model.channel import STAND_IN
from consort.plan import Plan
from consort.record.raw import MANIFEST, RawTable, TableSpec, table_entry
from consort.record.sections import numbered
from consort.record.tables import file_name
from consort.run.data import golden_outputs, struct_dtype
from consort.run.process import execute

# How long a job may take to be computed again [s].
REPLAY_S = 60.0


class ReplayFails(SystemFails):
    """Recorded jobs cannot be computed again; of their outputs `known` is what can be said."""

    def __init__(self, message: str, known: Mapping[str, Expected]) -> None:
        super().__init__(message)
        self.known = dict(known)


def _replayed(raw: Path) -> tuple[int, int] | None:
    """The task and job that the replay is at."""
    try:
        task, job = np.fromfile(raw / "replay-at", dtype="<u4", count=2)
    except (OSError, ValueError):
        return None
    return int(task), int(job)


def table_dtype(spec: Mapping[str, Any]) -> np.dtype[Any]:
    """A raw table's rows, as its manifest describes them."""
    return np.dtype(
        {
            "names": [f["name"] for f in spec["fields"]],
            "formats": ["<" + f["type"] for f in spec["fields"]],
            "offsets": [f["offset"] for f in spec["fields"]],
            "itemsize": spec["record_bytes"],
        }
    )


def output_dtype(layout: Mapping[str, Any]) -> np.dtype[Any]:
    """A step's outputs as the record has them: of a struct whose members nobody knows, words."""
    found = struct_dtype(layout)
    if found.names:
        return found
    words, rest = divmod(found.itemsize, 8)
    places = [*range(0, 8 * words, 8), *range(8 * words, found.itemsize)]
    return np.dtype(
        {
            "names": [f"bytes_{at}" for at in places],
            "formats": ["<u8"] * words + ["u1"] * rest,
            "offsets": places,
            "itemsize": found.itemsize,
        }
    )


def join_workers(raw: Path, tasks: int) -> None:
    """Fills in when a worker took up and answered each job, from the tables `served-<task>`.

    A worker knows a job by the number of its request, which counts the jobs that its master began to offload:
    not those of modes in which the core of the task computes itself.
    """
    manifest = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))
    tables = {table["name"]: table for table in manifest["tables"]}
    if not any(f"served-{task}" in tables for task in range(tasks)) or not tables["jobs"]["rows"]:
        return
    jobs = np.memmap(raw / tables["jobs"]["file"], dtype=table_dtype(tables["jobs"]), mode="r+")
    for task in range(tasks):
        spec = tables.get(f"served-{task}")
        if spec is None or not spec["rows"]:
            continue
        served = np.fromfile(raw / spec["file"], dtype=table_dtype(spec))
        # The end of each has a time, whether it was answered or given up.
        began = np.flatnonzero((jobs["task"] == task) & (jobs["received"] != 0))
        at = served["sequence"].astype(np.int64) - 1
        known = (at >= 0) & (at < began.size)
        rows = began[at[known]]
        jobs["worker_receive"][rows] = served["receive"][known]
        jobs["worker_send"][rows] = served["send"][known]
    jobs.flush()


def golden_of(
    made: Plan, layouts: Mapping[str, Any], rows: Mapping[str, NDArray[Any]], progress: Progress
) -> dict[str, Expected]:
    """The outputs that the description itself gives, by task; `rows` of recorded inputs by task."""
    found = {}
    for task in made.tasks.values():
        if task.golden is not None and task.name in rows:
            progress(f"golden outputs of {task.name}", None)
            out = struct_dtype(layouts[task.name]["out"])
            inputs, cache = rows[task.name], cache_folder() / "golden"
            golden = golden_outputs(made.file, task.name, task.golden, inputs, out, cache)
            allowed = {member: steps.count for member, steps in task.golden.tolerance.items()}
            found[task.name] = Expected(golden, "input", allowed, "golden")
    return found


def replay_command(program: Path, raw: Path) -> list[str]:
    """The program of a plan that computes the jobs of a raw run folder again in logical order."""
    return [str(program), "--config", str(raw / "config.json"), "--raw", str(raw), "--replay"]


def expected_outputs(
    replay: Sequence[str],
    raw: Path,
    made: Plan,
    described: Mapping[str, Any],
    golden: Mapping[str, Expected],
    title: str,
) -> dict[str, Expected]:
    """The expected outputs of each task; `replay` computes the recorded jobs again in logical order.

    `ReplayFails` where it cannot.
    """
    stands = Standstill(REPLAY_S)
    killed: list[int] = []

    def hangs(pid: int) -> bool:
        if not killed and stands.over(_replayed(raw)):
            killed.append(pid)
        return bool(killed)

    status, words = execute(list(replay), math.inf, f"{title}: checking outputs", silent, hangs=hangs)
    if status != 0:
        task, job = _replayed(raw) or (len(made.tasks), 0)
        where = f"of task {list(made.tasks)[task]}, job {job}, " if task < len(made.tasks) else ""
        if killed:
            how = f"did not go on for {REPLAY_S:.0f} s and was ended"
        elif status < 0:
            how = f"was ended by {signal_words(-status)}"
        else:
            how = words or f"ended with status {status}"
        raise ReplayFails(f"the replay {where}{how}: outputs are not checked", golden)
    # Golden outputs come from somebody else's code: where there are some, they say more.
    return {**reference_outputs(raw, made, described), **golden}


def plant_tables(raw: Path, described: Mapping[str, Any]) -> dict[str, RawTable]:
    """The states of each plant in its logical time, as the replay left them; none where it was not made."""
    found = {}
    for number, device in enumerate(described["devices"]):
        file = raw / f"plant-{number}.bin"
        if not device["state"]["bytes"] or not file.is_file():
            continue
        name = f"plant-{file_name(device['name'])}"
        rows: NDArray[Any] = np.fromfile(file, dtype=numbered(output_dtype(device["state"]), "t_ns"))
        entry = table_entry(name, rows)
        entry["fields"][0]["unit"] = "ns"
        found[name] = RawTable(TableSpec.model_validate(entry), rows)
    return found


def reference_outputs(raw: Path, made: Plan, described: Mapping[str, Any]) -> dict[str, Expected]:
    """The outputs of the same steps in logical order, for each task whose outputs can be predicted."""
    found = {}
    layouts = {known["name"]: known for known in described["tasks"]}
    for number, name in enumerate(made.tasks):
        layout = layouts[name]
        file = raw / f"reference-{number}.bin"
        if not file.is_file() or made.tasks[name].step == STAND_IN:
            continue
        if not layout["out"]["bytes"]:
            continue
        out = output_dtype(layout["out"])
        row = np.dtype([("seq", "<u8"), ("out", out)])
        rows: NDArray[Any] = np.fromfile(file, dtype=row)
        size = int(rows["seq"].max()) + 1 if rows.size else 0
        expected = np.zeros(size, dtype=out)
        known = np.zeros(size, dtype=np.bool_)
        expected[rows["seq"]] = rows["out"]
        known[rows["seq"]] = True
        found[name] = Expected(expected, known=known)
    return found
