# SPDX-License-Identifier: Apache-2.0
"""Outputs held against expected ones: which are wrong, and in what the first of them differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.record.findings import NotFinite
from consort.record.ran import STATUS
from consort.record.raw import RawTable
from consort.record.sections import column_name


@dataclass(frozen=True)
class Expected:
    """The expected outputs of a task.

    `rows` has one row for each job of the task (`by` job: row k for the job whose number is k), or one for
    each row of the recorded input (`by` input: a golden output). Members are named as in the step's Out.
    `tolerance`: by how many steps of its number format a member may be off; none where it is not named.
    `source` says where they come from, such as "golden" or "the same steps in logical order".
    """

    rows: NDArray[np.void]
    by: Literal["job", "input"] = "job"
    tolerance: Mapping[str, int] = field(default_factory=dict)
    source: str = "the same steps in logical order"
    known: NDArray[np.bool_] | None = None
    """Which rows are known at all; None: every one. The others are not compared."""


@dataclass(frozen=True)
class WrongOutput:
    """The first wrong output of a task: which job's, which member, and the two values."""

    task: str
    seq: int
    member: str
    expected: Any
    found: Any
    wrong: int
    compared: int
    source: str

    def __str__(self) -> str:
        return (
            f"{self.task}: {self.wrong} of {self.compared} outputs are wrong (expected: {self.source}); first"
            f" job {self.seq}, member {self.member}: expected {self.expected}, found {self.found}"
        )


def not_finite(
    task: str,
    table: RawTable,
    jobs: NDArray[np.void],
    skip: NDArray[np.bool_],
    golden: NDArray[np.void] | None,
) -> tuple[NDArray[np.bool_], list[NotFinite]]:
    """A mask of a task's jobs with an output that is not finite, and the members concerned.

    `jobs` and `skip` as in `compare`. `golden`: the row that the description itself gives for each output,
    which is right where it is not finite either.
    """
    bad = np.zeros(jobs.size, dtype=np.bool_)
    found: list[NotFinite] = []
    at = np.searchsorted(jobs["seq"], table.rows["seq"].astype(np.int64))
    known = at < jobs.size
    own = known & ~np.append(skip, True)[np.where(known, at, -1)]
    allowed = {} if golden is None else flattened(golden)
    for name in table.rows.dtype.names or ():
        if table.rows[name].dtype.kind != "f":
            continue
        wrong = own & ~np.isfinite(table.rows[name])
        if name in allowed:
            wrong &= np.isfinite(allowed[name].astype(np.float64))
        if wrong.any():
            first = int(table.rows["seq"][wrong].min())
            found.append(NotFinite(task, name, first, int(wrong.sum()), int(own.sum())))
            bad[at[wrong]] = True
    return bad, found


def distance(got: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.uint64]:
    """The number of steps between two values in their number format: ulp of floats, LSB of integers.

    Floats are mapped to integers in their order (negative ones mirrored), so that neighbours differ by one.
    An infinity is infinitely far from every other value, and so is a NaN.
    """
    if got.dtype.kind == "f":
        bits = got.dtype.itemsize * 8
        unsigned, signed = np.dtype(f"u{bits // 8}"), np.dtype(f"i{bits // 8}")
        low = np.array(1 << (bits - 1), dtype=unsigned)

        def ordered(values: NDArray[Any]) -> NDArray[Any]:
            raw = np.ascontiguousarray(values).view(unsigned)
            mapped: NDArray[Any] = np.where(raw & low, (~raw) + unsigned.type(1), raw | low).astype(unsigned)
            return mapped

        a, b = ordered(got), ordered(expected.astype(got.dtype))
        apart: NDArray[np.uint64] = np.where(a > b, a - b, b - a).astype(np.uint64)
        same = np.ascontiguousarray(got).view(signed) == np.ascontiguousarray(expected).view(signed)
        endless = ~(np.isfinite(got) & np.isfinite(expected))
        apart[endless] = np.where(same[endless], np.uint64(0), np.uint64(2**64 - 1))
        return apart
    if got.dtype.itemsize < 8:
        return np.abs(got.astype(np.int64) - expected.astype(np.int64)).astype(np.uint64)
    # Differences of 64-bit integers do not fit into 64 bits; those of Python's do.
    wide = zip(got.astype(object), expected.astype(object), strict=True)
    return np.array([min(abs(int(x) - int(y)), 2**64 - 1) for x, y in wide], dtype=np.uint64)


