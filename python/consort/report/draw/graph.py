# SPDX-License-Identifier: Apache-2.0
"""A system as a diagram shows it, without positions: columns of cores and tasks, and wires."""

from __future__ import annotations

from consort.model import Platform, System
from consort.report.draw.layout import STUB_HEIGHT, TASK_HEIGHT, Column, Lane, Node, Wire
from consort.report.draw.svg import plain


def columns_of(platform: Platform, system: System | None) -> list[Column]:
    """A column for each processor, with its cores and what is placed on them."""
    columns = []
    for processor in platform.processors:
        names = [n for n in platform.core_names() if platform.core(n).processor_name == processor]
        used = [n for n in names if system is None or n in system.cores()]
        # A platform may name more cores than anyone wants to see.
        shown, idle = used[:16], [n for n in names if n not in used[:16]]
        lanes = [Lane(name, _nodes(system, name) if system is not None else []) for name in shown]
        column = Column(processor, lanes)
        if idle:
            word = "more" if system is None else "unused"
            column.idle = f"{word}: {', '.join(idle)}" if len(idle) <= 4 else f"{len(idle)} more cores"
        columns.append(column)
    if system is not None and any(column.lanes for column in columns):
        columns = [column for column in columns if column.lanes]
    return columns


def _nodes(system: System, core: str) -> list[Node]:
    nodes = [Node(name, TASK_HEIGHT) for name in system.tasks_on(core)]
    mastered = [name for name, task in system.tasks.items() if task.master == core]
    return [Node(stub(name), STUB_HEIGHT) for name in mastered] + nodes


def stub(task: str) -> str:
    """The key of a master's work for a task."""
    return f"{task} (master)"


def wires_of(system: System) -> list[Wire]:
    """A wire for each channel between tasks, or from a device to a task."""
    wires = []
    for name, task in system.tasks.items():
        if task.master is None:
            continue
        ends = [system.channel(f"{name}.{end}") for end in ("in", "out")]
        sizes = [plain(channel.size) for channel in ends if channel.size is not None]
        memories = list(dict.fromkeys(channel.memory for channel in ends if channel.memory is not None))
        line = " · ".join(["mailboxes", *(["/".join(sizes)] if sizes else []), *memories])
        lines = (f"{name}.in/.out", line)
        wires.append(Wire(f"{name}.in/.out", lines, stub(name), [name], both_ways=True, kind="periodic"))
    for name in system.channels:
        if "." in name:
            continue
        channel, writer = system.channel(name), system.writer(name)
        what: list[str] = [channel.implemented_by if channel.flow is None else f"flow {channel.flow}"]
        if channel.size is not None:
            many = f"{channel.capacity} × " if channel.capacity else ""
            what.append(many + plain(channel.size))
        what += [channel.memory] if channel.memory is not None else []
        is_task = writer in system.tasks
        readers = [reader for reader in system.readers(name) if reader in system.tasks]
        if readers and writer is not None:
            lines = (name, " · ".join(what))
            device = None if is_task else writer
            wires.append(Wire(name, lines, writer if is_task else None, readers, device, kind=channel.kind))
    return wires + _played(system)


def _played(system: System) -> list[Wire]:
    """A wire for each device that a task reads or writes itself: a plant, a driver, a recording, a sink."""
    wires = []
    for task, described in system.tasks.items():
        read, written = (
            [part.partition(".")[0] for _, part in described.bound_to(key)] for key in ("reads", "writes")
        )
        for name in dict.fromkeys([*read, *written]):
            device = system.devices.get(name)
            if device is None:
                continue
            how = ("plant", "driver", "recording", "function", "sink")
            facts = [word for word in how if getattr(device, word) is not None] or ["device"]
            facts += [f"every {plain(device.period)}"] if device.period is not None else []
            facts += [device.description] if device.description else []
            both = name in read and name in written
            wires.append(
                Wire(
                    f"{name} of {task}",
                    (name, " · ".join(facts)),
                    None if name in read else task,
                    [task] if name in read else [],
                    both_ways=both,
                    plays=name,
                )
            )
    return wires
