# SPDX-License-Identifier: Apache-2.0
"""Runs that end badly, in real processes: the machine is restored whatever ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort.machine.prepare import prepared, watchdog
from prepare_support import FILES, until, values

pytestmark = pytest.mark.realtime

RUN = """
import os, sys, time
from pathlib import Path
from consort.machine.prepare import prepared
with prepared([2, 3], [0, 1], root=Path(sys.argv[1]), heartbeat_s=float(sys.argv[2])) as result:
    if sys.argv[3] == "fork" and os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep(600)
    os.write(1, b"ready\\n")
    sys.stdin.readline()
print(result.restoration.why, flush=True)
"""


class Run:
    """A run in a process of its own; `wait` returns a line of its output."""

    def __init__(self, root: Path, heartbeat_s: float = 30.0, kind: str = "plain") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(root), str(heartbeat_s), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> str:
        """Lets the run end, and returns the reason of the restoration."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.line()


@pytest.fixture
def started() -> Iterator[list[Run]]:
    runs: list[Run] = []
    yield runs
    for run in runs:
        run.process.kill()
        run.process.communicate()


def start(started: list[Run], *arguments: object) -> Run:
    started.append(Run(*arguments))  # type: ignore[arg-type]
    return started[-1]


def is_restored(root: Path) -> bool:
    return values(root) == FILES and not (root / watchdog.STATE).exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGABRT])
def test_killed_run_is_restored(machine: Path, started: list[Run], number: signal.Signals) -> None:
    run = start(started, machine)
    assert run.line() == "ready"
    assert values(machine) != FILES
    run.process.send_signal(number)
    assert until(lambda: is_restored(machine))


def test_killed_run_whose_child_holds_the_connection_is_restored(machine: Path, started: list[Run]) -> None:
    """A forked child inherits the run's end of the socket: there is no end of file."""
    run = start(started, machine, 30.0, "fork")
    child = next(int(text) for text in (run.line(), run.line()) if text != "ready")
    try:
        run.process.kill()
        assert until(lambda: is_restored(machine))
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_stopped_run_is_restored_and_says_so_later(machine: Path, started: list[Run]) -> None:
    run = start(started, machine, 0.1)
    assert run.line() == "ready"
    run.process.send_signal(signal.SIGSTOP)
    assert until(lambda: is_restored(machine))
    run.process.send_signal(signal.SIGCONT)
    assert run.end() == "heartbeats have stopped"


def test_run_group_that_is_killed_whole_is_restored(machine: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(machine), "30", "plain"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert until(lambda: is_restored(machine))


def watchdog_of(root: Path) -> int:
    return int((root / watchdog.LOCK).read_text())


def test_run_restores_by_itself_when_its_watchdog_was_killed(machine: Path, started: list[Run]) -> None:
    run = start(started, machine)
    assert run.line() == "ready"
    os.kill(watchdog_of(machine), signal.SIGKILL)
    assert run.end() == "the watchdog was killed"
    assert is_restored(machine)


def test_watchdog_that_is_asked_to_end_restores_first(machine: Path, started: list[Run]) -> None:
    """A machine that shuts down, or a service manager, sends SIGTERM to everything."""
    run = start(started, machine)
    assert run.line() == "ready"
    os.kill(watchdog_of(machine), signal.SIGTERM)
    assert until(lambda: is_restored(machine))
    assert run.end() == "the watchdog was asked to end"


def test_both_killed_are_made_up_for_by_the_next_run(machine: Path, started: list[Run]) -> None:
    run = start(started, machine)
    assert run.line() == "ready"
    run.process.send_signal(signal.SIGSTOP)
    os.kill(watchdog_of(machine), signal.SIGKILL)
    run.process.kill()
    run.process.wait()
    assert values(machine) != FILES
    with prepared([2], [0], root=machine) as result:
        # The machine's own setting is that of before the first run.
        assert {"what": "timer_migration", "from": "1", "to": "0"} in result.to_json()["set"]
    assert is_restored(machine)


def test_this_machine_is_restored_after_sigkill(tmp_path: Path, two_cpus: tuple[int, int]) -> None:
    """The real kernel: one sysctl, and the CPUs of a task that the test has started."""
    from consort.machine.prepare.settings import timer_migration

    setting = Path("/proc/sys/kernel/timer_migration")
    if os.geteuid() != 0 or not os.access(setting, os.W_OK):
        pytest.skip("needs root and a writable /proc/sys")
    if setting.read_text().strip() != "1":
        pytest.skip(f"timer_migration is {setting.read_text().strip()} here, not 1")
    first, second = two_cpus
    script = f"""
import time
from consort.machine.prepare import prepared
from consort.machine.prepare.settings import {timer_migration.__name__}
with prepared([{second}], [{first}], sources=[{timer_migration.__name__}]):
    print("ready", flush=True)
    time.sleep(600)
"""
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    try:
        assert run.stdout.readline().strip() == "ready"
        assert setting.read_text().strip() == "0"
    finally:
        run.kill()
        run.communicate()
    assert until(lambda: setting.read_text().strip() == "1")
