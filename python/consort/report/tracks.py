# SPDX-License-Identifier: Apache-2.0
"""Tracks and events of a Perfetto trace, and the slices of a simulation: each core and the DMA over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from consort.record.columns import SLICES_TABLE
from consort.record.store import Run
from consort.report.jobs import ABSENT, Jobs, positions

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
    configuration: dict[str, Any],
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
