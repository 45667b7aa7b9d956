#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the page of features that exclude each other and that targets lack, from the tables that refuse them.

.venv/bin/python tools/reference.py            print the page
.venv/bin/python tools/reference.py --write    write docs/reference/together.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from consort.model.conflicts import ROWS
from consort.plan.lacks import LACKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "together.md"
HEAD = """\
# Features that exclude each other

`tools/reference.py --write` makes this page from the tables that Consort reads, in
`python/consort/model/conflicts.py` and `python/consort/plan/lacks.py`. All other pairs work.

## On one core

*refused*: `consort check` refuses the pair. *no bound*: `consort analyze` gives none; `consort simulate` and
`consort run` go on.

| feature | beside | why | |
| --- | --- | --- | --- |
"""
TARGETS = """
## Features that targets lack

`consort check --for TARGET`, `consort plan`, `consort simulate` and `consort run` say so, with the place.

| feature | targets | why |
| --- | --- | --- |
"""


class Word(str):
    """A word that stands for a name, which messages put in quotes."""

    def __repr__(self) -> str:
        return str(self)


WORDS = {
    "core": Word("the core"),
    "policy": Word("its policy"),
    "task": Word("the task"),
    "other": Word("another task"),
    "execution": Word("another"),
    "said": Word("the other"),
    "beside": Word("it"),
    "target": Word("the target"),
    "key": Word("it"),
    "away": Word("another task"),
    "channel": Word("the channel"),
    "device": Word("a device"),
    "source": Word("the source"),
    "platform": Word("the platform"),
    "modes": Word("--mode …"),
    "why": Word("no job is released by such blocks in simulated or virtual time"),
}


def spoken(why: str) -> str:
    return why.format(**WORDS).replace("the core the core", "the core").replace("the device a", "a")


def joined(rows: Iterable[tuple[str, ...]], column: int) -> list[tuple[str, ...]]:
    """The rows, those as one that differ in this column alone."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        found.setdefault((*row[:column], "", *row[column + 1 :]), []).append(row[column])
    return [(*rest[:column], ", ".join(said), *rest[column + 1 :]) for rest, said in found.items()]


def page() -> str:
    pairs = [
        (
            row.feature,
            row.beside,
            # The column before names it, so that rows of one reason join.
            re.sub(f"'{row.beside}'( of the core)?", "it", spoken(row.why)),
            "refused" if row.refused else "no bound",
        )
        for row in ROWS
    ]
    lacks = [(row.feature, ", ".join(row.targets), spoken(row.why)) for row in LACKS]
    lines = [
        [f"| {' | '.join(row)} |\n" for row in rows]
        for rows in (
            joined(joined(pairs, 1), 0),
            joined(lacks, 0),
        )
    ]
    return "".join([HEAD, *lines[0], TARGETS, *lines[1]])


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
