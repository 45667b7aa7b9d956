#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the page of features that exclude each other and that targets lack, from the tables that refuse them.

.venv/bin/python tools/reference.py            print the page
.venv/bin/python tools/reference.py --write    write docs/reference/together.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from consort.model.conflicts import ROWS
from consort.model.exclusions import EXCLUSIONS
from consort.plan.lacks import LACKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "together.md"
HEAD = """\
# Features that exclude each other

`tools/reference.py --write` makes this page from the tables that Consort reads, in
`python/consort/model/conflicts.py`, `exclusions.py` beside it and `python/consort/plan/lacks.py`. All other
pairs work.

## On one core

*refused*: `consort check` refuses the pair, with its place and the reason. *no bound*: `consort analyze` says
why it gives none; `consort simulate` and `consort run` go on.

| feature | beside | |
| --- | --- | --- |
"""
ANYWHERE = """
## In one description

`consort check` refuses the pair, on whatever cores, and `consort check --for TARGET` what is of channels.

| feature | beside |
| --- | --- |
"""
TARGETS = """
## Features that targets lack

`consort check --for TARGET`, `consort plan`, `consort simulate` and `consort run` name the place, the reason
and what to write instead.

| feature | targets |
| --- | --- |
"""


def joined(rows: Iterable[tuple[str, ...]], column: int) -> list[tuple[str, ...]]:
    """The rows, those as one that differ in this column alone."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        found.setdefault((*row[:column], "", *row[column + 1 :]), []).append(row[column])
    return [(*rest[:column], "; ".join(said), *rest[column + 1 :]) for rest, said in found.items()]


def page() -> str:
    pairs = [(row.feature, row.beside, "refused" if row.refused else "no bound") for row in ROWS]
    anywhere = [(row.feature, row.beside) for row in EXCLUSIONS]
    lacks = [(row.feature, ", ".join(row.targets)) for row in LACKS]
    lines = [
        [f"| {' | '.join(row)} |\n" for row in rows]
        for rows in (
            joined(joined(pairs, 1), 0),
            joined(joined(anywhere, 1), 0),
            joined(lacks, 0),
        )
    ]
    return "".join([HEAD, *lines[0], ANYWHERE, *lines[1], TARGETS, *lines[2]])


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
