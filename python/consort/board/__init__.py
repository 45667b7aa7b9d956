# SPDX-License-Identifier: Apache-2.0
"""Boards in a box: emulated boards whose memory is a file that processes of this machine share."""

from consort.board.boards import BOARDS, BoardSpec, CoreSpec, board_named
from consort.board.desk import Desk, State
from consort.board.image import build_image, check_image
from consort.board.process import PROCESSES, ProcessSpec
from consort.board.session import Board

__all__ = [
    "BOARDS",
    "PROCESSES",
    "Board",
    "BoardSpec",
    "CoreSpec",
    "Desk",
    "ProcessSpec",
    "State",
    "board_named",
    "build_image",
    "check_image",
]
