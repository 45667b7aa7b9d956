# SPDX-License-Identifier: Apache-2.0
"""A configuration's part of a run's record: its tables as Parquet files, and the figures of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.record.columns import ACTIVITY, EVENTS_TABLE, JOBS, Column, Converted, Metric, convert, to_ns
from consort.record.ran import CAUSES_OF_EVENTS, EVENTS, NONE, TIMED_EVENTS, Ran
from consort.record.raw import Event, RawRun, RawTable
from consort.record.sections import Judgement, beside_expected, task_of
from consort.record.summary import (
    Configuration,
    EventSummary,
    Summary,
    job_counts,
    job_counts_by,
    summarise,
    summarise_parts,
)

# An event that begins a state, and those that end it: how long it lasted lies between them.
ENDED_BY: dict[str, tuple[str, ...]] = {
    "worker-silent": ("worker-back", "worker-restarted", "worker-lost", "worker-died"),
    "worker-lost": ("worker-back", "worker-restarted"),
}


def summarised(
    table: RawTable | None,
    events: Sequence[Event],
    ran: Ran | None,
    origin: int,
    ticks_per_second: float,
) -> list[EventSummary]:
    """One entry for each kind of event, task, core and cause, in the order of their first occurrence.

    Times are in ns since the recording's first time stamp. `longest_ns` and `total_ns` are None where the
    event has no duration; a state that was not left has none either.
    """

    def ns(ticks: NDArray[Any]) -> NDArray[np.int64]:
        return to_ns(ticks.astype(np.int64), ticks_per_second)

    found: list[EventSummary] = []
    if table is not None and table.rows.size and ran is not None:
        rows = table.rows[np.argsort(table.rows["time"], kind="stable")]
        times = ns(rows["time"] - np.uint64(origin))
        for kind, task, core, cause in np.unique(rows[["kind", "task", "core", "cause"]]).tolist():
            name = EVENTS[kind]
            same = (rows["task"] == task) & (rows["core"] == core)
            mine = same & (rows["kind"] == kind) & (rows["cause"] == cause)
            lasted = None
            if name in TIMED_EVENTS:
                lasted = ns(rows["value"][mine])
            elif name in ENDED_BY:
                ends = np.isin(rows["kind"], [EVENTS.index(end) for end in ENDED_BY[name]])
                lasted = _until(times[mine], times[same & ends])
            found.append(
                _entry(
                    name,
                    times[mine],
                    lasted,
                    ran.task_names[task] if task != NONE else None,
                    ran.core_names[core] if core != NONE else None,
                    CAUSES_OF_EVENTS[name][cause] if name in CAUSES_OF_EVENTS else "",
                )
            )
    found += _of_manifest(events, ns, origin)
    return sorted(found, key=lambda entry: (entry["first_ns"] is None, entry["first_ns"]))


def _of_manifest(events: Iterable[Event], ns: Any, origin: int) -> list[EventSummary]:
    by_name: dict[str, list[int]] = {}
    for event in events:
        by_name.setdefault(event.name, []).append(event.tick)
    found = []
    for name, ticks in by_name.items():
        known = np.array([tick - origin for tick in ticks if tick], dtype=np.int64)
        found.append(_entry(name, ns(known), None, None, None, count=len(ticks)))
    return found


def _until(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Times from each beginning to the first end after it; beginnings without one are left out."""
    index = np.searchsorted(ends, begins, side="left")
    ended = index < ends.size
    lasted: NDArray[np.int64] = ends[index[ended]] - begins[ended]
    return lasted


def _entry(
    name: str,
    times: NDArray[np.int64],
    lasted: NDArray[np.int64] | None,
    task: str | None,
    core: str | None,
    cause: str = "",
    count: int | None = None,
) -> EventSummary:
    """The entry of events at these times. `count`: of all, where not each has a time."""
    has = lasted is not None and lasted.size > 0
    return {
        "name": name,
        "cause": cause,
        "task": task,
        "core": core,
        "count": int(times.size) if count is None else count,
        "first_ns": int(times.min()) if times.size else None,
        "last_ns": int(times.max()) if times.size else None,
        "longest_ns": int(lasted.max()) if has and lasted is not None else None,
        "total_ns": int(lasted.sum()) if has and lasted is not None else None,
    }


