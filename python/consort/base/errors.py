# SPDX-License-Identifier: Apache-2.0
"""The errors that Consort reports to its user, and the answer whether a system holds: exit statuses of both.

Anything else that escapes a command is a defect of Consort and keeps its traceback.
"""

from __future__ import annotations

import difflib
import errno
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

# Characters that a terminal obeys instead of showing: control characters beside tab and newline, and those
# that turn the direction of writing. And bytes of a path that are not text: no output takes them.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def obeyed(text: str) -> bool:
    """True if a terminal would obey a part of the text."""
    return _OBEYED.search(text) is not None


def visible(text: str) -> str:
    """The text, with characters that a terminal would obey in Python's notation: \\x1b."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class ConsortError(Exception):
    """Base of all errors that end a command with one clear message instead of a traceback.

    The message may quote what somebody else wrote: nothing in it is obeyed by a terminal.
    """

    exit_status = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(message))


class BadInput(ConsortError):
    """An error in the user's input (exit status 2).

    The text reads ``file:line:column: field: what was wrong; what would be right``; parts that are not
    known are left out.
    """

    exit_status = 2

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
        field: str | None = None,
    ) -> None:
        place = ":".join(str(p) for p in (file, line, column) if p is not None)
        super().__init__(": ".join(p for p in (place, field, message) if p))
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.field = field

    def saying(self, message: str) -> BadInput:
        """The same place with another message."""
        return BadInput(message, file=self.file, line=self.line, column=self.column, field=self.field)


class EnvironmentLacks(ConsortError):
    """The machine lacks something that the command needs (exit status 3): what, and how to get it."""

    exit_status = 3

    def __init__(self, what: str, how: str) -> None:
        super().__init__(f"{what}; {how}")
        self.what = what
        self.how = how


class SystemFails(ConsortError):
    """The system under test fails: a deadline missed, an output wrong, a bound exceeded (exit status 1)."""

    exit_status = 1


class Undecided(ConsortError):
    """An error: nobody can tell whether the system holds (exit status 4): what is not known, and how to know
    it."""

    exit_status = 4


# No more can be written there.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Causes for which the machine is to blame, whatever file is named.
MACHINES = FULL | {
    errno.EIO,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
}
# Beside them those that another folder avoids, where the user named none.
LACKING = MACHINES | {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST}
_REMEDIES = {
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or end other programs",
    errno.ENOMEM: "end other programs, or raise the limit of memory (ulimit -v)",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f)",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the system's limit of open files (sysctl fs.file-max)",
}
_ROOM = "make room, or name other folders: --root (runs), $CONSORT_CACHE (built programs), $TMPDIR"


@contextmanager
def environment_errors() -> Iterator[None]:
    """A full disk, or a folder that may not be written: `EnvironmentLacks`, not a defect."""
    try:
        yield
    except OSError as error:
        if error.errno not in LACKING:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        # Libraries add words of their own to the system's.
        words = os.strerror(error.errno)
        raise EnvironmentLacks(where + words[:1].lower() + words[1:], remedy_of(error)) from error


def remedy_of(error: OSError) -> str:
    """The remedy of a lack of the machine."""
    return _REMEDIES.get(error.errno or 0, _ROOM)


def remedy_for(words: str) -> str | None:
    """The remedy of a lack of which a program speaks; None where it does not."""
    return next((remedy_of(OSError(code, "")) for code in sorted(FULL) if os.strerror(code) in words), None)


def machines_fault(error: BaseException) -> OSError | None:
    """The machine's fault behind an error, if there is one: a full disk is not bad input, whoever says so."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, OSError) and cause.errno in MACHINES:
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


class Held(StrEnum):
    """The answer whether a system held: the one that bounds, a verdict, a run and a simulation give.

    True where it held, so that `if verdict.ok` reads as it did; run.json has the word alone.
    """

    HELD = "held"
    NOT_HELD = "not held"
    UNDECIDED = "undecided"

    def __bool__(self) -> bool:
        return self is Held.HELD

    @staticmethod
    def of(failures: Sized, open_ones: Sized = ()) -> Held:
        """The answer, from why it did not hold and from what is not known of it."""
        if len(failures):
            return Held.NOT_HELD
        return Held.UNDECIDED if len(open_ones) else Held.HELD

    @property
    def headline(self) -> str:
        """The headline for a system."""
        return {
            Held.HELD: "The system held",
            Held.NOT_HELD: "The system did not hold",
            Held.UNDECIDED: "Undecided: it is not known whether the system holds",
        }[self]

    @property
    def exit_status(self) -> int:
        """The exit status of a command that gives this answer."""
        return {Held.HELD: 0, Held.NOT_HELD: SystemFails.exit_status, Held.UNDECIDED: Undecided.exit_status}[
            self
        ]


# More do not help, and a generated description of thousands of tasks can have one fault in each.
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
