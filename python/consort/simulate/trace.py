# SPDX-License-Identifier: Apache-2.0
"""The trace of a simulation for Perfetto: a process a core and one for the DMA, all on one time line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from consort.record.columns import STATUS
from consort.record.store import Run
from consort.report.jobs import load_jobs
from consort.report.trace import Annotations, Trace
from consort.simulate.record import SYSTEM
from consort.simulate.rows import DOING

# Slices in the trace of a run folder: Perfetto opens it at once. `--trace` writes all of them.
SHOWN = 20_000
_DMA = (DOING.index("load"), DOING.index("unload"))
_EXECUTE = DOING.index("execute")


def write_simulated(run: Run, file: Path, *, limit: int | None = SHOWN) -> None:
    """Writes the trace of a recorded simulation; with a limit the first slices, and the worst jobs'."""
    config = run.configuration(SYSTEM)["config"]
    names, cores = config["tasks"], config["cores"]
    table = run.table(SYSTEM, "slices")
    columns = {
        c: np.asarray(table[c].to_numpy()) for c in ("begin_ns", "end_ns", "task", "seq", "core", "doing")
    }
    chosen, text = _chosen(run, columns, limit)
    trace = Trace()
    about = trace.process("simulation")
    trace.instant(trace.track(about, "about", 0), text, 0, {"clock": "simulated"})
    events = trace.track(about, "events", 1)
    for event in run.configuration(SYSTEM)["events"]:
        trace.instant(events, event["name"], event["ns"] or 0)
    used = np.unique(columns["core"]).tolist()
    tracks = {core: trace.track(trace.process(cores[core]), "executes", 0) for core in used}
    moving = np.isin(columns["doing"], _DMA)
    dma = trace.process("DMA") if moving.any() else 0
    loads = {c: trace.track(dma, cores[c], c) for c in np.unique(columns["core"][moving]).tolist()}
    rows = zip(*(columns[c][chosen].tolist() for c in columns), strict=True)
    for begin, end, task, seq, core, doing in rows:
        name = names[task] if doing == _EXECUTE else f"{names[task]}: {DOING[doing]}"
        notes: Annotations = {"job": seq}
        trace.slice(loads[core] if doing in _DMA else tracks[core], name, begin, end, notes)
    _misses(trace, run, events)
    file.write_bytes(trace.builder.serialize())


def _chosen(
    run: Run, columns: dict[str, NDArray[np.int64]], limit: int | None
) -> tuple[NDArray[np.int64], str]:
    total = columns["begin_ns"].size
    if limit is None or total <= limit:
        return np.arange(total), f"All {total} slices."
    shown = np.zeros(total, dtype=np.bool_)
    shown[: limit // 2] = True
    left = limit - limit // 2
    for configuration in run.configurations:
        jobs = load_jobs(run, configuration["key"])
        if jobs is None or not len(jobs):
            continue
        worst = int(np.argmax(jobs.response))
        begin, end = jobs.times["release"][worst], jobs.times["finish"][worst]
        around = np.flatnonzero((columns["end_ns"] >= begin) & (columns["begin_ns"] <= end) & ~shown)[:left]
        shown[around] = True
        left -= around.size
    count = int(shown.sum())
    text = (
        f"{count} of {total} slices: the first {limit // 2}, and those during the worst job of each task."
        " The Parquet files hold all of them."
    )
    return np.flatnonzero(shown), text


def _misses(trace: Trace, run: Run, track: int) -> None:
    """The first misses of each task."""
    for configuration in run.configurations:
        jobs = load_jobs(run, configuration["key"])
        if jobs is None:
            continue
        late = np.flatnonzero(jobs.status & STATUS["deadline_misses"])[:1000]
        for job in late.tolist():
            at = int(jobs.times["finish"][job])
            trace.instant(track, f"{configuration['name']}: deadline miss", at, {"job": int(jobs.seq[job])})
