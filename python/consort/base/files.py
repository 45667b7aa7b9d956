# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all, and limited reads of files that somebody else wrote."""

from __future__ import annotations

import json
import math
import os
import re
import select
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from consort.base.errors import BadInput, obeyed, visible


@contextmanager
def written_whole(file: Path) -> Iterator[Path]:
    """A path beside a file to write to, which then takes its place; where writing fails, nothing is left."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield part
        part.replace(file)
    except BaseException as error:
        part.unlink(missing_ok=True)
        # The user knows the file by its own name; a write to a full disk names none.
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(part)):
            error.filename = str(file)
        raise


def write_text(file: Path, text: str) -> None:
    """Writes UTF-8; the bytes of a path that are not text stand there in Python's notation: \\udcff."""
    file.write_text(text, encoding="utf-8", errors="backslashreplace")


def replace_file(file: Path, text: str) -> None:
    """Writes a text file, with the permissions that it had if it was there."""
    with written_whole(file) as part:
        write_text(part, text)
        if file.exists():
            part.chmod(file.stat().st_mode & 0o777)


MIB = 1 << 20
# 10,000 tasks in full are about 3 MiB.
LARGEST_DESCRIPTION = 16 * MIB
# Models of other tools are wordier.
LARGEST_MODEL = 64 * MIB
LARGEST_TREE = 32 * MIB
LARGEST_RECORD = 256 * MIB
LARGEST_MODULE = 4 * MIB
LARGEST_PICTURE = 4 * MIB
# The first line of a table [characters].
LONGEST_HEADER = MIB


# How long a pipe may have nobody who writes to it [s].
WRITER_S = 5.0


def read_bytes(path: Path, largest: int, what: str, *, pipes: bool = True) -> bytes:
    """All bytes of a file, at most `largest`; `OSError` as `open` has it, `BadInput` where there are more.

    A device or a folder is refused, and so is a pipe to which nobody writes, or any where not `pipes`: what
    lies in a folder that somebody else may have made is a plain file.
    """
    # Opening a pipe that nobody writes to would wait for ever.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if pipes and stat.S_ISFIFO(mode):
            content = _from_pipe(file.fileno(), largest + 1, path)
        elif stat.S_ISREG(mode):
            content = file.read(largest + 1)
        else:
            raise BadInput(f"is not a file; give the path of a {what}", file=path)
    if len(content) > largest:
        raise BadInput(f"is larger than {largest // MIB} MiB; a {what} of that size is refused", file=path)
    return content


def _from_pipe(pipe: int, most: int, path: Path) -> bytes:
    """The bytes that somebody writes to a pipe until it is closed."""
    content = b""
    until = time.monotonic() + WRITER_S
    while len(content) < most:
        try:
            more = os.read(pipe, min(most - len(content), MIB))
        except BlockingIOError:
            # Somebody has it open, who may take as long as it takes.
            select.select([pipe], [], [], 1.0)
            continue
        if not more and (content or _had_a_writer(pipe)):
            break
        if not more and time.monotonic() > until:
            raise BadInput(
                f"is a pipe, and nobody has written to it for {WRITER_S:.0f} s; give a file", file=path
            )
        content += more
        if not more:
            time.sleep(0.02)
    return content


def _had_a_writer(pipe: int) -> bool:
    """True if somebody had the pipe open for writing and closed it: only then it hangs up."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


def is_file(path: Path) -> bool:
    """True if the path is a file; a name too long for the system, or in a folder that is closed, is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """True if the path is a folder; errors count as in `is_file`."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def names_in(folder: Path, suffix: str) -> list[str]:
    """Names of a folder's files that end in `suffix`, for hints; none where it cannot be listed."""
    try:
        return sorted(path.name for path in folder.iterdir() if path.suffix == suffix)
    except (OSError, ValueError):
        return []


# Escapes in a file of JSON that may stand for a character that a terminal obeys.
_ESCAPES = re.compile(r'\\[^"\\/nt]')


def as_json(data: Any) -> str:
    """Data as one line of JSON; `ValueError` for numbers that JSON does not have.

    The standard library's encoder is fast only without indentation.
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def write_json(file: Path, data: Any) -> str:
    """Writes data as one line of JSON, which it returns."""
    text = as_json(data)
    # In JSON that notation is the character itself.
    write_text(file, text + "\n")
    return text


def as_read(text: str) -> Any:
    """The data of a file that `write_json` wrote, as `read_json` has them."""
    return _visible(text, json.loads(text))


def read_json(file: Path, what: str) -> Any:
    """A file's JSON; `BadInput` where it is none, is too large, or holds numbers that no JSON has.

    In its texts, characters that a terminal would obey are in Python's notation. `FileNotFoundError` and
    `NotADirectoryError` pass.
    """
    try:
        text = read_bytes(file, LARGEST_RECORD, what, pipes=False).decode("utf-8")
        data = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        return _visible(text, data)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except json.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error.msg}", file=file, line=error.lineno, column=error.colno) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start}", file=file) from None
    except (ValueError, RecursionError) as error:
        # Integers of thousands of digits; lists in lists without end.
        raise BadInput(f"no {what}: {error}", file=file) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=file) from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _finite(text: str) -> float:
    """1e999 would be infinity; pages and traces have no place for it."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def _visible(text: str, data: Any) -> Any:
    """The data of a text, shown where a terminal would obey any of it."""
    # To look at each text alone takes longer than to read them.
    return _shown(data) if obeyed(text) or _ESCAPES.search(text) else data


def _shown(value: Any) -> Any:
    """The data without what a terminal would obey: words of programs, or of who made it up."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _shown(inner) for key, inner in value.items()}
    return [_shown(inner) for inner in value] if isinstance(value, list) else value
