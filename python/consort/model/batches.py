# SPDX-License-Identifier: Apache-2.0
"""Steps that take several blocks of a queue in one job, found in the text of their headers."""

from __future__ import annotations

import re
from pathlib import Path

from consort.base.files import LARGEST_MODEL, is_file, read_bytes

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)
BATCH = re.compile(r"\bBatch\s*<")


def takes_several(header: Path) -> bool:
    """True if a step's header, or one that it includes by a path in quotes, has a `consort::Batch<T, N>`.

    How many blocks the step takes, only its types say.
    """
    unread = [header]
    seen: set[Path] = set()
    while unread:
        file = unread.pop()
        # The text of an include may be anything.
        if not is_file(file) or (place := file.resolve()) in seen:
            continue
        seen.add(place)
        written = read_bytes(place, LARGEST_MODEL, "header").decode("utf-8", "replace")
        text = COMMENT.sub(" ", written)
        if BATCH.search(text):
            return True
        unread += [place.parent / name for name in QUOTED_INCLUDE.findall(text)]
    return False
