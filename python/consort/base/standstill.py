# SPDX-License-Identifier: Apache-2.0
"""Waits that end when nothing moves any more, never because all takes long."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

# How long nothing may move [s], where nothing else is said.
STANDSTILL_S = 600.0


class Standstill:
    """Tells when an awaited process has not moved for `seconds`.

    `processes`: whose work is waited for. Time for which a busy machine lets one of them wait for a processor
    does not count.
    """

    def __init__(self, seconds: float, processes: Callable[[], Iterable[int]] = tuple) -> None:
        self._seconds = seconds
        self._processes = processes
        self._withheld = 0.0
        self._looked = -math.inf
        self._end = 0.0
        self.moved()

    def moved(self) -> None:
        """Notes a move that `over` is not shown."""
        self._seen: object = object()

    def over(self, seen: object) -> bool:
        """True if `seen`, a value that changes with each move, has been the same for so long."""
        clock = time.monotonic()
        # Not each time: who waits looks hundreds of times a second.
        if clock >= self._looked + min(1.0, self._seconds / 10) or clock - self._withheld > self._end:
            self._looked = clock
            self._withheld = max(self._withheld, *map(withheld_s, self._processes()), 0.0)
        now = clock - self._withheld
        if seen != self._seen:
            self._seen, self._end = seen, now + self._seconds
        return now > self._end


def withheld_s(pid: int) -> float:
    """The longest time that one of a process's threads has waited for a processor [s].

    0 where it has ended, or the kernel does not count it.
    """
    longest = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            longest = max(longest, int((thread / "schedstat").read_text(encoding="ascii").split()[1]))
    except (OSError, ValueError, IndexError):
        pass
    return longest * 1e-9


def with_children() -> list[int]:
    """This process and those that it started."""
    mine = os.getpid()
    found = [mine]
    try:
        for thread in Path(f"/proc/{mine}/task").iterdir():
            found += map(int, (thread / "children").read_text(encoding="ascii").split())
    except (OSError, ValueError):
        pass
    return found
