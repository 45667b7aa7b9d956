# SPDX-License-Identifier: Apache-2.0
"""Resources under the immediate priority ceiling protocol: blocking, held against two unlike simulators.

One is the engine's, which raises a job's priority; the other, here, has locks and asserts that nobody takes
one that is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import free
import locks
import pytest
import ticks
from consort import _engine
from consort.analysis.resources import Held, longest_blocking
from consort.analysis.system import response_times
from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.exports import jobs_of
from consort.exchange.mast import export_mast
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.model.sharing import Scheduling
from consort.plan import plan
from consort.plan.show import text_of
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from consort.simulate.outcome import simulate_against_bounds

Blocking = Callable[[Iterable[Held], int], int]


def blocking_of(held: Iterable[Held], rank: int) -> int:
    found = longest_blocking(held, rank)
    return 0 if found is None else found.length


def held_of(programs: list[list[int | None]]) -> list[Held]:
    """The longest sections of programs, by task and resource."""
    found = []
    users = {r: [t for t, p in enumerate(programs) if r in p] for p in programs for r in p if r is not None}
    for task, program in enumerate(programs):
        for r in {r for r in program if r is not None}:
            length = run = 0
            for tick in program:
                run = run + 1 if tick == r else 0
                length = max(length, run)
            found.append(Held(str(task), task, str(r), length, min(users[r])))
    return found


def attack_with_locks(seed: int, blocking: Blocking = blocking_of) -> tuple[int, int, int]:
    random = Random(seed)
    programs, periods = locks.tiny(random)
    held = held_of(programs)
    bounds = [
        _engine.fp_response(
            c=[len(p) for p in programs],
            t=periods,
            blocking=[blocking(held, i) for i in range(len(programs))],
            task=i,
        )["bound"]
        for i in range(len(programs))
    ]
    seen = [0] * len(programs)
    for run in range(6):
        offsets = [random.randint(0, period) for period in periods]
        if run % 2:
            # The less urgent one comes first, a little.
            offsets = [max(0, (len(programs) - t) * random.randint(0, 3)) for t in range(len(programs))][::-1]
            offsets = [max(offsets) - o for o in offsets]
        found = ticks.with_locks(programs, periods, offsets, 120, eager=run % 3 != 0)
        seen = [max(pair) for pair in zip(seen, found, strict=True)]
    pairs = [(s, b) for s, b in zip(seen, bounds, strict=True) if b is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


# The engine's simulator.


def attack(seed: int, runs: int = 2, blocking: Blocking = blocking_of) -> tuple[int, int, int]:
    """One random system, preemptive and not: tasks held against bounds, bounds attained and violated."""
    random = Random(seed)
    switch = random.choice((0, 0, 1))
    supply = random.choice((None, None, None, (8, 6, random.random() < 0.5)))
    count = random.randint(2, 5)
    rows, held, users = [], [], {}
    for i in range(count):
        t = random.choice((20, 24, 30, 40, 60, 80, 120))
        wcet = random.choice((1, random.randint(1, max(1, t // 4))))
        sections, rest = [], wcet
        for resource in random.sample(range(count), random.randint(0, 2)):
            if rest:
                length = random.randint(1, rest)
                times = random.randint(1, rest // length)
                rest -= length * times
                sections.append((resource, length, times))
                users.setdefault(resource, []).append(i)
        rows.append(
            {
                "wcet": wcet,
                "period": t,
                "jitter": random.choice((0, 0, random.randint(0, t // 2))),
                "known": random.choice((-1, random.randint(0, t))),
                "sections": sections,
            }
        )
    for i, row in enumerate(rows):
        for resource, length, _ in row["sections"]:
            held.append(Held(str(i), i, str(resource), length, min(users[resource])))
    totals = [0, 0, 0]
    for policy in ("fixed-priority", "fixed-priority-non-preemptive"):
        preemptive = policy == "fixed-priority"
        core = _engine.SimCore(policy)
        core.context_switch = switch
        if supply is not None:
            core.supply = supply
        tasks = []
        for i, row in enumerate(rows):
            task: Any = _engine.SimTask()
            task.wcet, task.bcet = row["wcet"], random.choice((0, row["wcet"]))
            task.period = task.deadline = row["period"]
            task.jitter, task.sections = row["jitter"], row["sections"]
            task.rank, sporadic = i, row["known"] < 0
            task.offset = random.randint(0, row["period"]) if sporadic else row["known"]
            task.extra_gap = random.choice((0, row["period"])) if sporadic else 0
            tasks.append(task)
        system = _engine.SimSystem([core], [], tasks)
        seen = [-1] * count
        for run in range(runs):
            found = _engine.sim_run(system, 1_000, seed + run, ("worst", "edges")[run % 2], "edges")["tasks"]
            seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
        gap = None
        if supply is not None:
            gap = (supply[0], supply[1], (supply[0] - supply[1]) * (1 if supply[2] else 2))
        for i in range(count):
            locked = [blocking(held, k) if preemptive else 0 for k in range(count)]
            raw = _engine.fp_offset_response(
                c=[row["wcet"] + 2 * switch for row in rows],
                t=[row["period"] for row in rows],
                offsets=[row["known"] for row in rows],
                jitter=[row["jitter"] for row in rows],
                blocking=[locked[k] + (switch if preemptive and k < count - 1 else 0) for k in range(count)],
                task=i,
                preemptive=preemptive,
                supply=gap,
            )
            if raw["bound"] is not None:
                totals[0] += 1
                totals[1] += seen[i] == raw["bound"]
                totals[2] += seen[i] > raw["bound"]
    return totals[0], totals[1], totals[2]


def totals(results: Iterable[tuple[int, int, int]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def test_the_simulator_never_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(seed) for seed in range(1_000))
    assert violated == 0
    assert held > 4_000 and attained > 200


def test_locks_never_exceed_the_bound() -> None:
    held, attained, violated = totals(attack_with_locks(seed) for seed in range(400))
    assert violated == 0
    assert held > 800 and attained > 150


@pytest.mark.slow
def test_neither_exceeds_the_bound_on_many_systems() -> None:
    held, _, violated = totals(attack(seed, runs=4) for seed in range(10_000, 110_000))
    assert violated == 0
    assert held > 400_000
    held, _, violated = totals(attack_with_locks(seed) for seed in range(10_000, 20_000))
    assert violated == 0
    assert held > 20_000


def longest(held: Iterable[Held], counts: Callable[[Held], bool]) -> int:
    return max((one.length for one in held if counts(one)), default=0)


def own_only(held: Iterable[Held], rank: int) -> int:
    """Blocking by resources that the task itself uses: it forgets those whose ceiling it is below."""
    held = list(held)
    own = {one.resource for one in held if one.rank == rank}
    return longest(held, lambda one: one.ceiling <= rank < one.rank and one.resource in own)


MUTANTS: dict[str, Blocking] = {
    "no blocking": lambda held, rank: 0,
    "only its own resources": own_only,
    "a ceiling too low by one": lambda held, rank: longest(held, lambda o: o.ceiling < rank < o.rank),
    "the ceiling of the least urgent user": lambda held, rank: longest(
        held, lambda o: max(p.rank for p in held if p.resource == o.resource) <= rank < o.rank
    ),
    "a section shorter by a tick": lambda held, rank: max(0, blocking_of(held, rank) - 1),
    "the shortest section": lambda held, rank: min(
        (o.length for o in held if o.ceiling <= rank < o.rank), default=0
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_less_blocking_is_refuted_by_both(mutant: Blocking) -> None:
    assert any(attack(seed, 3, mutant)[2] for seed in range(2_000))
    assert any(attack_with_locks(seed, mutant)[2] for seed in range(2_000))


def test_two_jobs_with_one_resource_would_be_found() -> None:
    programs: list[list[int | None]] = [[None, 0], [0, 0, 0]]
    assert locks.with_locks(programs, [20, 20], [1, 0], 20, True) == [4, 3]
    with pytest.raises(AssertionError, match="two jobs hold one resource"):
        locks.with_locks(programs, [20, 20], [1, 0], 20, True, ceiling=False)


def test_a_published_example() -> None:
    """Three tasks, two of which share a resource of the middle one's ceiling: Baker's B by hand."""
    held = [Held("low", 2, "r", 7, 1), Held("mid", 1, "r", 3, 1), Held("low", 2, "s", 4, 0)]
    assert [blocking_of(held, rank) for rank in range(3)] == [4, 7, 0]


# Descriptions.

US = 10**6
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m4": {"isa": "armv7e-m"}, "a7": {"isa": "armv7-a"}},
        "cores": {
            "m4": {"processor": "m4", "count": 2, **free.NO_SWITCH},
            "a7": {"processor": "a7", "count": 1, **free.NO_SWITCH},
        },
        "memories": {"free": free.MEMORY},
        "exchanges": free.signals("m4", "a7"),
    }
)
BUS = {"bus": {"protocol": "priority-ceiling"}}
SHORT = {"bus": {"length": "2us"}}
LONG = {"bus": {"length": {"value": "8us", "measured": "the bus's analyser"}, "times": 2}}
TASKS: dict[str, dict[str, Any]] = {
    "high": {
        "period": "50us",
        "wcet": "5us",
        "on": "m4-0",
        "priority": 3,
        "sections": SHORT,
    },
    "middle": {"period": "100us", "wcet": "10us", "on": "m4-0", "priority": 2},
    "low": {"period": "200us", "wcet": "40us", "on": "m4-0", "priority": 1, "sections": LONG},
}


def described(tasks: Any = TASKS, resources: Any = BUS, **more: Any) -> System:
    data = {
        "consort": 1,
        "platform": "board",
        "tasks": tasks,
        "resources": resources,
        "channels": free.channels(tasks, None),
        **({"scheduling": {"m4-0": more}} if more else {}),
    }
    return system_from_data(data, platform=BOARD)


def changed(task: str, **values: Any) -> dict[str, dict[str, Any]]:
    return TASKS | {task: TASKS[task] | values}


def test_a_description_with_a_resource_gets_its_bound() -> None:
    system = described()
    bounds = response_times(system)
    # 8 us of blocking for the first two, one of which has no section itself; none for the last.
    assert [bound.response for bound in bounds] == [13 * US, 23 * US, 60 * US]
    for bound in bounds[:2]:
        assert "theorem 20" in bound.source and "theorem 1" in bound.source
        assert any("immediate priority ceiling" in text for text in bound.assumptions)
        assert "blocked at most once, by low, which holds bus for 8us" in bound.notes
        assert sum(step.length for step in bound.explanation if step.kind == "blocking") == 8 * US
        (used,) = [one for one in bound.figures if one.place == "tasks.low.sections.bus.length"]
        assert (used.kind, used.source) == ("measured", "the bus's analyser")
    found = simulate_against_bounds(prepare(system), bounds, 40_000 * US, runs=20)
    seen = [found.figures[name].max_response for name in ("high", "middle")]
    assert seen[0] is not None and seen[0] > 6 * US


def test_without_preemption_nothing_wants_what_is_held() -> None:
    system = described(policy="fixed-priority-non-preemptive")
    bounds = response_times(system)
    assert [bound.response for bound in bounds] == [45 * US, 55 * US, 55 * US]
    assert all("theorem 20" not in bound.source for bound in bounds)
    simulate_against_bounds(prepare(system), bounds, 10_000 * US, runs=20)


def test_the_plan_has_the_ceiling_and_prints_it() -> None:
    made = plan(described(), "analysis")
    resource = made.resources["bus"]
    assert (resource.ceiling, resource.users, resource.cores) == (0, ("high", "low"), ("m4-0",))
    text = " ".join(text_of(made).split())
    assert "bus m4-0 priority-ceiling 0 high 2us, low 8us 2 times" in text


@pytest.mark.parametrize(
    ("tasks", "resources", "more", "words"),
    [
        (TASKS, BUS | {"can": BUS["bus"]}, {}, "no task has a section of it"),
        (changed("middle", sections={"bos": {"length": "1us"}}), BUS, {}, "no resource 'bos'.*bus"),
        (changed("low", on="m4-1"), BUS, {}, "on 2 cores, and no protocol here"),
        (changed("low", sections={"bus": {"length": "0us"}}), BUS, {}, "the length is 0"),
        (changed("low", sections={"bus": {"length": "41us"}}), BUS, {}, "41us is longer than the wcet 40us"),
        (changed("middle", self_suspension="1us"), BUS, {}, "jobs of 'middle' wait on 'm4-0'"),
        (TASKS, {"bus": {"protocol": "none"}}, {}, "priority-ceiling"),
        (TASKS, {"bus": {}}, {}, "protocol"),
    ],
)
def test_what_no_resource_can_be_is_refused(tasks: Any, resources: Any, more: Any, words: str) -> None:
    with pytest.raises(BadDescription, match=words):
        described(tasks, resources, **more)


def test_sections_of_unlike_length_may_exceed_the_wcet_together() -> None:
    """Once 60 us, four times 10 us: all that the job does."""
    tasks = {
        "hi": {
            "period": "1ms", "wcet": "50us", "priority": 2, "on": "m4-0",
            "sections": {"bus": {"length": "5us"}},
        },
        "lo": {
            "period": "10ms", "wcet": "100us", "priority": 1, "on": "m4-0",
            "sections": {"bus": {"length": "60us", "times": 5}},
        },
    }  # fmt: skip
    system = described(tasks)
    bounds = [bound.response for bound in response_times(system)]
    assert bounds == [110 * 10**6, 150 * 10**6]
    simulate_against_bounds(prepare(system), response_times(system), 50_000 * US, runs=20)
    report = Report()
    text = export_mast(system, report)
    operations = '("lo.alone", "lo.bus")'
    assert operations in text and "Worst_Case_Execution_Time => 40.0" in text
    assert ("sections", "1 times: more would exceed its wcet") in report.changed


def test_an_offloaded_job_holds_none() -> None:
    away = {"on": "a7-0", "execution": "offloaded", "master": "m4-0", "wcet": {"a7": {"offloaded": "40us"}}}
    with pytest.raises(BadDescription, match="a job of offloaded execution holds no resource"):
        described(changed("low", **away))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"low": {"on": "m4-1"}}, "resources.bus: high and low are on 2 cores"),
        ({"middle": {"self_suspension": "1us"}}, "jobs of 'middle' wait on 'm4-0'"),
    ],
)
def test_what_becomes_of_it_elsewhere_has_no_bound_and_no_simulation(change: Any, words: str) -> None:
    """Modes and advice change what was checked: it is not checked again."""
    system = described().changed(change)
    bounds = response_times(system)
    assert bounds[0].response is None and words in bounds[0].verdict()
    with pytest.raises(BadInput, match="resource"):
        simulate(prepare(system), 1_000 * US)


def test_edf_with_jitter_in_a_changed_description_has_none() -> None:
    system = described(changed("low", jitter="1us"))
    edf = system.model_copy(update={"scheduling": {"m4-0": Scheduling(policy="edf")}})
    assert "by edf, where resources have bounds without jitter" in response_times(edf)[0].verdict()


@pytest.mark.parametrize("target", ["linux", "virtual"])
def test_what_executes_refuses_it(target: Any) -> None:
    with pytest.raises(BadDescription, match=f"a step of {target} holds no resource"):
        plan(described(), target, stand_ins=True)


def test_mast_has_them_and_job_sets_do_not() -> None:
    text = export_mast(described(), Report())
    assert 'Type => Immediate_Ceiling_Resource,\n  Name => "bus",\n  Ceiling => 3' in text
    assert 'Composite_Operation_List => ("low.alone", "low.bus", "low.bus")' in text
    assert 'Name => "low.alone",\n  Worst_Case_Execution_Time => 24.0' in text
    report = Report()
    jobs_of(described(), "m4-0", report)
    assert "resources" in report.text()


def test_consecutive_parts_of_a_job_are_one_stretch_of_its_core() -> None:
    """A section neither costs a switch nor a preemption where nobody more urgent waits."""
    task = _engine.SimTask()
    task.wcet = task.bcet = 10
    task.period = task.deadline = 100
    task.sections = [(0, 2, 3)]
    core = _engine.SimCore("fixed-priority")
    core.context_switch = 1
    found = _engine.sim_run(_engine.SimSystem([core], [], [task]), 1_000, 1, "worst", "uniform")
    assert found["tasks"][0]["max_response"] == 11
