# SPDX-License-Identifier: Apache-2.0
"""A wait ends when nothing moves; what takes long on a busy machine goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from consort.base import waiting
from consort.base.waiting import Standstill, with_children, withheld_s


class Clock:
    """Time, and what the machine withholds of it, as a test has them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.withheld: dict[int, float] = {}
        monkeypatch.setattr(waiting.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(waiting, "withheld_s", lambda pid: self.withheld.get(pid, 0.0))

    def passes(self, seconds: float, wait: Standstill, seen: object, withheld: float = 0.0) -> bool:
        """True if the wait was over at any look; each half second has one."""
        over = False
        for _ in range(int(2 * seconds)):
            self.now += 0.5
            self.withheld[8] = self.withheld.get(8, 0.0) + 0.5 * withheld
            over = wait.over(seen) or over
        return over


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_what_moves_may_take_for_ever(clock: Clock) -> None:
    wait = Standstill(10)
    for step in range(100):
        assert not clock.passes(9, wait, step)
    assert clock.passes(2, wait, 99)
    assert not wait.over(None), "whatever else is seen is a move"


def test_what_is_seen_elsewhere_counts_as_a_move(clock: Clock) -> None:
    wait = Standstill(10)
    assert not clock.passes(9, wait, "no worker")
    wait.moved()
    assert not clock.passes(9, wait, "no worker")
    assert clock.passes(2, wait, "no worker")


def test_who_waits_may_be_stopped_too(clock: Clock) -> None:
    """Ctrl-Z in a terminal stops all of a job, and `fg` lets this process look first."""
    wait = Standstill(10)
    assert not clock.passes(5, wait, 0)
    clock.now += 3600
    assert not wait.over(0)
    assert not clock.passes(3, wait, 0)
    assert clock.passes(2, wait, 0)


def test_time_without_a_processor_is_no_standstill(clock: Clock) -> None:
    wait = Standstill(10, lambda: (7, 8))
    assert not clock.passes(900, wait, 0, withheld=0.99)
    clock.withheld.clear()
    assert clock.passes(2, wait, 0), "a process that has ended is waited for no longer"


def test_the_kernel_counts_what_it_withholds() -> None:
    """Two processes on one processor: each waits while the other one computes."""
    turns = "import time\nwhile time.process_time() < 0.2: pass\n"
    cpu = min(os.sched_getaffinity(0))
    line = ["taskset", "-c", str(cpu), sys.executable, "-c", f"{turns}input()"]
    several = [subprocess.Popen(line, stdin=subprocess.PIPE) for _ in range(2)]
    try:
        assert {process.pid for process in several} <= set(with_children())
        while not all(withheld_s(process.pid) > 0 for process in several):
            assert all(process.poll() is None for process in several)
    finally:
        for process in several:
            process.kill()
            process.communicate()
    assert withheld_s(several[0].pid) == 0
