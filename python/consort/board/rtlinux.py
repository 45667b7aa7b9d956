# SPDX-License-Identifier: Apache-2.0
"""PREEMPT_RT Linux on the Versal's A72 beside the bare-metal R5F: kernel, first file system, device tree.

Debian's real-time kernel for AArch64, an initial RAM file system of two static programs, and QEMU's own
device tree with the R5F's memory and the shared window held back from Linux.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from consort.board import qemu
from consort.board.boards import BOARDS, MIB, BoardSpec
from consort.board.image import COMMON, build
from consort.errors import EnvironmentLacks
from consort.source import cache_folder, need_source_tree

PACKAGE = "linux-image-rt-arm64"
TOOL = ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
CRL_RST_CPU_R5 = 0xFF5E0300
# Linux wants more than bare metal does; the window and the R5F's 2 MiB stay where they are.
VERSAL_LINUX: BoardSpec = replace(
    BOARDS["versal"], name="versal-linux", memory_bytes=512 * MIB, about="PREEMPT_RT Linux and Cortex-R5F"
)
R5F_BYTES = 2 * MIB


@dataclass(frozen=True)
class LinuxBoot:
    """What QEMU boots on the A72."""

    kernel: Path
    initrd: Path
    device_tree: Path
    arguments: str

    def options(self) -> list[str]:
        return [
            *("-kernel", str(self.kernel), "-initrd", str(self.initrd), "-dtb", str(self.device_tree)),
            *("-append", self.arguments),
        ]


def kernel() -> Path:
    """Debian's real-time kernel, fetched once into the cache with apt, without installing anything."""
    found = sorted((cache_folder() / "rt-kernel").glob("vmlinuz-*-rt-arm64"))
    if found:
        return found[-1]
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise EnvironmentLacks(
                f"no {tool} to fetch {PACKAGE} with", f"put its vmlinuz into {cache_folder() / 'rt-kernel'}"
            )
    with tempfile.TemporaryDirectory(prefix="consort-rt-kernel-") as folder:
        path = _fetch(Path(folder))
        target = cache_folder() / "rt-kernel" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        staged = target.with_name(f".{target.name}-{os.getpid()}")
        shutil.copyfile(path, staged)
        staged.replace(target)
    return target


def _fetch(folder: Path) -> Path:
    """Package lists of the other architecture go to `folder`: the system's stay as they are."""
    for name in ("lists/partial", "cache/archives/partial", "out"):
        (folder / name).mkdir(parents=True)
    options = [
        *("-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64", "-o", "APT::Sandbox::User=root"),
        *("-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"),
    ]

    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder / "out")
        if done.returncode != 0:
            raise EnvironmentLacks(
                f"{PACKAGE} cannot be fetched ({(done.stderr or done.stdout).strip()[-300:]})",
                f"see to the network, or put its vmlinuz into {cache_folder() / 'rt-kernel'}",
            )
        return done.stdout

    run("apt-get", *options, "update")
    match = re.search(r"Depends: (linux-image-\S+)", run("apt-cache", *options, "depends", PACKAGE))
    if match is None:
        raise EnvironmentLacks(f"apt knows no {PACKAGE}", "add Debian's main archive to its sources")
    run("apt-get", *options, "download", match[1])
    (package,) = (folder / "out").glob("*.deb")
    run("dpkg-deb", "-x", str(package), str(folder / "unpacked"))
    (image,) = (folder / "unpacked" / "boot").glob("vmlinuz-*")
    return image


def static_program(sources: Sequence[Path], name: str, *flags: str) -> Path:
    """A static AArch64 program; memory held back from Linux is device memory: aligned accesses only."""
    root = need_source_tree("building for a board")
    if shutil.which(TOOL[0]) is None:
        raise EnvironmentLacks(f"no {TOOL[0]}", f"install it: apt-get install {TOOL[1]}")
    includes = [root / "include", root / "ports/bare/include", root / "ports/bare/linux", root]
    own = ['-DCONSORT_CORE_NAME="Cortex-A72 (Linux)"', "-mcpu=cortex-a72", "-mstrict-align"]
    return build(TOOL[0], [*COMMON, *own, *flags], includes, sources, ["-static"], name)


def program(source: Path, *flags: str) -> Path:
    """A board's program as the process of a Linux on the A72."""
    main = need_source_tree("building for a board") / "ports/bare/linux/main.cpp"
    return static_program([main, source], f"{source.stem}-a72-linux", *flags)


def boot(program: Path, place: int, folder: Path) -> LinuxBoot:
    """Everything QEMU needs to boot Linux and start `program` at the desk `place`; files go to `folder`."""
    root = need_source_tree("a board")
    init = static_program([root / "ports/bare/linux/init.cpp"], "init-a72-linux")
    initrd = folder / "initrd"
    initrd.write_bytes(gzip.compress(_cpio({"init": init, "program": program}), 1, mtime=0))
    spec = VERSAL_LINUX
    arguments = "console=ttyAMA0 earlycon quiet panic=-1 rdinit=/init -- "
    arguments += f"{spec.window_offset:#x} {spec.window_bytes:#x} {place} {CRL_RST_CPU_R5:#x}"
    return LinuxBoot(kernel(), initrd, _device_tree(folder), arguments)


def _cpio(files: dict[str, Path]) -> bytes:
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
    for name, path in files.items():
        entry(name, 0o100755, path.read_bytes())
    entry("TRAILER!!!", 0)
    return bytes(out)


def _device_tree(folder: Path) -> Path:
    """QEMU's device tree of the board, with the R5F's memory and the window reserved."""
    if shutil.which("dtc") is None:
        raise EnvironmentLacks("no dtc was found", "install it: apt-get install device-tree-compiler")
    spec = VERSAL_LINUX
    blob, source, target = (folder / name for name in ("qemu.dtb", "board.dts", "board.dtb"))
    machine = [str(qemu.find(spec.qemu)), "-M", f"{spec.machine},dumpdtb={blob}"]
    _run([*machine, "-m", f"{spec.memory_bytes // MIB}M", "-display", "none"])
    text = _run(["dtc", "-q", "-I", "dtb", "-O", "dts", str(blob)])

    def reserved(name: str, base: int, size: int) -> str:
        return f"\t\t{name}@{base:x} {{ reg = <0x0 {base:#x} 0x0 {size:#x}>; no-map; }};\n"

    nodes = "\treserved-memory {\n\t\t#address-cells = <2>;\n\t\t#size-cells = <2>;\n\t\tranges;\n"
    nodes += reserved("r5f", 0, R5F_BYTES) + reserved("consort-window", spec.window_offset, spec.window_bytes)
    head, brace, tail = text.rpartition("};")
    source.write_text(head + nodes + "\t};\n" + brace + tail, encoding="utf-8")
    _run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(target), str(source)])
    return target


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise EnvironmentLacks(
            f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}", "install it again"
        )
    return done.stdout
