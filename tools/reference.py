#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of what does not go together and of what targets lack, made from the tables that refuse it.

.venv/bin/python tools/reference.py            print the page
.venv/bin/python tools/reference.py --write    write docs/reference/together.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from consort.model.conflicts import ROWS
from consort.plan.lacks import LACKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "together.md"
HEAD = """\
# What does not go together

`tools/reference.py --write` makes this page from the tables that Consort reads, in
`python/consort/model/conflicts.py` and `python/consort/plan/lacks.py`. What neither names works.

## On one core

`consort check` refuses these pairs, but for those of bounds alone: of them `consort analyze` gives no bound,
and `consort simulate` and `consort run` go on.

| feature | beside | why | |
| --- | --- | --- | --- |
"""
TARGETS = """
## What targets lack

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


def page() -> str:
    pairs = [
        f"| {row.feature} | {row.beside} | {spoken(row.why)} | {'refused' if row.refused else 'no bound'} |\n"
        for row in ROWS
    ]
    lacks = [f"| {row.feature} | {', '.join(row.targets)} | {spoken(row.why)} |\n" for row in LACKS]
    return "".join([HEAD, *pairs, TARGETS, *lacks])


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
