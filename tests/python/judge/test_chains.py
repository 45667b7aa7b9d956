# SPDX-License-Identifier: Apache-2.0
"""Chains from sequence numbers, against a search through every job and operation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from consort.judge.chains import ABSENT, Hop, chain_times, hops_of
from consort.record import Ran
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_plan import made_plan
from system_recording import JOB, OPERATION


@st.composite
def histories(draw: Any) -> tuple[Any, Any, list[str], bool]:
    """Jobs of a chain of tasks and what they read and wrote; with lost blocks, skipped jobs, held outputs."""
    tasks = draw(st.integers(1, 4))
    rows, operations = [], []
    let = draw(st.booleans())
    written: list[tuple[int, int]] = []
    for task in range(tasks):
        period = draw(st.integers(1, 9))
        offset = draw(st.integers(1, 9))
        mine: list[tuple[int, int]] = []
        ended = 0
        for seq in range(draw(st.integers(0, 12))):
            release = offset + seq * period
            served = draw(st.integers(0, 5)) > 0
            # A task has one job at a time.
            start = max(release + draw(st.integers(0, 2)), ended) if served else 0
            held = served and draw(st.integers(0, 5)) == 0
            finish = start + draw(st.integers(0, 3)) if served else 0
            ended = max(ended, finish)
            row = np.zeros((), dtype=JOB)
            row["release"], row["start"], row["finish"] = release, start, finish
            row["seq"], row["task"] = seq, task
            row["status"] = 0 if served and not held else 0b10 if served else 0b1000_0001
            rows.append(row)
            if not served:
                continue
            if task:
                there = [s for s, at in written if at <= start]
                # A reader may be late by some blocks, but never goes back.
                back = draw(st.integers(0, 1))
                newest = there[max(len(there) - 1 - back, 0)] if there else 0
                before = max(
                    (o[1] for o in operations if (o[3], o[5]) == (task, 0)),
                    default=0,
                )
                operations.append((start, max(newest, before), seq, task, task - 1, 0, 1, 0))
            if task < tasks - 1 and not held:
                sequence = len(mine) + 1
                mine.append((sequence, finish))
                operations.append((finish, sequence, seq, task, task, 1, 1, 0))
        written = mine
    jobs = np.array(rows, dtype=JOB) if rows else np.zeros(0, dtype=JOB)
    return jobs, np.array(operations, dtype=OPERATION), [f"t{n}" for n in range(tasks)], let


def system_of(names: list[str], let: bool) -> Ran:
    channels = [{"name": f"c{n}", "writer": a, "readers": [b]} for n, (a, b) in enumerate(pairwise(names))]
    chain = {"name": "c", "path": names, "communication": "let" if let else "implicit"}
    tasks = {name: {"deadline_ns": 5} for name in names}
    return Ran.of(made_plan(tasks, channels, [chain]), {})


def searched(jobs: Any, operations: Any, tasks: int, let: bool) -> tuple[list[int], list[int], int]:
    """Reactions, ages between following outputs, and open sources, by going back from every output."""

    def of(task: int) -> list[Any]:
        return sorted((j for j in jobs if j["task"] == task), key=lambda j: int(j["seq"]))

    def source(task: int, seq: int) -> int | None:
        """The number of the first task's job that this one knows."""
        if task == 0:
            return seq
        for o in operations:
            if (int(o["task"]), int(o["seq"]), int(o["kind"])) == (task, seq, 0) and o["sequence"]:
                for w in operations:
                    if (int(w["task"]), int(w["sequence"]), int(w["kind"])) == (
                        task - 1,
                        int(o["sequence"]),
                        1,
                    ):
                        return source(task - 1, int(w["seq"]))
        return None

    def read(job: Any) -> int:
        return int(job["release"] if let else job["start"])

    outputs = []
    for job in of(tasks - 1):
        if job["finish"] and not job["status"] & 0b1000_0010:
            known = source(tasks - 1, int(job["seq"]))
            at = int(job["release"]) + 5 if let else int(job["finish"])
            if known is not None:
                outputs.append((at, known))
    reads = {int(j["seq"]): read(j) for j in of(0) if j["start"]}
    numbers = sorted(reads)
    reactions, unseen = [], 0
    for before, now in pairwise(numbers):
        effects = [at for at, known in outputs if known >= now]
        if effects:
            reactions.append(effects[0] - reads[before])
        else:
            unseen += 1
    newest, standing = -1, []
    for at, known in outputs:
        newest = max(newest, known)
        standing.append((at, newest))
    ages = [b[0] - reads[a[1]] for a, b in pairwise(standing)]
    return reactions, ages, unseen


@settings(max_examples=examples(400))
@given(histories())
def test_as_a_search_from_every_output_finds_it(history: tuple[Any, Any, list[str], bool]) -> None:
    jobs, operations, names, let = history
    system = system_of(names, let)
    hops = hops_of(jobs, operations, system.chains[0], system, 1.0)
    found = chain_times(hops)
    reactions, ages, unseen = searched(jobs, operations, len(names), let)
    assert found.reactions.tolist() == reactions
    assert found.open == unseen
    assert max(found.ages.tolist(), default=None) == max(ages, default=None)
    assert len(found.ages) <= len(ages)
    if found.worst:
        assert found.worst[-1].written - found.stimulus == max(reactions)


def hop(reads: list[int], writes: list[int], producer: list[int]) -> Hop:
    n = len(reads)
    return Hop("t", np.arange(n), np.array(reads), np.array(writes), np.array(producer))


def test_by_hand() -> None:
    """The sensor reads at 0, 10, 20, 30; the actor knows of jobs 0, 1, 1, 3 and writes at 15, 25, 35, 45."""
    sensor = hop([0, 10, 20, 30], [2, 12, 22, 32], [ABSENT] * 4)
    actor = hop([5, 15, 25, 35], [15, 25, 35, 45], [0, 1, 1, 3])
    found = chain_times([sensor, actor])
    # The stimulus just after 0 shows at 25; those after 10 and 20 at 45.
    assert found.reactions.tolist() == [25, 35, 25]
    assert found.reduced_reactions.tolist() == [15, 25, 15]
    # Source 0 lasts until 25, source 1 until 45; that of 30 still stands.
    assert found.ages.tolist() == [25, 35] and found.open_ages == 1
    assert found.reduced_ages.tolist() == [15, 15, 15]
    assert found.open == 0 and found.standing_since == 30
    assert [(link.seq, link.read) for link in found.worst] == [(3, 30), (3, 35)]


def test_a_reader_that_had_read_nothing_shows_nothing() -> None:
    found = chain_times([hop([0, 10], [2, 12], [ABSENT] * 2), hop([5], [6], [ABSENT])])
    assert found.reactions.size == 0 and found.open == 1 and found.open_since == 0
    assert found.stimulus is None and found.worst == ()
