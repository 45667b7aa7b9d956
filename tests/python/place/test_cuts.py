# SPDX-License-Identifier: Apache-2.0
"""Consequences of an analysed placement for others, and the cases where there must be none."""

from __future__ import annotations

from typing import Any

import pytest
from consort.analysis.system import analyze_system
from consort.model import System, platform_from_data, system_from_data
from consort.place.cuts import Cut, Cuts
from consort.place.evaluate import Evaluator
from consort.place.problem import Place, Problem, problem_of
from consort.place.ranks import plain, takes_audsley
from placements import PLATFORM, described, every, optimum, searched


def task(period: str, wcet: str, on: str = "fast-0", **more: Any) -> dict[str, Any]:
    return {"period": period, "wcet": {"fast": wcet}, "on": on, **more}


def cuts_of(problem: Problem) -> list[Cut]:
    evaluator = Evaluator(problem)
    return list(Cuts(problem, evaluator).of(evaluator.outcome(problem.given), target=0, reactions=False))


# With `late` the core's releases are known moments of one clock, and `low` no longer waits for two of `high`.
HIGH = task("10ms", "3ms", jitter="4ms", priority=4)
LOW = task("10ms", "4ms", deadline="9ms", priority=3)
LATE = task("40ms", "10us", offset="39ms", priority=2)


def response(name: str, **tasks: dict[str, Any]) -> int | None:
    return next(b.response for b in analyze_system(described({"tasks": tasks})) if b.task == name)


def test_a_task_more_on_a_core_can_make_the_bound_of_another_lower() -> None:
    """The reason for all that follows: fewer tasks do not always do better."""
    alone, with_late = response("low", high=HIGH, low=LOW), response("low", high=HIGH, low=LOW, late=LATE)
    assert alone == 10_006_000_000 and with_late == 7_005_000_000


def test_no_cut_speaks_of_more_tasks_where_one_with_an_offset_may_come() -> None:
    # On slow cores they do not execute; on the other fast core is what keeps it full.
    full = task("10ms", "9900us", on="fast-1", priority=1)
    system = described({"tasks": {"high": HIGH, "low": LOW, "late": {**LATE, "on": "fast-1"}, "full": full}})
    problem = problem_of(system, keep=["full"])
    assert not plain(problem, "fast-0")
    assert all(not cut.general for cut in cuts_of(problem))
    # high and low fail together, but not with late: a cut of the two alone would exclude the only placement.
    outcomes = every(problem)
    best = optimum(problem, "slack", outcomes)
    assert best is not None
    assert searched(problem, "slack")[:2] == ("optimal", best)
    # It comes out if the rule is broken.
    wrong = Cuts(problem, Evaluator(problem))
    wrong.grows = lambda _core: True  # type: ignore[assignment]
    outcome = wrong.evaluator.outcome(problem.given)
    excluded = [
        {(one.decision, one.place) for one in cut.literals}
        for cut in wrong.of(outcome, target=None, reactions=False)
    ]
    held = [set(enumerate(one.choice)) for one in outcomes]
    assert any(cut <= placement for cut in excluded for placement in held)


@pytest.mark.parametrize(
    "more",
    [
        {"offset": "1ms"},
        {"self_suspension": "1ms"},
        {"sections": {"bus": {"length": "20us"}}},
    ],
)
def test_what_the_proof_does_not_cover_has_no_general_cut(more: dict[str, Any]) -> None:
    data: dict[str, Any] = {"tasks": {"a": task("10ms", "6ms"), "b": task("10ms", "6ms", **more)}}
    if "sections" in more:
        data["resources"] = {"bus": {"protocol": "priority-ceiling"}}
    problem = problem_of(described(data))
    assert not plain(problem, "fast-0")
    found = cuts_of(problem)
    assert found and not any(cut.general for cut in found)


