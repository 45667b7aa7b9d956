# SPDX-License-Identifier: Apache-2.0
"""QEMU's RISC-V machine with a 32-bit core: what it computes with 64-bit numbers, and the drive on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_support import ROOT, board, recorded_and_judged
from consort.base.waiting import silent
from consort.board import count
from consort.board.image import build_image
from consort.board.session import Board
from effort import PATIENCE


def check_value(name: str, core: str) -> list[int]:
    spec = board(name)
    image = build_image(spec.core(core), ROOT / "tests/board/tasks/arithmetic.cpp")
    with Board(spec, {core: image}, orders={0: (1, ())}, counted=True) as up:
        up.wait([0], PATIENCE)
        return up.control_blocks[0].results[:2]


def test_it_computes_with_64_bits_as_a_64_bit_core_does() -> None:
    assert check_value("riscv-virt32", "rv32") == check_value("riscv-virt", "rv64")


@pytest.mark.slow
def test_its_core_is_as_described() -> None:
    (found,) = count.check_board(board("riscv-virt32"), silent)
    assert (found.core, found.ticks_per_second, found.problems) == ("rv32", 10_000_000, ())


def test_the_drive_repeats_to_the_byte_and_gives_what_the_64_bit_core_gives(tmp_path: Path) -> None:
    drive = ROOT / "examples/drive/loop.yaml"
    runs = [
        recorded_and_judged(drive, tmp_path / f"{n}", name, jobs=1000, on=name)
        for n, name in enumerate(["riscv-virt32", "riscv-virt32", "riscv-virt"])
    ]
    assert all(verdict.ok for _, verdict in runs), [verdict.reasons for _, verdict in runs]
    first, again, other = (tmp_path / str(n) for n in range(3))
    tables = sorted(path.name for path in first.iterdir() if path.is_file() and path.name != "config.json")
    outputs = [name for name in tables if name.startswith("outputs-")]
    assert len(outputs) == 2
    for name in tables:
        assert (first / name).read_bytes() == (again / name).read_bytes(), name
    # Through LET the panel's choices reach the same job of the controller, whatever a step takes.
    for name in outputs:
        assert (first / name).read_bytes() == (other / name).read_bytes(), name
