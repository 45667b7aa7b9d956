# SPDX-License-Identifier: Apache-2.0
"""Signals that ask this process to stop, and the end of what waits for long."""

from __future__ import annotations

import signal
import sys
from typing import Any

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
