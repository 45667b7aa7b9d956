# SPDX-License-Identifier: Apache-2.0
"""Rules about states of tasks that lie in remote memory."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.problems import nearest
from consort.model.quantities import Size
from consort.model.view import View

Problems = Iterator[BadInput]
PAGE = 4096
LEAST_CACHE = 1 << 20


def check_remote_states(view: View) -> Problems:
    """A state in remote memory is that of a local task whose core has no other way for its jobs to wait."""
    for task in view.tasks():
        here = ("tasks", task, "remote_state")
        if not view.mapping(*here):
            continue
        yield from _memory(view, task)
        cache = view.parsed(Size, *here, "cache")
        if cache is not None and (cache.value < LEAST_CACHE or cache.value % PAGE):
            text = f"the cache {cache} is below 1MiB, or no multiple of 4KiB; write 1MiB"
            yield view.problem((*here, "cache"), text)
        execution = view.execution(task)
        if execution not in (None, "local"):
            text = (
                f"the state of a task of {execution} execution goes with its jobs, and is not paged; write"
                " 'execution: local', or remove 'remote_state'"
            )
            yield view.problem(here, text, at_key=True)
            continue
        core = view.text("tasks", task, "on")
        if core is not None:
            yield from _on_a_core(view, task, core)


def _memory(view: View, task: str) -> Problems:
    here = ("tasks", task, "remote_state", "memory")
    name = view.text(*here)
    if name is None or view.platform is None:
        return
    known = view.platform.memories
    remote = [key for key, memory in known.items() if memory.kind == "remote"]
    if name not in known:
        yield view.problem(here, f"there is no memory {name!r}; {nearest(name, remote, 'remote memories')}")
    elif name not in remote:
        yield view.problem(
            here,
            f"{name!r} is of kind {known[name].kind}, and what lies there needs no paging; name a memory of"
            " kind remote, or remove 'remote_state'",
        )


def _on_a_core(view: View, task: str, core: str) -> Problems:
    """Jobs of the core may wait for pages: what is bounded only of jobs that do not wait is refused."""
    here = ("tasks", task, "remote_state")
    for key in ("supply", "cache_reload", "cache", "bandwidth"):
        if view.scheduled(core, key):
            text = (
                f"jobs that wait for pages have no bound beside {key!r} of {core!r}; remove one of the two,"
                " or place the task elsewhere"
            )
            yield view.problem(here, text, at_key=True)
    for other in view.tasks():
        given = view.mapping("tasks", other)
        if view.text("tasks", other, "on") == core:
            keys = ("self_suspension", "sections", "preemption_threshold", "requests")
            wrong = next((k for k in keys if k in given), "")
        else:
            wrong = "offload" if view.text("tasks", other, "master") == core else ""
        if wrong:
            what = "is offloaded from there" if wrong == "offload" else f"has {wrong!r}"
            text = (
                f"jobs that wait for pages have no bound on {core!r}, where {other!r} {what}; place one of"
                " the two elsewhere"
            )
            yield view.problem(here, text, at_key=True)
            return
