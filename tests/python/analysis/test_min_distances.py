# SPDX-License-Identifier: Apache-2.0
"""Least distances of releases: theorem 31 by its definition, against a program of others, and simulated."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import free
import pytest
from consort import _engine
from consort.analysis.offload import Master, offloaded
from consort.analysis.system import analyze_system, response_times
from consort.analysis.unitask import UniTask
from consort.model import System, platform_from_data, system_from_data
from consort.plan import plan
from consort.simulate.build import prepare
from consort.simulate.engine import JOBS, simulate
from distances import FAULTS, POLICIES, Curve, Row, attack, core_of, engine, reference, simulated
from response_time_analysis import model
from verified import SCALE, Verified, up
from verified import Row as Theirs

US = 10**6


def totals(results: Iterable[tuple[int, int, int]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def test_a_burst_is_not_counted_as_if_it_went_on() -> None:
    """Four messages within 3, one burst in 40: at the least distance alone the core would be overloaded."""
    burst = Row(2, 1, distances=(1, 2, 3, 40))
    rows = [burst, Row(5, 50)]
    assert [engine("fixed-priority", rows, i) for i in range(2)] == [2 * 4 - 3, 2 * 4 + 5]
    alone = [Row(2, 1), Row(5, 50)]
    assert [engine("fixed-priority", alone, i) for i in range(2)] == [None, None]
    found = _engine.fp_response(c=[2], t=[1], distances=[([1, 2, 3, 40], 0)], task=0)
    assert (found["verdict"], found["job"], found["due"]) == ("bounded", 3, 3)


@pytest.mark.parametrize(("period", "jitter", "least"), [(10, 25, 1), (10, 25, 4), (7, 3, 5), (5, 0, 5)])
def test_period_jitter_and_least_distance_are_pycpa_s_event_model(
    period: int, jitter: int, least: int
) -> None:
    """The jobs within a span, by PJdEventModel: min(ceil((span + J) / P), ceil(span / d))."""
    for span in range(1, 120):
        rows = [Row(1, period, jitter=jitter, distances=(least,)), Row(span, 10**6)]
        raw = _engine.fp_response(
            c=[1, 1],
            t=[period, 10**6],
            jitter=[jitter, 0],
            blocking=[0, span],
            distances=[((least,), 0), ((), 0)],
            task=1,
        )
        window = raw["window"]
        counted = min(-(-(window + jitter) // period), -(-window // least))
        assert raw["jobs"][0] == counted == Curve(rows[0]).jobs(window)


def test_the_definition_finds_the_same() -> None:
    compared = 0
    for seed in range(3_000):
        random = Random(seed)
        rows = [
            Row(r.wcet, r.period, r.deadline, r.jitter, r.distances, random.randint(0, r.jitter))
            for r in core_of(random)
        ]
        for i in range(len(rows)):
            found = reference("fixed-priority", rows, i)
            if found is not None:
                compared += 1
                assert engine("fixed-priority", rows, i) == found, (rows, i)
    assert compared > 5_000


def peer_of(rows: list[Row], non_preemptive: bool) -> Verified:
    """pyRTA with the least distances of each task, as far as any window goes on."""

    class Peer(Verified):
        def _parts(self, row: Any) -> tuple[Any, Any]:
            cost = model.WCET(SCALE * row.c)
            execution = model.FullyNonPreemptive(cost) if non_preemptive else model.FullyPreemptive(cost)
            curve = Curve(rows[self.rows.index(row)])
            vector = [SCALE * max(0, curve.comes(n)) for n in range(1, 120)]
            return model.MinimumSeparationVector(vector), execution

    # The peer tells tasks apart by what they are: each row has a deadline of its own.
    theirs = [Theirs(r.wcet, r.period, 1000 + k, 0, 10 - k) for k, r in enumerate(rows)]
    return Peer(theirs)


def against_the_peer(seed: int, count: int) -> int:
    """Jobs without jitter are due when they come, which is what the peer counts from."""
    random, compared = Random(seed), 0
    while compared < count:
        rows = core_of(random)
        share = sum(r.wcet / (Curve(r).comes(60) / 60) for r in rows)
        if share > 0.9:
            continue
        # The task under analysis has no jitter; those that interfere come as late as they may.
        mine = [
            Row(r.wcet, r.period, r.deadline, 0 if k else r.jitter, r.distances) for k, r in enumerate(rows)
        ]
        i = len(mine) - 1
        if mine[i].jitter:
            continue
        compared += 1
        for policy in POLICIES[:2]:
            theirs = up(peer_of(mine, policy != "fixed-priority").fixed_priority(i))
            assert engine(policy, mine, i) == theirs, (policy, mine)
    return compared


def test_pyrta_finds_the_same() -> None:
    against_the_peer(31, 100)


@pytest.mark.slow
def test_pyrta_finds_the_same_on_many_sets() -> None:
    against_the_peer(2031, 5_000)


def test_the_simulator_never_exceeds_the_bound() -> None:
    held, reached, exceeded = totals(attack(seed) for seed in range(400))
    assert exceeded == 0
    assert held > 1_500 and reached > 500


@pytest.mark.slow
def test_the_simulator_never_exceeds_the_bound_on_many_systems() -> None:
    held, _, exceeded = totals(attack(seed) for seed in range(10_000, 60_000))
    assert exceeded == 0
    assert held > 200_000


@pytest.mark.parametrize("fault", FAULTS)
def test_weaker_forms_are_refuted(fault: str) -> None:
    bound = partial(reference, fault=fault)
    assert any(attack(seed, 3, bound)[2] for seed in range(1_000))


def test_what_is_simulated_keeps_the_distances_and_comes_as_close_as_they_allow() -> None:
    closest = 0
    for seed in range(300):
        random = Random(seed)
        row = core_of(random)[0]
        if not row.distances:
            continue
        task = simulated(random, 0, row)
        system = _engine.SimSystem([_engine.SimCore("fixed-priority")], [], [task])
        arrival = random.choice(("edges", "edges", "uniform"))
        jobs = _engine.sim_run(system, 2_000, seed, "worst", arrival, True)["jobs"].view(JOBS)
        ready, due = jobs["ready"].tolist(), jobs["release"].tolist()
        curve = Curve(row)
        for n in range(1, min(12, len(ready))):
            apart = [b - a for a, b in zip(ready, ready[n:], strict=False)]
            assert min(apart) >= curve.steps(n)
            closest += min(apart) == max(0, curve.comes(n))
        assert all(0 <= r - d <= row.jitter for r, d in zip(ready, due, strict=True))
        assert all(b - a >= row.period for a, b in pairwise(due))
    assert closest > 300


@pytest.mark.parametrize(
    ("distances", "text"),
    [
        ([([0], 0)], "at least 1"),
        ([([1], -1)], "lateness"),
        ([], None),
        ([([1], 0), ([1], 0)], "distances has 2 values for 1 tasks"),
    ],
)
def test_distances_that_are_none_are_refused(distances: Any, text: str | None) -> None:
    if text is None:
        assert _engine.fp_response(c=[1], t=[5], distances=distances, task=0)["bound"] == 1
        return
    with pytest.raises(ValueError, match=text):
        _engine.fp_response(c=[1], t=[5], distances=distances, task=0)


PLATFORM = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m": {"isa": "armv7e-m"}},
        "cores": {"m": {"processor": "m", "count": 1, **free.NO_SWITCH}},
        "memories": {"free": free.MEMORY},
    }
)
BURST = {"min_interarrival": "1us", "min_distances": ["1us", "2us", "3us", "40us"], "deadline": "8us"}


def described(policy: str, **burst: Any) -> System:
    tasks: dict[str, Any] = {
        "burst": BURST | {"wcet": "2us", "on": "m-0"} | burst,
        "log": {"period": "50us", "wcet": "5us", "on": "m-0"},
    }
    data = {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": {"m-0": {"policy": policy}}}
    return system_from_data(data, platform=PLATFORM)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_description_is_analysed_and_simulated_with_its_bursts(policy: str) -> None:
    """At its least distance alone the task would ask for twice the core."""
    system = described(policy)
    found = response_times(system)
    assert [bound.response for bound in found] == {
        "fixed-priority": [5 * US, 13 * US],
        "fixed-priority-non-preemptive": [10 * US, 13 * US],
        "edf": [5 * US, 13 * US],
    }[policy]
    for bound in found:
        assert any("keep their min_distances" in text for text in bound.assumptions)
        assert bound.explanation[-1].start + bound.explanation[-1].length == bound.response
    simulated = simulate(prepare(system, dense=True), 2_000 * US, choice="worst")
    for bound in found:
        most = simulated.figures[bound.task].max_response
        assert most is not None and bound.response is not None and most <= bound.response
    alone = response_times(described(policy, min_distances=[], deadline="1us"))
    assert alone[0].response is None


def test_a_timer_s_lateness_brings_releases_closer() -> None:
    tasks = [UniTask("a", 2, 5, 100, 33, distances=(12,), late=3), UniTask("b", 9, 100, 100)]
    bounds = offloaded({"m": Master(tasks)})["m"]
    rows = [Row(2, 5, 100, 33, (12,), 3), Row(9, 100)]
    assert bounds[1].response == reference("fixed-priority", rows, 1) == 13
    on_time = [Row(2, 5, 100, 33, (12,)), rows[1]]
    assert reference("fixed-priority", on_time, 1) == 11


def test_what_waits_counts_bursts_too() -> None:
    """Theorem 6: suspension as execution."""
    burst = UniTask("a", 2, 1, 100, distances=(1, 2, 3, 40), suspension=1)
    bounds = offloaded({"m": Master([burst, UniTask("b", 5, 100, 100)])})["m"]
    rows = [Row(3, 1, distances=(1, 2, 3, 40)), Row(5, 100)]
    assert [b.response for b in bounds] == [reference("fixed-priority", rows, i) for i in range(2)]
    assert bounds[0].explanation[-1].start + bounds[0].explanation[-1].length == bounds[0].response


def test_blocks_that_release_a_task_in_bursts() -> None:
    """Theorem 27 with least distances: blocks 100 us apart, some of them 30 us late."""
    for distances, said in ((["70us", "170us"], ""), (["70us", "171us"], "min_distances")):
        tasks: dict[str, Any] = {
            "source": {"period": "100us", "wcet": "30us", "bcet": "0us", "on": "m-0", "writes": ["blocks"]},
            "sink": {"min_interarrival": "60us", "jitter": "30us", "wcet": "1us", "on": "m-0"}
            | {"reads": ["blocks"], "arrival": "blocks", "min_distances": distances, "deadline": "90us"},
        }
        for task, priority in (("source", 2), ("sink", 1)):
            tasks[task]["priority"] = priority
        channels = {"blocks": {"kind": "queue", "capacity": 4, "size": "8B", "memory": "free"}}
        data = {"consort": 1, "platform": "board", "tasks": tasks, "channels": channels}
        bounds = analyze_system(system_from_data(data, platform=PLATFORM))
        notes = " ".join(next(b for b in bounds if b.task == "sink").notes)
        assert (said in notes) if said else ("not shown" not in notes), notes


def test_the_simulator_never_exceeds_the_bound_with_supply_or_thresholds() -> None:
    """Theorems 18 and 28, by the same counts."""
    held = reached = 0
    for seed in range(60):
        random = Random(500 + seed)
        rows = core_of(random)
        tasks = [simulated(random, i, row) for i, row in enumerate(rows)]
        given: dict[str, Any] = {
            "c": [row.wcet for row in rows],
            "t": [row.period for row in rows],
            "jitter": [row.jitter for row in rows],
            "distances": [(list(row.distances), 0) for row in rows],
        }
        period = random.choice((4, 5, 8))
        budget, fixed = random.randint(max(1, period - 2), period), random.random() < 0.5
        supply = (period, budget, (period - budget) * (1 if fixed else 2))
        threshold = [random.randint(0, i) for i in range(len(rows))]
        for kind in ("fixed-priority", "edf", "thresholds"):
            core = _engine.SimCore("edf" if kind == "edf" else "fixed-priority")
            if kind != "thresholds":
                core.supply = (period, budget, fixed)
            for task, limit in zip(tasks, threshold, strict=True):
                task.threshold = limit if kind == "thresholds" else None
            system = _engine.SimSystem([core], [], tasks)
            runs = [_engine.sim_run(system, 600, seed + n, "worst", "edges")["tasks"] for n in range(2)]
            for i in range(len(rows)):
                if kind == "edf":
                    d = [row.deadline for row in rows]
                    bound = _engine.edf_response(**given, d=d, supply=supply, task=i)["bound"]
                elif kind == "fixed-priority":
                    bound = _engine.fp_response(**given, supply=supply, task=i)["bound"]
                else:
                    bound = _engine.fp_threshold_response(**given, threshold=threshold, task=i)["bound"]
                most = max(run[i]["max_response"] or -1 for run in runs)
                if bound is not None:
                    held, reached = held + 1, reached + (most == bound)
                    assert most <= bound, (kind, rows, i)
    assert held > 300 and reached > 100


@pytest.mark.parametrize("late", [{}, {"jitter": "30us"}])
def test_a_burst_is_its_distances(late: dict[str, str]) -> None:
    """Without jitter its releases are min_interarrival apart, with it they may come at once."""
    for count in (2, 5, 40):
        apart = 1 if late else 10**6
        spelled = [f"{steps * apart}ps" for steps in range(1, count)] + ["50us"]
        given = {"min_distances": [], "deadline": "50us", "wcet": "1us", **late}
        short = described("edf", **given | {"burst": {"count": count, "within": "50us"}})
        long = described("edf", **given | {"min_distances": spelled})
        assert short.tasks["burst"].distances == long.tasks["burst"].distances
        bounds = [[(b.response, b.assumptions) for b in response_times(one)] for one in (short, long)]
        assert bounds[0] == bounds[1] and bounds[0][0][0] is not None


def test_a_burst_of_twenty_five_is_bounded_as_by_hand_and_comes_so() -> None:
    """Klein et al., 5.3.6: log has 120 + 10 ceil(w / 25) + 25 ceil(w / 200), which is 290 at 290."""
    tasks: dict[str, Any] = {
        "control": {"period": "25us", "deadline": "350us", "wcet": "10us", "priority": 2},
        "packets": {
            "min_interarrival": "1ps",
            "burst": {"count": 25, "within": "200us"},
            "deadline": "200us",
        },
        "log": {"period": "350us", "wcet": "120us", "priority": 1},
    }
    tasks["packets"] |= {"deadline": "200us", "wcet": "1us", "priority": 3}
    data = {"consort": 1, "platform": "board", "tasks": {n: {**t, "on": "m-0"} for n, t in tasks.items()}}
    system = system_from_data(data, platform=PLATFORM)
    bounds = {bound.task: bound.response for bound in response_times(system)}
    # The last of 25 at once begins 24 ps after the first.
    assert bounds == {"control": 35 * US, "packets": 25 * US - 24, "log": 290 * US}
    found = simulate(prepare(system, dense=True), 10_000 * US, choice="worst")
    assert {name: one.max_response for name, one in found.figures.items()} == bounds
    jobs = 10_000 * US * 25 // (200 * US)
    assert (
        found.figures["packets"].jobs
        == jobs
        <= plan(system, "analysis").tasks["packets"].releases_until(10_000 * US)
        <= jobs + 26
    )
