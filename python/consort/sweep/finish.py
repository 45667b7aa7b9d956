# SPDX-License-Identifier: Apache-2.0
"""The files of a finished sweep beside its cells: points, plots, the page."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from consort.sweep.cells import Cells
from consort.sweep.load import Loaded
from consort.sweep.points import POINTS, points, write_points
from consort.sweep.store import RESULT


def write_all(loaded: Loaded, cells: Cells, result: pa.Table, folder: Path) -> list[Path]:
    """Writes them; all files of the result."""
    from consort.sweep.page import write_page
    from consort.sweep.plot import write_plots

    rows = points(cells, result)
    write_points(rows, folder / POINTS)
    drawn = write_plots(loaded.sweep.plots, rows, folder / "plots") if loaded.sweep.plots else []
    return [folder / RESULT, folder / POINTS, *drawn, write_page(loaded, cells, rows, folder)]
