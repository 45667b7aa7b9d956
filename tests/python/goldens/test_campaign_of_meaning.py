# SPDX-License-Identifier: Apache-2.0
"""Analysis, simulator and virtual time mean the same by every key; where one of them did not, the campaign
sees it within a thousand descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign_of_meaning as meaning
import pytest
from consort.analysis.mode_changes import ModeBounds, analyze_modes
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system
from consort.plan import PlannedTask
from consort.run import plan_image
from consort.simulate import build

ROWS = dict[str, Any]
# Wrong encoders of images: as if virtual time did not know a key, or took a default.
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

CHANNELS: Mapping[str, Callable[[ROWS], ROWS]] = {
    "blocks are there when their jobs end": lambda row: {"let": False},
    "blocks are there at deadlines": lambda row: {"let": True},
}


Patch = Callable[[pytest.MonkeyPatch], None]


def image_says(method: str, change: Callable[[ROWS], ROWS]) -> Patch:
    """An encoder of images that writes another row."""
    right = getattr(plan_image._Image, method)

    def wrong(self: Any, *arguments: Any) -> ROWS:
        row: ROWS = right(self, *arguments)
        return row if row.get("rests") else row | change(row)

    return lambda patch: patch.setattr(plan_image._Image, method, wrong)


def image_has_first_modes(*keys: str) -> Patch:
    """An encoder of images that writes figures of a task's first mode for every mode."""
    right = plan_image._Image._task

    def wrong(self: Any, figures: Any, name: str, until_deadline: bool) -> ROWS:
        row = right(self, figures, name, until_deadline)
        if row["rests"]:
            return row
        known = self.__dict__.setdefault("first", {}).setdefault(name, row)
        return row | {key: known[key] for key in keys}

    return lambda patch: patch.setattr(plan_image._Image, "_task", wrong)


def image_has_fewer_ends(patch: pytest.MonkeyPatch) -> None:
    right = plan_image._Image._ends_of

    def wrong(self: Any, task: PlannedTask) -> Any:
        return right(self, task)[1:] if task.reads else right(self, task)

    patch.setattr(plan_image._Image, "_ends_of", wrong)


def simulator_ignores(**known: Any) -> Patch:
    right = build._task

    def wrong(figures: Any, task: PlannedTask, *more: Any) -> Any:
        return right(figures, replace(task, **known), *more)

    return lambda patch: patch.setattr(build, "_task", wrong)


def simulator_worst(patch: pytest.MonkeyPatch) -> None:
    right = build._task

    def wrong(figures: Any, task: PlannedTask, *more: Any) -> Any:
        return right(figures, replace(task, bcet_ps=task.wcet_ps), *more)

    patch.setattr(build, "_task", wrong)


def analysis_counts(factor: float, kind: str) -> Patch:
    """Bounds of a kind that are too small."""

    def smaller(bounds: list[Bound]) -> list[Bound]:
        return [
            replace(bound, response=int(bound.response * factor))
            if bound.response is not None and bound.kind == kind
            else bound
            for bound in bounds
        ]

    def patch(patch: pytest.MonkeyPatch) -> None:
        one, modes = analyze_system, analyze_modes

        def wrong_modes(subject: Any, **options: Any) -> ModeBounds:
            found = modes(subject, **options)
            of_modes = {name: smaller(bounds) for name, bounds in found.modes.items()}
            return replace(found, modes=of_modes, changes=smaller(found.changes))

        patch.setattr(meaning, "analyze_system", lambda *args, **options: smaller(one(*args, **options)))
        patch.setattr(meaning, "analyze_modes", wrong_modes)

    return patch


