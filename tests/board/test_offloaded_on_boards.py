# SPDX-License-Identifier: Apache-2.0
"""Offloaded tasks of the executive on boards: several beside local ones, and every miss policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import ROOT, board, consort
from board_support import recorded_and_judged as run
from consort.base.errors import BadInput
from consort.board.placement import placement
from consort.judge import Verdict
from consort.model import load_system
from consort.record import RawRun
from consort.record.ran import STATUS

LOCAL: dict[str, Any] = {"execution": "local"}
NON_PREEMPTIVE = {"policy": "fixed-priority-non-preemptive"}


def description(
    folder: Path, platform: str, master: str, worker: str, tasks: dict[str, dict[str, Any]], **policy: Any
) -> Path:
    """Tasks of tests/board/tasks/step.hpp; those that are not local have the worker."""
    folder.mkdir(exist_ok=True)
    made = {}
    for name, given in tasks.items():
        step = f"{ROOT}/tests/board/tasks/step.hpp::{given.get('step', name)}::step"
        task = {"on": worker, "execution": "offloaded", "master": master, **given, "step": step}
        if task["execution"] == "local":
            del task["master"]
            task["on"] = master
        made[name] = task
    data = {"consort": 1, "platform": platform, "tasks": made, "run": {"iterations": 20}}
    if policy:
        data["scheduling"] = {master: policy}
    file = folder / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def of(record: RawRun, task: int) -> np.ndarray:
    rows = record.tables["jobs"].rows
    return rows[rows["task"] == task]


TASKS = {
    "fast": {"period": "1ms", "deadline": "900us"},
    "middle": {"period": "2ms", "offset": "100us"},
    "mine": {"step": "fast", "period": "4ms", **LOCAL},
}


# The master's core waits so while a job of its is at the worker.
waits = pytest.mark.parametrize("wait", ["spin", "sleep"])


@waits
def test_two_offloaded_tasks_and_a_local_one_share_a_core(tmp_path: Path, wait: str) -> None:
    file = description(tmp_path / "s", "versal", "r5f-0", "a72-0", TASKS, **NON_PREEMPTIVE, wait=wait)
    record, verdict = run(file, tmp_path / "raw", "versal")
    # Computed by the worker, or here, in the same order: the same outputs as in logical order.
    assert verdict.status is not None and not verdict.status.any()
    fast, middle, mine = (of(record, n) for n in range(3))
    assert (len(fast), len(middle), len(mine)) == (20, 10, 5)
    for jobs in (fast, middle):
        assert not jobs["status"].any() and (jobs["received"] > jobs["sent"]).all()
        # The worker's time, in the record's unit.
        assert (jobs["compute"] > 0).all() and (jobs["compute"] <= jobs["received"] - jobs["sent"]).all()
    assert (mine["sent"] == 0).all() and (mine["compute"] > 0).all()
    if wait == "spin":
        # Non-preemptive, and the core does nothing else: its jobs follow one another.
        order = np.sort(record.tables["jobs"].rows, order="start")
        assert (order["finish"][:-1] <= order["start"][1:]).all()
    assert record.manifest.clock.provenance == "counted"


@pytest.mark.parametrize("kind", ["armv7", "ppc64"])
def test_a_process_beside_the_board_works_for_two_tasks(kind: str, tmp_path: Path) -> None:
    """Also one of the other order of bytes."""
    # Untimed: what is released together is served by urgency, whatever the process takes.
    file = description(tmp_path / "s", "beside.yaml", "m4-0", "a7-0", TASKS)
    text = (ROOT / "platforms/stm32mp157.yaml").read_text(encoding="utf-8")
    file.with_name("beside.yaml").write_text(
        text.replace("name: stm32mp157", "name: beside").replace("a7-0: armv7", f"a7-0: {kind}"),
        encoding="utf-8",
    )
    record, verdict = run(file, tmp_path / "raw", "mps2")
    assert verdict.status is not None and not verdict.status.any()
    assert [len(of(record, n)) for n in range(3)] == [20, 10, 5]
    jobs = record.tables["jobs"].rows
    assert not (jobs["status"] & ~np.uint32(STATUS["late_answers_discarded"])).any()
    assert record.manifest.clock.provenance == "emulated"


@pytest.mark.slow
def test_a_core_and_a_process_work_for_one_master(tmp_path: Path) -> None:
    tasks = {"fast": {"period": "1ms"}, "middle": {"period": "2ms", "on": "x86-0"}}
    file = description(tmp_path / "s", "embedded-plus", "r5f-0", "a72-0", tasks, **NON_PREEMPTIVE)
    record, verdict = run(file, tmp_path / "raw", "versal")
    assert verdict.status is not None and not verdict.status.any()
    assert not record.tables["jobs"].rows["status"].any()


@pytest.mark.slow
def test_a_process_works_for_two_masters(tmp_path: Path) -> None:
    # One master ends long before the other; the worker serves until both have.
    tasks = {"fast": {"period": "1ms"}, "middle": {"period": "100us", "master": "a72-0"}}
    file = description(tmp_path / "s", "embedded-plus", "r5f-0", "x86-0", tasks)
    record, verdict = run(file, tmp_path / "raw", "versal")
    assert verdict.status is not None and not verdict.status.any()
    assert (len(of(record, 0)), len(of(record, 1))) == (20, 200)
    assert not record.tables["jobs"].rows["status"].any()


# The deadline is over before the request is written, and each policy says what then. (While a worker computes
# the emulator runs nothing else, so that a deadline within a step is not seen to pass.)
def late(folder: Path, policy: str, wait: str) -> tuple[RawRun, Verdict]:
    tasks = {
        "fast": {"period": "2ms", "deadline": "300ns", "on_miss": policy},
        "mine": {"step": "fast", "period": "4ms", **LOCAL},
    }
    file = description(folder / "s", "versal", "r5f-0", "a72-0", tasks, **NON_PREEMPTIVE, wait=wait)
    return run(file, folder / "raw", "versal", jobs=6)


@waits
def test_an_answer_that_is_late_is_held(tmp_path: Path, wait: str) -> None:
    record, verdict = late(tmp_path, "hold-last-output", wait)
    fast, mine = of(record, 0), of(record, 1)
    assert len(fast) == 6 and len(mine) == 3
    assert ((fast["status"] & STATUS["outputs_held"]) != 0).all()
    assert ((fast["status"] & STATUS["deadline_misses"]) != 0).all()
    # The worker did answer, each time after the master had given up: the next job threw that away.
    assert ((fast["status"][1:] & STATUS["late_answers_discarded"]) != 0).all()
    # Given up at once: what else the core has to do goes on.
    assert not mine["status"].any() and not verdict.ok


@pytest.mark.parametrize("wait", ["spin", pytest.param("sleep", marks=pytest.mark.representative)])
def test_a_late_answer_is_computed_by_the_master(tmp_path: Path, wait: str) -> None:
    record, verdict = late(tmp_path, "local-fallback", wait)
    fast = of(record, 0)
    assert ((fast["status"] & STATUS["local_fallbacks"]) != 0).all()
    # From the same states: the outputs are those of the steps in logical order.
    assert verdict.status is not None and not verdict.status.any()


@waits
def test_a_late_answer_ends_the_run(tmp_path: Path, wait: str) -> None:
    record, verdict = late(tmp_path, "stop", wait)
    assert len(of(record, 0)) == 1 and not verdict.ok
    # Most planned jobs did not run, and the verdict says so.
    assert any(count.released < count.planned for count in verdict.tasks)


def test_the_command_runs_and_judges_it(tmp_path: Path) -> None:
    board("versal")
    file = description(tmp_path / "s", "versal", "r5f-0", "a72-0", TASKS, **NON_PREEMPTIVE)
    done = consort("run", str(file), "--counted", "--root", str(tmp_path / "runs"), "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["configurations"]
    assert (found["counters"]["jobs"], found["jobs"]["output_errors"]) == (35, 0)


@pytest.mark.parametrize(
    ("platform", "master", "worker", "changes", "policy", "said"),
    [
        ("versal", "r5f-0", "a72-0", {}, {}, "has no timer interrupt"),
        ("versal", "a72-0", "r5f-0", {}, {"wait": "sleep"}, "interrupted by its timer and by no answer"),
        ("stm32mp157", "a7-0", "m4-0", {}, {}, "'a7-0' is a process in the board's time, where"),
        ("versal", "r5f-0", "a72-0", {"restart_worker": True}, NON_PREEMPTIVE, "is not started again"),
    ],
)
def test_what_a_board_cannot_do_is_refused(
    tmp_path: Path,
    platform: str,
    master: str,
    worker: str,
    changes: dict[str, Any],
    policy: dict[str, Any],
    said: str,
) -> None:
    tasks = {**TASKS, "fast": {**TASKS["fast"], **changes}}
    file = description(tmp_path / "s", platform, master, worker, tasks, **policy)
    with pytest.raises(BadInput, match=said):
        placement(load_system(file))
