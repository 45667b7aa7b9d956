"""The errors that Consort reports to its user, each with its exit status.

Anything else that escapes a command is a defect of Consort and keeps its traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from consort.base.text import visible


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


# Causes for which the machine is to blame, not Consort and not the user's description.
LACKING = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EIO,
    errno.ENOMEM,
    errno.EMFILE,
    errno.EAGAIN,
}


@contextmanager
def environment_errors() -> Iterator[None]:
    """A full disk, or a folder that may not be written: `EnvironmentLacks`, not a defect."""
    try:
        yield
    except OSError as error:
        if error.errno not in LACKING:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        words = error.strerror or str(error)
        raise EnvironmentLacks(
            where + words[:1].lower() + words[1:],
            "make room, or name other folders: --root (runs), $CONSORT_CACHE (built programs), $TMPDIR",
        ) from error
