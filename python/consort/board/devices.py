# SPDX-License-Identifier: Apache-2.0
"""The I/O subsystem of the board's scratchpad kernel: mirror buffers, subscriptions, the line, its other end.

Tables and results are structs of the I/O core's image (the port's devices.hpp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from consort.base.errors import BadInput
from consort.board.description import BoardSpec
from consort.board.layouts import Layouts, packed
from consort.board.rtlinux import quoted

# A frame: Ethernet header and the message's length; the longest message fits a frame of 1,518 bytes.
HEADER, LONGEST = 16, 1500


@dataclass(frozen=True)
class BoxShape:
    """The shape of a message box; the layout is that of include/consort/spm/message_box.hpp."""

    capacity: int = 0
    payload: int = 0

    @property
    def bytes(self) -> int:
        return 16 + self.capacity * (8 + (self.payload + 7) // 8 * 8) if self.capacity else 0


@dataclass(frozen=True)
class Mirror:
    """The mirror buffers of the task-th task of a core."""

    core: int
    task: int
    input: BoxShape = BoxShape()
    output: BoxShape = BoxShape()
    # When the input is full: the new message goes, else the oldest.
    keep_all: bool = False


@dataclass(frozen=True)
class Subscribed:
    """A task takes the messages whose flow is `flow` where the mask has ones."""

    core: int
    task: int
    flow: int
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True)
class Flow:
    """Messages that the node at the other end of the line sends. Times in nanoseconds."""

    flow: int
    bytes: int
    period: int
    count: int
    offset: int = 0


Line = Callable[[Path], Sequence[str]]


@dataclass(frozen=True)
class DeviceSetup:
    """Mirrors and subscriptions; `flows` of the board's own node, or a line to somebody else."""

    mirrors: Sequence[Mirror]
    subscriptions: Sequence[Subscribed]
    flows: Sequence[Flow] = ()
    # The device is the R5F's UART, on a pair of stream sockets; its node is somebody else's.
    serial: bool = False
    # QEMU's options for the first controller; None: both controllers are on one line, the second the node's.
    line: Line | None = None
    # Mirror buffers in the I/O core's on-chip memory; else in main memory, where there is more room.
    on_chip: bool = True
    # Device buffers.
    receive: int = 4
    send: int = 2
    # Buffers of the node in each direction.
    node: int = 64


@dataclass(frozen=True)
class FlowResult:
    """The node's counts for a flow."""

    flow: int
    sent: int
    held_up: int
    returned: int
    lost: int
    repeated: int
    wrong: int
    last: int
    # From the time it is to be sent to its return [ns].
    longest: int

    @property
    def missing(self) -> int:
        """Sent and not come back: numbers left out, and what is behind the last one."""
        return self.sent - self.returned


@dataclass(frozen=True)
class DeviceResult:
    """Counts of the I/O subsystem (include/consort/spm/io.hpp), its driver, and the node."""

    received: int
    unwanted: int
    delivered: int
    lost: int
    sent: int
    overwritten: int
    refused: int
    exhausted: int
    unexpected: int
    longest: int
    flows: tuple[FlowResult, ...]


class Window(Protocol):
    """Memory in which tables are placed."""

    def place(self, content: bytes) -> int: ...

    def reserve(self, count: int) -> int: ...


def hub(folder: Path) -> list[str]:
    """Both controllers on one line."""
    return ["-nic", "hubport,hubid=0", "-nic", "hubport,hubid=0"]


def serial_line(folder: Path) -> str:
    """The UART's end: a stream socket in the board's folder that a program of this machine connects to."""
    return f"socket,path={quoted(folder / 'serial')},server=on,wait=off"


def _ring(buffers: int, message: int) -> int:
    return (buffers * 8 + 8 + 63) // 64 * 64 + buffers * ((message + HEADER + 63) // 64 * 64)


