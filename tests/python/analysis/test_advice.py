# SPDX-License-Identifier: Apache-2.0
"""Advice on what is not schedulable: each change that is named does, and what cannot help is not named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import free
import pytest
from consort.analysis.advice import Advice, advise
from consort.analysis.system import analyze_system
from consort.model import Platform, System, platform_from_data, system_from_data


def board(count: int, core: dict[str, Any], **parts: Any) -> Platform:
    """A platform of so many cores."""
    return platform_from_data(
        {
            "consort": 1,
            "name": "board",
            "processors": {"m4": {"isa": "armv7e-m"}},
            "cores": {"m4": {"processor": "m4", "count": count, **core}},
            "memories": {},
            **parts,
        }
    )


PLATFORM = board(2, free.NO_SWITCH)


def describe(platform: Platform = PLATFORM, **parts: Any) -> System:
    return system_from_data({"consort": 1, "platform": "board", **parts}, platform=platform)


def kinds(advice: Advice) -> dict[str, str]:
    return {change.kind: change.text for change in advice.changes}


def test_nothing_to_mend() -> None:
    assert advise(describe(tasks={"a": {"period": "10us", "wcet": "3us", "on": "m4-0"}})) == []


def test_each_change_that_mends_is_named() -> None:
    tasks = {
        "slow": {"period": "40us", "wcet": "10us", "on": "m4-0", "priority": 2},
        "fast": {"period": "10us", "wcet": "2us", "on": "m4-0", "priority": 1},
    }
    system = describe(tasks=tasks)
    (advice,) = advise(system)
    assert advice.bound.task == "fast" and advice.bound.slack == -2_000_000
    found = kinds(advice)
    assert found["priority"] == "make fast more urgent than slow"
    assert found["core"] == "place fast on m4-1"
    assert found["policy"] == "edf on m4-0 instead of fixed-priority"
    # 10 us of interference leave nothing to a deadline of 10 us.
    assert "wcet" not in found
    assert all(change.mends_all for change in advice.changes)
    text = "\n".join(advice.lines())
    assert "too late by 2us" in text and "priority: make fast" in text


def test_the_longest_execution_time_that_does() -> None:
    tasks = {
        "a": {"period": "10us", "wcet": "4us", "on": "m4-0"},
        "b": {"period": "20us", "wcet": "13us", "on": "m4-0"},
    }
    (advice,) = advise(describe(tasks=tasks))
    (text,) = [change.text for change in advice.changes if change.kind == "wcet"]
    longest = float(text.split(" to ")[1].split("us")[0])
    assert 11.99 < longest <= 12
    tasks["b"]["wcet"] = "12us"
    assert all(bound.schedulable for bound in analyze_system(describe(tasks=tasks)))


def test_a_change_that_breaks_another_bound_is_not_named() -> None:
    full = {"period": "10us", "wcet": "9us", "on": "m4-1"}
    tasks = {
        "a": {"period": "10us", "wcet": "6us", "on": "m4-0"},
        "b": {"period": "20us", "wcet": "10us", "on": "m4-0"},
        "c": full,
    }
    (advice,) = advise(describe(tasks=tasks))
    assert advice.bound.task == "b"
    # The other core is full, more urgent is what a then suffers from, and the core is asked for too much.
    assert set(kinds(advice)) == {"wcet"}


def test_a_chain_is_mended_through_its_tasks() -> None:
    tasks = {
        "read": {"period": "10us", "wcet": "1us", "on": "m4-0", "priority": 1},
        "heavy": {"period": "40us", "wcet": "8us", "on": "m4-0", "priority": 2},
        "act": {"period": "10us", "wcet": "1us", "on": "m4-1"},
    }
    chains = {"c": {"path": ["read", "act"], "reaction": "25us"}}
    channels = {"way": {"kind": "sporadic", "from": "read", "to": ["act"], "size": "8B"}}
    (advice,) = advise(describe(tasks=tasks, chains=chains, channels=channels))
    assert advice.bound.kind == "reaction time"
    assert kinds(advice)["priority"] == "make read more urgent than heavy"


def test_a_figure_that_nobody_gave_is_mended_by_no_change() -> None:
    tasks = {"a": {"period": "10us", "wcet": "3us", "on": "m4-0"}}
    (advice,) = advise(describe(board(1, {}), tasks=tasks))
    assert advice.lines() == [advice.bound.verdict()]


def test_a_task_of_another_master_at_the_same_worker_is_tried() -> None:
    away = {
        "period": "40ms",
        "execution": "offloaded",
        "on": "m4-0",
        "dispatch": {"send": "100us", "receive": "100us"},
    }
    tasks = {
        "a": {**away, "deadline": "6ms", "wcet": "1ms", "master": "m4-1"},
        "b": {**away, "wcet": "10ms", "master": "m4-2"},
    }
    platform = board(3, free.NO_SWITCH, memories={"free": free.MEMORY})
    (advice,) = advise(describe(platform, tasks=tasks, channels=free.channels(tasks)))
    assert advice.bound.task == "a" and advice.changes, "b executes for less"
    assert any("execution time of b" in change.text and change.mends_all for change in advice.changes)


def three_phase(
    loads: dict[tuple[str, str], str], period: str, *, deadlines: Mapping[str, str] = {}, **scheduling: Any
) -> System:
    """Tasks of 1 ms with these loads, each by its name and core; three cores share a DMA engine of 1 GB/s."""
    tasks = {
        name: {
            "period": period,
            "wcet": "1ms",
            "execution": "three-phase",
            "on": core,
            "footprint": {"code": load, "data": "0B"},
            "deadline": deadlines.get(name, period),
        }
        for (name, core), load in loads.items()
    }
    platform = board(
        3,
        {"scratchpad": {"size": "2MiB"}, **free.NO_SWITCH},
        dmas={"d": {"rate": "1GB/s", "setup": "0us", "assumed": "a test"}},
    )
    return describe(platform, tasks=tasks, scheduling=scheduling)


@pytest.mark.parametrize("arbitration", ["tdma", "round-robin"])
def test_a_slot_of_another_core_on_the_dma_is_tried(arbitration: str) -> None:
    policy = {"policy": "three-phase", "arbitration": arbitration}
    scheduling = {"m4-0": {**policy, "slot": "auto"}, "m4-1": {**policy, "slot": "5ms"}}
    (advice, *_) = advise(three_phase({("a", "m4-0"): "100kB", ("b", "m4-1"): "100kB"}, "10ms", **scheduling))
    assert advice.bound.task == "a"
    assert kinds(advice)["slot"] == "a slot on m4-1 that just fits its tasks (slot: auto)"


def test_the_other_arbitration_is_tried_for_all_cores_on_the_dma_at_once() -> None:
    """One engine has one arbitration; with either one some bounds are shorter."""
    policy = {"policy": "three-phase", "slot": "auto"}
    (advice,) = advise(three_phase({("a", "m4-0"): "100kB", ("b", "m4-1"): "1MB"}, "8ms", m4=policy))
    assert advice.bound.task == "b"
    assert kinds(advice)["arbitration"] == "arbitration round-robin for m4-0, m4-1"
    loads = {("a", "m4-0"): "900kB", ("b", "m4-1"): "50kB", ("c", "m4-1"): "10kB"}
    for given in ({}, {"slot": "auto"}):
        policy = {"policy": "three-phase", "arbitration": "round-robin", **given}
        (advice, *_) = advise(three_phase(loads, "8ms", deadlines={"b": "5400us"}, m4=policy))
        assert advice.bound.task == "b"
        assert kinds(advice)["arbitration"] == "arbitration tdma for m4-0, m4-1"


def test_a_change_that_is_refused_when_it_is_planned_is_not_named() -> None:
    """One engine has one arbitration: a core that would have another one gets no task."""
    policy = {"policy": "three-phase", "slot": "auto", "arbitration": "round-robin"}
    for there, named in ({}, "place a on m4-2"), ({"arbitration": "tdma"}, None):
        scheduling = {"m4-0": policy, "m4-1": policy, "m4-2": {**policy, **there}}
        loads = {("a", "m4-0"): "100kB", ("b", "m4-0"): "100kB", ("c", "m4-1"): "100kB"}
        (advice, *_) = advise(three_phase(loads, "2700us", **scheduling))
        assert advice.bound.task == "a" and kinds(advice).get("core") == named


def emulated(folder: Path, policy: str, slow: str, deadline: str) -> System:
    """Three tasks with steps on a core of the versal, whose emulator has no timer interrupt for it."""
    (folder / "step.hpp").touch()
    here = {"on": "r5f-0", "step": "step.hpp::one::step"}
    tasks: dict[str, dict[str, Any]] = {
        "fast": {"period": "10us", "wcet": "3us", **here},
        "middle": {"period": "30us", "wcet": "3us", **here, "deadline": "25us"},
        "slow": {"period": "30us", "wcet": slow, **here, "deadline": deadline},
    }
    if policy != "edf":
        for priority, name in enumerate(reversed(tasks)):
            tasks[name]["priority"] = priority
    platform = {
        "consort": 1,
        "name": "versal",
        "processors": {"r5f": {"isa": "armv7-r"}},
        "cores": {"r5f": {"processor": "r5f", "count": 2, **free.NO_SWITCH}},
        "emulation": {"cores": {"r5f-0": "r5f", "r5f-1": "r5f-1"}},
    }
    data = {"consort": 1, "platform": "versal", "tasks": tasks, "scheduling": {"r5f-0": {"policy": policy}}}
    return system_from_data(data, file=folder / "system.yaml", platform=platform_from_data(platform))


@pytest.mark.parametrize(
    ("policy", "slow", "deadline", "named"),
    [
        ("fixed-priority", "5us", "12us", "fixed-priority-non-preemptive on r5f-0 instead of fixed-priority"),
        # Preempted by the fast one it would hold.
        ("fixed-priority-non-preemptive", "7500ns", "20us", None),
    ],
)
def test_no_policy_is_named_that_an_emulated_core_does_not_have(
    tmp_path: Path, policy: str, slow: str, deadline: str, named: str | None
) -> None:
    assert all(bound.schedulable for bound in analyze_system(emulated(tmp_path, "edf", slow, deadline)))
    (advice,) = advise(emulated(tmp_path, policy, slow, deadline))
    assert advice.complete and kinds(advice).get("policy") == named
    assert kinds(advice)["core"].endswith("on r5f-1")
