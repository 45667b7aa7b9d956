# SPDX-License-Identifier: Apache-2.0
"""Cause-effect chains: published latencies, and the bounds against chains followed job by job."""

from __future__ import annotations

import itertools
from math import lcm

import pytest
from brute import Job, jobs_of, run
from consort import _engine
from consort.analysis.chains import Link, implicit, let
from consort.analysis.uniprocessor import UniTask, fixed_priority
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

MS = 10**9

# Periods in ms: longest reaction, T1 + longest passage (called reaction by the tool the numbers are from),
# shortest.
CASES = {
    "WATERS17 EC1": ((10, 10, 10, 10), (50, 50, 40)),
    "WATERS17 EC2": ((100, 10, 2), (212, 212, 112)),
    "WATERS19 LG-LOC-EKF-Planner-DASM": ((33, 400, 15, 15, 5), (908, 542, 470)),
    "WATERS19 CAN-EKF-Planner-DASM": ((10, 15, 15, 5), (65, 60, 45)),
}


@pytest.mark.parametrize("name", CASES)
def test_published(name: str) -> None:
    periods, expected = CASES[name]
    found = _engine.let_chain([(p, 0, p) for p in periods])
    assert found is not None
    assert (found["reaction"], periods[0] + found["passage"], found["least_reaction"]) == expected
    links = [Link(f"t{i}", p * MS, p * MS, interval=p * MS) for i, p in enumerate(periods)]
    reaction, age = let("chain", links, reaction=900 * MS, age=900 * MS)
    assert (reaction.response, age.response) == (expected[0] * MS, expected[0] * MS)
    assert reaction.schedulable == (expected[0] <= 900)
    assert reaction.explanation[-1].start + reaction.explanation[-1].length == reaction.response


