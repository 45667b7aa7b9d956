# SPDX-License-Identifier: Apache-2.0
"""Rules about accelerators: who serves, who asks for what, and what each client is given."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.document import Location
from consort.model.problems import nearest
from consort.model.quantities import Duration
from consort.model.view import View

Problems = Iterator[BadInput]

# What a client is given, by arbitration.
GIVEN = {"fixed-priority": ("priority",), "tdma": ("slot",), "budget": ("priority", "budget", "period")}
EXAMPLES = {
    "priority": "priority: 10",
    "slot": "slot: 500us",
    "budget": "budget: 1ms",
    "period": "period: 10ms",
}


def check_accelerators(view: View) -> Problems:
    known = view.mapping("accelerators")
    asked: dict[str, dict[str, list[str]]] = {name: {} for name in known}
    for task in view.tasks():
        yield from _requests(view, task, asked)
    if known and view.mapping("modes"):
        yield view.problem(
            ("accelerators",),
            "what clients of accelerators are given is the same in all modes, and a mode changes who asks;"
            " remove 'modes', or the accelerators",
            at_key=True,
        )
    serving: dict[str, str] = {}
    for name in known:
        yield from _core(view, name, serving)
        yield from _operations(view, name, asked[name])
        yield from _clients(view, name, asked[name])


def _requests(view: View, task: str, asked: dict[str, dict[str, list[str]]]) -> Problems:
    here: Location = ("tasks", task, "requests")
    listed = view.sequence(*here)
    seen: set[tuple[str, str]] = set()
    for index in range(len(listed)):
        name, operation = (view.text(*here, index, key) for key in ("accelerator", "operation"))
        if name is None:
            continue
        if name not in asked:
            text = f"there is no accelerator {name!r}; {nearest(name, asked, 'accelerators')}"
            yield view.problem((*here, index, "accelerator"), text)
            continue
        asked[name].setdefault(task, [])
        if operation is None:
            continue
        operations = view.mapping("accelerators", name, "operations")
        if operation not in operations:
            text = f"{name!r} has no operation {operation!r}; {nearest(operation, operations, 'operations')}"
            yield view.problem((*here, index, "operation"), text)
            continue
        asked[name][task].append(operation)
        if (name, operation) in seen:
            text = f"{operation!r} of {name!r} stands twice; write once how often with 'times'"
            yield view.problem((*here, index), text)
        seen.add((name, operation))


def _core(view: View, name: str, serving: dict[str, str]) -> Problems:
    here: Location = ("accelerators", name, "on")
    core = view.text(*here)
    if core is None:
        return
    if view.platform is not None and core not in view.platform.core_names():
        yield view.problem(here, view.platform.unknown_core(core))
        return
    if serving.setdefault(core, name) != name:
        yield view.problem(here, f"{core!r} serves {serving[core]!r} already; name another core")
    for task in view.tasks():
        if core in (view.text("tasks", task, "on"), view.text("tasks", task, "master")):
            yield view.problem(
                here,
                f"{core!r} serves requests and does nothing else, and {task!r} is on it; name another core",
            )
            break
    if core in view.mapping("scheduling"):
        yield view.problem(
            ("scheduling", core),
            f"{core!r} serves the requests of {name!r} by its arbitration, and schedules nothing; remove it",
            at_key=True,
        )
    memory = view.text("accelerators", name, "memory")
    if view.platform is not None and memory is not None and memory not in view.platform.memories:
        text = f"{memory!r} is no memory of platform {view.platform.name}"
        hint = nearest(memory, view.platform.memories, "memories")
        yield view.problem(("accelerators", name, "memory"), f"{text}; {hint}")


def _operations(view: View, name: str, asked: dict[str, list[str]]) -> Problems:
    for operation in view.mapping("accelerators", name, "operations"):
        here: Location = ("accelerators", name, "operations", operation)
        if not any(operation in operations for operations in asked.values()):
            text = "no task asks for it; add it under a task's 'requests', or remove it"
            yield view.problem(here, text, at_key=True)
        wcet, bcet = (view.figure(Duration, *here, key) for key in ("wcet", "bcet"))
        for key, time in (("wcet", wcet), ("bcet", bcet)):
            if time is not None and time.value == 0:
                yield view.problem((*here, key), f"the {key} is 0; more than 0 is needed")
        if bcet is not None and wcet is None and (*here, "wcet") not in view.wrong:
            text = "an operation with a bcet needs a wcet; add 'wcet', or remove 'bcet'"
            yield view.problem((*here, "bcet"), text, at_key=True)
        if wcet is not None and bcet is not None and bcet > wcet:
            text = f"the bcet {bcet} is longer than the wcet {wcet}; correct one of them"
            yield view.problem((*here, "bcet"), text)


def _clients(view: View, name: str, asked: dict[str, list[str]]) -> Problems:
    arbitration = view.text("accelerators", name, "arbitration")
    clients = view.mapping("accelerators", name, "clients")
    for task in asked:
        if task not in clients and view.document.get("accelerators", name, "clients", task) is None:
            text = f"{name!r} gives {task!r} nothing; add it under the accelerator's 'clients'"
            yield view.problem(("tasks", task, "requests"), text, at_key=True)
    priorities: dict[int, str] = {}
    for task in clients:
        here: Location = ("accelerators", name, "clients", task)
        if task not in view.mapping("tasks"):
            text = f"{task!r} is no task; {nearest(task, view.mapping('tasks'), 'tasks')}"
            yield view.problem(here, text, at_key=True)
        elif task not in asked and not view.wrong_within("tasks", task):
            text = f"{task!r} asks {name!r} for nothing; add it under the task's 'requests', or remove it"
            yield view.problem(here, text, at_key=True)
        if arbitration in GIVEN:
            yield from _given(view, here, arbitration)
        priority = view.get(*here, "priority")
        if isinstance(priority, int) and priorities.setdefault(priority, task) != task:
            text = f"{priorities[priority]!r} has priority {priority} too; give each client its own"
            yield view.problem((*here, "priority"), text)
        yield from _fits(view, here, name, arbitration, asked.get(task, []))


def _given(view: View, here: Location, arbitration: str) -> Problems:
    given = view.mapping(*here)
    for key in EXAMPLES:
        if key in GIVEN[arbitration]:
            if key not in given and (*here, key) not in view.wrong:
                text = f"{arbitration} gives each client a {key}; add it, for example '{EXAMPLES[key]}'"
                yield view.problem(here, text, at_key=True)
        elif key in given:
            keys = " and ".join(GIVEN[arbitration])
            text = f"{arbitration} arbitration has no {key}, each client has {keys}; remove {key!r}"
            yield view.problem((*here, key), text, at_key=True)
    for key in ("slot", "budget", "period"):
        time = view.parsed(Duration, *here, key)
        if time is not None and time.value == 0:
            yield view.problem((*here, key), f"the {key} is 0; more than 0 is needed")
    budget, period = (view.parsed(Duration, *here, key) for key in ("budget", "period"))
    if budget is not None and period is not None and budget > period:
        text = f"the budget is longer than the period, {period}; shorten it"
        yield view.problem((*here, "budget"), text)


def _fits(view: View, here: Location, name: str, arbitration: str | None, operations: list[str]) -> Problems:
    """What a client asks for fits what it is given, or it would never begin."""
    key = {"tdma": "slot", "budget": "budget"}.get(arbitration or "")
    room = None if key is None else view.parsed(Duration, *here, key)
    if key is None or room is None or room.value == 0:
        return
    for operation in operations:
        wcet = view.figure(Duration, "accelerators", name, "operations", operation, "wcet")
        if wcet is not None and wcet > room:
            text = (
                f"{operation!r} takes up to {wcet}, longer than the {key}, and would never begin; lengthen it"
            )
            yield view.problem((*here, key), text)
            break
