# SPDX-License-Identifier: Apache-2.0
"""Names of other formats brought to the form of Consort's: a letter, then letters, digits, '-' and '_'."""

from __future__ import annotations

import re

from consort.exchange.report import Report
from consort.model.base import NAME_PATTERN

LONGEST = 64


class Names:
    """New names for old ones, each unique within its kind."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.taken: dict[str, set[str]] = {}

    def new(self, kind: str, old: str) -> str:
        """A name for what was called `old`; a report entry where it had to change."""
        wanted = old
        if not re.fullmatch(NAME_PATTERN, old):
            wanted = re.sub(r"[^A-Za-z0-9_-]+", "-", old).strip("-") or kind
            if not wanted[0].isalpha():
                wanted = f"{kind[0]}-{wanted.lstrip('_')}".rstrip("-")
        wanted = wanted[:LONGEST]
        taken = self.taken.setdefault(kind, set())
        name, number = wanted, 2
        while name in taken:
            ending = f"-{number}"
            name, number = wanted[: LONGEST - len(ending)] + ending, number + 1
        taken.add(name)
        if name != old:
            self.report.change(
                f"name of a {kind}", f"{old!r} is {name}", "other letters, or a name taken already"
            )
        return name
