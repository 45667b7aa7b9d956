# SPDX-License-Identifier: Apache-2.0
"""Instruction sets whose Linux programs run here: natively, and under an emulator."""

from __future__ import annotations

from dataclasses import dataclass


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
