# SPDX-License-Identifier: Apache-2.0
"""How much of a file is read: a file that somebody else wrote must not take the machine's memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from consort.errors import BadInput

MIB = 1 << 20
# 10,000 tasks in full are about 3 MiB.
LARGEST_DESCRIPTION = 16 * MIB
# Models of other tools are wordier.
LARGEST_MODEL = 64 * MIB
LARGEST_TREE = 32 * MIB
LARGEST_RECORD = 256 * MIB
LARGEST_MODULE = 4 * MIB
# The first line of a table [characters].
LONGEST_HEADER = MIB


def read_bytes(path: Path, largest: int, what: str) -> bytes:
    """All bytes of a file, at most `largest`; `OSError` as `open` has it, `BadInput` where there are more.

    Pipes are read, too; a device or a folder is refused.
    """
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise BadInput(f"is no file; give the path of a {what}", file=path)
        content = file.read(largest + 1)
    if len(content) > largest:
        raise BadInput(f"is larger than {largest // MIB} MiB; a {what} of that size is refused", file=path)
    return content


def is_file(path: Path) -> bool:
    """Whether a file is there; a name too long for the system, or in a folder that is closed, is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there, as `is_file` has it."""
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
