# SPDX-License-Identifier: Apache-2.0
"""What the tests of recordings share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def plain_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the drawing of figures to the tests of the report: it takes a second for each run."""
    import consort.report

    def page(run: object, file: Path) -> None:
        file.write_text("a page")

    monkeypatch.setattr(consort.report, "write_report", page)
