# SPDX-License-Identifier: Apache-2.0
"""Rules about resources: tasks of one core, with fixed priorities, that never wait while they hold one."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.problems import nearest
from consort.model.quantities import Duration
from consort.model.task_rules import cost
from consort.model.view import View

Problems = Iterator[BadInput]


def check_resources(view: View) -> Problems:
    known = view.mapping("resources")
    users: dict[str, list[str]] = {name: [] for name in known}
    for task in view.tasks():
        held: dict[str, Duration] = {}
        for name in view.mapping("tasks", task, "sections"):
            here = ("tasks", task, "sections", name)
            if name not in known:
                text = f"there is no resource {name!r}; {nearest(name, known, 'resources')}"
                yield view.problem(here, text, at_key=True)
                continue
            users[name].append(task)
            length = view.figure(Duration, *here, "length")
            if length is not None and length.value == 0:
                yield view.problem((*here, "length"), "the length is 0; more than 0 is needed")
            elif length is not None:
                held[name] = length
        if held:
            yield from _of_a_task(view, task, held)
    for name, tasks in users.items():
        described = ("resources", name)
        if not tasks:
            text = "no task has a section of it; add one under a task's 'sections', or remove it"
            yield view.problem(described, text, at_key=True)


def check_caches(view: View) -> Problems:
    """What preempted jobs load again is said of cores that preempt jobs, which alone take its caches."""
    for name in view.mapping("scheduling"):
        here = ("scheduling", name, "cache")
        ways = view.get(*here, "ways")
        if view.text(*here, "replacement") == "direct-mapped" and ways not in (None, 1):
            text = "a direct-mapped cache has one way; remove 'ways', or write 'replacement: lru'"
            yield view.problem((*here, "ways"), text)
    for task in view.tasks():
        evicting, useful = (view.sequence("tasks", task, "cache_sets", key) for key in ("evicting", "useful"))
        for number in useful:
            if number not in evicting:
                text = f"set {number} is useful and not evicting; add it there, or remove it here"
                yield view.problem(("tasks", task, "cache_sets", "useful"), text)
                break
        core = view.core(task)
        if core is None or not view.mapping("tasks", task, "cache_sets"):
            continue
        if not view.scheduled(core.name, "cache"):
            yield view.problem(
                ("tasks", task, "cache_sets"),
                f"nothing is said of the cache of {core.name!r}; add 'cache' for it under 'scheduling', or"
                " remove 'cache_sets'",
                at_key=True,
            )


def _of_a_task(view: View, task: str, held: dict[str, Duration]) -> Problems:
    here = ("tasks", task, "sections")
    execution = view.execution(task)
    described = view.core(task)
    if described is not None and execution is not None:
        wcet_here = ("tasks", task, "wcet")
        _, wcet = cost(view, Duration, wcet_here, described.processor_name, execution)
        for name, length in held.items():
            # Each is the longest of its resource, and not all are as long: their sum may be more.
            if wcet is not None and length > wcet:
                text = f"{length} is longer than the wcet {wcet}, of which it is a part; correct one of them"
                yield view.problem((*here, name, "length"), text)
