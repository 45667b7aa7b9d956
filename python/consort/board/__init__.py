# SPDX-License-Identifier: Apache-2.0
"""Boards in a box: emulated boards whose memory is a file that processes of this machine share."""

from consort.board.boards import all_boards, board_named, board_names
from consort.board.control_block import ControlBlock, State
from consort.board.description import BoardSpec, CoreSpec
from consort.board.image import build_image, check_image
from consort.board.session import Board

__all__ = [
    "Board",
    "BoardSpec",
    "ControlBlock",
    "CoreSpec",
    "State",
    "all_boards",
    "board_named",
    "board_names",
    "build_image",
    "check_image",
]
