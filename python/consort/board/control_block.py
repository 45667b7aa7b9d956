# SPDX-License-Identifier: Apache-2.0
"""The control block of a core, as the host sees it; consort/bare/control_block.hpp has the layout."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from enum import IntEnum

MAGIC = 0x4B534443
BYTES = 4096
ARGUMENTS, MORE_ARGUMENTS = 14, 448
RESULTS = 16
TEXT_BYTES = 256
_STOP, _STATE, _RESULTS, _TEXT, _MORE = 0x40, 0x80, 0xC0, 0x100, 0x200


class State(IntEnum):
    """The state of a core's program."""

    SILENT = 0
    RUNNING = 1
    DONE = 2
    FAILED = 3


class ControlBlock:
    """One core's page in the shared window."""

    def __init__(self, memory: mmap.mmap, offset: int) -> None:
        # Kept as words: each access is one aligned load or store.
        self._words = memoryview(memory)[offset : offset + BYTES].cast("I")

    def release(self) -> None:
        """Lets the memory go, so that its mapping can be closed."""
        self._words.release()

    def order(self, role: int, arguments: Sequence[int] = ()) -> None:
        """Leaves orders. A core that runs reads them once, when it starts."""
        if len(arguments) > ARGUMENTS + MORE_ARGUMENTS:
            raise ValueError(f"{len(arguments)} arguments are more than a control block has room for")
        for i in range(BYTES // 4):
            self._words[i] = 0
        self._words[1] = role
        for i, argument in enumerate(arguments):
            place = 2 + i if i < ARGUMENTS else _MORE // 4 + i - ARGUMENTS
            self._words[place] = argument & 0xFFFFFFFF
        self._words[0] = MAGIC

    def stop(self) -> None:
        """Tells the program to end."""
        self._words[_STOP // 4] = 1

    @property
    def state(self) -> State:
        return State(self._words[_STATE // 4])

    @property
    def progress(self) -> int:
        return self._words[_STATE // 4 + 1]

    @property
    def results(self) -> list[int]:
        return self._words[_RESULTS // 4 : _RESULTS // 4 + RESULTS].tolist()

    @property
    def text(self) -> str:
        words = self._words[_TEXT // 4 : (_TEXT + TEXT_BYTES) // 4].tolist()
        return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode("latin-1")
