# SPDX-License-Identifier: Apache-2.0
"""Lines of text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from consort.plan.types import PlannedTask

WIDTH = 80
LABEL, CELL = 17, 12


def wrapped(text: str, indent: str = "  ", first: str = "") -> list[str]:
    """Text in lines of at most 80 columns; a name is never broken."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent + first,
        break_long_words=False,
        break_on_hyphens=False,
    )


def placed(task: PlannedTask) -> str:
    """The core that releases a task, and the one that computes it, where that is another."""
    return f"on {task.core}" + (f", computed on {task.worker}" if task.worker else "")


def heads_line(heads: Sequence[str]) -> str:
    """The headings of up to five columns of figures."""
    return " " * LABEL + "".join(f"{head:>{CELL}}" for head in heads)
