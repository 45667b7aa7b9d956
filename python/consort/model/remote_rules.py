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
