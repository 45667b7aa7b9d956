# SPDX-License-Identifier: Apache-2.0
"""Segments of a server on this machine as memory of a virtual machine that QEMU runs.

Nothing of Consort stays behind an attach. QEMU holds two descriptors: the segment's memory, which is the
backend of the guest's device, and the connection to the server, as a character device that nothing reads. The
server keeps a segment as long as its connection is open, so it has the room again when QEMU drops the
connection (`detach`) or ends in whatever way, and not before.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from consort.base.children import finished
from consort.base.errors import BadInput, ConsortError, EnvironmentLacks, SystemFails

from consort_remote.guest_answers import TICK_S, grown, removed, shrunk, taken
from consort_remote.pager import Attachment
from consort_remote.qmp import Monitor, Refused
from consort_remote.toolchain import remote_part

# The unit of a device's size: Linux's memory block on most machines; QEMU's of virtio-mem.
BLOCKS = {"pc-dimm": 128 << 20, "virtio-mem": 2 << 20}
DEVICES = tuple(BLOCKS)
KINDS = {"dimm": "pc-dimm", "virtio-mem": "virtio-mem"}
PREFIX = "consort-"
NAME = re.compile(rf"{PREFIX}[1-9][0-9]*")
DROP_S = 10.0
# QEMU's words where a device of memory cannot be, and the remedy.
HOW = (
    (("maxmem", "slots", "not enough space"), "start the machine with room: -m 2G,slots=4,maxmem=8G"),
    (("hotplugging", "No 'PCI' bus"), "name a free bus of the machine that takes devices: --bus ID"),
)


@dataclass(frozen=True)
class Attached:
    """A segment of a virtual machine. Sizes in bytes."""

    id: str
    device: str
    size: int
    in_guest: int
    """Memory that the guest uses, or may: all of a pc-dimm, the plugged part of a virtio-mem."""
    address: int | None
    node: int | None
    state: str
    """`attached`; `lost`: its server is, the memory is not; `given back`: by the guest, after a detach that
    did not wait so long. A further detach gives the server its room."""


@contextmanager
def lent(wanted: Attachment) -> Iterator[tuple[int, int]]:
    """A new segment: the descriptors of its memory, and of the connection for which the server keeps it."""
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with own, other:
        command = [str(remote_part("lend")), "--server", wanted.servers[0], "--key", str(wanted.key)]
        command += ["--bytes", str(wanted.size), "--to", str(other.fileno())]
        done = finished(command, pass_fds=[other.fileno()])
        if done.returncode != 0:
            words = done.stderr.strip().removeprefix("consort-remote-lend: ")
            if done.returncode == BadInput.exit_status:
                raise BadInput(words)
            raise EnvironmentLacks(words, "start one: consort remote serve --size 4GiB")
        _, (memory, connection), _, _ = socket.recv_fds(own, 1, 2)
    try:
        yield memory, connection
    finally:
        os.close(memory)
        os.close(connection)


def wanted_of(text: str, device: str) -> Attachment:
    """`NAME,size=SIZE[,key=FILE]` of a server on this machine; `BadInput` where it is none of that."""
    where, *rest = text.split(",")
    for part in rest:
        if part.partition("=")[0] not in ("size", "key"):
            raise BadInput(f"{part!r}: with --qmp only size= and key= are expected", field="NAME")
    if ":" in where or "+" in where:
        raise BadInput(
            f"{where!r} is not a server of this machine: the guest's memory is the server's own", field="NAME"
        )
    found = Attachment.parse(text)
    if found.size % BLOCKS[device]:
        raise BadInput(
            f"{found.size} bytes are not a multiple of {BLOCKS[device] >> 20}MiB, a block of {device}",
            field="NAME: size",
        )
    return found


def attach(
    monitor: Monitor, wanted: Attachment, device: str, node: int | None, bus: str | None, patience_s: float
) -> str:
    """Attaches a segment and waits until the guest has taken it; its name. What fails is undone."""
    _expect_running(monitor)
    name = _free_name(monitor)
    with lent(wanted) as (memory, connection):
        try:
            _give(monitor, name, wanted.size, memory, connection)
            words: dict[str, Any] = {"id": name, "memdev": f"{name}-memory"}
            words |= {} if node is None else {"node": node}
            words |= {} if bus is None else {"bus": bus}
            if device == "virtio-mem":
                # Memory that the server promised is there when the guest gets it: else QEMU refuses the
                # block.
                monitor.ask("device_add", {"driver": "virtio-mem-pci", "prealloc": True} | words)
            else:
                monitor.ask("device_add", {"driver": "pc-dimm"} | words)
        except BaseException as error:
            _drop(monitor, name)
            if isinstance(error, Refused):
                raise BadInput(f"the machine takes no {device}: {_with_advice(str(error))}") from None
            raise
    try:
        if device == "virtio-mem":
            grown(monitor, name, wanted.size, patience_s)
        else:
            taken(monitor, name, patience_s)
    except ConsortError as error:
        try:
            _remove(monitor, name, device, patience_s)
        except ConsortError as also:
            raise SystemFails(f"{error}; {name} stays: {also}") from None
        raise
    return name


def detach(monitor: Monitor, name: str, patience_s: float) -> str:
    """Takes the segment back from the guest, and gives it back to its server; what was done, in words.

    Refused where the guest does not give its memory back in time; the segment stays attached then.
    """
    kinds = {each["data"]["id"]: KINDS[each["type"]] for each in _devices(monitor)}
    if name in kinds:
        _expect_running(monitor)
        _remove(monitor, name, kinds[name], patience_s)
        return "detached"
    if name in _held(monitor):
        _drop(monitor, name)
        return "detached; no device used it any more"
    raise BadInput(f"the machine has no {name}; see: consort remote list --qmp {monitor.path}")


def attached(monitor: Monitor) -> list[Attached]:
    """The attached segments."""
    states = {
        each["label"]: "lost" if each["filename"].startswith("disconnected") else "attached"
        for each in monitor.ask("query-chardev")
    }
    found = []
    for each in _devices(monitor):
        data, kind = each["data"], KINDS[each["type"]]
        dimm = kind == "pc-dimm"
        found.append(
            Attached(
                data["id"],
                kind,
                data["size"] if dimm else data["max-size"],
                data["size"],
                data["addr"] if dimm else data["memaddr"],
                data["node"],
                states.get(f"{data['id']}-server", "lost"),
            )
        )
    there = {each.id for each in found}
    for name, size in sorted(_held(monitor).items()):
        if name not in there:
            found.append(Attached(name, "none", size, 0, None, None, "given back"))
    return found


def _give(monitor: Monitor, name: str, size: int, memory: int, connection: int) -> None:
    """Both descriptors go to QEMU: the connection first, so that its memory is never there without it."""
    monitor.ask("getfd", {"fdname": f"{name}-server"}, [connection])
    address = {"type": "fd", "data": {"str": f"{name}-server"}}
    backend = {"type": "socket", "data": {"addr": address, "server": False}}
    try:
        monitor.ask("chardev-add", {"id": f"{name}-server", "backend": backend})
    except Refused:
        monitor.ask("closefd", {"fdname": f"{name}-server"})
        raise
    given = monitor.ask("add-fd", descriptors=[memory])
    try:
        # QEMU opens files of memory by name alone: this is its own descriptor. Writes have to reach the file.
        monitor.ask(
            "object-add",
            {
                "qom-type": "memory-backend-file",
                "id": f"{name}-memory",
                "mem-path": f"/proc/self/fd/{given['fd']}",
                "size": size,
                "share": True,
            },
        )
    finally:
        monitor.ask("remove-fd", {"fdset-id": given["fdset-id"]})


def _remove(monitor: Monitor, name: str, device: str, patience_s: float) -> None:
    """The guest gives its memory up, the device goes, then what was behind it."""
    if device == "virtio-mem":
        shrunk(monitor, name, patience_s)
    removed(monitor, name, device, patience_s)
    _drop(monitor, name)


def _drop(monitor: Monitor, name: str) -> None:
    """The memory, then the connection: only now may the server give its room to others."""
    deadline = time.monotonic() + DROP_S
    while f"{name}-memory" in {each.get("id") for each in monitor.ask("query-memdev")}:
        try:
            monitor.ask("object-del", {"id": f"{name}-memory"})
        except Refused as error:
            # A device that is deleted lets go of its memory a little later.
            if time.monotonic() > deadline:
                raise SystemFails(f"{name} stays: QEMU does not let its memory go ({error})") from None
            time.sleep(TICK_S)
    with suppress(Refused):
        monitor.ask("chardev-remove", {"id": f"{name}-server"})


def _devices(monitor: Monitor) -> list[dict[str, Any]]:
    """Devices of memory that an attach made."""
    return [
        each
        for each in monitor.ask("query-memory-devices")
        if each["type"] in KINDS and NAME.fullmatch(each["data"].get("id", ""))
    ]


def _held(monitor: Monitor) -> dict[str, int]:
    """The segments that QEMU has a connection to a server for, with their sizes (0: no memory is left)."""
    sizes = {each.get("id"): each["size"] for each in monitor.ask("query-memdev")}
    labels = [each["label"] for each in monitor.ask("query-chardev")]
    names = [label.removesuffix("-server") for label in labels if label.endswith("-server")]
    return {name: sizes.get(f"{name}-memory", 0) for name in names if NAME.fullmatch(name)}


def _free_name(monitor: Monitor) -> str:
    taken_names = {each["data"]["id"] for each in _devices(monitor)} | _held(monitor).keys()
    return next(name for number in count(1) if (name := f"{PREFIX}{number}") not in taken_names)


def _expect_running(monitor: Monitor) -> None:
    status = monitor.ask("query-status")["status"]
    if status != "running":
        raise BadInput(f"the machine is {status}: a guest that stands still gives no answer", field="--qmp")


def _with_advice(words: str) -> str:
    return next((f"{words}; {how}" for parts, how in HOW if any(part in words for part in parts)), words)
