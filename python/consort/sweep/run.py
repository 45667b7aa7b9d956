# SPDX-License-Identifier: Apache-2.0
"""Computing the cells of a sweep that are not finished: in this process, or by the workers of Dask."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from consort.base.waiting import Progress, silent, stop_if_asked
from consort.sweep.cells import Cells
from consort.sweep.store import Store, open_store
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
