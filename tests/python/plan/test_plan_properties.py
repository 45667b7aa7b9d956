# SPDX-License-Identifier: Apache-2.0
"""Properties of every plan, and its equal meaning to analysis, simulation and a machine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import free
import pytest
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.model import System, load_system, platform_from_data, system_from_data
from consort.plan import Plan, plan
from consort.plan.image import restored, stored
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"
PLATFORM = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m": {"isa": "armv7e-m"}},
        "cores": {
            "m": {"processor": "m", "count": 3, **free.NO_SWITCH},
            "w": {"processor": "m", "count": 2, **free.NO_SWITCH},
            "spm": {"processor": "m", "count": 2, **free.NO_SWITCH, "scratchpad": {"size": "64KiB"}},
        },
        "memories": {"shm": {"kind": "sram"}, "free": free.MEMORY},
        "exchanges": free.signals("m"),
        "dmas": {"edma": {"setup": "1us", "rate": "1GB/s"}},
    }
)
POLICIES = ("fixed-priority", "fixed-priority-non-preemptive", "edf")


@st.composite
def systems(draw: st.DrawFn) -> System:
    """Masters and workers, local and three-phase tasks; with priorities on all cores, or by deadline."""
    count = draw(st.integers(1, 9))
    by_priority = draw(st.booleans())
    order = draw(st.permutations(range(count)))
    tasks: dict[str, Any] = {}
    for number in range(count):
        kind = draw(st.sampled_from(["local", "offloaded", "three-phase"]))
        period = draw(st.sampled_from([1, 2, 5, 10]))
        task: dict[str, Any] = {"wcet": "20us", "execution": kind}
        task["period"] = f"{period}ms"
        task["deadline"] = f"{draw(st.integers(500, period * 1000))}us"
        if draw(st.booleans()) and kind != "three-phase":
            task["min_interarrival"] = task.pop("period")
        if kind == "local":
            task["on"] = f"m-{draw(st.integers(0, 2))}"
        elif kind == "offloaded":
            task |= {"on": f"w-{draw(st.integers(0, 1))}", "master": f"m-{draw(st.integers(0, 2))}"}
            task["on_miss"] = "hold-last-output"
        else:
            task["on"] = f"spm-{draw(st.integers(0, 1))}"
            task["footprint"] = {"code": f"{draw(st.integers(1, 8))}KiB", "data": "1KiB"}
        if by_priority:
            shared = kind == "local" and draw(st.booleans())
            task["priority"] = -draw(st.integers(1, 2)) if shared else order[number]
        tasks[f"t{number}"] = task
    scheduling: dict[str, Any] = {"spm": {"policy": "three-phase", "slot": "auto"}}
    for core in range(3):
        policy = draw(st.sampled_from(POLICIES[: 2 if by_priority else 3]))
        scheduling[f"m-{core}"] = {"policy": policy}
        own = [task for task in tasks.values() if f"m-{core}" in (task.get("master"), task["on"])]
        if any("master" in task for task in own):
            # On Linux a core of one thread that sleeps serves no other job; it is refused.
            one_thread = {"fixed-priority-non-preemptive": len(own) > 1, "edf": len(own) > 2}
            waits = ["spin"] if one_thread.get(policy) else ["spin", "sleep"]
            scheduling[f"m-{core}"]["wait"] = draw(st.sampled_from(waits))
    described = {
        "consort": 1,
        "platform": "board",
        "tasks": tasks,
        "scheduling": scheduling,
        "channels": free.channels(tasks),
    }
    return system_from_data(described, platform=PLATFORM)


@pytest.mark.representative
@settings(max_examples=150, deadline=None)
@given(systems())
def test_every_plan_is_whole(system: System) -> None:
    made = plan(system, "linux", stand_ins=True)
    assert sorted(name for core in made.cores.values() for name in core.tasks) == sorted(system.tasks)
    served = [name for core in made.cores.values() for name in core.serves]
    assert sorted(served) == sorted(n for n, t in system.tasks.items() if t.execution == "offloaded")
    for core in made.cores.values():
        urgencies = system.priorities(core.name)
        for names, ranks in (
            (core.tasks, [made.tasks[name].rank for name in core.tasks]),
            (core.serves, [made.tasks[name].worker_rank for name in core.serves]),
        ):
            if core.policy == "edf":
                urgencies = {name: -place for place, name in enumerate(names)}
            levels = sorted({urgencies[name] for name in names}, reverse=True)
            assert ranks == [levels.index(urgencies[name]) for name in names]
            assert [urgencies[name] for name in names] == sorted((urgencies[n] for n in names), reverse=True)
    at = 0
    for name in made.three_phase_cores:
        slot = made.cores[name].slot
        assert slot is not None
        assert slot.phase_ps == at
        at += slot.length_ps
        for task in made.cores[name].tasks:
            footprint = made.tasks[task].footprint
            assert footprint is not None and footprint.load_ps is not None and footprint.unload_ps is not None
            assert max(footprint.load_ps, footprint.unload_ps) <= slot.length_ps
    assert all(made.cores[name].slot.round_ps == at for name in made.three_phase_cores)  # type: ignore[union-attr]


def alike(one: System | Plan, other: System | Plan) -> None:
    assert analyze_system(one) == analyze_system(other)
    seen = [simulate(prepare(subject), 20 * 10**9).figures for subject in (one, other)]
    assert seen[0] == seen[1]


@settings(max_examples=40, deadline=None)
@given(systems())
def test_a_plan_for_a_machine_means_what_its_analysis_means(system: System) -> None:
    alike(system, plan(system, "linux", stand_ins=True))


@pytest.mark.parametrize("mode", [None, "parked", "limp-home"])
def test_the_vehicle_means_the_same_to_all(mode: str | None) -> None:
    system = load_system(VEHICLE)
    alike(plan(system, "analysis", mode=mode), plan(system, "linux", mode=mode, stand_ins=True))
    if mode is not None:
        alike(system.in_mode(mode), plan(system, "virtual", mode=mode, stand_ins=True))


def again(made: Plan) -> Plan:
    return restored(json.loads(json.dumps(stored(made), allow_nan=False)))


@settings(max_examples=60, deadline=None)
@given(systems(), st.sampled_from(["analysis", "linux", "virtual"]))
def test_a_stored_plan_is_the_same_plan(system: System, target: str) -> None:
    made = plan(system, target, stand_ins=True)
    assert again(made) == made


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*/system.yaml")), ids=str)
def test_a_stored_plan_of_an_example_is_the_same_plan(example: Path) -> None:
    system = load_system(example)
    for mode in (None, *system.modes):
        made = plan(system, "analysis", mode=mode)
        found = again(made)
        assert found == made
        # Equality takes a default and the same value written down for one, and the plan's figures do not.
        assert found.to_json() == made.to_json()
        assert found.platform.figures() == made.platform.figures()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"form": 1}, "recorded by another version: the plan's form is 1, this version reads 2; record"),
        ({"form": None}, "recorded by another version: the plan's form is None"),
        ({"tasks": 5}, "tasks: the plan is damaged: Input should be"),
        ({"platform": {}}, "platform.consort: the plan is damaged: Field required"),
        ({"figures": {"a": ["nothing", None]}}, "the plan is damaged: "),
        ({"figures": None}, "the plan is damaged: "),
    ],
)
def test_what_is_no_stored_plan_is_refused(change: dict[str, Any], says: str) -> None:
    data = stored(plan(load_system(VEHICLE), "analysis"))
    with pytest.raises(BadInput, match=re.escape(says)) as caught:
        restored({**data, **change}, file="plan.json")
    assert str(caught.value).startswith("plan.json: ")
