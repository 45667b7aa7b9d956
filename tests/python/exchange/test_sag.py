# SPDX-License-Identifier: Apache-2.0
"""Job sets for schedule-abstraction graphs: their columns, and their worst schedules by trying all."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.exports import HEADER, export_sag
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from systems import system_of

Job = tuple[int, ...]


def data_of(tasks: dict[str, Any], policy: str = "fixed-priority-non-preemptive") -> dict[str, Any]:
    return {"consort": 1, "platform": "board.yaml", "scheduling": {"big": {"policy": policy}}, "tasks": tasks}


def rows(text: str) -> list[Job]:
    header, *lines = text.splitlines()
    assert header == HEADER
    return [tuple(map(int, line.split(","))) for line in lines]


def exact_worst(jobs: list[Job]) -> dict[tuple[int, int], int]:
    """The latest finish of each job over all arrivals and costs, by trying every one: non-preemptive."""
    worst: dict[tuple[int, int], int] = {}
    arrivals = [range(job[2], job[3] + 1) for job in jobs]
    costs = [range(job[4], job[5] + 1) for job in jobs]
    for arrival in itertools.product(*arrivals):
        for cost in itertools.product(*costs):
            waiting, now = set(range(len(jobs))), 0
            while waiting:
                ready = [j for j in waiting if arrival[j] <= now]
                if not ready:
                    now = min(arrival[j] for j in waiting)
                    continue
                job = min(ready, key=lambda j: (jobs[j][7], jobs[j][0], jobs[j][1]))
                now += cost[job]
                waiting.remove(job)
                key = (jobs[job][0], jobs[job][1])
                worst[key] = max(worst.get(key, 0), now)
    return worst


def np_response(tasks: list[tuple[int, int]]) -> list[int]:
    """Worst response times of (wcet, period), most urgent first, non-preemptive, all released together.

    Ticks are whole; a job that began is not stopped. Independent of the exporter: a tick-by-tick schedule.
    """
    hyperperiod = 1
    for _, period in tasks:
        hyperperiod = max(hyperperiod, period)
    worst = [0] * len(tasks)
    pending: list[tuple[int, int]] = []
    running: tuple[int, int, int] | None = None
    for tick in range(hyperperiod * 2):
        if running is not None and running[2] == tick:
            worst[running[0]] = max(worst[running[0]], tick - running[1])
            running = None
        if tick < hyperperiod:
            pending += [(index, tick) for index, (_, period) in enumerate(tasks) if tick % period == 0]
        if running is None and pending:
            pending.sort()
            index, released = pending.pop(0)
            running = (index, released, tick + tasks[index][0])
    return worst


def test_columns() -> None:
    tasks = {
        "slow": {"period": "20us", "wcet": "6us", "bcet": "4us", "jitter": "2us", "on": "big-0"},
        "fast": {"period": "10us", "deadline": "8us", "wcet": "2us", "on": "big-0"},
    }
    assert rows(export_sag(system_of(data_of(tasks)), Report())) == [
        (1, 1, 0, 0, 1, 1, 4, 1),
        (2, 1, 0, 1, 2, 3, 10, 2),
        (1, 2, 5, 5, 1, 1, 9, 1),
    ]


def test_edf_has_deadlines_for_priorities() -> None:
    tasks = {
        "a": {"period": "10us", "wcet": "2us", "on": "big-0"},
        "b": {"period": "20us", "wcet": "2us", "on": "big-0"},
    }
    jobs = rows(export_sag(system_of(data_of(tasks, "edf")), Report()))
    assert all(job[6] == job[7] for job in jobs) and len(jobs) == 3


def test_offsets_lengthen_the_window() -> None:
    tasks = {
        "a": {"period": "10us", "wcet": "2us", "on": "big-0"},
        "b": {"period": "20us", "offset": "5us", "wcet": "2us", "on": "big-0"},
    }
    jobs = rows(export_sag(system_of(data_of(tasks)), Report()))
    # Twice the hyperperiod of 20 us after the last begins at 5 us.
    assert [job[0] for job in jobs].count(1) == 5 and [job[0] for job in jobs].count(2) == 2


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([4, 8, 16])), min_size=1, max_size=3))
def test_worst_finish_is_that_of_the_system(tasks: list[tuple[int, int]]) -> None:
    """All jobs of the file, tried exhaustively, respond as a schedule of the system tick by tick."""
    if sum(16 // period * wcet for wcet, period in tasks) > 16:
        return
    tasks.sort(key=lambda task: task[1])
    described = {
        f"t{i}": {"period": f"{period}us", "wcet": f"{wcet}us", "priority": 10 - i, "on": "big-0"}
        for i, (wcet, period) in enumerate(tasks)
    }
    jobs = rows(export_sag(system_of(data_of(described)), Report()))
    unit = tasks[0][1] // jobs[0][6]
    worst = exact_worst(jobs)
    responses = [0] * len(tasks)
    for job in jobs:
        responses[job[0] - 1] = max(responses[job[0] - 1], (worst[job[0], job[1]] - job[2]) * unit)
    assert responses == np_response(tasks)


def test_arrivals_and_costs_vary_as_described() -> None:
    """A later arrival of the urgent job lets the other begin and block it: the file must hold both."""
    tasks = {
        "urgent": {"period": "20us", "jitter": "2us", "wcet": "1us", "priority": 2, "on": "big-0"},
        "long": {"period": "20us", "wcet": "6us", "bcet": "5us", "priority": 1, "on": "big-0"},
    }
    jobs = rows(export_sag(system_of(data_of(tasks)), Report()))
    assert exact_worst(jobs) == {(1, 1): 7, (2, 1): 7}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period": None, "min_interarrival": "10us"}, "tasks.a: is sporadic"),
        ({"wcet": None}, "tasks.a: has no wcet"),
        ({"period": "9999999ps"}, "more than 1000000"),
    ],
)
def test_what_is_no_job_set(change: dict[str, Any], message: str) -> None:
    task: dict[str, Any] = {"period": "10us", "wcet": "1us", "on": "big-0"} | change
    tasks = {
        "a": {key: value for key, value in task.items() if value is not None},
        "b": {"period": "10us", "wcet": "1us", "on": "big-0"},
    }
    with pytest.raises(BadInput, match=message):
        export_sag(system_of(data_of(tasks)), Report())


def test_several_cores_need_a_name() -> None:
    tasks = {name: {"period": "10us", "wcet": "1us", "on": f"big-{i}"} for i, name in enumerate("ab")}
    system = system_of(data_of(tasks))
    with pytest.raises(BadInput, match="name it by --core"):
        export_sag(system, Report())
    with pytest.raises(BadInput, match="no task is on 'rt-0'"):
        export_sag(system, Report(), "rt-0")
    report = Report()
    assert len(rows(export_sag(system, report, "big-1"))) == 1
    assert report.left_out == {("task", "on big-0"): ["a"]}
