# SPDX-License-Identifier: Apache-2.0
"""Slices of a simulation in a trace: the activity of each core and the DMA over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.record.columns import SLICES_TABLE
from consort.record.store import Run
from consort.report.jobs import ABSENT, Jobs, positions
from consort.report.tracks import Annotations, Trace

# Names of slices that move data; they are drawn on the DMA, not on the core.
MOVES = ("load", "unload")
EXECUTE = "execute"


def add_slices(
    trace: Trace,
    run: Run,
    configuration: dict[str, Any],
    jobs: Jobs,
    process: Callable[[str], int],
    offset: int,
    limit: int | None,
) -> str:
    """Draws slices, with a limit the first ones and those during each task's worst job; says which."""
    table = run.table(configuration["key"], SLICES_TABLE)
    doing = np.asarray(table["doing"].cast("string").to_pylist(), dtype=object)
    begin, end, seq = (np.asarray(table[c].to_numpy()) for c in ("begin_ns", "end_ns", "seq"))
    task = positions(table["task"], jobs.tasks)
    core = positions(table["core"], jobs.cores)
    chosen, text = _chosen(jobs, begin, end, limit)
    tracks: dict[tuple[str, str], int] = {}

    def track(owner: str, name: str) -> int:
        if (owner, name) not in tracks:
            tracks[owner, name] = trace.track(process(owner), name, 2)
        return tracks[owner, name]

    for row in chosen.tolist():
        name = jobs.tasks[task[row]]
        what = name if doing[row] == EXECUTE else f"{name}: {doing[row]}"
        on = jobs.cores[core[row]]
        line = track("DMA", on) if doing[row] in MOVES else track(on, "executes")
        notes: Annotations = {"job": int(seq[row])}
        trace.slice(line, what, offset + int(begin[row]), offset + int(end[row]), notes)
    return text


def _chosen(
    jobs: Jobs, begin: NDArray[np.int64], end: NDArray[np.int64], limit: int | None
) -> tuple[NDArray[np.int64], str]:
    total = begin.size
    if limit is None or total <= limit:
        return np.arange(total), f"All {total} slices."
    shown = np.zeros(total, dtype=np.bool_)
    shown[: limit // 2] = True
    left = limit - limit // 2
    whole = 0
    for number in range(len(jobs.tasks)):
        if left <= 0:
            break
        worst = jobs.worst(number)
        if worst is None or jobs.times["finish"][worst] == ABSENT:
            continue
        first, last = jobs.times["release"][worst], jobs.times["finish"][worst]
        around = np.flatnonzero((end >= first) & (begin <= last) & ~shown)
        shown[around[:left]] = True
        whole += around.size <= left
        left -= around.size
    text = (
        f"{int(shown.sum())} of {total} slices: the first {limit // 2}, and those during the worst jobs of"
        f" {whole} of {len(jobs.tasks)} tasks. The Parquet files hold all of them."
    )
    return np.flatnonzero(shown), text
