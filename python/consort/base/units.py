# SPDX-License-Identifier: Apache-2.0
"""The form of figures for people: every time in µs, thin spaces between thousands; tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Literal

# The statistics of a summary in the order of a table's columns, and their headings.
Statistic = Literal["min", "mean", "median", "p99", "p999", "p9999", "max"]
SUFFIX: dict[Statistic, str] = {
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


def time_text(ns: float | str | None, unit: str = "µs") -> str:
    """A time with its unit, for a sentence; of a release that was not served there is none."""
    if ns is None or float(ns) == float("inf"):
        return "unserved"
    return f"{microseconds(ns)} {unit}"


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


def apart(ns: float, limit: float) -> tuple[str, str]:
    """A time and its limit in µs, with so many decimals that they differ; a nanosecond has three."""
    texts = microseconds(ns), microseconds(limit)
    for decimals in (1, 3, 6):
        if texts[0] != texts[1] or ns == limit:
            break
        texts = _with(ns, decimals), _with(limit, decimals)
    return texts


def _with(ns: float, decimals: int) -> str:
    return f"{ns / 1e3:,.{decimals}f}".replace(",", THIN_SPACE)


def figure_unit(clock: dict[str, Any]) -> str:
    """The unit and the provenance of a recording's figures, for the heading of a table.

    Of a clock that counts instructions the unit has the time that stands for one, so that its figures and
    bounds, which are times, can be compared.
    """
    if clock["provenance"] != "counted":
        return f"µs, {clock['provenance']}"
    each, found, _ = str(clock.get("source", "")).partition(" for each instruction")
    return f"µs at {each} an instruction, counted" if found else "thousands of counts, counted"


def duration(ns: float) -> str:
    """A time with the unit that suits it, to three figures: how long something lasted, not to be compared."""
    for scale, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= scale:
            return f"{ns / scale:.3g} {name}" if ns < 1000 * scale else f"{ns / scale:,.0f} {name}"
    return f"{ns:.3g} ns"


def times(count: int) -> str:
    """A number of times, in words."""
    return "once" if count == 1 else f"{number(count)} times"


def counted(count: int, one: str, more: str = "") -> str:
    """So many of a thing, in words: "1 job", "2 jobs"."""
    return f"{number(count)} {one if count == 1 else more or f'{one}s'}"


def jobs_of(count: int) -> str:
    """So many jobs."""
    return counted(count, "job")


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


# A notebook shows so many rows; the object itself has all of them.
SHOWN = 60


def html_table(head: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table below a line that says what it is of; None is a dash."""
    every = list(rows)
    lines = [
        "<tr>" + "".join(f"<td>{'–' if cell is None else escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in every[:SHOWN]
    ]
    more = f"<p>and {len(every) - SHOWN} more</p>" if len(every) > SHOWN else ""
    titles = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(lines)
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{escape(head)}</p>{table}{more}"
