# SPDX-License-Identifier: Apache-2.0
"""A link whose engine is a core of the emulated Versal with a channel of its ZDMA; the host is here."""

from __future__ import annotations

import pytest
from board_support import ROOT, board
from consort.base.toolchain.compiler import PROCESSES
from consort.board.image import build_image, build_process
from consort.board.session import Board
from effort import PATIENCE

TESTS = ROOT / "tests" / "board"
INCLUDES = f"-I{TESTS}"
RING = 0x100000
# A control block that is not a core's.
HOST = 5


@pytest.mark.parametrize("fails", [0, 41])
def test_bytes_go_there_and_back_by_the_boards_dma(fails: int) -> None:
    spec = board("versal")
    image = build_image(spec.core("r5f"), TESTS / "link_zdma.cpp", INCLUDES)
    # The first A72 releases the other cores; it has no orders itself.
    starter = build_image(spec.core("a72"), TESTS / "link_host.cpp", INCLUDES)
    host = build_process(PROCESSES["x86-64"], TESTS / "link_host.cpp", INCLUDES)
    engine = spec.core("r5f").place
    orders = {engine: (1, [RING, fails]), HOST: (1, [RING, 200])}
    with Board(spec, {"r5f": image, "a72": starter}, orders=orders, names={HOST: "the host"}) as running:
        running.start_process(host, HOST)
        running.wait([HOST], PATIENCE)
        whole, failed, wrong = running.control_blocks[HOST].results[:3]
        started, faults = running.control_blocks[engine].results[:2]
    assert (failed, wrong, faults) == (1 if fails else 0, 0, 0)
    assert whole == 200 - failed and started == 400
