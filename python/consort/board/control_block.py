# SPDX-License-Identifier: Apache-2.0
"""The control block of a core, as the host sees it, and the token that keeps boards in one time.

The board runs until the horizon: the earliest instant at which a process does anything. There it says what
time it is and stops, in one semihosting write (consort/bare/synchronize.hpp) into a pipe that has no room for
all of it. Each process whose instant has come then has the token once, the earliest first, and says until
when it does nothing more (consort/bare/synchronized_process.hpp). Nothing else runs meanwhile, so what is
seen when depends on these times alone.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

from consort.base.errors import EnvironmentLacks, SystemFails

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


# The instant of a process that does nothing any more.
NEVER = (1 << 64) - 1
# Where no process does anything, the board stops this often [ns].
IDLE_NS = 10_000_000
# The bytes that a stop writes, and the pipe's room: the rest is written when all of that has been read.
STOP_BYTES, ROOM = 2 * BYTES, BYTES
# In the control block of the core that stops the board: the results with the time, its lower half first.
STOPPED_AT = RESULTS - 3
# And whether a stop was cut short, by a signal to the emulator.
DISTURBED = RESULTS - 4
_TIME = struct.Struct("<Q")


class Token:
    """Made before the board starts; `start` when all processes have joined.

    `now`: the time at which the board has stopped [ns].
    """

    def __init__(
        self, folder: Path, now: Callable[[], int], before_each_hand_over: Callable[[], None] = lambda: None
    ) -> None:
        self._now, self._before = now, before_each_hand_over
        # Both ends at once, so that neither side's opening waits for the other's.
        self._stop, self._horizon = (_pipe(folder / name) for name in ("stop", "horizon"))
        if fcntl.fcntl(self._stop, fcntl.F_SETPIPE_SZ, ROOM) != ROOM:
            raise EnvironmentLacks(
                "this machine's pages are larger than 4 KiB, and no pipe is small enough to stop a board by",
                "run it without --counted, or on a machine with pages of 4 KiB",
            )
        self._processes: dict[int, socket.socket] = {}
        self._thread = threading.Thread(target=self._hand_round, name="token", daemon=True)
        self._over = False

    def join(self, place: int) -> socket.socket:
        """Makes the other end the standard input of the process at a control block."""
        mine, other = socket.socketpair()
        self._processes[place] = mine
        return other

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends the exchange, once the board and the processes have ended."""
        self._over = True
        if self._thread.is_alive():
            # It may wait for the board.
            with suppress(BlockingIOError):
                os.write(self._stop, b"\0")
            self._thread.join()
        for process in self._processes.values():
            process.close()
        for file in (self._stop, self._horizon):
            os.close(file)

    def _hand_round(self) -> None:
        wakes = {place: self._answer(place) for place in sorted(self._processes)}
        while self._stopped():
            now = self._now()
            while wakes:
                place = min(wakes, key=lambda one: (wakes[one], one))
                if wakes[place] > now:
                    break
                self._before()
                # That it has ended is seen at its answer.
                with suppress(OSError):
                    self._processes[place].sendall(_TIME.pack(now))
                wakes[place] = self._answer(place)
            horizon = min((*wakes.values(), now + IDLE_NS))
            self._before()
            os.write(self._horizon, _TIME.pack(horizon))
            self._go_on()

    def _stopped(self) -> bool:
        """Waits until the board has stopped; False: it has ended. What it has written is not read yet."""
        select.select([self._stop], [], [])
        return not self._over

    def _go_on(self) -> None:
        left = STOP_BYTES
        while left and self._stopped():
            left -= len(os.read(self._stop, left))

    def _answer(self, place: int) -> int:
        """Until when a process does nothing; for good, where it has ended."""
        found = self._processes[place].recv(_TIME.size, socket.MSG_WAITALL)
        return int(_TIME.unpack(found)[0]) if len(found) == _TIME.size else NEVER


def check_undisturbed(board: str, block: ControlBlock) -> None:
    """`SystemFails` where a run's times are not those of instructions and declarations alone.

    `block`: of the core that stops the board.
    """
    if block.results[DISTURBED]:
        raise SystemFails(
            f"board {board}: the emulator got a signal while it stood still for the processes beside it, as"
            " of one who suspends a run, and its times are not those of the description alone; run it again"
        )


def _pipe(path: Path) -> int:
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
