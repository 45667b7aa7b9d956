# SPDX-License-Identifier: Apache-2.0
"""Raw run folders made up from a seed, in the form that the measuring programs write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

TICKS_PER_SECOND = 2_596_100_000.0
PERIOD_NS = 50_000
JOB = np.dtype(
    [
        ("release", "<u8"),
        ("start", "<u8"),
        ("sent", "<u8"),
        ("received", "<u8"),
        ("finish", "<u8"),
        ("compute", "<u8"),
        ("worker_receive", "<u8"),
        ("worker_send", "<u8"),
        ("seq", "<u4"),
        ("status", "<u4"),
        ("worker", "<u2"),
        ("kind", "<u2"),
        ("step", "<u4"),
    ]
)
ACTIVITY = np.dtype([("t", "<u8"), ("bytes", "<u8"), ("source", "<u4"), ("_pad", "<u4")])
TIMESTAMPS = {"release", "start", "sent", "received", "finish", "worker_receive", "worker_send", "t"}
assert JOB.itemsize == 80


def make_jobs(n: int, seed: int, *, offloaded: bool = True, slower: float = 1.0) -> np.ndarray[Any, Any]:
    """Jobs of a plausible run: a sharp peak, a second mode, and a heavy tail."""
    random = np.random.default_rng(seed)

    def ticks(ns: Any) -> Any:
        return np.rint(np.asarray(ns) * TICKS_PER_SECOND / 1e9).astype(np.uint64)

    jobs = np.zeros(n, dtype=JOB)
    release = 10_000_000_000 + ticks(np.arange(n, dtype=np.float64) * PERIOD_NS)
    jobs["release"] = release
    jobs["start"] = release + ticks(random.gamma(2.0, 40, n) + 60)
    compute = random.normal(1500, 40, n) * slower + (random.random(n) < 0.02) * random.exponential(600, n)
    compute = np.maximum(compute, 900)
    jobs["compute"] = ticks(compute)
    tail = (random.random(n) < 0.002) * random.pareto(1.6, n) * 800
    if offloaded:
        jobs["sent"] = jobs["start"] + ticks(np.full(n, 80.0))
        jobs["worker_receive"] = jobs["sent"] + ticks(random.gamma(3, 40, n) + 100 + tail)
        jobs["worker_send"] = jobs["worker_receive"] + jobs["compute"]
        jobs["received"] = jobs["worker_send"] + ticks(random.gamma(3, 40, n) + 100)
        jobs["finish"] = jobs["received"] + ticks(np.full(n, 60.0))
    else:
        jobs["finish"] = jobs["start"] + jobs["compute"] + ticks(tail + 40)
    jobs["seq"] = np.arange(n)
    jobs["step"] = np.arange(n) % 1000
    jobs["status"] = (jobs["finish"] - jobs["release"] > ticks(PERIOD_NS)).astype(np.uint32)
    return jobs


def make_activity(n: int, seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    rows = np.zeros(n, dtype=ACTIVITY)
    rows["t"] = 10_000_000_000 + np.arange(n, dtype=np.uint64) * 2_596_100
    rows["bytes"] = random.integers(4_000_000, 9_000_000, n)
    rows["source"] = np.arange(n) % 2
    return rows


def field_specs(dtype: np.dtype[Any]) -> list[dict[str, Any]]:
    specs = []
    for name in dtype.names or ():
        if name.startswith("_"):
            continue
        kind, offset = dtype.fields[name][:2]  # type: ignore[index]
        spec: dict[str, Any] = {"name": name, "type": kind.str[1:], "offset": offset}
        if name in TIMESTAMPS:
            spec |= {"unit": "tick", "kind": "timestamp"}
        elif name in ("compute", "ticks"):
            spec |= {"unit": "tick", "kind": "duration"}
        elif name == "bytes":
            spec |= {"unit": "byte"}
        specs.append(spec)
    return specs


def write_raw(folder: Path, tables: dict[str, np.ndarray[Any, Any]], **extra: Any) -> Path:
    """Writes the tables and, last, the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    manifest: dict[str, Any] = {
        "format": 1,
        "program": "synthetic",
        "config": {"deadline_ns": PERIOD_NS},
        "clock": {
            "name": "tsc",
            "ticks_per_second": TICKS_PER_SECOND,
            "resolution_ticks": 26,
            "provenance": "measured",
        },
        "tables": [
            {
                "name": name,
                "file": f"{name}.bin",
                "rows": len(rows),
                "record_bytes": rows.dtype.itemsize,
                "fields": field_specs(rows.dtype),
                "attrs": {},
            }
            for name, rows in tables.items()
        ],
        "events": [],
        "counters": {},
        "realtime": {"cpu": 0, "policy": "SCHED_FIFO", "priority": 80, "mlockall": True, "notes": []},
    }
    manifest |= extra
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
