# SPDX-License-Identifier: Apache-2.0
"""Whole descriptions: every task, chain and channel gets its bound or a reason; simulations hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import free
import pytest
from consort import _engine
from consort.analysis.offload import Master, offloaded
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system, response_times
from consort.analysis.unitask import Remote, UniTask
from consort.model import BadDescription, System, load_system, platform_from_data, system_from_data
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

VEHICLE = Path(__file__).parents[3] / "examples" / "vehicle" / "system.yaml"
US = 10**6

PLATFORM = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m4": {"isa": "armv7e-m"}, "a7": {"isa": "armv7-a"}},
        "cores": {
            "m4": {"processor": "m4", "count": 2, **free.NO_SWITCH},
            "a7": {"processor": "a7", "count": 2, **free.NO_SWITCH},
        },
        "memories": {
            "sram": {"kind": "sram", "access": {"base": "100ns", "per_byte": "1ns"}},
            "unknown": {"kind": "ddr"},
            "free": free.MEMORY,
        },
        "exchanges": free.signals("m4", "a7"),
    }
)


def describe(**parts: Any) -> System:
    parts["channels"] = free.channels(parts["tasks"], parts.get("channels"))
    return system_from_data({"consort": 1, "platform": "board", **parts}, platform=PLATFORM)


def by_name(bounds: list[Bound]) -> dict[str, Bound]:
    return {
        bound.task if bound.kind == "response time" else f"{bound.task}: {bound.kind}": bound
        for bound in bounds
    }


def test_the_vehicle_gets_a_bound_or_a_reason_everywhere() -> None:
    system = load_system(VEHICLE)
    bounds = analyze_system(system)
    assert [bound.task for bound in bounds[: len(system.tasks)]] == list(system.tasks)
    for bound in bounds:
        assert bound.source and (bound.assumptions or bound.notes)
        assert bound.response is not None or bound.notes
        if bound.response is not None and bound.kind == "response time" and bound.explanation:
            last = bound.explanation[-1]
            assert last.start + last.length == bound.response, bound
    found = by_name(bounds)
    # A passenger's view: what brakes is bounded end to end.
    assert found["obstacle-to-brake: reaction time"].schedulable
    for mode in system.modes:
        assert analyze_system(system.in_mode(mode))


def test_each_core_by_its_policy() -> None:
    tasks = {
        "a": {"period": "10us", "wcet": "3us", "on": "m4-0"},
        "b": {"period": "20us", "wcet": "5us", "on": "m4-0"},
        "c": {"period": "10us", "wcet": "3us", "on": "m4-1"},
        "d": {"period": "20us", "wcet": "5us", "on": "m4-1"},
        "e": {"period": "4us", "wcet": "2us", "on": "a7-0"},
        "f": {"period": "6us", "wcet": "3us", "on": "a7-0"},
    }
    scheduling = {"m4-1": {"policy": "fixed-priority-non-preemptive"}, "a7": {"policy": "edf"}}
    found = by_name(response_times(describe(tasks=tasks, scheduling=scheduling)))
    assert {name: bound.response for name, bound in found.items()} == {
        "a": 3 * US,
        "b": 8 * US,
        "c": 8 * US,
        "d": 8 * US,
        "e": 4 * US,
        "f": 6 * US,
    }
    assert [found[name].source.split()[2] for name in "ace"] == ["1", "2", "3"]


def test_offloading_through_a_memory_with_figures() -> None:
    tasks = {
        "ctl": {
            "period": "100us",
            "wcet": {"a7": {"offloaded": "20us"}},
            "on": "a7-0",
            "execution": "offloaded",
            "master": "m4-0",
            "dispatch": {"send": "2us", "receive": "1us"},
        }
    }
    channels = {"ctl.in": {"memory": "sram", "size": "100B"}, "ctl.out": {"memory": "sram", "size": "100B"}}
    found = by_name(analyze_system(describe(tasks=tasks, channels=channels)))
    passage = found["ctl.in: latency"].response
    # Written and read: three words and a copy each; and a look too early.
    assert passage == 2 * (3 * 104 + 200) * 1000 + 104_000
    assert found["ctl"].response == 23 * US + 2 * passage
    channels["ctl.in"]["memory"] = "unknown"
    without = by_name(analyze_system(describe(tasks=tasks, channels=channels)))
    assert without["ctl"].response is None
    assert without["ctl"].missing == ("memories.unknown.access",)
    for word in ("an access of m4 to unknown", "consort probe", "assumed:"):
        assert word in without["ctl"].verdict()


def test_what_lacks_is_named() -> None:
    tasks = {
        "a": {"period": "10us", "on": "m4-0"},
        "b": {"period": "10us", "wcet": "1us", "on": "m4-1"},
    }
    found = response_times(describe(tasks=tasks))
    assert [bound.response for bound in found] == [None, US]
    assert found[0].missing == ("tasks.a.wcet",)
    assert "no figure for the execution time of a, local on m4 (tasks.a.wcet)" in found[0].verdict()


def test_a_fallback_that_may_happen_leaves_its_core_without_bounds() -> None:
    tasks = {
        "ctl": {
            "period": "100us",
            "wcet": {"a7": {"offloaded": "85us"}, "m4": {"local": "300us"}},
            "on": "a7-0",
            "execution": "offloaded",
            "master": "m4-0",
            "on_miss": "local-fallback",
        },
        "other": {"period": "1ms", "wcet": "10us", "on": "m4-0"},
    }
    found = by_name(response_times(describe(tasks=tasks)))
    # Within its deadline, but after the master has given it up.
    assert found["ctl"].response == 85 * US and not found["ctl"].schedulable
    assert found["other"].response is None and "rests on ctl" in found["other"].verdict()
    tasks["ctl"]["on_miss"] = "hold-last-output"
    assert all(bound.schedulable for bound in response_times(describe(tasks=tasks)))


# The engine's simulator, which is the semantics, against the analyses.
@st.composite
def cores(draw: st.DrawFn) -> tuple[str, int, list[dict[str, int]]]:
    policy = draw(st.sampled_from(("fixed-priority", "fixed-priority-non-preemptive", "edf")))
    switch = draw(st.sampled_from((0, 0, 1)))
    tasks = []
    for _ in range(draw(st.integers(1, 4))):
        t = draw(st.integers(10, 60))
        tasks.append(
            {
                "period": t,
                "wcet": draw(st.integers(1, max(1, t // 4))),
                "deadline": draw(st.integers(t // 2, 2 * t)),
                "jitter": draw(st.sampled_from((0, 0, 3))),
                "suspension": draw(st.sampled_from((0, 0, 0, 4, 8))),
                "stretches": draw(st.integers(1, 3)),
                "rank": draw(st.integers(0, 3)),
                "offset": draw(st.integers(0, 20)),
            }
        )
    return policy, switch, tasks


def core_of(policy: str, switch: int = 0) -> Any:
    core = _engine.SimCore(policy)
    core.context_switch = switch
    return core


def task_of(**fields: int | bool) -> Any:
    task = _engine.SimTask("hold-last-output")
    for name, value in fields.items():
        setattr(task, name, value)
    task.give_up = task.deadline
    return task


@settings(max_examples=examples(150))
@given(cores(), st.integers(0, 2**32))
def test_no_core_exceeds_its_bounds(core: tuple[str, int, list[dict[str, int]]], seed: int) -> None:
    policy, switch, rows = core
    rows = sorted(rows, key=lambda row: row["rank"])
    tasks = [
        UniTask(
            str(i),
            row["wcet"],
            row["period"],
            row["deadline"],
            jitter=row["jitter"],
            level=row["rank"],
            suspension=row["suspension"],
            stretches=row["stretches"],
        )
        for i, row in enumerate(rows)
    ]
    bounds = offloaded({"core": Master(tasks, policy, context_switch=switch)})["core"]  # type: ignore[arg-type]
    for execution in ("worst", "edges"):
        simulated = [task_of(bcet=1, **row) for row in rows]
        system = _engine.SimSystem([core_of(policy, switch)], [], simulated)
        result = _engine.sim_run(system, 1500, seed=seed, execution=execution, arrival="edges")
        for bound, task in zip(bounds, result["tasks"], strict=True):
            # The other methods promise nothing below a task that misses its deadline.
            if bound.response is not None and (bound.schedulable or not bound.notes):
                assert task["max_response"] is None or task["max_response"] <= bound.response, (bound, task)


@settings(max_examples=examples(150))
@given(st.data(), st.integers(0, 2**32))
def test_no_offloaded_system_exceeds_its_bounds(data: st.DataObject, seed: int) -> None:
    """Two masters and two workers, with local tasks beside the offloaded ones."""
    simulated = []
    masters: dict[str, Master] = {}
    simulated_cores: list[Any] = []
    for m in range(2):
        tasks = []
        switch = data.draw(st.sampled_from((0, 1)))
        policy = data.draw(
            st.sampled_from(("fixed-priority", "fixed-priority", "fixed-priority-non-preemptive", "edf"))
        )
        for level in range(data.draw(st.integers(1, 3))):
            t = data.draw(st.integers(25, 90))
            send, receive = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
            compute = data.draw(st.integers(1, 7))
            worker = data.draw(st.sampled_from((2, 3)))
            request, answer = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
            local = data.draw(st.booleans())
            remote = Remote(str(worker), compute, request, answer, level=m * 4 + level)
            waits = {
                "suspension": data.draw(st.sampled_from((0, 0, 3, 8))),
                "stretches": data.draw(st.integers(1, 3)),
            }
            fields: dict[str, Any] = {
                "master": m,
                "rank": level,
                "period": t,
                "deadline": t,
                **waits,
            }
            if local:
                tasks.append(UniTask(f"{m}{level}", compute, t, t, level=level, **waits))
                fields |= {"core": m, "wcet": compute, "bcet": 1}
            else:
                tasks.append(
                    UniTask(f"{m}{level}", send + receive, t, t, level=level, remote=remote, **waits)
                )
                fields |= {
                    "core": worker,
                    "offloaded": True,
                    "wcet": compute,
                    "bcet": 1,
                    "send": send,
                    "receive": receive,
                    "request": request,
                    "response": answer,
                }
            fields["offset"] = data.draw(st.integers(0, 30))
            simulated.append(task_of(**fields))
        masters[str(m)] = Master(tasks, policy, context_switch=switch)
        simulated_cores.append(core_of(policy, switch))
    bounds = offloaded(masters, {"2": "either", "3": "either"})
    every = [bound for core in bounds.values() for bound in core]
    if not all(bound.schedulable for bound in every):
        return
    system = _engine.SimSystem([*simulated_cores, core_of("worker"), core_of("worker")], [], simulated)
    for execution in ("worst", "edges"):
        result = _engine.sim_run(system, 2000, seed=seed, execution=execution, arrival="edges")
        for bound, task in zip(every, result["tasks"], strict=True):
            assert task["max_response"] is None or task["max_response"] <= (bound.response or 0), bound


@pytest.mark.parametrize("waiting", ["sleep", "spin"])
def test_waiting_is_a_choice(waiting: str) -> None:
    tasks = {
        "low": {"period": "1ms", "wcet": "10us", "on": "m4-0"},
        "ctl": {
            "period": "100us",
            "wcet": {"a7": {"offloaded": "20us"}},
            "on": "a7-0",
            "execution": "offloaded",
            "master": "m4-0",
            "dispatch": {"send": "2us", "receive": "1us"},
        },
    }
    found = by_name(response_times(describe(tasks=tasks), waiting=waiting))  # type: ignore[arg-type]
    assert found["ctl"].response == 23 * US
    # A master that keeps looking holds up what is below it for the whole wait.
    assert found["low"].response == (13 * US if waiting == "sleep" else 33 * US)


def test_the_age_of_what_a_let_channel_gives() -> None:
    tasks = {
        "writer": {"period": "4ms", "deadline": "3ms", "wcet": "1ms", "on": "m4-0", "writes": ["x"]},
        "reader": {"period": "10ms", "wcet": "2ms", "on": "a7-0", "reads": ["x"]},
    }
    channels = {"x": {"kind": "sporadic", "communication": "let"}}
    ages = {}
    for communication in ("let", "implicit"):
        channels["x"]["communication"] = communication
        system = describe(tasks=tasks, channels=channels)
        (age,) = [bound for bound in analyze_system(system) if bound.kind == "age when read"]
        assert sum(step.length for step in age.explanation) == age.response
        ages[communication] = age.response
    # A period, until it can be read (its deadline, or when it is written), and the reader's job.
    assert ages == {"let": (4 + 3 + 2) * 10**9, "implicit": (4 + 1 + 2) * 10**9}


@pytest.mark.parametrize(("service", "waits"), [("priority", 300), ("fifo", 600)])
def test_the_analysis_takes_the_service_of_the_worker(service: str, waits: int) -> None:
    """The most urgent request waits for one other job, the oldest for all others."""
    tasks = {
        f"t{i}": {
            "period": f"{10 + i}ms",
            "priority": 9 - i,
            "wcet": {"a7": {"offloaded": "300us"}},
            "on": "a7-0",
            "execution": "offloaded",
            "master": f"m4-{min(i, 1)}",
        }
        for i in range(3)
    }
    scheduling = {"a7-0": {"service": service}, "m4": {"wait": "sleep"}}
    found = by_name(response_times(describe(tasks=tasks, scheduling=scheduling)))
    assert found["t0"].response == (300 + waits) * US
    assert f"theorem {'9' if service == 'priority' else '10'}" in found["t0"].source


def test_a_task_of_no_length_where_its_master_computes_it_is_refused() -> None:
    """A run's configuration `local` would have no bound of it."""
    wcet = {"a7": "1ms", "m4": {"local": "0us"}}
    placed = {"on": "a7-0", "execution": "offloaded", "master": "m4-0", "on_miss": "hold-last-output"}
    with pytest.raises(
        BadDescription, match=r"tasks\.a\.wcet\.m4\.local: the wcet is 0; more than 0 is needed"
    ):
        describe(tasks={"a": {"period": "10ms", "wcet": wcet, **placed}})


def test_a_service_is_a_workers() -> None:
    tasks = {"a": {"period": "1ms", "wcet": "1us", "on": "m4-0"}}
    with pytest.raises(BadDescription, match="is not a worker"):
        describe(tasks=tasks, scheduling={"m4-0": {"service": "fifo"}})
