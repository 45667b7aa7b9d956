# SPDX-License-Identifier: Apache-2.0
"""Tasks that share a priority are served in the order of their releases, and none preempts another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.record.ran import STATUS
from run_support import ran, write

POLICIES = ("fixed-priority", "fixed-priority-non-preemptive")
# `late` stands first and comes last: while `soon` waits behind `long`, and 50 ms later while it executes.
TASKS: dict[str, Any] = {
    "late": {"period": "50ms", "offset": "10ms", "wcet": "5ms", "priority": 5},
    "soon": {"period": "50ms", "offset": "5ms", "wcet": "10ms", "priority": 5},
    "long": {"period": "100ms", "wcet": "20ms", "priority": 9},
}
LATE, SOON = (list(TASKS).index(name) for name in ("late", "soon"))
NOT_SERVED = STATUS["unserved"] | STATUS["aborted"]


def compared(folder: Path, policy: str, target: str, change: dict[str, Any]) -> int:
    """The pairs of jobs that were served, all in the right order."""
    tasks = {name: {"on": "master-0", **task} for name, task in TASKS.items()}
    data = {
        "tasks": tasks,
        "scheduling": {"master-0": {"policy": policy}},
        "run": {"interference": [], "time_base": "sleep"},
        **change,
    }
    found = ran(write(folder, data), stand_ins=True, target=target, duration_ps=10**12)
    jobs = np.array(found.raw.tables["jobs"].rows)
    served = jobs[(jobs["status"] & NOT_SERVED == 0) & (jobs["finish"] > 0)]
    late, soon = ({int(job["seq"]): job for job in served[served["task"] == place]} for place in (LATE, SOON))
    both = soon.keys() & late.keys()
    for seq in both:
        assert soon[seq]["finish"] <= late[seq]["start"], f"job {seq}"
    return len(both)


@pytest.mark.representative
@pytest.mark.parametrize("policy", POLICIES)
def test_in_virtual_time(policy: str, tmp_path: Path) -> None:
    assert compared(tmp_path, policy, "virtual", {}) == 20


@pytest.mark.realtime(when="run")
@pytest.mark.representative
@pytest.mark.parametrize("policy", POLICIES)
def test_on_this_machine(policy: str, tmp_path: Path) -> None:
    assert compared(tmp_path, policy, "linux", {}) > 0


@pytest.mark.realtime(when="run")
def test_on_this_machine_where_modes_change(tmp_path: Path) -> None:
    modes = {
        "modes": {"one": {"tasks": list(TASKS)}, "two": {"tasks": list(TASKS)}},
        "mode_changes": {"start": "one", "agreement": "1ms", "requests": [{"at": "440ms", "to": "two"}]},
    }
    assert compared(tmp_path, POLICIES[1], "linux", modes) > 0
