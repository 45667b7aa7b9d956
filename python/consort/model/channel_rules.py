# SPDX-License-Identifier: Apache-2.0
"""Rules about channels: who writes, who reads, and what each is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consort.base.errors import closest, nearest
from consort.model.channel import Channel
from consort.model.description import System
from consort.model.document import Location, Problems, View

# Implementations that can hold the blocks of each kind; the first is the default.
HOLDERS = {
    "periodic": ("mailbox",),
    "sporadic": ("snapshot", "double-buffer"),
    "queue": ("queue",),
    "subscription": ("queue", "snapshot", "double-buffer", "mailbox"),
}
Ends = dict[str, dict[str, Location]]


def free_channels(system: System) -> dict[str, Channel]:
    """The channels that are not those between a master and its worker."""
    return {name: channel for name, channel in system.channels.items() if "." not in name}


def devices(view: View, system: System) -> list[str]:
    return list(dict.fromkeys([*system.devices, *(view.platform.devices if view.platform else ())]))


def bindings(system: System, name: str, key: str) -> Iterator[tuple[Location, str]]:
    """Channels, devices and their parts that a task reads or writes, each with its location."""
    given = getattr(system.tasks[name], key)
    entries = given.items() if isinstance(given, dict) else enumerate(given)
    return ((("tasks", name, key, place), bound) for place, bound in entries)


def ends_of(system: System) -> tuple[Ends, Ends]:
    """Writers and readers of each channel, each with the location that names it."""
    writers: Ends = {}
    readers: Ends = {}
    for name, channel in free_channels(system).items():
        if channel.from_ is not None:
            writers.setdefault(name, {})[channel.from_] = ("channels", name, "from")
        for index, reader in enumerate(channel.to):
            readers.setdefault(name, {}).setdefault(reader, ("channels", name, "to", index))
    for name, task in system.tasks.items():
        for key, ends in (("writes", writers), ("reads", readers)):
            if not getattr(task, key):
                continue
            for place, bound in bindings(system, name, key):
                ends.setdefault(bound, {}).setdefault(name, place)
    return writers, readers


def misspelt_in(view: View, system: System) -> set[str]:
    """The tasks whose reads or writes are wrong, and the channels and devices that they may mean."""
    names, others = dict.fromkeys(free_channels(system)), devices(view, system)
    found = {task for task in system.tasks if view.bindings_wrong(task)}
    for task in system.tasks:
        for key in ("reads", "writes"):
            for _, name in bindings(system, task, key):
                owner, dot, _ = name.rpartition(".")
                if dot and owner not in others and owner not in system.tasks:
                    found |= {task, closest(owner, others) or owner}
                elif not dot and name not in names and name not in others:
                    found |= {task, closest(name, [*names, *others]) or name}
    return found


def second_writers(view: View, system: System) -> bool:
    """True if a part writes a channel that another one writes already; devices may have several writers."""
    parts = {*system.tasks, *devices(view, system)}
    writers, _ = ends_of(system)
    there = [list(writers[name]) for name in free_channels(system) if name in writers]
    return any(len(ends) > 1 and ends[0] in parts for ends in there)


def unwritten(view: View, system: System) -> list[str]:
    """The channels that nothing writes."""
    writers, _ = ends_of(system)
    return [
        name
        for name in free_channels(system)
        if name not in writers and not view.wrong_within("channels", name, "from")
    ]


def _known_parts(view: View, system: System) -> Problems:
    if view.misspelt(system, "devices"):
        return
    tasks, sources = dict.fromkeys(view.names("tasks")), devices(view, system)
    known = [*tasks, *sources]
    for name, channel in free_channels(system).items():
        here: Location = ("channels", name)
        writer = channel.from_
        if writer is not None and writer not in known:
            text = f"{writer!r} is neither a task nor a device; {nearest(writer, known, 'tasks and devices')}"
            yield from view.say((*here, "from"), text)
        for index, reader in enumerate(channel.to):
            place = (*here, "to", index)
            if reader not in known:
                hint = nearest(reader, known, "tasks and devices")
                yield from view.say(place, f"{reader!r} is neither a task nor a device; {hint}")
            elif reader in sources and writer in sources:
                text = f"{writer!r} and {reader!r} are both devices; a channel has a task at one end"
                yield from view.say(place, text)
            elif reader in channel.to[:index]:
                yield from view.say(place, f"{reader!r} stands twice; remove one of them")
    for name in system.devices:
        if name in tasks:
            text = f"{name!r} is a task too; give the device another name"
            yield from view.say(("devices", name), text, at_key=True)
        elif view.platform is not None and name in view.platform.devices:
            text = f"{name!r} is a device of platform {view.platform.name} already; give it another name"
            yield from view.say(("devices", name), text, at_key=True)


def _known_channels(view: View, system: System) -> Problems:
    # Of a section that is misspelt no name is known.
    if ("channels",) in view.wrong or view.misspelt(system, "channels") or view.misspelt(system, "devices"):
        return
    known = dict.fromkeys(view.names("channels"))
    sources = devices(view, system)
    for task in system.tasks:
        for key in ("reads", "writes"):
            seen: set[str] = set()
            for here, name in bindings(system, task, key):
                text = _unknown(view, system, name, known, sources)
                if text is None and name in seen:
                    text = f"{name!r} stands twice; remove one of them"
                if text is not None:
                    yield from view.say(here, text)
                seen.add(name)


def _unknown(
    view: View, system: System, name: str, known: dict[str, None], sources: Sequence[str]
) -> str | None:
    """The error in the name of a channel, a device or a member of one; None: there is none."""
    owner, dot, _ = name.rpartition(".")
    if dot and owner not in sources and owner in system.tasks:
        return f"{name!r} lies between a master and its worker; remove it, or name another"
    if dot and owner not in sources:
        return (
            f"there is no device {owner!r}; {nearest(owner, system.devices, 'devices of this description')}"
        )
    if dot:
        return None
    if name not in known and name not in sources:
        names = [one for one in known if "." not in one]
        hint = f"describe it, for example 'channels: {{{name}: {{kind: sporadic}}}}'"
        if names or system.devices:
            hint = nearest(name, [*names, *system.devices], "describe it under 'channels', or name one of")
        return f"there is no channel {name!r}; {hint}"
    if name in known and name in sources:
        return f"{name!r} is a channel and a device; give one of them another name"
    return None


def _both_ends(view: View, system: System) -> Problems:
    sources = devices(view, system)
    parts = {*system.tasks, *sources}
    all_writers, all_readers = ends_of(system)
    for name, channel in system.channels.items():
        if "." in name:
            for key, given in (("from", channel.from_), ("to", channel.to)):
                if given:
                    text = f"{name!r} lies between a master and its worker; remove {key!r}"
                    yield from view.say(("channels", name, key), text, at_key=True)
            continue
        if name in system.tasks and system.tasks[name].execution == "offloaded":
            continue
        writers = list(all_writers.get(name, {}).items())
        # Of a channel between devices that is said, and whether its writer is the wrong one is unknown.
        sound = channel.from_ not in sources or not any(reader in sources for reader in channel.to)
        for writer, place in writers[1:] if sound and writers and writers[0][0] in parts else ():
            text = f"{writers[0][0]!r} writes {name!r} already, and a channel has one writer; "
            left = unwritten(view, system)
            if left:
                text += f"name {left[0]!r}, which nothing writes, or give {writer!r} a channel of its own"
            else:
                text += f"give {writer!r} a channel of its own"
            yield from view.say(place, text)
        for reader, place in all_readers.get(name, {}).items():
            if writers and reader == writers[0][0]:
                text = f"{reader!r} writes {name!r} and reads it; what a task keeps for itself is its state,"
                yield from view.say(place, f"{text} name another reader")


def _unused(view: View, system: System) -> Problems:
    """Each channel has a writer and a reader; in a mode they may all rest."""
    # The reads and writes of a part that is taken out are unknown.
    if any(view.wrong_within("tasks", task) for task in view.names("tasks") if task not in system.tasks):
        return
    if any(view.bindings_wrong(task) for task in system.tasks):
        return
    _, readers = ends_of(system)
    misspelt = misspelt_in(view, system)
    lacking = unwritten(view, system)
    if second_writers(view, system):
        # The message about the second writer of another channel names the first of them.
        del lacking[:1]
    for name in free_channels(system):
        offloaded = name in system.tasks and system.tasks[name].execution == "offloaded"
        here: Location = ("channels", name)
        if name in misspelt or offloaded:
            continue
        if name in lacking:
            text = f"nothing writes {name!r}; add 'from: …', or name it under 'writes' of a task"
            yield from view.say(here, text, at_key=True)
        if name not in readers and not view.wrong_within(*here, "to"):
            text = f"nothing reads {name!r}; add 'to: […]', or name it under 'reads' of a task"
            yield from view.say(here, text, at_key=True)


def _kinds(view: View, system: System) -> Problems:
    for name, channel in system.channels.items():
        here: Location = ("channels", name)
        if view.wrong_within(*here, "kind"):
            continue
        kind, holder = channel.kind, channel.implementation
        if holder is not None and holder not in HOLDERS[kind]:
            text = f"a {kind} channel is not held in a {holder}; write {' or '.join(HOLDERS[kind])}"
            yield from view.say((*here, "implementation"), text)
            holder = None
        if channel.capacity is not None and (holder or HOLDERS[kind][0]) != "queue":
            text = "only a queue has a capacity; remove 'capacity', or write 'kind: queue'"
            yield from view.say((*here, "capacity"), text, at_key=True)
        if kind == "queue" and channel.capacity is None and not view.wrong_within(*here, "capacity"):
            text = "a queue needs a capacity; add how many blocks it holds, for example 'capacity: 16'"
            yield from view.say(here, text, at_key=True)
        if kind == "subscription":
            yield from _subscription(view, system, here, channel)
            continue
        if channel.flow is not None:
            text = "a flow is what a subscription asks for; remove 'flow', or write 'kind: subscription'"
            yield from view.say((*here, "flow"), text, at_key=True)
        if channel.min_interarrival is not None:
            text = "only the messages of a device have a distance of their own, others come with their task's"
            text += " jobs; remove it, or write 'kind: subscription'"
            yield from view.say((*here, "min_interarrival"), text, at_key=True)


def _subscription(view: View, system: System, here: Location, channel: Channel) -> Problems:
    if channel.flow is None and not view.wrong_within(*here, "flow"):
        text = "a subscription says what it asks for; add its flow, for example 'flow: 17'"
        yield from view.say(here, text, at_key=True)
    if channel.from_ is not None and channel.from_ in system.tasks:
        text = f"a subscription takes from a device, and {channel.from_!r} is a task"
        hint = nearest(channel.from_, devices(view, system), "devices")
        yield from view.say((*here, "from"), f"{text}; {hint}")


def _sizes(view: View, system: System) -> Problems:
    for name, channel in system.channels.items():
        here: Location = ("channels", name, "size")
        if channel.size is None:
            continue
        if channel.size.value == 0:
            yield from view.say(here, "the size is 0; more than 0 is needed")
        held = None if view.platform is None else view.platform.memories.get(channel.memory or "")
        blocks = channel.capacity or 1
        if held is not None and held.size is not None and channel.size.bytes * blocks > held.size.value.bytes:
            text = f"{blocks} {'block' if blocks == 1 else 'blocks'} of {channel.size} need more than all of"
            text += f" {channel.memory!r}, which has {held.size}; name a larger memory, or make them smaller"
            yield from view.say(here, text)


def _mailboxes(view: View, system: System) -> Problems:
    """Each block of a mailbox is taken out before the next is put in: one reader, which is as fast."""
    all_writers, all_readers = ends_of(system)
    for name, channel in free_channels(system).items():
        here: Location = ("channels", name)
        if channel.kind != "periodic" or view.wrong_within(*here, "kind"):
            continue
        writers, readers = (list(ends.get(name, {}).items()) for ends in (all_writers, all_readers))
        for reader, place in readers[1:]:
            text = f"a mailbox has one reader, here {readers[0][0]!r}; write 'kind: sporadic', or give"
            yield from view.say(place, f"{text} {reader!r} a channel of its own")
        if len(writers) != 1 or len(readers) != 1:
            continue
        ends = {end: system.tasks[end] for end in (writers[0][0], readers[0][0]) if end in system.tasks}
        sporadic = [end for end, task in ends.items() if task.min_interarrival is not None]
        text = "a mailbox carries a block for each job of both ends,"
        remedy = "write 'kind: sporadic', or a queue"
        periods = [task.period for task in ends.values()]
        if sporadic:
            yield from view.say(here, f"{text} and {sporadic[0]!r} is sporadic; {remedy}", at_key=True)
        elif len(ends) == 2 and None not in periods and periods[0] != periods[1]:
            (writer, reader) = ends
            text += f" but {writer!r} has period {periods[0]} and {reader!r} {periods[1]}"
            yield from view.say(here, f"{text}; {remedy}", at_key=True)


# No mode changes which tasks read and write a channel.
CHANNEL_END_RULES = (_known_parts, _known_channels, _unused)
CHANNEL_RULES = (
    _both_ends,
    _kinds,
    _sizes,
    _mailboxes,
)
