# SPDX-License-Identifier: Apache-2.0
"""Ranks: the best of all orders where Audsley's search applies, and few changes of given priorities."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from consort.analysis.system import response_times
from consort.place.call import numbered
from consort.place.evaluate import Evaluator
from consort.place.goals import slack_of
from consort.place.problem import problem_of
from consort.place.ranks import ranked
from consort.plan import plan
from placements import described


@pytest.mark.parametrize("seed", range(12))
def test_no_order_leaves_more_slack_than_the_one_that_is_chosen(seed: int) -> None:
    rng = random.Random(seed)
    tasks = {}
    for number in range(4):
        period = rng.choice([5, 8, 10, 20])
        tasks[f"t{number}"] = {
            "period": f"{period}ms",
            "deadline": f"{round(period * rng.uniform(0.5, 1) * 1000)}us",
            "jitter": f"{rng.choice([0, 0, 300])}us",
            "wcet": {"fast": f"{round(period * rng.uniform(0.05, 0.3) * 1000)}us"},
            "on": "fast-0",
        }
    policy = rng.choice(["fixed-priority", "fixed-priority-non-preemptive"])
    system = described({"tasks": tasks, "scheduling": {"fast": {"policy": policy}}})
    problem = problem_of(system)
    (part,) = Evaluator(problem).parts(problem.given)
    made = plan(system, "analysis")
    slacks = [slack_of(response_times(ranked(made, order))) for order in permutations(tasks)]
    assert part.slack == max((slack for slack in slacks if slack is not None), default=None)


@pytest.mark.parametrize(
    ("order", "given", "wanted"),
    [
        ("abc", {"a": 9, "b": 5, "c": 1}, {"a": 9, "b": 5, "c": 1}),
        ("bac", {"a": 9, "b": 5, "c": 1}, {"b": 5, "a": 3, "c": 1}),
        ("axb", {"a": 9, "b": 5, "x": None}, {"a": 9, "x": 7, "b": 5}),
        ("axb", {"a": 6, "b": 5, "x": None}, {"a": 30, "x": 20, "b": 10}),
        ("abx", {"a": 9, "b": 5, "x": None}, {"a": 9, "b": 5, "x": 3}),
        ("xy", {"x": None, "y": None}, {"x": 20, "y": 10}),
        ("ab", {"a": 3, "b": 3}, {"a": 3, "b": 2}),
    ],
)
def test_as_many_priorities_as_can_be_stay(
    order: str, given: dict[str, int | None], wanted: dict[str, int]
) -> None:
    found = numbered(list(order), given)
    assert found == wanted
    assert sorted(found, key=lambda name: -found[name]) == list(order)
