# SPDX-License-Identifier: Apache-2.0
"""Exports to AMALTHEA come back the same, and their timing by AMALTHEA's own elements alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from consort.exchange.amalthea.exporter import export_amalthea
from consort.exchange.amalthea.importer import import_model
from consort.exchange.amalthea.model import Model
from consort.exchange.conventions import Report
from consort.exchange.trees import parse_xml
from consort.model import System, load_system, platform_from_data, system_from_data
from effort import examples
from hypothesis import given, settings
from systems import system_of, systems

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/system.yaml"))


def back(text: str, like: System) -> System:
    path = like.file.with_suffix(".amxmi")
    imported = import_model(Model([parse_xml(text.encode(), path)], Report()))
    assert imported.platform is not None and imported.system is not None
    platform = platform_from_data(imported.platform)
    return system_from_data(imported.system, file=like.file, platform=platform)


def same(first: System, second: System) -> None:
    data = [system.to_json() | {"platform": ""} for system in (first, second)]
    assert data[0] == data[1]
    assert list(first.tasks) == list(second.tasks)
    assert first.platform_description.to_json() == second.platform_description.to_json()


@settings(max_examples=examples(50))
@given(systems())
def test_round_trip(system: System) -> None:
    same(back(export_amalthea(system, Report()), system), system)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_round_trip_of_examples(path: Path) -> None:
    system = load_system(path)
    same(back(export_amalthea(system, Report()), system), system)


def timing(system: System) -> dict[str, Any]:
    """The tasks' timing that other tools can read."""
    return {
        name: (
            task.period, task.interval, task.deadline, task.offset, task.jitter, task.priority, task.on,
            task.distances,
            system.wcet(name), system.bcet(name), system.scheduling_of(task.on).policy,
        )
        for name, task in system.tasks.items()
    }  # fmt: skip


def without_extras(text: str) -> str:
    return re.sub(r"<customProperties.*?</customProperties>", "", text, flags=re.DOTALL)


def test_elements_alone_hold_the_timing() -> None:
    data = {
        "consort": 1,
        "platform": "board.yaml",
        "scheduling": {"rt-0": {"policy": "edf"}, "big-1": {"policy": "fixed-priority-non-preemptive"}},
        "tasks": {
            "a": {"period": "1ms", "deadline": "900us", "offset": "3us", "jitter": "7ns", "wcet": "12us",
                  "bcet": "4us", "priority": 9, "on": "big-0"},
            "b": {"min_interarrival": "5ms", "min_distances": ["5ms", "30ms"], "wcet": "20us",
                  "priority": -4, "on": "big-0"},
            "e": {"min_interarrival": "5ms", "burst": {"count": 20, "within": "300ms"}, "wcet": "20us",
                  "priority": -5, "on": "big-0"},
            "c": {"period": "10ms", "wcet": {"big": "2us", "little": "30us"}, "on": "rt-0"},
            "d": {"period": "20ms", "jitter": "50ms", "min_distances": ["1ms"], "wcet": "2us", "on": "big-1"},
        },
        "channels": {
            "x": {"kind": "sporadic", "from": "a", "to": ["b", "c"], "size": "96B", "memory": "ram"}
        },
        "chains": {"whole": {"path": ["a", "c"], "reaction": "30ms", "age": "40ms"}},
    }  # fmt: skip
    system = system_of(data)
    read = back(without_extras(export_amalthea(system, Report())), system)
    assert timing(read) == timing(system)
    assert read.channels == system.channels
    assert read.chains == system.chains


@settings(max_examples=examples(25))
@given(systems())
def test_elements_alone_never_understate_times(system: System) -> None:
    """If a time is not a whole number of cycles, the elements have the worse."""
    read = back(without_extras(export_amalthea(system, Report())), system)
    for name, task in system.tasks.items():
        other = read.tasks[name]
        wcet, bcet = read.wcet(name), read.bcet(name)
        own, best = system.wcet(name), system.bcet(name)
        assert wcet is not None and bcet is not None and own is not None and best is not None
        # A cycle of the slower clock is a nanosecond.
        assert own.value <= wcet.value <= own.value + 1000
        assert best.value - 1000 <= bcet.value <= best.value
        assert (other.interval, other.offset) == (task.interval, task.offset)
        # An arrival curve has no jitter: that of a sporadic task is among the extras.
        assert task.sporadic or other.jitter == task.jitter
        assert task.jitter.value or other.min_distances == task.min_distances


def test_model_edited_elsewhere_counts() -> None:
    data = {"consort": 1, "platform": "board.yaml",
            "tasks": {"a": {"period": "1ms", "wcet": "12us", "energy": "1uJ", "on": "big-0"}}}  # fmt: skip
    system = system_of(data)
    text = export_amalthea(system, Report())
    assert '<recurrence value="1" unit="ms"/>' in text
    read = back(
        text.replace('<recurrence value="1" unit="ms"/>', '<recurrence value="3" unit="ms"/>'), system
    )
    assert str(read.tasks["a"].period) == "3ms" and read.tasks["a"].energy is not None
