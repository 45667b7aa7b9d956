# SPDX-License-Identifier: Apache-2.0
"""The trace of a run for Perfetto (ui.perfetto.dev): who did what when, on which core.

Each configuration has its own processes (master core, worker cores, interference) and follows the one
before it on the time line. Long runs are thinned; the track `about` says to what.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from consort.record.columns import ACTIVITY
from consort.record.store import Run
from consort.record.writer import SOURCES
from consort.report.jobs import ABSENT, Jobs, load_jobs, select

SEQUENCE = 1
# Between two configurations, so that they can be told apart.
GAP_NS = 100_000_000
COUNTER_POINTS = 4000

Annotations = dict[str, int | str]


def write_trace(run: Run, file: Path) -> None:
    """Writes the run's trace."""
    if run.data["kind"] == "simulation":
        from consort.simulate.trace import write_simulated

        write_simulated(run, file)
        return
    trace = Trace()
    offset = 0
    for index, configuration in enumerate(run.configurations):
        offset = _configuration(trace, run, configuration, index, offset) + GAP_NS
    file.write_bytes(trace.builder.serialize())


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


class _Lanes:
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


def _configuration(trace: Trace, run: Run, configuration: dict[str, Any], index: int, offset: int) -> int:
    """Adds a configuration that begins at `offset` and returns its end."""
    key, name = configuration["key"], configuration["name"]
    cpu = configuration["realtime"].get("cpu")
    master = trace.process(f"{name}: master core" + ("" if cpu is None else f" (CPU {cpu})"))
    about = trace.track(master, "about", 0)
    jobs = load_jobs(run, key)
    end = offset
    if jobs is None:
        trace.instant(about, "No jobs were recorded: this configuration has no time line.", offset)
    else:
        selection = select(jobs)
        trace.instant(about, selection.text, offset, {"clock": configuration["clock"]["provenance"]})
        _jobs(trace, master, name, jobs, selection.indexes, index, offset)
        end = offset + jobs.end()
    events = trace.track(master, "events", 1)
    for event in configuration["events"]:
        if event["ns"] is not None:
            args: Annotations = {k: v if isinstance(v, int) else str(v) for k, v in event["args"].items()}
            trace.instant(events, event["name"], offset + event["ns"], args)
            end = max(end, offset + event["ns"])
    if ACTIVITY in configuration["tables"]:
        # A load is started before the program and stopped after it; what lies outside is not drawn.
        until = None if jobs is None else jobs.end()
        end = max(end, _interference(trace, run, key, name, offset, until))
    return end


def _jobs(
    trace: Trace,
    master: int,
    name: str,
    jobs: Jobs,
    indexes: NDArray[np.int64],
    configuration: int,
    offset: int,
) -> None:
    lanes = _Lanes(trace, master, "jobs", 2)
    waits = _Lanes(trace, master, "mailbox wait", 3)
    # Bit patterns far apart keep the flows of one configuration from meeting those of another.
    flow = (configuration + 1) << 40
    used = np.unique(jobs.worker[jobs.times["sent"] != ABSENT]).tolist()
    computing = {
        number: _Lanes(trace, trace.process(f"{name}: worker core {number}"), "compute", 0) for number in used
    }
    columns = {key: column[indexes].tolist() for key, column in jobs.times.items()}
    for place, index in enumerate(indexes.tolist()):
        t = {key: column[place] for key, column in columns.items()}
        have = {key: value + offset for key, value in t.items() if value != ABSENT}
        if "release" not in have or "finish" not in have:
            continue
        labels = jobs.labels(index)
        notes: Annotations = {"seq": int(jobs.seq[index]), "response_ns": int(jobs.response[index])}
        if jobs.compute[index] != ABSENT:
            notes["compute_ns"] = int(jobs.compute[index])
        if labels:
            notes["status"] = ", ".join(labels)
        track = lanes.at(have["release"], have["finish"])
        trace.slice(track, "job", have["release"], have["finish"], notes)
        for label in labels:
            trace.instant(track, label, have["finish"], {"seq": int(jobs.seq[index])})
        if "sent" in have:
            answered = "received" in have
            until = max(have["received"] if answered else have["finish"], have["sent"])
            trace.slice(
                waits.at(have["sent"], until),
                "waiting for the answer" if answered else "no answer",
                have["sent"],
                until,
                flow_from=flow + index,
            )
        if {"worker_receive", "worker_send"} <= have.keys() and int(jobs.worker[index]) in computing:
            begin, finish = have["worker_receive"], have["worker_send"]
            if finish >= begin:
                lane = computing[int(jobs.worker[index])].at(begin, finish)
                trace.slice(lane, "compute", begin, finish, notes, flow_to=flow + index)


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
