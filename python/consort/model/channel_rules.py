# SPDX-License-Identifier: Apache-2.0
"""Rules about channels and chains: who writes, who reads, and whether the way is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from consort.errors import BadInput
from consort.model.document import Location
from consort.model.problems import closest, nearest
from consort.model.quantities import Duration, Size
from consort.model.view import View

Problems = Iterator[BadInput]
# What can hold the blocks of each kind; the first is what does without a word.
HOLDERS = {
    "periodic": ("mailbox",),
    "sporadic": ("snapshot", "double-buffer"),
    "queue": ("queue",),
    "subscription": ("queue", "snapshot", "double-buffer", "mailbox"),
}


def free_channels(view: View) -> list[str]:
    """The channels that are not those between a master and its worker."""
    return [name for name in view.mapping("channels") if "." not in name and view.mapping("channels", name)]


def devices(view: View) -> list[str]:
    own = list(view.mapping("devices"))
    return own + [name for name in (view.platform.devices if view.platform else ()) if name not in own]


Ends = dict[str, dict[str, Location]]


def _ends(view: View) -> tuple[Ends, Ends]:
    """Who writes and who reads each channel, and where that is said."""
    writers: Ends = {}
    readers: Ends = {}
    for name in free_channels(view):
        writer = view.text("channels", name, "from")
        if writer is not None:
            writers.setdefault(name, {})[writer] = ("channels", name, "from")
        for index, reader in enumerate(view.sequence("channels", name, "to")):
            if isinstance(reader, str):
                readers.setdefault(name, {}).setdefault(reader, ("channels", name, "to", index))
    for task in view.tasks():
        for key, ends in (("writes", writers), ("reads", readers)):
            for index, channel in enumerate(view.sequence("tasks", task, key)):
                if isinstance(channel, str):
                    ends.setdefault(channel, {}).setdefault(task, ("tasks", task, key, index))
    return writers, readers


def _misspelt(view: View) -> set[str]:
    """The tasks that read or write a channel that is not there, and the channels that they may mean."""
    names = dict.fromkeys(free_channels(view))
    found: set[str] = set()
    for task in view.tasks():
        for key in ("reads", "writes"):
            for name in view.sequence("tasks", task, key):
                if isinstance(name, str) and "." not in name and name not in names:
                    found |= {task, closest(name, names) or name}
    return found


def _known_parts(view: View) -> Problems:
    if not isinstance(view.document.get("tasks"), dict):
        return
    tasks, sources = dict.fromkeys(view.document.get("tasks")), devices(view)
    for name in free_channels(view):
        here = ("channels", name)
        writer = view.text(*here, "from")
        if writer is not None and writer not in tasks and writer not in sources:
            yield view.problem(
                (*here, "from"),
                f"{writer!r} is no task and no device;"
                f" {nearest(writer, [*tasks, *sources], 'tasks and devices')}",
            )
        given = view.sequence(*here, "to")
        for index, reader in enumerate(given):
            if isinstance(reader, str) and reader not in tasks and reader not in sources:
                yield view.problem(
                    (*here, "to", index),
                    f"{reader!r} is no task and no device;"
                    f" {nearest(reader, [*tasks, *sources], 'tasks and devices')}",
                )
            elif reader in sources and writer in sources:
                yield view.problem(
                    (*here, "to", index),
                    f"{writer!r} and {reader!r} are devices both; a channel has a task at one end",
                )
            elif reader in given[:index]:
                yield view.problem((*here, "to", index), f"{reader!r} stands twice; remove one of them")
    for name in view.mapping("devices"):
        if name in tasks:
            yield view.problem(
                ("devices", name), f"{name!r} is a task too; give the device another name", at_key=True
            )
        elif view.platform is not None and name in view.platform.devices:
            yield view.problem(
                ("devices", name),
                f"{name!r} is a device of platform {view.platform.name} already; give it another name",
                at_key=True,
            )


def _known_channels(view: View) -> Problems:
    described = view.document.get("channels")
    if "channels" in view.mapping() and not isinstance(described, dict):
        return
    known = dict.fromkeys(described or ())
    for task in view.tasks():
        for key in ("reads", "writes"):
            given = view.sequence("tasks", task, key)
            for index, name in enumerate(given):
                here = ("tasks", task, key, index)
                if not isinstance(name, str):
                    continue
                if "." in name:
                    yield view.problem(
                        here,
                        f"{name!r} lies between a master and its worker; remove it, or name another",
                    )
                elif name not in known:
                    hint = nearest(name, [k for k in known if "." not in k], "channels")
                    yield view.problem(here, f"there is no channel {name!r}; {hint}")
                elif name in given[:index]:
                    yield view.problem(here, f"{name!r} stands twice; remove one of them")


def _both_ends(view: View) -> Problems:
    parts, misspelt = {*view.tasks(), *devices(view)}, _misspelt(view)
    all_writers, all_readers = _ends(view)
    for name in view.mapping("channels"):
        here: Location = ("channels", name)
        if "." in name:
            for key in ("from", "to"):
                if view.mapping(*here).get(key):
                    yield view.problem(
                        (*here, key),
                        f"{name!r} lies between a master and its worker; remove {key!r}",
                        at_key=True,
                    )
            continue
        if not isinstance(view.get(*here), dict) or view.offloaded(name):
            continue
        writers, readers = (list(ends.get(name, {}).items()) for ends in (all_writers, all_readers))
        if not writers and (*here, "from") not in view.wrong and name not in misspelt:
            yield view.problem(
                here,
                f"nothing writes {name!r}; add 'from: …', or name it under 'writes' of a task",
                at_key=True,
            )
        for writer, place in writers[1:] if writers and writers[0][0] in parts else ():
            yield view.problem(
                place,
                f"{writers[0][0]!r} writes {name!r} already, and a channel has one writer; give"
                f" {writer!r} a channel of its own",
            )
        if not readers and (*here, "to") not in view.wrong and name not in misspelt:
            yield view.problem(
                here,
                f"nothing reads {name!r}; add 'to: […]', or name it under 'reads' of a task",
                at_key=True,
            )
        for reader, place in readers:
            if writers and reader == writers[0][0]:
                yield view.problem(
                    place,
                    f"{reader!r} writes {name!r} and reads it; what a task keeps for itself is its state,"
                    " name another reader",
                )


def _kinds(view: View) -> Problems:
    for name in view.mapping("channels"):
        here = ("channels", name)
        given = view.mapping(*here)
        kind = view.text(*here, "kind") if "kind" in given else "periodic"
        if kind not in HOLDERS:
            continue
        holder = view.text(*here, "implementation")
        if holder is not None and holder not in HOLDERS[kind]:
            fitting = " or ".join(HOLDERS[kind])
            yield view.problem(
                (*here, "implementation"), f"a {kind} channel is not held in a {holder}; write {fitting}"
            )
            holder = None
        held = holder or HOLDERS[kind][0]
        if "capacity" in given and held != "queue":
            yield view.problem(
                (*here, "capacity"),
                "only a queue has a capacity; remove 'capacity', or write 'kind: queue'",
                at_key=True,
            )
        if kind == "queue" and "capacity" not in given:
            yield view.problem(
                here,
                "a queue needs a capacity; add how many blocks it holds, for example 'capacity: 16'",
                at_key=True,
            )
        if "flow" in given and kind != "subscription":
            yield view.problem(
                (*here, "flow"),
                "a flow is what a subscription asks for; remove 'flow', or write 'kind: subscription'",
                at_key=True,
            )
        if "min_interarrival" in given and kind != "subscription":
            yield view.problem(
                (*here, "min_interarrival"),
                "only the messages of a device have a distance of their own, others come with their task's"
                " jobs; remove it, or write 'kind: subscription'",
                at_key=True,
            )
        if kind == "subscription":
            yield from _subscription(view, here)


def _subscription(view: View, here: Location) -> Problems:
    if "flow" not in view.mapping(*here):
        yield view.problem(
            here, "a subscription says what it asks for; add its flow, for example 'flow: 17'", at_key=True
        )
    writer = view.text(*here, "from")
    if writer is not None and writer in view.tasks():
        yield view.problem(
            (*here, "from"),
            f"a subscription takes from a device, and {writer!r} is a task;"
            f" {nearest(writer, devices(view), 'devices')}",
        )


def _sizes(view: View) -> Problems:
    for name in view.mapping("channels"):
        here = ("channels", name)
        size, memory = view.parsed(Size, *here, "size"), view.text(*here, "memory")
        if size is None:
            continue
        if size.value == 0:
            yield view.problem((*here, "size"), "the size is 0; more than 0 is needed")
        held = view.platform.memories.get(memory) if view.platform and memory else None
        capacity = view.get(*here, "capacity")
        blocks = capacity if isinstance(capacity, int) and capacity > 0 else 1
        if held is not None and held.size is not None and size.value * blocks > held.size.value.bytes:
            yield view.problem(
                (*here, "size"),
                f"{blocks} {'block' if blocks == 1 else 'blocks'} of {size} need more than all of"
                f" {memory!r}, which has {held.size}; name a larger memory, or make them smaller",
            )


def _mailboxes(view: View) -> Problems:
    """Each block of a mailbox is taken out before the next is put in: one reader, which is as fast."""
    all_writers, all_readers = _ends(view)
    for name in free_channels(view):
        here = ("channels", name)
        given = view.mapping(*here)
        kind = view.text(*here, "kind") if "kind" in given else "periodic"
        if kind != "periodic":
            continue
        writers, readers = (list(ends.get(name, {}).items()) for ends in (all_writers, all_readers))
        for reader, place in readers[1:]:
            yield view.problem(
                place,
                f"a mailbox has one reader, here {readers[0][0]!r}; write 'kind: sporadic', or give"
                f" {reader!r} a channel of its own",
            )
        if len(writers) != 1 or len(readers) != 1:
            continue
        (writer, _), (reader, _) = writers[0], readers[0]
        periods = [view.parsed(Duration, "tasks", task, "period") for task in (writer, reader)]
        sporadic = [t for t in (writer, reader) if "min_interarrival" in view.mapping("tasks", t)]
        if sporadic:
            yield view.problem(
                here,
                f"a mailbox carries a block for each job of both ends, and {sporadic[0]!r} is sporadic; write"
                " 'kind: sporadic', or a queue",
                at_key=True,
            )
        elif None not in periods and periods[0] != periods[1]:
            yield view.problem(
                here,
                f"a mailbox carries a block for each job of both ends, but {writer!r} has period {periods[0]}"
                f" and {reader!r} {periods[1]}; write 'kind: sporadic', or a queue",
                at_key=True,
            )


def _chains(view: View) -> Problems:
    if not isinstance(view.document.get("tasks"), dict):
        return
    tasks = list(view.document.get("tasks"))
    for chain in view.mapping("chains"):
        here = ("chains", chain)
        path = view.sequence(*here, "path")
        for index, task in enumerate(path):
            place = (*here, "path", index)
            if not isinstance(task, str):
                continue
            if task not in tasks:
                yield view.problem(place, f"{task!r} is no task; {nearest(task, tasks, 'tasks')}")
            elif task in path[:index]:
                yield view.problem(
                    place, f"{task!r} stands twice; a chain passes each task once, remove one of them"
                )
        for key in ("reaction", "age"):
            limit = view.parsed(Duration, *here, key)
            if limit is not None and limit.value == 0:
                yield view.problem((*here, key), f"the {key} is 0; more than 0 is needed")
        if view.text(*here, "communication") == "let":
            for index, task in enumerate(path):
                if isinstance(task, str) and "min_interarrival" in view.mapping("tasks", task):
                    yield view.problem(
                        (*here, "path", index),
                        f"logical execution time needs periodic tasks, and {task!r} is sporadic; write"
                        " 'communication: implicit'",
                    )


def _links_of_chains(view: View) -> Problems:
    """Consecutive tasks of a chain share a channel, in a description that has channels at all."""
    names = free_channels(view)
    if not names:
        return
    writers, readers = _ends(view)
    ways = {
        (writer, reader)
        for name in names
        for writer in writers.get(name, ())
        for reader in readers.get(name, ())
    }
    misspelt = _misspelt(view)
    tasks = [task for task in view.tasks() if task not in misspelt]
    for chain in view.mapping("chains"):
        path = view.sequence("chains", chain, "path")
        for index in range(1, len(path)):
            first, second = path[index - 1], path[index]
            if first not in tasks or second not in tasks or second in path[:index] or (first, second) in ways:
                continue
            hint = "the other way there is one, turn them round" if (second, first) in ways else ""
            yield view.problem(
                ("chains", chain, "path", index),
                f"no channel leads from {first!r} to {second!r}; {hint or 'add one, or correct the path'}",
            )


CHANNEL_RULES: tuple[Callable[[View], Problems], ...] = (
    _known_parts,
    _known_channels,
    _both_ends,
    _kinds,
    _sizes,
    _mailboxes,
    _chains,
    _links_of_chains,
)
