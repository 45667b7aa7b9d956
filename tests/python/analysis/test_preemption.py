# SPDX-License-Identifier: Apache-2.0
"""A stated cost of each preemption, held against the engine's simulator and against one with a real cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import caches
import free
import pytest
import ticks
from consort import _engine
from consort.analysis.result import Bound
from consort.analysis.system import response_times
from consort.analysis.uniprocessor import UniTask, edf, fixed_priority
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.model.sharing import Scheduling
from consort.plan import plan
from consort.plan.show import text_of
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds

Counts = tuple[int, int, int]


def totals(results: Iterable[Counts]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def compared(seen: list[int], bounds: list[Bound]) -> Counts:
    pairs = [(s, b.response) for s, b in zip(seen, bounds, strict=True) if b.response is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def attack(seed: int, runs: int = 2, charged: Callable[[int], int] = lambda reload: reload) -> Counts:
    """The engine's simulator, in which what goes on after a preemption reloads for up to the cost."""
    random = Random(seed)
    switch, reload = random.choice((0, 0, 1)), random.randint(1, 5)
    rows = []
    for _ in range(random.randint(2, 5)):
        t = random.choice((20, 24, 30, 40, 60, 80, 120))
        jitter = random.choice((0, 0, random.randint(0, t // 2)))
        rows.append((random.choice((1, random.randint(1, max(1, t // 4)))), t, jitter))
    results = []
    for policy in ("fixed-priority", "edf"):
        core = _engine.SimCore(policy)
        core.context_switch, core.cache_reload = switch, reload
        tasks = []
        for i, (wcet, period, jitter) in enumerate(rows):
            task: Any = _engine.SimTask()
            task.wcet, task.bcet = wcet, random.choice((0, wcet))
            task.period = task.deadline = period
            task.jitter, task.rank = jitter, i
            task.offset = random.randint(0, period)
            task.extra_gap = random.choice((0, period))
            tasks.append(task)
        system = _engine.SimSystem([core], [], tasks)
        seen = [-1] * len(rows)
        for run in range(runs):
            found = _engine.sim_run(system, 1_000, seed + run, ("worst", "edges")[run % 2], "edges")["tasks"]
            seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
        described = [
            UniTask(str(i), c, t, t, j, offset=None if task.extra_gap else task.offset)
            for i, ((c, t, j), task) in enumerate(zip(rows, tasks, strict=True))
        ]
        analysis = edf if policy == "edf" else fixed_priority
        bounds = analysis(described, context_switch=switch, cache_reload=charged(reload))
        results.append(compared(seen, bounds))
    held, attained, violated = totals(results)
    return held, attained, violated


def attack_with_a_cache(seed: int, runs: int = 6, less: int = 0) -> Counts:
    """The simulator with a real cache; the stated cost is what any task can lose at any point, less that."""
    random = Random(seed)
    sets, ways, block = random.choice((2, 4, 8)), random.choice((1, 1, 2)), random.randint(1, 6)
    programs = [caches.a_program(random, sets) for _ in range(random.randint(2, 4))]
    lost = [sum(at.values()) for p in programs for at in ticks.useful(p, sets, ways)]
    reload = max(0, max(lost, default=0) - less) * block
    tasks = []
    for i, program in enumerate(programs):
        wcet = ticks.alone(program, caches.Cache(sets, ways), block)
        tasks.append(UniTask(str(i), wcet, wcet * random.randint(2, 8), 10_000))
    bounds = fixed_priority(tasks, cache_reload=reload)
    seen = [0] * len(tasks)
    for _ in range(runs):
        offsets = [random.randint(0, task.period) for task in tasks]
        cache = caches.Cache(sets, ways)
        found = ticks.with_a_cache(programs, [t.period for t in tasks], offsets, 400, cache, block)
        seen = [max(pair) for pair in zip(seen, found, strict=True)]
    return compared(seen, bounds)


def test_the_simulator_never_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(seed) for seed in range(500))
    assert violated == 0
    assert held > 1_500 and attained > 100


def test_a_real_cache_never_exceeds_the_bound() -> None:
    held, _, violated = totals(attack_with_a_cache(seed, 3) for seed in range(150))
    assert violated == 0
    assert held > 200


@pytest.mark.slow
def test_neither_exceeds_the_bound_on_many_systems() -> None:
    held, _, violated = totals(attack(seed, 4) for seed in range(10_000, 60_000))
    assert violated == 0 and held > 200_000
    held, _, violated = totals(attack_with_a_cache(seed) for seed in range(10_000, 20_000))
    assert violated == 0 and held > 15_000


@pytest.mark.parametrize(
    "charged",
    [lambda reload: 0, lambda reload: reload - 1, lambda reload: reload // 2],
    ids=["none", "a tick less", "half"],
)
def test_a_lower_charge_is_refuted(charged: Callable[[int], int]) -> None:
    assert any(attack(seed, 3, charged)[2] for seed in range(2_000))


def test_a_cost_of_fewer_blocks_is_refuted_by_the_cache() -> None:
    assert any(attack_with_a_cache(seed, 6, less=1)[2] for seed in range(2_000))


def test_each_job_of_the_others_is_charged_and_no_own_one() -> None:
    tasks = [UniTask("high", 10, 100, 100), UniTask("low", 40, 200, 200)]
    assert [b.response for b in fixed_priority(tasks, cache_reload=7)] == [10, 57]
    assert [b.response for b in fixed_priority(tasks, cache_reload=60)] == [10, 180]
    assert [b.response for b in edf(tasks[:1], cache_reload=7)] == [10]
    assert [b.response for b in edf(tasks, cache_reload=7)] == [17, 64]


US = 10**6
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m4": {"isa": "armv7e-m"}},
        "cores": {"m4": {"processor": "m4", "count": 2, **free.NO_SWITCH}},
    }
)
TASKS: dict[str, dict[str, Any]] = {
    "high": {"period": "50us", "wcet": "5us", "on": "m4-0", "priority": 2},
    "low": {"period": "200us", "wcet": "60us", "on": "m4-0", "priority": 1},
}
COST = {"cache_reload": {"value": "3us", "measured": "the profiler's run"}}


def described(tasks: Any = TASKS, scheduling: Any = COST, resources: Any = None) -> System:
    data = {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": {"m4-0": scheduling}}
    if resources is not None:
        data["resources"] = resources
    return system_from_data(data, platform=BOARD)


def test_a_description_with_the_cost_gets_its_bound() -> None:
    system = described()
    bounds = response_times(system)
    assert [bound.response for bound in bounds] == [5 * US, 76 * US]
    for bound in bounds:
        assert "theorem 21" in bound.source and "theorem 1" in bound.source
        assert any("executes at most 3us longer" in text for text in bound.assumptions)
        assert not any("whatever else runs" in text for text in bound.assumptions)
        (used,) = [one for one in bound.figures if one.place == "scheduling.m4-0.cache_reload"]
        assert (used.kind, used.value) == ("measured", "3us")
        last = bound.explanation[-1]
        assert last.start + last.length == bound.response
    found = simulate_against_bounds(prepare(system), bounds, 4_000 * US, runs=3)
    assert found.figures["low"].max_response == 73 * US  # the first job of 'high' preempts nothing
    made = plan(system, "analysis")
    assert made.cores["m4-0"].cache_reload_ps == 3 * US and "reload" in text_of(made)


def test_a_job_that_blocks_may_reload_first() -> None:
    bus = {"bus": {"length": "10us"}}
    tasks = {name: task | {"sections": bus} for name, task in TASKS.items()} | {
        "low": TASKS["low"] | {"sections": {"bus": {"length": "20us"}}}
    }
    tasks["high"]["wcet"] = "10us"
    system = described(tasks, resources={"bus": {"protocol": "priority-ceiling"}})
    assert response_times(system)[0].response == 33 * US


@pytest.mark.parametrize(
    ("tasks", "scheduling", "words"),
    [
        (TASKS, COST | {"policy": "fixed-priority-non-preemptive"}, "no job is preempted by"),
        (TASKS, COST | {"supply": {"kind": "tdma", "budget": "1ms", "period": "2ms"}}, "a hypervisor runs"),
        (TASKS | {"low": TASKS["low"] | {"self_suspension": "1us"}}, COST, "jobs of 'low' wait there"),
    ],
)
def test_where_others_take_the_cache_it_is_refused(tasks: Any, scheduling: Any, words: str) -> None:
    with pytest.raises(BadDescription, match=words):
        described(tasks, scheduling)


@pytest.mark.parametrize(
    ("change", "scheduling", "words"),
    [
        ({}, {"policy": "fixed-priority-non-preemptive"}, "no job is preempted by"),
        ({"low": {"self_suspension": "1us"}}, {}, "jobs of 'low' wait there"),
    ],
)
def test_what_becomes_of_it_elsewhere_has_no_bound(change: Any, scheduling: Any, words: str) -> None:
    system = described().changed(change)
    changed = Scheduling.model_validate(COST | scheduling)
    system = system.model_copy(update={"scheduling": {"m4-0": changed}})
    bound = response_times(system)[0]
    assert bound.response is None and words in bound.verdict()


def test_virtual_time_refuses_it() -> None:
    with pytest.raises(BadDescription, match="a preempted job loads nothing again"):
        plan(described(), "virtual", stand_ins=True)
    plan(described(), "linux", stand_ins=True)
