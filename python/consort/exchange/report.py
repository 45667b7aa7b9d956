# SPDX-License-Identifier: Apache-2.0
"""The result of an import or an export: files, whole or not at all, and what was left out or changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput

# Names that the text form shows of a group; the JSON form has them all.
SHOWN = 6


@dataclass
class Report:
    """Left out: is not in the result. Changed: is in it in another form. Notes: how the source was read."""

    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    changed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def leave(self, what: str, name: str, why: str) -> None:
        self.left_out.setdefault((what, why), []).append(name)

    def change(self, what: str, name: str, how: str) -> None:
        self.changed.setdefault((what, how), []).append(name)

    def to_json(self) -> dict[str, Any]:
        return {
            "notes": self.notes,
            "left_out": [_group(what, "why", why, names) for (what, why), names in self.left_out.items()],
            "changed": [_group(what, "how", how, names) for (what, how), names in self.changed.items()],
        }

    def text(self) -> str:
        lines: list[str] = []
        for title, groups in (("left out", self.left_out), ("changed", self.changed)):
            if not groups:
                continue
            lines.append(f"{title}:")
            for (what, why), names in groups.items():
                unique = list(dict.fromkeys(names))
                shown = ", ".join(unique[:SHOWN])
                if len(unique) > SHOWN:
                    shown += f" and {len(unique) - SHOWN} more"
                lines.append(f"  {what}, {len(unique)}: {why}: {shown}")
        return "\n".join([*self.notes, *(lines or ["nothing left out, nothing changed"])])


def _group(what: str, key: str, why: str, names: list[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(names))
    return {"what": what, key: why, "count": len(unique), "names": unique}


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