def place_devices(setup: DeviceSetup | None, window: Window, spec: BoardSpec, layouts: Layouts) -> int:
    """Puts the tables into the window; where they begin, 0 without devices."""
    if setup is None:
        return 0
    _check(setup, layouts)
    own = spec.memory["io_core_memory"]
    at, mirrors = 0, []
    on_full = layouts.enumerators("spm::OnFull")
    mirror, subscription, flow, result = (
        layouts.struct(f"scratchpad::{name}")
        for name in ("MirrorRow", "SubscriptionRow", "FlowRow", "FlowResult")
    )
    for m in setup.mirrors:
        places = []
        for box in (m.input, m.output):
            length = (2 * box.bytes + 63) // 64 * 64
            if setup.on_chip:
                places.append(own.address + at)
                at += length
            else:
                places.append(spec.window.address + window.reserve(length))
        mirrors.append(
            packed(
                mirror,
                core=m.core,
                task=m.task,
                input=m.input.capacity,
                input_payload=m.input.payload,
                output=m.output.capacity,
                output_payload=m.output.payload,
                on_full=on_full["refuse" if m.keep_all else "overwrite"],
                input_at=places[0],
                output_at=places[1],
            )
        )
    message = longest(setup)
    rings = 2 * ((message + 5) // 4 * 4) if setup.serial else _ring(setup.receive + setup.send, message)
    if at + rings > own.size.bytes:
        raise BadInput(
            f"mirror buffers of {at} bytes and device buffers of {rings} do not fit into the I/O core's"
            f" {own.size.bytes} bytes"
        )
    subscriptions = [
        packed(subscription, core=s.core, task=s.task, flow=s.flow, mask=s.mask) for s in setup.subscriptions
    ]
    flows = [
        packed(flow, period=f.period, offset=f.offset, flow=f.flow, bytes=f.bytes, count=f.count)
        for f in setup.flows
    ]
    results = layouts.struct("scratchpad::IoResults").itemsize + result.itemsize * len(flows)
    return window.place(
        packed(
            layouts.struct("scratchpad::IoTables"),
            mirrors=len(mirrors),
            mirrors_at=window.place(b"".join(mirrors)),
            subscriptions=len(subscriptions),
            subscriptions_at=window.place(b"".join(subscriptions)),
            rings_at=at,
            receive=setup.receive,
            send=setup.send,
            message=message,
            flows=len(flows),
            flows_at=window.place(b"".join(flows)),
            node_rings_at=window.reserve(_ring(2 * setup.node, message)),
            node_buffers=setup.node,
            results_at=window.reserve(results),
            serial=int(setup.serial),
        )
    )


def longest(setup: DeviceSetup) -> int:
    """Bytes of the longest message."""
    boxes = [box.payload for m in setup.mirrors for box in (m.input, m.output)]
    return max([*boxes, *(f.bytes for f in setup.flows)])


def _check(setup: DeviceSetup, layouts: Layouts) -> None:
    counts = (len(setup.mirrors), len(setup.subscriptions), len(setup.flows))
    mirrors, subscriptions, flows = (
        layouts.constant("scratchpad::IoTables", f"most_{name}")
        for name in ("mirrors", "subscriptions", "flows")
    )
    if any(n > most for n, most in zip(counts, (mirrors, subscriptions, flows), strict=True)):
        raise BadInput(
            f"the board takes up to {mirrors} tasks with messages, {subscriptions} subscriptions,"
            f" {flows} flows"
        )
    if longest(setup) > LONGEST:
        raise BadInput(f"a message of {longest(setup)} bytes; a frame carries up to {LONGEST}")
    for f in setup.flows:
        if setup.serial:
            raise BadInput("the board has no node of its own on the UART's line")
        if f.bytes % 4 or f.bytes < 8:
            raise BadInput(f"flow {f.flow}: the node's messages are words, at least two; not {f.bytes} bytes")


def read_devices(
    setup: DeviceSetup, read: Callable[[int, int], bytes], at: int, layouts: Layouts
) -> DeviceResult:
    """The result that the board wrote behind the tables at `at`."""
    tables, counts, row = (
        layouts.struct(f"scratchpad::{name}") for name in ("IoTables", "IoResults", "FlowResult")
    )
    results = int(np.frombuffer(read(at, tables.itemsize), tables)["results_at"][0])
    found = np.frombuffer(read(results, counts.itemsize), counts)[0]
    rows = np.frombuffer(read(results + counts.itemsize, row.itemsize * len(setup.flows)), row)
    flows = []
    for flow, one in zip(setup.flows, rows, strict=True):
        of = {name: int(one[name]) for name in row.names or ()}
        of["longest"] *= 64
        flows.append(FlowResult(flow.flow, **of))
    return DeviceResult(flows=tuple(flows), **{name: int(found[name]) for name in counts.names or ()})
