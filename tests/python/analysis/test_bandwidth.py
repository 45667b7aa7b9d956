# SPDX-License-Identifier: Apache-2.0
"""Budgets of memory accesses: the bound with stalls and waits, held against single accesses of a memory."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import free
import pytest
import regulated as memory
import ticks
from consort.analysis import bandwidth
from consort.analysis.bandwidth import Regulated, regulated
from consort.analysis.system import response_times
from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.exports import jobs_of
from consort.exchange.mast import export_mast
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.model.sharing import Scheduling
from consort.plan import plan
from consort.plan.sharing import PlannedBandwidth
from consort.plan.show import text_of
from consort.simulate.build import prepare


def attack(seed: int, runs: int = 3) -> tuple[int, int, int]:
    """One random core beside others: tasks held against their bounds, bounds attained and violated."""
    random = Random(seed)
    shortest = random.randint(1, 3)
    longest = random.choice((shortest, shortest, shortest + random.randint(0, 3)))
    period = random.choice((10, 12, 20, 30))
    own = PlannedBandwidth(random.randint(1, max(1, period // shortest)), period, shortest, longest)
    others: list[PlannedBandwidth | None] = []
    for _ in range(random.choice((0, 1, 1, 2))):
        beside = random.choice((period, 8, 15, 40))
        others.append(random.choice((None, PlannedBandwidth(random.randint(1, 4), beside, 0, 0))))
    programs = [
        "".join(random.choice(("c", "a", "ca", "aa")) for _ in range(random.randint(1, 6)))
        for _ in range(random.randint(1, 3))
    ]
    if seed % 3 == 0:
        # Waiting alone: no stall, and another core whose budgets of two periods come one after another.
        programs, longest = ["a" * random.randint(1, 8)], shortest
        own = PlannedBandwidth(1_000, period, shortest, longest)
        others = [PlannedBandwidth(random.randint(1, 3), random.choice((20, 40)), 0, 0)]
    tasks = []
    for i, program in enumerate(programs):
        accesses = program.count("a")
        alone = len(program) - accesses + accesses * longest
        tasks.append(Regulated(str(i), alone, accesses, alone * random.randint(4, 30) + period, 10_000))
    bounds = [bound.response for bound in regulated(tasks, own, others)]
    seen = [0] * len(tasks)
    for _ in range(runs):
        ports = [
            memory.Port(
                None if one is None else one.budget,
                1_000 if one is None else one.period_ps,
                random.randrange(1_000 if one is None else one.period_ps),
                random.random() < 0.5,
            )
            for one in (own, *others)
        ]
        periods = [task.period for task in tasks]
        offsets = [random.randrange(2 * period) for _ in tasks]
        found = ticks.regulated(programs, periods, offsets, 300, ports, (shortest, longest), random)
        seen = [max(pair) for pair in zip(seen, found, strict=True)]
    pairs = [(s, b) for s, b in zip(seen, bounds, strict=True) if b is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def totals(results: Iterable[tuple[int, int, int]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def test_the_memory_never_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(seed, 2) for seed in range(1_000))
    assert violated == 0
    assert held > 1_400 and attained > 10


@pytest.mark.slow
def test_the_memory_never_exceeds_the_bound_on_many_systems() -> None:
    held, _, violated = totals(attack(seed) for seed in range(10_000, 30_000))
    assert violated == 0 and held > 28_000


def shorter_stall(self: PlannedBandwidth) -> int:
    return max(0, self.period_ps - self.budget * self.shortest_ps)


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "no access that began before the period": (PlannedBandwidth, "stall_ps", property(shorter_stall)),
    "no stall for what came before": (
        bandwidth,
        "stalls_in",
        lambda own, accesses, length: min(accesses // own.budget, -(-length // own.period_ps) + 1),
    ),
    "no stall": (bandwidth, "stalls_in", lambda own, accesses, length: 0),
    "no waiting": (bandwidth, "waiting_in", lambda own, others, accesses, length: 0),
    "waiting for one other core only": (
        bandwidth,
        "waiting_in",
        lambda own, others, accesses, length: own.longest_ps * accesses * bool(others),
    ),
    "another core's budget without its period under way": (
        bandwidth,
        "waiting_in",
        lambda own, others, accesses, length: (
            own.longest_ps
            * sum(min(accesses, -(-length // k.period_ps) * k.budget) if k else accesses for k in others)
        ),
    ),
}


@pytest.mark.parametrize(("where", "what", "wrong"), MUTANTS.values(), ids=MUTANTS.keys())
def test_a_lower_bound_is_refuted(where: Any, what: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, what, wrong)
    assert any(attack(seed)[2] for seed in range(3_000))


def test_what_asks_for_more_than_the_core_has_no_bound_without_a_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search says the same, after all of its steps."""
    expected = [attack(seed, 1) for seed in range(40)]
    with monkeypatch.context() as patch:
        patch.setattr(bandwidth, "load_of", lambda tasks, own, others: 0)
        assert [attack(seed, 1) for seed in range(40)] == expected
    monkeypatch.setattr(bandwidth, "window_of", lambda *_: pytest.fail("it searched"))
    overloaded = [Regulated("t", 10, 9, 10, 10)]
    assert regulated(overloaded, PlannedBandwidth(1, 20, 1, 1), [])[0].response is None


