# SPDX-License-Identifier: Apache-2.0
"""Raw folders of whole systems, as the executive writes them, made up so that no executive is needed.

A `Recording` collects jobs, channel operations, events and outputs in nanoseconds (a tick is a nanosecond,
and time starts at `T0`, so that no time stamp is 0) and writes the raw folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from consort.record import RawRun
from consort.record.ran import write_plan
from made_plan import FACTS, cores_of, made_plan

T0 = 1_000_000
STAMPS = (
    "release",
    "ready",
    "start",
    "sent",
    "worker_receive",
    "worker_send",
    "received",
    "loaded",
    "executed",
    "finish",
)
JOB = np.dtype(
    [(name, "<u8") for name in (*STAMPS, "compute")]
    + [("seq", "<u4"), ("status", "<u4"), ("task", "<u2"), ("core", "<u2"), ("input", "<u4")]
)
OPERATION = np.dtype(
    [("time", "<u8"), ("sequence", "<u8"), ("seq", "<u4")]
    + [(name, "<u2") for name in ("task", "channel", "kind", "count")]
    + [("reserved", "<u4")]
)
EVENT = np.dtype(
    [
        ("time", "<u8"),
        ("value", "<u8"),
        ("kind", "<u2"),
        ("task", "<u2"),
        ("core", "<u2"),
        ("cause", "<u2"),
    ]
)
assert (JOB.itemsize, OPERATION.itemsize, EVENT.itemsize) == (104, 32, 24)
NONE = 0xFFFF


class Recording:
    """A system of tasks {name: facts}, channels and chains; jobs and the rest are added one by one."""

    def __init__(self, tasks: dict[str, dict[str, Any]], **config: Any) -> None:
        self.tasks = {name: FACTS | facts for name, facts in tasks.items()}
        self.cores = cores_of(self.tasks)
        self.channels: list[dict[str, Any]] = config.pop("channels", [])
        self.chains: list[dict[str, Any]] = config.pop("chains", [])
        cpus = {core: number for number, core in enumerate(self.cores)}
        self.config = {"configuration": "local-off", "time_scale": 1, "cpus": cpus} | config
        self.rows: list[dict[str, int]] = []
        self.operations: list[tuple[int, ...]] = []
        self.happened: list[tuple[int, ...]] = []
        self.outputs: dict[int, Any] = {}
        self.counters: dict[str, int] = {}
        self.provenance = "measured"
        self.realtime: dict[str, Any] = {}

    def job(self, task: str, seq: int, start: int, finish: int, **more: int) -> None:
        """A job that starts and ends so many ns after its release; 0 for `finish`: it did not end."""
        facts = self.tasks[task]
        release = T0 + facts["offset_ns"] + seq * facts["period_ns"]
        row = dict.fromkeys((*STAMPS, "compute", "status", "input"), 0) | {
            "release": release,
            "ready": release,
            "start": release + start if finish or start else 0,
            "finish": release + finish if finish else 0,
            "compute": max(finish - start, 0),
            "seq": seq,
            "task": list(self.tasks).index(task),
            "core": self.cores.index(facts["core"]),
        }
        for name, value in more.items():
            row[name] = release + value if name in STAMPS else value
        if "status" not in more and (not finish or finish > facts["deadline_ns"]):
            row["status"] = 1 if finish else 0b1000_0001
        self.rows.append(row)

    def operation(self, task: str, seq: int, channel: int, kind: int, sequence: int, at: int) -> None:
        self.operations.append((T0 + at, sequence, seq, list(self.tasks).index(task), channel, kind, 1, 0))

    def event(
        self,
        kind: int,
        at: int,
        value: int = 0,
        task: str | None = None,
        core: str | None = None,
        why: int = 0,
    ) -> None:
        number = NONE if task is None else list(self.tasks).index(task)
        place = NONE if core is None else self.cores.index(core)
        self.happened.append((T0 + at, value, kind, number, place, why))

    def write(self, folder: Path) -> RawRun:
        """Writes the raw folder and reads it back."""
        folder.mkdir(parents=True)
        jobs = np.zeros(len(self.rows), dtype=JOB)
        for index, row in enumerate(self.rows):
            for name, value in row.items():
                jobs[index][name] = value
        tables = {
            "jobs": jobs,
            "operations": np.array(self.operations, dtype=OPERATION),
            "events": np.array(self.happened, dtype=EVENT),
        } | {f"outputs-{task}": rows for task, rows in self.outputs.items()}
        specs = []
        for name, rows in tables.items():
            (folder / f"{name}.bin").write_bytes(rows.tobytes())
            specs.append(
                {
                    "name": name,
                    "file": f"{name}.bin",
                    "rows": len(rows),
                    "record_bytes": rows.dtype.itemsize,
                    "fields": [_field(rows.dtype, field) for field in rows.dtype.names],
                }
            )
        manifest = {
            "format": 1,
            "program": "made up",
            "config": self.config,
            "clock": {
                "name": "made up",
                "ticks_per_second": 1e9,
                "resolution_ticks": 1,
                "provenance": self.provenance,
            },
            "tables": specs,
            "counters": self.counters,
            "realtime": self.realtime,
        }
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        write_plan(folder, made_plan(self.tasks, self.channels, self.chains))
        return RawRun.load(folder)


def _field(dtype: np.dtype[Any], name: str) -> dict[str, Any]:
    kind, offset = dtype.fields[name][:2]  # type: ignore[index]
    field: dict[str, Any] = {"name": name, "type": kind.str[1:], "offset": offset}
    if name in STAMPS or name == "time":
        field |= {"unit": "tick", "kind": "timestamp"}
    elif name == "compute":
        field |= {"unit": "tick", "kind": "duration"}
    return field


def steady(jobs: int = 100, **config: Any) -> Recording:
    """One task of one core, served on time by every job: 1 us after a release it starts, 20 us later it"
    " ends."""
    recording = Recording({"servo": {"wcet_ns": 25_000}}, duration_ns=jobs * 100_000, **config)
    for seq in range(jobs):
        recording.job("servo", seq, 1_000, 21_000)
    return recording