def test_a_worker_or_a_master_has_no_general_cut() -> None:
    offloaded = task("10ms", "1ms", execution="offloaded", master="slow-0")
    system = described(
        {
            "tasks": {"a": offloaded, "b": task("10ms", "1ms", on="fast-1")},
            "channels": {"a.in": {"size": "64B"}, "a.out": {"size": "8B"}},
        }
    )
    problem = problem_of(system)
    assert not plain(problem, "fast-0") and not plain(problem, "slow-0")


def test_a_set_that_does_not_fit_is_excluded_on_each_core_that_is_alike_whatever_else_is_there() -> None:
    tasks = {"a": task("10ms", "6ms"), "b": task("10ms", "6ms"), "c": task("10ms", "1ms")}
    problem = problem_of(described({"tasks": tasks}))
    assert takes_audsley(problem, "fast-0")
    found = cuts_of(problem)
    assert all(cut.general and cut.term is None for cut in found)
    # c is not part of the reason, and fast-1 is like fast-0.
    names = [
        {
            f"{problem.decisions[one.decision]} {problem.decisions[one.decision].places[one.place]}"
            for one in c.literals
        }
        for c in found
    ]
    assert names == [{"a fast-0", "b fast-0"}, {"a fast-1", "b fast-1"}]


def test_another_core_that_takes_turns_of_the_dma_engine_is_in_the_cut() -> None:
    """It makes each round longer, though it has no task of the part."""
    data = {**PLATFORM, "dmas": {"dma": {"rate": "1GB/s", "setup": "1us"}}}
    scratchpad = {"size": "64KiB", "partitions": 2}
    data["cores"] = {"fast": {**PLATFORM["cores"]["fast"], "scratchpad": scratchpad}}
    data["processors"] = {"fast": PLATFORM["processors"]["fast"]}
    phases = {
        "execution": "three-phase",
        "footprint": {"code": "1KiB", "data": "1KiB", "inputs": "8B", "outputs": "8B"},
    }
    made = {
        "consort": 1,
        "platform": "two-kinds",
        "scheduling": {"fast": {"policy": "three-phase", "slot": "auto"}},
        "tasks": {"a": task("10ms", "9999us", **phases), "b": task("10ms", "1ms", **phases)},
    }
    problem = problem_of(system_from_data(made, platform=platform_from_data(data)))
    found = cuts_of(problem)
    assert found and not any(cut.general for cut in found)
    # b alone on fast-1, say, would be another round than that of the cut, so b is where it was in each.
    assert all({one.decision for one in cut.literals if one.positive} == {0, 1} for cut in found)
    (part,) = Evaluator(problem).parts((0, 1))
    assert part.cores == {"fast-0", "fast-1"} and len(part.places) == 2
    alone = problem_of(
        system_from_data({**made, "tasks": {"a": made["tasks"]["a"]}}, platform=platform_from_data(data))
    )
    (part,) = Evaluator(alone).parts((0,))
    assert part.cores == {"fast-0", "fast-1"}


def test_cores_with_an_entry_of_their_own_stand_for_no_others() -> None:
    system: System = described(
        {"tasks": {"a": task("10ms", "1ms")}, "scheduling": {"fast-1": {"policy": "edf"}}}
    )
    problem = problem_of(system)
    assert problem.alike("fast-0") == ["fast-0"] and problem.alike("fast-1") == ["fast-1"]
    assert problem.decisions[0].places == (Place("local", "fast-0"), Place("local", "fast-1"))


def test_of_many_equal_cores_only_as_many_are_looked_at_as_can_be_needed() -> None:
    data = {**PLATFORM, "cores": {"fast": {**PLATFORM["cores"]["fast"], "count": 1000}}}
    data["processors"] = {"fast": PLATFORM["processors"]["fast"]}
    made = {"consort": 1, "platform": "two-kinds", "tasks": {"a": task("10ms", "1ms", on="fast-999")}}
    problem = problem_of(system_from_data(made, platform=platform_from_data(data)))
    assert problem.cores == ["fast-0", "fast-1", "fast-999"]
