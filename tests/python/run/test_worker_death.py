# SPDX-License-Identifier: Apache-2.0
"""A worker that is killed or stopped at any moment: survived by the policy, and no output is wrong.

No time is asserted, only the order of what was recorded: a busy machine may preempt master, worker and
supervisor at any place.
"""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from consort.record import Held
from run_support import (
    DIGEST,
    FALLBACK,
    HELD,
    LOST,
    MISSED,
    WRONG,
    Ran,
    beside_time,
    both,
    consort,
    describe,
    ran,
)

sys.path.insert(0, str(DIGEST))
from digest import digest

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]
JOBS, PERIOD_MS = 60, 10
MS = 1_000_000


def killed(folder: Path, policy: str, restart: bool, at_ms: float, rows: int = 4 * JOBS) -> Ran:
    """A run whose worker is killed at a moment, counted from its first release."""
    described = both(
        slow_period=f"{5 * PERIOD_MS}ms",
        period=f"{PERIOD_MS}ms",
        on_miss=policy,
        restart_worker=restart,
        input={"function": "digest.py::inputs", "arguments": {"rows": rows}},
    )
    # The other task must not end the run where this one may not.
    described["slow"]["restart_worker"] = restart
    folder.mkdir()
    found = ran(
        describe(folder, described, iterations=JOBS), "offloaded-off", kill_worker_at_ns=int(at_ms * MS)
    )
    died = found.events("worker-died")
    if policy == "stop" and not died.size:
        # A busy machine missed a deadline before the kill, which ends the run as well.
        assert found.jobs("digest")["status"][-1] & MISSED or found.jobs("slow")["status"][-1] & MISSED
        return killed(folder.with_name(folder.name + "-again"), policy, restart, at_ms / 2, rows)
    assert died["value"].tolist() == [signal.SIGKILL]
    assert found.counters["worker_deaths"] == 1
    # Where outputs are held, the state may lack the inputs of the jobs that got none: see test_held_outputs.
    assert found.wrong == 0 or policy == "hold-last-output"
    return found


def moments(seeds: range) -> list[float]:
    """Moments from before the first release to well before the end, so that releases remain to notice it."""
    return [0.0, *(random.Random(seed).uniform(0.0, 0.6 * JOBS * PERIOD_MS) for seed in seeds)]


def after_death(found: Ran) -> np.ndarray:
    """The first jobs that ended after the supervisor had seen the death and did not get the worker's answer.

    One job at most was sent before: it may have been answered, with its last breath.
    """
    (death,) = found.events("worker-died")["time"]
    jobs = found.jobs("digest")
    after = jobs[jobs["finish"] > death]
    assert after.size, "the worker was killed before the last release"
    if not after["status"][0] & (FALLBACK | HELD):
        assert after["sent"][0] < death
        after = after[1:]
    return after


@pytest.mark.representative
@pytest.mark.parametrize("at_ms", moments(range(3)))
def test_without_a_worker_the_master_computes(tmp_path: Path, at_ms: float) -> None:
    found = killed(tmp_path / "run", "local-fallback", False, at_ms)
    jobs = after_death(found)
    # Within one period: the first job that needs the worker, and every one from there on.
    assert (jobs["status"] & (LOST | FALLBACK) == LOST | FALLBACK).all()
    assert (jobs["sent"][1:] == 0).all(), "nothing is sent to a dead worker"
    lost = found.events("worker-lost")["time"]
    assert lost.size >= 1
    assert lost[0] <= jobs["finish"][0]
    assert len(found.jobs("digest", skipped=True)) == JOBS, "all jobs were released"
    # The death was asked for, and no job is held against the system for anything but its time.
    assert beside_time(found.verdict.reasons) == []


@pytest.mark.parametrize("at_ms", moments(range(10, 13)))
def test_a_restarted_worker_goes_on(tmp_path: Path, at_ms: float) -> None:
    # Also with an input that begins again, so that a death meets the reset of the state.
    found = killed(tmp_path / "run", "local-fallback", True, at_ms, rows=7 if at_ms else 4 * JOBS)
    (death,) = found.events("worker-died")["time"]
    started = found.events("started")
    again = started["time"][started["core"] == found.events("worker-died")["core"][0]]
    assert again.size == 2
    assert again[0] < death < again[1]
    jobs = found.jobs("digest")
    assert len(found.jobs("digest", skipped=True)) == JOBS
    # Nobody waits for the dead: a job is answered by a living worker or computed by the master.
    for job in jobs[(jobs["sent"] > death) & (jobs["finish"] < again[1])]:
        assert job["status"] & FALLBACK
    # No input was lost, doubled or swapped: each output is the golden one, bit for bit.
    assert not (jobs["status"] & (WRONG | HELD)).any()
    # The second worker has taken over: not all that follows is the master's work.
    assert (jobs["worker_send"] > again[1]).any() or jobs["release"][-1] < again[1]
    assert beside_time(found.verdict.reasons) == []


