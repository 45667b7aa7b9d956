# SPDX-License-Identifier: Apache-2.0
"""The jobs of a configuration as columns, and the choice of those that are worth drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from consort.record.columns import JOBS, STATUS
from consort.record.store import Run

FIRST = 1000
WORST = 200
MARKED = 200
NEIGHBOURS = 2
# A job that carries one of these is drawn even when its response time is not among the worst.
REMARKABLE = (
    STATUS["deadline_misses"]
    | STATUS["outputs_held"]
    | STATUS["local_fallbacks"]
    | STATUS["worker_dead"]
    | STATUS["late_answers_discarded"]
    | STATUS["output_errors"]
)
TIMES = ("release", "start", "sent", "received", "finish", "worker_receive", "worker_send")
# What the trace and the timeline call the bits of the status word.
LABELS: dict[str, str] = {
    "deadline_misses": "deadline miss",
    "outputs_held": "output held",
    "local_fallbacks": "local fallback",
    "worker_dead": "worker dead",
    "late_answers_discarded": "late answer discarded",
    "output_errors": "output error",
    "late_releases": "late release",
}
ABSENT = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Jobs:
    """Columns of the jobs table; a time that a job does not have is ABSENT."""

    times: dict[str, NDArray[np.int64]]
    compute: NDArray[np.int64]
    response: NDArray[np.int64]
    seq: NDArray[np.int64]
    status: NDArray[np.int64]
    worker: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.seq.size)

    def labels(self, index: int) -> list[str]:
        return [LABELS[name] for name, bit in STATUS.items() if int(self.status[index]) & bit]

    def end(self) -> int:
        """The last time stamp of all."""
        return max((int(column.max()) for column in self.times.values() if column.size), default=0)


def load_jobs(run: Run, key: str) -> Jobs | None:
    if JOBS not in run.configuration(key)["tables"]:
        return None
    table = run.table(key, JOBS)

    def column(name: str) -> NDArray[np.int64]:
        if name not in table.column_names:
            return np.full(table.num_rows, ABSENT, dtype=np.int64)
        filled = table[name].fill_null(ABSENT) if table[name].null_count else table[name]
        return np.asarray(filled.to_numpy()).astype(np.int64, copy=False)

    worker = column("worker") if "worker" in table.column_names else np.zeros(table.num_rows, dtype=np.int64)
    return Jobs(
        times={name: column(f"{name}_ns") for name in TIMES},
        compute=column("compute_ns"),
        response=column("response_ns"),
        seq=column("seq"),
        status=column("status"),
        worker=worker,
    )


@dataclass(frozen=True)
class Selection:
    """Which jobs are drawn, and a sentence that says what was left out."""

    indexes: NDArray[np.int64]
    text: str


def select(jobs: Jobs) -> Selection:
    """All jobs of a short run; of a long one the first, and the worst and remarkable with neighbours."""
    total = len(jobs)
    whole = FIRST + WORST * (2 * NEIGHBOURS + 1)
    if total <= whole:
        return Selection(np.arange(total), f"All {total} jobs.")
    worst = np.argpartition(jobs.response, total - WORST)[total - WORST :]
    marked = np.flatnonzero(jobs.status & REMARKABLE)
    around = np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
    centres = np.concatenate([worst, marked[:MARKED]])
    chosen = np.unique(np.concatenate([np.arange(FIRST), (centres[:, None] + around).ravel()]))
    chosen = chosen[(chosen >= 0) & (chosen < total)]
    also = (
        f" and {min(MARKED, marked.size)} of {marked.size} with a miss, fault or error" if marked.size else ""
    )
    text = (
        f"{chosen.size} of {total} jobs: the first {FIRST},"
        f" the {WORST} with the longest response times{also},"
        f" each with {NEIGHBOURS} jobs before and after it. The Parquet files hold all of them."
    )
    return Selection(chosen, text)
