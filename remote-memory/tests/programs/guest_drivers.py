# SPDX-License-Identifier: Apache-2.0
"""Drivers that a guest with Debian's kernel loads: modules of the kernel's own package."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from consort.base.toolchain import debian
from consort_remote.kernel import Kernel
from filelock import FileLock


def drivers(kernel: Kernel, names: Sequence[str]) -> list[Path]:
    """The named modules, each after those that it depends on; fetched where they are not in the cache."""
    folder = kernel.folder / "own-modules"
    with FileLock(kernel.folder.parent / ".lock"):
        if not folder.is_dir():
            _fetch(kernel, folder)
    ordered: list[Path] = []

    def add(name: str) -> None:
        path = folder / f"{name.replace('-', '_')}.ko"
        if not path.is_file():
            # A driver without a module of its own is part of the kernel.
            return
        depends = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for each in depends[1].decode().split(",") if depends is not None else ():
            add(each)
        if path not in ordered:
            ordered.append(path)

    for name in names:
        add(name)
    return ordered


def _fetch(kernel: Kernel, folder: Path) -> None:
    """The modules of the cache's kernel, of the version that it has: another's may not load."""
    instead = f"remove {kernel.folder}: a newer kernel is fetched then, with its modules"
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as scratch:
        there = Path(scratch)
        theirs = debian.Archive(kernel.machine.architecture, there / "apt", instead)
        package = theirs.download(f"linux-image-{kernel.release}={kernel.version}")
        debian.unpacked([package], there / "image")
        made = there / "modules"
        made.mkdir()
        for path in (there / "image").rglob("*.ko"):
            path.rename(made / path.name.replace("-", "_"))
        made.rename(folder)
