# SPDX-License-Identifier: Apache-2.0
"""The end of a process that waits for others."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from effort import PATIENCE

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
