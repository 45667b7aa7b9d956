# SPDX-License-Identifier: Apache-2.0
"""Messages through the emulated Versal's Ethernet controller to tasks and back; what becomes of too many."""

from __future__ import annotations

import re
import socket
import struct
from binascii import crc_hqx
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from board_support import board
from consort.base.errors import BadInput
from consort.board.boards import kernel_board, roles
from consort.board.devices import (
    HEADER,
    BoxShape,
    DeviceSetup,
    Flow,
    Mirror,
    Subscribed,
    place_devices,
)
from consort.board.layouts import Layouts
from consort.board.rtlinux import quoted
from consort.board.scratchpad import Given, KernelResult, KernelRun, kernel_images, run_kernel
from consort.board.session import Board
from consort.board.task_image import TaskImage, image_of_text, kernel_row, make_image

US, MS = 1_000, 1_000_000
SLOT = 200 * US
SOURCE = Path(__file__).with_name("echo_task.hpp")
BOX = BoxShape(4, 64)
PERIOD = 4 * MS
TYPE = 0x88B5
# Addresses of the board's controller and of the other end of the line; locally administered.
HERE, THERE = bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 0, 2])


@pytest.fixture(scope="module")
def image() -> TaskImage:
    board("versal")
    return make_image(image_of_text(SOURCE.read_text(encoding="utf-8")), b"", bytes(12), BOX.bytes, BOX.bytes)


def echo(image: TaskImage, name: str, core: int, period: int = PERIOD) -> Given:
    return Given(name, kernel_row(core, 0, period=period, deadline=period), image, lasting=[300 * US])


def two(image: TaskImage, *, keep_all: bool, flows: list[Flow], until: int, **more: object) -> KernelRun:
    """One task a core; flows 16 and 17."""
    devices = DeviceSetup(
        [Mirror(c, 0, BOX, BOX, keep_all=keep_all) for c in (0, 1)],
        [Subscribed(c, 0, 16 + c) for c in (0, 1)],
        flows,
    )
    tasks = [echo(image, "a", 0), echo(image, "b", 1)]
    return KernelRun(tasks, [SLOT, SLOT], until, devices=replace(devices, **more))  # type: ignore[arg-type]


def state(result: KernelResult, task: str) -> tuple[int, int, int]:
    """Messages that the task got, that it was informed of as lost, its jobs."""
    got, lost, jobs = struct.unpack("<3I", result.states[task])
    return got, lost, jobs


def undisturbed(result: KernelResult) -> bool:
    """No slot was missed, nothing else happened than jobs."""
    ordinary = {"release", "load_begin", "load_end", "unload_begin", "unload_end", "slot_wasted"}
    return {kind for kind, times in result.counts.items() if times} <= ordinary


def test_every_message_comes_back_once(image: TaskImage):
    flows = [Flow(16, 64, 2 * MS, 8), Flow(17, 40, 3 * MS, 5, offset=MS)]
    result = run_kernel(two(image, keep_all=True, flows=flows, until=30 * MS))
    again = run_kernel(two(image, keep_all=True, flows=flows, until=30 * MS))
    # Counted: to the tick.
    assert result.devices == again.devices and (result.jobs == again.jobs).all()
    assert (result.events == again.events).all()
    assert undisturbed(result) and result.devices is not None
    found = result.devices
    assert (found.received, found.delivered, found.sent) == (13, 13, 13)
    assert (found.lost, found.overwritten, found.unwanted, found.refused, found.unexpected) == (0, 0, 0, 0, 0)
    for flow, sent in zip(found.flows, (8, 5), strict=True):
        assert (flow.sent, flow.returned, flow.missing, flow.repeated, flow.wrong) == (sent, sent, 0, 0, 0)
        # There with a load, back with its unload: two periods and the slots of one job.
        assert 4 * SLOT < flow.longest < 2 * PERIOD + 6 * SLOT
    assert state(result, "a") == (8, 0, 8) and state(result, "b") == (5, 0, 8)


