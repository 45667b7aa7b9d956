# SPDX-License-Identifier: Apache-2.0
"""Chains of tasks that release one another: the bounds of theorem 27 against what is simulated."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from consort.analysis.system import analyze_system
from consort.simulate.build import prepare
from consort.simulate.chains import measure_chains
from consort.simulate.engine import simulate
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "simulate"))
import small

QUEUE = {"kind": "queue", "capacity": 64, "size": "64B", "memory": "free"}
LET = {"kind": "sporadic", "size": "64B", "memory": "free", "communication": "let"}
US = 10**6


def line(*tasks: dict[str, Any], **more: Any) -> Any:
    """Tasks that write to one another in this order; the first is periodic, the others released by blocks."""
    described = {}
    for i, task in enumerate(tasks):
        described[f"t{i}"] = made = dict(task)
        if i:
            made |= {"arrival": f"c{i}", "reads": [f"c{i}"]}
        if i + 1 < len(tasks):
            made["writes"] = [f"c{i + 1}"]
    let_into = more.pop("let_into", None)
    channels = {f"c{i}": LET if i == let_into else QUEUE for i in range(1, len(tasks))}
    chains = {} if let_into else {"all": {"path": [f"t{i}" for i in range(len(tasks))]}}
    return small.system(described | more.pop("others", {}), channels=channels, chains=chains, **more)


def bound_of(system: Any, kind: str) -> Any:
    return next((b for b in analyze_system(system) if b.task == "all" and b.kind == kind), None)


def test_what_a_response_takes_beyond_the_least_counts_once():
    system = line(
        {"period": 100, "wcet": 30, "bcet": 10},
        {"min_interarrival": 100, "jitter": 20, "wcet": 5, "bcet": 5, "on": "m-1"},
    )
    bounds = {(b.task, b.kind): b.response for b in analyze_system(system)}
    assert bounds["t1", "response time"] == 25 * US
    # A period, the least of the first, and the response of the second with its jitter.
    assert bounds["all", "reaction time"] == (100 + 10 + 25) * US
    assert bounds["all", "data age"] == (100 + 10 + 25) * US
    figures = measure_chains(simulate(prepare(system), 10_000 * US, choice="edges", trace=True))["all"]
    # Attained but for the tick by which the stimulus comes after the read.
    assert (100 + 30 + 5 - 1) * US <= figures.reaction <= (100 + 30 + 5) * US


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"jitter": 19}, "differs by 20us: write 'jitter: 20us' or more"),
        ({"min_interarrival": 101}, "has a block each 100us: write 'min_interarrival: 100us' or less"),
    ],
)
def test_a_block_that_may_come_early_leaves_no_bound_and_the_remedy_is_said(wrong, remedy):
    reader = {"min_interarrival": 100, "jitter": 20, "wcet": 5, "on": "m-1"}
    writer = {"period": 100, "wcet": 30, "bcet": 10}
    assert bound_of(line(writer, reader), "reaction time") is not None
    system = line(writer, {**reader, **wrong})
    assert bound_of(system, "reaction time") is None
    notes = next(b for b in analyze_system(system) if b.task == "t1").notes
    assert any(remedy in note for note in notes)


def test_jobs_closer_than_the_blocks_that_release_them_are_due_before_these_were_due():
    """Their intervals end that much earlier: the blocks that they write then come as early."""
    system = line(
        {"period": 40, "wcet": 1},
        {"min_interarrival": 40, "jitter": 4, "wcet": 1, "deadline": 40},
        {"min_interarrival": 37, "jitter": 7, "wcet": 1, "deadline": 37},
        {"min_interarrival": 40, "wcet": 1},
        let_into=3,
    )
    notes = next(b for b in analyze_system(system) if b.task == "t3").notes
    assert any("differs by 7us: write 'jitter: 7us' or more" in note for note in notes)
    run = simulate(prepare(system), 1000 * US, choice="edges", trace=True)
    assert run.figures["t3"].early > 0


def test_a_bcet_that_nobody_gave_is_none():
    # Executions do not vary in a simulation without one. Nobody said that they do not on a machine.
    writer = {"period": 100, "wcet": 30}
    reader = {"min_interarrival": 100, "wcet": 5, "on": "m-1"}
    assert bound_of(line(writer, reader), "reaction time") is None
    assert bound_of(line(writer, {**reader, "jitter": 30}), "reaction time").response == 135 * US


@st.composite
def lines(draw: st.DrawFn) -> Any:
    cores = [f"m-{i}" for i in range(draw(st.integers(1, 3)))]
    policies = ["fixed-priority", "fixed-priority-non-preemptive", "edf"]
    scheduling = {core: {"policy": draw(st.sampled_from(policies))} for core in cores}
    count = draw(st.integers(2, 4))
    period = draw(st.integers(20, 100))
    ranks = draw(st.permutations(range(count + 1)))
    tasks: list[dict[str, Any]] = []
    for i in range(count):
        wcet = draw(st.integers(1, 12))
        task = {
            "wcet": wcet,
            "on": draw(st.sampled_from(cores)),
            "priority": ranks[i],
            "deadline": draw(st.integers(period, 4 * period)),
        }
        if draw(st.booleans()):
            task["bcet"] = draw(st.integers(1, wcet))
        if i:
            task["min_interarrival"] = period - draw(st.sampled_from([0, 0, 1, 10, -1, -7]))
            task["jitter"] = draw(st.integers(0, 60))
        else:
            task[draw(st.sampled_from(["period", "period", "min_interarrival"]))] = period
            task["jitter"] = draw(st.sampled_from([0, 5]))
        tasks.append(task)
    other = {
        "period": draw(st.integers(10, 60)),
        "wcet": draw(st.integers(1, 8)),
        "on": draw(st.sampled_from(cores)),
        "priority": ranks[count],
    }
    return tasks, other, scheduling


@pytest.mark.representative
@settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))
@given(made=lines(), seed=st.integers(0, 2**32))
def test_no_simulated_chain_is_above_its_bound(made, seed):
    tasks, other, scheduling = made
    used = {task["on"] for task in (*tasks, other)}
    scheduling = {core: given for core, given in scheduling.items() if core in used}
    for task in (*tasks, other):
        if scheduling[task["on"]]["policy"] == "edf":
            task.pop("priority", None)
    described = line(*tasks, others={"other": other}, scheduling=scheduling)
    bounds = {(b.task, b.kind): b for b in analyze_system(described)}
    run = simulate(prepare(described), 3000 * US, seed, choice="edges", trace=True)
    shown = [t for t in (f"t{i}" for i in range(1, len(tasks))) if not bounds[t, "response time"].notes]
    all_hold = all(b.schedulable for b in bounds.values() if b.kind == "response time")
    assume(all_hold)
    for task in shown:
        assert run.figures[task].early == 0, task
    for name, figures in run.figures.items():
        response = bounds[name, "response time"].response
        assert figures.max_response is None or figures.max_response <= response
    chain = measure_chains(run)["all"]
    for kind, seen in (("reaction time", chain.reaction), ("data age", chain.age)):
        bound = bounds.get(("all", kind))
        if bound is not None and bound.response is not None and seen is not None:
            assert seen <= bound.response
