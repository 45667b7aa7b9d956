# SPDX-License-Identifier: Apache-2.0
"""States of tasks in remote memory: their faults in the bounds, and what has no bound or is refused."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from consort.analysis.system import analyze_system, response_times
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.plan import plan
from consort.plan.show import text_of
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds
from effort import THOROUGH

US = 10**6
FAULT: dict[str, Any] = {"page": {"value": "20us", "measured": "a run"}, "further": "1us"}
FAR: dict[str, Any] = {"memory": "far", "faults": 3, "counted": "its pages"}


def board(fault: Any = FAULT, switch: str = "1us") -> Any:
    far = {"kind": "remote", "size": "1MiB"} | ({} if fault is None else {"fault": fault})
    return platform_from_data(
        {
            "consort": 1,
            "name": "board",
            "processors": {"a": {"isa": "aarch64"}},
            "cores": {
                "a": {
                    "processor": "a",
                    "count": 2,
                    "context_switch": switch,
                    "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
                }
            },
            "memories": {"far": far, "near": {"kind": "ddr"}},
        }
    )


def described(
    low: Any = FAR, high: Any = None, platform: Any = None, scheduling: Any = None, **parts: Any
) -> System:
    tasks: dict[str, Any] = {
        "high": {"period": "100us", "wcet": "10us", "on": "a-0", "priority": 2},
        "low": {"period": "1ms", "wcet": "50us", "on": "a-0", "priority": 1},
    }
    for name, state in (("high", high), ("low", low)):
        if state is not None:
            tasks[name]["remote_state"] = state
    data = {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": scheduling or {}, **parts}
    return system_from_data(data, platform=platform or board())


def test_faults_are_in_the_bound() -> None:
    bounds = response_times(described())
    # A fault and three switches, three times; two switches of each job, and two jobs of 'high' before it.
    execution = 50 + 3 * (20 + 3 * 1) + 2
    assert [bound.response for bound in bounds] == [13 * US, (execution + 2 * 12) * US]
    for bound in bounds:
        assert "theorem 32" in bound.source and "theorem 1 " in bound.source
        assert any(
            "at most 3 faults on its state in far, each of at most 20us" in a for a in bound.assumptions
        )
    used = {one.place: one for one in bounds[1].figures}
    assert (used["memories.far.fault.page"].kind, used["memories.far.fault.page"].value) == (
        "measured",
        "20us",
    )
    assert (used["tasks.low.remote_state.faults"].kind, used["tasks.low.remote_state.faults"].value) == (
        "counted",
        "3",
    )


def test_further_pages_of_a_fault_count() -> None:
    alone, many = (response_times(described(FAR | {"prefetch": pages}))[1].response for pages in (1, 8))
    assert alone is not None and many is not None
    assert many - alone == 3 * 7 * US


@pytest.mark.parametrize(
    ("state", "fault", "missing"),
    [
        ({"memory": "far"}, FAULT, "tasks.low.remote_state.faults"),
        (FAR, None, "memories.far.fault.page"),
        (FAR | {"prefetch": 2}, {"page": "20us"}, "memories.far.fault.further"),
    ],
)
def test_without_a_figure_there_is_no_bound(state: Any, fault: Any, missing: str) -> None:
    for bound in response_times(described(state, platform=board(fault))):
        assert bound.response is None and not bound.schedulable and bound.missing == (missing,)
        assert "a run records how many there were and the longest" in bound.notes[0]


def test_a_job_that_may_wait_gives_its_core_up_in_a_chain() -> None:
    channel = {"kind": "sporadic", "from": "high", "to": ["low"], "size": "8B"}
    parts: dict[str, Any] = {"chains": {"way": {"path": ["high", "low"]}}, "channels": {"through": channel}}
    bounds = [
        next(b.response for b in analyze_system(described(None, high, **parts)) if b.kind == "reaction time")
        for high in (None, {"memory": "far", "faults": 0})
    ]
    # By its response time and not by its jitter.
    assert bounds[0] is not None and bounds[1] is not None and bounds[1] - bounds[0] == 13 * US


def test_offsets_are_not_made_use_of() -> None:
    system = described()
    later = system.tasks["low"].model_copy(update={"offset": type(system.tasks["low"].period).parse("50us")})
    moved = system.model_copy(update={"tasks": system.tasks | {"low": later}})
    assert [b.response for b in response_times(moved)] == [b.response for b in response_times(system)]


def test_the_plan_says_it() -> None:
    assert "state in far, 1MiB of it here, pages in runs of 4, at most 3 faults a job" in " ".join(
        text_of(plan(described(FAR | {"prefetch": 4}), "analysis")).split()
    )


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"low": FAR | {"memory": "near"}}, "'near' is of kind ddr, and what lies there needs no paging"),
        ({"low": FAR | {"memory": "fat"}}, "did you mean 'far'"),
        ({"low": FAR | {"cache": "64KiB"}}, "below 1MiB, or no multiple of 4KiB"),
        ({"scheduling": {"a-0": {"cache_reload": "1us"}}}, "no bound beside 'cache_reload' of 'a-0'"),
        (
            {"scheduling": {"a-0": {"supply": {"kind": "tdma", "budget": "1ms", "period": "2ms"}}}},
            "no bound beside 'supply' of 'a-0'",
        ),
    ],
)
def test_what_cannot_be_is_refused(parts: Any, words: str) -> None:
    with pytest.raises(BadDescription, match=words):
        described(**parts)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"self_suspension": "1us"}, "has 'self_suspension'"),
        ({"preemption_threshold": 2}, "has 'preemption_threshold'"),
        ({"requests": [{"accelerator": "engine", "operation": "blur"}]}, "has 'requests'"),
        ({"execution": "offloaded", "on": "a-1", "master": "a-0"}, "is offloaded from there"),
    ],
)
def test_jobs_of_the_core_wait_for_nothing_else(other: Any, words: str) -> None:
    tasks: dict[str, Any] = {
        "other": {"period": "1ms", "wcet": "1us", "on": "a-0", "priority": 2, **other},
        "low": {"period": "1ms", "wcet": "5us", "on": "a-0", "priority": 1, "remote_state": FAR},
    }
    with pytest.raises(BadDescription, match=words):
        system_from_data({"consort": 1, "platform": "board", "tasks": tasks}, platform=board())


def test_an_offloaded_task_has_no_such_state() -> None:
    task = {"period": "1ms", "wcet": "1us", "on": "a-1", "master": "a-0", "execution": "offloaded"}
    data = {"consort": 1, "platform": "board", "tasks": {"one": task | {"remote_state": FAR}}}
    with pytest.raises(BadDescription, match="goes with its jobs, and is not paged"):
        system_from_data(data, platform=board())


def test_a_simulation_has_no_pages() -> None:
    with pytest.raises(BadDescription, match=r"tasks\.low\.remote_state: a simulation has no pages"):
        prepare(described())


def attack(seed: int) -> int:
    """A random system, whose jobs suspend themselves in the simulation where they have faults in the bound;
    the largest response in parts of a thousand of its bound."""
    draw = Random(seed)
    names = ["one", "two", "three"][: draw.randint(2, 3)]
    paged: dict[str, Any] = {}
    waiting: dict[str, Any] = {}
    policy = draw.choice(["fixed-priority", "fixed-priority-non-preemptive", "edf"])
    for rank, name in enumerate(names):
        period = draw.choice([100, 150, 200, 400])
        task: dict[str, Any] = {"period": f"{period}us", "wcet": f"{draw.randint(1, 25)}us", "on": "a-0"}
        if policy != "edf":
            task["priority"] = 9 - rank
        paged[name], waiting[name] = dict(task), dict(task)
        faults = draw.randint(0, 2)
        if faults:
            paged[name]["remote_state"] = FAR | {"faults": faults}
            # On a non-preemptive core the thread waits with its job: that is execution.
            if policy == "fixed-priority-non-preemptive":
                waiting[name]["wcet"] = f"{int(task['wcet'][:-2]) + 20 * faults}us"
            else:
                waiting[name] |= {"self_suspension": f"{20 * faults}us", "suspensions": faults}
    switch = draw.choice(["0us", "1us"])
    platform = board(switch=switch)
    made = [
        system_from_data(
            {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": {"a-0": {"policy": policy}}},
            platform=platform,
        )
        for tasks in (paged, waiting)
    ]
    bounds = response_times(made[0])
    found = simulate_against_bounds(prepare(made[1]), bounds, 4_000 * US, seed, runs=2)
    return max(
        (1000 * (found.figures[b.task].max_response or 0) // b.response for b in bounds if b.schedulable),
        default=0,
    )


@pytest.mark.representative
def test_no_simulation_exceeds_the_bound() -> None:
    shares = [attack(seed) for seed in range(4_000 if THOROUGH else 120)]
    # Some come close: the bound is not one that nothing could exceed.
    assert max(shares) > 900
