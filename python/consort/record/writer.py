# SPDX-License-Identifier: Apache-2.0
"""Writes a run folder that is complete or absent.

The folder is built beside its final place under a name that no listing shows, made durable, and then
renamed. An exception removes it. A process that is killed cannot remove anything: its folder stays
unseen, and the next writer under the same root sweeps it away (the lock in it has been released).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from consort.errors import BadInput
from consort.record.columns import ACTIVITY, JOBS, Converted, convert, job_counts
from consort.record.environment import environment
from consort.record.raw import RawRun, RawTable
from consort.record.sections import Section, make_published, make_section
from consort.record.store import PARTIAL, RUN_FILE, RUN_VERSION, Run, default_root, open_run
from consort.record.summary import histogram, summarise
from consort.record.ticks import to_ns

KINDS = ("application", "loopback", "icc", "experiment", "simulation")
LOCK = ".lock"
SOURCES = {0: "memory stream", 1: "loopback copy", 2: "stress-ng"}
# Events that make a run fail unless the caller says that it provoked them.
FATAL_EVENTS = ("worker-died",)
# Counters that make a run fail when they are not zero, and what one and several of them are called.
COUNTED = {
    "deadline_misses": ("deadline miss", "deadline misses"),
    "output_errors": ("wrong output", "wrong outputs"),
    "records_lost": ("record that found no room", "records that found no room"),
}


class RunWriter:
    """Collects configurations, and on `finish` makes them one run folder.

    Used as a context manager: leaving it without an exception finishes the run, leaving it with one
    removes every trace of it.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        root: str | Path | None = None,
        *,
        command: list[str] | None = None,
        source: str | Path | None = None,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
            raise BadInput(f"'{name}' is no name for a run: at most 64 letters, digits, - _ .", field="name")
        if kind not in KINDS:
            raise BadInput(f"'{kind}' is no kind of run; use one of {', '.join(KINDS)}", field="kind")
        self._root = Path(root) if root is not None else default_root()
        self._root.mkdir(parents=True, exist_ok=True)
        sweep(self._root)
        now = datetime.now(UTC)
        self.id = f"{now:%Y%m%dT%H%M%SZ}-{name}-{secrets.token_hex(2)}"
        self._folder = self._root / f"{PARTIAL}{self.id}"
        self._folder.mkdir()
        self._lock = _lock(self._folder)
        self._reasons: list[str] = []
        self.run: Run | None = None
        self._data: dict[str, Any] = {
            "consort_run": RUN_VERSION,
            "id": self.id,
            "name": name,
            "kind": kind,
            "created": now.isoformat(timespec="microseconds"),
            "command": list(sys.argv if command is None else command),
            "environment": environment(source),
            "configurations": [],
            "sections": [],
            "goals": [],
        }

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        elif self.run is None:
            self.finish()

    def add_configuration(
        self,
        key: str,
        name: str,
        raw: RawRun,
        *,
        interference: RawRun | None = None,
        published: Collection[dict[str, Any]] = (),
        expected_events: Collection[str] = (),
    ) -> None:
        """Converts a recording: every sample to Parquet, and the summaries of its metrics.

        `interference` is the recording of the load that ran beside the program, on the same clock.
        `published` rows ({metric, values, unit, source}) stand beside the measured ones in the report.
        `expected_events` names events (a worker killed on purpose) that do not make the run fail.
        """
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", key):
            raise BadInput(f"'{key}' is no key: letters, digits, - _ .", field="key")
        if any(c["key"] == key for c in self._data["configurations"]):
            raise BadInput(f"configuration '{key}' was added before", field="key")
        entry = _entry(key, name, raw)
        entry["published"] = [make_published(row).model_dump() for row in published]
        tables = dict(raw.tables)
        if interference is not None:
            tables[ACTIVITY] = _activity_of(interference, raw)
            entry["interference_config"] = interference.manifest.config
        folder = self._folder / key
        folder.mkdir()
        try:
            _add_tables(entry, list(tables.values()), raw, folder)
        except BaseException:
            # The caller may go on with other configurations: nothing of this one may stay.
            shutil.rmtree(folder)
            raise
        self._reasons += _failures(entry, expected_events)
        self._data["configurations"].append(entry)

    def add_section(self, title: str, kind: str = "table", **content: Any) -> None:
        """Adds a table (columns, rows) or a figure (x, y, series) to the report; see sections.py."""
        section: Section = make_section(title, kind, content)
        self._data["sections"].append(section.model_dump())

    def add_goals(self, goals: Collection[dict[str, Any]]) -> None:
        """Goals as `consort bench --json` prints them; one that is not met makes the run fail."""
        for goal in goals:
            self._data["goals"].append(dict(goal))
            if not goal["met"]:
                value = f"{goal['value']} {goal['unit']}".strip()
                limit = f"{goal['sense']} {goal['limit']}"
                self._reasons.append(f"goal {goal['name']}: {value}, not {limit}")

    def add_description(self, file: str | Path) -> None:
        """Keeps a copy of the system description that was run."""
        shutil.copyfile(file, self._folder / "system.yaml")

    def fail(self, reason: str) -> None:
        """Makes the verdict a failure, for a reason that the recordings do not show."""
        self._reasons.append(reason)

    def finish(self) -> Run:
        """Writes the record, the trace and the report, makes all durable, and gives the folder its name."""
        # The report reads records; importing it here keeps the recording of a run free of the plotting
        # libraries until the run is over.
        from consort.report import write_report, write_trace

        if self.run is not None:
            return self.run
        try:
            self._data["verdict"] = {"ok": not self._reasons, "reasons": self._reasons}
            text = json.dumps(self._data, indent=1, allow_nan=False, ensure_ascii=False)
            (self._folder / RUN_FILE).write_text(text + "\n", encoding="utf-8")
            partial = Run(self._folder, self._data)
            write_trace(partial, self._folder / "trace.pftrace")
            write_report(partial, self._folder / "report.html")
            (self._folder / LOCK).unlink()
            _make_durable(self._folder)
            final = self._root / self.id
            self._folder.rename(final)
            _fsync(self._root)
        except BaseException:
            self.abandon()
            raise
        os.close(self._lock)
        self.run = open_run(final)
        return self.run

    def abandon(self) -> None:
        """Removes the unfinished folder; a finished run stays."""
        if self.run is None and self._folder.exists():
            shutil.rmtree(self._folder)
            os.close(self._lock)


