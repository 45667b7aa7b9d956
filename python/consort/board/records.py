# SPDX-License-Identifier: Apache-2.0
"""Records of a board's cores in nanoseconds and the results of a run, whoever served it; offsets between the
cores' clocks; devices that are only described, whose blocks one process of this machine writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.plan import Plan, PlannedChannel
from consort.record.ran import STATUS
from consort.run.data import struct_dtype


@dataclass(frozen=True)
class Recorded:
    """Recorded results of a run. Times in nanoseconds, with `begin` at the first release of each job's
    core."""

    jobs: NDArray[Any]
    events: NDArray[Any]
    # By task: rows of the job's number and the output's members.
    outputs: dict[str, NDArray[Any]]
    lost: int
    preemptions: dict[str, int] = field(default_factory=dict)
    # Operations of channels; a kernel that records none leaves it empty.
    operations: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    # Tasks whose outputs nobody can predict, and what executions have in them beside the steps.
    unpredicted: frozenset[str] = frozenset()
    overhead_ps: Mapping[str, int] | None = None
    # Counted: an instruction takes 2 to this nanoseconds.
    shift: int = 0
    # True if every job was recorded.
    whole: bool = True
    # By core: its clock's tick at its first release.
    starts: Mapping[str, int] = field(default_factory=dict)
    # Why the run fails beside what the record shows, and tables for its report.
    findings: tuple[str, ...] = ()
    sections: tuple[Mapping[str, Any], ...] = ()


def by_the_workers_clock(rows: NDArray[Any], master: int, worker: int) -> NDArray[Any]:
    """A worker has measured its part with its own clock, in ticks; `rows` took them for its master's."""
    made = rows.copy()
    remote = (rows["status"] & STATUS["local_fallbacks"]) == 0
    made["compute"][remote] = rows["compute"][remote] // (10**9 // master) * 10**9 // worker
    return made


def in_nanoseconds(rows: NDArray[Any], hertz: int, start: int, begin: int) -> NDArray[Any]:
    """A core's rows with ticks, which are whole nanoseconds, as such: `start` becomes `begin`."""
    made = rows.copy()
    scale = 10**9 // hertz
    for name in rows.dtype.names or ():
        # The number of an event or a block is not a time.
        if rows.dtype[name] == np.dtype("<u8") and name not in ("value", "sequence"):
            happened = rows[name] != 0
            if name == "compute":
                made[name] = rows[name] * scale
            else:
                made[name][happened] = (rows[name][happened] - start) * scale + begin
    return made


def read_ring(
    ring: bytes, record: Mapping[str, Any], output: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Jobs, operations, events and outputs (as `output` has them) of a task's ring, never read before."""
    written = int.from_bytes(ring[record["ring"]["written"] :][:4], "little")
    data = memoryview(ring)[record["ring"]["bytes"] :]
    head, tables = struct_dtype(record["head"]), record["tables"]
    parts = {key: bytearray() for key in ("job", "operation", "event", "output")}
    kinds = {tables[key]: key for key in parts}
    lengths = {**{key: record[key]["bytes"] for key in parts if key in record}, "output": output.itemsize}
    at = 0
    while at < written:
        found = np.frombuffer(data, head, 1, at)[0]
        begin, end = at + head.itemsize, at + int(found["bytes"])
        key = kinds.get(int(found["table"]))
        if key is not None:
            parts[key] += data[begin : begin + lengths[key]]
        at = end
    types = {**{key: struct_dtype(record[key]) for key in ("job", "operation", "event")}, "output": output}
    jobs, operations, events, outputs = (np.frombuffer(bytes(parts[key]), types[key]) for key in parts)
    return jobs, operations, events, outputs


TITLE = "devices"
# The process that plays it: its kind (process.py), and its clock, which counts nanoseconds.
KIND, HERTZ = "x86-64", 10**9


def written(plan: Plan) -> list[PlannedChannel]:
    """The channels that such devices write."""
    return [channel for channel in plan.carried if channel.writer not in plan.tasks]


def periods_ns(plan: Plan) -> list[int]:
    return [channel.messages_apart_ps // 1000 for channel in written(plan)]


def blocks_of(plan: Plan, duration_ps: int) -> int:
    """The number of blocks that all of them write."""
    return sum(-(-duration_ps // 1000 // period) for period in periods_ns(plan))


def ring_capacity(plan: Plan, duration_ps: int, record: Mapping[str, Any]) -> int:
    """The capacity of their record: a power of two, and more than all operations take."""
    each = record["head"]["bytes"] + record["operation"]["bytes"]
    return int(1 << max(12, (blocks_of(plan, duration_ps) * each + 1024).bit_length()))


def operations(
    ring: bytes, record: Mapping[str, Any], results: list[int], begin: int
) -> tuple[NDArray[Any], int]:
    """The operations that a process with these results wrote, in nanoseconds, and the number of lost
    records."""
    _, moved, _, _ = read_ring(ring, record, np.dtype("<u8"))
    lost = int.from_bytes(ring[record["ring"]["lost"] :][:4], "little")
    return in_nanoseconds(moved, HERTZ, results[2] | results[3] << 32, begin), lost


def notes(plan: Plan) -> Iterator[str]:
    """Notes on device processes for a run's reader."""
    for channel, period in zip(written(plan), periods_ns(plan), strict=True):
        yield (
            f"{channel.writer} is only described: a process in the board's time writes a numbered block to"
            f" {channel.name} every {period / 1000:g} us"
        )


# Two lines for each core of the plan: a question's and an answer's.
CLOCK_BYTES = 128
CLOCKS_TITLE = "Clocks of the cores"


@dataclass(frozen=True)
class ClockError:
    """A core's clock against the reference's [ns]."""

    core: str
    reference: str
    set_within: int
    """How far the instant from which the core counts may lie from the reference's."""
    gained: int
    """By how much its clock ran ahead of the reference's from the run's beginning to its end, as measured."""
    known_within: int
    """How far that may lie from what it gained."""

    @property
    def apart(self) -> int:
        """The largest difference between both clocks' readings of one instant, from the first release to the
        end."""
        return self.set_within + abs(self.gained) + self.known_within


def read_clocks(hertz: Mapping[str, int], results: Mapping[str, Sequence[int]]) -> list[ClockError]:
    """Errors of all cores' clocks but the first's, by which they are set; from their control blocks'
    results, as the cores measured them by asking (consort/bare/clocks.hpp)."""
    reference, *others = hertz
    # A reading says in which tick of the reference's clock it was taken.
    tick = 10**9 // hertz[reference]
    found = []
    for name in others:
        within, gained, known = results[name][5:8]
        signed = gained - (1 << 32) if gained >> 31 else gained
        found.append(ClockError(name, reference, within + tick, signed, known + 2 * tick))
    return found


def clocks_section(found: Sequence[ClockError]) -> dict[str, Any]:
    """A table for the report."""
    names = ("set within", "gained by the end", "known within", "apart at most")
    return {
        "title": CLOCKS_TITLE,
        "columns": [
            {"name": "core"},
            {"name": "reference"},
            *({"name": name, "unit": "ns", "provenance": "counted"} for name in names),
        ],
        "rows": [[c.core, c.reference, c.set_within, c.gained, c.known_within, c.apart] for c in found],
        "source": "the quickest of several questions and answers before the first release, and after the last"
        " job; a time from one core to another is known to the last column",
    }
