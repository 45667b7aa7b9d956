# SPDX-License-Identifier: Apache-2.0
"""How near what was seen came to its bounds: the longest undisturbed time over the bound, of each bound."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any


def tightness(verdict: Mapping[str, Any]) -> list[str]:
    """A sentence, or none where nothing that was seen has a bound."""
    ratios = {
        (row["subject"], row["quantity"]): row["undisturbed"] / row["bound"]
        for row in verdict["rows"]
        if row["bound"] and row["undisturbed"] is not None
    }
    if not ratios:
        return []
    (subject, quantity), closest = max(ratios.items(), key=lambda entry: entry[1])
    many = "1 bound" if len(ratios) == 1 else f"{len(ratios)} bounds"
    return [
        f"Longest undisturbed time over its bound: median {median(ratios.values()):.2f} of {many},"
        f" the closest {closest:.2f} ({quantity} of {subject})."
    ]
