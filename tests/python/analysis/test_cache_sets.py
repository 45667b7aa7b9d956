# SPDX-License-Identifier: Apache-2.0
"""Preemption delay by evicting and useful sets of a cache, held against a real cache and the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import caches
import free
import pytest
import ticks
from consort import _engine
from consort.analysis import reloads
from consort.analysis.reloads import Blocks, CachedCore, Lost, by_windows, ecb_union, ucb_union
from consort.analysis.result import least
from consort.analysis.system import response_times
from consort.analysis.uniprocessor import UniTask, fixed_priority
from consort.analysis.unitask import Matrix, Reloads
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.model.sharing import Scheduling
from consort.plan import plan
from consort.plan.show import text_of
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds

How = Callable[[Sequence[Blocks], int], Matrix]
WAYS: tuple[How, ...] = (ecb_union, ucb_union)


def bounds_by(
    tasks: Sequence[UniTask],
    blocks: Sequence[Blocks],
    per_set: int,
    ways: Sequence[How] = WAYS,
    switch: int = 0,
) -> list[int | None]:
    found = [
        fixed_priority(tasks, context_switch=switch, cache_reload=Reloads(per_set, way(blocks, per_set), ""))
        for way in ways
    ]
    return [least(bounds).response for bounds in zip(*found, strict=True)]


def unlimited(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """More than any other way counts: in place of the one that is left out."""
    return 10**6 * jobs


def by_multisets(
    tasks: Sequence[UniTask], blocks: Sequence[Blocks], per_set: int, switch: int = 0
) -> list[int | None]:
    """The bound by multisets alone, without what unions find for the more urgent tasks."""
    return [b.response for b in by_windows(tasks, CachedCore(per_set, blocks), context_switch=switch)]


def test_the_published_way_of_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks by hand (Altmeyer, Davis & Maiza 2012 have the formulas): 12 without any delay."""
    rows = [
        (2, 15, {0, 3, 4, 5, 6, 7}, {0, 4, 5}),
        (4, 29, {0, 3, 4, 5, 6, 7}, {3, 5, 6, 7}),
        (6, 64, {0, 1, 3, 4}, {0, 1, 3}),
    ]
    tasks = [UniTask(str(i), c, t, t) for i, (c, t, _, _) in enumerate(rows)]
    blocks = [Blocks(frozenset(e), frozenset(u)) for _, _, e, u in rows]
    assert bounds_by(tasks, blocks, 0)[2] == 12
    assert bounds_by(tasks, blocks, 1, [ecb_union])[2] == 24
    assert bounds_by(tasks, blocks, 1, [ucb_union])[2] == 26
    assert by_multisets(tasks, blocks, 0)[2] == 12
    assert by_multisets(tasks, blocks, 1)[2] == 22
    for left_out, bound in (("ucb_multiset", 22), ("ecb_multiset", 23)):
        with monkeypatch.context() as patch:
            patch.setattr(reloads, left_out, unlimited)
            assert by_multisets(tasks, blocks, 1)[2] == bound


def all_ways(
    tasks: Sequence[UniTask], blocks: Sequence[Blocks], per_set: int, switch: int = 0
) -> list[int | None]:
    """By multisets, which are never above the unions."""
    unions = bounds_by(tasks, blocks, per_set, switch=switch)
    counted = by_multisets(tasks, blocks, per_set, switch)
    for union, multiset in zip(unions, counted, strict=True):
        assert union is None or (multiset is not None and multiset <= union), (tasks, blocks, per_set)
    return counted


Bounds = Callable[[Sequence[UniTask], Sequence[Blocks], int, int], list[int | None]]


