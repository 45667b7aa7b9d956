# SPDX-License-Identifier: Apache-2.0
"""Errors in accelerators, their clients and requests are reported, with their places."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from consort.model import BadDescription, System, system_from_data
from loops import for_each

RIGHT: dict[str, Any] = {
    "consort": 1,
    "platform": "embedded-plus",
    "accelerators": {
        "engine": {
            "on": "a72-1",
            "arbitration": "budget",
            "memory": "ddr",
            "operations": {"copy": {"wcet": "20us", "bcet": "10us", "request": "64B", "answer": "64B"}},
            "clients": {
                "one": {"priority": 2, "budget": "100us", "period": "1ms"},
                "two": {"priority": 1, "budget": "100us", "period": "1ms"},
            },
        }
    },
    "tasks": {
        "one": {
            "period": "1ms",
            "wcet": {"x86": "10us"},
            "on": "x86-0",
            "requests": [{"accelerator": "engine", "operation": "copy"}],
        },
        "two": {
            "period": "1ms",
            "wcet": {"r5f": "10us", "x86": "10us"},
            "on": "r5f-0",
            "requests": [{"accelerator": "engine", "operation": "copy", "times": 2}],
        },
    },
}
ENGINE = "accelerators.engine"


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    data = copy.deepcopy(RIGHT)
    for place, value in changes.items():
        *parts, last = place.split(".")
        inside: Any = data
        for part in parts:
            inside = inside.setdefault(part, {})
        if value is None:
            del inside[last]
        else:
            inside[last] = value
    return data


def read(data: dict[str, Any]) -> System:
    return system_from_data(data, file=Path("system.yaml"))


def test_what_is_right_is_read() -> None:
    made = read(RIGHT)
    assert made.cores() == ["x86-0", "r5f-0", "a72-1"]
    assert made.tasks["two"].requests[0].times == 2


def test_what_nobody_asks_for_goes_with_its_tasks() -> None:
    left = read(RIGHT).without(["two"])
    assert list(left.accelerators["engine"].clients) == ["one"]
    third = {"tasks.three": {"period": "1ms", "wcet": {"x86": "10us"}, "on": "x86-2"}}
    assert read(changed(third)).without(["one", "two"]).accelerators == {}


TWICE = [{"accelerator": "engine", "operation": "copy"}] * 2
ELSEWHERE = [{"accelerator": "engin", "operation": "copy"}]
OTHERWISE = [{"accelerator": "engine", "operation": "cpoy"}]
CASES: list[tuple[dict[str, Any], str]] = [
    ({f"{ENGINE}.on": "a72-9"}, f"{ENGINE}.on: 'a72-9' is not a core of platform embedded-plus"),
    ({f"{ENGINE}.on": "x86-0"}, f"{ENGINE}.on: 'x86-0' serves requests and does nothing else, and 'one'"),
    ({f"{ENGINE}.memory": "dd"}, f"{ENGINE}.memory: 'dd' is not a memory of platform embedded-plus"),
    ({f"{ENGINE}.arbitration": "fifo"}, f"{ENGINE}.arbitration: the text 'fifo' is not one of the values"),
    ({"scheduling.a72-1": {"policy": "edf"}}, "scheduling.a72-1: 'a72-1' serves the requests of 'engine'"),
    ({f"{ENGINE}.operations.copy.wcet": "0s"}, "copy.wcet: the wcet is 0; more than 0 is needed"),
    ({f"{ENGINE}.operations.copy.bcet": "30us"}, "copy.bcet: the bcet 30us is longer than the wcet 20us"),
    ({f"{ENGINE}.operations.copy.wcet": None}, "copy.bcet: an operation with a bcet needs a wcet"),
    ({f"{ENGINE}.operations.idle": {"wcet": "1us"}}, "operations.idle: no task asks for it"),
    ({f"{ENGINE}.clients.three": {"priority": 3}}, f"{ENGINE}.clients.three: 'three' is not a task"),
    ({f"{ENGINE}.clients.two": None}, "tasks.two.requests: 'engine' gives 'two' nothing"),
    ({"tasks.two.requests": None}, f"{ENGINE}.clients.two: 'two' asks 'engine' for nothing"),
    ({f"{ENGINE}.clients.two.priority": 2}, "clients.two.priority: 'one' has priority 2 too"),
    ({f"{ENGINE}.clients.two.budget": None}, "clients.two: budget gives each client a budget; add it"),
    ({f"{ENGINE}.clients.two.slot": "1ms"}, "clients.two.slot: budget arbitration has no slot"),
    ({f"{ENGINE}.clients.two.budget": "0s"}, "clients.two.budget: the budget is 0"),
    (
        {f"{ENGINE}.clients.two.budget": "2ms"},
        "clients.two.budget: the budget is longer than the period, 1ms",
    ),
    ({f"{ENGINE}.clients.two.budget": "15us"}, "clients.two.budget: 'copy' takes up to 20us, longer than"),
    ({"tasks.two.requests": TWICE}, "tasks.two.requests[1]: 'copy' of 'engine' stands twice"),
    ({"tasks.two.requests": ELSEWHERE}, "requests[0].accelerator: there is no accelerator 'engin'; did you"),
    ({"tasks.two.requests": OTHERWISE}, "requests[0].operation: 'engine' has no operation 'cpoy'; did you"),
    (
        {"tasks.two.execution": "offloaded", "tasks.two.master": "x86-1"},
        "tasks.two.requests: a job of offloaded execution asks no accelerator",
    ),
    (
        {"scheduling.r5f-0": {"supply": {"kind": "tdma", "budget": "1ms", "period": "2ms"}}},
        "tasks.two.requests: a job that waits has no bound on 'r5f-0', which has a supply",
    ),
    ({"modes.calm": {"tasks": ["one"]}}, "accelerators: what clients of accelerators are given is the same"),
    (
        {"resources.bus": {"protocol": "priority-ceiling"}, "tasks.two.sections": {"bus": {"length": "1us"}}},
        "tasks.two.sections: jobs of 'two' wait on 'r5f-0', where blocking is bounded of jobs",
    ),
    (
        {"scheduling.r5f-0": {"cache_reload": "1us"}},
        "scheduling.r5f-0.cache_reload: jobs of 'two' wait there, and what they load again then",
    ),
]


@for_each(("changes", "said"), CASES, ids=[said.partition(":")[0] for _, said in CASES])
def test_what_is_wrong_is_said_with_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadDescription) as caught:
        read(changed(changes))
    assert said in str(caught.value)
