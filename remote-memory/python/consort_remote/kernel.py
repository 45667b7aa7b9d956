# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels for the module of remote memory: headers to build it with, an image to boot it in.

Fetched once into the cache, the newest that Debian's archive has then; nothing is installed.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import EnvironmentLacks, SystemFails
from consort.base.owned import temporary_folder
from consort.base.toolchain import debian
from consort.base.toolchain.builds import alone, cache_folder, digest, kept

from consort_remote.source import need_folder


@dataclass(frozen=True)
class Machine:
    """A kind of machine that the module is built for, and how QEMU makes one."""

    name: str
    architecture: str  # as Debian says
    cross: str  # how the names of its compilers begin elsewhere
    cross_package: str
    emulator: str
    emulator_package: str
    options: tuple[str, ...]
    console: str
    ram: int  # where its RAM begins
    tree: bool = False  # a device tree describes it

    @property
    def prefix(self) -> str:
        """The prefix of its compilers' names here."""
        native = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
        return "" if native == self.architecture else self.cross

    def compiler(self) -> str:
        """The C compiler that Debian builds its kernel with."""
        name = self.prefix + "gcc-12"
        if shutil.which(name) is None:
            package = self.cross_package if self.prefix else "gcc-12"
            raise EnvironmentLacks(f"no {name}", f"install it: apt-get install {package}")
        return name


# Without ERMS and FSRM: the kernel then copies words, not bytes, which an emulator takes one by one.
MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            "x86-64", "amd64", "x86_64-linux-gnu-", "g++-x86-64-linux-gnu",
            "qemu-system-x86_64", "qemu-system-x86", ("-cpu", "max,-erms,-fsrm"), "ttyS0", 0,
        ),
        Machine(
            "aarch64", "arm64", "aarch64-linux-gnu-", "g++-aarch64-linux-gnu",
            "qemu-system-aarch64", "qemu-system-arm", ("-M", "virt", "-cpu", "cortex-a72"), "ttyAMA0",
            1 << 30, tree=True,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A kernel of Debian in the cache."""

    machine: Machine
    folder: Path
    release: str  # 6.1.0-56-amd64
    version: str  # 6.1.192-2

    @property
    def image(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def headers(self) -> Path:
        return self.folder / "usr" / "src" / f"linux-headers-{self.release}"

    @property
    def busybox(self) -> Path:
        return self.folder / "busybox"


def kernel(machine: Machine) -> Kernel:
    """The newest kernel in the cache; fetched where there is none."""
    folder = cache_folder() / "kernels" / machine.architecture
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder, "a kernel"):
        found = sorted(folder.glob("*/about.json"), key=lambda path: path.stat().st_mtime)
        if not found:
            _fetch(machine, folder)
            found = list(folder.glob("*/about.json"))
    about = json.loads(found[-1].read_text(encoding="utf-8"))
    return Kernel(machine, found[-1].parent, about["release"], about["version"])


def _fetch(machine: Machine, folder: Path) -> None:
    instead = f"copy {folder} from a machine that has the network"
    with temporary_folder("fetch", folder) as scratch:
        there = Path(scratch)
        theirs = debian.Archive(machine.architecture, there / "apt", instead)
        headers = theirs.dependency(f"linux-headers-{machine.architecture}", r"linux-headers-\S+")
        release = headers.removeprefix("linux-headers-")
        common = theirs.dependency(headers, r"linux-headers-\S+-common")
        tools = theirs.dependency(headers, r"linux-kbuild-\S+")
        image = theirs.download(f"linux-image-{release}")
        packages = [theirs.download(package) for package in (headers, common, "busybox-static")]
        packages.append(_host_archive(machine, theirs, there, instead).download(tools))
        whole = there / "whole"
        debian.unpacked(packages, whole)
        # Its own modules are many, and none is needed.
        debian.unpacked([image], there / "image")
        (there / f"image/boot/vmlinuz-{release}").rename(whole / "vmlinuz")
        (whole / "bin" / "busybox").rename(whole / "busybox")
        # Debian's makefile names the folder that the package would be installed in.
        makefile = whole / "usr" / "src" / headers / "Makefile"
        makefile.write_text(
            makefile.read_text(encoding="utf-8").replace("/usr/src/", "../"), encoding="utf-8"
        )
        version = image.name.split("_")[1]
        (whole / "about.json").write_text(json.dumps({"release": release, "version": version}))
        whole.rename(folder / f"{release}-{version}")


def _host_archive(machine: Machine, theirs: debian.Archive, folder: Path, instead: str) -> debian.Archive:
    """The archive of this machine's own programs, as those that a kernel's build runs."""
    done = finished(["dpkg", "--print-architecture"])
    own = done.stdout.strip()
    return theirs if own == machine.architecture else debian.Archive(own, folder / "apt-own", instead)


def module(kernel: Kernel) -> Path:
    """remap.ko for this kernel, built where it is not up to date."""
    source = sources()
    compiler = kernel.machine.compiler()
    if shutil.which("make") is None:
        raise EnvironmentLacks("no make", "install it: apt-get install make")
    files = [
        path for path in sorted(source.iterdir()) if path.suffix in (".c", ".h") or path.name == "Kbuild"
    ]
    parts: list[str | bytes] = [kernel.release, kernel.version, compiler]
    for file in files:
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        folder = scratch / "remap-kmod"
        folder.mkdir()
        for file in files:
            shutil.copy(file, folder)
        command = ["make", "-C", str(kernel.headers), f"M={folder}", "modules"]
        command += [f"CROSS_COMPILE={kernel.machine.prefix}"] if kernel.machine.prefix else []
        done = finished(command)
        said = done.stdout + done.stderr
        if done.returncode != 0 or re.search(r"\bwarning:", said):
            words = [line for line in said.splitlines() if re.search(r"warning|error", line, re.IGNORECASE)]
            raise SystemFails(f"the module does not build for {kernel.release}: " + "\n".join(words[:20]))
        (folder / "remap.ko").rename(target)

    return kept("kernel-modules", digest(parts), "remap.ko", make)


def sources() -> Path:
    """The module's folder."""
    return need_folder("the kernel module") / "kernel-module"
