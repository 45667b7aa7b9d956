# SPDX-License-Identifier: Apache-2.0
"""Debian's packages of any architecture, unpacked and not installed; a first file system from them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import EnvironmentLacks


class Archive:
    """The packages of one architecture; its lists go to `folder`, and the system's stay as they are."""

    def __init__(self, architecture: str, folder: Path, instead: str) -> None:
        """`instead`: what a user can do where nothing can be fetched."""
        self.instead = instead
        for tool in ("apt-get", "apt-cache", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise EnvironmentLacks(f"no {tool} to fetch packages of Debian with", instead)
        for name in ("lists/partial", "cache/archives/partial", "out"):
            (folder / name).mkdir(parents=True)
        self.folder = folder
        self.options = [
            *("-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}"),
            *("-o", "APT::Sandbox::User=root"),
            *("-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"),
        ]
        self._run("package lists", "apt-get", *self.options, "update")

    def _run(self, what: str, *command: str) -> str:
        done = finished(command, cwd=self.folder / "out")
        if done.returncode != 0:
            raise EnvironmentLacks(
                f"{what} cannot be fetched ({(done.stderr or done.stdout).strip()[-300:]})",
                f"see to the network, or {self.instead}",
            )
        return done.stdout

    def dependency(self, package: str, name: str) -> str:
        """The package that another depends on and whose name has this form (a regular expression)."""
        depends = self._run(package, "apt-cache", *self.options, "depends", package)
        match = re.search(rf"Depends: ({name})$", depends, re.MULTILINE)
        if match is None:
            raise EnvironmentLacks(f"apt knows no {package}", "add Debian's main archive to its sources")
        return match[1]

    def download(self, package: str) -> Path:
        """The package's newest version, as a file."""
        into = self.folder / "out"
        before = set(into.iterdir())
        self._run(package, "apt-get", *self.options, "download", package)
        (found,) = set(into.iterdir()) - before
        return found


def unpacked(packages: Iterable[Path], folder: Path) -> Path:
    """The folder, with all files of the packages in it."""
    for package in packages:
        done = finished(["dpkg-deb", "-x", str(package), str(folder)])
        if done.returncode != 0:
            raise EnvironmentLacks(
                f"{package.name} cannot be unpacked ({done.stderr.strip()[-300:]})", "make room for it"
            )
    return folder


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
