# SPDX-License-Identifier: Apache-2.0
"""Rules about states of tasks that lie in remote memory."""

from __future__ import annotations

from consort.model.description import System
from consort.model.document import Location
from consort.model.problems import nearest
from consort.model.view import Problems, View, typed

PAGE = 4096
LEAST_CACHE = 1 << 20


@typed
def check_remote_states(view: View, system: System) -> Problems:
    """A state lies in a memory that is paged, and a part of it in a cache of whole pages."""
    for name, task in system.tasks.items():
        given = task.remote_state
        if given is None:
            continue
        here: Location = ("tasks", name, "remote_state")
        known = {} if view.platform is None else view.platform.memories
        remote = [key for key, memory in known.items() if memory.kind == "remote"]
        if view.platform is not None and given.memory not in known:
            text = f"there is no memory {given.memory!r}; {nearest(given.memory, remote, 'remote memories')}"
            yield from view.say((*here, "memory"), text)
        elif view.platform is not None and given.memory not in remote:
            text = (
                f"{given.memory!r} is of kind {known[given.memory].kind}, and what lies there needs no paging"
            )
            text += "; name a memory of kind remote, or remove 'remote_state'"
            yield from view.say((*here, "memory"), text)
        if given.cache.value < LEAST_CACHE or given.cache.value % PAGE:
            text = f"the cache {given.cache} is below 1MiB, or no multiple of 4KiB; write 1MiB"
            yield from view.say((*here, "cache"), text)
