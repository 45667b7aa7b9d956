# SPDX-License-Identifier: Apache-2.0
"""Rules about changes of mode: the names in them, and features that no change of mode can have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from consort.errors import BadInput
from consort.model.document import Location
from consort.model.fail_over_rules import check_fail_over
from consort.model.modes import overridden
from consort.model.problems import nearest
from consort.model.quantities import Duration
from consort.model.view import View

Problems = Iterator[BadInput]
HERE = "mode_changes"


def check_mode_changes(view: View) -> Problems:
    """Errors in `mode_changes`, and features that the modes it names cannot have in a change."""
    if not view.mapping(HERE):
        return
    known = view.mapping("modes")
    named: list[tuple[Location, str]] = []
    for place in (
        (HERE, "start"),
        *((HERE, "requests", k, "to") for k in range(len(view.sequence(HERE, "requests")))),
        *((HERE, "fail_over", k, "to") for k in range(len(view.sequence(HERE, "fail_over")))),
        *(
            (HERE, "asked_by", k, "modes", m)
            for k in range(len(view.sequence(HERE, "asked_by")))
            for m in range(len(view.sequence(HERE, "asked_by", k, "modes")))
        ),
    ):
        mode = view.text(*place)
        if mode is None:
            continue
        if mode not in known:
            hint = nearest(mode, known, "modes") if known else "describe it under 'modes'"
            yield view.problem(place, f"{mode!r} is no mode; {hint}")
        else:
            named.append((place, mode))
    agreement = view.parsed(Duration, HERE, "agreement")
    if agreement is not None and agreement.picoseconds == 0:
        text = "two modes share no instant; write what every core needs to take up its new plan"
        yield view.problem((HERE, "agreement"), text)
    if not any(view.sequence(HERE, key) for key in ("requests", "asked_by", "fail_over")):
        text = (
            "nothing asks for a change; add 'requests', at known instants, 'asked_by', by outputs, or"
            " 'fail_over', when a core dies"
        )
        yield view.problem((HERE,), text, at_key=True)
    for k in range(len(view.sequence(HERE, "asked_by"))):
        task = view.text(HERE, "asked_by", k, "task")
        if task is not None and task not in view.tasks():
            hint = nearest(task, view.tasks(), "tasks")
            yield view.problem((HERE, "asked_by", k, "task"), f"{task!r} is no task; {hint}")
    yield from _order(view)
    entered = list(dict.fromkeys(mode for _, mode in named))
    yield from _tasks(view, entered)
    yield from check_fail_over(view, entered)


def _order(view: View) -> Problems:
    before: Duration | None = None
    present = view.text(HERE, "start")
    for index in range(len(view.sequence(HERE, "requests"))):
        here = (HERE, "requests", index)
        at = view.parsed(Duration, *here, "at")
        if at is not None:
            if before is not None and at <= before:
                yield view.problem(
                    (*here, "at"), f"the request before it comes at {before}; write a later one"
                )
            before = at
        to = view.text(*here, "to")
        if to is not None and to == present:
            yield view.problem(
                (*here, "to"), f"the mode is {to!r} already; name another, or remove the request"
            )
        present = to


def _tasks(view: View, modes: list[str]) -> Problems:
    computed_by: dict[str, tuple[str, str]] = {}
    said: set[str] = set()
    through = "state_through" in view.mapping(HERE)
    moves = False
    for mode in modes:
        active = view.sequence("modes", mode, "tasks") or view.tasks()
        for task in view.tasks():
            if task not in active:
                continue
            override = view.mapping("modes", mode, "overrides", task)
            given = overridden(view.mapping("tasks", task), override)
            for key, message in _kept_out(given):
                if f"{task}.{key}" not in said:
                    said.add(f"{task}.{key}")
                    yield view.problem(_place(mode, task, key, override), message)
            for key in ("on", "master"):
                if isinstance(given.get(key), str):
                    yield from _supply(view, given[key], said)
            core = given.get("on")
            if not isinstance(core, str):
                continue
            other, first = computed_by.setdefault(task, (core, mode))
            moves = moves or core != other
            if core != other and not through and f"{task}.on" not in said:
                said.add(f"{task}.on")
                yield view.problem(
                    _place(mode, task, "on", override),
                    f"{task!r} is computed by {core!r} in the mode {mode!r} and by {other!r} in {first!r}:"
                    " its state has to go there; say through which memory with 'state_through' under"
                    " 'mode_changes', or name the same core",
                )
    memory = view.text(HERE, "state_through")
    if memory is None or view.platform is None:
        return
    here = (HERE, "state_through")
    known = view.platform.memories
    if memory not in known:
        text = (
            f"{memory!r} is no memory of platform {view.platform.name}; {nearest(memory, known, 'memories')}"
        )
        yield view.problem(here, text)
    elif not moves:
        text = "every task keeps its core in the modes that are named here: no state moves; remove it"
        yield view.problem(here, text, at_key=True)


def _kept_out(task: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Features that a task cannot have if modes change, each with the key that states it."""
    if task.get("execution") == "three-phase":
        text = "three-phase cores run one table of slots, which no change of mode replaces; write local"
        yield "execution", text + " or offloaded, or remove 'mode_changes'"
    if "arrival" in task:
        text = "where modes change, tasks are released by time: the blocks of a channel would not be counted"
        yield "arrival", text + " in the modes in which the task rests; write 'min_interarrival' only"
    if task.get("on_miss") == "stop":
        text = "where modes change, no task stops the run: a change to a safe mode takes its place; write"
        yield "on_miss", text + " hold-last-output or local-fallback"


def _supply(view: View, core: str, said: set[str]) -> Problems:
    entry = view.scheduling_entry(core)
    if entry is not None and entry not in said and view.scheduled(core, "supply"):
        said.add(entry)
        yield view.problem(
            ("scheduling", entry, "supply"),
            f"{core!r} has tasks of modes that change, which takes whole cores; remove 'supply', or"
            " 'mode_changes'",
        )


def _place(mode: str, task: str, key: str, override: dict[str, Any]) -> Location:
    return ("modes", mode, "overrides", task, key) if key in override else ("tasks", task, key)
