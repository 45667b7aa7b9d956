# SPDX-License-Identifier: Apache-2.0
"""Three-phase tasks that come late: the bound attacked by search and held against the engine's simulator."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from consort import _engine
from consort.analysis.three_phase import DmaShare, bound_core
from consort.analysis.unitask import UniTask
from effort import examples

SLOT = 10
METHODS = ("corrected", "round-robin")


@pytest.mark.parametrize("method", METHODS)
def test_no_schedule_above_the_bound(method: str) -> None:
    sets = examples(5_000)
    found = _engine.spm_campaign(method, sets, seed=20, threads=2, jitter=True)
    assert found["sets"] > 0.98 * sets
    assert found["violated_sets"] == 0, found["example"]
    assert found["largest_ratio"] > 0.98, "the search is too weak to say anything"


@pytest.mark.parametrize(
    ("left_out", "sets"), [("window_jitter", 500), ("own_jitter", 500), ("start_jitter", 5_000)]
)
def test_each_place_of_the_jitter_is_needed(left_out: str, sets: int) -> None:
    """In the window of the tasks above, of the job itself, and in when a task in flight may have started."""
    assert any(
        _engine.spm_campaign(
            "corrected", sets, seed, 2, 1, 2, restarts=5, steps=200, lemmas={left_out: 0}, jitter=True
        )["violated_sets"]
        for seed in range(1, 20)
    )


def random_cores(random: Random) -> tuple[str, int, list[list[tuple[int, ...]]]]:
    """A policy of the DMA, the round, and for each core its tasks in the engine's form."""
    method = random.choice(METHODS)
    count = random.randint(1, 3)
    cores = []
    for _ in range(count if method == "round-robin" else 1):
        tasks = []
        for _ in range(random.randint(1, 4)):
            c = random.choice((random.randint(1, 15), random.randint(10, 80)))
            t = random.randint(60, 500)
            late = random.choice((0, 1, random.randint(0, 40), random.randint(0, t)))
            deadline = t if random.random() < 0.7 else random.randint(t // 2, t)
            moved = (random.randint(1, SLOT), random.randint(1, SLOT)) if random.random() < 0.7 else (0, 0)
            tasks.append((c, t, deadline, *moved, late))
        cores.append(tasks)
    return method, count, cores


def hold(seed: int) -> int:
    """Simulates one random system; how many of its tasks have a bound that meets the deadline."""
    random = Random(seed)
    method, count, cores = random_cores(random)
    bounds = [_engine.spm_bounds(tasks, count * SLOT, SLOT, method, 4) for tasks in cores]
    if method == "round-robin" and any(len(b) < len(t) for b, t in zip(bounds, cores, strict=True)):
        return 0
    dma = _engine.SimDma()
    dma.round, dma.round_robin = count * SLOT, method == "round-robin"
    made, tasks = [], []
    for k, rows in enumerate(cores):
        core = _engine.SimCore("three-phase")
        core.slot = SLOT
        made.append(core)
        for i, (c, t, d, load, unload, late) in enumerate(rows):
            task: Any = _engine.SimTask()
            task.core = task.master = k
            task.wcet, task.bcet, task.period, task.deadline = c, random.choice((1, c)), t, d
            task.load, task.unload, task.jitter = load, unload, late
            task.offset, task.rank = random.choice((0, random.randint(0, t))), i
            task.extra_gap = random.choice((0, 0, t // 3))
            tasks.append(task)
    system = _engine.SimSystem(made, [dma], tasks)
    held = 0
    for execution in ("worst", "edges"):
        found = iter(_engine.sim_run(system, 6_000, seed, execution, "edges")["tasks"])
        for rows, of_core in zip(cores, bounds, strict=True):
            # Below a task that may be late, and above one, other bounds are needed (`bound_core`).
            late = len(of_core) < len(rows) or of_core[-1]["response"] is None
            late = late or of_core[-1]["response"] > rows[len(of_core) - 1][2]
            for i, _ in enumerate(rows):
                seen = next(found)["max_response"]
                if not late:
                    held += 1
                    assert seen is None or seen <= of_core[i]["response"], (seed, rows, i, seen)
    return held


def test_the_simulator_never_exceeds_the_bound() -> None:
    assert sum(hold(seed) for seed in range(600)) > 400


@pytest.mark.slow
def test_the_simulator_never_exceeds_the_bound_on_many_systems() -> None:
    assert sum(hold(seed) for seed in range(1_000, 101_000)) > 60_000


def test_without_jitter_nothing_changes_and_with_it_the_job_itself_comes_later() -> None:
    share = DmaShare.equal(SLOT, 2)
    rows = [(35, 200), (10, 300), (60, 700)]

    def responses(late: int) -> list[int | None]:
        tasks = [UniTask(str(i), c, t, t, jitter=late * (i == 1)) for i, (c, t) in enumerate(rows)]
        return [bound.response for bound in bound_core(tasks, share)]

    punctual, late = responses(0), responses(7)
    assert punctual == [b["response"] for b in _engine.spm_bounds([(c, t, t) for c, t in rows], 20, 10)]
    assert late[0] == punctual[0] and punctual[1] is not None and late[1] == punctual[1] + 7


def test_the_bound_says_what_its_jitter_is() -> None:
    tasks = [UniTask("a", 30, 300, 300, jitter=9), UniTask("b", 20, 400, 400, jitter=5)]
    for bound, late in zip(bound_core(tasks, DmaShare.equal(SLOT, 2)), (9, 5), strict=True):
        assert bound.response is not None
        assert bound.explanation[0].kind == "jitter" and bound.explanation[0].length == late
        last = bound.explanation[-1]
        assert last.start + last.length == bound.response
        assert any("at most its jitter late" in text for text in bound.assumptions)


def test_the_printed_bound_has_none() -> None:
    with pytest.raises(ValueError, match="takes no release jitter; a has some"):
        bound_core([UniTask("a", 30, 300, 300, jitter=9)], DmaShare(10, 20), method="literal")


def test_the_exact_search_has_none() -> None:
    with pytest.raises(ValueError, match="without jitter"):
        _engine.spm_exact([(1, 40, 40, 0, 0, 1)], 2, 1)
