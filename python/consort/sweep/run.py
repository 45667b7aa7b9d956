# SPDX-License-Identifier: Apache-2.0
"""Computing the cells of a sweep that are not finished: in this process, or by the workers of Dask."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from consort.base import arguments
from consort.base.owned import temporary_folder
from consort.base.waiting import Progress, silent, stop_if_asked
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import Loaded, load_sweep
from consort.sweep.store import POINTS, RESULT, Point, Store, open_store, points, schema_of, write_points
from consort.sweep.work import Batches, Done, code, run_cells

if TYPE_CHECKING:
    from distributed import LocalCluster

# Finished cells are written that often at first, and later each time a hundredth of the time has gone by, so
# that the number of files stays small.
FLUSH_SECONDS, FLUSH_SHARE = 2.0, 0.01
# Rows that are held back in memory at most.
FLUSH_ROWS = 50_000


@dataclass
class Outcome:
    """The outcome of a sweep's run."""

    folder: Path
    cells: int
    found: int
    """Cells that were finished before."""
    seconds: float
    """From the first task to the last result, without the start of workers."""
    damaged: list[Path] = field(default_factory=list)
    workers: int = 0
    tasks: int = 0
    again: int = 0
    """Batches that were handed out once more: their worker, or the connection, was lost."""


class Writer:
    """Takes results, and writes them now and then."""

    def __init__(self, store: Store, total: int, found: int, progress: Progress) -> None:
        self.store, self.total, self.finished, self.progress = store, total, found, progress
        self.began = time.monotonic()
        # The first result is written at once: from then on something is there to go on from.
        self.last = self.began - FLUSH_SECONDS
        self.held: list[Done] = []
        self.rows = 0

    def take(self, done: Done) -> None:
        self.held.append(done)
        self.rows += sum(len(rows) for _, _, rows in done.rows)
        self.finished += len(done.rows)
        self.progress(f"{self.finished} of {self.total} cells", self.finished / self.total)
        now = time.monotonic()
        pause = max(FLUSH_SECONDS, FLUSH_SHARE * (now - self.began))
        if now - self.last >= pause or self.rows >= FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        self.store.put(self.held)
        self.held, self.rows, self.last = [], 0, time.monotonic()


def run(
    cells: Cells,
    folder: Path,
    name: str,
    *,
    workers: int | None = None,
    scheduler: str | LocalCluster | None = None,
    progress: Progress = silent,
    finish: Callable[[pa.Table], None] | None = None,
) -> Outcome:
    """Computes what is not finished in the folder, and writes the result when all is.

    `workers` 0: in this process; None: one for each processor of this machine, or those of `scheduler`, an
    address or a cluster of `workers_here`.
    `finish` gets the result while the folder is still held.
    """
    with open_store(folder, cells, name) as store:
        finished = store.finished()
        outcome = Outcome(folder, len(cells), len(finished), 0.0, store.damaged)
        if len(finished) < len(cells):
            writer = Writer(store, len(cells), len(finished), progress)
            try:
                if workers == 0:
                    _here(cells, Batches(cells, finished, 1), writer, outcome)
                else:
                    from consort.sweep.cluster import on_cluster

                    on_cluster(cells, finished, writer, outcome, workers, scheduler)
            finally:
                # Finished cells are kept, whatever ended the run.
                writer.flush()
        result = store.write_result()
        if finish is not None:
            finish(result)
        return outcome


def _here(cells: Cells, batches: Batches, writer: Writer, outcome: Outcome) -> None:
    text, mine = json.dumps(cells.spec), code()
    began = time.perf_counter()
    for batch in batches:
        stop_if_asked()
        done = run_cells(text, batch, mine)
        batches.learn(done)
        writer.take(done)
        outcome.tasks += 1
    outcome.seconds = time.perf_counter() - began


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

    with temporary_folder("sweep") as scratch:
        where = Path(scratch) if folder is None else folder
        run(cells, where, loaded.name, workers=processes, progress=progress, finish=finish)
    return found[0]


def _table(cells: Cells, rows: list[Point]) -> pa.Table:
    """Points as columns, with the types and units of the cells; what is computed of them is a share."""
    known = schema_of(cells)
    names = list(dict.fromkeys(name for row in rows for name in row))
    fields = [known.field(name) if name in known.names else pa.field(name, pa.float64()) for name in names]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))
