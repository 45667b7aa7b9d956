# SPDX-License-Identifier: Apache-2.0
"""A worker that is killed at any moment: noticed within a period, survived by the policy, nothing left.

No time is asserted, only the order of what was recorded: a busy machine may preempt master, worker and
supervisor at any place.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runner_support import (
    DIGEST,
    FALLBACK,
    HELD,
    LOST,
    MISSED,
    PATIENCE,
    WRONG,
    Prepared,
    Recorded,
    both,
    no_process_left,
    prepared,
    processes,
    start,
    wait_for,
)

sys.path.insert(0, str(DIGEST))
from digest import digest

pytestmark = pytest.mark.usefixtures("two_cpus")
JOBS = 150
ROWS = 4 * JOBS  # the input does not begin again, unless a test wants it


@pytest.fixture(scope="module")
def make(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[tuple[Any, ...], Prepared] = {}

    def get(policy: str, restart: bool, rows: int = ROWS, period: int = 2, jobs: int = JOBS) -> Prepared:
        key = (policy, restart, rows, period, jobs)
        if key not in made:
            described = both(
                slow_period=f"{10 * period}ms",
                period=f"{period}ms",
                on_miss=policy,
                restart_worker=restart,
                input={"function": "digest.py::inputs", "arguments": {"rows": rows}},
            )
            made[key] = prepared(tmp_path_factory.mktemp("digest"), described, iterations=jobs)
        return made[key]

    return get


def kill_at_random(
    system: Prepared, scratch: Path, seed: int, realtime: bool, times: int = 1
) -> tuple[Recorded, int]:
    """Runs the system and kills its worker at moments that the seed chooses; how often it could be killed."""
    chance = random.Random(seed)
    run = start(system, scratch, realtime=realtime)
    length = run.config["iterations"] * run.config["tasks"][0]["period_ns"] / 1e9 / times
    killed = 0
    for _ in range(times):
        # Ends early by its policy on a busy machine: then there is nobody to kill.
        worker = wait_for("the worker", lambda: run.worker() or run.popen.poll() is not None)
        if worker is True:
            break
        try:
            assert_nothing_is_named(worker.pid)
        except (FileNotFoundError, ProcessLookupError):
            break
        # Up to well before the end, so that releases remain to notice it.
        time.sleep(chance.uniform(0.0, 0.6 * length))
        try:
            os.kill(worker.pid, signal.SIGKILL)
        except ProcessLookupError:
            break
        killed += 1
    return run.end(), killed


def assert_nothing_is_named(pid: int) -> None:
    """What the processes share is anonymous: there is no name that could be left behind."""
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    assert any("/memfd:consort-region" in line for line in maps)
    assert not [line for line in maps if "/dev/shm" in line]


def assert_death_recorded(recorded: Recorded, killed: int) -> None:
    deaths = [e for e in recorded.raw.manifest.events if e.name == "worker-died"]
    assert [(e.args["worker"], e.args["signal"]) for e in deaths] == [(0, signal.SIGKILL)] * killed
    assert recorded.counters["worker_deaths"] == killed
    assert len(recorded.ticks("worker-started")) >= 1


def first_unanswered(recorded: Recorded, death: int) -> np.ndarray:
    """The first jobs that ended after the supervisor had seen the death and did not get the worker's answer.

    One job at most was sent before: it may have been answered, with its last breath.
    """
    jobs = recorded.jobs()
    after = jobs[jobs["finish"] > death]
    assert after.size, "the worker was killed before the last release"
    if not after["status"][0] & (FALLBACK | HELD):
        assert after["sent"][0] < death
        after = after[1:]
    return after


@pytest.mark.parametrize("seed", range(5))
def test_without_a_worker_the_master_computes(make: Any, tmp_path: Path, seed: int) -> None:
    recorded, killed = kill_at_random(
        make("local-fallback", False), tmp_path / "run", seed, realtime=seed == 0
    )
    assert killed == 1
    assert recorded.status == 0, "all jobs were released"
    assert_death_recorded(recorded, 1)
    (death,) = recorded.ticks("worker-died")
    jobs = first_unanswered(recorded, death)
    # Within one period: the first job that needs the worker, and every one from there on.
    assert (jobs["status"] & (LOST | FALLBACK) == LOST | FALLBACK).all()
    assert (jobs["sent"][1:] == 0).all(), "nothing is sent to a dead worker"
    lost = recorded.ticks("worker-lost")
    assert len(lost) >= 1
    assert lost[0] <= jobs["finish"][0]
    assert len(recorded.jobs(skipped=True)) == JOBS
    assert recorded.counters["output_errors"] == 0


@pytest.mark.parametrize("seed", range(10, 20))
def test_a_restarted_worker_goes_on(make: Any, tmp_path: Path, seed: int) -> None:
    # Also with an input that begins again, so that a death meets the reset of the state.
    system = make("local-fallback", True, ROWS if seed % 2 else 7)
    recorded, killed = kill_at_random(
        system, tmp_path / "run", seed, realtime=seed == 10, times=1 if seed < 16 else 3
    )
    assert killed >= 1
    assert recorded.status == 0
    assert_death_recorded(recorded, killed)
    started = recorded.ticks("worker-started")
    assert len(started) == 1 + killed
    assert len(recorded.jobs(skipped=True)) == JOBS
    # Nobody waits for the dead: a job is answered by a living worker or computed by the master.
    jobs = recorded.jobs()
    for death, again in zip(recorded.ticks("worker-died"), started[1:], strict=True):
        assert again > death
        for job in jobs[(jobs["sent"] > death) & (jobs["finish"] < again)]:
            assert job["status"] & FALLBACK
        # A successor serves only a master that knows of it; before the first release nobody need know.
        if death > jobs["release"][0] and (jobs["worker_send"] > again).any():
            assert any(tick > death for tick in recorded.ticks("worker-restarted"))
    # No input was lost, doubled or swapped: each output is the golden one, bit for bit.
    assert recorded.counters["output_errors"] == 0
    assert not (jobs["status"] & WRONG).any()
    assert not (jobs["status"] & HELD).any()
    # The last worker has taken over: not all that follows is the master's work.
    assert (jobs["worker_send"] > started[-1]).any() or jobs["release"][-1] < started[-1]


def test_a_restart_within_one_period_is_in_the_masters_own_record(make: Any, tmp_path: Path) -> None:
    # Half a second between two jobs: the worker is there again long before the next needs it.
    run = start(make("local-fallback", True, period=500, jobs=8), tmp_path / "run", realtime=False)
    worker = wait_for("the worker", run.worker)
    time.sleep(1.2)
    os.kill(worker.pid, signal.SIGKILL)
    recorded = run.end()
    assert recorded.status == 0
    assert_death_recorded(recorded, 1)
    (death,) = recorded.ticks("worker-died")
    told = recorded.ticks("worker-restarted")
    # Each task on that worker tells it, the one that has a job next first.
    assert 1 <= len(told) <= 2
    jobs = recorded.jobs()
    after = jobs[jobs["release"] > death]
    assert death < told[0]
    if not recorded.ticks("worker-lost") + recorded.ticks("worker-silent"):
        assert told[0] <= after["start"][0]
        assert not (after["status"] & LOST).any(), "nothing but its own record tells the master of it"
    assert recorded.counters["output_errors"] == 0


@pytest.mark.parametrize("seed", range(20, 23))
def test_the_policy_stop_ends_the_run(make: Any, tmp_path: Path, seed: int) -> None:
    # Long periods: a machine that is merely busy misses none.
    system = make("stop", False, period=20, jobs=30)
    for attempt in range(5):
        recorded, killed = kill_at_random(
            system, tmp_path / str(attempt), seed + 100 * attempt, realtime=seed == 20
        )
        assert recorded.status == 1
        assert recorded.counters["stopped_early"] == 1
        # A busy machine may have stopped it before: a miss is a miss.
        if killed and recorded.ticks("worker-died"):
            break
    else:
        pytest.skip("this machine is too busy for a single job to be in time")
    jobs = recorded.jobs()
    assert len(recorded.jobs(skipped=True)) < 30
    assert jobs["status"][-1] & HELD
    assert jobs["status"][-1] & MISSED
    assert not (jobs["status"][:-1] & HELD).any(), "the first job without an answer is the last"
    assert recorded.counters["output_errors"] == 0


@pytest.mark.parametrize("seed", range(30, 34))
def test_held_outputs(make: Any, tmp_path: Path, seed: int) -> None:
    recorded, killed = kill_at_random(
        make("hold-last-output", True), tmp_path / "run", seed, realtime=seed == 30
    )
    assert killed == 1
    assert recorded.status == 0
    assert_death_recorded(recorded, 1)
    jobs, outputs = recorded.jobs(), recorded.outputs()
    assert len(recorded.jobs(skipped=True)) == JOBS
    held = (jobs["status"] & HELD) != 0
    assert not (jobs["status"] & FALLBACK).any()
    for at in np.flatnonzero(held):
        before = outputs[at - 1] if at else np.zeros((), outputs.dtype)
        assert outputs[at] == before, "held is the output of the job before"
        assert jobs["status"][at] & MISSED
    assert_state_went_on(recorded, jobs, outputs, held)


def assert_state_went_on(recorded: Recorded, jobs: np.ndarray, outputs: np.ndarray, held: np.ndarray) -> None:
    """Inputs of held jobs may be missing from the state; all others are there, once and in their order."""
    inputs = recorded.prepared.inputs["digest"]
    history: list[int] = []
    for at in np.flatnonzero(~held):
        row = int(jobs["step"][at])
        assert outputs["row"][at] == row
        seen = int(outputs["seen"][at])
        recent = [row - k for k in range(31, -1, -1) if seen >> k & 1]
        history = [r for r in history if r < row - 31] + recent
        expected = digest((r, int(inputs["value"][r])) for r in history)[-1]
        assert outputs[at] == expected
        # Only a job that got no output, or the last before the death, which left no checkpoint.
        missing = set(range(row + 1)) - set(history)
        assert len(missing) <= held[:at].sum() + recorded.counters["worker_deaths"]


@pytest.mark.parametrize("seed", range(40, 43))
def test_a_worker_that_is_killed_while_it_starts(make: Any, tmp_path: Path, seed: int) -> None:
    run = start(make("local-fallback", False), tmp_path / "run", realtime=False)
    program = run.prepared.program
    # The supervisor starts its workers first.
    worker = wait_for("the first child", lambda: [p for p in processes(program) if p.pid != run.popen.pid])[0]
    time.sleep(random.Random(seed).uniform(0.0, 0.003))
    os.kill(worker.pid, signal.SIGKILL)
    _, words = run.popen.communicate(timeout=PATIENCE)
    no_process_left(program)
    if (run.raw / "manifest.json").is_file():
        assert run.popen.returncode == 0, "it had started; the master computes all that it did not answer"
    else:
        assert (run.popen.returncode, words) == (1, "worker-0 died before the first release\n")
