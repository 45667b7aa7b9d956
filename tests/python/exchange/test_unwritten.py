# SPDX-License-Identifier: Apache-2.0
"""Omissions of exports: each key of a description is written, or listed with the reason it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from consort.exchange.conventions import Report
from consort.exchange.exports import FORMS, SCHEDULING, SYSTEM, TASK, WRITTEN, Form, keys_of
from consort.exchange.formats import EXPORTS
from consort.model import System, load_platform, system_from_data
from consort.model.sharing import Scheduling
from consort.model.task import Task

HOST = Path(__file__).parents[3] / "platforms" / "linux-host.yaml"
Edit = Callable[[dict[str, Any]], None]


def test_the_table_has_every_key_of_a_description() -> None:
    assert set(SYSTEM) == set(keys_of(System))
    for form in FORMS:
        assert set(TASK[form]) == set(keys_of(Task)), form
        assert set(SCHEDULING[form]) == set(keys_of(Scheduling)), form


def described(**core: Any) -> System:
    tasks: dict[str, Any] = {
        "e": {"period": "10ms", "wcet": "2ms", "bcet": "1ms", "on": "master-0", "priority": 2},
        "f": {"period": "20ms", "wcet": "3ms", "on": "master-0", "priority": 1},
    }
    tasks["e"] |= core.pop("task", {})
    data = {"consort": 1, "assumed": "x", "platform": "linux-host", "tasks": tasks}
    if core:
        data["scheduling"] = {"master-0": core}
    return system_from_data(data, platform=load_platform(HOST))


def exported(form: str, system: System) -> tuple[str, Report]:
    report = Report()
    return EXPORTS[form](system, report), report


def said(report: Report, key: str) -> list[str]:
    groups = (report.left_out, report.changed)
    return [name for group in groups for (what, _), names in group.items() if what == key for name in names]


@pytest.mark.parametrize("form", ["sag", "rt-app"])
@pytest.mark.parametrize(
    ("key", "core"),
    [
        ("context_switch", {"context_switch": "100us", "policy": "fixed-priority-non-preemptive"}),
        ("cache_reload", {"cache_reload": {"value": "50us", "assumed": "x"}}),
    ],
)
def test_costs_of_a_core_that_are_in_no_job_are_listed(form: str, key: str, core: dict[str, Any]) -> None:
    assert said(exported(form, described(**core))[1], key) == ["master-0"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cache_reload", {"value": "50us", "assumed": "x"}),
        ("supply", {"kind": "tdma", "budget": "2ms", "period": "5ms"}),
    ],
)
def test_mast_has_switches_and_is_told_what_it_has_not(key: str, value: dict[str, Any]) -> None:
    text, report = exported("mast", described(context_switch="100us", **{key: value}))
    assert "Worst_Context_Switch => 100.0" in text and not said(report, "context_switch")
    assert report.left_out[key, "written without: bounds of MAST are too low"] == ["master-0"]


def test_no_thread_of_rt_app_keeps_its_cpu() -> None:
    _, report = exported("rt-app", described(policy="fixed-priority-non-preemptive"))
    assert said(report, "policy") == ["e", "f"]


# A change of a task for each key, where a task of this system can have one.
EDITS: dict[str, dict[str, Any]] = {
    "offset": {"offset": "1ms"},
    "jitter": {"jitter": "1ms"},
    "deadline": {"deadline": "9ms"},
    "priority": {"priority": 0},
    "bcet": {"bcet": "500us"},
    "min_distances": {"min_distances": ["9ms", "19500us"], "jitter": "1ms"},
    "burst": {"burst": {"count": 2, "within": "19500us"}, "jitter": "1ms"},
    "self_suspension": {"self_suspension": "1ms"},
    "energy": {"energy": "1mJ"},
    "footprint": {"footprint": {"code": "1KiB"}},
    "step": {"step": "stand-in"},
    "preemption_threshold": {"preemption_threshold": 5},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", EDITS)
def test_a_key_changes_the_file_or_is_listed(form: Form, key: str) -> None:
    plain, _ = exported(form, described())
    text, report = exported(form, described(task=EDITS[key]))
    assert text != plain or said(report, key), (form, key)
    if TASK[form][key] != WRITTEN:
        assert said(report, key) == ["e"]


def test_rt_app_is_told_what_becomes_of_a_missed_answer() -> None:
    """Only an offloaded task awaits one; MAST and job sets leave such a task out whole."""
    task = {"execution": "offloaded", "on": "worker-0", "master": "master-0", "on_miss": "stop"}
    assert said(exported("rt-app", described(task=task))[1], "on_miss") == ["e"]
