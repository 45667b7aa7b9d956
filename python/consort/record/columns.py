# SPDX-License-Identifier: Apache-2.0
"""Raw tables to columns with units, and the metrics that are read from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.record.ran import (
    CAUSES_OF_EVENTS,
    EVENTS,
    NONE,
    OPERATIONS,
    SLICES,
    STATUS,
    TIMED_EVENTS,
    Ran,
)
from consort.record.raw import Clock, RawTable
from consort.record.summary import counts_by, rows_by, unended

Ints = NDArray[np.int64]


def to_ns(ticks: Ints, ticks_per_second: float) -> Ints:
    """Durations or run-relative time stamps in nanoseconds, rounded to the nearest one.

    The product is formed in float64, which is exact to a nanosecond for spans up to 2**53 ns (104 days);
    that is why time stamps are made relative to the run's first tick before they come here.
    """
    if ticks_per_second == 1e9:
        return ticks
    scaled = ticks * (1e9 / ticks_per_second)
    np.rint(scaled, out=scaled)
    return scaled.astype(np.int64)


JOBS = "jobs"
ACTIVITY = "activity"
OPERATIONS_TABLE = "operations"
EVENTS_TABLE = "events"
SLICES_TABLE = "slices"
JOB_FIELDS = ("release", "start", "sent", "received", "finish", "compute", "seq", "status")

Mask = NDArray[np.bool_]


ALL = slice(None)


@dataclass(frozen=True)
class Column:
    """One column of the final table; `absent` marks the rows that have no value.

    With `names` the values are positions in that list, and the table holds the names. With `since` they are
    ticks, which become nanoseconds since that tick where they are asked for: of a large table that is a part.
    """

    name: str
    values: NDArray[Any]
    unit: str = ""
    kind: str = ""
    absent: Mask | None = None
    names: tuple[str, ...] | None = None
    since: int | None = None
    ticks_per_second: float = 1e9

    @property
    def there(self) -> Mask:
        """A mask of the rows that have a value."""
        return np.ones(self.values.size, dtype=np.bool_) if self.absent is None else ~self.absent

    def part(self, rows: slice | NDArray[np.int64] = ALL) -> NDArray[Any]:
        """The values of some rows, present or not."""
        found = np.ascontiguousarray(self.values[rows])
        if self.since is None:
            return found
        # Rows without a time wrap around here; they are masked.
        return to_ns((found - np.uint64(self.since)).view(np.int64), self.ticks_per_second)

    def present(self, rows: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """The values that there are, of all rows or of those at the given positions."""
        if rows is None:
            return self.part(ALL if self.absent is None else np.flatnonzero(~self.absent))
        return self.part(self.having(rows))

    def having(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the given positions that have a value."""
        return rows if self.absent is None else rows[~self.absent[rows]]

    def arrow(self, rows: slice = ALL) -> pa.Array:
        absent = None if self.absent is None else self.absent[rows]
        if self.since is not None and absent is not None and absent.all():
            # Nothing of them is written: ticks need not become nanoseconds.
            values: NDArray[Any] = np.zeros(absent.size, dtype=np.int64)
        else:
            values = self.part(rows)
        if self.names is None:
            return _array(values, absent)
        # Positions beyond the list are null: the row belongs to none of the named.
        beyond = values >= len(self.names)
        positions = _array(np.where(beyond, 0, values).astype(np.int32), beyond)
        return pa.DictionaryArray.from_arrays(positions, _texts(self.names))


@dataclass(frozen=True)
class Metric:
    """A quantity to summarise: the column that holds its samples, and which rows count
    (their positions; None: all).

    `task` names the task whose jobs these are; `quantity` is what is measured of them (response, …).
    """

    name: str
    column: Column
    rows: NDArray[np.int64] | None = None
    task: str | None = None
    quantity: str = ""

    def present(self) -> NDArray[Any]:
        return self.column.present(self.rows)


