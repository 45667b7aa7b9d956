# SPDX-License-Identifier: Apache-2.0
"""A changed text of a description, before it is written: the system that it describes, and the changes."""

from __future__ import annotations

import difflib
import tempfile
from pathlib import Path

from consort.model.description import System
from consort.model.load import load_system


def diff(file: Path, text: str) -> str:
    """The changes to a file, as a unified diff that `patch` and `git apply` take."""
    before = file.read_text(encoding="utf-8").splitlines(keepends=True)
    after = text.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{file.name}", f"b/{file.name}"))


def loaded_from(system: System, text: str) -> System:
    """The system that a text describes in the place of a system's file."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=system.file.parent, prefix=".edited-", suffix=".yaml"
    ) as written:
        written.write(text)
        written.flush()
        return load_system(Path(written.name))
