# SPDX-License-Identifier: Apache-2.0
"""The trace of a run for Perfetto (ui.perfetto.dev): who did what when, on which core.

Each configuration has a process for each core, with a track for each task, and one for the interference; it
follows the configuration before it on the time line. Long runs are thinned; the track `about` says to what.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.record.columns import ACTIVITY, EVENTS_TABLE, SLICES_TABLE
from consort.record.ran import Ran
from consort.record.store import Run
from consort.record.summary import Configuration
from consort.record.tables import SOURCES
from consort.report.jobs import (
    ABSENT,
    REMARKABLE,
    Annotations,
    Jobs,
    Lanes,
    Trace,
    add_slices,
    load_jobs,
    positions,
    select,
)

# Between two configurations, so that they can be distinguished.
GAP_NS = 100_000_000
# Slices of a simulation, misses and events that are drawn of one configuration: Perfetto then opens at once.
SLICES_SHOWN = 20_000
MARKS = 1_000
EVENTS_SHOWN = 20_000
COUNTER_POINTS = 4000


def write(run: Run, file: Path, *, limit: int | None = SLICES_SHOWN) -> None:
    """Writes the run's trace; `limit` is how many slices of a simulation are drawn at most."""
    trace = Trace()
    offset = 0
    for index, configuration in enumerate(run.configurations):
        offset = _configuration(trace, run, configuration, index, offset, limit) + GAP_NS
    file.write_bytes(trace.builder.serialize())


def _configuration(
    trace: Trace, run: Run, configuration: Configuration, index: int, offset: int, limit: int | None
) -> int:
    """Adds a configuration that begins at `offset` and returns its end."""
    key, name = configuration["key"], configuration["name"]
    jobs = load_jobs(run, key)
    processes = _Processes(trace, configuration, run.ran(key))
    first = processes.of(jobs.cores[0] if jobs is not None else "run")
    about = trace.track(first, "about", 0)
    end = offset
    if jobs is None:
        trace.instant(about, "No jobs were recorded: this configuration has no time line.", offset)
    elif SLICES_TABLE in configuration["tables"]:
        text = add_slices(trace, run, configuration, jobs, processes.of, offset, limit)
        trace.instant(about, text, offset, {"clock": configuration["clock"]["provenance"]})
        _marks(trace, jobs, np.flatnonzero(jobs.status & REMARKABLE)[:MARKS], processes, offset)
        end = offset + jobs.end()
    else:
        selection = select(jobs)
        trace.instant(about, selection.text, offset, {"clock": configuration["clock"]["provenance"]})
        _jobs(trace, processes, jobs, selection.indexes, index, offset)
        end = offset + jobs.end()
    end = max(end, _events(trace, run, configuration, processes, first, offset))
    if ACTIVITY in configuration["tables"]:
        # A load is started before the program and stopped after it; what lies outside is not drawn.
        until = None if jobs is None else jobs.end()
        end = max(end, _interference(trace, run, key, name, offset, until))
    return end


class _Processes:
    """The processes of a configuration: one a core, made when it is first needed."""

    def __init__(self, trace: Trace, configuration: Configuration, ran: Ran | None) -> None:
        self._trace = trace
        self._prefix = configuration["name"]
        cpu = configuration["realtime"].get("cpu")
        self._cpus = {"master core": cpu} if ran is None else ran.facts.cpus
        self._made: dict[str, int] = {}

    def of(self, core: str) -> int:
        if core not in self._made:
            cpu = self._cpus.get(core)
            where = "" if cpu is None else f" (CPU {cpu})"
            self._made[core] = self._trace.process(f"{self._prefix}: {core}{where}")
        return self._made[core]


def _events(
    trace: Trace, run: Run, configuration: Configuration, processes: _Processes, first: int, offset: int
) -> int:
    """Events, those of the table on the cores that they concern; returns the last one's time."""
    end = offset
    general = trace.track(first, "events", 1)
    for event in configuration["events"]:
        if event["ns"] is not None:
            args: Annotations = {k: v if isinstance(v, int) else str(v) for k, v in event["args"].items()}
            trace.instant(general, event["name"], offset + event["ns"], args)
            end = max(end, offset + event["ns"])
    if EVENTS_TABLE not in configuration["tables"]:
        return end
    table = run.table(configuration["key"], EVENTS_TABLE).slice(0, EVENTS_SHOWN)
    cores = configuration["cores"]
    tracks: dict[int, int] = {-1: general}
    names, tasks = table["kind"].to_pylist(), table["task"].to_pylist()
    times, values = table["time_ns"].to_pylist(), table["value_ns"].to_pylist()
    causes = table["cause"].to_pylist()
    for name, task, core, at, value, cause in zip(
        names, tasks, positions(table["core"], cores).tolist(), times, values, causes, strict=True
    ):
        if at is None:
            continue
        if core not in tracks:
            tracks[core] = trace.track(processes.of(cores[core]), "events", 1)
        notes: Annotations = {} if task is None else {"task": task}
        if value is not None:
            notes["ns"] = value
        if cause:
            notes["cause"] = cause
        trace.instant(tracks[core], name, offset + at, notes)
        end = max(end, offset + at)
    return end


