# SPDX-License-Identifier: Apache-2.0
"""The engine's analyses, whose sums stay within 63 bits: a larger sum gives no bound, and no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from consort.model.quantities import LARGEST

OUT_OF_RANGE = "out-of-range"
NOTE = "its busy window, or a time of it, leaves 63 bits of picoseconds (106 days)"


def within_range(analysis: Callable[..., dict[str, Any]], **arguments: Any) -> dict[str, Any]:
    """The result of an analysis of the engine; without a bound, and with this verdict, if a sum is too
    large."""
    for value in arguments.values():
        if isinstance(value, list) and value and isinstance(value[0], int) and max(value) > LARGEST:
            return {"verdict": OUT_OF_RANGE, "bound": None}
    try:
        return analysis(**arguments)
    except OverflowError:
        return {"verdict": OUT_OF_RANGE, "bound": None}
