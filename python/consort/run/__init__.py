# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: its program, its data, its processes on this machine, and the judge's verdict on it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from consort.base.packages import make_callable

if TYPE_CHECKING:
    from consort.run.application import Prepared, prepare
    from consort.run.flow import run_system
    from consort.run.options import Options

__all__ = ["Options", "Prepared", "prepare", "run_system"]

make_callable(__name__, "consort.run.call", "run")

# Each is imported when it is used first: who only runs processes, as the commands of boards do, needs neither
# the judge nor libraries of numbers.
_HOMES = {"Options": "options", "Prepared": "application", "prepare": "application", "run_system": "flow"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
