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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_what_moves_may_take_for_ever(clock: Clock) -> None:
    wait = Standstill(10)
    for step in range(100):
        assert not wait.over(step)
        clock.now += 9
    assert not wait.over(99)
    clock.now += 2
    assert wait.over(99)
    assert not wait.over(None), "whatever else is seen is a move"


def test_what_is_seen_elsewhere_counts_as_a_move(clock: Clock) -> None:
    wait = Standstill(10)
    assert not wait.over("no worker")
    clock.now += 11
    wait.moved()
    assert not wait.over("no worker")
    clock.now += 11
    assert wait.over("no worker")


def test_time_without_a_processor_is_no_standstill(clock: Clock) -> None:
    wait = Standstill(10, lambda: (7, 8))
    assert not wait.over(0)
    for _ in range(100):
        clock.now += 9
        clock.withheld[8] = clock.withheld.get(8, 0.0) + 8.95
        assert not wait.over(0)
    clock.withheld.clear()
    clock.now += 5.5
    assert wait.over(0), "a process that has ended is waited for no longer"


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
