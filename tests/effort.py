# SPDX-License-Identifier: Apache-2.0
"""The effort of a test, and its patience with a process that hangs."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# tools/run_tests.py sets it; `CONSORT_THOROUGH=1 pytest FILE` tries everything of one file.
THOROUGH = os.environ.get("CONSORT_THOROUGH") == "1"
FEWEST = 20
# Seconds after which a process is taken to hang: far longer than anything takes on a machine that is busy. No
# test may pass or fail by how long something took. tests/CMakeLists.txt reads this line.
PATIENCE = 300
# The locks of this tree's tests; the one that tests of real time have alone, and all else shares.
LOCKS = Path(__file__).parents[1] / "build" / "tests"
REALTIME = "realtime.lock"
# Exit statuses of a run on this machine: it held, it did not, the machine disturbed too much.
VERDICTS = (0, 1, 4)


def examples(number: int) -> int:
    """The number of examples of a property to try: a quarter of `number` but at least 20, or all."""
    return number if THOROUGH else min(number, max(FEWEST, number // 4))


def lock(name: str, exclusive: bool) -> int:
    """A lock of this tree's tests, alone or shared; closing the file gives it back."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    file = os.open(LOCKS / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # Unlike flock's, this lock is not a child's too: what a test leaves behind keeps nobody waiting.
    fcntl.lockf(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
    return file


class Time:
    """Says whether the test that runs now has the machine to itself; conftest.py sets it."""

    # The test is one of real time.
    own = False
    # It has the machine now.
    alone = False
    # It waits for the machine, which is no hang.
    waits = False
    # The file REALTIME, locked.
    lock = -1

    @classmethod
    def take(cls) -> None:
        """Waits until no other test runs, and keeps others from it."""
        cls.waits = True
        # Two that share it and want it alone would wait for one another.
        fcntl.lockf(cls.lock, fcntl.LOCK_UN)
        fcntl.lockf(cls.lock, fcntl.LOCK_EX)
        cls.alone, cls.waits = True, False

    @classmethod
    def give_back(cls) -> None:
        fcntl.lockf(cls.lock, fcntl.LOCK_SH)
        cls.alone = False


def needs_own_time() -> None:
    """Fails a test that runs in the time of this machine without the marker that gives it the machine."""
    assert Time.own, "this test runs in the machine's own time: mark it with pytest.mark.realtime"


@contextmanager
def own_time(needed: bool = True) -> Iterator[None]:
    """Has the machine alone meanwhile, where that is needed."""
    if needed:
        needs_own_time()
    if Time.alone or not needed:
        yield
        return
    Time.take()
    try:
        yield
    finally:
        Time.give_back()


@contextmanager
def beside_others() -> Iterator[None]:
    """Gives the machine back meanwhile, in a test that has it: compilers do not need it alone."""
    if not Time.alone:
        yield
        return
    Time.give_back()
    try:
        yield
    finally:
        Time.take()


def wait_for(what: str, look: Callable[[], Any]) -> Any:
    """The result of `look`, as soon as there is one."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {PATIENCE:.0f} s")
