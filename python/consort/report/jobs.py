# SPDX-License-Identifier: Apache-2.0
"""The jobs of a configuration as columns, and the choice of those that are worth drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from consort.record.columns import JOBS, SLICES_TABLE
from consort.record.ran import LABELS, STATUS
from consort.record.store import Run
from consort.record.summary import Configuration, rows_by

FIRST = 1000
WORST = 200
MARKED = 200
NEIGHBOURS = 2
# A job that carries one of these is drawn even when its response time is not among the worst.
REMARKABLE = sum(bit for name, bit in STATUS.items() if name != "late_releases")
TIMES = (
    "release",
    "ready",
    "start",
    "sent",
    "received",
    "loaded",
    "executed",
    "finish",
    "worker_receive",
    "worker_send",
)
ABSENT = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Jobs:
    """Columns of the jobs table; a time that a job does not have is ABSENT, its response time then infinite.

    `task` and `core` are positions in `tasks` and `cores`; `workers` names the core that computes a task's
    offloaded jobs. Recordings that name no tasks have one task, `job`, on the core `master core`.
    """

    times: dict[str, NDArray[np.int64]]
    compute: NDArray[np.int64]
    response: NDArray[np.float64]
    seq: NDArray[np.int64]
    status: NDArray[np.int64]
    task: NDArray[np.int64]
    core: NDArray[np.int64]
    disturbed: NDArray[np.bool_]
    tasks: tuple[str, ...]
    cores: tuple[str, ...]
    workers: tuple[str | None, ...]

    def __len__(self) -> int:
        return int(self.seq.size)

    def labels(self, index: int) -> list[str]:
        found = [LABELS[name] for name, bit in STATUS.items() if int(self.status[index]) & bit]
        return found + (["disturbed by the machine"] if self.disturbed[index] else [])

    def end(self) -> int:
        """The last time stamp of all."""
        return max((int(column.max()) for column in self.times.values() if column.size), default=0)

    @cached_property
    def ended_by_task(self) -> Sequence[NDArray[np.int64]]:
        """The jobs of each task that ended."""
        ended = np.flatnonzero(np.isfinite(self.response) & (self.task >= 0))
        return [ended[rows] for rows in rows_by(self.task[ended], len(self.tasks))]

    def worst(self, task: int) -> int | None:
        """The job of a task with the longest response time that ended; None where none did."""
        mine = self.ended_by_task[task]
        return int(mine[np.argmax(self.response[mine])]) if mine.size else None


def load_jobs(run: Run, key: str) -> Jobs | None:
    """The jobs of a configuration; None where it has none recorded."""
    configuration = run.configuration(key)
    if JOBS not in configuration["tables"]:
        return None
    table = run.table(key, JOBS)
    rows = table.num_rows

    def column(name: str) -> NDArray[np.int64]:
        if name not in table.column_names:
            return np.full(rows, ABSENT, dtype=np.int64)
        filled = table[name].fill_null(ABSENT) if table[name].null_count else table[name]
        return np.asarray(filled.to_numpy()).astype(np.int64, copy=False)

    ran = run.ran(key)
    zeros = np.zeros(rows, dtype=np.int64)
    if ran is not None:
        tasks, cores = tuple(ran.task_names), tuple(configuration["cores"])
        workers = tuple(planned.worker for planned in ran.tasks)
        task, core = positions(table["task"], tasks), positions(table["core"], cores)
    else:
        tasks, cores = ("job",), ("master core",)
        sent = "sent_ns" in table.column_names and table["sent_ns"].null_count < rows
        workers = ("worker core" if sent else None,)
        task = core = zeros
    marked = "disturbed" in table.column_names
    return Jobs(
        times={name: column(f"{name}_ns") for name in TIMES},
        compute=column("compute_ns"),
        response=np.asarray(table["response_ns"].to_numpy()).astype(np.float64, copy=False),
        seq=column("seq"),
        status=column("status"),
        task=task,
        core=core,
        disturbed=np.asarray(table["disturbed"].to_numpy()) if marked else zeros.astype(np.bool_),
        tasks=tasks,
        cores=cores,
        workers=workers,
    )


def positions(column: pa.ChunkedArray, names: Sequence[str]) -> NDArray[np.int64]:
    """A column of names as positions in a list of them; -1 where there is none."""
    found = pc.index_in(column.cast(pa.string()), value_set=pa.array(list(names), pa.string()))
    return np.asarray(found.fill_null(-1).to_numpy()).astype(np.int64)


@dataclass(frozen=True)
class Selection:
    """The jobs that are drawn, and a sentence on those that were left out."""

    indexes: NDArray[np.int64]
    text: str


def select(jobs: Jobs) -> Selection:
    """All jobs of a short run; of a long one the first, and the worst and remarkable with neighbours."""
    total = len(jobs)
    whole = FIRST + WORST * (2 * NEIGHBOURS + 1)
    if total <= whole:
        return Selection(np.arange(total), f"All {total} jobs.")
    # Rows stand in the order in which cores handed them over: what comes first is a matter of time.
    order = np.argsort(jobs.times["release"], kind="stable")
    place = np.empty(total, dtype=np.int64)
    place[order] = np.arange(total)
    each = max(1, WORST // len(jobs.tasks))
    worst = [_longest(jobs, task, each) for task in range(len(jobs.tasks))]
    marked = order[(jobs.status[order] & REMARKABLE) != 0]
    around = np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
    centres = place[np.concatenate([*worst, marked[:MARKED]])]
    chosen = np.unique(np.concatenate([np.arange(FIRST), (centres[:, None] + around).ravel()]))
    chosen = order[chosen[(chosen >= 0) & (chosen < total)]]
    also = (
        f" and {min(MARKED, marked.size)} of {marked.size} with a miss, fault or error" if marked.size else ""
    )
    of = "" if len(jobs.tasks) == 1 else " of each task"
    text = (
        f"{chosen.size} of {total} jobs: the first {FIRST},"
        f" the {each}{of} with the longest response times{also},"
        f" each with {NEIGHBOURS} jobs before and after it. The Parquet files hold all of them."
    )
    return Selection(chosen, text)


def _longest(jobs: Jobs, task: int, count: int) -> NDArray[np.int64]:
    """The jobs of a task with the longest response times; releases that were not served have none."""
    mine = jobs.ended_by_task[task]
    if mine.size <= count:
        return mine
    found: NDArray[np.int64] = mine[np.argpartition(jobs.response[mine], mine.size - count)[-count:]]
    return found


SEQUENCE = 1

Annotations = dict[str, int | str]


class Trace:
    """Tracks and events, without the repetition that the protocol buffers ask for."""

    def __init__(self) -> None:
        self.builder = TraceProtoBuilder()
        self._uuid = 0
        first = self._packet()
        first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED

    def _packet(self) -> Any:
        packet = self.builder.add_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def process(self, name: str) -> int:
        self._uuid += 1
        track = self._packet().track_descriptor
        track.uuid = self._uuid
        # Processes here are cores; Perfetto only asks that their numbers differ.
        track.process.pid = self._uuid
        track.process.process_name = name
        track.child_ordering = TrackDescriptor.EXPLICIT
        return self._uuid

    def track(self, parent: int, name: str, rank: int, counter_unit: str | None = None) -> int:
        self._uuid += 1
        track = self._packet().track_descriptor
        track.uuid = self._uuid
        track.parent_uuid = parent
        track.name = name
        track.sibling_order_rank = rank
        if counter_unit is not None:
            track.counter.unit_name = counter_unit
        return self._uuid

    def slice(
        self,
        track: int,
        name: str,
        begin: int,
        end: int,
        annotations: Annotations | None = None,
        *,
        flow_from: int | None = None,
        flow_to: int | None = None,
    ) -> None:
        event = self._event(track, begin, TrackEvent.TYPE_SLICE_BEGIN, name, annotations)
        if flow_from is not None:
            event.flow_ids.append(flow_from)
        if flow_to is not None:
            event.terminating_flow_ids.append(flow_to)
        self._event(track, end, TrackEvent.TYPE_SLICE_END)

    def instant(self, track: int, name: str, at: int, annotations: Annotations | None = None) -> None:
        self._event(track, at, TrackEvent.TYPE_INSTANT, name, annotations)

    def count(self, track: int, at: int, value: float) -> None:
        self._event(track, at, TrackEvent.TYPE_COUNTER).double_counter_value = value

    def _event(
        self, track: int, at: int, kind: int, name: str = "", annotations: Annotations | None = None
    ) -> Any:
        packet = self._packet()
        packet.timestamp = at
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        if name:
            event.name = name
        for key, value in (annotations or {}).items():
            note = event.debug_annotations.add()
            note.name = key
            if isinstance(value, int):
                note.int_value = value
            else:
                note.string_value = value
        return event


class Lanes:
    """Tracks of one name, as many as are needed: slices that overlap without nesting may not share one."""

    def __init__(self, trace: Trace, parent: int, name: str, rank: int) -> None:
        self._trace = trace
        self._place = (parent, name, rank)
        self._ends: list[int] = []
        self._tracks: list[int] = []

    def at(self, begin: int, end: int) -> int:
        for lane, last in enumerate(self._ends):
            if last <= begin:
                self._ends[lane] = end
                return self._tracks[lane]
        self._ends.append(end)
        self._tracks.append(self._trace.track(*self._place))
        return self._tracks[-1]


# Names of slices that move data; they are drawn on the DMA, not on the core.
MOVES = ("load", "unload")
EXECUTE = "execute"


def add_slices(
    trace: Trace,
    run: Run,
    configuration: Configuration,
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