# Rows of a table that lie together in its file.
GROUP = 1 << 18
SOURCES = {0: "memory stream", 1: "loopback copy", 2: "stress-ng"}


def entry_of(key: str, name: str, raw: RawRun, published: list[dict[str, Any]]) -> Configuration:
    """A configuration's part of the record, without its tables."""
    manifest = raw.manifest
    origin = raw.origin()
    rate = manifest.clock.ticks_per_second

    def ns(tick: int) -> int | None:
        return int(to_ns(np.array([tick - origin]), rate)[0]) if tick else None

    return {
        "key": key,
        "name": name,
        "program": manifest.program,
        "config": manifest.config,
        "cores": [] if raw.ran is None else raw.ran.core_names,
        "clock": manifest.clock.model_dump() | {"origin_tick": origin},
        "realtime": manifest.realtime,
        "counters": manifest.counters,
        "tables": {},
        "events": [{"ns": ns(event.tick)} | event.model_dump() for event in manifest.events],
        "event_summary": summarised(raw.tables.get(EVENTS_TABLE), manifest.events, raw.ran, origin, rate),
        "summary": {},
        "metrics": {},
        "published": published,
    }


def add_tables(
    entry: Configuration,
    tables: list[RawTable],
    raw: RawRun,
    folder: Path,
    verdict: Judgement | None,
) -> None:
    """Writes each table's Parquet file into the folder and its figures into the entry."""
    clock, ran = raw.manifest.clock, raw.ran
    origin = entry["clock"]["origin_tick"]
    end: int | None = None
    # The jobs come first: the interference that counts is what ran while they did.
    for table in sorted(tables, key=lambda t: t.name != JOBS):
        name = table.name
        if name == JOBS:
            table = _with_bits(table, verdict)
        converted = convert(table, clock, origin, ran)
        if name == JOBS and verdict is not None and verdict.disturbed is not None:
            converted.columns.append(Column("disturbed", verdict.disturbed))
        number = task_of(name, ran)
        if number is not None and ran is not None:
            # The folder names a task's outputs after the task, not after its number.
            name = f"outputs-{file_name(ran.tasks[number].name)}"
            if verdict is not None and number in verdict.expected:
                converted = beside_expected(converted, verdict.expected[number])
        file = folder / f"{name}.parquet"
        _write_parquet(converted, table.spec.rows, clock.provenance, file)
        entry["tables"][name] = {
            "file": f"{folder.name}/{file.name}",
            "rows": table.spec.rows,
            "attrs": table.spec.attrs,
        }
        _summarise_into(entry, name, converted.metrics, clock.provenance)
        if name == ACTIVITY:
            entry["interference"] = achieved(converted, clock.provenance, end)
        if name == JOBS:
            entry["jobs"] = job_counts(table)
            if ran is not None:
                entry["tasks"] = _by_task(table, ran)
            finished = converted.column("finish_ns").present()
            end = int(finished.max()) if finished.size else None
    if verdict is not None:
        entry["verdict"] = verdict.data


def _with_bits(table: RawTable, verdict: Judgement | None) -> RawTable:
    """The jobs with the bits that the judge adds to their status words."""
    if verdict is None or verdict.status is None or not verdict.status.any():
        return table
    rows = np.array(table.rows)
    rows["status"] |= verdict.status
    return RawTable(table.spec, rows)


def _by_task(table: RawTable, ran: Ran) -> dict[str, dict[str, Any]]:
    """Counts of each task's jobs by how they ended."""
    counts = job_counts_by(table, np.ascontiguousarray(table["task"]), len(ran.tasks))
    return {name: {"jobs": jobs} for name, jobs in zip(ran.task_names, counts, strict=True)}


