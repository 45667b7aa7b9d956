# SPDX-License-Identifier: Apache-2.0
"""Outputs under logical execution time: the same in logical order, in virtual time and on this machine.

Whatever the jobs' execution times, the seed, the placement, the policy and the scale of time: nothing may
change. With implicit communication it does, so that the comparison can fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from let_support import GRAPH, Graph, How, Node, description, in_logical_order, outputs
from run_support import HELD, MISSED, SKIPPED, Ran, ran

pytestmark = pytest.mark.realtime(when="run")

DURATION = 96_000
# How the same graph is executed: each is unlike the first in at least one thing.
VARIANTS = {
    "as it is": (How(), 1),
    "worst case always, upside down": (How(bcet="400us", wcet="400us", priorities=(1, 2, 3, 4, 5)), 2),
    "short jobs": (How(bcet="1ns", wcet="2us"), 3),
    "three cores": (How(cores=("master-0", "master-1", "master-2"), wcet="2ms"), 4),
    "earliest deadline first": (How(policy="edf", wcet="700us"), 5),
    "not preemptive": (How(cores=("master-0", "master-1"), policy="fixed-priority-non-preemptive"), 6),
}
_numbers = itertools.count()


def executed(folder: Path, graph: Graph, how: How, *, duration: int = DURATION, **options: object) -> Ran:
    folder = folder / f"system-{next(_numbers)}"
    return ran(description(folder, graph, how, duration), **options)


def shifted(offsets: tuple[int, ...]) -> Graph:
    return {
        name: replace(node, offset=offset)
        for (name, node), offset in zip(GRAPH.items(), offsets, strict=True)
    }


@pytest.mark.parametrize("name", VARIANTS)
def test_virtual_time_gives_what_logical_order_gives(tmp_path: Path, name: str) -> None:
    how, seed = VARIANTS[name]
    found = executed(tmp_path, GRAPH, how, target="virtual", seed=seed)
    assert found.verdict.ok, found.verdict.reasons
    assert outputs(found, GRAPH) == in_logical_order(GRAPH, DURATION)


def test_no_scale_of_time_changes_it(tmp_path: Path) -> None:
    found = executed(tmp_path, GRAPH, How(wcet="900us"), target="virtual", time_scale=7)
    assert outputs(found, GRAPH) == in_logical_order(GRAPH, DURATION)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    offsets=st.tuples(*[st.integers(0, 20).map(lambda n: n * 500)] * len(GRAPH)),
    order=st.permutations([1, 2, 3, 4, 5]),
    seed=st.integers(0, 2**63),
    cores=st.integers(1, 3),
)
def test_of_small_systems(
    tmp_path_factory: pytest.TempPathFactory,
    offsets: tuple[int, ...],
    order: list[int],
    seed: int,
    cores: int,
) -> None:
    """The graph's program is one, so that a case compiles nothing."""
    graph = shifted(offsets)
    how = How(cores=tuple(f"master-{n}" for n in range(cores)), priorities=order, wcet="600us")
    found = executed(tmp_path_factory.mktemp("let"), graph, how, target="virtual", seed=seed)
    assert outputs(found, graph) == in_logical_order(graph, DURATION)


def test_implicit_communication_does_depend_on_execution_times(tmp_path: Path) -> None:
    """Else the comparison above would say nothing."""
    seen = []
    for how in (How(bcet="1ns", wcet="2us"), How(bcet="600us", wcet="600us", priorities=(1, 2, 3, 4, 5))):
        found = executed(tmp_path, GRAPH, replace(how, communication="implicit"), target="virtual")
        assert found.wrong == 0
        seen.append(outputs(found, GRAPH))
    assert seen[0] != seen[1]
    assert in_logical_order(GRAPH, DURATION) not in seen


@pytest.mark.usefixtures("two_cpus")
def test_this_machine_gives_what_logical_order_gives(tmp_path: Path) -> None:
    """On two cores, however busy the machine: where a job came too late, what came before it is compared, and
    it is run again with more time.
    """
    expected = in_logical_order(GRAPH, DURATION)
    how = How(cores=("master-0", "master-1"), wcet="600us")
    for scale in (5, 25, 100):
        found = executed(tmp_path, GRAPH, how, time_scale=scale)
        compared = same_until_late(found, GRAPH, expected)
        if compared == sum(map(len, expected.values())):
            break
    assert compared > len(expected["fast"])


def same_until_late(found: Ran, graph: Graph, expected: dict[str, list[int]]) -> int:
    """Holds the outputs of all jobs that were due before any job was late; returns how many these are."""
    rows = {name: found.jobs(name, skipped=True) for name in graph}
    late = [
        int(job["release"])
        for jobs in rows.values()
        for job in jobs
        if int(job["status"]) & (MISSED | HELD | SKIPPED)
    ]
    until = min(late, default=2**64 - 1)
    compared = 0
    for name, jobs in rows.items():
        there = dict(zip(found.outputs(name)["seq"].tolist(), outputs(found, graph)[name], strict=True))
        for job in jobs:
            if int(job["release"]) < until:
                assert there[int(job["seq"])] == expected[name][int(job["seq"])], (name, int(job["seq"]))
                compared += 1
    return compared


# Systems of any shape: each compiles a program of its own.
@st.composite
def graphs(draw: Callable[..., object]) -> Graph:
    names = [f"t{n}" for n in range(draw(st.integers(2, 5)))]
    found = {}
    for name in names:
        period = draw(st.sampled_from([2000, 3000, 4000, 5000, 8000, 10000]))
        others = st.sampled_from([n for n in names if n != name])
        reads = draw(st.fixed_dictionaries({}, optional={"a": others, "b": others}))
        if len(set(reads.values())) != len(reads):
            reads = {"a": reads["a"]}
        found[name] = Node(
            period,
            draw(st.integers(period // 2000, 12)) * 1000,
            draw(st.integers(0, 10)) * 1000,
            reads,
        )
    return found


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    graph=graphs(),
    cores=st.integers(1, 3),
    policy=st.sampled_from(["fixed-priority", "fixed-priority-non-preemptive", "edf"]),
    seed=st.integers(0, 2**63),
)
def test_of_systems_of_any_shape(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph, cores: int, policy: str, seed: int
) -> None:
    how = How(cores=tuple(f"master-{n}" for n in range(cores)), policy=policy, bcet="1us", wcet="150us")
    folder = tmp_path_factory.mktemp("let")
    expected = in_logical_order(graph, DURATION)
    found = executed(folder, graph, how, target="virtual", seed=seed, duration_ps=DURATION * 10**6)
    assert outputs(found, graph) == expected
    away = next(iter(graph))
    offloading = replace(how, offloaded=(away,))
    found = executed(folder, graph, offloading, target="virtual", seed=seed, duration_ps=DURATION * 10**6)
    assert outputs(found, graph) == expected
