# SPDX-License-Identifier: Apache-2.0
"""The result of an importer, and the writing of results of any kind to the disk: whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.exchange.report import Report


@dataclass
class Imported:
    """A platform, and the system on it where the source has tasks: plain data, as the model reads it."""

    platform: dict[str, Any] | None
    system: dict[str, Any] | None
    report: Report = field(default_factory=Report)
    comment: str = ""


def write_files(texts: Mapping[Path, str]) -> None:
    """Writes files so that after an error none of them is new: first beside their places, then renamed."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            try:
                number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
                written.append((Path(name), path))
                with os.fdopen(number, "w", encoding="utf-8") as file:
                    file.write(text)
                # As a plain open would have made it: mkstemp's files are for their owner alone.
                mask = os.umask(0)
                os.umask(mask)
                Path(name).chmod(0o666 & ~mask)
            except OSError as error:
                raise BadInput(f"cannot be written: {error.strerror}", file=path) from None
        for _, path in written:
            if path.is_dir():
                raise BadInput("cannot be written: it is a folder", file=path)
        for place, path in written:
            place.replace(path)
    finally:
        for place, _ in written:
            place.unlink(missing_ok=True)
