# SPDX-License-Identifier: Apache-2.0
"""`consort.sweep(file)`: a sweep from a script or a notebook, as a table; and the files of a finished one."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from consort.base import arguments
from consort.base.waiting import Progress, silent
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import Loaded, load_sweep
from consort.sweep.run import run
from consort.sweep.store import POINTS, RESULT, Point, points, schema_of, write_points


def write_all(loaded: Loaded, cells: Cells, result: pa.Table, folder: Path) -> list[Path]:
    """Writes the files of a finished sweep beside its cells: points, plots, the page. Returns all."""
    from consort.sweep.page import write_page, write_plots

    rows = points(cells, result)
    write_points(rows, folder / POINTS)
    drawn = write_plots(loaded.sweep.plots, rows, folder / "plots") if loaded.sweep.plots else []
    return [folder / RESULT, folder / POINTS, *drawn, write_page(loaded, cells, rows, folder)]


def sweep(
    file: str | PathLike[str],
    *,
    sets: int | None = None,
    out: str | PathLike[str] | None = None,
    workers: int | None = 0,
    progress: Progress = silent,
) -> pa.Table:
    """Computes a sweep file and returns its points: a row for each combination of parameters.

    `sets` are task sets in place of those of the file. `out` is the folder in which cells, points, plots and
    the page stay, as `consort sweep` keeps them: a sweep that was interrupted goes on from there. Without it
    nothing is kept. `workers` is how many processes of this machine compute: 0 this one, None one for each
    processor (a script then needs `if __name__ == "__main__":`).
    """
    count = None if sets is None else arguments.whole("sets", sets, 1)
    processes = None if workers is None else arguments.whole("workers", workers, 0, 4096)
    folder = arguments.path("out", out)
    arguments.callback("progress", progress)
    loaded = load_sweep(arguments.given_path("file", file), count)
    cells = Cells(spec_of(loaded))
    found: list[pa.Table] = []

    def finish(result: pa.Table) -> None:
        found.append(_table(cells, points(cells, result)))
        if folder is not None:
            write_all(loaded, cells, result, folder)

    with TemporaryDirectory(prefix="consort-sweep-") as scratch:
        where = Path(scratch) if folder is None else folder
        run(cells, where, loaded.name, workers=processes, progress=progress, finish=finish)
    return found[0]


def _table(cells: Cells, rows: list[Point]) -> pa.Table:
    """Points as columns, with the types and units of the cells; what is computed of them is a share."""
    known = schema_of(cells)
    names = list(dict.fromkeys(name for row in rows for name in row))
    fields = [known.field(name) if name in known.names else pa.field(name, pa.float64()) for name in names]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))
