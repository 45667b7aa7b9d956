# SPDX-License-Identifier: Apache-2.0
"""Three-phase cores of a description: slots, shares, and what lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from consort.analysis.lacking import held
from consort.analysis.system import response_times
from consort.analysis.three_phase import NotAnalysable, bound_three_phase, core_of, slot_of
from consort.base.errors import Held
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.plan import plan

US = 10**6


def description(**changes: Any) -> dict[str, Any]:
    task = {"on": "app-0", "execution": "three-phase"}
    data: dict[str, Any] = {
        "consort": 1,
        "platform": "mpc5777m",
        "scheduling": {"app": {"policy": "three-phase", "slot": "auto"}},
        "tasks": {
            "canrdr": {
                **task,
                "period": "20ms",
                "wcet": {"e200z710": "1009us"},
                "footprint": {"code": "1562B", "data": "12440B"},
            },
            "ttsprk": {
                **task,
                "period": "10ms",
                "wcet": {"e200z710": "383us"},
                "footprint": {"code": "4772B", "data": "8160B"},
            },
            "idct": {
                **task,
                "on": "app-1",
                "period": "50ms",
                "wcet": {"e200z710": "1045us"},
                "footprint": {"code": "4690B", "data": "244B"},
            },
        },
    }
    for path, value in changes.items():
        *where, last = path.split("__")
        at = data
        for key in where:
            at = at[key]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return data


TIMED: dict[str, Any] = {
    "consort": 1,
    "name": "timed",
    "processors": {"p": {"isa": "powerpc"}},
    "cores": {
        "app": {
            "processor": "p",
            "count": 2,
            "context_switch": "0us",
            "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
            "scratchpad": {"size": "1MiB"},
        }
    },
    "dmas": {
        "d": {"setup": "1us", "rate": "100MB/s", "transfers": {"seen": {"size": "4KiB", "time": "900us"}}}
    },
}


def test_no_transfer_is_shorter_than_a_timed_one_of_as_many_bytes() -> None:
    task = {"on": "app-0", "execution": "three-phase", "period": "9ms", "wcet": "300us"}
    scheduling = {"app": {"policy": "three-phase", "slot": "auto"}}
    where = platform_from_data(TIMED)
    for code, expected in (("4KiB", 900 * US), ("4095B", 41_950_000), ("200000B", 2001 * US)):
        tasks = {"a": {**task, "footprint": {"code": code}}}
        given = {"consort": 1, "platform": "timed", "scheduling": scheduling, "tasks": tasks}
        system = system_from_data(given, platform=where)
        assert slot_of(system, "app-0").length_ps == expected, code


def test_only_scratchpads_of_two_partitions_execute_three_phase_tasks() -> None:
    tasks = {"a": {"on": "app-0", "execution": "three-phase", "period": "9ms", "footprint": {"code": "1KiB"}}}
    given = {"consort": 1, "platform": "timed", "tasks": tasks}
    given |= {"scheduling": {"app": {"policy": "three-phase", "slot": "auto"}}}
    for partitions in (1, 2, 4):
        scratchpad = {"size": "1MiB", "partitions": partitions}
        where = platform_from_data(
            TIMED | {"cores": {"app": {**TIMED["cores"]["app"], "scratchpad": scratchpad}}}
        )
        if partitions == 2:
            system_from_data(given, platform=where)
            continue
        with pytest.raises(BadDescription, match=f"tasks.a.on: 'app-0' has 'partitions: {partitions}'"):
            system_from_data(given, platform=where)


def test_slot_fits_the_largest_footprint_of_each_core():
    """Table IV: 40 KiB in 432 us, 3.16 us of set-up."""
    system = system_from_data(description())
    assert slot_of(system, "app-0").length_ps == pytest.approx((14002 / 40960 * 432 + 3.16) * US, rel=1e-4)
    core = core_of(system, "app-0")
    assert core.share.round == slot_of(system, "app-0").length_ps + slot_of(system, "app-1").length_ps
    assert [t.name for t in core.tasks] == ["ttsprk", "canrdr"]
    # Two context switches of 0.46 us.
    assert core.tasks[0].execution == pytest.approx(383.92 * US)


def test_bounds_are_met_and_name_their_core():
    found = bound_three_phase(system_from_data(description()), "app-0")
    assert [b.task for b in found] == ["ttsprk", "canrdr"]
    assert all(b.schedulable and b.core == "app-0" for b in found)


def test_given_slot_and_round_robin():
    tdma = system_from_data(description(scheduling__app__slot="432us"))
    assert core_of(tdma, "app-0").share.round == 864 * US
    turns = system_from_data(
        description(scheduling__app={"policy": "three-phase", "arbitration": "round-robin"})
    )
    core = core_of(turns, "app-1")
    assert core.method == "round-robin" and core.tasks[0].load == core.share.slot
    slow, fast = (bound_three_phase(s, "app-0")[0].response for s in (tdma, turns))
    assert slow is not None and fast is not None and fast < slow


def test_jitter_lengthens_the_bound():
    punctual, late = (
        bound_three_phase(system_from_data(description(**changes)), "app-0")
        for changes in ({}, {"tasks__canrdr__jitter": "1us"})
    )
    assert [b.response - a.response for a, b in zip(punctual, late, strict=True)] == [0, US]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tasks__canrdr__footprint": None}, r"tasks.canrdr.footprint.: write it"),
        ({"tasks__canrdr__deadline": "25ms"}, "takes no deadline above the period"),
    ],
)
def test_what_lacks_is_named(changes, words):
    with pytest.raises(NotAnalysable, match=words):
        bound_three_phase(system_from_data(description(**changes)), "app-0")


DMA = {"rate": "1GB/s", "setup": "1us", "assumed": "a test"}


def on(dmas: dict[str, Any], **task: Any) -> System:
    """A three-phase task of a core whose slot is given, on a platform with those DMA engines."""
    core = {
        "processor": "p",
        "count": 2,
        "context_switch": "0ps",
        "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
        "scratchpad": {"size": "256KiB"},
    }
    platform = platform_from_data(
        {
            "consort": 1,
            "name": "p",
            "processors": {"p": {"isa": "other"}},
            "cores": {"c": core},
            "dmas": dmas,
        }
    )
    footprint = {"code": "64KiB", "data": "1KiB"}
    given = {"period": "10ms", "wcet": "10us", "on": "c-0", "execution": "three-phase"}
    return system_from_data(
        {
            "consort": 1,
            "platform": "p.yaml",
            "assumed": "a test",
            "scheduling": {"c": {"policy": "three-phase", "slot": task.pop("slot", "100us")}},
            "tasks": {"a": {k: v for k, v in ({**given, "footprint": footprint} | task).items() if v}},
        },
        file=Path("s.yaml"),
        platform=platform,
    )


@pytest.mark.parametrize(
    ("dmas", "task", "missing"),
    [
        ({"d": DMA}, {"footprint": None}, "tasks.a.footprint"),
        ({"d": DMA}, {"footprint": {"stack": "1KiB"}}, "tasks.a.footprint.code"),
        ({}, {}, "dmas"),
        ({}, {"slot": "1ns"}, "dmas"),
        ({"d": {"rate": "1GB/s"}}, {}, "dmas.d.setup"),
        ({"d": DMA, "e": {"setup": "1us"}}, {}, "dmas.e.rate"),
    ],
)
def test_a_slot_that_is_given_is_no_bound_without_what_it_carries(dmas, task, missing):
    (bound,) = response_times(on(dmas, **task))
    assert (bound.response, bound.missing) == (None, (missing,))


@pytest.mark.parametrize("arbitration", ["tdma", "round-robin"])
@pytest.mark.parametrize(
    ("lacks", "missing"),
    [({"footprint": None}, "tasks.a.footprint"), ({"footprint": {"data": "1KiB"}}, "tasks.a.footprint.code")],
)
def test_a_slot_that_cannot_be_found_names_the_figure_for_every_core(arbitration, lacks, missing):
    """Each core waits for the slot of the other: neither has a bound, and only the figure would tell."""
    given = {"period": "10ms", "wcet": "10us", "execution": "three-phase"}
    system = on({"d": DMA})
    tasks = {
        "a": {k: v for k, v in ({**given, "on": "c-0"} | lacks).items() if v},
        "b": {**given, "on": "c-1", "footprint": {"code": "64KiB", "data": "1KiB"}},
    }
    system = system_from_data(
        {
            "consort": 1,
            "platform": "p.yaml",
            "assumed": "a test",
            "scheduling": {"c": {"policy": "three-phase", "slot": "auto", "arbitration": arbitration}},
            "tasks": tasks,
        },
        file=Path("s.yaml"),
        platform=system.platform_description,
    )
    bounds = response_times(system)
    assert [(bound.response, bound.missing) for bound in bounds] == [(None, (missing,))] * 2
    assert held(system, bounds) is Held.UNDECIDED


def test_any_of_several_dma_engines_may_move_a_task():
    """64 KiB and 1 KiB at 1 GB/s and the setup are 67.56 us; at half of that no slot of 100 us has room."""
    slow = DMA | {"rate": "500MB/s"}
    (bound,) = response_times(on({"d": DMA, "e": DMA}))
    assert bound.schedulable and {used.place for used in bound.figures} >= {"dmas.d.rate", "dmas.e.setup"}
    with pytest.raises(BadDescription, match="longer than the slot 100us"):
        on({"d": DMA, "e": slow})


def test_a_round_above_the_range_of_the_engine_has_no_bound():
    (bound,) = response_times(on({"d": DMA}, slot="2000.000000000001s"))
    assert bound.response is None and "2^50" in bound.notes[0]


@pytest.mark.parametrize("part", ["code", "data", "inputs", "outputs"])
def test_a_step_has_no_part_of_no_bytes_that_nobody_counted(tmp_path: Path, part: str) -> None:
    """A run takes the sizes of its types from the compiler; its loads are longer than those of no data."""
    (tmp_path / "step.hpp").write_text("", encoding="utf-8")
    sizes = {"code": "4KiB", "data": "1KiB", "inputs": "64B", "outputs": "64B"}
    task = {"on": "app-0", "execution": "three-phase", "period": "9ms", "wcet": "300us"}
    where, found = platform_from_data(TIMED), {}
    for step in (None, "step.hpp::step"):
        for footprint in (sizes, {key: size for key, size in sizes.items() if key != part}):
            tasks = {"a": {**task, "footprint": footprint, **({} if step is None else {"step": step})}}
            given = {"consort": 1, "platform": "timed", "tasks": tasks}
            given |= {"scheduling": {"app": {"policy": "three-phase", "slot": "3ms"}}}
            system = system_from_data(given, file=tmp_path / "system.yaml", platform=where)
            (bound,) = response_times(plan(system, "analysis"))
            found[step, len(footprint)] = bound.missing
    missing = (f"tasks.a.footprint.{part}",)
    assert found["step.hpp::step", 4] == () and found["step.hpp::step", 3] == missing
    # A model of code and data alone, as papers have it, says all that it has.
    assert found[None, 3] == (missing if part == "code" else ())
