# SPDX-License-Identifier: Apache-2.0
"""Resources under priority inheritance: blocking by several sections, held against two unlike simulators.

One is the engine's; the other, in locks.py, executes tick by tick whoever holds what the most urgent job
wants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random
from typing import Any

import locks
import pytest
import ticks
from consort import _engine
from consort.analysis.resources import MOST, Held, assigned, blocking_together, heaviest, waits
from consort.analysis.system import response_times
from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.mast import export_mast
from consort.model import BadDescription
from consort.model.sharing import Scheduling
from consort.plan import plan
from consort.plan.show import text_of
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from consort.simulate.outcome import simulate_against_bounds
from hypothesis import given
from hypothesis import strategies as st
from test_resources import BUS, LONG, SHORT, TASKS, US, changed, described, held_of, totals

Blocking = Callable[[Sequence[Held], int], int]
Waits = Callable[[Sequence[Held], str], int]
INHERITED = {"bus": {"protocol": "priority-inheritance"}}


def blocking_of(held: Sequence[Held], rank: int) -> int:
    return sum(one.length for one in blocking_together(held, rank))


def attack_with_locks(seed: int, blocking: Blocking = blocking_of) -> tuple[int, int, int]:
    random = Random(seed)
    programs, periods = locks.tiny(random)
    held = [
        Held(one.task, one.rank, one.resource, one.length, one.ceiling, inherits=True)
        for one in held_of(programs)
    ]
    count = len(programs)
    bounds = [
        _engine.fp_response(
            c=[len(p) for p in programs],
            t=periods,
            blocking=[blocking(held, i) for i in range(count)],
            task=i,
        )["bound"]
        for i in range(count)
    ]
    seen = [0] * count
    for run in range(6):
        offsets = [random.randint(0, period) for period in periods]
        if run % 2:
            # The less urgent one comes first, a little.
            lead = [random.randint(0, 4) for _ in programs]
            offsets = [sum(lead[i + 1 :]) for i in range(count)]
        found = ticks.with_locks(programs, periods, offsets, 120, eager=run % 3 != 0, inherits=True)
        seen = [max(pair) for pair in zip(seen, found, strict=True)]
    pairs = [(s, b) for s, b in zip(seen, bounds, strict=True) if b is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def attack(
    seed: int, runs: int = 2, blocking: Blocking = blocking_of, waits_of: Waits = waits
) -> tuple[int, int, int]:
    """One random system, its resources of one protocol or of both: held, attained, violated."""
    random = Random(seed)
    switch = random.choice((0, 0, 1, 2))
    supply = random.choice((None, None, None, (8, 6, random.random() < 0.5)))
    count = random.randint(2, 6)
    levels = (
        list(range(count)) if random.random() < 0.8 else sorted(random.randint(0, 2) for _ in range(count))
    )
    inherited = [r for r in range(count) if random.random() < 0.8]
    wish = random.choice((1, 2, 3))
    chained = seed % 4 == 0
    tasks, users = [], dict[int, list[int]]()
    for i in range(count):
        task: Any = _engine.SimTask()
        task.period = task.deadline = random.choice((20, 24, 30, 40, 60, 80, 120))
        task.wcet = random.choice((1, random.randint(1, max(1, task.period // 4))))
        task.bcet = random.choice((0, task.wcet))
        task.jitter = random.choice((0, 0, random.randint(0, task.period // 2)))
        task.offset = random.randint(0, task.period)
        task.extra_gap = random.choice((0, task.period))
        task.rank = levels[i]
        wanted = random.sample(range(count), min(count, random.randint(0, wish)))
        if chained:
            # The most urgent task needs what each of the others holds nearly all of the time.
            wanted = list(range(1, count)) if i == 0 else [i]
            task.wcet, task.jitter = (2 * count if i == 0 else random.randint(3, 8)), 0
            task.period = task.deadline = random.choice((40, 60, 80, 120))
            task.offset = random.randint(0, 4)
            task.bcet = task.wcet
        sections, rest = [], task.wcet
        for resource in wanted:
            if rest:
                length = 1 if chained and i == 0 else random.randint(1, rest)
                times = random.randint(1, min(3, rest // length))
                rest -= length * times
                sections.append((resource, length, times))
                users.setdefault(resource, []).append(levels[i])
        task.sections = sections
        tasks.append(task)
    held = [
        Held(str(i), levels[i], str(r), length, min(users[r]), times, r in inherited)
        for i, task in enumerate(tasks)
        for r, length, times in task.sections
    ]
    core = _engine.SimCore("fixed-priority")
    core.context_switch, core.inherits = switch, inherited
    gap = None
    if supply is not None:
        core.supply = supply
        gap = (supply[0], supply[1], (supply[0] - supply[1]) * (1 if supply[2] else 2))
    system = _engine.SimSystem([core], [], tasks)
    seen = [-1] * count
    for run in range(runs):
        found = _engine.sim_run(system, 1_000, seed + run, ("worst", "edges")[run % 2], "edges")["tasks"]
        seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
    given = {
        "c": [task.wcet + 2 * switch * (1 + waits_of(held, str(k))) for k, task in enumerate(tasks)],
        "t": [task.period for task in tasks],
        "offsets": [-1 if task.extra_gap else task.offset for task in tasks],
        "jitter": [task.jitter for task in tasks],
        "blocking": [
            blocking(held, levels[k]) + (switch if levels[k] < max(levels) else 0) for k in range(count)
        ],
        "level": levels,
        "supply": gap,
    }
    numbers = [0, 0, 0]
    for i in range(count):
        raw = _engine.fp_offset_response(**given, task=i, preemptive=True)
        if raw["bound"] is not None:
            numbers[0] += 1
            numbers[1] += seen[i] == raw["bound"]
            numbers[2] += seen[i] > raw["bound"]
    return numbers[0], numbers[1], numbers[2]


def test_the_simulator_never_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(seed) for seed in range(1_500))
    assert violated == 0
    assert held > 3_000 and attained > 200


def test_locks_never_exceed_the_bound() -> None:
    held, attained, violated = totals(attack_with_locks(seed) for seed in range(400))
    assert violated == 0
    assert held > 800 and attained > 100


@pytest.mark.slow
def test_neither_exceeds_the_bound_on_many_systems() -> None:
    held, _, violated = totals(attack(seed, runs=4) for seed in range(10_000, 110_000))
    assert violated == 0 and held > 200_000
    held, _, violated = totals(attack_with_locks(seed) for seed in range(10_000, 20_000))
    assert violated == 0 and held > 20_000


def by_hand(held: Sequence[Held], rank: int) -> list[Held]:
    return [one for one in held if one.ceiling <= rank < one.rank]


def one_section(held: Sequence[Held], rank: int) -> int:
    """The blocking of a ceiling protocol."""
    return max((one.length for one in by_hand(held, rank)), default=0)


def own_only(held: Sequence[Held], rank: int) -> int:
    """It forgets jobs that block because they keep a more urgent one waiting."""
    own = {one.resource for one in held if one.rank == rank}
    return blocking_of([one for one in held if one.resource in own], rank)


def shorter(held: Sequence[Held], rank: int) -> int:
    return max(0, blocking_of(held, rank) - 1)


BLOCKINGS: dict[str, Blocking] = {
    "no blocking": lambda held, rank: 0,
    "one section": one_section,
    "only its own resources": own_only,
    "a tick less": shorter,
}


@pytest.mark.parametrize("mutant", BLOCKINGS.values(), ids=BLOCKINGS.keys())
def test_less_blocking_is_refuted_by_both(mutant: Blocking) -> None:
    assert any(attack(seed, 3, mutant)[2] for seed in range(5_000))
    assert any(attack_with_locks(seed, mutant)[2] for seed in range(5_000))


WAITS: dict[str, Waits] = {
    "no switch": lambda held, task: 0,
    "one wait less": lambda held, task: max(0, waits(held, task) - 1),
}


@pytest.mark.parametrize("mutant", WAITS.values(), ids=WAITS.keys())
def test_fewer_switches_are_refuted(mutant: Waits) -> None:
    assert any(attack(seed, 3, waits_of=mutant)[2] for seed in range(20_000))


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_assignment_is_the_heaviest(rows: list[list[int]]) -> None:
    width = min(len(row) for row in rows)
    weights = [row[:width] for row in rows]
    found = heaviest(weights)
    assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found) == min(len(rows), width)
    side = weights if len(weights) <= width else [list(column) for column in zip(*weights, strict=True)]
    best = max(sum(side[i][j] for i, j in enumerate(p)) for p in permutations(range(len(side[0])), len(side)))
    assert sum(weights[i][j] for i, j in found) == best


def test_one_section_of_each_task_and_of_each_resource() -> None:
    """Neither the two longest sections, which are of one resource, nor all three tasks."""
    sections = [("a", "r", 9), ("a", "s", 4), ("b", "r", 8), ("c", "s", 3)]
    held = [Held(task, 5, r, length, 1, inherits=True) for task, r, length in sections]
    chosen = blocking_together(held, 1)
    assert sorted((one.task, one.resource) for one in chosen) == [("a", "s"), ("b", "r")]
    assert blocking_of(held, 0) == 0 and blocking_of(held, 5) == 0
    # One resource with a ceiling blocks, whatever their number.
    mixed = [*held, Held("d", 5, "t", 5, 1), Held("e", 5, "u", 6, 1)]
    assert blocking_of(mixed, 1) == 12 + 6


def test_many_sections_are_bounded_by_the_lower_sum() -> None:
    held = [Held(str(n), 2, f"r{n % 2}", 1 + n, 1, inherits=True) for n in range(MOST + 1)]
    assert blocking_of(held, 1) == (MOST + 1) + MOST
    assert assigned((), ()) == ()


def test_how_often_a_job_finds_a_resource_taken() -> None:
    mine = [Held("h", 0, "r", 1, 0, 4, True), Held("h", 0, "s", 1, 0, 2, True), Held("h", 0, "c", 1, 0, 9)]
    low = Held("l", 2, "r", 5, 0, 1, True)
    assert waits(mine, "h") == 0
    assert waits([*mine, low], "h") == 1  # once: it does not take it again meanwhile
    both = [*mine, low, Held("l", 2, "s", 5, 0, 1, True)]
    assert waits(both, "h") == 1  # one job holds one at a time
    assert waits([*both, Held("m", 1, "s", 5, 0, 1, True)], "h") == 2
    assert waits([*mine, Held("e", 0, "r", 5, 0, 1, True)], "h") == 4  # as urgent: at each request


# Descriptions.

TWO = INHERITED | {"can": {"protocol": "priority-inheritance"}}
# Three tasks of which the first uses what each of the others holds.
BOTH = changed("high", sections=SHORT | {"can": {"length": "1us"}}) | {
    "middle": TASKS["middle"] | {"sections": {"can": {"length": "6us"}}}
}


def test_a_description_gets_the_blocking_of_both_less_urgent_tasks() -> None:
    system = described(BOTH, TWO)
    bounds = response_times(system)
    # 5 us, 8 and 6 of blocking; then 10, 5, and 8 that keep the first one waiting.
    assert [bound.response for bound in bounds] == [19 * US, 23 * US, 60 * US]
    assert "theorem 30" in bounds[0].source and "theorem 1" in bounds[0].source
    assert any("priority inheritance" in text for text in bounds[0].assumptions)
    (note,) = (text for text in bounds[0].notes if "blocked" in text)
    assert "by low, which holds bus for 8us" in note and "by middle, which holds can for 6us" in note
    assert "finds a resource taken at most 2 times: two context switches each" in bounds[0].notes
    found = simulate_against_bounds(prepare(system), bounds, 40_000 * US, runs=20)
    seen = found.figures["high"].max_response
    assert seen is not None and seen > 8 * US


def test_a_ceiling_blocks_once_where_inheritance_blocks_twice() -> None:
    ceilings = dict.fromkeys(TWO, BUS["bus"])
    assert response_times(described(BOTH, ceilings))[0].response == 13 * US
    mixed = described(BOTH, TWO | {"can": BUS["bus"]})
    assert response_times(mixed)[0].response == 19 * US
    simulate_against_bounds(prepare(mixed), response_times(mixed), 10_000 * US, runs=10)


def test_without_preemption_nothing_is_inherited() -> None:
    system = described(TASKS, INHERITED, policy="fixed-priority-non-preemptive")
    assert [bound.response for bound in response_times(system)] == [45 * US, 55 * US, 55 * US]


def test_a_holder_inherits_and_keeps_what_is_between_waiting() -> None:
    """At 3 the second job comes in the third one's section, at 5 the first, which needs what that holds."""
    tasks = []
    for rank, release, wcet, sections in ((0, 5, 2, [(0, 2, 1)]), (1, 3, 4, []), (2, 0, 5, [(0, 5, 1)])):
        task = _engine.SimTask()
        task.wcet = task.bcet = wcet
        task.period = task.deadline = 100
        task.rank, task.sections, task.releases = rank, sections, [release]
        tasks.append(task)
    core = _engine.SimCore("fixed-priority")

    def responses(inherits: list[int], switch: int = 0) -> list[int]:
        core.inherits, core.context_switch = inherits, switch
        found = _engine.sim_run(_engine.SimSystem([core], [], tasks), 100, 1, "worst", "uniform")
        return [one["max_response"] for one in found["tasks"]]

    # With a ceiling nobody else begins before 5.
    assert responses([]) == [2, 8, 5]
    # The second executes from 3; at 5 the first waits, and the third executes its other 2 until 7.
    assert responses([0]) == [4, 8, 7]
    # Three switches more: to the first, which finds it taken, to the third, and to the first again.
    assert responses([0], 1)[0] == 8


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"policy": "edf"}, "'m4-0' is scheduled by edf, where no job has a priority to inherit"),
        (
            {"cache_reload": {"value": "1us", "assumed": "a test"}},
            "'m4-0' has 'cache_reload', and no bound counts the reloads",
        ),
    ],
)
def test_where_nothing_bounds_it_it_is_refused(more: Any, words: str) -> None:
    with pytest.raises(BadDescription, match=words):
        described(TASKS, INHERITED, **more)


