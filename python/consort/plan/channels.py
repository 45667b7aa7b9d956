# SPDX-License-Identifier: Apache-2.0
"""The channels and devices of a plan: the implementation of each, its place, and its ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from consort.model import SystemDevice
from consort.model.channel import Chain, Channel
from consort.model.description import System
from consort.model.kinds import Communication
from consort.plan.types import (
    ChannelImplementation,
    DeviceKind,
    PlannedChain,
    PlannedChannel,
    PlannedDevice,
    PlannedTask,
)


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