@pytest.mark.parametrize("keep_all", [False, True])
def test_too_many_messages_are_lost_by_the_policy_and_counted(image: TaskImage, keep_all: bool):
    # Twenty messages within a period of the task, which takes four at a time.
    flows = [Flow(16, 64, 100 * US, 20, offset=5 * MS), Flow(17, 64, 5 * MS, 3)]
    result = run_kernel(two(image, keep_all=keep_all, flows=flows, until=24 * MS))
    assert undisturbed(result) and result.devices is not None
    flood, calm = result.devices.flows
    got, lost, _ = state(result, "a")
    # Nothing disappears that is not counted, by the subsystem and before the task's eyes.
    assert flood.sent == 20 and got + lost == 20 and lost == result.devices.lost > 0
    assert (flood.returned, flood.missing, flood.repeated, flood.wrong) == (got, lost, 0, 0)
    # The newest stay, or those that came first.
    assert (flood.last == 19) is not keep_all
    # The other task does not notice.
    assert (calm.sent, calm.returned) == (3, 3) and state(result, "b")[:2] == (3, 0)


def test_a_flow_that_nobody_wants_is_counted(image: TaskImage):
    flows = [Flow(16, 64, 2 * MS, 4), Flow(99, 64, 2 * MS, 3)]
    result = run_kernel(two(image, keep_all=True, flows=flows, until=16 * MS))
    assert result.devices is not None and result.devices.unwanted == 3
    assert [f.returned for f in result.devices.flows] == [4, 0]


def socket_line(folder: Path) -> list[str]:
    """The first controller on a pair of datagram sockets in the board's folder, a frame a datagram."""
    ends = f"local.type=unix,local.path={quoted(folder / 'line')}"
    ends += f",remote.type=unix,remote.path={quoted(folder / 'peer')}"
    return ["-netdev", f"dgram,id=line,{ends}", "-net", "nic,netdev=line"]


def frame(message: bytes) -> bytes:
    """A message as a node on the line sends it to the board."""
    return HERE + THERE + struct.pack(">H", TYPE) + struct.pack("<H", len(message)) + message


def message_of(content: bytes) -> bytes | None:
    """The message in a frame from the board; None: it carries none."""
    if len(content) < HEADER or content[:6] != THERE or content[12:14] != struct.pack(">H", TYPE):
        return None
    (length,) = struct.unpack_from("<H", content, 14)
    return content[HEADER : HEADER + length] if HEADER + length <= len(content) else None


class HostNode:
    """A process of this machine on the other end of the line, with a socket for a cable."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.sent = 0
        self.back: list[bytes] = []
        self.socket: socket.socket | None = None

    def line(self, folder: Path) -> list[str]:
        self.here, self.there = folder / "peer", folder / "line"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.here))
        self.socket.setblocking(False)
        return list(socket_line(folder))

    @staticmethod
    def message(n: int) -> bytes:
        return struct.pack("<2I", 16 + n % 2, n) + bytes((n * 7 + i) % 256 for i in range(56))

    def __call__(self, _board: Board) -> None:
        assert self.socket is not None
        try:
            while True:
                message = message_of(self.socket.recv(2048))
                if message is not None:
                    self.back.append(message)
        except BlockingIOError:
            pass
        # A few under way, no more than the mirrors hold.
        if self.sent < self.count and self.sent - len(self.back) < 4:
            try:
                self.socket.sendto(frame(self.message(self.sent)), str(self.there))
                self.sent += 1
            except (BlockingIOError, FileNotFoundError, ConnectionRefusedError):
                pass


@pytest.fixture
def node() -> Iterator[HostNode]:
    node = HostNode(12)
    yield node
    if node.socket is not None:
        node.socket.close()


def test_messages_of_a_process_of_this_machine(image: TaskImage, node: HostNode):
    run = two(image, keep_all=True, flows=[], until=3_000 * MS, line=node.line)
    run = replace(run, recorded=1000)

    class Enough(Exception):
        pass

    def watch(board: Board) -> None:
        node(board)
        if len(node.back) == node.count:
            raise Enough

    # It ends when all are back: how long that takes is this machine's affair.
    with pytest.raises(Enough):
        run_kernel(run, watch=watch)
    assert sorted(node.back) == sorted(node.message(n) for n in range(node.count))
    for flow in (16, 17):
        numbers = [struct.unpack_from("<2I", m)[1] for m in node.back if m[0] == flow]
        assert numbers == sorted(numbers)


def connected(path: Path) -> socket.socket | None:
    """None: there is nobody yet."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        made.close()
        return None
    made.setblocking(False)
    return made


