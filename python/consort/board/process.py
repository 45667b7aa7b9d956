# SPDX-License-Identifier: Apache-2.0
"""Builds a board's program as a process of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.builds import need_source_tree
from consort.base.toolchain.compiler import ProcessSpec
from consort.board.image import COMMON, build


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
