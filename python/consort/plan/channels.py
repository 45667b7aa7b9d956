# SPDX-License-Identifier: Apache-2.0
"""The channels and devices of a plan: the implementation of each, its place, and its ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from consort.base.errors import BadInput
from consort.model import SystemDevice
from consort.model.channel import Chain, Channel, Communication
from consort.model.description import System
from consort.model.document import Location
from consort.model.memories import Link
from consort.plan.types import (
    ChannelImplementation,
    DeviceKind,
    Plan,
    PlannedChain,
    PlannedChannel,
    PlannedDevice,
    PlannedTask,
)

if TYPE_CHECKING:
    from consort.plan.targets import Target


def chains_through(
    chains: Mapping[str, Chain] | Mapping[str, PlannedChain], writer: str | None, readers: Collection[str]
) -> dict[str, Communication]:
    """The chains that pass through a channel with these ends, and their communication."""
    return {
        name: chain.communication
        for name, chain in chains.items()
        if any(
            first == writer and second in readers
            for first, second in zip(chain.path, chain.path[1:], strict=False)
        )
    }


def channel_communication(system: System, channel: str) -> Communication:
    """The channel's own communication; without one, let if every chain through it is let."""
    given = system.channels[channel].communication if channel in system.channels else None
    if given is not None:
        return given
    through = chains_through(system.chains, system.writer(channel), system.readers(channel))
    return "let" if set(through.values()) == {"let"} else "implicit"


def plan_channels(system: System, tasks: Mapping[str, PlannedTask]) -> dict[str, PlannedChannel]:
    """The described channels, and those between masters and workers."""
    planned = {}
    names = dict.fromkeys(system.channels)
    for name, task in tasks.items():
        if task.worker is not None:
            names |= dict.fromkeys((f"{name}.in", f"{name}.out"))
    for name in names:
        owner, dot, end = name.rpartition(".")
        if dot:
            # One that only a mode offloads has these channels in that mode.
            if tasks[owner].worker is not None:
                planned[name] = _exchange(system, name, tasks[owner], end)
        else:
            planned[name] = _free(system, name, tasks)
    return planned


def _exchange(system: System, name: str, task: PlannedTask, end: str) -> PlannedChannel:
    """The mailbox for the requests, or the answers, of an offloaded task."""
    described = system.channel(name)
    cores = (task.core, task.worker) if end == "in" else (task.worker, task.core)
    return PlannedChannel(
        name=name,
        implementation="mailbox",
        writer=task.name,
        readers=(task.name,),
        writer_core=cores[0],
        reader_cores=(cores[1],),
        capacity=1,
        memory=described.memory,
        bytes=None if described.size is None else described.size.bytes,
        communication="implicit",
        exchange_of=task.name,
        described=name in system.channels,
    )


def _free(system: System, name: str, tasks: Mapping[str, PlannedTask]) -> PlannedChannel:
    described, communication = system.channel(name), channel_communication(system, name)
    writer, readers = system.writer(name), tuple(system.readers(name))
    assert writer is not None, "a checked channel has a writer"
    implementation = _implementation(described, communication)
    apart = system.messages_apart(name, readers)
    return PlannedChannel(
        name=name,
        implementation=implementation,
        writer=writer,
        readers=readers,
        writer_core=tasks[writer].core if writer in tasks else None,
        reader_cores=tuple(tasks[reader].core if reader in tasks else None for reader in readers),
        capacity=_capacity(described, implementation, writer, readers, tasks),
        memory=described.memory,
        bytes=None if described.size is None else described.size.bytes,
        communication=communication,
        flow=described.flow,
        min_interarrival_ps=(
            None if described.min_interarrival is None else described.min_interarrival.picoseconds
        ),
        messages_apart_ps=0 if writer in tasks or apart is None else apart.picoseconds,
    )


def _implementation(described: Channel, communication: Communication) -> ChannelImplementation:
    """Under logical execution time a ring of versions, each with the instant from which it can be read."""
    if communication == "let" and described.implementation is None and described.implemented_by != "queue":
        return "versions"
    return described.implemented_by


def _capacity(
    described: Channel,
    implementation: ChannelImplementation,
    writer: str,
    readers: tuple[str, ...],
    tasks: Mapping[str, PlannedTask],
) -> int | None:
    if implementation == "mailbox":
        return 1
    if implementation == "versions":
        return versions_needed(writer, readers, tasks)
    return described.capacity


