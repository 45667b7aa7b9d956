# SPDX-License-Identifier: Apache-2.0
"""The tables and lists that a plan is shown in."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from consort.model.quantities import Duration

# Longer names break within their column.
LONGEST_WHOLE = 20


def line(head: str, text: str) -> RenderableType:
    return Text(f"{head}: {text}")


def table_of(title: str, names: Iterable[str], *heads: tuple[str, str]) -> Table:
    """A table whose first column has names: whole ones where the longest leaves room for the rest."""
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False, box=None)
    whole = max((len(name) for name in names), default=0) <= LONGEST_WHOLE
    for number, (head, side) in enumerate(heads):
        table.add_column(head, justify=side, overflow="fold", no_wrap=whole and number == 0)  # type: ignore[arg-type]
    return table


def listing(title: str, lines: Iterable[tuple[str, str]]) -> RenderableType:
    parts = [Padding(Text(f"{name}: {text}"), (0, 0, 0, 2)) for name, text in lines]
    return Group(Text(title, style="bold"), *parts) if title else Group(*parts)


def time_text(picoseconds: int | None, without: str = "-") -> str:
    return without if picoseconds is None else Duration.spelled(picoseconds)


def about(picoseconds: int | None) -> str:
    """A computed time, to the nanosecond above."""
    return "-" if picoseconds is None else Duration.spelled(-(-picoseconds // 1000) * 1000)
