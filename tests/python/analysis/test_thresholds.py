# SPDX-License-Identifier: Apache-2.0
"""Preemption thresholds: theorem 28 against a second program of it and against the engine's simulator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import free
import pytest
from consort import _engine
from consort.analysis.offload import Master, offloaded
from consort.analysis.system import response_times
from consort.analysis.uniprocessor import UniTask, fixed_priority
from consort.exchange.conventions import Report
from consort.exchange.exports import export_rtapp, export_sag
from consort.exchange.mast import export_mast
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.plan import plan
from consort.plan.show import text_of
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds
from thresholds import THEOREM, How, Row, attack, blocked_by_sections, core_of, engine, reference


def totals(results: Iterable[tuple[int, int, int]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def test_a_set_that_needs_thresholds() -> None:
    """The third task is late if all preempt it, the first one if nobody does."""
    rows = [Row(20, 70), Row(20, 80), Row(35, 200, limit=1)]
    assert [engine(rows, i) for i in range(3)] == [40, 75, 95]
    preemptive = [replace(row, limit=i) for i, row in enumerate(rows)]
    assert [engine(preemptive, i) for i in range(3)] == [20, 40, 115]
    alone = [replace(row, limit=0) for row in rows]
    assert [engine(alone, i) for i in range(3)] == [55, 75, 75]


def test_a_second_program_finds_the_same() -> None:
    compared = 0
    for seed in range(2_000):
        random = Random(seed)
        rows = core_of(random, sections=False)
        supply = random.choice((None, None, (8, 6, 2), (8, 7, 2), (8, 6, 4)))
        for i in range(len(rows)):
            blocking = random.choice((0, 0, 1, 3, 9))
            found = reference(rows, i, blocking, supply)
            if found is not None:
                compared += 1
                assert engine(rows, i, blocking, supply) == found
    assert compared > 5_000


def test_the_own_priority_is_preemption_and_the_highest_is_none() -> None:
    """The bounds of theorems 1 and 2, at a load of 1 too, with supply and with context switches."""
    compared = full = 0
    for seed in range(3_000):
        random = Random(seed)
        rows = core_of(random, sections=False)
        if seed % 3 == 0:
            # All of the core, exactly.
            rows = [Row(t // (2 * len(rows)), t) for t in random.choices((24, 48, 72, 120), k=len(rows))]
            rest = [replace(r, wcet=r.period // 2) for r in rows[-1:]]
            rows = [*rows, *rest]
            rows = [replace(r, wcet=max(1, r.wcet)) for r in rows]
        supply = random.choice((None, None, None, (8, 6, 2), (8, 7, 2)))
        for i in range(len(rows)):
            full += (
                sum(r.wcet * (120 * 6 // r.period) for r in rows[: i + 1]) == 720
                and 720 % rows[i].period == 0
            )
            given: dict[str, Any] = {
                "c": [r.wcet for r in rows],
                "t": [r.period for r in rows],
                "jitter": [r.jitter for r in rows],
                "task": i,
                "supply": supply,
            }
            blocking = [random.choice((0, 2)) for _ in rows]
            own = _engine.fp_threshold_response(**given, blocking=blocking, threshold=list(range(len(rows))))
            assert own["bound"] == _engine.fp_response(**given, blocking=blocking)["bound"]
            top = _engine.fp_threshold_response(**given, threshold=[0] * len(rows))
            assert top["bound"] == _engine.fp_response(**given, preemptive=False)["bound"]
            compared += own["bound"] is not None
    assert compared > 5_000 and full > 50


def test_with_switches_the_highest_thresholds_are_a_non_preemptive_core() -> None:
    for seed in range(200):
        random = Random(seed)
        tasks = [
            UniTask(f"t{i}", r.wcet, r.period, r.period, r.jitter, threshold=0)
            for i, r in enumerate(core_of(random, sections=False))
        ]
        switch = random.choice((0, 1, 2))
        bare = [replace(task, threshold=None) for task in tasks]
        with_thresholds = fixed_priority(tasks, context_switch=switch)
        without = fixed_priority(bare, preemptive=False, context_switch=switch)
        assert [b.response for b in with_thresholds] == [b.response for b in without]


def test_the_simulator_never_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(Random(seed), engine) for seed in range(3_000))
    assert violated == 0
    assert held > 8_000 and attained > 400


@pytest.mark.slow
def test_the_simulator_never_exceeds_the_bound_on_many_systems() -> None:
    held, attained, violated = totals(attack(Random(seed), engine, 4) for seed in range(10_000, 210_000))
    assert violated == 0
    assert held > 500_000 and attained > 30_000


MUTANTS = {
    "only the first job": How(jobs="first"),
    "a threshold too low by one blocks": How(blocks=1),
    "the least of those that preempt it forgotten": How(preempts=1),
    "no blocking": How(blocking=False),
    "what blocks shorter by a tick": How(shorter=1),
    "nothing preempts what has begun": How(after_start=False),
    "what comes as it would begin does not go before it": How(at_start=False),
    "its own earlier jobs forgotten": How(earlier=False),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_weaker_forms_are_refuted(mutant: How) -> None:
    bound = partial(reference, how=mutant)
    assert any(attack(Random(seed), bound, 3)[2] for seed in range(4_000))


def test_the_window_goes_on_when_one_job_is_done_before_its_successor_comes() -> None:
    """Three CAN messages, which nobody preempts (Davis, Burns, Bril and Lukkien 2007), in halves."""
    rows = [Row(2, 5), Row(2, 7), Row(2, 7)]
    assert reference(rows, 2, how=How(jobs="until")) == 6
    assert reference(rows, 2, how=THEOREM) == engine(rows, 2) == 7
    core = _engine.SimCore("fixed-priority")
    tasks = []
    for i, row in enumerate(rows):
        task: Any = _engine.SimTask()
        task.wcet = task.bcet = row.wcet
        task.period = task.deadline = row.period
        task.rank, task.threshold = i, 0
        tasks.append(task)
    found = _engine.sim_run(_engine.SimSystem([core], [], tasks), 100)["tasks"]
    assert found[2]["max_response"] == 7


def test_sections_of_blocking_tasks_are_in_their_whole_jobs() -> None:
    rows = [Row(2, 20), Row(5, 40, limit=0, sections=((0, 5, 1),))]
    assert blocked_by_sections(rows, 0) == 0
    assert engine(rows, 0) == 7


# Whole descriptions.

PLATFORM = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m": {"isa": "armv7e-m"}},
        "cores": {"m": {"processor": "m", "count": 2, **free.NO_SWITCH}},
        "memories": {"free": free.MEMORY},
    }
)


def described(
    scheduling: dict[str, Any] | None = None, resources: dict[str, Any] | None = None, **keys: Any
) -> System:
    """The set above; `keys` by task, such as low={"jitter": "1us"}."""
    tasks: dict[str, Any] = {
        "high": {"period": "70us", "deadline": "50us", "wcet": "20us", "priority": 30},
        "middle": {"period": "80us", "wcet": "20us", "priority": 20, "preemption_threshold": 35},
        "low": {"period": "200us", "deadline": "100us", "wcet": "35us", "priority": 10}
        | {"preemption_threshold": 25},
    }
    tasks = {name: {"on": "m-0"} | task | keys.get(name, {}) for name, task in tasks.items()}
    more = {"scheduling": scheduling} if scheduling else {}
    more |= {"resources": resources} if resources else {}
    return system_from_data({"consort": 1, "platform": "board", "tasks": tasks, **more}, platform=PLATFORM)


def test_a_description_is_analysed_and_simulated_with_its_thresholds() -> None:
    system = described()
    assert [task.threshold for task in plan(system, "analysis").tasks.values()] == [None, 0, 1]
    found = response_times(system)
    assert [bound.response for bound in found] == [40 * 10**6, 75 * 10**6, 95 * 10**6]
    assert all(bound.schedulable for bound in found)
    assert all("theorem 28" in bound.source for bound in found)
    assert "preempted only by tasks above its threshold" in found[0].assumptions[0]
    for bound in found:
        assert bound.explanation[-1].start + bound.explanation[-1].length == bound.response
    assert [(step.kind, step.label) for step in found[0].explanation] == [
        ("blocking", "middle"),
        ("own", "high"),
    ]
    simulate_against_bounds(prepare(system), found, 5 * 10**9, runs=5)


def test_offsets_are_left_out_and_the_bound_says_so() -> None:
    found = response_times(described(low={"offset": "30us"}))
    assert [bound.response for bound in found] == [40 * 10**6, 75 * 10**6, 95 * 10**6]
    assert any("offsets between tasks are not made use of" in a for a in found[2].assumptions)


def test_a_threshold_that_is_the_own_priority_changes_nothing() -> None:
    system = described(middle={"preemption_threshold": 20}, low={"preemption_threshold": 10})
    found = response_times(system)
    assert [bound.response for bound in found] == [20 * 10**6, 40 * 10**6, 115 * 10**6]
    assert all("theorem 1 " in bound.source for bound in found)


def test_beside_sets_of_a_cache_there_is_no_bound() -> None:
    cache = {"replacement": "direct-mapped", "block": {"value": "1us", "assumed": "here"}}
    sets = {"cache_sets": {"evicting": [0], "useful": [0]}}
    system = described({"m-0": {"cache": cache}}, high=sets, middle=sets, low=sets)
    for bound in response_times(system):
        assert bound.response is None
        assert "tasks.middle.preemption_threshold: there is no bound" in bound.verdict()
    prepare(system)


def test_a_stated_reload_is_charged_to_what_blocks_too() -> None:
    """A job that blocks may have been preempted before it comes to block."""
    reload = {"m-0": {"cache_reload": {"value": "3us", "assumed": "here"}}}
    found = response_times(described(reload))
    assert [bound.response for bound in found] == [43 * 10**6, 81 * 10**6, 104 * 10**6]


REFUSED: list[tuple[dict[str, Any] | None, dict[str, Any], str, str]] = [
    ({"m-0": {"policy": "fixed-priority-non-preemptive"}}, {}, "middle", "no job of 'm-0' is preempted"),
    (None, {"low": {"preemption_threshold": 9}}, "low", "below the task's priority, 10; write 10 or more"),
    (None, {"high": {"self_suspension": "1us"}}, "middle", "jobs of 'high' wait on 'm-0'"),
]


@pytest.mark.parametrize(("scheduling", "keys", "task", "says"), REFUSED)
def test_where_it_would_not_act_it_is_refused(
    scheduling: dict[str, Any] | None, keys: dict[str, Any], task: str, says: str
) -> None:
    with pytest.raises(BadDescription) as found:
        described(scheduling, **keys)
    messages = {problem.field: problem.message for problem in found.value.problems}
    assert says in messages[f"tasks.{task}.preemption_threshold"]


def test_beside_priority_inheritance_it_is_refused() -> None:
    """A job that finds a resource taken waits, and jobs that have begun form no stack any more."""
    section = {"sections": {"lock": {"length": "5us"}}}
    data = dict.fromkeys(("high", "low"), section)
    with pytest.raises(BadDescription) as found:
        described(None, {"lock": {"protocol": "priority-inheritance"}}, **data)
    messages = {problem.field: problem.message for problem in found.value.problems}
    assert "waits on 'm-0'" in messages["tasks.middle.preemption_threshold"]
    assert "priority-ceiling" in messages["tasks.low.preemption_threshold"]
    held = described(None, {"lock": {"protocol": "priority-ceiling"}}, **data)
    assert all(bound.response is not None for bound in response_times(held))


def test_the_plan_shows_it_and_exports_say_that_they_leave_it_out() -> None:
    system = described()
    assert "preempted by ranks below 1 only" in " ".join(text_of(plan(system, "analysis")).split())
    for export in (export_mast, export_rtapp, partial(export_sag, core="m-0")):
        report = Report()
        export(system, report=report)
        assert "preemption_threshold" in report.text()


def test_the_analyses_refuse_it_where_it_makes_no_sense() -> None:
    tasks = [UniTask("a", 1, 10, 10, threshold=0), UniTask("b", 1, 20, 20, threshold=0)]
    with pytest.raises(ValueError, match="of preemptive cores"):
        fixed_priority(tasks, preemptive=False)
    with pytest.raises(ValueError, match="at most its level"):
        fixed_priority([replace(tasks[0], threshold=1), tasks[1]])
    with pytest.raises(ValueError, match="a level of its own"):
        fixed_priority(
            [replace(task, level=0) for task in tasks[:1]] + [replace(tasks[1], level=0, threshold=-1)]
        )
    waiting = UniTask("a", 1, 10, 10, suspension=1, threshold=0)
    with pytest.raises(ValueError, match="preemption thresholds"):
        offloaded({"m": Master([waiting])})


def test_the_simulator_refuses_it_where_it_makes_no_sense() -> None:
    for policy, threshold, suspension, says in (
        ("edf", 0, 0, "needs preemptive fixed priorities"),
        ("fixed-priority", 2, 0, "its threshold is less urgent than it is"),
        ("fixed-priority", 0, 1, "on a core where a job waits"),
    ):
        task: Any = _engine.SimTask()
        task.period = task.deadline = 10
        task.rank, task.threshold, task.suspension = 1, threshold, suspension
        with pytest.raises(ValueError, match=says):
            _engine.sim_run(_engine.SimSystem([_engine.SimCore(policy)], [], [task]), 10)
