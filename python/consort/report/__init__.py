# SPDX-License-Identifier: Apache-2.0
"""Reports on a finished run: one self-contained HTML page, and a trace for Perfetto."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from consort.base.files import write_text

if TYPE_CHECKING:
    # Libraries of tables: who prints five lines needs none of them.
    from consort.record.store import Run


def write_report(run: Run, file: Path) -> None:
    """Writes the run's page."""
    # The plotting libraries take a second to import: not before a run is over.
    from consort.report.page import render

    write_text(file, render(run))


def write_trace(run: Run, file: Path) -> None:
    """Writes the run's trace for ui.perfetto.dev."""
    from consort.report.trace import write

    write(run, file)


# The pages of a RunWriter whose run has both.
PAGES: dict[str, Callable[[Run, Path], None]] = {"trace.pftrace": write_trace, "report.html": write_report}

__all__ = ["PAGES", "write_report", "write_trace"]
