# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks: HTML that needs no style, and shows text as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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
