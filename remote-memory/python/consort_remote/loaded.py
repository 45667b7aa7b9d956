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


class Module:
    """/sys/kernel/remap."""

    def __init__(self, sys: Path | None = None) -> None:
        sys = sys or SYS
        self.folder = sys / "kernel" / "remap"
        self.blocks = sys / "devices" / "system" / "memory"
        if not (self.folder / "segments").exists():
            raise EnvironmentLacks(
                "the kernel module remap is not loaded",
                "consort remote module build, then insmod (remote-memory/docs/remote-kernel.md)",
            )

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="ascii")
        except PermissionError:
            raise EnvironmentLacks(f"{self.folder / name} is root's", "run it as root") from None

    def _write(self, name: str, words: str) -> None:
        try:
            file = os.open(self.folder / name, os.O_WRONLY)
        except PermissionError:
            raise EnvironmentLacks(f"{self.folder / name} is root's", "run it as root") from None
        try:
            os.write(file, words.encode("ascii"))
        except OSError as error:
            why = self._read("last_error").strip()
            raise (SystemFails if error.errno in FAILS else BadInput)(f"{why}") from error
        finally:
            os.close(file)

    def segments(self) -> list[dict[str, str | int]]:
        """The attached segments, with their state and counters."""
        found = []
        for line in self._read("segments").splitlines():
            name, *words = line.split()
            segment: dict[str, str | int] = {"name": name}
            for key, text in (word.split("=", 1) for word in words):
                segment[key] = text if key == "state" else int(text, 0)
            found.append(segment)
        return found

    def attach(self, name: str, words: dict[str, int]) -> dict[str, str | int]:
        """Attaches and onlines a segment; what it is then."""
        self._write("attach", " ".join([name, *(f"{key}={value:#x}" for key, value in words.items())]))
        segment = self._segment(name)
        if segment["online"] != segment["size"]:
            self._online(int(segment["address"]), int(segment["size"]))
            segment = self._segment(name)
        if segment["movable"] != segment["size"]:
            raise SystemFails(
                f"{name} is attached, and {segment['movable']} of its {segment['size']} bytes are online as "
                "movable memory; see /sys/devices/system/memory"
            )
        return segment

    def detach(self, name: str) -> None:
        """Gives the segment back, its pages in use migrated away."""
        self._write("detach", name)

    def _segment(self, name: str) -> dict[str, str | int]:
        for segment in self.segments():
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
