# SPDX-License-Identifier: Apache-2.0
"""Named by the descriptions here, of which only plans are made."""

from __future__ import annotations

from typing import Any


def made(*anything: Any, **named: Any) -> Any:
    return anything, named


def other(*anything: Any, **named: Any) -> Any:
    return anything, named
