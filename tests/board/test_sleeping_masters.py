# SPDX-License-Identifier: Apache-2.0
"""A master without a timer interrupt that sleeps: its core executes other jobs until an answer is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import ROOT, recorded_and_judged
from consort.record.ran import STATUS

JOBS = 16


def described(folder: Path, wait: str) -> Path:
    """A task at a worker beside two of its master's; the worker is a process that takes its declared time, so
    that no core of the emulator executes in place of another."""
    text = (ROOT / "platforms/embedded-plus.yaml").read_text(encoding="utf-8")
    signal = "exchanges:\n  wake: {from: x86, to: r5f, max: 8us, assumed: a look between two blocks}\n"
    mine = text.replace("name: embedded-plus\n", "name: mine\n").replace("exchanges:\n", signal)
    (folder / "mine.yaml").write_text(mine, encoding="utf-8")
    data: dict[str, Any] = {
        "consort": 1,
        "platform": "mine.yaml",
        "assumed": "made up",
        "scheduling": {"r5f-0": {"policy": "fixed-priority", "wait": wait, "context_switch": "1us"}},
        "tasks": {
            "away": {
                "period": "1ms",
                "deadline": "900us",
                "priority": 20,
                "on": "x86-0",
                "master": "r5f-0",
                "execution": "offloaded",
                "wcet": {"x86": {"offloaded": "300us"}},
                "dispatch": {"send": "30us", "receive": "30us"},
                "writes": ["result"],
            },
            "near": {"period": "2ms", "priority": 10, "wcet": "200us", "on": "r5f-0", "reads": ["result"]},
            "slow": {"period": "4ms", "priority": 5, "wcet": "900us", "on": "r5f-0"},
        },
        "channels": {
            "away.in": {"kind": "periodic", "memory": "ddr", "size": "16B"},
            "away.out": {"kind": "periodic", "memory": "ddr", "size": "8B"},
            "result": {"kind": "sporadic", "memory": "ddr", "size": "64B"},
        },
        "run": {"iterations": JOBS},
    }
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


@pytest.mark.parametrize("wait", ["sleep", "spin"])
def test_other_jobs_execute_while_one_is_at_a_worker(tmp_path: Path, wait: str) -> None:
    raw, verdict = recorded_and_judged(
        described(tmp_path, wait), tmp_path / "raw", "versal", JOBS, stand_ins=True
    )
    assert verdict.ok, verdict.reasons
    rows = raw.tables["jobs"].rows
    away, near, slow = (np.sort(rows[rows["task"] == n], order="seq") for n in range(3))
    assert (len(away), len(near), len(slow)) == (JOBS, JOBS // 2, JOBS // 4)
    assert not (rows["status"] & STATUS["deadline_misses"]).any()
    # Each job released with it is over before the answer; or begins behind the whole job.
    beside = away[::2]
    if wait == "sleep":
        assert (near["start"] > beside["sent"]).all() and (near["finish"] < beside["received"]).all()
        # An answer preempts what is less urgent.
        first = away[::4]
        assert (slow["start"] < first["received"]).all() and (slow["finish"] > first["finish"]).all()
        # Looking for answers is part of what a job executes, and makes it no longer.
        took = near["compute"].astype(np.int64)
        assert (took <= 200_000).all() and (took > 0.98 * 200_000).all()
    else:
        assert (near["start"] >= beside["finish"]).all()
    # Every response has a bound, and keeps it.
    assert all(row.bound is not None for row in verdict.rows if row.quantity == "response")
