# SPDX-License-Identifier: Apache-2.0
"""The end of a process that waits for others."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from consort.base.waiting import with_children
from consort.run import far_memory
from effort import PATIENCE, wait_for

# The exception comes in a finalizer, which drops it and goes on.
SWALLOWED = """
import os, signal, sys
from consort.base.waiting import signals_to_exceptions
from consort.run.process import execute

signals_to_exceptions()

class Final:
    def __del__(self):
        os.kill(os.getpid(), {number})

Final()
print("still here", flush=True)
execute(["sleep", "1000"], "sleeping", 1000, lambda _what, _share: None)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_whose_exception_is_lost_ends_the_next_wait(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED.format(number=int(number))],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout == "still here\n"
    assert done.stderr == ""
    assert done.returncode == 128 + number


WATCHES = """
import sys
from pathlib import Path
from consort.base.environment import usable_cpus
from consort.base.waiting import signals_to_exceptions
from consort.run import process

signals_to_exceptions()
process.LONGEST = 3000.0
progress = lambda _what, _share: print("watching", flush=True)
process.watch(usable_cpus()[:2], 3000.0, progress, realtime=False)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_what_watches_the_cpus_ends_with_the_run(number: signal.Signals) -> None:
    """It would spin on, and with SIGTERM the run would wait for it."""
    command = [sys.executable, "-c", WATCHES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None and process.stdout.readline() == b"watching\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        probes = [int(pid) for pid in children.read_text(encoding="ascii").split()]
        assert probes
        began = [started(pid) for pid in probes]
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
    for pid, start in zip(probes, began, strict=True):
        wait_for(f"the end of probe {pid}", lambda pid=pid, start=start: started(pid) != start)


def started(pid: int) -> str:
    """When a process was started, which tells it from a later one of its number; empty once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def test_a_run_ends_whose_server_of_remote_memory_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process is not ended by what asks it to; the run waited for it for ever."""
    stopped = ["sh", "-c", "echo ready; kill -STOP $$"]
    monkeypatch.setattr(far_memory, "END_S", 0.2)
    monkeypatch.setattr(far_memory, "_sizes", lambda *_: {"far": 4096})
    monkeypatch.setattr(far_memory, "remote_memory", lambda: SimpleNamespace(own_server=lambda *_: stopped))
    before = with_children()
    made: Any = None
    with far_memory.serving(made, {}, {}) as servers:
        (server,) = set(with_children()) - set(before)
        wait_for("the stop", lambda: stop_state(server) == "T")
        assert list(servers) == ["far"]
    assert started(server) == ""


def stop_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