@pytest.mark.representative
def test_the_policy_stop_ends_the_run(tmp_path: Path) -> None:
    found = killed(tmp_path / "run", "stop", False, 0.3 * JOBS * PERIOD_MS)
    jobs = found.jobs("digest")
    # A busy machine may have missed a deadline before: whatever it was, the first job without answer is last.
    assert len(found.jobs("digest", skipped=True)) < JOBS
    assert jobs["status"][-1] & HELD
    assert jobs["status"][-1] & MISSED
    assert not (jobs["status"][:-1] & HELD).any()
    assert not found.verdict.ok
    assert any("planned jobs were released" in reason for reason in found.verdict.reasons)


@pytest.mark.parametrize("at_ms", moments(range(30, 32)))
def test_held_outputs(tmp_path: Path, at_ms: float) -> None:
    found = killed(tmp_path / "run", "hold-last-output", True, at_ms)
    jobs, outputs = found.jobs("digest"), found.outputs("digest")
    assert outputs["seq"].tolist() == jobs["seq"].tolist()
    assert len(found.jobs("digest", skipped=True)) == JOBS
    held = (jobs["status"] & HELD) != 0
    assert not (jobs["status"] & FALLBACK).any()
    for at in np.flatnonzero(held):
        members = [name for name in outputs.dtype.names if name != "seq"]
        before = outputs[at - 1] if at else np.zeros((), outputs.dtype)
        assert [outputs[at][m] for m in members] == [before[m] for m in members], "that of the job before"
        assert jobs["status"][at] & MISSED
    assert_state_went_on(found, jobs, outputs, held)


def assert_state_went_on(found: Ran, jobs: np.ndarray, outputs: np.ndarray, held: np.ndarray) -> None:
    """Inputs of held jobs may be missing from the state; all others are there, once and in their order."""
    inputs = found.prepared.rows["digest"]
    history: list[int] = []
    for at in np.flatnonzero(~held):
        row = int(jobs["input"][at])
        assert outputs["row"][at] == row
        seen = int(outputs["seen"][at])
        recent = [row - k for k in range(31, -1, -1) if seen >> k & 1]
        history = [r for r in history if r < row - 31] + recent
        expected = digest((r, int(inputs["value"][r])) for r in history)[-1]
        for member in expected.dtype.names:
            assert outputs[member][at] == expected[member], (at, member)
        # Only a job that got no output, or the last before the death, which left no checkpoint.
        missing = set(range(row + 1)) - set(history)
        assert len(missing) <= held[:at].sum() + found.counters["worker_deaths"]


def test_a_stopped_worker_is_silent_and_comes_back(tmp_path: Path) -> None:
    """The other way to fall silent: it lives, it does not answer, and later it goes on with what it has."""
    found = ran(
        describe(tmp_path / "run", both(restart_worker=False), iterations=JOBS),
        "offloaded-off",
        stop_worker_for_ns=int(0.2 * JOBS * PERIOD_MS * MS),
    )
    assert found.events("worker-died").size == 0
    assert found.wrong == 0
    jobs = found.jobs("digest")
    silent = found.events("worker-silent")["time"]
    assert silent.size >= 1
    while_silent = jobs[(jobs["start"] > silent[0]) & (jobs["finish"] < silent[0] + 1)]
    assert (while_silent["status"] & FALLBACK).all()
    assert (jobs["status"] & FALLBACK).any()
    assert beside_time(found.verdict.reasons) == []


def test_the_command_kills_the_worker_and_the_run_is_good(tmp_path: Path, runs: Path) -> None:
    description = describe(tmp_path / "run", both(), iterations=JOBS)
    ended = consort(
        "run", description, "--only", "offloaded-off", "--kill-worker-at", "100ms", "--ordinary", "--json"
    )
    printed = json.loads(ended.stdout)
    (only,) = printed["configurations"]
    assert only["counters"]["worker_deaths"] == 1
    assert beside_time(printed["verdict"]["reasons"]) == []
    assert ended.returncode == Held(printed["verdict"]["ok"]).exit_status
