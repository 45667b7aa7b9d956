# SPDX-License-Identifier: Apache-2.0
"""A folder with a small, right description and all that it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import FILES, read


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test: messages then show file names without a path."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "system.yaml").write_text(read("base.yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
