# SPDX-License-Identifier: Apache-2.0
"""Raw tables to columns with units, and the metrics that are read from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from consort.errors import BadInput
from consort.record.raw import Clock, RawTable
from consort.record.ticks import to_ns

JOBS = "jobs"
ACTIVITY = "activity"
JOB_FIELDS = ("release", "start", "sent", "received", "finish", "compute", "seq", "status")

# Bits of a job's status word, as the application runner writes them.
STATUS: dict[str, int] = {
    "deadline_misses": 1 << 0,
    "outputs_held": 1 << 1,
    "local_fallbacks": 1 << 2,
    "worker_dead": 1 << 3,
    "late_answers_discarded": 1 << 4,
    "output_errors": 1 << 5,
    "late_releases": 1 << 6,
    "releases_skipped": 1 << 7,
}


@dataclass(frozen=True)
class Column:
    """One column of the final table; `absent` marks the rows that have no value."""

    name: str
    values: NDArray[Any]
    unit: str = ""
    kind: str = ""
    absent: NDArray[np.bool_] | None = None

    def present(self) -> NDArray[Any]:
        return self.values if self.absent is None else self.values[~self.absent]


@dataclass(frozen=True)
class Metric:
    """A quantity to summarise: its name and the column that holds its samples."""

    name: str
    column: Column


@dataclass(frozen=True)
class Converted:
    """A table in its final form."""

    columns: list[Column]
    metrics: list[Metric]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def arrow(self, provenance: str) -> pa.Table:
        """The Arrow table; each field's metadata names its unit, kind and provenance."""
        arrays = [pa.array(column.values, mask=column.absent) for column in self.columns]
        fields = [
            pa.field(
                column.name,
                array.type,
                nullable=column.absent is not None,
                metadata={"unit": column.unit, "kind": column.kind, "provenance": provenance},
            )
            for column, array in zip(self.columns, arrays, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def convert(table: RawTable, clock: Clock, origin: int) -> Converted:
    """All columns of a raw table, ticks beside nanoseconds, and its metrics."""
    columns: list[Column] = []
    metrics: list[Metric] = []
    measuring = [f for f in table.spec.fields if f.kind in ("duration", "sample")]
    for field in table.spec.fields:
        values = np.ascontiguousarray(table.rows[field.name])
        if field.unit == "tick" and field.kind in ("timestamp", "duration"):
            absent = None
            if field.kind == "timestamp":
                missing = values == 0
                absent = missing if missing.any() else None
            columns.append(Column(f"{field.name}_tick", values, "tick", field.kind, absent))
            base = origin if field.kind == "timestamp" else 0
            # Rows without a time wrap around here; they are masked.
            ticks = (values - np.uint64(base)).view(np.int64)
            ns = Column(f"{field.name}_ns", to_ns(ticks, clock.ticks_per_second), "ns", field.kind, absent)
            columns.append(ns)
        else:
            suffix = "_ns" if field.unit == "ns" and not field.name.endswith("_ns") else ""
            ns = Column(f"{field.name}{suffix}", values, field.unit, field.kind or "")
            columns.append(ns)
        if table.name != JOBS and field.kind in ("duration", "sample"):
            name = table.name if len(measuring) == 1 else f"{table.name}.{field.name}"
            metrics.append(Metric(name, ns))
    if table.name == JOBS:
        derived = _job_metrics(table, clock)
        columns = [c for c in columns if c.name != "compute_ns"]
        columns += [metric.column for metric in derived]
        metrics = [metric for metric in derived if metric.column.present().size]
    return Converted(columns, metrics)


def _job_metrics(table: RawTable, clock: Clock) -> list[Metric]:
    """Response, compute, communication and latency of each job, formed in ticks and then converted.

    A difference of two rounded nanosecond values would be off by up to one.
    """
    have = {field.name: field for field in table.spec.fields}
    lacking = [name for name in JOB_FIELDS if name not in have]
    if lacking:
        raise BadInput(f"table 'jobs' lacks {', '.join(lacking)}", file=table.spec.file, field="fields")
    wrong = [n for n in JOB_FIELDS[:6] if have[n].unit != "tick" or have[n].type != "u8"]
    if wrong:
        raise BadInput(
            f"table 'jobs' must hold {', '.join(wrong)} as u8 ticks", file=table.spec.file, field="fields"
        )
    t: dict[str, NDArray[np.int64]] = {
        name: np.ascontiguousarray(table.rows[name]).view(np.int64) for name in JOB_FIELDS[:6]
    }
    status = table.rows["status"]
    held = (status & STATUS["outputs_held"]) != 0
    fallback = (status & STATUS["local_fallbacks"]) != 0
    # A held output was not computed in time; a late answer may still have brought its computing time.
    skipped = (status & STATUS["releases_skipped"]) != 0
    nothing_computed = (held & (t["compute"] == 0)) | skipped
    # After a fallback `compute` is the master's own, so it says nothing about the way to the worker.
    no_exchange = (t["sent"] == 0) | (t["received"] == 0) | fallback | held
    exchange = np.where(no_exchange, 0, t["received"] - t["sent"] - t["compute"])

    def metric(name: str, ticks: NDArray[np.int64], absent: NDArray[np.bool_]) -> Metric:
        values = to_ns(ticks, clock.ticks_per_second)
        return Metric(name, Column(f"{name}_ns", values, "ns", "duration", absent if absent.any() else None))

    return [
        metric("response", t["finish"] - t["release"], (t["finish"] == 0) | (t["release"] == 0)),
        metric("compute", t["compute"], nothing_computed),
        metric("communication", exchange, no_exchange),
        metric("latency", t["start"] - t["release"], (t["start"] == 0) | (t["release"] == 0)),
    ]


def job_counts(table: RawTable) -> dict[str, int]:
    """How many jobs there were, and how many carry each bit of the status word."""
    status = table.rows["status"]
    counts = {name: int(np.count_nonzero(status & bit)) for name, bit in STATUS.items()}
    return {"jobs": int(status.size)} | counts
