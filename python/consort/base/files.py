# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(file: Path) -> Iterator[Path]:
    """A path beside a file to write to, which then takes its place; where writing fails, nothing is left."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield part
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def replace_file(file: Path, text: str) -> None:
    """Writes a text file, with the permissions that it had if it was there."""
    with written_whole(file) as part:
        part.write_text(text, encoding="utf-8")
        if file.exists():
            part.chmod(file.stat().st_mode & 0o777)
