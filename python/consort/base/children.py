# SPDX-License-Identifier: Apache-2.0
"""Programs that are started and waited for: as long as they work, and no longer.

A compiler that somebody stopped, or that waits for what never comes, would be waited for without end.
"""

from __future__ import annotations

import math
import os
import select
import shlex
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from consort.base.errors import EnvironmentLacks
from consort.base.files import MIB
from consort.base.waiting import (
    STANDSTILL_S,
    Standstill,
    children,
    stat_of,
    state_of,
    stop_if_asked,
    times_of_threads,
)


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    found = [root]
    for pid in found:
        found += children(pid)
    return found


def worked(pids: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """The processor time that each process has used; it differs after any work of any of them."""
    return {pid: (_ticks(pid), *(ran for ran, _ in times_of_threads(pid))) for pid in pids}


def _ticks(pid: int) -> int:
    """User's and system's time, of children that have ended, too; coarser than that of the threads."""
    return sum(map(int, stat_of(pid)[11:15]))


class Child:
    """A program that is waited for: it is ended, with all that it started, once none of them works."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self._process = process
        self._standstill = Standstill(STANDSTILL_S, self._tree)

    def _tree(self) -> list[int]:
        return tree(self._process.pid)

    def look(self) -> None:
        """To be called while it is waited for; `EnvironmentLacks` where it and its children stand still."""
        stop_if_asked()
        if not self._standstill.over(worked(self._tree())):
            return
        stopped = [pid for pid in self._tree() if state_of(pid) == "T"]
        self.end()
        args = self._process.args
        words = shlex.join(map(str, args)) if isinstance(args, (list, tuple)) else str(args)
        words = words if len(words) <= 200 else f"{words[:200]}…"
        why = f" (process {stopped[0]} was stopped)" if stopped else ""
        raise EnvironmentLacks(
            f"{words} has not moved for {STANDSTILL_S:g} s{why} and was ended", "run it again"
        )

    def end(self) -> None:
        """Ends it and all that it started."""
        # The number of one that has been waited for may be another's by now.
        for pid in self._tree() if self._process.poll() is None else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def finish(self) -> tuple[Any, Any]:
        """Its output and its words, once it has ended."""
        while True:
            try:
                return self._process.communicate(timeout=self._standstill.every_s)
            except subprocess.TimeoutExpired:
                self.look()

    def read(self, pipe: int, count: float = math.inf) -> bytes:
        """So many bytes of a pipe, fewer where it ends."""
        content = bytearray()
        while len(content) < count:
            self._await(pipe, select.POLLIN)
            more = os.read(pipe, int(min(count - len(content), MIB)))
            if not more:
                break
            content += more
        return bytes(content)

    def write(self, pipe: int, content: bytes) -> None:
        """Writes to a pipe that it reads; `BrokenPipeError` where it has ended."""
        left = memoryview(content)
        while left:
            self._await(pipe, select.POLLOUT)
            # What a pipe that takes anything takes without a wait.
            left = left[os.write(pipe, left[: select.PIPE_BUF]) :]

    def _await(self, pipe: int, event: int) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        while not poll.poll(1000 * self._standstill.every_s):
            self.look()

    def read_line(self, pipe: int) -> bytes:
        """A line of a pipe, or what there is of it."""
        line = b""
        while not line.endswith(b"\n") and (more := self.read(pipe, 1)):
            line += more
        return line


def finished(
    command: Sequence[str | Path],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs a tool to its end, however long that takes while it works; see `Child`.

    `check`: `CalledProcessError` where it fails.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        pass_fds=pass_fds,
        text=True,
        errors="replace",
    ) as process:
        child = Child(process)
        try:
            said, words = child.finish()
        except BaseException:
            child.end()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, said, words)
    if check:
        done.check_returncode()
    return done