def versions_needed(writer: str, readers: tuple[str, ...], tasks: Mapping[str, PlannedTask]) -> int | None:
    """Slots of a ring of versions such that none is written again while a reader may copy it.

    Version v is written from the writer's release on and can be read from its deadline D on; a reader ends
    its copy at most L after its own release, where L is its deadline if it holds. The slot is written again K
    periods T later: K = 1 + ceil((D + L) / T), the largest of all readers. None where the writer is a device.
    """
    if writer not in tasks:
        return None
    source = tasks[writer]
    latest = max((tasks[reader].deadline_ps for reader in readers if reader in tasks), default=0)
    return 1 + -(-(source.deadline_ps + latest) // source.period_ps)


def plan_devices(system: System) -> dict[str, PlannedDevice]:
    """The system's devices, and those of its platform that something uses."""
    used = _device_users(system)
    names = [*system.devices, *(name for name in system.platform_description.devices if name in used)]
    return {name: _device(system, name, *used.get(name, ((), ()))) for name in names}


def _device(system: System, name: str, readers: tuple[str, ...], writers: tuple[str, ...]) -> PlannedDevice:
    device = system.device(name)
    assert device is not None
    form = device.form if isinstance(device, SystemDevice) else None
    kinds: dict[str | None, DeviceKind] = {"sink": "record", None: "described"}
    own = device if isinstance(device, SystemDevice) and form is not None else None
    reference = None if own is None or form is None else getattr(own, form)
    if reference == "record":
        reference = None
    return PlannedDevice(
        name=name,
        kind=kinds.get(form, form),  # type: ignore[arg-type]
        reference=reference if form == "recording" or reference is None else str(reference),
        arguments={} if own is None else own.arguments,
        period_ps=None if own is None or own.period is None else own.period.picoseconds,
        readers=readers,
        writers=writers,
        is_a=device.kind,
        rate=None if device.rate is None else str(device.rate),
        description=device.description,
    )


def _device_users(system: System) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The tasks that read and that write each used device, directly or by a channel."""
    users: dict[str, tuple[dict[str, None], dict[str, None]]] = {}

    def use(device: str | None, way: int, tasks: list[str]) -> None:
        if device is not None and device not in system.tasks and system.device(device) is not None:
            users.setdefault(device, ({}, {}))[way].update(dict.fromkeys(tasks))

    for name, task in system.tasks.items():
        for way, bound in enumerate((task.bound_to("reads"), task.bound_to("writes"))):
            for _, source in bound:
                if source not in system.channels:
                    use(
                        source if system.device(source) is not None else source.rpartition(".")[0],
                        way,
                        [name],
                    )
    for name in system.channels:
        if "." not in name:
            writer, readers = system.writer(name), system.readers(name)
            use(writer, 0, [reader for reader in readers if reader in system.tasks])
            for reader in readers:
                use(reader, 1, [writer] if writer in system.tasks else [])
    return {name: (tuple(read), tuple(written)) for name, (read, written) in users.items()}


At = Callable[[Location, str], BadInput]
# Implementations that hold each block until it was read, so that a transfer has a block to move.
CARRIED = ("mailbox", "queue")
# The targets whose executive has an engine for it.
EXECUTED_ON = ("linux", "virtual")


def dropping(plan: Plan) -> tuple[PlannedChannel, ...]:
    """The channels to tasks that hand out the oldest block, and drop one that finds no room, if it is known
    how many they hold and when their blocks come."""
    return tuple(
        channel
        for channel in plan.carried
        if channel.reads_oldest
        and channel.capacity is not None
        and plan.tasks.keys() >= set(channel.readers)
        and (channel.writer in plan.tasks or _sent_in_turn(plan, channel))
    )


def sent_by_devices(plan: Plan) -> tuple[PlannedChannel, ...]:
    """The channels in which devices send what may be dropped, a block each `messages_apart_ps`."""
    return tuple(channel for channel in dropping(plan) if channel.writer not in plan.tasks)


def _sent_in_turn(plan: Plan, channel: PlannedChannel) -> bool:
    """True if a device sends the blocks of a channel one after the other, and no job waits for them."""
    return (
        channel.messages_apart_ps > 0
        and all(plan.tasks[reader].arrival != channel.name for reader in channel.readers)
        and link_of(plan, channel) is None
    )


def in_order_between(plan: Plan, writer: str, reader: str) -> tuple[PlannedChannel, ...]:
    """The channels between two tasks if each hands out the oldest block, one a job; else none."""
    if plan.takes_several(reader):
        return ()  # all that wait, and so the newest
    between = tuple(c for c in plan.channels.values() if c.writer == writer and reader in c.readers)
    return between if all(c.reads_oldest for c in between) else ()


def link_of(plan: Plan, channel: PlannedChannel) -> Link | None:
    """The link that a channel is on."""
    return None if channel.memory is None else plan.platform.links.get(channel.memory)


def on_link(plan: Plan, link: str) -> list[PlannedChannel]:
    """The channels on a link."""
    if link not in plan.platform.links:
        return []
    return [channel for channel in plan.channels.values() if channel.memory == link]


def links_of(plan: Plan) -> list[str]:
    """The links that carry channels of a plan, in the platform's order."""
    return [link for link in plan.platform.links if on_link(plan, link)]


def ends_of(plan: Plan, channel: PlannedChannel, core: str) -> str:
    """The memory at a core's end of the channel's link; the channel was planned without a problem."""
    link = link_of(plan, channel)
    assert link is not None
    return link.sides[plan.cores[core].processor]


def link_problems(plan: Plan, target: Target, at: At) -> Iterator[BadInput]:
    """Obstacles to planning channels on links for a target."""
    for name, channel in plan.channels.items():
        link = link_of(plan, channel)
        if link is None:
            continue
        wrong = _wrong(plan, channel, link) or _not_executed(plan, channel, target)
        if wrong:
            yield at(("channels", name, "memory"), wrong)


def _not_executed(plan: Plan, channel: PlannedChannel, target: Target) -> str:
    if not target.executes:
        return ""
    if target.name not in EXECUTED_ON:
        return (
            f"{target.name} moves no blocks over a link: {' and '.join(EXECUTED_ON)} do; name a memory that"
            " both sides reach to run it there"
        )
    released = [name for name in channel.readers if plan.tasks[name].arrival == channel.name]
    if released:
        return (
            f"{released[0]} is released by the blocks of this channel, and a link's engine releases nobody;"
            " write 'min_interarrival' only, or name a memory"
        )
    if plan.changes is not None:
        return (
            "the run goes from mode to mode, and a link's engine takes part in no change; run one mode with"
            " --mode, or name a memory"
        )
    return ""


def _wrong(plan: Plan, channel: PlannedChannel, link: Link) -> str:
    """The reason that the link cannot carry the channel; empty if it can."""
    memories, name = plan.platform.memories, channel.memory
    near = [end for end in link.between if end in memories]
    if len(near) != 2:
        return (
            f"the link {name!r} joins {' and '.join(map(repr, link.between))}; a channel lies on a link"
            " between two memories"
        )
    if channel.exchange_of is not None:
        return (
            f"the requests and answers of {channel.exchange_of!r} lie in a memory that master and worker"
            f" reach, and {name!r} is a link; name a memory"
        )
    cores = [channel.writer_core, *channel.reader_cores]
    if None in cores:
        return f"a device is at one end, and {name!r} carries blocks from task to task; name a memory"
    sides = []
    for core in cores:
        processor = plan.cores[str(core)].processor
        if processor not in link.sides:
            return (
                f"the link {name!r} does not say at which end {processor} is ({core}); add it to the"
                f" platform, for example 'sides: {{{processor}: {near[0]}}}'"
            )
        sides.append(link.sides[processor])
    for core, side in zip(cores[1:], sides[1:], strict=True):
        if side == sides[0]:
            return (
                f"{cores[0]} and {core} are both at the end {side!r} of the link {name!r}; write"
                f" 'memory: {side}'"
            )
    if channel.implementation not in CARRIED:
        return (
            f"a {channel.implementation} lies in memory that both sides reach, and {name!r} is a link, which"
            " moves each block once; write 'kind: queue' with its capacity, or name a memory"
        )
    if channel.communication == "let":
        return (
            f"under logical execution time a block counts from an instant on, and {name!r} delivers it when"
            " it is there; write 'communication: implicit', or name a memory"
        )
    return ""


def releasing(plan: Plan, task: str) -> PlannedChannel | None:
    """The channel whose blocks release the task; None: it is released otherwise, or by a device's blocks."""
    arrival = plan.tasks[task].arrival
    channel = None if arrival is None else plan.channels[arrival]
    return channel if channel is not None and channel.writer in plan.tasks else None


def not_followed(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Tasks whose releases by other tasks' blocks simulated and virtual time do not follow, the channels, and
    why."""
    for task in plan.tasks:
        channel = releasing(plan, task)
        if channel is None:
            continue
        why = None
        if plan.tasks[task].execution == "three-phase":
            why = "the kernel of three-phase cores releases its tasks by the clock"
        elif plan.tasks[channel.writer].execution == "three-phase":
            why = f"{channel.writer!r} is three-phase, and such cores are simulated by themselves"
        elif link_of(plan, channel) is not None:
            why = f"its blocks come over the link {channel.memory!r}, which is simulated after all jobs"
        if why is not None:
            yield task, channel.name, why
