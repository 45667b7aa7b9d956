# SPDX-License-Identifier: Apache-2.0
"""Helpers of the board tests: the boards that can run here, and the command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks
from consort.base.waiting import silent
from consort.board import BoardSpec, board_named, rtlinux
from consort.board.application import prepare_board
from consort.board.count import missing_tools
from consort.board.image import build_image, program_source
from consort.judge import Verdict
from consort.model import load_system
from consort.record import RawRun
from consort.run.flow import judged
from consort.run.options import Options
from effort import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CONSORT = Path(sys.executable).with_name("consort")


def board(name: str) -> BoardSpec:
    """The board, or a skip that says what to install."""
    spec = board_named(name)
    missing = missing_tools(spec)
    if missing:
        pytest.skip("apt-get install " + " ".join(missing))
    return spec


def board_with_linux(name: str) -> BoardSpec:
    """The board with the kernel that one of its cores runs, or a skip that says what to install."""
    spec = board(name)
    assert spec.linux is not None
    if shutil.which("dtc") is None:
        pytest.skip("apt-get install device-tree-compiler")
    try:
        rtlinux.kernel(spec.linux)
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    return rtlinux.with_linux(spec)


def images(spec: BoardSpec, program: str, *flags: str, cores: tuple[str, ...] = ()) -> dict[str, Path]:
    """A program's images for all cores, or for those named."""
    source = program_source(program)
    return {
        core.name: build_image(core, source, *flags) for core in spec.cores if not cores or core.name in cores
    }


def recorded_and_judged(
    file: Path, folder: Path, name: str, jobs: int = 20, *, on: str | None = None, stand_ins: bool = False
) -> tuple[RawRun, Verdict]:
    """A description run on a board for so many jobs of its first task; the raw record goes to `folder`."""
    board(name)
    options = Options(target="board", iterations=jobs, stand_ins=stand_ins)
    made = prepare_board(load_system(file, on), silent, options)
    folder.mkdir()
    (recording,) = made.recordings(made.key, options, silent, scratch=folder)
    found = judged(made, recording)
    return found.raw, found.verdict


def consort(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CONSORT), *arguments], capture_output=True, text=True, timeout=2 * PATIENCE, **options
    )  # type: ignore[call-overload,no-any-return]
