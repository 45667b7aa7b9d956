# SPDX-License-Identifier: Apache-2.0
"""A recording as the judge reads it: its tables as arrays, its jobs by task, its times in nanoseconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.record.columns import EVENTS_TABLE, JOBS, OPERATIONS_TABLE
from consort.record.ran import OPERATIONS, PLAN_FILE, STATUS, Ran
from consort.record.raw import MANIFEST, RawRun, RawTable
from consort.record.summary import counts_by, maxima_by, rows_by, unended

NEEDED = ("release", "start", "sent", "received", "finish", "compute", "seq", "status", "task", "core")


@dataclass(frozen=True)
class Samples:
    """The tables of a recording of a plan; `operations` and `events` are None where absent."""

    system: Ran
    record: RawRun
    table: RawTable
    operations: NDArray[np.void] | None
    events: NDArray[np.void] | None
    ticks_per_ns: float

    @staticmethod
    def of(record: RawRun) -> Samples:
        system = record.ran
        if system is None:
            raise BadInput(
                f"the recording has no {PLAN_FILE}, which says what ran, so there is nothing to judge; record"
                " the run again",
                file=record.path,
            )
        table = record.tables.get(JOBS)
        if table is None:
            raise BadInput("has no table 'jobs'", file=record.path / MANIFEST, field="tables")
        lacking = [name for name in NEEDED if name not in table.names]
        if lacking:
            raise BadInput(f"table 'jobs' lacks {', '.join(lacking)}", file=record.path / table.spec.file)
        for column, names in (("task", system.tasks), ("core", system.cores)):
            if table.spec.rows and (largest := int(table[column].max())) >= len(names):
                raise BadInput(
                    f"table 'jobs' has {column} {largest}, but there are {len(names)}",
                    file=record.path / table.spec.file,
                    field=column,
                )
        events = record.tables.get(EVENTS_TABLE)
        operations = record.tables.get(OPERATIONS_TABLE)
        return Samples(
            system,
            record,
            table,
            None if operations is None else np.asarray(operations.rows),
            None if events is None else np.asarray(events.rows),
            record.manifest.clock.ticks_per_second / 1e9,
        )

    @cached_property
    def jobs(self) -> NDArray[np.void]:
        """The rows of the jobs; where one column of all of them is wanted, `table` has it in one piece."""
        return np.asarray(self.table.rows)

    @property
    def size(self) -> int:
        """How many jobs there are."""
        return self.table.spec.rows

    @cached_property
    def task(self) -> NDArray[Any]:
        """The number of each job's task."""
        return np.ascontiguousarray(self.table["task"])

    @cached_property
    def status(self) -> NDArray[Any]:
        return np.ascontiguousarray(self.table["status"])

    @cached_property
    def missed(self) -> NDArray[np.bool_]:
        """The jobs that missed their deadline, or did not end."""
        late = (self.status & STATUS["deadline_misses"]) != 0
        missed: NDArray[np.bool_] = late | ~np.isfinite(self.response)
        return missed

    @cached_property
    def released(self) -> list[int]:
        """How many jobs each task has."""
        return self.count(np.ones(self.size, dtype=np.bool_))

    def count(self, mask: NDArray[np.bool_]) -> list[int]:
        """How many of the marked jobs each task has."""
        return counts_by(self.task, mask, len(self.system.tasks))

    def largest(self, values: NDArray[np.float64]) -> list[float]:
        """The largest of the jobs' values, for each task; -inf for one without jobs."""
        return maxima_by(self.task, values, len(self.system.tasks))

    @cached_property
    def response(self) -> NDArray[np.float64]:
        """The response of each job, in ns; inf if it did not end."""
        ticks = self.table["finish"].astype(np.int64) - self.table["release"].astype(np.int64)
        response: NDArray[np.float64] = ticks / self.ticks_per_ns
        response[unended(self.table)] = np.inf
        return response

    @property
    def ordinary(self) -> tuple[str, ...]:
        """The cores whose threads ran in the ordinary class, where the recording says in which they ran."""
        said = self.record.manifest.realtime
        cores = [one for one in said.get("workers", ()) if one.get("name") in self.system.core_names]
        return tuple(one["name"] for one in cores if one.get("policy") == "SCHED_OTHER")

    def stay_of(self, ticks: NDArray[Any]) -> NDArray[np.int64]:
        """In which stay in the mode an instant lies: nothing that spans two of them is a time of either."""
        begins = np.array([begin for begin, _ in self.system.facts.stays[1:]], dtype=np.int64)
        return np.searchsorted(begins, ticks.astype(np.int64), side="right")

    @cached_property
    def _by_task(self) -> Sequence[NDArray[np.int64]]:
        seq = np.ascontiguousarray(self.table["seq"])
        return rows_by(self.task, len(self.system.tasks), seq)

    def rows_of(self, task: int) -> NDArray[np.int64]:
        """The rows of a task's jobs, in the order of their numbers."""
        return self._by_task[task]

    def alone(self, number: int, *, fallbacks: bool = False) -> NDArray[np.bool_]:
        """A mask of a task's jobs, in the order of their numbers, in which no other began on the same core.

        Only for these is the computing time an execution time: that of a preempted job holds the others',
        too. In simulated time it is one for all jobs. `fallbacks`: also those that the master computed
        instead of the worker.
        """
        jobs, rows = self.jobs, self.rows_of(number)
        # A step that the master computed instead of the worker has another WCET.
        by_plan: NDArray[np.bool_] = (
            jobs["status"][rows] & (0 if fallbacks else STATUS["local_fallbacks"])
        ) == 0
        if self.record.manifest.clock.provenance == "simulated":
            return by_plan
        mine = jobs[rows]
        worker = self.system.tasks[number].worker
        if (
            worker is not None
            and worker in self.system.core_names
            and "worker_receive" in (jobs.dtype.names or ())
        ):
            place = self.system.core_names.index(worker)
            workers = np.array([task.worker == worker for task in self.system.tasks])
            starts = jobs["worker_receive"][workers[jobs["task"]]]
            starts = np.concatenate([starts, jobs["start"][jobs["core"] == place]])
            begin, end = mine["worker_receive"], mine["worker_send"]
            remote = (begin > 0) & (end > 0)
        else:
            remote = np.zeros(rows.size, dtype=np.bool_)
            begin = end = mine["start"]
            starts = begin[:0]
        single = np.zeros(rows.size, dtype=np.bool_)
        ordered = np.sort(starts[starts > 0])
        single[remote] = (
            np.searchsorted(ordered, end[remote]) - np.searchsorted(ordered, begin[remote], side="right") <= 0
        )
        for core in np.unique(mine["core"]).tolist():
            local = ~remote & (mine["core"] == core) & (mine["start"] > 0) & (mine["finish"] > 0)
            ordered = np.sort(jobs["start"][(jobs["core"] == core) & (jobs["start"] > 0)])
            first = np.searchsorted(ordered, mine["start"][local], side="right")
            single[local] = np.searchsorted(ordered, mine["finish"][local]) - first <= 0
        return single & by_plan

    @cached_property
    def all_alone(self) -> NDArray[np.bool_]:
        """`alone` for all jobs, in the order of the table."""
        if self.record.manifest.clock.provenance == "simulated":
            by_plan: NDArray[np.bool_] = (self.status & STATUS["local_fallbacks"]) == 0
            return by_plan
        found = np.zeros(self.size, dtype=np.bool_)
        for number in range(len(self.system.tasks)):
            found[self.rows_of(number)] = self.alone(number)
        return found

    def number(self, task: str) -> int:
        names = self.system.task_names
        if task not in names:
            raise BadInput(f"there is no task '{task}' in the recording; it has {', '.join(names)}")
        return names.index(task)

    def planned(self, task: int) -> int | None:
        """The number of jobs that the run was to release; None if neither a period nor arrivals state it."""
        system, planned = self.system, self.system.tasks[task]
        stated = system.facts.jobs.get(planned.name)
        if stated is not None:
            return stated
        if planned.arrival is not None:
            return self._arrived(planned.arrival)
        duration = system.facts.duration_ns
        if duration is None or planned.release != "periodic":
            return None
        offset, period = system.ns(planned.offset_ps), system.ns(planned.period_ps)
        return max(0, math.ceil((duration - offset) / period - 1e-9))

    def _arrived(self, channel: str) -> int | None:
        """The blocks that were written to a channel before the run's end."""
        start, duration = self.system.facts.start_tick, self.system.facts.duration_ns
        names = self.system.channel_names
        if start is None or duration is None or channel not in names:
            return None
        if self.operations is None:
            return 0
        mine = self.operations[self.operations["channel"] == names.index(channel)]
        mine = mine[np.isin(mine["kind"], [OPERATIONS.index(kind) for kind in ("write", "write-late")])]
        arrived = mine["time"].astype(np.float64)
        facts = self.system.channels[names.index(channel)]
        if facts.communication == "let" and facts.writer in self.system.task_names:
            writer = self.number(facts.writer)
            rows = self.rows_of(writer)
            releases = dict(
                zip(self.jobs["seq"][rows].tolist(), self.jobs["release"][rows].tolist(), strict=True)
            )
            lasts = self.system.ns(self.system.tasks[writer].deadline_ps) * self.ticks_per_ns
            published = np.array([releases.get(seq, 0) + lasts for seq in mine["seq"].tolist()])
            arrived = np.maximum(arrived, published)
        return int(np.count_nonzero(arrived < start + duration * self.ticks_per_ns))

    @property
    def released_for(self) -> int:
        """The time [ticks] from the first release to the last one, of all tasks."""
        released = self.table["release"].astype(np.int64)
        return int(np.ptp(released)) if released.size else 0

    @property
    def under_way_ns(self) -> float:
        """How long jobs of one task were under way, of the task for which that was longest."""
        ended = np.where(np.isfinite(self.response), self.response, 0.0)
        return float(np.bincount(self.task, weights=ended).max(initial=0.0))

    @property
    def resolution_ns(self) -> float:
        """By how much two readings of the clock may be further apart than their instants; of a clock that no
        machine has, by nothing."""
        clock = self.record.manifest.clock
        return clock.resolution_ticks / self.ticks_per_ns if clock.provenance == "measured" else 0.0

    def ns(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Durations in ticks as nanoseconds."""
        found: NDArray[np.float64] = ticks / self.ticks_per_ns
        return found