def file_name(name: str) -> str:
    """A task's name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def achieved(activity: Converted, provenance: str, end: int | None) -> list[dict[str, Any]]:
    """The throughput of each source of interference while the jobs ran (until `end`), or at all without
    jobs."""
    times = activity.column("t_ns").part()
    during = np.ones(times.size, dtype=np.bool_) if end is None else (times >= 0) & (times <= end)
    times = times[during]
    sources = activity.column("source").part()[during]
    moved = activity.column("bytes").part()[during]
    found = []
    for source in np.unique(sources).tolist():
        mine = sources == source
        seconds = float(times[mine].max() - times[mine].min()) / 1e9
        # The first row's bytes were moved before its time stamp, outside of the span.
        total = int(moved[mine][1:].sum())
        found.append(
            {
                "source": SOURCES.get(source, f"source {source}"),
                "bytes": total,
                "seconds": seconds,
                "bytes_per_second": total / seconds if seconds > 0 else None,
                "provenance": provenance,
            }
        )
    return found


def activity_of(interference: RawRun, raw: RawRun) -> RawTable:
    """The activity table of an interference program, checked to be on the clock of the measured one."""
    manifest = interference.path / "manifest.json"
    table = interference.tables.get(ACTIVITY)
    if table is None:
        raise BadInput(f"has no table '{ACTIVITY}'", file=manifest, field="tables")
    theirs, ours = interference.manifest.clock, raw.manifest.clock
    # Two processes calibrate one counter a little differently; the measured program's rate is used.
    if theirs.name != ours.name or abs(theirs.ticks_per_second / ours.ticks_per_second - 1) > 1e-3:
        raise BadInput(
            f"{theirs.name} at {theirs.ticks_per_second:.0f} Hz is not the measured program's clock,"
            f" {ours.name} at {ours.ticks_per_second:.0f} Hz",
            file=manifest,
            field="clock",
        )
    return table


def _write_parquet(converted: Converted, rows: int, provenance: str, file: Path) -> None:
    """Writes a table group by group, so that memory never holds a second copy of a large one."""
    groups = [slice(begin, begin + GROUP) for begin in range(0, rows, GROUP)] or [slice(0, 0)]
    first = converted.arrow(provenance, groups[0])
    # Ticks and nanoseconds grow slowly from row to row: their differences pack well, dictionaries do not.
    encodings = {
        "int64": "DELTA_BINARY_PACKED",
        "uint64": "DELTA_BINARY_PACKED",
        "double": "BYTE_STREAM_SPLIT",
    }
    chosen = {f.name: encodings[str(f.type)] for f in first.schema if str(f.type) in encodings}
    named = [f.name for f in first.schema if str(f.type).startswith("dictionary")]
    # Whoever reads a part of the time finds its groups by these; to find the least and largest of each column
    # took as long as to pack it.
    ordered = [f.name for f in first.schema if f.metadata[b"kind"] == b"timestamp"][:2]
    with pq.ParquetWriter(
        file,
        first.schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=named or False,
        column_encoding=chosen,
        write_statistics=ordered or False,
    ) as writer:
        writer.write_table(first, GROUP)
        for group in groups[1:]:
            writer.write_table(converted.arrow(provenance, group), GROUP)


def _summarise_into(entry: Configuration, table: str, metrics: list[Metric], provenance: str) -> None:
    for metric, summary in zip(metrics, _summaries(metrics, provenance), strict=True):
        if summary is None:
            continue
        entry["summary"][metric.name] = summary.as_dict()
        entry["metrics"][metric.name] = {
            "table": table,
            "column": metric.column.name,
            "task": metric.task,
            "quantity": metric.quantity,
        }


def _summaries(metrics: Sequence[Metric], provenance: str) -> list[Summary | None]:
    """The summary of each metric; the samples of all that are read from one column are read at once."""
    found: list[Summary | None] = [None] * len(metrics)
    by_column: dict[int, list[int]] = {}
    for number, metric in enumerate(metrics):
        if metric.rows is None:
            found[number] = summarise(metric.present(), metric.column.unit, provenance)
        else:
            by_column.setdefault(id(metric.column), []).append(number)
    for numbers in by_column.values():
        column, each = metrics[numbers[0]].column, [metrics[number].rows for number in numbers]
        parts = [column.having(rows) for rows in each if rows is not None]
        values, sizes = column.part(np.concatenate(parts)), [part.size for part in parts]
        summaries = summarise_parts(values, sizes, column.unit, provenance)
        for number, summary in zip(numbers, summaries, strict=True):
            found[number] = summary
    return found