def flattened(rows: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """Each scalar member by the name of its column; an element of an array is `<member>_<index>`."""
    columns: dict[str, NDArray[Any]] = {}
    for name in rows.dtype.names or ():
        for column, index in columns_of(name, rows.dtype).items():
            place: tuple[Any, ...] = (slice(None), *index)
            columns[column] = np.ascontiguousarray(rows[name][place])
    return columns


def columns_of(member: str, dtype: np.dtype[Any]) -> dict[str, tuple[int, ...]]:
    """The columns of a member, each with the index of its element."""
    shape = dtype[member].shape
    return {"_".join([column_name(member), *map(str, index)]): index for index in np.ndindex(shape)}


def tolerated(given: str, member: str, dtype: np.dtype[Any]) -> list[str]:
    """The columns of a member that a tolerance of that name is of: all, or that of an element of an array."""
    columns = columns_of(member, dtype)
    if column_name(given) == column_name(member):
        return list(columns)
    return [column for column in columns if column == column_name(given)]


def compare(
    task: str, table: RawTable, jobs: NDArray[np.void], expected: Expected, skip: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], WrongOutput | None, NDArray[np.void]]:
    """A mask of a task's jobs with a wrong output, the first wrong output, and the expected row of each.

    `jobs` are the task's in the order of `seq`; `skip` marks those whose output is not this job's own (held,
    aborted or unserved), which are not compared. `BadInput` where outputs and expectation do not fit.
    """
    wrong = np.zeros(jobs.size, dtype=np.bool_)
    seq = table.rows["seq"].astype(np.int64)
    at = np.searchsorted(jobs["seq"], seq)
    known = at < jobs.size
    known[known] = jobs["seq"][at[known]] == seq[known]
    if not known.all():
        raise BadInput(
            f"an output of job {int(seq[~known][0])}, which table 'jobs' does not have",
            file=table.spec.file,
            field="seq",
        )
    want = seq if expected.by == "job" else jobs["input"][at].astype(np.int64)
    counted = ~skip[at]
    if expected.by == "input":
        counted &= ~_after_held(jobs)[at]
    if expected.known is not None:
        # Beyond the last known row nothing is known either.
        counted &= (
            (want < expected.known.size) & expected.known[np.minimum(want, max(expected.known.size - 1, 0))]
            if expected.known.size
            else False
        )
    if counted.any() and int(want[counted].max()) >= expected.rows.size:
        raise BadInput(
            f"{expected.rows.size} expected outputs of {task}, but {expected.by}"
            f" {int(want[counted].max())} was run",
            file=table.spec.file,
        )
    row = np.minimum(want, max(expected.rows.size - 1, 0))
    # Nothing is known where every output was held.
    beside = expected.rows[row] if expected.rows.size else np.zeros(seq.size, dtype=expected.rows.dtype)
    columns = flattened(beside)
    members = beside.dtype.names or ()
    allowed = {
        column: steps
        for given, steps in expected.tolerance.items()
        for member in members
        for column in tolerated(given, member, beside.dtype)
    }
    off: dict[str, NDArray[np.bool_]] = {}
    for name, values in columns.items():
        if name not in (table.rows.dtype.names or ()):
            raise BadInput(f"the outputs of {task} have no column {name}", file=table.spec.file, field=name)
        found = np.ascontiguousarray(table.rows[name])
        limit = allowed.get(name, 0)
        apart = distance(found, values.astype(found.dtype))
        off[name] = (apart > np.uint64(limit)) & counted
        if not limit and found.dtype.kind == "f":
            # Equal numbers, and not to the bit.
            off[name] |= (np.signbit(found) != np.signbit(values)) & counted
    if not off:
        return wrong, None, beside
    bad = np.logical_or.reduce(list(off.values()))
    wrong[at[bad]] = True
    if not bad.any():
        return wrong, None, beside
    first = int(np.flatnonzero(bad)[np.argmin(seq[bad])])
    member = next(name for name, marks in off.items() if marks[first])
    error = WrongOutput(
        task=task,
        seq=int(seq[first]),
        member=member,
        expected=columns[member][first].item(),
        found=table.rows[member][first].item(),
        wrong=int(bad.sum()),
        compared=int(counted.sum()),
        source=expected.source,
    )
    return wrong, error, beside


def _after_held(jobs: NDArray[np.void]) -> NDArray[np.bool_]:
    """Jobs of a task, in order, whose state nobody can know: an output was held, so that the job behind it
    may or may not have been taken up, and the input, whose first row resets the state, has not begun again.
    """
    place = np.arange(jobs.size)
    executed = (jobs["status"] & (STATUS["unserved"] | STATUS["aborted"])) == 0
    held = np.maximum.accumulate(np.where((jobs["status"] & STATUS["outputs_held"]) != 0, place, -1))
    reset = np.maximum.accumulate(np.where(executed & (jobs["input"] == 0), place, -1))
    after: NDArray[np.bool_] = (held >= 0) & (held >= reset)
    return after
