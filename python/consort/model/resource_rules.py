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
        cores = dict.fromkeys(view.text("tasks", task, "on") for task in tasks)
        if view.text(*described, "protocol") == "priority-inheritance":
            yield from _inherited(view, name, [core for core in cores if core is not None])
        if len(cores) > 1:
            yield view.problem(
                described,
                f"{' and '.join(tasks)} are on {len(cores)} cores, and no protocol here keeps one core from"
                " what another holds; place them on one core, or let a channel carry the data",
                at_key=True,
            )


def _inherited(view: View, name: str, cores: list[str]) -> Problems:
    """Where jobs inherit priorities: there they have some, and what they load again is in their wcets."""
    here = ("resources", name, "protocol")
    for core in cores:
        if view.policy(core)[1] == "edf":
            text = (
                f"{core!r} is scheduled by edf, where no job has a priority to inherit; write"
                " 'protocol: priority-ceiling', or 'policy: fixed-priority' for the core"
            )
            yield view.problem(here, text)
        for key in ("cache_reload", "cache"):
            if view.scheduled(core, key):
                text = (
                    f"{core!r} has {key!r}, and what a job loads again that waited for a resource is in no"
                    " bound; write 'protocol: priority-ceiling', or remove it and let each wcet hold that"
                )
                yield view.problem(here, text)


def check_caches(view: View) -> Problems:
    """What preempted jobs load again is said of cores that preempt jobs, which alone take its caches."""
    for name in view.mapping("scheduling"):
        for key in ("cache_reload", "cache"):
            if view.get("scheduling", name, key) is not None:
                yield from _cache(view, name, key)
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


def _cache(view: View, name: str, key: str) -> Problems:
    here = ("scheduling", name, key)
    policy = view.text("scheduling", name, "policy")
    if policy in ("fixed-priority-non-preemptive", "three-phase"):
        text = f"no job is preempted by {policy}; remove {key!r}, or write another policy"
        yield view.problem(here, text, at_key=True)
    if key == "cache":
        if policy == "edf":
            text = (
                "by sets preemption is bounded under fixed priorities; write 'cache_reload', or that policy"
            )
            yield view.problem(here, text, at_key=True)
        if view.get("scheduling", name, "cache_reload") is not None:
            text = "'cache_reload' says the same as a stated cost; keep one of them"
            yield view.problem(here, text, at_key=True)
        ways = view.get(*here, "ways")
        if view.text(*here, "replacement") == "direct-mapped" and ways not in (None, 1):
            text = "a direct-mapped cache has one way; remove 'ways', or write 'replacement: lru'"
            yield view.problem((*here, "ways"), text)
    if view.mapping("scheduling", name, "supply"):
        text = "what a hypervisor runs while the core is off takes its caches, too; remove one of the two"
        yield view.problem(here, text, at_key=True)
    for task in view.tasks():
        ends = [view.text("tasks", task, end) or "" for end in ("master", "on")]
        if view.waits(task) and name in (*ends, *(end.rpartition("-")[0] for end in ends)):
            yield view.problem(
                here,
                f"jobs of {task!r} wait there, and what they load again then is in no figure; place it"
                f" elsewhere, or remove {key!r} and let each wcet hold it",
                at_key=True,
            )
            break


def _of_a_task(view: View, task: str, held: dict[str, Duration]) -> Problems:
    here = ("tasks", task, "sections")
    core = view.text("tasks", task, "on")
    execution = view.execution(task)
    if execution not in (None, "local"):
        text = f"a job of {execution} execution holds no resource; write 'execution: local', or remove it"
        yield view.problem(here, text, at_key=True)
        return
    if core is None:
        return
    _, policy = view.policy(core)
    if policy == "edf":
        for other in view.tasks():
            jitter = view.parsed(Duration, "tasks", other, "jitter")
            if jitter is not None and jitter.value and view.text("tasks", other, "on") == core:
                text = (
                    f"{core!r} is scheduled by edf, where resources have bounds without jitter; remove it, or"
                )
                text += " write 'policy: fixed-priority' for the core"
                yield view.problem(("tasks", other, "jitter"), text)
    for other in view.tasks():
        ends = (view.text("tasks", other, "on"), view.text("tasks", other, "master"))
        if view.waits(other) and core in ends:
            yield view.problem(
                here,
                f"jobs of {other!r} wait on {core!r}, where blocking is bounded of jobs only that do not;"
                " place one of the two tasks elsewhere",
                at_key=True,
            )
            break
    described = view.core(task)
    if described is not None and execution is not None:
        wcet_here = ("tasks", task, "wcet")
        _, wcet = cost(view, Duration, wcet_here, described.processor_name, execution)
        for name, length in held.items():
            # Each is the longest of its resource, and not all are as long: their sum may be more.
            if wcet is not None and length > wcet:
                text = f"{length} is longer than the wcet {wcet}, of which it is a part; correct one of them"
                yield view.problem((*here, name, "length"), text)
