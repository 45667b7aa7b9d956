# SPDX-License-Identifier: Apache-2.0
"""rt-app's JSON: with comments, with trailing commas, and with the same key standing several times.

Events may have no value, as in `"suspend",`: rt-app's own tool completes them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.base.limits import LARGEST_DESCRIPTION, read_bytes

# An event without a value, as one can stand in an object: after its brace or a comma, and before one of them.
_VALUELESS = re.compile(r'([{,]\s*)("(?:suspend|yield)\d*")(?=\s*[,}])')


class Pairs(list[tuple[str, Any]]):
    """An object of JSON with its keys in order, equal ones kept."""


def read_rtapp_text(path: Path) -> Pairs:
    try:
        text = read_bytes(path, LARGEST_DESCRIPTION, "workload").decode("utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"is no UTF-8 text: byte {error.start}", file=path) from None
    plain = _VALUELESS.sub(r'\1\2: ""', without_comments(text, path))
    try:
        data = json.loads(plain, object_pairs_hook=Pairs)
    except json.JSONDecodeError as error:
        raise BadInput(f"is no JSON: {error.msg}", file=path, line=error.lineno, column=error.colno) from None
    except (RecursionError, ValueError):
        raise BadInput(
            "is nested too deep, or holds a number too long; this is no workload", file=path
        ) from None
    if not isinstance(data, Pairs):
        raise BadInput("holds no object; a workload is {tasks: …, global: …}", file=path)
    return data


def without_comments(text: str, path: Path) -> str:
    """The text with comments and trailing commas blanked out, so that lines and columns stay as they are."""
    out = list(text)
    place, comma = 0, -1
    while place < len(text):
        start = text[place : place + 2]
        if start in ("//", "/*"):
            end = text.find("\n" if start == "//" else "*/", place + 2)
            if end < 0 and start == "/*":
                raise BadInput(
                    "the comment has no end; add */", file=path, line=text.count("\n", 0, place) + 1
                )
            end = len(text) if end < 0 else end + (2 if start == "/*" else 0)
            for index in range(place, end):
                if out[index] != "\n":
                    out[index] = " "
            place = end
            continue
        if text[place] == '"':
            place = _end_of_string(text, place)
            comma = -1
            continue
        if text[place] == ",":
            comma = place
        elif text[place] in "}]" and comma >= 0:
            out[comma] = " "
        if not text[place].isspace() and text[place] != ",":
            comma = -1
        place += 1
    return "".join(out)


def _end_of_string(text: str, place: int) -> int:
    place += 1
    while place < len(text) and text[place] not in '"\n':
        place += 2 if text[place] == "\\" else 1
    return place + 1
