# SPDX-License-Identifier: Apache-2.0
"""A job that has begun is preempted only by tasks above its threshold: here and in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_support import Ran, ran, write

pytestmark = pytest.mark.realtime(when="run")

TASKS: dict[str, dict[str, Any]] = {
    "high": {"period": "4ms", "wcet": "200us", "offset": "1ms", "priority": 30},
    "middle": {"period": "20ms", "wcet": "200us", "offset": "2ms", "priority": 20},
    "low": {"period": "20ms", "wcet": "8ms", "bcet": "8ms", "priority": 10, "preemption_threshold": 25},
}


def inside(found: Ran, name: str) -> int:
    """The number of a task's jobs that began while a job of the least urgent one was under way."""
    jobs, low = found.jobs(name), found.jobs("low")
    began = (jobs["start"] > low["start"][:, None]) & (jobs["start"] < low["finish"][:, None])
    return int(np.count_nonzero(began))


def policies_of(found: Ran) -> set[str]:
    return {core["policy"] for core in found.raw.manifest.realtime["workers"]}


@pytest.mark.parametrize("target", ["linux", "virtual"])
def test_what_is_not_above_the_threshold_waits(tmp_path: Path, target: str) -> None:
    tasks = {name: {"on": "master-0", "step": "stand-in"} | task for name, task in TASKS.items()}
    run = {"iterations": 75, "interference": [], "seed": 1}
    file = write(tmp_path / "system", {"tasks": tasks, "run": run})
    found = ran(file, "local-off", **({"target": target} if target == "virtual" else {}))
    assert found.jobs("low").size
    # Where the machine refuses SCHED_FIFO, no priority of a thread means anything.
    if target == "virtual" or policies_of(found) == {"SCHED_FIFO"}:
        assert inside(found, "high") > 0
        assert inside(found, "middle") == 0
