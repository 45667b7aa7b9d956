# SPDX-License-Identifier: Apache-2.0
"""Answers of a virtual machine's guest to memory that comes or is to go, as QEMU reports them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from consort.base.errors import EnvironmentLacks, SystemFails

from consort_remote.qmp import Monitor, Refused

# Memory of a virtio-mem is asked for and given back in pieces of this size: Linux's memory block on most
# machines.
PIECE = 128 << 20
TICK_S = 0.25
# ACPI's notifications, and what a guest answers to them (_OST).
DEVICE_CHECK, EJECT_REQUEST = 1, 3
EJECT_IN_PROGRESS = 0x84
EJECT_ANSWERS = {
    0x01: "failure",
    0x80: "it cannot eject memory",
    0x81: "the memory is in use",
    0x82: "the memory is busy",
    0x83: "what depends on it is busy",
}


def taken(monitor: Monitor, name: str, patience_s: float) -> None:
    """Waits until the guest has answered to a pc-dimm that was plugged."""
    deadline = time.monotonic() + patience_s
    while (event := monitor.event(deadline)) is not None:
        status = _answer(event, name, DEVICE_CHECK)
        if status == 0:
            return
        if status is not None:
            raise SystemFails(f"the guest does not take the memory (_OST status {status:#x})")
    raise SystemFails(
        f"the guest did not answer in {patience_s:g} s: it still boots, or knows no ACPI memory hot-plug"
    )


def grown(monitor: Monitor, name: str, size: int, patience_s: float) -> None:
    """Offers the memory of a virtio-mem, a piece when the guest has taken the one before. The guest may take
    `patience_s` for each."""
    block = int(monitor.ask("qom-get", {"path": _path(name), "property": "block-size"}))
    piece = -(-PIECE // block) * block
    for end in range(piece, size + piece, piece):
        wanted = min(end, size)
        got = _sized(monitor, name, wanted, patience_s)
        if got != wanted:
            raise SystemFails(
                f"the guest took {got} of {wanted} bytes and then none for {patience_s:g} s: it has no driver"
                " for virtio-mem, or its memory blocks are larger than what is left"
            )


def shrunk(monitor: Monitor, name: str, patience_s: float) -> None:
    """Asks the guest for all memory of a virtio-mem. Where it keeps some, it is offered again what it had."""
    path = _path(name)
    before = monitor.ask("qom-get", {"path": path, "property": "requested-size"})
    left = _sized(monitor, name, 0, patience_s)
    if left != 0:
        monitor.ask("qom-set", {"path": path, "property": "requested-size", "value": before})
        raise SystemFails(
            f"the guest keeps {left} bytes, and gave none back for {patience_s:g} s: they are in use, and "
            "cannot be moved to memory of its own"
        )


def removed(monitor: Monitor, name: str, device: str, patience_s: float) -> None:
    """Asks the guest for the device and waits until it is deleted."""
    try:
        monitor.ask("device_del", {"id": name})
    except Refused as error:
        if device == "virtio-mem" and "cannot be unplugged" in str(error):
            raise EnvironmentLacks(
                f"the guest has given its memory back, but QEMU {monitor.version} cannot remove a "
                "virtio-mem: it stays, empty, and the server has its room again when the machine ends",
                "use QEMU 8.1 or later",
            ) from None
        if error.kind == "DeviceNotFound":
            # The guest gave it back this moment, after a detach before this one.
            return
        if "already in the process of unplug" not in str(error):
            raise SystemFails(f"QEMU does not remove the device: {error}") from None
    deadline = time.monotonic() + patience_s
    while (event := monitor.event(deadline)) is not None:
        data = event.get("data", {})
        if data.get("device") == name:
            if event["event"] == "DEVICE_DELETED":
                return
            if event["event"] in ("DEVICE_UNPLUG_GUEST_ERROR", "MEM_UNPLUG_ERROR"):
                raise SystemFails(
                    "the guest keeps the memory" + (f": {data['msg']}" if "msg" in data else "")
                )
        status = _answer(event, name, EJECT_REQUEST)
        if status not in (None, 0, EJECT_IN_PROGRESS):
            words = EJECT_ANSWERS.get(status, "refused")
            raise SystemFails(f"the guest keeps the memory: {words} (_OST status {status:#x})")
    raise SystemFails(
        f"the guest did not give the memory back in {patience_s:g} s: it is in use, or the guest does not "
        "answer. It may do so later; detach it again then"
    )


def _answer(event: dict[str, Any], name: str, source: int) -> int | None:
    """The status of the guest's answer to an ACPI notification of this device; None: it is no such answer."""
    info = event.get("data", {}).get("info", {})
    if event["event"] != "ACPI_DEVICE_OST" or info.get("device") != name:
        return None
    # The firmware may have added flags to the kind of notification.
    return int(info["status"]) if int(info["source"]) & 0xFF == source else None


def _path(name: str) -> str:
    return f"/machine/peripheral/{name}"


def _sized(monitor: Monitor, name: str, wanted: int, patience_s: float) -> int:
    """Asks for this size, and the size that there is when it is reached, or did not change for so long."""
    path = _path(name)
    monitor.ask("qom-set", {"path": path, "property": "requested-size", "value": wanted})

    def size() -> int:
        return int(monitor.ask("qom-get", {"path": path, "property": "size"}))

    return _settled(monitor, size, wanted, patience_s)


def _settled(monitor: Monitor, size: Callable[[], int], wanted: int, patience_s: float) -> int:
    last = size()
    deadline = time.monotonic() + patience_s
    while last != wanted and time.monotonic() < deadline:
        # QEMU leaves out events of a size that changes often: each is a reason to look, and none says all.
        monitor.event(min(deadline, time.monotonic() + TICK_S))
        if (now := size()) != last:
            last, deadline = now, time.monotonic() + patience_s
    return last