@dataclass(frozen=True)
class Converted:
    """A table in its final form."""

    columns: list[Column]
    metrics: list[Metric]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def arrow(self, provenance: str, rows: slice = ALL) -> pa.Table:
        """The Arrow table of some rows; each field's metadata names its unit, kind and provenance."""
        arrays = [column.arrow(rows) for column in self.columns]
        fields = [
            pa.field(
                column.name,
                array.type,
                nullable=column.absent is not None or column.names is not None,
                metadata={"unit": column.unit, "kind": column.kind, "provenance": provenance},
            )
            for column, array in zip(self.columns, arrays, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _array(values: NDArray[Any], absent: Mask | None) -> pa.Array:
    """The values as they lie in memory; `pa.array` copies them, and loads pandas where that is installed."""
    kind = pa.from_numpy_dtype(values.dtype)
    if values.dtype == np.bool_:
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values)
    there = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    return pa.Array.from_buffers(kind, values.size, [there, pa.py_buffer(data)])


@lru_cache(maxsize=16)
def _texts(names: tuple[str, ...]) -> pa.Array:
    """The names as a column has them; made once for all groups of rows of a table."""
    data = [name.encode() for name in names]
    ends = np.zeros(len(data) + 1, dtype=np.int32)
    np.cumsum([len(one) for one in data], out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def convert(table: RawTable, clock: Clock, origin: int, ran: Ran | None = None) -> Converted:
    """All columns of a raw table, ticks beside nanoseconds, and its metrics.

    `ran` gives the names of the tasks, cores and channels that rows number.
    """
    columns: list[Column] = []
    metrics: list[Metric] = []
    names = _names(table, ran)
    measuring = [f for f in table.spec.fields if f.kind in ("duration", "sample")]
    for field in table.spec.fields:
        values = table[field.name]
        if field.unit == "tick" and field.kind in ("timestamp", "duration"):
            absent = None
            if field.kind == "timestamp":
                missing = values == 0
                absent = missing if missing.any() else None
            columns.append(Column(f"{field.name}_tick", values, "tick", field.kind, absent))
            ns = Column(
                f"{field.name}_ns",
                values,
                "ns",
                field.kind,
                absent,
                since=origin if field.kind == "timestamp" else 0,
                ticks_per_second=clock.ticks_per_second,
            )
            columns.append(ns)
        elif field.name in names:
            places = _causes(table) if names[field.name] is _CAUSES else values
            ns = Column(field.name, places, kind="name", names=names[field.name])
            columns.append(ns)
        else:
            suffix = "_ns" if field.unit == "ns" and not field.name.endswith("_ns") else ""
            ns = Column(f"{field.name}{suffix}", values, field.unit, field.kind or "")
            columns.append(ns)
        if table.name != JOBS and field.kind in ("duration", "sample"):
            name = table.name if len(measuring) == 1 else f"{table.name}.{field.name}"
            metrics.append(Metric(name, ns, quantity=name))
    if table.name == EVENTS_TABLE and ran is not None:
        columns.append(_timed_values(table, clock))
    if table.name == JOBS:
        derived = _job_metrics(table, clock)
        columns = [c for c in columns if c.name != "compute_ns"]
        columns += derived
        metrics = _metrics_of_jobs(table, derived, ran)
    return Converted(columns, metrics)


def _names(table: RawTable, ran: Ran | None) -> dict[str, tuple[str, ...]]:
    """The list in which each field of the table is a position."""
    if ran is None:
        return {}
    tasks, cores = tuple(ran.task_names), tuple(ran.core_names)
    found = {
        JOBS: {"task": tasks, "core": cores},
        OPERATIONS_TABLE: {"task": tasks, "channel": tuple(ran.channel_names), "kind": OPERATIONS},
        EVENTS_TABLE: {"task": tasks, "core": cores, "kind": EVENTS, "cause": _CAUSES},
        SLICES_TABLE: {"task": tasks, "core": cores, "doing": SLICES},
    }.get(table.name, {})
    for field, names in found.items():
        if field not in table.names:
            raise BadInput(f"table '{table.name}' lacks {field}", file=table.spec.file, field="fields")
        values = table[field]
        beyond = values >= len(names)
        _check_numbers(table, field, beyond & (values != NONE) if beyond.any() else beyond, len(names))
    return found


def _check_numbers(table: RawTable, field: str, wrong: NDArray[np.bool_], count: int) -> None:
    """`BadInput` for the first row whose number of such a name is wrong."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadInput(
            f"table '{table.name}', row {row}: {field} {int(table[field][row])}, but there are {count}",
            file=table.spec.file,
            field=field,
        )


# Each word for a cause once, whatever events it is of; first that of events without one.
_CAUSES = tuple(dict.fromkeys(("", *(word for words in CAUSES_OF_EVENTS.values() for word in words))))


def _causes(table: RawTable) -> NDArray[np.uint16]:
    """The position of each event's cause in `_CAUSES`: a number means what it does for its kind of event."""
    kinds, numbers = table["kind"], table["cause"]
    found = np.zeros(kinds.size, dtype=np.uint16)
    for kind in np.unique(kinds).tolist():
        words = CAUSES_OF_EVENTS.get(EVENTS[kind]) if kind != NONE else None
        if words is not None:
            mine = kinds == kind
            _check_numbers(table, "cause", mine & (numbers >= len(words)), len(words))
            found[mine] = np.array([_CAUSES.index(word) for word in words])[numbers[mine]]
    return found


def _timed_values(table: RawTable, clock: Clock) -> Column:
    """The value of those events whose value is a time, in nanoseconds."""
    timed = np.isin(table.rows["kind"], [n for n, name in enumerate(EVENTS) if name in TIMED_EVENTS])
    ticks = np.where(timed, table.rows["value"], 0).astype(np.int64)
    return Column("value_ns", to_ns(ticks, clock.ticks_per_second), "ns", "duration", ~timed)


def _job_metrics(table: RawTable, clock: Clock) -> list[Column]:
    """Response, compute, communication and latency of each job, formed in ticks and then converted.

    A difference of two rounded nanosecond values would be off by up to one. A release that was not served,
    or whose job never ended, has an infinite response time.
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
        name: np.ascontiguousarray(table[name]).view(np.int64) for name in JOB_FIELDS[:6]
    }
    status = table["status"]
    held = (status & STATUS["outputs_held"]) != 0
    fallback = (status & STATUS["local_fallbacks"]) != 0
    endless = unended(table)
    # A held output was not computed in time; a late answer may still have brought its computing time.
    nothing_computed = (held & (t["compute"] == 0)) | (endless & (t["compute"] == 0))
    # After a fallback `compute` is the master's own, so it says nothing about the way to the worker.
    no_exchange = (t["sent"] == 0) | (t["received"] == 0) | fallback | held | endless
    exchange = np.where(no_exchange, 0, t["received"] - t["sent"] - t["compute"])
    response = to_ns(t["finish"] - t["release"], clock.ticks_per_second).astype(np.float64)
    response[endless] = np.inf

    def metric(name: str, ticks: NDArray[np.int64], absent: Mask) -> Column:
        # A system without offloaded tasks has no exchanges at all.
        values = np.zeros_like(ticks) if absent.all() else to_ns(ticks, clock.ticks_per_second)
        return Column(f"{name}_ns", values, "ns", "duration", absent if absent.any() else None)

    return [
        Column("response_ns", response, "ns", "duration"),
        metric("compute", t["compute"], nothing_computed),
        metric("communication", exchange, no_exchange),
        metric("latency", t["start"] - t["release"], (t["start"] == 0) | (t["release"] == 0)),
    ]


def _metrics_of_jobs(table: RawTable, derived: Sequence[Column], ran: Ran | None) -> list[Metric]:
    """Each quantity of each task that has samples; of all jobs together where no tasks are described."""
    found = []
    tasks: list[tuple[str | None, NDArray[np.int64] | None]] = [(None, None)]
    numbers = np.zeros(table.spec.rows, dtype=np.uint16)
    if ran is not None:
        numbers = np.ascontiguousarray(table["task"])
        tasks = list(zip(ran.task_names, rows_by(numbers, len(ran.tasks)), strict=True))
    samples = [counts_by(numbers, column.there, len(tasks)) for column in derived]
    for place, (task, rows) in enumerate(tasks):
        for column, counts in zip(derived, samples, strict=True):
            quantity = column.name.removesuffix("_ns")
            name = quantity if task is None else f"{task}.{quantity}"
            if counts[place]:
                found.append(Metric(name, column, rows, task, quantity))
    return found
