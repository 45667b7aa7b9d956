# SPDX-License-Identifier: Apache-2.0
"""FreeRTOS on a board's core, beside the executive: the cost of a task's wake-up there, counted.

The kernel's sources come inside a crate, which cargo fetches; nothing of it is part of Consort. Our own are
the program and its configuration (bench/peers/freertos).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.builds import digest, kept, need_source_tree
from consort.base.toolchain.compiler import compiled
from consort.board.description import CoreSpec
from consort.board.image import build_image
from consort.board.session import Board

CRATE = "freertos-next"
# The kernel's own files, and those of its port to each processor.
KERNEL = ("tasks.c", "list.c")
PORTS = {"Arm": ("ARM_CM4F", ("port.c",)), "AArch64": ("ARM_AARCH64_SRE", ("port.c", "portASM.S"))}
# Cases that the program reports, in its order: the smallest and the largest of each.
CASES = ("notified", "tick_preempts", "tick_on_idle")
SECONDS = 60.0


@dataclass(frozen=True)
class Wakeups:
    """Instructions to a woken task's first one, by case: the most of all rounds."""

    version: str
    instructions: dict[str, float]


def kernel_sources() -> Path:
    """The kernel's folder in cargo's store. `EnvironmentLacks` where it cannot be had."""
    folder = need_source_tree("building peers") / "bench" / "peers" / "freertos"
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    if not os.access(cargo, os.X_OK):
        raise EnvironmentLacks("cargo is not installed", "install it: apt-get install cargo, or rustup")
    for command in (["fetch", "--locked"], ["metadata", "--format-version", "1", "--locked", "--offline"]):
        done = subprocess.run([cargo, *command], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            words = " ".join(done.stderr.split())[-400:]
            raise EnvironmentLacks(f"the crate {CRATE} cannot be had: {words}", "check the network")
    packages = json.loads(done.stdout)["packages"]
    manifest = next(p["manifest_path"] for p in packages if p["name"] == CRATE)
    return Path(manifest).parent / "FreeRTOS-Kernel"


def version_of(kernel: Path) -> str:
    """The version in the kernel's header."""
    for line in (kernel / "include" / "task.h").read_text(encoding="utf-8").splitlines():
        if "tskKERNEL_VERSION_NUMBER" in line and '"' in line:
            return line.split('"')[1]
    raise EnvironmentLacks(f"{kernel} is not a FreeRTOS kernel", "remove the crate from cargo's store")


def _objects(core: CoreSpec, kernel: Path, port: str, files: tuple[str, ...], own: Path) -> Path:
    """The kernel compiled for a core, as one object for the linker's script."""
    compiler = core.compiler.removesuffix("g++") + "gcc"
    folder = kernel / "portable" / "GCC" / port
    sources = [*(kernel / name for name in KERNEL), *(folder / name for name in files)]
    includes = [f"-I{own}", f"-I{kernel / 'include'}", f"-I{folder}"]
    command = [compiler, *core.flags, "-O2", "-g", "-ffreestanding", "-ffunction-sections", *includes]

    def make(target: Path, scratch: Path) -> None:
        target.mkdir()
        for source in sources:
            done = compiled([*command, "-c", str(source), "-o", str(target / f"{source.stem}.o")], scratch)
            if done.returncode != 0:
                raise EnvironmentLacks(
                    f"{source.name} does not build: {done.stderr[-400:]}", "see what it says"
                )

    parts: list[str | bytes] = [
        *command,
        *(file.read_bytes() for file in (*sources, own / "FreeRTOSConfig.h")),
    ]
    return kept("peers", digest(parts), "freertos", make)


def image(core: CoreSpec) -> tuple[Path, str]:
    """The program for a core, and the kernel's version."""
    kernel = kernel_sources()
    own = need_source_tree("building peers") / "bench" / "peers" / "freertos"
    port, files = PORTS[core.machine]
    objects = _objects(core, kernel, port, files, own)
    script = objects / "objects.ld"
    if not script.is_file():
        script.write_text("".join(f'INPUT("{found}")\n' for found in sorted(objects.glob("*.o"))))
    flags = (f"-I{own}", f"-I{kernel / 'include'}", f"-I{kernel / 'portable' / 'GCC' / port}")
    return build_image(core, own / "main.cpp", *flags, scripts=[script]), version_of(kernel)


def wakeups(core: CoreSpec, shift: int) -> Wakeups:
    """Counted on the core, an instruction taking 2 to the `shift` nanoseconds."""
    made, version = image(core)
    with Board(
        core.board, {core.name: made}, orders={core.place: (1, [])}, counted=True, shift=shift
    ) as board:
        board.wait([core.place], SECONDS)
        results = board.control_blocks[core.place].results
    scale = 10**9 / core.clock.hertz / 2**shift
    largest = dict(zip(CASES, results[1 : 2 * len(CASES) : 2], strict=True))
    return Wakeups(version, {case: ticks * scale for case, ticks in largest.items() if ticks})