def attack_with_a_cache(seed: int, bounds_of: Bounds = all_ways, runs: int = 6) -> tuple[int, int, int]:
    """Programs on a real cache, against bounds by the sets that those programs use."""
    random = Random(seed)
    sets, lines, block = random.choice((2, 4, 8)), random.choice((1, 1, 2)), random.randint(1, 6)
    programs = [caches.a_program(random, sets) for _ in range(random.randint(2, 5))]
    blocks = [
        Blocks(
            frozenset(b % sets for b in program),
            frozenset(s for at in ticks.useful(program, sets, lines) for s in at),
        )
        for program in programs
    ]
    tasks = []
    for i, program in enumerate(programs):
        wcet = ticks.alone(program, caches.Cache(sets, lines), block)
        tasks.append(UniTask(str(i), wcet, wcet * random.randint(2, 10), 10_000))
    bounds = bounds_of(tasks, blocks, block * lines, 0)
    seen = [0] * len(tasks)
    for _ in range(runs):
        offsets = [random.randint(0, task.period) for task in tasks]
        periods = [task.period for task in tasks]
        found = ticks.with_a_cache(programs, periods, offsets, 500, caches.Cache(sets, lines), block)
        seen = [max(pair) for pair in zip(seen, found, strict=True)]
    pairs = [(s, b) for s, b in zip(seen, bounds, strict=True) if b is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def attack(seed: int, bounds_of: Bounds = all_ways, runs: int = 3) -> tuple[int, int, int]:
    """The engine's simulator, with sets at random: a job that goes on reloads all that it lost."""
    random = Random(seed)
    sets, per_set, switch = random.choice((2, 4, 8)), random.randint(1, 4), random.choice((0, 0, 1))
    core = _engine.SimCore("fixed-priority")
    core.context_switch, core.set_reload = switch, per_set
    described, blocks, tasks = [], [], []
    for i in range(random.randint(2, 5)):
        evicting = random.sample(range(sets), random.randint(1, sets))
        useful = random.sample(evicting, random.randint(0, len(evicting)))
        blocks.append(Blocks(frozenset(evicting), frozenset(useful)))
        task: Any = _engine.SimTask()
        task.evicting, task.useful = evicting, useful
        task.period = task.deadline = random.choice((30, 40, 60, 80, 120, 160))
        task.wcet = random.choice((1, random.randint(1, task.period // 4)))
        task.bcet = random.choice((0, task.wcet))
        task.jitter = random.choice((0, 0, random.randint(0, task.period // 2)))
        task.rank, task.offset = i, random.randint(0, task.period)
        task.extra_gap = random.choice((0, task.period))
        described.append(UniTask(str(i), task.wcet, task.period, task.period, task.jitter))
        tasks.append(task)
    system = _engine.SimSystem([core], [], tasks)
    bounds = bounds_of(described, blocks, per_set, switch)
    seen = [-1] * len(tasks)
    for run in range(runs):
        found = _engine.sim_run(system, 1_500, seed + run, ("worst", "edges")[run % 2], "edges")["tasks"]
        seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
    pairs = [(s, b) for s, b in zip(seen, bounds, strict=True) if b is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def totals(results: Iterable[tuple[int, int, int]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


@pytest.mark.representative
def test_neither_simulator_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(seed) for seed in range(600))
    assert violated == 0 and held > 1_200 and attained > 100
    held, attained, violated = totals(attack_with_a_cache(seed, runs=3) for seed in range(200))
    assert violated == 0 and held > 300 and attained > 30


@pytest.mark.slow
def test_neither_exceeds_the_bound_on_many_systems() -> None:
    held, _, violated = totals(attack(seed) for seed in range(10_000, 60_000))
    assert violated == 0 and held > 100_000
    held, _, violated = totals(attack_with_a_cache(seed) for seed in range(10_000, 20_000))
    assert violated == 0 and held > 15_000


def nothing(tasks: Sequence[Blocks], per_set: int) -> Matrix:
    return [[0] * len(tasks) for _ in tasks]


def by(how: How) -> Bounds:
    return lambda tasks, blocks, per_set, switch: bounds_by(tasks, blocks, per_set, [how], switch)


def without_nesting(tasks: Sequence[Blocks], per_set: int) -> Matrix:
    """ECB-union without what may preempt the preempting task in turn."""
    return [
        [
            per_set * max((len(tasks[g].useful & tasks[j].evicting) for g in range(j + 1, i + 1)), default=0)
            for j in range(len(tasks))
        ]
        for i in range(len(tasks))
    ]


def only_its_own(tasks: Sequence[Blocks], per_set: int) -> Matrix:
    """UCB-union without the tasks between: what task i itself can lose."""
    return [
        [per_set * len(tasks[i].useful & tasks[j].evicting) if j < i else 0 for j in range(len(tasks))]
        for i in range(len(tasks))
    ]


def one_set_less(tasks: Sequence[Blocks], per_set: int) -> Matrix:
    return [[max(0, one - per_set) for one in row] for row in ucb_union(tasks, per_set)]


@pytest.mark.parametrize("mutant", [nothing, only_its_own, one_set_less], ids=lambda m: m.__name__)
def test_a_lower_charge_is_refuted_by_both(mutant: How) -> None:
    assert any(attack(seed, by(mutant))[2] for seed in range(3_000))
    assert any(attack_with_a_cache(seed, by(mutant))[2] for seed in range(3_000))


def test_nested_preemption_left_out_is_refuted() -> None:
    assert any(attack(seed, by(without_nesting))[2] for seed in range(5_000))


def test_blocks_of_one_way_are_too_few_for_two() -> None:
    """In a set with two ways both blocks may be lost."""
    program, two = [0, 2, 0, 2], [1, 3, 0, 2, 1, 3]
    found = caches.useful(program, 2, 2)
    assert max(at.get(0, 0) for at in found) == 2
    assert caches.alone(two, caches.Cache(2, 2), 5) == 6 + 4 * 5


US = 10**6
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"a72": {"isa": "aarch64"}},
        "cores": {"a72": {"processor": "a72", "count": 2, **free.NO_SWITCH}},
    }
)
SETS = {"evicting": [0, 1, 2], "useful": [1, 2], "derived": "the binary's accesses"}
TASKS: dict[str, dict[str, Any]] = {
    "high": {"period": "50us", "wcet": "5us", "on": "a72-0", "priority": 2, "cache_sets": SETS},
    "low": {"period": "200us", "wcet": "60us", "on": "a72-0", "priority": 1, "cache_sets": SETS},
}
CACHE = {"cache": {"replacement": "lru", "ways": 2, "block": {"value": "500ns", "measured": "misses"}}}


def described(tasks: Any = TASKS, scheduling: Any = CACHE) -> System:
    return system_from_data(
        {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": {"a72-0": scheduling}},
        platform=BOARD,
    )


def test_a_description_with_sets_gets_its_bound() -> None:
    system = described()
    bounds = response_times(system)
    # Two sets of two ways, 500 ns each, for each of two jobs of 'high'.
    assert [bound.response for bound in bounds] == [5 * US, 74 * US]
    for bound in bounds:
        assert "Altmeyer" in bound.source and "theorem 1 " in bound.source
        assert any("it lost useful blocks it executes 1us longer" in text for text in bound.assumptions)
        used = {one.place: one for one in bound.figures}
        assert used["scheduling.a72-0.cache.block"].kind == "measured"
        assert used["tasks.low.cache_sets"].kind == "derived"
        assert used["tasks.low.cache_sets"].value == "3 evicting, 2 useful"
    found = simulate_against_bounds(prepare(system), bounds, 4_000 * US, runs=3)
    assert found.figures["low"].max_response == 72 * US
    text = text_of(plan(system, "analysis"))
    assert "cache sets 0, 1, 2, useful 1, 2" in text


def test_a_task_without_sets_leaves_its_core_without_bounds() -> None:
    tasks = TASKS | {"high": {k: v for k, v in TASKS["high"].items() if k != "cache_sets"}}
    for bound in response_times(described(tasks)):
        assert bound.response is None and bound.missing == ("tasks.high.cache_sets",)


@pytest.mark.parametrize(
    ("tasks", "scheduling", "words"),
    [
        (TASKS, CACHE | {"cache_reload": "1us"}, "keep one of them"),
        (TASKS, {"cache": CACHE["cache"] | {"replacement": "direct-mapped"}}, "has one way"),
        (TASKS, {"cache": CACHE["cache"] | {"replacement": "fifo"}}, "direct-mapped"),
        (TASKS, {}, "nothing is said of the cache of 'a72-0'"),
        (TASKS | {"low": TASKS["low"] | {"cache_sets": SETS | {"useful": [4]}}}, CACHE, "set 4 is useful"),
        (TASKS, CACHE | {"policy": "fixed-priority-non-preemptive"}, "no job is preempted"),
        (
            {k: {a: b for a, b in v.items() if a != "priority"} for k, v in TASKS.items()},
            CACHE | {"policy": "edf"},
            "by sets preemption is bounded under fixed priorities",
        ),
    ],
)
def test_what_no_sets_can_be_is_refused(tasks: Any, scheduling: Any, words: str) -> None:
    with pytest.raises(BadDescription, match=words):
        described(tasks, scheduling)


def test_an_entry_of_its_group_says_nothing_of_a_core_with_its_own() -> None:
    data = {"consort": 1, "platform": "board", "tasks": TASKS}
    scheduling = {"a72": CACHE, "a72-0": {"policy": "fixed-priority"}}
    with pytest.raises(BadDescription, match="nothing is said of the cache of 'a72-0'"):
        system_from_data(data | {"scheduling": scheduling}, platform=BOARD)
    system_from_data(data | {"scheduling": {"a72": CACHE}}, platform=BOARD)


def test_edf_of_a_changed_description_has_no_bound() -> None:
    scheduling = {"a72-0": Scheduling.model_validate(CACHE | {"policy": "edf"})}
    bound = response_times(described().model_copy(update={"scheduling": scheduling}))[0]
    assert bound.response is None and "bounded under fixed priorities" in bound.verdict()


def test_virtual_time_refuses_it() -> None:
    with pytest.raises(BadDescription, match="remove 'cache'"):
        plan(described(), "virtual", stand_ins=True)
