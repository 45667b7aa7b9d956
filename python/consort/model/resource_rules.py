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
        held = 0
        for name in view.mapping("tasks", task, "sections"):
            here = ("tasks", task, "sections", name)
            if name not in known:
                text = f"there is no resource {name!r}; {nearest(name, known, 'resources')}"
                yield view.problem(here, text, at_key=True)
                continue
            users[name].append(task)
            length, times = view.figure(Duration, *here, "length"), view.get(*here, "times")
            if length is not None and length.value == 0:
                yield view.problem((*here, "length"), "the length is 0; more than 0 is needed")
            held += (length.value if length is not None else 0) * (times if isinstance(times, int) else 1)
        if held:
            yield from _of_a_task(view, task, held)
    for name, tasks in users.items():
        described = ("resources", name)
        if not tasks:
            text = "no task has a section of it; add one under a task's 'sections', or remove it"
            yield view.problem(described, text, at_key=True)
        cores = dict.fromkeys(view.text("tasks", task, "on") for task in tasks)
        if len(cores) > 1:
            yield view.problem(
                described,
                f"{' and '.join(tasks)} are on {len(cores)} cores, and no protocol here keeps one core from"
                " what another holds; place them on one core, or let a channel carry the data",
                at_key=True,
            )


def check_cache_reload(view: View) -> Problems:
    """What a preempted job loads again is said of cores that preempt jobs, which alone take its caches."""
    for name in view.mapping("scheduling"):
        here = ("scheduling", name, "cache_reload")
        if view.get(*here) is None:
            continue
        policy = view.text("scheduling", name, "policy")
        if policy in ("fixed-priority-non-preemptive", "three-phase"):
            text = f"no job is preempted by {policy}; remove 'cache_reload', or write another policy"
            yield view.problem(here, text, at_key=True)
        if view.mapping("scheduling", name, "supply"):
            text = "what a hypervisor runs while the core is off takes its caches, too; remove one of the two"
            yield view.problem(here, text, at_key=True)
        for task in view.tasks():
            ends = [view.text("tasks", task, key) or "" for key in ("master", "on")]
            waits = "self_suspension" in view.mapping("tasks", task) or view.offloaded(task)
            if waits and name in (*ends, *(end.rpartition("-")[0] for end in ends)):
                yield view.problem(
                    here,
                    f"jobs of {task!r} wait there, and what they load again then is in no figure; place it"
                    " elsewhere, or remove 'cache_reload' and let each wcet hold it",
                    at_key=True,
                )
                break


def _of_a_task(view: View, task: str, held: int) -> Problems:
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
        yield view.problem(
            here,
            f"the core {core!r} is scheduled by edf, and the bounds of resources are for fixed priorities;"
            " write 'policy: fixed-priority' for it, or remove 'sections'",
            at_key=True,
        )
    for other in view.tasks():
        ends = (view.text("tasks", other, "on"), view.text("tasks", other, "master"))
        waits = "self_suspension" in view.mapping("tasks", other) or view.offloaded(other)
        if waits and core in ends:
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
        if wcet is not None and held > wcet.value:
            yield view.problem(
                here,
                f"the sections take {Duration.spelled(held)} in all, longer than the wcet {wcet}, of which"
                " they are a part; correct one of them",
                at_key=True,
            )
