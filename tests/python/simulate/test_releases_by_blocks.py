# SPDX-License-Identifier: Apache-2.0
"""Simulated jobs that the blocks of other tasks release, held against the written rule."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import small
from consort import _engine
from consort.model import BadDescription
from consort.plan import plan, problems_of
from consort.record.ran import STATUS
from consort.simulate.build import prepare
from consort.simulate.engine import JOBS, SLICES, simulate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small import consort

HELD, UNSERVED = STATUS["outputs_held"], STATUS["unserved"]

QUEUE = {"kind": "queue", "capacity": 64, "size": "64B", "memory": "free"}
LET = {"kind": "sporadic", "size": "64B", "memory": "free", "communication": "let"}
"""A channel that costs nothing, in order or under logical execution time."""


def pair(
    sink: dict[str, Any],
    channel: dict[str, Any] = QUEUE,
    more: dict[str, Any] | None = None,
    **source: Any,
) -> Any:
    tasks = {
        "source": {"period": 100, "wcet": 30, "priority": 2, "writes": ["blocks"], **source},
        "sink": {
            "min_interarrival": 50,
            "arrival": "blocks",
            "wcet": 10,
            "priority": 1,
            "reads": ["blocks"],
            **sink,
        },
    }
    return small.system(tasks, channels={"blocks": channel}, **(more or {}))


def released(system: Any, task: str, duration: int = 1000) -> tuple[Any, Any]:
    """The due and release instants of its jobs [us]."""
    found = simulate(prepare(system), duration * 10**6, choice="worst", trace=True)
    jobs = found.jobs_of(task)
    return (jobs["release"] / 10**6).tolist(), (jobs["ready"] / 10**6).tolist()


def test_a_block_releases_a_job_when_its_writer_ends():
    due, ready = released(pair({}), "sink", 350)
    assert due == ready == [30, 130, 230, 330]


def test_under_logical_execution_time_at_its_writers_deadline():
    due, _ = released(pair({}, LET, deadline=70), "sink", 350)
    # The block of the job that is due at 300 is there at 370, after the end.
    assert due == [70, 170, 270]


def test_jitter_lets_a_block_come_late():
    due, ready = released(pair({"min_interarrival": 100, "jitter": 30}), "sink", 350)
    assert due == [0, 100, 200, 300]
    assert ready == [30, 130, 230, 330]


def test_blocks_that_come_closer_than_least_distances_allow_wait():
    """Every second one: three within 250 us are too many."""
    system = pair({"min_interarrival": 50, "min_distances": ["60us", "250us"]})
    due, ready = released(system, "sink", 450)
    assert due == ready == [30, 130, 280, 380, 530]
    found = simulate(prepare(system), 450 * 10**6, choice="worst")
    assert found.figures["sink"].early == 3


def test_a_block_that_comes_too_early_waits_and_is_counted():
    system = pair({"min_interarrival": 130})
    assert released(system, "sink", 350)[0] == [30, 160, 290, 420]
    found = simulate(prepare(system), 350 * 10**6, choice="worst")
    assert found.figures["sink"].early == 3
    assert found.early == [
        "sink: 3 of 4 blocks came before min_interarrival and min_distances allow; their jobs waited"
    ]


def test_an_output_that_is_held_releases_nobody():
    system = small.system(
        {
            "away": {
                "period": 100,
                "deadline": 40,
                "on": "w-0",
                "master": "m-0",
                "execution": "offloaded",
                "on_miss": "hold-last-output",
                "wcet": {"w": {"offloaded": "50us"}},
                "bcet": {"w": {"offloaded": "10us"}},
                "dispatch": {"send": "0us", "receive": "0us"},
                "writes": ["blocks"],
                "priority": 1,
            },
            "sink": {
                "min_interarrival": 10,
                "arrival": "blocks",
                "wcet": 1,
                "on": "m-1",
                "reads": ["blocks"],
            },
        },
        channels={"blocks": QUEUE},
    )
    found = simulate(prepare(system), 10_000 * 10**6, choice="edges", trace=True)
    away = found.jobs_of("away")
    written = away["finish"][(away["status"] & HELD) == 0]
    assert 0 < written.size < away.size
    assert found.jobs_of("sink")["release"].tolist() == written.tolist()


def test_a_devices_blocks_come_as_a_generators():
    tasks = {"sink": {"min_interarrival": 50, "arrival": "news", "wcet": 10, "reads": ["news"]}}
    channels = {"news": {**QUEUE, "from": "bus"}}
    system = small.system(tasks, channels=channels, devices={"bus": {"kind": "can"}})
    found = simulate(prepare(system), 10_000 * 10**6, choice="worst", trace=True)
    gaps = np.diff(found.jobs_of("sink")["release"])  # ps
    assert len(set(gaps)) > 10 and min(gaps) >= 50 * 10**6
    assert "tasks.sink.arrival: in virtual time only blocks of tasks release jobs" in "\n".join(
        map(str, problems_of(system, "virtual"))
    )


@pytest.mark.parametrize("end", ["source", "sink"])
def test_three_phase_ends_are_refused_alike(end):
    of_kernel = {
        "on": "spm-0",
        "execution": "three-phase",
        "footprint": {"code": "100B", "data": "100B"},
    }
    system = pair(
        of_kernel if end == "sink" else {},
        more={"scheduling": {"spm": {"policy": "three-phase", "slot": "auto"}}},
        **(of_kernel if end == "source" else {}),
    )
    with pytest.raises(BadDescription, match=r"tasks\.sink\.arrival: no job is released by blocks of"):
        prepare(system)
    assert "tasks.sink.arrival: no job is released by blocks" in "\n".join(
        map(str, problems_of(system, "virtual"))
    )


def test_the_command_names_early_blocks(tmp_path, capsys):
    described = {
        "consort": 1,
        "platform": "linux-host",
        "tasks": {
            "source": {"period": "10ms", "wcet": "1ms", "on": "master-0", "writes": ["blocks"]},
            "sink": {
                "min_interarrival": "15ms",
                "arrival": "blocks",
                "wcet": "1ms",
                "on": "master-1",
                "reads": ["blocks"],
            },
        },
        "channels": {"blocks": {"kind": "queue", "capacity": 16, "size": "64B"}},
    }
    file = tmp_path / "system.yaml"
    file.write_text(json.dumps(described), encoding="utf-8")
    for options in ([], ["--no-record", "--runs", "2"]):
        status, _, said = consort(
            capsys, "simulate", file, "--duration", "100ms", "--root", tmp_path, *options
        )
        assert status == 1
        assert "blocks came before min_interarrival and min_distances allow; their jobs waited" in said
    _, out, _ = consort(capsys, "simulate", file, "--duration", "100ms", "--root", tmp_path, "--json")
    said = json.loads(out)
    assert said["ok"] == said["verdict"]["ok"] == "not held"
    assert next(task for task in said["tasks"] if task["task"] == "sink")["early_arrivals"] == 9


@st.composite
def engines(draw: st.DrawFn) -> tuple[_engine.SimSystem, list[_engine.SimTask]]:
    """Cores of each policy, with tasks that one another's blocks release."""
    policies = ["fixed-priority", "fixed-priority-non-preemptive", "edf"]
    cores = [_engine.SimCore(draw(st.sampled_from(policies))) for _ in range(draw(st.integers(1, 3)))]
    tasks = []
    count = draw(st.integers(2, 6))
    for index in range(count):
        task = _engine.SimTask()
        task.core = task.master = draw(st.integers(0, len(cores) - 1))
        task.period = draw(st.integers(2, 30))
        task.deadline = draw(st.integers(1, 40))
        task.jitter = draw(st.sampled_from([0, 0, 5, 20]))
        task.wcet = draw(st.integers(0, 10))
        task.bcet = draw(st.integers(0, task.wcet))
        task.rank = draw(st.integers(0, 3))
        task.skip = draw(st.booleans())
        if index and draw(st.booleans()):
            task.arrival = draw(st.integers(0, index - 1)), draw(st.booleans())
        tasks.append(task)
    return _engine.SimSystem(cores, [], tasks), tasks


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=engines(), seed=st.integers(0, 2**63), duration=st.integers(1, 120))
def test_releases_follow_from_the_writers_jobs(made, seed, duration):
    # So short that no block is forgotten before its job is due (app::Arrivals::kept).
    system, tasks = made
    result = _engine.sim_run(system, duration, seed, "edges", "edges", True)
    jobs = result["jobs"].view(JOBS)
    by_task = [np.sort(jobs[jobs["task"] == index], order="seq") for index in range(len(tasks))]
    for index, task in enumerate(tasks):
        if task.arrival is None:
            continue
        writer, let = task.arrival
        wrote = by_task[writer][(by_task[writer]["status"] & UNSERVED) == 0]
        arrived = np.maximum(wrote["finish"], wrote["deadline"]) if let else wrote["finish"]
        expected, early, last = [], 0, None
        for arrival in arrived[arrived < duration].tolist():
            due = max(arrival - task.jitter, 0 if last is None else last + task.period)
            expected.append((due, max(arrival, due)))
            last = due
        mine = by_task[index]
        assert list(zip(mine["release"].tolist(), mine["ready"].tolist(), strict=True)) == expected
        served = (mine["status"] & UNSERVED) == 0
        early = np.count_nonzero(served & (mine["ready"] > arrived[arrived < duration]))
        assert result["tasks"][index]["early"] == early
    executed = _engine.sim_run_in_virtual_time(system, duration, seed, "edges", "edges", True)
    assert executed["tasks"] == result["tasks"]
    assert (
        np.sort(executed["jobs"].view(JOBS), order=["task", "seq"]).tolist()
        == np.sort(jobs, order=["task", "seq"]).tolist()
    )
    assert executed["slices"].view(SLICES).size > 0 or not jobs["compute"].any()


def test_what_the_engine_cannot_follow_is_refused():
    core = _engine.SimCore("fixed-priority")
    for arrival, change, why in (
        ((0, False), {}, "another task writes"),
        ((2, False), {}, "another task writes"),
        ((1, False), {"offset": 3}, "no other releases"),
    ):
        first, second = _engine.SimTask(), _engine.SimTask()
        first.arrival = arrival
        for key, value in change.items():
            setattr(first, key, value)
        system = _engine.SimSystem([core], [], [first, second])
        for run in (_engine.sim_run, _engine.sim_run_in_virtual_time):
            with pytest.raises(ValueError, match=why):
                run(system, 10)


def test_a_plan_says_what_releases_a_task():
    made = plan(pair({}), "virtual", stand_ins=True)
    assert made.tasks["sink"].release == "arrival" and made.tasks["sink"].arrival == "blocks"
