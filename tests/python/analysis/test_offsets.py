# SPDX-License-Identifier: Apache-2.0
"""Tasks that are due at known moments of one clock: published values, simulations, and mutants."""

from __future__ import annotations

from random import Random
from typing import Any

import free
import pytest
from consort import _engine
from consort.analysis.offload import Master, offloaded
from consort.analysis.system import response_times
from consort.analysis.uniprocessor import UniTask, fixed_priority
from consort.model import platform_from_data, system_from_data

POLICIES = ("fixed-priority", "fixed-priority-non-preemptive")
Rows = list[tuple[int, int, int, int]]


def bound(rows: Rows, index: int, **more: Any) -> dict[str, Any]:
    """The bound of a task among (c, t, offset or -1, jitter), the most urgent first."""
    c, t, offsets, jitter = (list(column) for column in zip(*rows, strict=True))
    found: dict[str, Any] = _engine.fp_offset_response(
        c=c, t=t, offsets=offsets, jitter=jitter, task=index, **more
    )
    return found


def blind(rows: Rows, index: int, **more: Any) -> int | None:
    c, t, _, jitter = (list(column) for column in zip(*rows, strict=True))
    found: int | None = _engine.fp_response(c=c, t=t, jitter=jitter, task=index, **more)["bound"]
    return found


def test_two_transactions_whose_phase_is_not_known() -> None:
    """Palencia & Gonzalez Harbour's exact analysis: the longest over all phases of the two transactions.

    Their responses count from the transaction's event, ours from when the task is due.
    """
    rows = [(0, 2, 0, 0), (1, 3, 0, 0), (0, 2, 5, 0), (1, 2, 4, 3), (0, 3, 8, 0)]
    longest = [0] * len(rows)
    for phase in range(60):
        tasks = [(c, (20, 15)[which], offset + which * phase, jitter) for which, c, offset, jitter in rows]
        for i in range(len(rows)):
            longest[i] = max(longest[i], bound(tasks, i)["bound"])
    assert [r + offset for r, (_, _, offset, _) in zip(longest, rows, strict=True)] == [2, 5, 10, 11, 16]


def test_jobs_that_are_kept_apart_do_not_meet() -> None:
    rows = [(4, 10, 0, 0), (4, 10, 5, 0)]
    assert [bound(rows, i)["bound"] for i in range(2)] == [4, 4]
    assert [blind(rows, i) for i in range(2)] == [4, 8]
    # Late by 2 the first is still running for one tick when the other comes.
    assert bound([(4, 10, 0, 2), (4, 10, 5, 0)], 1)["bound"] == 5


def test_a_sporadic_task_may_come_at_any_moment() -> None:
    rows = [(4, 10, 0, 0), (4, 10, 5, 0), (2, 30, -1, 0)]
    assert [bound(rows, i)["bound"] for i in range(3)] == [4, 4, 10]
    urgent = [(2, 30, -1, 0), (4, 10, 0, 0), (4, 10, 5, 0)]
    assert [bound(urgent, i)["bound"] for i in range(3)] == [2, 6, 10]


def test_too_many_windows_give_no_bound() -> None:
    rows = [(1, 97, 0, 0), (1, 91, 5, 0), (1, 83, 7, 0)]
    assert bound(rows, 2)["verdict"] == "bounded"
    assert bound(rows, 2, most_windows=1000)["verdict"] == "too-long"


