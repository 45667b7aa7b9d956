# SPDX-License-Identifier: Apache-2.0
"""The form of figures for people: every time in µs, thin spaces between thousands."""

from __future__ import annotations

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


def microseconds(ns: float | str | None) -> str:
    """A time in µs without its unit, the same everywhere: three decimals below 1,000 µs, fewer above.

    None, a figure that there is not, is a dash; an infinite time, one of a release that was not served, is ∞.
    """
    if ns is None:
        return "–"
    us = float(ns) / 1e3
    if us == float("inf"):
        return "∞"
    decimals = 3 if abs(us) < 1e3 else 1 if abs(us) < 1e5 else 0
    return f"{us:,.{decimals}f}".replace(",", THIN_SPACE)


def figure_unit(clock: dict[str, Any]) -> str:
    """The unit and the provenance of a recording's figures, for the heading of a table.

    A clock that counts has a nanosecond for each instruction, or says otherwise: what is written as µs
    elsewhere are then thousands of instructions.
    """
    if clock["provenance"] == "counted":
        each = str(clock.get("source", ""))
        unlike = bool(each) and not each.startswith("one nanosecond for each instruction")
        return f"thousands of counts, counted ({each})" if unlike else "thousands of instructions, counted"
    return f"µs, {clock['provenance']}"


def duration(ns: float) -> str:
    """A time with the unit that suits it, to three figures: how long something lasted, not to be compared."""
    for scale, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= scale:
            return f"{ns / scale:.3g} {name}" if ns < 1000 * scale else f"{ns / scale:,.0f} {name}"
    return f"{ns:.3g} ns"


def times(count: int) -> str:
    """A number of times, in words."""
    return "once" if count == 1 else f"{number(count)} times"


def jobs_of(count: int) -> str:
    """So many jobs."""
    return "1 job" if count == 1 else f"{number(count)} jobs"


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