@st.composite
def let_chains(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Tasks of (period, offset, interval)."""
    return [
        (t, draw(st.integers(0, t)), draw(st.integers(1, t)))
        for t in draw(st.lists(st.sampled_from((1, 2, 3, 4, 5, 6, 8, 10)), min_size=1, max_size=4))
    ]


def play(chain: list[tuple[int, int, int]], until: int) -> list[tuple[int, int]]:
    """Plays a chain tick by tick: when each output was written, and when its source was read."""
    written: list[int | None] = [None] * len(chain)
    held: list[dict[int, int | None]] = [{} for _ in chain]
    outputs = []
    for now in range(until):
        for i, (t, offset, interval) in enumerate(chain):
            due = now - interval - offset
            if due >= 0 and due % t == 0:
                written[i] = held[i].pop(now - interval)
                source = written[i]
                if i == len(chain) - 1 and source is not None:
                    outputs.append((now, source))
        for i, (t, offset, _) in enumerate(chain):
            if now >= offset and (now - offset) % t == 0:
                held[i][now] = now if i == 0 else written[i - 1]
    return outputs


@settings(max_examples=examples(100))
@given(let_chains())
def test_let_agrees_with_play(chain: list[tuple[int, int, int]]) -> None:
    common = lcm(*(t for t, _, _ in chain))
    begin = 4 * sum(t for t, _, _ in chain)
    until = begin + 2 * common + begin
    outputs = play(chain, until)
    # A stimulus at each whole moment; the bound is that of one between a read and the next whole moment.
    reactions = []
    for z in range(begin, begin + common):
        end = next(now for now, source in outputs if source >= z)
        reactions.append(end - z)
    ages = [
        (after - source, now - source)
        for (now, source), (after, _) in itertools.pairwise(outputs)
        if begin <= now < begin + common
    ]
    found = _engine.let_chain(chain)
    assert found is not None
    assert found["reaction"] == max(reactions) + 1
    assert found["least_reaction"] == min(reactions)
    assert (found["age"], found["age_when_written"]) == (max(a for a, _ in ages), max(w for _, w in ages))


@given(let_chains())
def test_longest_reaction_is_longest_age(chain: list[tuple[int, int, int]]) -> None:
    """Günzel, Teper, Chen, von der Brüggen and Chen 2023."""
    found = _engine.let_chain(chain)
    assert found is not None and found["reaction"] == found["age"]


def test_let_falls_back_on_a_bound() -> None:
    assert _engine.let_chain([(1, 0, 1), (1000, 0, 1000)], 100) is None
    periods = (10**9 + 7, 10**9 + 9)
    links = [Link(f"t{i}", p, p, interval=p) for i, p in enumerate(periods)]
    reaction, age = let("chain", links)
    assert reaction.response == age.response == 2 * sum(periods)
    assert "too long" in reaction.notes[0]


def test_let_needs_its_intervals_to_hold() -> None:
    (reaction, _) = let("chain", [Link("slow", 10 * MS, 12 * MS, interval=10 * MS)])
    assert not reaction.schedulable
    assert "slow may take 12ms, longer than its interval of 10ms" in reaction.verdict()


def test_sporadic_tasks_have_no_reaction_time() -> None:
    for bound in implicit("chain", [Link("button", None, MS), Link("act", MS, MS)], reaction=MS):
        assert bound.response is None and "button is sporadic" in bound.verdict()


def test_a_more_urgent_writer_on_the_same_core_costs_no_response_time() -> None:
    first = Link("a", 10, 4, core="c", by_priority=True, level=0)
    second = Link("b", 20, 9, core="c", by_priority=True, level=1)
    reaction, age = implicit("chain", [first, second])
    assert reaction.response == age.response == 10 + 20 + 9
    reaction, _ = implicit("chain", [second, first])
    assert reaction.response == 20 + 9 + 10 + 4
    assert "at most 19ps old" in age.notes[0]


def test_what_comes_over_a_link_may_come_after_the_reader_of_its_core_has_begun() -> None:
    """The writer's priority says nothing of when its block is there."""
    first = Link("a", 20, 9, jitter=1, core="c", by_priority=True, level=0, delivery=3)
    second = Link("b", 12, 9, core="c", by_priority=True, level=1)
    reaction, age = implicit("chain", [first, second])
    assert reaction.response == age.response == 20 + 9 + 3 + 12 + 9


@st.composite
def implicit_systems(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int, int]], list[int]]:
    """Tasks of (c, t, jitter, offset, core) in priority order, and a chain through them."""
    tasks = []
    for _ in range(draw(st.integers(2, 4))):
        t = draw(st.sampled_from((4, 5, 6, 8, 10, 12)))
        tasks.append(
            (
                draw(st.integers(1, t // 3 + 1)),
                t,
                draw(st.integers(0, 3)),
                draw(st.integers(0, 9)),
                draw(st.integers(0, 1)),
            )
        )
    return tasks, draw(st.permutations(range(len(tasks))))


@pytest.mark.representative
@settings(max_examples=examples(200))
@given(implicit_systems(), st.booleans(), st.data())
def test_no_played_chain_exceeds_the_bounds(
    system: tuple[list[tuple[int, int, int, int, int]], list[int]], preemptive: bool, data: st.DataObject
) -> None:
    tasks, path = system
    until = 160
    jobs: dict[int, list[Job]] = {}
    links: dict[int, Link] = {}
    for core in (0, 1):
        members = [i for i, task in enumerate(tasks) if task[4] == core]
        if not members:
            continue
        rows = [UniTask(str(i), tasks[i][0], tasks[i][1], tasks[i][1], tasks[i][2]) for i in members]
        responses = {int(b.task): b.response for b in fixed_priority(rows, preemptive=preemptive)}
        assume(all(responses.values()))
        everything = []
        for i in members:
            c, t, jitter, offset, _ = tasks[i]
            late = data.draw(st.lists(st.integers(0, jitter), max_size=4))
            jobs[i] = jobs_of(i, c, t, t, until=until, offset=offset, late=late)
            for job in jobs[i]:
                job.execution = data.draw(st.sampled_from((c, c, 1)))
            everything += jobs[i]
            links[i] = Link(str(i), t, responses[i], jitter, core=str(core), by_priority=True, level=i)
        run(everything, preemptive=preemptive)
    reaction, age = implicit("chain", [links[i] for i in path])
    assert reaction.response is not None and age.response is not None

    # Each job of the chain's last task shows when the first task read its data.
    source: dict[int, int] = {id(job): job.start for job in jobs[path[0]]}
    for before, here in itertools.pairwise(path):
        for job in jobs[here]:
            done = [other for other in jobs[before] if other.finish <= job.start and id(other) in source]
            if done:
                source[id(job)] = source[id(max(done, key=lambda other: other.finish))]
    outputs = sorted((job.finish, source[id(job)]) for job in jobs[path[-1]] if id(job) in source)
    starts = [job.start for job in jobs[path[0]]]
    for z in starts[2:]:
        # Just after this read.
        end = next((finish for finish, read in outputs if read > z), None)
        if end is not None:
            assert end - z <= reaction.response
    for (_, read), (replaced, _) in itertools.pairwise(outputs):
        assert replaced - read <= age.response


def test_the_first_job_of_a_late_starter_is_waited_for() -> None:
    """A reader of period 59 begins at 500: what was read at 0 shows 504 later, not 107."""
    links = [Link("a", 35, 9), Link("b", 59, 4, offset=500)]
    reaction, age = implicit("x", links)
    assert (reaction.response, age.response) == (504, 107)
    assert sum(step.length for step in reaction.explanation) == 504
    # The writer begins late itself; and whoever waits longest is not always the last.
    assert implicit("x", [Link("a", 35, 9, offset=490), Link("b", 59, 4, offset=500)])[0].response == 107
    middle = [Link("a", 35, 9), Link("b", 59, 4, offset=500), Link("c", 20, 2, offset=30)]
    assert implicit("x", middle)[0].response == 500 + 4 + 20 + 2


def test_a_late_starter_under_logical_execution_time() -> None:
    """Read at 0; the first job that reads a stimulus after that is written at 70, and read at 500."""
    links = [Link("a", 35, 9, interval=35), Link("b", 59, 4, offset=500, interval=59)]
    reaction, _ = let("x", links)
    assert reaction.response == 559 and sum(step.length for step in reaction.explanation) == 559
    primes = (1_000_003, 1_000_033, 1_000_037, 1_000_039)
    far = [Link(str(p), p, 1, offset=k * 10**9, interval=p) for k, p in enumerate(primes)]
    assert "too long" in let("x", far)[0].notes[0] and (let("x", far)[0].response or 0) > 3 * 10**9
