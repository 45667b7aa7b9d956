# SPDX-License-Identifier: Apache-2.0
"""How figures are written for people: one unit for a table, thin spaces between thousands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# The statistics of a summary in the order of a table's columns, and their headings.
SUFFIX: dict[str, str] = {
    "min": "min",
    "mean": "mean",
    "median": "median",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "max",
}
STATISTICS = tuple(SUFFIX)
THIN_SPACE = "\u202f"


@dataclass(frozen=True)
class Unit:
    """A unit, how many base units it holds, and the decimals that are worth showing."""

    name: str
    scale: float
    decimals: int

    def format(self, value: float) -> str:
        return f"{value / self.scale:,.{self.decimals}f}".replace(",", THIN_SPACE)


NS = Unit("ns", 1.0, 0)
US = Unit("µs", 1e3, 3)
MS = Unit("ms", 1e6, 3)


def time_unit(medians_ns: Sequence[float]) -> Unit:
    """The unit for a table of times: the one that suits its largest median."""
    largest = max(medians_ns, default=0.0)
    return NS if largest < 1e3 else US if largest < 1e7 else MS


def quantity(ns: float, unit: Unit | None = None) -> str:
    """One time with its unit: the given one, or the one that suits it."""
    unit = unit or time_unit([ns])
    return f"{unit.format(ns)} {unit.name}"


def number(value: Any) -> str:
    """A count or a figure of any kind, as it stands in a table's cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", THIN_SPACE)
    if isinstance(value, float):
        return (f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}").replace(",", THIN_SPACE)
    return str(value)
