# SPDX-License-Identifier: Apache-2.0
"""The kernel module that is loaded here: segments attached, onlined movable, listed, detached."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks, SystemFails

SYS = Path("/sys")
# Errors that another use, another link state or more time could change: the segment is as it was.
FAILS = {errno.EBUSY, errno.ENOLINK, errno.ETIMEDOUT, errno.EIO, errno.ENOMEM, errno.EINTR}
WORDS = {"state"}


class Device:
    """/sys/class/remap/remapN: a cBlock with its mBlock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> str:
        """The content of a file of the device."""
        try:
            return (self.folder / name).read_text(encoding="ascii").strip()
        except PermissionError:
            raise EnvironmentLacks(f"{self.folder / name} is root's", "run it as root") from None

    def write(self, name: str, words: str) -> None:
        """Asks the device for something."""
        try:
            file = os.open(self.folder / name, os.O_WRONLY)
        except PermissionError:
            raise EnvironmentLacks(f"{self.folder / name} is root's", "run it as root") from None
        try:
            os.write(file, words.encode("ascii"))
        except OSError as error:
            why = self.read("last_error")
            raise (SystemFails if error.errno in FAILS else BadInput)(f"{why}") from error
        finally:
            os.close(file)

    def serves(self, address: int) -> bool:
        """The aperture has the address."""
        start, size = (int(self.read(f"aperture_{what}"), 0) for what in ("start", "size"))
        return start <= address < start + size

    def segments(self) -> list[dict[str, str | int]]:
        """The attached segments, with their state and counters."""
        found = []
        for folder in sorted((self.folder / "segments").iterdir()):
            segment: dict[str, str | int] = {"name": folder.name}
            try:
                for file in sorted(folder.iterdir()):
                    text = self.read(f"segments/{folder.name}/{file.name}")
                    segment[file.name] = text if file.name in WORDS else int(text, 0)
            except FileNotFoundError:
                continue  # detached by another meanwhile
            except OSError as error:
                if error.errno == errno.ENODEV:
                    continue
                raise SystemFails(f"{folder}: {error.strerror}: its registers do not answer") from error
            found.append(segment)
        return found


class Module:
    """/sys/class/remap: all devices of the module."""

    def __init__(self, sys: Path | None = None) -> None:
        sys = sys or SYS
        self.blocks = sys / "devices" / "system" / "memory"
        if not (sys / "class" / "remap").exists():
            raise EnvironmentLacks(
                "the kernel module remap is not loaded",
                "consort remote module build, then insmod (remote-memory/docs/remote-kernel.md)",
            )
        self.devices = [Device(folder) for folder in sorted((sys / "class" / "remap").iterdir())]
        if not self.devices:
            raise EnvironmentLacks(
                "the kernel module remap has no device",
                "describe the cBlock in the device tree (remote-memory/docs/remote-kernel.md)",
            )

    def segments(self) -> list[dict[str, str | int]]:
        """The attached segments of all devices, with their state and counters."""
        return [segment for device in self.devices for segment in device.segments()]

    def attach(self, name: str, words: dict[str, int]) -> dict[str, str | int]:
        """Attaches and onlines a segment; what it is then."""
        # Where no device serves the address, the first says why not.
        serving = [device for device in self.devices if device.serves(words["address"])]
        device = (serving or self.devices)[0]
        device.write("attach", " ".join([name, *(f"{key}={value:#x}" for key, value in words.items())]))
        segment = self._segment(device, name)
        if segment["online"] != segment["size"]:
            self._online(int(segment["address"]), int(segment["size"]))
            segment = self._segment(device, name)
        if segment["movable"] != segment["size"]:
            raise SystemFails(
                f"{name} is attached, and {segment['movable']} of its {segment['size']} bytes are online as "
                "movable memory; see /sys/devices/system/memory"
            )
        return segment

    def detach(self, name: str) -> None:
        """Gives the segment back, its pages in use migrated away."""
        having = [device for device in self.devices if (device.folder / "segments" / name).exists()]
        if len(having) > 1:
            folders = " and ".join(str(device.folder) for device in having)
            raise BadInput(f"{folders} have a segment {name}: write the name to the detach of one of them")
        (having or self.devices)[0].write("detach", name)

    def _segment(self, device: Device, name: str) -> dict[str, str | int]:
        for segment in device.segments():
            if segment["name"] == name:
                return segment
        raise SystemFails(f"{name} was detached by another meanwhile")

    def _online(self, address: int, size: int) -> None:
        """Onlines memory that the kernel's policy left offline."""
        block = int((self.blocks / "block_size_bytes").read_text(encoding="ascii"), 16)
        for number in range(address // block, (address + size) // block):
            state = self.blocks / f"memory{number}" / "state"
            if state.read_text(encoding="ascii").strip() == "offline":
                try:
                    state.write_text("online_movable", encoding="ascii")
                except OSError as error:
                    raise SystemFails(f"{state} refuses online_movable: {error.strerror}") from error