def test_a_changed_description_has_no_bound_and_no_simulation() -> None:
    system = described(TASKS, INHERITED).model_copy(update={"scheduling": {"m4-0": Scheduling(policy="edf")}})
    assert (
        "is scheduled by edf, where no job has a priority to inherit" in response_times(system)[0].verdict()
    )
    with pytest.raises(BadInput, match="priorities are inherited under fixed priorities"):
        simulate(prepare(system), 1_000 * US)


@pytest.mark.parametrize("target", ["linux", "virtual"])
def test_what_executes_refuses_it(target: Any) -> None:
    with pytest.raises(BadDescription, match=f"a step of {target} holds no resource"):
        plan(described(TASKS, INHERITED), target, stand_ins=True)


def test_plan_and_mast_say_the_protocol() -> None:
    made = plan(described(TASKS, INHERITED), "analysis")
    assert "bus m4-0 priority-inheritance 0 high 2us, low 8us 2 times" in " ".join(text_of(made).split())
    text = export_mast(described(TASKS, INHERITED), Report())
    assert 'Type => Priority_Inheritance_Resource,\n  Name => "bus");' in text
    assert "Ceiling => 3" not in text
    assert (
        LONG["bus"]["times"] == 2
        and 'Composite_Operation_List => ("low.alone", "low.bus", "low.bus")' in text
    )
