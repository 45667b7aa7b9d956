# SPDX-License-Identifier: Apache-2.0
"""The best placement that is found is the best of all, which small descriptions let us look at."""

from __future__ import annotations

import pytest
from consort.place.goals import Goal, chains_of
from consort.place.problem import problem_of
from loops import for_each
from placements import every, optimum, random_system, searched

# Some of the 200 descriptions that have few placements.
FEW = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]


def agree(seed: int) -> None:
    system = random_system(seed)
    limits = {0: {}, 1: {"moves": 1}, 2: {"keep": ["t0"]}}[seed % 3]
    problem = problem_of(system, in_modes=True, **limits)
    outcomes = every(problem)
    goals: list[Goal] = ["slack", "cores", "energy"]
    if chains_of(problem):
        goals.append("reaction")
    for goal in goals:
        best = optimum(problem, goal, outcomes)
        status, value, _ = searched(problem, goal)
        assert value == best, (seed, goal)
        assert status == ("infeasible" if best is None else "optimal"), (seed, goal)


@for_each("seed", FEW)
def test_the_optimum_is_that_of_exhaustive_search(seed: int) -> None:
    agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({*range(200)} - {*FEW}))
def test_the_optimum_is_that_of_exhaustive_search_on_many(seed: int) -> None:
    agree(seed)
