# SPDX-License-Identifier: Apache-2.0
"""Keeps a board up in the background: owns its QEMU, ends it when asked to, and cleans up after.

Run as a module by `consort board up`, with its orders on standard input, and a pipe on which it says that the
board is up, or why it is not.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from consort.base.errors import ConsortError
from consort.board.boards import board_named
from consort.board.session import Board


class _Stop(Exception):
    """The board is to end."""


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise _Stop


def keep(orders: dict[str, object], pipe: int) -> None:
    signal.signal(signal.SIGTERM, _on_signal)
    spec = board_named(str(orders["board"]))
    images = {core: Path(path) for core, path in dict(orders["images"]).items()}  # type: ignore[call-overload]
    # Every core with an image has orders: a program without arguments runs, any other finds role 0.
    given = {spec.core(core).place: (0, ()) for core in images}
    board = Board(spec, images, name=str(orders["name"]), counted=bool(orders["counted"]), orders=given)
    try:
        with board:
            os.write(pipe, json.dumps({"name": board.name, "memory": str(board.memory)}).encode())
            os.close(pipe)
            assert board.machine is not None
            board.machine.wait()
    except _Stop:
        pass


def main() -> None:
    pipe = int(sys.argv[1])
    orders = json.loads(sys.stdin.read())
    os.setsid()
    try:
        keep(orders, pipe)
    except ConsortError as error:
        os.write(pipe, json.dumps({"error": str(error), "status": error.exit_status}).encode())


if __name__ == "__main__":
    main()
