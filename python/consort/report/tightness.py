# SPDX-License-Identifier: Apache-2.0
"""The tightness of bounds: the longest undisturbed time over the bound, of each bound."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any


def tightness(verdict: Mapping[str, Any]) -> list[str]:
    """A sentence, or none where nothing that was seen has a bound. An endless time is one not served."""
    ratios = {
        (row["subject"], row["quantity"]): float(row["undisturbed"]) / float(row["bound"])
        for row in verdict["rows"]
        if row["bound"] not in (None, 0, "inf") and row["undisturbed"] is not None
    }
    if not ratios:
        return []
    (subject, quantity), closest = max(ratios.items(), key=lambda entry: entry[1])
    middle, nearest = (
        "∞" if value == float("inf") else f"{value:.2f}" for value in (median(ratios.values()), closest)
    )
    many = "1 bound" if len(ratios) == 1 else f"{len(ratios)} bounds"
    return [
        f"Longest undisturbed time over its bound: median {middle} of {many},"
        f" the closest {nearest} ({quantity} of {subject})."
    ]
