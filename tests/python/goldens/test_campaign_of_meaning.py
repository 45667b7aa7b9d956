# SPDX-License-Identifier: Apache-2.0
"""Analysis, simulator and virtual time mean the same by every key; where one of them did not, the campaign
sees it within a thousand descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import campaign_of_meaning as meaning
import pytest
from consort.plan import PlannedTask
from consort.run import virtual
from consort.simulate import build

ROWS = dict[str, Any]
# What the encoder of images writes otherwise: as if virtual time did not know a key, or took a default.
TASKS: Mapping[str, Callable[[ROWS], ROWS]] = {
    "offsets are ignored": lambda row: {"offset": 0},
    "jitter is ignored": lambda row: {"jitter": 0},
    "sporadic tasks come as often as they may": lambda row: {"extra_gap": 0},
    "distances are ignored": lambda row: {"distances.count": 0},
    "the best case is a picosecond": lambda row: {"bcet": 1},
    "the best case is the worst": lambda row: {"bcet": row["wcet"]},
    "jobs do not suspend themselves": lambda row: {"suspension": 0},
    "ranks are turned round": lambda row: {"rank": 1000 - row["rank"], "threshold": 1000},
    "thresholds are ignored": lambda row: {"threshold": row["rank"]},
    "a worker serves in another order": lambda row: {"worker_rank": 1000 - row["worker_rank"]},
    "a master waits until the deadline": lambda row: {"give_up": row["deadline"]},
    "sending takes no time": lambda row: {"send": 0},
    "a request takes no time": lambda row: {"request": 0},
    "an answer takes no time": lambda row: {"response": 0},
    "the master falls back in no time": lambda row: {"fallback": 0},
    "late jobs are not skipped": lambda row: {"skips": False},
    "a missing answer holds the last output": lambda row: {"on_miss": "hold-last-output"},
}
CORES: Mapping[str, Callable[[ROWS], ROWS]] = {
    "switches take no time": lambda row: {"context_switch": 0},
    "edf goes by priority": lambda row: {
        "policy": "fixed-priority" if row["policy"] == "edf" else row["policy"]
    },
    "non-preemptive cores preempt": lambda row: {
        "policy": "fixed-priority" if row["policy"].startswith("fixed") else row["policy"]
    },
    "masters always spin": lambda row: {"wait": "spin"},
    "requests are served in their order": lambda row: {"service": "fifo"},
}


def found_within(descriptions: int) -> bool:
    try:
        meaning.campaign(range(descriptions))
    except AssertionError:
        return True
    return False


def test_a_hundred_descriptions_mean_one_thing() -> None:
    counts = meaning.campaign(range(100))
    assert counts.compared > 30 and counts.bounds > 300 and counts.jobs > 1000


@pytest.mark.slow
def test_a_hundred_thousand_descriptions_mean_one_thing() -> None:
    counts = meaning.campaign(range(1_000_000, 1_100_000))
    assert min(counts.features[name] for name in counts.features) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TASKS, *CORES])
def test_an_image_that_says_something_else_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, change = ("_task", TASKS[name]) if name in TASKS else ("_core", CORES[name])
    right = getattr(virtual._Image, method)

    def wrong(self: Any, *arguments: Any) -> ROWS:
        row: ROWS = right(self, *arguments)
        return row if row.get("rests") else row | change(row)

    monkeypatch.setattr(virtual._Image, method, wrong)
    assert found_within(1000)


@pytest.mark.slow
def test_a_first_modes_figures_in_another_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = virtual._Image._task

    def wrong(self: Any, figures: Any, name: str, until_deadline: bool) -> ROWS:
        row = right(self, figures, name, until_deadline)
        if row["rests"]:
            return row
        known = self.__dict__.setdefault("first", {}).setdefault(name, row)
        return row | {key: known[key] for key in ("period", "bcet", "wcet")}

    monkeypatch.setattr(virtual._Image, "_task", wrong)
    assert found_within(1000)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.5, 0.9])
def test_an_analysis_that_counts_too_little_is_found(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = meaning.analyze_system

    def wrong(subject: Any, **options: Any) -> Any:
        return [
            bound if bound.response is None else replace(bound, response=int(bound.response * factor))
            for bound in right(subject, **options)
        ]

    monkeypatch.setattr(meaning, "analyze_system", wrong)
    assert found_within(1000)


@pytest.mark.slow
def test_a_simulator_that_ignores_a_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = build._task

    def wrong(figures: Any, task: PlannedTask, *more: Any) -> Any:
        return right(figures, replace(task, jitter_ps=0), *more)

    monkeypatch.setattr(build, "_task", wrong)
    assert found_within(1000)
