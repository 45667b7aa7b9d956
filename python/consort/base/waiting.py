# SPDX-License-Identifier: Apache-2.0
"""Long operations: their progress, the signals that end them, and waits that end when nothing moves."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# Called with what is being done, and how much of it (0 to 1; None: not known).
Progress = Callable[[str, float | None], None]
# A bar that is gone at once only flickers.
BAR_AFTER_S = 2.0
# How often a line says how far it is, where there is no terminal for a bar.
LINE_EVERY_S = 30.0


def silent(_what: str, _share: float | None) -> None:
    """The progress of an operation that nobody watches."""


def _lines() -> Progress:
    """Lines on standard error now and then, each with the time since the beginning."""
    began = said = time.monotonic()

    def show(what: str, share: float | None) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= LINE_EVERY_S:
            said = now
            done = "" if share is None else f", {share:.0%}"
            print(f"{now - began:.0f} s: {what}{done}", file=sys.stderr, flush=True)

    return show


@contextmanager
def progress_bar(quiet: bool, *, after: float = BAR_AFTER_S, lines: bool = False) -> Iterator[Progress]:
    """A bar on a terminal, once `after` seconds have gone by; `silent` elsewhere, and where `quiet`.

    With `lines` there is a line on standard error each LINE_EVERY_S seconds where no terminal is: of what
    takes minutes.
    """
    if quiet or not sys.stderr.isatty():
        yield _lines() if lines and not quiet else silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    row = bar.add_task("", total=None)
    began = time.monotonic()

    def show(what: str, share: float | None) -> None:
        if not bar.live.is_started and time.monotonic() - began >= after:
            bar.start()
        bar.update(row, description=what, total=None if share is None else 1.0, completed=share or 0.0)

    try:
        yield show
    finally:
        bar.stop()


# The signals that asked this process to stop.
_asked: list[int] = []


def signals_to_exceptions() -> None:
    """SIGTERM and SIGHUP unwind this process like an interrupt, so that everything is cleaned up.

    What waits for long also calls `stop_if_asked`: an exception that a signal raises in a finalizer or in a
    library's callback goes no further.
    """

    def stop(number: int, _frame: Any) -> None:
        _asked.append(number)
        raise SystemExit(128 + number)

    shown = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if not (_asked and isinstance(unraisable.exc_value, SystemExit)):
            shown(unraisable)

    sys.unraisablehook = hook
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def stop_if_asked() -> None:
    """Raises SystemExit if a signal has asked this process to stop."""
    if _asked:
        raise SystemExit(128 + _asked[0])


# After so long somebody else's stop of a program is ended [s].
STOPPED_S = 2.0


class Continuer:
    """Continues a program that was stopped (SIGSTOP): whoever did it may be gone, and it would be waited for.

    A stop from the terminal stops this process, too.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since: float | None = None
        self.times = 0

    def look(self) -> None:
        if state_of(self._pid) != "T":
            self._since = None
            return
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= STOPPED_S:
            self.times += 1
            self._since = None
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)


def state_of(pid: int) -> str:
    """The state of a process, as /proc has it; T: stopped. Empty where it has ended."""
    return (stat_of(pid) or [""])[0]


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat that follow the program's name; none where the process has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()
    return []


def times_of_threads(pid: int) -> list[tuple[int, int]]:
    """How long each thread of a process has run, and has waited for a processor [ns].

    Those seen until the process ended; none where the kernel does not count it.
    """
    found: list[tuple[int, int]] = []
    with suppress(OSError, ValueError, IndexError):
        for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
            ran, waited = (thread / "schedstat").read_text(encoding="ascii").split()[:2]
            found.append((int(ran), int(waited)))
    return found


def signal_words(number: int) -> str:
    """A signal by its number and name."""
    return f"signal {number} ({signal.strsignal(number) or 'unknown'})"


# How long nothing may move [s], where nothing else is said.
STANDSTILL_S = 600.0
# How often who waits looks, at least [s].
LOOK_S = 1.0


class Standstill:
    """Tells when an awaited process has not moved for `seconds`.

    `processes`: whose work is waited for. Time for which a busy machine lets one of them wait for a processor
    does not count, nor does time in which nobody looked: who waits may have been stopped together with them.
    """

    def __init__(self, seconds: float, processes: Callable[[], Iterable[int]] = tuple) -> None:
        self._seconds = seconds
        # How often who waits looks, at least [s].
        self.every_s = min(LOOK_S, seconds / 10)
        self._processes = processes
        self._withheld = 0.0
        self._looked = -math.inf
        self._away = 0.0
        self._last = time.monotonic()
        self._end = 0.0
        self.moved()

    def moved(self) -> None:
        """Notes a move that `over` is not shown."""
        self._seen: object = object()

    def over(self, seen: object) -> bool:
        """True if `seen`, a value that changes with each move, has been the same for so long."""
        clock = time.monotonic()
        self._away += max(0.0, clock - self._last - max(LOOK_S, self._seconds / 10))
        self._last = clock
        # Not each time: who waits looks hundreds of times a second.
        due = clock >= self._looked + self.every_s
        if due or clock - self._withheld - self._away > self._end:
            self._looked = clock
            self._withheld = max(self._withheld, *map(withheld_s, self._processes()), 0.0)
        now = clock - self._withheld - self._away
        if seen != self._seen:
            self._seen, self._end = seen, now + self._seconds
        return now > self._end


def withheld_s(pid: int) -> float:
    """The longest time that one of a process's threads has waited for a processor [s].

    0 where it has ended, or the kernel does not count it.
    """
    return max((waited for _, waited in times_of_threads(pid)), default=0) * 1e-9


def with_children() -> list[int]:
    """This process and those that it started."""
    return [os.getpid(), *children(os.getpid())]


def children(pid: int) -> list[int]:
    """The processes that a process started and that have not ended."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found
