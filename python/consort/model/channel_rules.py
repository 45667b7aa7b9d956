# SPDX-License-Identifier: Apache-2.0
"""Rules about channels: who writes, who reads, and what each is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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


def ends_of(view: View) -> tuple[Ends, Ends]:
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
            for place, channel in view.bindings(task, key):
                ends.setdefault(channel, {}).setdefault(task, place)
    return writers, readers


def misspelt_in(view: View) -> set[str]:
    """The tasks that read or write a channel that is not there, and the channels that they may mean."""
    names, others = dict.fromkeys(free_channels(view)), devices(view)
    found: set[str] = set()
    for task in view.tasks():
        for key in ("reads", "writes"):
            for _, name in view.bindings(task, key):
                if "." not in name and name not in names and name not in others:
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
    sources = devices(view)
    for task in view.tasks():
        for key in ("reads", "writes"):
            seen: set[str] = set()
            for here, name in view.bindings(task, key):
                owner, dot, _ = name.rpartition(".")
                if dot and owner in sources:
                    if name in seen:
                        yield view.problem(here, f"{name!r} stands twice; remove one of them")
                elif dot and owner not in view.tasks():
                    known_devices = [device for device in sources if view.mapping("devices", device)]
                    hint = nearest(owner, known_devices, "devices of this description")
                    yield view.problem(here, f"there is no device {owner!r}; {hint}")
                elif dot:
                    yield view.problem(
                        here,
                        f"{name!r} lies between a master and its worker; remove it, or name another",
                    )
                elif name not in known and name not in sources:
                    known_names = [k for k in known if "." not in k]
                    hint = nearest(name, [*known_names, *view.mapping("devices")], "channels")
                    yield view.problem(here, f"there is no channel {name!r}; {hint}")
                elif name in known and name in sources:
                    yield view.problem(
                        here, f"{name!r} is a channel and a device; give one of them another name"
                    )
                elif name in seen:
                    yield view.problem(here, f"{name!r} stands twice; remove one of them")
                seen.add(name)


def _arrivals(view: View) -> Problems:
    writers, readers = ends_of(view)
    for task in view.tasks():
        here = ("tasks", task, "arrival")
        channel = view.text(*here)
        if channel is None:
            continue
        read = [name for name, ends in readers.items() if task in ends]
        if channel not in read:
            yield view.problem(
                here,
                f"the task does not read {channel!r}; {nearest(channel, read, 'channels that it reads')}",
            )
        if "period" in view.mapping("tasks", task):
            yield view.problem(
                here,
                "a periodic task is released by time; remove 'arrival', or write 'min_interarrival'",
                at_key=True,
            )
        elif any(writer not in view.tasks() for writer in writers.get(channel, ())):
            yield from _released_by_a_device(view, task, channel, list(readers.get(channel, ())))


def _released_by_a_device(view: View, task: str, channel: str, readers: Sequence[str]) -> Problems:
    """A device's blocks come no closer than the task that they release says of its jobs.

    The channel says how close they come; where it does not, as close as its fastest reader takes them.
    """
    own = view.parsed(Duration, "tasks", task, "min_interarrival")
    given = view.parsed(Duration, "channels", channel, "min_interarrival")
    apart = [given] if given is not None else [view.interval(reader) for reader in readers]
    nearest_apart = min((one for one in apart if one is not None), default=None)
    if own is None or nearest_apart is None:
        return
    if nearest_apart >= own:
        yield from _closer_than_distances(view, task, channel, nearest_apart)
        return
    who = f"blocks of {channel!r} come {nearest_apart} apart"
    if given is None:
        who += ", as its fastest reader takes them"
    yield view.problem(
        ("tasks", task, "min_interarrival"),
        f"{who}, and each releases a job; write {nearest_apart}, or 'min_interarrival: {own}' for the"
        " channel",
    )


def _closer_than_distances(view: View, task: str, channel: str, apart: Duration) -> Problems:
    place = ("tasks", task, "min_distances")
    for at in range(len(view.sequence(*place))):
        distance, come = view.parsed(Duration, *place, at), Duration((at + 1) * apart.picoseconds)
        if distance is not None and distance > come:
            yield view.problem(
                (*place, at),
                f"{at + 2} blocks of {channel!r} come within {come}, and each releases a job; write {come},"
                " or have the channel's 'min_interarrival' be longer",
            )


def _both_ends(view: View) -> Problems:
    parts, misspelt = {*view.tasks(), *devices(view)}, misspelt_in(view)
    all_writers, all_readers = ends_of(view)
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
    all_writers, all_readers = ends_of(view)
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


CHANNEL_RULES: tuple[Callable[[View], Problems], ...] = (
    _known_parts,
    _known_channels,
    _arrivals,
    _both_ends,
    _kinds,
    _sizes,
    _mailboxes,
)