def _jobs(
    trace: Trace,
    processes: _Processes,
    jobs: Jobs,
    indexes: NDArray[np.int64],
    configuration: int,
    offset: int,
) -> None:
    lanes: dict[tuple[str, str], Lanes] = {}

    def lane(core: str, track: str, rank: int) -> Lanes:
        if (core, track) not in lanes:
            lanes[core, track] = Lanes(trace, processes.of(core), track, rank)
        return lanes[core, track]

    # Bit patterns far apart keep the flows of one configuration from meeting those of another.
    flow = (configuration + 1) << 40
    columns = {key: column[indexes].tolist() for key, column in jobs.times.items()}
    for place, index in enumerate(indexes.tolist()):
        t = {key: column[place] for key, column in columns.items()}
        have = {key: value + offset for key, value in t.items() if value != ABSENT}
        if "release" not in have:
            continue
        number = int(jobs.task[index])
        name, core, worker = jobs.tasks[number], jobs.cores[int(jobs.core[index])], jobs.workers[number]
        rank = 2 + 2 * number
        labels = jobs.labels(index)
        notes: Annotations = {"seq": int(jobs.seq[index])}
        if np.isfinite(jobs.response[index]):
            notes["response_ns"] = int(jobs.response[index])
        if jobs.compute[index] != ABSENT:
            notes["compute_ns"] = int(jobs.compute[index])
        if labels:
            notes["status"] = ", ".join(labels)
        until = have.get("finish", have.get("start", have["release"]))
        track = lane(core, name, rank).at(have["release"], until)
        if "finish" in have:
            trace.slice(track, name, have["release"], have["finish"], notes)
        for label in labels:
            trace.instant(track, label, until, {"seq": int(jobs.seq[index])})
        if "sent" in have:
            answered = "received" in have
            until = max(have["received"] if answered else have.get("finish", have["sent"]), have["sent"])
            trace.slice(
                lane(core, f"{name}: mailbox wait", rank + 1).at(have["sent"], until),
                "waiting for the answer" if answered else "no answer",
                have["sent"],
                until,
                flow_from=flow + index,
            )
        if {"worker_receive", "worker_send"} <= have.keys() and worker is not None:
            begin, finish = have["worker_receive"], have["worker_send"]
            if finish >= begin:
                computing = lane(worker, f"{name}: compute", rank).at(begin, finish)
                trace.slice(computing, name, begin, finish, notes, flow_to=flow + index)


def _marks(trace: Trace, jobs: Jobs, indexes: NDArray[np.int64], processes: _Processes, offset: int) -> None:
    """Misses and faults as instants on their core, where the slices show what ran."""
    tracks: dict[int, int] = {}
    for index in indexes.tolist():
        core = int(jobs.core[index])
        if core not in tracks:
            tracks[core] = trace.track(processes.of(jobs.cores[core]), "misses and faults", 3)
        at = max(int(jobs.times["finish"][index]), int(jobs.times["release"][index]))
        text = f"{jobs.tasks[int(jobs.task[index])]}: {', '.join(jobs.labels(index))}"
        trace.instant(tracks[core], text, offset + at, {"seq": int(jobs.seq[index])})


def _interference(trace: Trace, run: Run, key: str, name: str, offset: int, until: int | None) -> int:
    table = run.table(key, ACTIVITY)
    source, t, moved = (np.asarray(table[c].to_numpy()) for c in ("source", "t_ns", "bytes"))
    if until is not None:
        during = (t >= 0) & (t <= until)
        source, t, moved = source[during], t[during], moved[during]
    process = trace.process(f"{name}: interference")
    end = offset
    for rank, number in enumerate(np.unique(source).tolist()):
        mine = source == number
        track = trace.track(process, SOURCES.get(number, f"source {number}"), rank, "MB/s")
        for at, rate in _rates(t[mine], moved[mine]):
            trace.count(track, offset + at, rate)
            end = max(end, offset + at)
    return end


def _rates(t: NDArray[np.int64], moved: NDArray[Any]) -> Iterable[tuple[int, float]]:
    """Rates in MB/s, each at the beginning of its interval; rows are joined where there are very many."""
    step = max(1, t.size // COUNTER_POINTS)
    total = np.cumsum(moved.astype(np.int64))[::step]
    times = t[::step]
    spans = np.diff(times)
    for at, span, amount in zip(times.tolist(), spans.tolist(), np.diff(total).tolist(), strict=False):
        if span > 0:
            yield at, amount / span * 1e3
    if times.size:
        yield int(times[-1]), 0.0
