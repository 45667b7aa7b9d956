# SPDX-License-Identifier: Apache-2.0
"""What the tests of boards share: which can run here, and the command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from consort.board import BoardSpec, board_named
from consort.board.image import build_image, program_source

ROOT = Path(__file__).resolve().parents[2]
CONSORT = Path(sys.executable).with_name("consort")
# Longer than anything here takes on a busy machine; never waited out when all is well.
PATIENCE = 300.0


def board(name: str) -> BoardSpec:
    """The board, or a skip that says what to install."""
    spec = board_named(name)
    missing = {core.package for core in spec.cores if shutil.which(core.compiler) is None}
    if shutil.which(spec.qemu) is None:
        missing.add("qemu-system-arm")
    if missing:
        pytest.skip("apt-get install " + " ".join(sorted(missing)))
    return spec


def images(spec: BoardSpec, program: str, *flags: str, cores: tuple[str, ...] = ()) -> dict[str, Path]:
    """A program's images for all cores, or for those named."""
    source = program_source(program)
    return {
        core.name: build_image(core, source, *flags) for core in spec.cores if not cores or core.name in cores
    }


def consort(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CONSORT), *arguments], capture_output=True, text=True, timeout=2 * PATIENCE, **options
    )  # type: ignore[call-overload,no-any-return]
