# SPDX-License-Identifier: Apache-2.0
"""The first file system of a Linux that an emulator boots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def archive_of(files: Mapping[str, Path], folders: Sequence[str] = ()) -> bytes:
    """An archive in the kernel's form (newc) of executables, and the console that the first process needs."""
    out = bytearray()

    def entry(name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        fields = [len(out), mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0]
        out.extend(b"070701" + b"".join(b"%08x" % field for field in fields))
        out.extend(name.encode() + b"\0")
        out.extend(b"\0" * (-len(out) % 4))
        out.extend(content)
        out.extend(b"\0" * (-len(out) % 4))

    entry("dev", 0o40755)
    entry("dev/console", 0o20600, device=(5, 1))
    for name in folders:
        entry(name, 0o40755)
    for name, path in files.items():
        entry(name, 0o100755, path.read_bytes())
    entry("TRAILER!!!", 0)
    return bytes(out)
