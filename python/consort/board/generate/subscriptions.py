# SPDX-License-Identifier: Apache-2.0
"""The messages between devices and three-phase tasks: message boxes and subscriptions."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address

from consort.base.errors import BadInput
from consort.board.generate.kernel import Box, Subscribed
from consort.model import System
from consort.model.channel import Channel


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
                "how long its longest message is decides the buffers; add its size",
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
                "what comes from a device reaches a three-phase task by a subscription; write 'kind:"
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
            f"{text!r} is no flow that the kernel can compare: a number below 2^32, or the leading bits of"
            " one, such as 0x12000000/8 or 10.0.0.0/8",
            file=system.file,
            field=f"channels.{channel}.flow",
        )
    mask = (2**32 - 1) << (32 - length) & (2**32 - 1)
    return value & mask, mask