def mutants() -> dict[str, Patch]:
    """Wrong analyses, simulators and encoders of images, by what is wrong."""
    return {
        **{f"image: {name}": image_says("_task", change) for name, change in TASKS.items()},
        **{f"image: {name}": image_says("_core", change) for name, change in CORES.items()},
        **{f"image: {name}": image_says("_channel", change) for name, change in CHANNELS.items()},
        "image: a task reads one channel less": image_has_fewer_ends,
        "image: a first mode's times": image_has_first_modes("period", "bcet", "wcet"),
        "image: a first mode's wcet": image_has_first_modes("bcet", "wcet"),
        "image: a first mode's rank": image_has_first_modes("rank", "threshold"),
        "image: a first mode's worker": image_has_first_modes("worker", "worker_rank"),
        "simulator: no jitter": simulator_ignores(jitter_ps=0),
        "simulator: no offsets": simulator_ignores(offset_ps=0),
        "simulator: no thresholds": simulator_ignores(threshold=None),
        "simulator: no suspension": simulator_ignores(self_suspension_ps=None),
        "simulator: one suspension": simulator_ignores(suspensions=1),
        "simulator: no sections": simulator_ignores(sections=()),
        "simulator: no cache": simulator_ignores(cache_sets=None),
        "simulator: the best case is the worst": simulator_worst,
        "analysis: half of a response": analysis_counts(0.5, "response time"),
        "analysis: nine tenths of a response": analysis_counts(0.9, "response time"),
        "analysis: three quarters of a reaction": analysis_counts(0.75, "reaction time"),
        "analysis: three quarters of an age": analysis_counts(0.75, "data age"),
        "analysis: half of a change of mode": analysis_counts(0.5, "change of mode"),
    }


# The ends of jobs, and of runs, whose steps overran.
FAULTS = {
    "deadline_misses",
    "late_answers_discarded",
    "local_fallbacks",
    "outputs_held",
    "stopped",
    "unserved",
}


def found_within(descriptions: int) -> bool:
    try:
        meaning.campaign(range(descriptions))
    except (AssertionError, ValueError):
        return True  # an executive that refuses an image found it, too
    return bool(meaning.ignored())


@pytest.mark.representative
def test_a_hundred_descriptions_mean_one_thing() -> None:
    counts = meaning.campaign(range(100))
    assert counts.compared > 30 and counts.bounds > 300 and counts.jobs > 1000 and counts.operations > 1000
    assert {"deadline_misses", "outputs_held", "unserved"} <= counts.faults.keys()


@pytest.mark.slow
def test_a_hundred_thousand_descriptions_mean_one_thing() -> None:
    counts = meaning.campaign(range(1_000_000, 1_100_000))
    assert {name for name, count in counts.faults.items() if count >= 100} == FAULTS
    assert counts.rest(1) == []
    # Every pair was compared ten times, or a row of a table of what does not go together refuses it.
    assert [(pair, counts.held[pair], counts.why.get(pair)) for pair in counts.rest(2)] == []


def test_the_pairs_that_were_compared_least_come_first() -> None:
    need = meaning.Need()
    first = [need.case(number).features for number in range(100)]
    assert len({*first}) == 100 and all(len(pair) == 2 for pair in first)
    for one in meaning.PAIRS[:-1]:
        need.held[one] = meaning.ENOUGH
    need.again()
    assert {*need.case(0).features} == {*meaning.PAIRS[-1]}


def test_a_reason_is_known_as_a_row_of_a_table() -> None:
    refused = ("edf", "thresholds"), ("fail-over", "stop"), ("bandwidth", "offset")
    for pair in refused:
        found = meaning.tried(meaning.described(0, pair))
        assert found.level in ("analysed", "refused") and meaning.by_row(found.why), pair
    missing = meaning.tried(meaning.described(0, ("best case", "no cost")))
    assert missing.level == "refused" and not meaning.by_row(missing.why)


@pytest.mark.slow
@pytest.mark.parametrize("name", mutants())
def test_what_means_something_else_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutants()[name](monkeypatch)
    assert found_within(1000)


def test_no_key_that_virtual_time_refuses_is_ignored_by_the_simulator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert meaning.ignored() == []
    simulator_ignores(sections=())(monkeypatch)
    assert meaning.ignored() == ["ceiling", "inheritance"]


def answers(numbers: Iterable[int], folder: Path) -> list[tuple[str, str]]:
    """The verdicts of simulations and of runs in virtual time, which are the same."""
    said = []
    need = meaning.Need()
    for number in numbers:
        case = need.case(number)
        both = meaning.judged(case, folder)
        if both is not None:
            assert both[0] == both[1], f"{case}: simulated {both[0]}, executed {both[1]}"
            said.append(both)
    return said


def test_a_simulation_is_judged_as_virtual_time_is(tmp_path: Path) -> None:
    assert answers(range(3), tmp_path)


@pytest.mark.slow
def test_hundreds_of_simulations_are_judged_as_virtual_time_is(tmp_path: Path) -> None:
    said = answers(range(1000, 1600), tmp_path)
    assert len(said) > 100 and {one for one, _ in said} == {"held", "not held", "undecided"}
