# SPDX-License-Identifier: Apache-2.0
"""All that is wrong with a description, reported together."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from typing import Any

from consort.base.errors import BadInput

# More are no help, and a generated description of thousands of tasks can have one fault in each.
MOST_PROBLEMS = 1000
# How many known names are compared with an unknown one: comparing all with all would take minutes.
MOST_COMPARED = 500


class BadDescription(BadInput):
    """A description with one or more problems, one line each, in the order of the files' lines."""

    def __init__(self, problems: Iterable[BadInput]) -> None:
        unique = {str(problem): problem for problem in problems}
        self.problems = sorted(
            unique.values(), key=lambda p: (str(p.file or ""), p.line or 0, p.column or 0, str(p))
        )
        if not self.problems:
            raise ValueError("a bad description has at least one problem")
        first = self.problems[0]
        super().__init__(
            first.message, file=first.file, line=first.line, column=first.column, field=first.field
        )
        self.args = ("\n".join(str(problem) for problem in self.problems),)

    def to_json(self) -> list[dict[str, Any]]:
        return to_json(self.problems)


def to_json(problems: Iterable[BadInput]) -> list[dict[str, Any]]:
    """Problems as data: file, line, column, field, message."""
    return [
        {
            "file": None if p.file is None else str(p.file),
            "line": p.line,
            "column": p.column,
            "field": p.field,
            "message": p.message,
        }
        for p in problems
    ]


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is most likely a slip of; of equally likely ones the first."""
    best, score = None, 0.6
    folded = _fold(name)
    # The second sequence is the one that a matcher keeps its tables of.
    matcher = difflib.SequenceMatcher(None, "", name)
    for candidate in itertools.islice(known, MOST_COMPARED):
        # Case and the two ways of joining words are the commonest slips, and score low in short names.
        if _fold(candidate) == folded:
            return candidate
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() > score and matcher.quick_ratio() > score and matcher.ratio() > score:
            best, score = candidate, matcher.ratio()
    return best


def _fold(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """The second half of a message about an unknown name: the nearest valid one, or all there are."""
    names = list(known)
    close = closest(name, names)
    if close is not None:
        return f"did you mean {close!r}?"
    if not names:
        return f"there are no {what}"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"{what}: {shown}"
