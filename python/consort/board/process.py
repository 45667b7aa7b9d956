# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine beside a board: native ones, and other instruction sets emulated."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.source import need_source_tree
from consort.board.image import COMMON, build


@dataclass(frozen=True)
class ProcessSpec:
    """An instruction set whose Linux programs run here."""

    name: str
    compiler: str
    package: str
    emulator: str = ""
    flags: tuple[str, ...] = ()


PROCESSES = {
    p.name: p
    for p in (
        ProcessSpec("x86-64", "g++", "g++"),
        ProcessSpec("armv7", "arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf", "qemu-arm"),
        ProcessSpec("aarch64", "aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "qemu-aarch64"),
        ProcessSpec("riscv64", "riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu", "qemu-riscv64"),
        ProcessSpec(
            "i386", "i686-linux-gnu-g++", "g++-i686-linux-gnu", "qemu-i386", ("-msse2", "-mfpmath=sse")
        ),
        ProcessSpec("ppc64", "powerpc64-linux-gnu-g++", "g++-powerpc64-linux-gnu", "qemu-ppc64"),
    )
}


def build_process(spec: ProcessSpec, source: Path, *flags: str) -> list[str]:
    """The command that runs a board's program as a process; its arguments follow."""
    root = need_source_tree("building for a board")
    missing = [p for tool, p in ((spec.compiler, spec.package), (spec.emulator, "qemu-user"))
               if tool and shutil.which(tool) is None]  # fmt: skip
    if missing:
        raise EnvironmentLacks(
            f"{spec.name} processes cannot be built and run here",
            f"install what is missing: apt-get install {' '.join(missing)}",
        )
    program = build(
        spec.compiler,
        [*spec.flags, *COMMON, f'-DCONSORT_CORE_NAME="{spec.name}"', *flags],
        [root / "include", root / "ports/bare/include", root / "ports/bare/linux", root],
        [root / "ports/bare/linux/main.cpp", source],
        ["-static"],
        f"{source.stem}-{spec.name}",
    )
    return [*([spec.emulator] if spec.emulator else []), str(program)]