def random_rows(random: Random) -> Rows:
    rows = []
    for _ in range(random.randint(1, 5)):
        t = random.choice((4, 5, 6, 8, 10, 12, 15, 20, 24, 30))
        c = random.choice((1, random.randint(1, max(1, t // 2))))
        jitter = random.choice((0, 0, random.randint(0, 3), random.randint(0, 2 * t)))
        offset = random.choice((0, random.randint(0, t - 1), random.randint(0, 3 * t), -1))
        rows.append((c, t, offset, jitter))
    return rows


def attack(seed: int, runs: int = 2) -> tuple[int, int]:
    """Simulates one random system under each policy: tasks that were held, and those that attained it."""
    random = Random(seed)
    rows = random_rows(random)
    levels = sorted(random.randint(0, 2) for _ in rows) if random.random() < 0.3 else list(range(len(rows)))
    switch = random.choice((0, 0, 0, 1))
    held = attained = 0
    for policy in POLICIES:
        preemptive = policy == "fixed-priority"
        charged = [(c + 2 * switch, *rest) for c, *rest in rows]
        blocking = [
            switch if preemptive and any(other > level for other in levels) else 0 for level in levels
        ]
        core = _engine.SimCore(policy)
        core.context_switch = switch
        tasks = []
        for (c, t, offset, jitter), level in zip(rows, levels, strict=True):
            task: Any = _engine.SimTask()
            task.wcet, task.bcet, task.period, task.deadline = c, random.choice((0, c)), t, t
            task.offset = offset if offset >= 0 else random.randint(0, t)
            task.extra_gap = 0 if offset >= 0 else random.choice((0, t))
            task.jitter, task.rank = jitter, level
            tasks.append(task)
        system = _engine.SimSystem([core], [], tasks)
        seen = [-1] * len(rows)
        for run in range(runs):
            execution = ("worst", "edges")[run % 2]
            found = _engine.sim_run(system, 600, (seed + run) % 2**32, execution, "edges")["tasks"]
            seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
        for i in range(len(rows)):
            more = {"blocking": blocking, "level": levels, "preemptive": preemptive}
            aware = bound(charged, i, **more)["bound"]  # type: ignore[arg-type]
            other = blind(charged, i, **more)  # type: ignore[arg-type]
            assert (aware is None) == (other is None), (seed, rows, i)
            if aware is not None:
                assert aware <= other, (seed, policy, rows, i, aware, other)
                assert seen[i] <= aware, (seed, policy, rows, levels, switch, i, aware, seen[i])
                held += 1
                attained += seen[i] == aware
    return held, attained


def test_the_simulator_never_exceeds_the_bound_which_is_never_above_the_blind_one() -> None:
    results = [attack(seed) for seed in range(500)]
    assert sum(held for held, _ in results) > 1500
    assert sum(attained for _, attained in results) > 600


@pytest.mark.slow
def test_the_simulator_never_exceeds_the_bound_on_many_systems() -> None:
    results = [attack(seed, runs=6) for seed in range(1_000, 101_000)]
    assert sum(held for held, _ in results) > 300_000


@pytest.mark.parametrize("wrong", ["without jitter", "one job less", "a window only where a job is due"])
def test_a_bound_that_forgets_something_is_refuted(wrong: str) -> None:
    """The attack notices a bound that leaves out what jitter adds, or looks at too few windows."""

    def mutant(rows: Rows, index: int) -> int:
        if wrong == "without jitter":
            punctual = [(c, t, offset, 0) for c, t, offset, _ in rows]
            return bound(punctual, index)["bound"] + rows[index][3]
        if wrong == "one job less":
            return bound([(max(1, c - 1), *rest) for c, *rest in rows], index)["bound"]
        moved = [(c, t, offset + jitter, 0) for c, t, offset, jitter in rows]
        return bound(moved, index)["bound"] + rows[index][3]

    refuted = 0
    random = Random(5)
    for seed in range(300):
        rows = [row for row in random_rows(random) if row[2] >= 0] or [(1, 4, 0, 0)]
        if sum(c / t for c, t, _, _ in rows) > 0.95:
            continue
        tasks = []
        for level, (c, t, offset, jitter) in enumerate(rows):
            task: Any = _engine.SimTask()
            task.wcet = task.bcet = c
            task.period = task.deadline = t
            task.offset, task.jitter, task.rank = offset, jitter, level
            tasks.append(task)
        system = _engine.SimSystem([_engine.SimCore()], [], tasks)
        found = _engine.sim_run(system, 2_000, seed, "worst", "edges")["tasks"]
        refuted += any((f["max_response"] or 0) > mutant(rows, i) for i, f in enumerate(found))
    assert refuted > 0


US = 10**6
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m4": {"isa": "armv7e-m"}},
        "cores": {"m4": {"processor": "m4", "count": 1, **free.NO_SWITCH}},
    }
)


def test_a_description_with_offsets_gets_their_bound() -> None:
    alike = {"period": "10us", "wcet": "4us", "on": "m4-0"}

    def of_b(a: dict[str, str] | None = None, **changes: str) -> Any:
        tasks = {"a": alike | {"priority": 2} | (a or {}), "b": alike | {"priority": 1} | changes}
        data = {"consort": 1, "platform": "board", "tasks": tasks}
        return response_times(system_from_data(data, platform=BOARD))[1]

    assert of_b().response == 8 * US
    apart = of_b(offset="5us")
    assert apart.response == 4 * US and "theorem 17" in apart.source
    assert any("due at their offsets" in text for text in apart.assumptions)
    late = of_b({"jitter": "2us"}, offset="5us")
    assert late.response == 5 * US
    for bound in (apart, late):
        assert bound.explanation[-1].start + bound.explanation[-1].length == bound.response
    # A task that its offsets do not help keeps its bound, and a job that waits has that of any moment.
    assert of_b(offset="1us").response == 7 * US
    waiting = [UniTask("a", 4, 10, 10, suspension=1, offset=0), UniTask("b", 4, 10, 10, offset=5)]
    waits = offloaded({"core": Master(waiting)})["core"][1]
    assert waits.response == 8
    assert any("not made use of" in text for text in waits.assumptions)


def test_offsets_whose_common_period_is_too_long_are_said_to_be_left_out() -> None:
    times = (9973, 9967, 9949)
    rows = [UniTask(str(t), 10, t, t, offset=k) for k, t in enumerate(times)]
    found = fixed_priority(rows)
    assert [bound.response for bound in found] == [10, 20, 30]
    assert "too many busy windows" in " ".join(found[2].assumptions)


@pytest.mark.parametrize(("offset", "expected"), [(None, 10_006), ("0us", 7_004), ("1ps", 7_004)])
def test_an_offset_of_0_that_is_written_down_is_a_known_moment(offset: str | None, expected: int) -> None:
    platform = platform_from_data(
        {
            "consort": 1,
            "name": "one",
            "processors": {"p": {"isa": "x86_64"}},
            "cores": {
                "c": {
                    "processor": "p",
                    "count": 1,
                    "context_switch": "1us",
                    "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
                }
            },
        }
    )
    tasks: dict[str, dict[str, Any]] = {
        "high": {"period": "10ms", "jitter": "4ms", "wcet": "3ms", "on": "c-0", "priority": 2},
        "low": {"period": "10ms", "wcet": "4ms", "on": "c-0", "priority": 1},
    }
    if offset is not None:
        tasks["high"]["offset"] = offset
    data = {
        "consort": 1,
        "platform": "one",
        "assumed": "a test",
        "tasks": tasks,
        "run": {"time_base": "spin"},
    }
    low = response_times(system_from_data(data, platform=platform))[1]
    assert low.response is not None and abs(low.response - expected * 10**6) <= 1
