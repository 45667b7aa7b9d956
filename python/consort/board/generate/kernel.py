# SPDX-License-Identifier: Apache-2.0
"""The content of the scratchpad-centric kernel's tables: cores, tasks, message boxes, subscriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any, Literal

from consort import _engine
from consort.analysis.result import Bound
from consort.base.errors import BadInput
from consort.board.task_image import kernel_image
from consort.model import System
from consort.model.channel import Channel
from consort.model.quantities import DataRate, Duration

# Constants of the kernel's headers [bytes]: the alignment of parts, and a message box without its messages.
PART_ALIGNMENT = _engine.SPM_PART_ALIGNMENT
PARTITIONS = _engine.SPM_PARTITIONS
BOX_HEADER = _engine.SPM_BOX_HEADER
CELL_HEADER = _engine.SPM_CELL_HEADER
PARTS = ("code", "data", "inputs", "outputs")
OnOverrun = Literal["report", "stop-job", "stop-task"]


@dataclass(frozen=True)
class TableOptions:
    """Options of the tables, beside the description."""

    # Where each core's scratchpad begins; what is not here the linker places.
    scratchpads: Mapping[str, int] = field(default_factory=dict)
    # Where the first task's image is in main memory; None: where the linker puts its section.
    images: int | None = None
    objects: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    rate: DataRate | None = None
    setup: Duration | None = None
    on_overrun: OnOverrun = "report"
    force: bool = False
    # The memory region of the program's linker script that takes what has no address; empty: it has none.
    region: str = ""
    # The clock of the I/O core.
    ticks_per_second: int = 10**9


@dataclass(frozen=True)
class Box:
    """A message box: the content of a task's mirror buffer."""

    capacity: int
    payload: int
    keep_all: bool = False

    @property
    def bytes(self) -> int:
        return BOX_HEADER + self.capacity * (CELL_HEADER + -(-self.payload // 8) * 8)


@dataclass(frozen=True)
class Entry:
    """A task of a core: its row of the plan image, the sizes of its parts, its message boxes."""

    name: str
    row: Mapping[str, Any]
    size: dict[str, int]
    input: Box | None = None
    output: Box | None = None

    @property
    def offsets(self) -> dict[str, int]:
        """The offset of each part in a partition, and the end of the last one."""
        at, found = 0, {}
        for part in PARTS:
            found[part] = at
            at += aligned(self.size[part])
        return {**found, "end": at}


@dataclass(frozen=True)
class PlannedCore:
    """An application core, as the kernel numbers them: in the order of the list."""

    name: str
    tasks: tuple[Entry, ...]
    slot: int  # in ticks
    partition_bytes: int
    address: int | None


@dataclass(frozen=True)
class Subscribed:
    """A row of the subscription table."""

    task: str
    channel: str
    flow: int
    mask: int


@dataclass(frozen=True)
class Tables:
    """All that is written down."""

    name: str
    platform: str
    arbitration: str
    ticks_per_second: int
    cores: tuple[PlannedCore, ...]
    subscriptions: tuple[Subscribed, ...]
    tolerance: int  # in ticks
    images: dict[str, tuple[int, int]]  # addresses of code and data
    bounds: tuple[Bound, ...]
    notes: tuple[str, ...]
    late: tuple[str, ...]  # tasks without a bound within their deadline: forced
    lacking: tuple[str, ...]  # figures for want of which nothing is known of them
    region: str = ""

    @property
    def image(self) -> bytes:
        tasks = [task for core in self.cores for task in core.tasks]
        return kernel_image(
            [task.name for task in tasks],
            [task.row for task in tasks],
            [core.slot for core in self.cores],
            self.arbitration,
            self.ticks_per_second,
        )


def aligned(size: int) -> int:
    return -(-size // PART_ALIGNMENT) * PART_ALIGNMENT


def identifier(name: str) -> str:
    """A name as C++ and the linker write it, with something before or behind it: else it may be a keyword."""
    return name.replace("-", "_")


def _carried(system: System, task: str) -> tuple[list[str], list[str]]:
    """The channels from and to devices of a task; `BadInput` for one that the kernel does not carry."""
    reads = [name for name in system.channels if task in system.readers(name)]
    writes = [name for name in system.channels if system.writer(name) == task]
    for name in reads:
        if system.writer(name) in system.tasks:
            raise _not_carried(system, name, task)
    for name in writes:
        if any(reader in system.tasks for reader in system.readers(name)):
            raise _not_carried(system, name, task)
    return reads, writes


def _not_carried(system: System, channel: str, task: str) -> BadInput:
    return BadInput(
        f"the kernel moves messages between devices and tasks, and this channel joins {task!r} to another"
        " task; let it go through a device, or place both ends on cores of another policy",
        file=system.file,
        field=f"channels.{channel}",
    )


def message_boxes(system: System, task: str) -> tuple[Box | None, Box | None]:
    """The boxes of the messages to and from a task; None: there are none."""
    reads, writes = _carried(system, task)
    return _box(system, reads), _box(system, writes)


def _box(system: System, names: list[str]) -> Box | None:
    """The one box that holds the messages of all of a task's channels of one direction."""
    channels: list[tuple[str, Channel]] = [(name, system.channel(name)) for name in names]
    if not channels:
        return None
    payloads = []
    for name, channel in channels:
        if channel.size is None:
            raise BadInput(
                "its longest message decides the buffers; add its size",
                file=system.file,
                field=f"channels.{name}",
            )
        payloads.append(channel.size.bytes)
    return Box(
        sum(channel.capacity or 1 for _, channel in channels),
        max(payloads),
        all(channel.implemented_by == "queue" for _, channel in channels),
    )


def subscriptions_of(system: System, task: str) -> list[Subscribed]:
    """A task's rows of the subscription table."""
    found = []
    for name in _carried(system, task)[0]:
        channel = system.channel(name)
        if channel.kind != "subscription":
            raise BadInput(
                "a device's messages reach a three-phase task by a subscription; write 'kind:"
                " subscription', and its flow",
                file=system.file,
                field=f"channels.{name}.kind",
            )
        flow, mask = flow_of(channel.flow, system, name)
        found.append(Subscribed(task, name, flow, mask))
    return found


def flow_of(flow: int | str | None, system: System, channel: str) -> tuple[int, int]:
    """Flow and mask: a number, or leading bits of one: 0x1200/8, 10.0.0.0/8."""
    text = str(flow)
    number, slash, bits = text.partition("/")
    value: int | None = None
    try:
        value = int(IPv4Address(number)) if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", number) else int(number, 0)
    except (AddressValueError, ValueError):
        value = None
    length = int(bits) if bits.isdecimal() else -1 if slash else 32
    if value is None or not 0 <= value < 2**32 or not 0 <= length <= 32:
        raise BadInput(
            f"{text!r} is not a flow that the kernel can compare: a number below 2^32, or the leading bits of"
            " one, such as 0x12000000/8 or 10.0.0.0/8",
            file=system.file,
            field=f"channels.{channel}.flow",
        )
    mask = (2**32 - 1) << (32 - length) & (2**32 - 1)
    return value & mask, mask
