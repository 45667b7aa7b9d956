# SPDX-License-Identifier: Apache-2.0
"""Text that somebody else wrote, on its way to a terminal."""

from __future__ import annotations

import re

# Characters that a terminal obeys instead of showing: control characters beside tab and newline, and those
# that turn the direction of writing.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def obeyed(text: str) -> bool:
    """True if a terminal would obey a part of the text."""
    return _OBEYED.search(text) is not None


def visible(text: str) -> str:
    """The text, with characters that a terminal would obey in Python's notation: \\x1b."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