def sweep(root: Path) -> list[Path]:
    """Removes the folders of writers that were killed; returns what was removed."""
    removed: list[Path] = []
    for folder in root.glob(f"{PARTIAL}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR)
        except FileNotFoundError:
            # Another writer is about to lock or to rename it, or died between two system calls; only an
            # old one is surely dead.
            if datetime.now(UTC).timestamp() - _mtime(folder) < 3600:
                continue
            lock = None
        try:
            if lock is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
        finally:
            if lock is not None:
                os.close(lock)
    return removed


def _entry(key: str, name: str, raw: RawRun) -> dict[str, Any]:
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
        "clock": manifest.clock.model_dump() | {"origin_tick": origin},
        "realtime": manifest.realtime,
        "counters": manifest.counters,
        "tables": {},
        "events": [{"ns": ns(event.tick)} | event.model_dump() for event in manifest.events],
        "summary": {},
        "metrics": {},
        "histograms": {},
    }


def _add_tables(entry: dict[str, Any], tables: list[RawTable], raw: RawRun, folder: Path) -> None:
    """Writes each table's Parquet file into the folder and its figures into the entry."""
    clock = raw.manifest.clock
    origin = entry["clock"]["origin_tick"]
    end: int | None = None
    # The jobs come first: the interference that counts is what ran while they did.
    for table in sorted(tables, key=lambda t: t.name != JOBS):
        converted = convert(table, clock, origin)
        file = folder / f"{table.name}.parquet"
        _write_parquet(converted, clock.provenance, file)
        entry["tables"][table.name] = {
            "file": f"{folder.name}/{file.name}",
            "rows": table.spec.rows,
            "attrs": table.spec.attrs,
        }
        _summarise_into(entry, table.name, converted, clock.provenance)
        if table.name == ACTIVITY:
            entry["interference"] = achieved(converted, clock.provenance, end)
        if table.name == JOBS:
            entry["jobs"] = job_counts(table)
            finished = converted.column("finish_ns").present()
            end = int(finished.max()) if finished.size else None


def achieved(activity: Converted, provenance: str, end: int | None) -> list[dict[str, Any]]:
    """What each source of interference achieved while the jobs ran (until `end`), or at all without jobs."""
    times = activity.column("t_ns").values
    during = np.ones(times.size, dtype=np.bool_) if end is None else (times >= 0) & (times <= end)
    times = times[during]
    sources = activity.column("source").values[during]
    moved = activity.column("bytes").values[during]
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


def _activity_of(interference: RawRun, raw: RawRun) -> RawTable:
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


def _mtime(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _lock(folder: Path) -> int:
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _write_parquet(converted: Converted, provenance: str, file: Path) -> None:
    table = converted.arrow(provenance)
    # Ticks and nanoseconds grow slowly from row to row: their differences pack well, dictionaries do not.
    delta = [field.name for field in table.schema if str(field.type) in ("int64", "uint64")]
    pq.write_table(
        table,
        file,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
        row_group_size=1 << 18,
    )


def _summarise_into(entry: dict[str, Any], table: str, converted: Converted, provenance: str) -> None:
    for metric in converted.metrics:
        values = metric.column.present()
        summary = summarise(values, metric.column.unit, provenance)
        if summary is None:
            continue
        entry["summary"][metric.name] = summary.as_dict()
        entry["metrics"][metric.name] = {"table": table, "column": metric.column.name}
        if values.dtype.kind in "iu":
            entry["histograms"][metric.name] = histogram(values.astype(np.int64))


def _failures(entry: dict[str, Any], expected_events: Collection[str]) -> list[str]:
    """Why this configuration fails: misses, wrong outputs, deaths, and counters that samples contradict."""
    name = entry["name"]
    reasons: list[str] = []
    counters = entry["counters"]
    jobs = entry.get("jobs", {})
    total = jobs.get("jobs")
    for counter, (one, many) in COUNTED.items():
        seen = jobs.get(counter)
        told = counters.get(counter)
        if seen is not None and told is not None and seen != told:
            reasons.append(f"{name}: the program counted {told} {many}, its samples show {seen}")
        count = max(seen or 0, told or 0)
        if count:
            what = f"{count} {one if count == 1 else many}"
            reasons.append(f"{name}: {what}" + (f" in {total} jobs" if seen is not None else ""))
    for event in entry["events"]:
        if event["name"] in FATAL_EVENTS and event["name"] not in expected_events:
            where = "" if event["ns"] is None else f" at {event['ns'] / 1e6:.3f} ms"
            reasons.append(f"{name}: {event['name']}{where}")
    return reasons


def _make_durable(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        _fsync(path)
    _fsync(folder)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