def test_by_hand() -> None:
    """3 accesses of 2 in a budget of 2 for each 10: two stalls of 8, each access behind one other's."""
    task = Regulated("t", 6, 3, 100, 100)
    assert PlannedBandwidth(2, 10, 2, 2).stall_ps == 8
    assert [b.response for b in regulated([task], PlannedBandwidth(2, 10, 2, 2), [])] == [22]
    assert [b.response for b in regulated([task], PlannedBandwidth(2, 10, 2, 2), [None])] == [28]
    assert [
        b.response for b in regulated([task], PlannedBandwidth(5, 10, 2, 2), [PlannedBandwidth(1, 100, 0, 0)])
    ] == [12]
    found = regulated([Regulated("t", 10, 9, 10, 10)], PlannedBandwidth(1, 20, 1, 1), [])[0]
    assert found.response is None and "never come to an end" in found.verdict()


US = 10**6
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"a53": {"isa": "aarch64"}},
        "cores": {"a53": {"processor": "a53", "count": 4, **free.NO_SWITCH}},
    }
)
BUDGET = {"budget": 100, "period": "100us", "shortest": "100ns", "longest": "200ns", "assumed": "a guess"}
TASKS: dict[str, dict[str, Any]] = {
    "high": {"period": "2ms", "wcet": "50us", "on": "a53-0", "priority": 2, "accesses": {"most": 50}},
    "low": {"period": "9ms", "wcet": "60us", "on": "a53-0", "priority": 1, "accesses": {"most": 150}},
    "other": {"period": "5ms", "wcet": "1ms", "on": "a53-1"},
}


def described(tasks: Any = TASKS, **scheduling: Any) -> System:
    given = {"a53-0": {"bandwidth": BUDGET, **scheduling}}
    data = {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": given}
    return system_from_data(data, platform=BOARD)


def test_a_description_with_a_budget_gets_its_bound() -> None:
    high, low, other = response_times(described())
    # 50us, a stall of 90.1us, two accesses of 200ns before it, one of the other core for each of 50;
    # 110us, three stalls, one of the other core for each of 200.
    assert high.response == 150_500_000
    assert low.response == 420_300_000
    assert other.response == 1_000 * US
    assert "theorem 22" in high.source
    places = {one.place: one.kind for one in high.figures}
    assert places["scheduling.a53-0.bandwidth.longest"] == "assumed"
    assert "tasks.low.accesses" in places
    last = low.explanation[-1]
    assert last.start + last.length == low.response
    text = " ".join(text_of(plan(described(), "analysis")).split())
    assert "accesses memory 150 times" in text


def test_a_task_without_accesses_leaves_its_core_without_bounds() -> None:
    tasks = TASKS | {"high": {k: v for k, v in TASKS["high"].items() if k != "accesses"}}
    high, low, _ = response_times(described(tasks))
    assert high.response is None and low.response is None
    assert low.missing == ("tasks.high.accesses",)


@pytest.mark.parametrize(
    ("tasks", "scheduling", "words"),
    [
        (TASKS, {"cache_reload": "1us"}, "beside 'cache_reload' a budget of accesses has no bound"),
        (TASKS, {"policy": "fixed-priority-non-preemptive"}, "bounds under fixed-priority, not"),
        (TASKS, {"bandwidth": BUDGET | {"period": "0us"}}, "the period is 0"),
        (TASKS, {"bandwidth": BUDGET | {"shortest": "1us"}}, "longer than the longest, 200ns"),
        (TASKS | {"low": TASKS["low"] | {"self_suspension": "1us"}}, {}, "jobs of 'low' wait there"),
        (TASKS | {"other": TASKS["other"] | {"accesses": {"most": 1}}}, {}, "has no budget of accesses"),
    ],
)
def test_what_no_budget_can_be_is_refused(tasks: Any, scheduling: Any, words: str) -> None:
    with pytest.raises(BadDescription, match=words):
        described(tasks, **scheduling)


def test_an_entry_of_its_group_says_nothing_of_a_core_with_its_own() -> None:
    data = {"consort": 1, "platform": "board", "tasks": TASKS}
    every = {"a53": {"bandwidth": BUDGET}}
    with pytest.raises(BadDescription, match="'a53-0' has no budget of accesses"):
        system_from_data(data | {"scheduling": every | {"a53-0": {}}}, platform=BOARD)
    system_from_data(data | {"scheduling": every}, platform=BOARD)


@pytest.mark.parametrize(
    ("more", "change", "words"),
    [
        ({"policy": "edf"}, {}, "bounds under fixed-priority, not edf"),
        ({"cache_reload": "1us"}, {}, "beside 'cache_reload' a budget"),
        ({}, {"low": {"self_suspension": "1us"}}, "jobs of 'low' wait there"),
    ],
)
def test_what_becomes_of_it_elsewhere_has_no_bound(more: Any, change: Any, words: str) -> None:
    scheduling = {"a53-0": Scheduling.model_validate({"bandwidth": BUDGET, **more})}
    system = described().changed(change).model_copy(update={"scheduling": scheduling})
    bound = response_times(system)[0]
    assert bound.response is None and words in bound.verdict()


@pytest.mark.parametrize("target", ["linux", "virtual"])
def test_what_executes_refuses_it(target: Any) -> None:
    with pytest.raises(BadDescription, match="regulates no core's memory accesses"):
        plan(described(), target, stand_ins=True)


def test_what_has_no_accesses_says_so() -> None:
    system = described()
    with pytest.raises(BadDescription, match=r"scheduling.a53-0.bandwidth: a simulation has no single"):
        prepare(system)
    with pytest.raises(BadInput, match="processor never stalls"):
        jobs_of(system, "a53-0", Report())
    report = Report()
    export_mast(system, report)
    assert report.left_out["bandwidth", "written without: bounds of MAST are too low"]
