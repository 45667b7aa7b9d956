# SPDX-License-Identifier: Apache-2.0
"""The cores that the target library is compiled for, and how the probe is compiled for one of them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# No hosted library, no exceptions, no run-time types: what a bare-metal project compiles with.
FREESTANDING = [
    "-std=c++20",
    "-ffreestanding",
    "-fno-exceptions",
    "-fno-rtti",
    "-nostdlib",
    "-ffunction-sections",
    # Equal functions stay apart: each is looked at by its own name.
    "-fno-ipa-icf",
    "-fno-pie",
    "-Wall",
    "-Wextra",
    "-Werror",
]


@dataclass(frozen=True)
class Core:
    """One processor core: its cross tools (a prefix of their names), flags and Debian package."""

    name: str
    prefix: str
    flags: tuple[str, ...]
    package: str
    # The system-wide barrier, as the disassembler spells it.
    barrier: str

    @property
    def compiler(self) -> str:
        return self.tool("g++")

    def tool(self, name: str) -> str:
        return self.prefix + name

    def missing(self) -> str | None:
        """The reason that the core cannot be compiled for here, and the packages to install."""
        if shutil.which(self.compiler) is None:
            return f"no {self.compiler}: apt-get install {self.package}"
        return None


BARE_METAL_ARM = "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib"


def _arm(name: str, *flags: str) -> Core:
    return Core(name, "arm-none-eabi-", flags, BARE_METAL_ARM, r"dmb\s+sy")


CORES = [
    _arm("Cortex-R5F", "-mcpu=cortex-r5", "-mfpu=vfpv3-d16", "-mfloat-abi=hard"),
    _arm("Cortex-M4F", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    _arm("Cortex-M0+", "-mcpu=cortex-m0plus", "-mthumb"),
    _arm("Cortex-A7", "-mcpu=cortex-a7", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"),
    Core("AArch64", "aarch64-linux-gnu-", (), "g++-aarch64-linux-gnu", r"dmb\s+sy"),
    # The disassembler leaves the operands out where they are "iorw,iorw".
    Core("RISC-V 64", "riscv64-linux-gnu-", (), "g++-riscv64-linux-gnu", r"fence\s*(iorw,iorw)?$"),
    Core("x86-64", "", (), "g++", r"mfence"),
]


def compile_probe(core: Core, optimisation: str, out: Path) -> Path:
    """The probe's object file for `core`, in the folder `out`."""
    target = out / f"{core.name}{optimisation}.o"
    subprocess.run(
        [
            core.compiler,
            *core.flags,
            *FREESTANDING,
            optimisation,
            f"-I{ROOT / 'include'}",
            "-c",
            str(HERE / "probe.cpp"),
            "-o",
            str(target),
        ],
        check=True,
    )
    return target


def symbols(core: Core, objects: Path) -> list[tuple[str, str, int]]:
    """Name, kind and bytes of each symbol; undefined ones have kind U and 0 bytes."""
    listing = subprocess.run(
        [core.tool("nm"), "-P", str(objects)], check=True, capture_output=True, text=True
    ).stdout
    found = []
    for line in listing.splitlines():
        name, kind, *numbers = line.split()
        found.append((name, kind, int(numbers[1], 16) if len(numbers) > 1 else 0))
    return found


def code_bytes(core: Core, objects: Path, function: str) -> int:
    """Code of `function` and of all functions it calls: what the linker keeps when it is the entry."""
    kept = objects.with_suffix(f".{function}.o")
    subprocess.run(
        [core.tool("ld"), "-r", "--gc-sections", "-e", function, str(objects), "-o", str(kept)], check=True
    )
    return sum(size for _, kind, size in symbols(core, kept) if kind in "tTwW")


def agreed(core: Core, objects: Path) -> dict[str, int]:
    """The probe's table of sizes, offsets and fingerprints that all sides of a region must agree on."""
    table = objects.with_suffix(".layout")
    subprocess.run(
        [core.tool("objcopy"), "-O", "binary", "-j", ".consort.layout", str(objects), str(table)], check=True
    )
    rows = struct.iter_unpack("<60sI", table.read_bytes())
    return {name.rstrip(b"\0").decode(): value for name, value in rows}
