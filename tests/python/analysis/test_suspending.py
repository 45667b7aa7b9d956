# SPDX-License-Identifier: Apache-2.0
"""Jobs that suspend themselves give their core up, in the analysis as in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from consort import _engine
from consort.analysis.system import response_times
from consort.model import platform_from_data, system_from_data
from consort.model.channel import Wait
from consort.plan import plan
from consort.simulate.build import prepare
from suspending import PLATFORM, attack

US = 10**6


@pytest.mark.representative
def test_no_simulation_exceeds_the_bounds() -> None:
    results = [attack(seed) for seed in range(400)]
    assert sum(held for held, _, _ in results) > 300 and sum(reached for _, reached, _ in results) > 60
    assert sum(exceeded for _, _, exceeded in results) == 0


def system(tasks: dict[str, Any], **more: Any) -> Any:
    cores = {"c": {**PLATFORM["cores"]["c"], "context_switch": "5us"}, "w": PLATFORM["cores"]["w"]}
    platform = platform_from_data({**PLATFORM, "cores": cores})
    return system_from_data(
        {
            "consort": 1,
            "platform": "p.yaml",
            "assumed": "a test",
            "run": {"time_base": "spin"},
            "tasks": tasks,
            **more,
        },
        file=Path("s.yaml"),
        platform=platform,
    )


GIVEN_UP = {
    "hi": {
        "period": "100us",
        "priority": 3,
        "on": "c-0",
        "wcet": "10us",
        "self_suspension": "20us",
        "suspensions": 4,
    },
    "lo": {"period": "200us", "deadline": "85us", "priority": 1, "on": "c-0", "wcet": "30us"},
}


@pytest.mark.parametrize("waiting", [None, "spin", "sleep"])
def test_a_local_job_that_suspends_itself_gives_its_core_up(waiting: Wait | None) -> None:
    """Each of four suspensions switches the lower task in and out: 90 us, where the kept core gives 80."""
    made = plan(system(GIVEN_UP), "analysis")
    prepared = prepare(made, waiting=waiting)
    found = _engine.sim_run(prepared.engine, 10**12, seed=1, execution="worst", arrival="uniform")
    assert found["tasks"][1]["max_response"] == 90 * US
    low = response_times(made, waiting=waiting)[1]
    assert low.response is not None and low.response >= 90 * US and not low.schedulable
    assert any("others run meanwhile" in text for text in low.assumptions)


def test_a_core_that_spins_for_an_answer_is_still_given_up_by_who_suspends_itself() -> None:
    away = {
        "period": "1ms",
        "priority": 2,
        "on": "w-0",
        "master": "c-0",
        "execution": "offloaded",
        "wcet": "40us",
        "dispatch": {"send": "1us", "receive": "1us"},
    }
    memory = {f"away.{way}": {"memory": "free", "size": "8B"} for way in ("in", "out")}
    made = plan(
        system({**GIVEN_UP, "away": away}, channels=memory, scheduling={"c-0": {"wait": "spin"}}), "analysis"
    )
    low, other = response_times(made)[1:]
    assert any("others run meanwhile" in text for text in low.assumptions)
    assert any("kept while a job waits for an answer" in text for text in low.assumptions)
    for bound in (low, other):
        if bound.response is not None:
            last = bound.explanation[-1]
            assert last.start + last.length == bound.response


def test_a_three_phase_task_never_suspends_itself() -> None:
    tasks = {
        "t": {
            "period": "1ms",
            "wcet": "10us",
            "on": "c-0",
            "execution": "three-phase",
            "self_suspension": "1us",
            "footprint": {"code": "1KiB", "data": "1KiB"},
        }
    }
    platform = platform_from_data(
        {
            **PLATFORM,
            "cores": {"c": {**PLATFORM["cores"]["c"], "scratchpad": {"size": "64KiB"}}},
            "dmas": {"d": {"rate": "1GB/s", "setup": "1us"}},
        }
    )
    made = system_from_data(
        {
            "consort": 1,
            "platform": "p.yaml",
            "assumed": "a test",
            "run": {"time_base": "spin"},
            "tasks": tasks,
            "scheduling": {"c": {"policy": "three-phase", "slot": "auto"}},
        },
        file=Path("s.yaml"),
        platform=platform,
    )
    (bound,) = response_times(made)
    assert bound.response is None and "tasks.t.self_suspension" in bound.notes[0]
