# SPDX-License-Identifier: Apache-2.0
"""MAST text, held against the part of MAST's grammar that an exporter needs, and against the system."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.mast import export_mast
from consort.model import System
from effort import examples
from hypothesis import given, settings
from systems import system_of, systems

TOKEN = re.compile(
    r'\s+|--[^\n]*|(?P<token>=>|[(),;]|"[a-zA-Z][a-zA-Z0-9_.]*"|[A-Za-z_]+|-?[0-9]+(\.[0-9]+)?)'
)
NUMBER, NAME, LIST = "number", "name", "list"
# Each kind of object's keys, as MAST's mast_parser.y has them: the type first, the name next.
OBJECTS = {
    ("processing_resource", "regular_processor"): {"name": NAME},
    ("scheduler", "primary_scheduler"): {"name": NAME, "host": NAME, "policy": LIST},
    ("policy", "fixed_priority"): {
        "max_priority": NUMBER, "min_priority": NUMBER, "worst_context_switch": NUMBER,
    },
    ("policy", "edf"): {"worst_context_switch": NUMBER},
    ("scheduling_server", "regular"): {"name": NAME, "server_sched_parameters": LIST, "scheduler": NAME},
    ("server_sched_parameters", "fixed_priority_policy"): {"the_priority": NUMBER, "preassigned": "yes"},
    ("server_sched_parameters", "non_preemptible_fp_policy"): {"the_priority": NUMBER, "preassigned": "yes"},
    ("server_sched_parameters", "edf_policy"): {"deadline": NUMBER, "preassigned": "yes"},
    ("operation", "simple"): {
        "name": NAME, "worst_case_execution_time": NUMBER, "best_case_execution_time": NUMBER,
    },
    ("transaction", "regular"): {
        "name": NAME, "external_events": LIST, "internal_events": LIST, "event_handlers": LIST,
    },
    ("external_events", "periodic"): {"name": NAME, "period": NUMBER, "max_jitter": NUMBER, "phase": NUMBER},
    ("external_events", "sporadic"): {"name": NAME, "min_interarrival": NUMBER},
    ("internal_events", "regular"): {"name": NAME, "timing_requirements": LIST},
    ("timing_requirements", "hard_global_deadline"): {"deadline": NUMBER, "referenced_event": NAME},
    ("event_handlers", "activity"): {
        "input_event": NAME, "output_event": NAME, "activity_operation": NAME, "activity_server": NAME,
    },
}  # fmt: skip
# Those whose value is a list of objects, not one.
LISTS = ("external_events", "internal_events", "event_handlers")


class Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while place < len(text):
            found = TOKEN.match(text, place)
            assert found is not None, text[place : place + 40]
            if found["token"]:
                self.tokens.append(found["token"].lower())
            place = found.end()
        self.place = 0

    def take(self, wanted: str = "") -> str:
        token = self.tokens[self.place]
        assert not wanted or token == wanted, (wanted, self.tokens[self.place - 5 : self.place + 5])
        self.place += 1
        return token

    def model(self) -> list[dict[str, Any]]:
        objects = []
        while self.place < len(self.tokens):
            objects.append(self.object(self.take()))
            self.take(";")
        return objects

    def object(self, kind: str) -> dict[str, Any]:
        self.take("(")
        self.take("type")
        self.take("=>")
        found: dict[str, Any] = {"kind": kind, "type": self.take()}
        allowed = OBJECTS[kind, found["type"]]
        while self.take() == ",":
            key = self.take()
            self.take("=>")
            found[key] = self.value(key, allowed[key])
        assert self.tokens[self.place - 1] == ")"
        return found

    def value(self, key: str, form: str) -> Any:
        if form == NUMBER:
            token = self.take()
            # Whole numbers of MAST have 32 bits: only priorities may be whole.
            assert "." in token or key.endswith("priority")
            return Fraction(token)
        if form == NAME:
            token = self.take()
            assert token.startswith('"')
            return token.strip('"')
        if form == "yes":
            return self.take("yes")
        if key not in LISTS:
            return self.object(key)
        self.take("(")
        inner = [self.object(key)]
        while self.tokens[self.place] == ",":
            self.take(",")
            inner.append(self.object(key))
        self.take(")")
        return inner


def microseconds(picoseconds: int) -> Fraction:
    return Fraction(picoseconds, 10**6)


@settings(max_examples=examples(80))
@given(systems())
def test_text_says_what_the_system_does(system: System) -> None:
    objects = Parser(export_mast(system, Report())).model()
    names = [(found["kind"], found["name"]) for found in objects]
    assert len(set(names)) == len(names)
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for found in objects:
        by_kind.setdefault(found["kind"], []).append(found)
    hosts = {found["name"] for found in by_kind["processing_resource"]}
    assert {found["host"] for found in by_kind["scheduler"]} == hosts
    schedulers = {found["name"] for found in by_kind["scheduler"]}
    assert len(by_kind["transaction"]) == len(system.tasks)
    servers = {found["name"]: found for found in by_kind["scheduling_server"]}
    operations = {found["name"]: found for found in by_kind["operation"]}
    for name, found in zip(system.tasks, by_kind["transaction"], strict=True):
        task, (event,), (handler,) = system.tasks[name], found["external_events"], found["event_handlers"]
        interval = event["min_interarrival"] if task.sporadic else event["period"]
        assert interval == microseconds(task.interval.value)
        assert event.get("phase", 0) == microseconds(task.offset.value)
        if not task.sporadic:
            assert event.get("max_jitter", 0) == microseconds(task.jitter.value)
        (output,) = found["internal_events"]
        assert output["timing_requirements"]["deadline"] == microseconds(task.deadline.value)
        assert output["timing_requirements"]["referenced_event"] == event["name"] == handler["input_event"]
        assert output["name"] == handler["output_event"]
        operation, server = operations[handler["activity_operation"]], servers[handler["activity_server"]]
        wcet, bcet = system.wcet(name), system.bcet(name)
        assert wcet is not None and bcet is not None
        assert operation["worst_case_execution_time"] == microseconds(wcet.value)
        assert operation["best_case_execution_time"] == microseconds(bcet.value)
        assert server["scheduler"] in schedulers
        policy = server["server_sched_parameters"]
        if system.scheduling_of(task.on).policy == "edf":
            assert policy["deadline"] == microseconds(task.deadline.value)
        else:
            assert policy["the_priority"] == system.priorities(task.on)[name]


def test_names_that_differ_by_capitals_only() -> None:
    tasks = {name: {"period": "10us", "wcet": "1us", "on": "big-0"} for name in ("a", "A")}
    with pytest.raises(BadInput, match="'a' and 'A' are one name for MAST"):
        export_mast(system_of({"consort": 1, "platform": "board.yaml", "tasks": tasks}), Report())


def test_tasks_without_wcet_are_left_out() -> None:
    tasks: dict[str, Any] = {
        "a": {"period": "10us", "wcet": "1us", "on": "big-0"},
        "b": {"period": "1ms", "on": "big-0"},
    }
    report = Report()
    text = export_mast(system_of({"consort": 1, "platform": "board.yaml", "tasks": tasks}), report)
    assert len(Parser(text).model()) == 5 and report.left_out == {("task", "it has no wcet"): ["b"]}
    del tasks["a"]
    with pytest.raises(BadInput, match="no task that MAST could analyse"):
        export_mast(system_of({"consort": 1, "platform": "board.yaml", "tasks": tasks}), Report())