def serial_frame(message: bytes) -> bytes:
    """A message as it goes over the UART (the port's uart_device.hpp)."""
    content = message + struct.pack("<H", crc_hqx(message, 0xFFFF))
    escaped = b"".join(bytes([0x7D, b ^ 0x20]) if b in (0x7D, 0x7E) else bytes([b]) for b in content)
    return b"\x7e" + escaped + b"\x7e"


def serial_messages(stream: bytes) -> tuple[list[bytes], bytes]:
    """The messages in the bytes of the UART, and the rest of one that has not come to its end."""
    *parts, rest = stream.split(b"\x7e")
    found = []
    for part in parts:
        content = re.sub(rb"\x7d(.)", lambda m: bytes([m[1][0] ^ 0x20]), part, flags=re.DOTALL)
        if len(content) >= 6 and crc_hqx(content[:-2], 0xFFFF) == int.from_bytes(content[-2:], "little"):
            found.append(content[:-2])
    return found, rest


class SerialNode:
    """A process of this machine on the other end of the R5F's UART."""

    def __init__(self, messages: list[bytes]) -> None:
        self.messages = messages
        self.sent = 0
        self.rest = b""
        self.back: list[bytes] = []
        self.socket: socket.socket | None = None

    def __call__(self, board: Board) -> None:
        if self.socket is None:
            self.socket = connected(board.folder / "serial")
            if self.socket is None:
                return
            # Noise, and a message whose end is lost, must not hurt those behind them.
            self.socket.send(b"noise\x7e" + serial_frame(b"\x10\0\0\0cut off")[:-3] + b"\x7e")
        try:
            while True:
                found, self.rest = serial_messages(self.rest + self.socket.recv(4096))
                self.back += found
        except BlockingIOError:
            pass
        if self.sent < len(self.messages) and self.sent - len(self.back) < 2:
            self.socket.send(serial_frame(self.messages[self.sent]))
            self.sent += 1


def test_messages_over_the_uart(image: TaskImage):
    # All byte values, those that the framing changes among them.
    messages = [
        struct.pack("<2I", 16 + n % 2, n) + bytes((n * 56 + i + 0x70) % 256 for i in range(56))
        for n in range(10)
    ]
    node = SerialNode(messages)
    run = two(image, keep_all=True, flows=[], until=3_000 * MS, serial=True)

    class Enough(Exception):
        pass

    def watch(board: Board) -> None:
        node(board)
        if len(node.back) == len(messages):
            raise Enough

    with pytest.raises(Enough):
        run_kernel(replace(run, recorded=1000), watch=watch)
    assert node.socket is not None
    node.socket.close()
    assert sorted(node.back) == sorted(messages)


def test_frames_of_the_uart_are_taken_apart_again():
    messages = [b"\x7e\x7d\x7e\x7d", bytes(range(256)), b"four"]
    stream = b"boot text" + b"".join(map(serial_frame, messages))
    assert serial_messages(stream) == (messages, b"")
    broken = bytearray(stream)
    broken[broken.index(b"four")] ^= 1
    assert serial_messages(bytes(broken))[0] == messages[:2]
    assert serial_messages(stream[:-1]) == (messages[:2], stream[-7:-1])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mirrors": [Mirror(0, 0, BoxShape(20, 1024), BoxShape(9, 1024))]}, "do not fit into the I/O"),
        ({"flows": [Flow(1, 1600, MS, 1)]}, "a frame carries up to 1500"),
        ({"flows": [Flow(1, 63, MS, 1)]}, "are words"),
        ({"serial": True}, "no node of its own on the UART"),
        ({"subscriptions": [Subscribed(0, 0, n) for n in range(33)]}, "up to 16 tasks with messages"),
    ],
)
def test_what_the_device_cannot_carry_is_refused(change: dict[str, object], why: str):
    board("versal")
    setup = DeviceSetup([Mirror(0, 0, BOX, BOX)], [Subscribed(0, 0, 1)], [Flow(1, 64, MS, 1)])
    spec = kernel_board()
    layouts = Layouts(kernel_images(spec)[roles(spec)[1].name])

    class Window:
        def place(self, content: bytes) -> int:
            return 0

        def reserve(self, count: int) -> int:
            return 0

    with pytest.raises(BadInput, match=why):
        place_devices(replace(setup, **change), Window(), spec, layouts)  # type: ignore[arg-type]
