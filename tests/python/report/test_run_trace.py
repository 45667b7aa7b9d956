# SPDX-License-Identifier: Apache-2.0
"""The trace, read back with Perfetto's own message definitions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from consort.record import RawRun, Run, RunWriter
from consort.report import PAGES
from consort.report.jobs import FIRST, load_jobs, select
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from synthetic import make_activity, make_jobs, write_raw


def record(tmp_path: Path, jobs: Any, *, second: Any = None, **extra: Any) -> Run:
    tables = {"jobs": jobs, "activity": make_activity(100, 1)}
    with RunWriter("servo", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        raw = RawRun.load(write_raw(tmp_path / "raw", tables, **extra))
        writer.add_configuration("on", "offloaded, interference on", raw)
        if second is not None:
            raw = RawRun.load(write_raw(tmp_path / "raw2", {"jobs": second}))
            writer.add_configuration("off", "local, interference off", raw)
    assert writer.run is not None
    return writer.run


class Parsed:
    """Tracks by identifier, and each track's slices, instants and counter values."""

    def __init__(self, run: Run) -> None:
        trace = Trace()
        trace.ParseFromString((run.path / "trace.pftrace").read_bytes())
        self.tracks: dict[int, Any] = {}
        self.slices: dict[int, list[tuple[str, int, int, Any]]] = defaultdict(list)
        self.instants: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self.counts: dict[int, list[tuple[int, float]]] = defaultdict(list)
        open_slices: dict[int, list[Any]] = defaultdict(list)
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            assert event.track_uuid in self.tracks
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                open_slices[event.track_uuid].append((packet.timestamp, event))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                begin, opened = open_slices[event.track_uuid].pop()
                self.slices[event.track_uuid].append((opened.name, begin, packet.timestamp, opened))
            elif event.type == TrackEvent.TYPE_INSTANT:
                self.instants[event.track_uuid].append((event.name, packet.timestamp))
            else:
                self.counts[event.track_uuid].append((packet.timestamp, event.double_counter_value))
        assert not any(open_slices.values())

    def on(self, what: dict[int, Any], name: str) -> list[Any]:
        return [item for uuid, items in what.items() if self.tracks[uuid].name == name for item in items]

    def processes(self) -> list[str]:
        return [t.process.process_name for t in self.tracks.values() if t.HasField("process")]


def test_cores_jobs_waits_and_computing(tmp_path: Path) -> None:
    run = record(tmp_path, make_jobs(50, 1))
    parsed = Parsed(run)
    assert parsed.processes() == [
        "offloaded, interference on: master core (CPU 0)",
        "offloaded, interference on: worker core",
        "offloaded, interference on: interference",
    ]
    table = run.table("on", "jobs").to_pydict()
    jobs = sorted(parsed.on(parsed.slices, "job"), key=lambda item: item[1])
    assert [(begin, end) for _, begin, end, _ in jobs] == list(
        zip(table["release_ns"], table["finish_ns"], strict=True)
    )
    computing = sorted(parsed.on(parsed.slices, "job: compute"), key=lambda item: item[1])
    assert [begin for _, begin, _, _ in computing] == table["worker_receive_ns"]
    notes = {note.name: note.int_value for note in jobs[3][3].debug_annotations}
    assert notes["seq"] == 3
    assert notes["response_ns"] == table["response_ns"][3]


def test_flows_lead_from_each_send_to_its_computing(tmp_path: Path) -> None:
    parsed = Parsed(record(tmp_path, make_jobs(50, 1), second=make_jobs(50, 2)))
    waits = parsed.on(parsed.slices, "job: mailbox wait")
    computing = parsed.on(parsed.slices, "job: compute")
    leaving = {flow: begin for _, begin, _, event in waits for flow in event.flow_ids}
    arriving = {flow: begin for _, begin, _, event in computing for flow in event.terminating_flow_ids}
    assert len(leaving) == len(waits) == 100
    assert leaving.keys() == arriving.keys()
    assert all(leaving[flow] <= arriving[flow] for flow in leaving)


def test_slices_of_one_track_do_not_overlap(tmp_path: Path) -> None:
    jobs = make_jobs(50, 1)
    jobs["finish"][10] = jobs["release"][13]  # three releases went by during one job
    parsed = Parsed(record(tmp_path, jobs))
    for uuid, slices in parsed.slices.items():
        ordered = sorted((begin, end) for _, begin, end, _ in slices)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ordered)), parsed.tracks[uuid].name
    assert len([t for t in parsed.tracks.values() if t.name == "job"]) == 2


def test_faults_and_events_are_instants(tmp_path: Path) -> None:
    jobs = make_jobs(50, 1)
    jobs["status"][5] = 0b1011
    for name in ("received", "worker_receive", "worker_send", "compute"):
        jobs[name][5] = 0
    events = [{"tick": 10_000_000_000 + 2_596_100, "name": "worker-died", "args": {"worker": 0}}]
    parsed = Parsed(record(tmp_path, jobs, events=events))
    names = {name for name, _ in parsed.on(parsed.instants, "job")}
    assert names == {"deadline miss", "output held", "worker lost"}
    assert parsed.on(parsed.instants, "events") == [("worker-died", 1_000_000)]
    assert [s[0] for s in parsed.on(parsed.slices, "job: mailbox wait")].count("no answer") == 1
    assert len(parsed.on(parsed.slices, "job: compute")) == 49


def test_interference_is_a_counter(tmp_path: Path) -> None:
    run = record(tmp_path, make_jobs(1990, 1))  # 99.5 ms
    parsed = Parsed(run)
    counts = parsed.on(parsed.counts, "memory stream")
    assert len(counts) == 50
    table = run.table("on", "activity").to_pydict()
    first = [(t, b) for t, b, s in zip(table["t_ns"], table["bytes"], table["source"], strict=True) if s == 0]
    assert counts[0] == (first[0][0], first[1][1] / (first[1][0] - first[0][0]) * 1e3)
    units = {t.name: t.counter.unit_name for t in parsed.tracks.values() if t.HasField("counter")}
    assert units == {"memory stream": "MB/s", "loopback copy": "MB/s"}


def test_configurations_follow_one_another(tmp_path: Path) -> None:
    parsed = Parsed(record(tmp_path, make_jobs(50, 1), second=make_jobs(50, 2, offloaded=False)))
    by_process: dict[str, list[int]] = defaultdict(list)
    for uuid, slices in parsed.slices.items():
        owner = parsed.tracks[parsed.tracks[uuid].parent_uuid].process.process_name
        by_process[owner.split(":")[0]] += [t for _, begin, end, _ in slices for t in (begin, end)]
    assert max(by_process["offloaded, interference on"]) < min(by_process["local, interference off"])


def test_a_long_run_is_thinned_and_says_so(tmp_path: Path) -> None:
    jobs = make_jobs(20_000, 1)
    jobs["status"][15_000] |= 1 << 5
    run = record(tmp_path, jobs)
    parsed = Parsed(run)
    drawn = {
        next(n.int_value for n in event.debug_annotations if n.name == "seq")
        for _, _, _, event in parsed.on(parsed.slices, "job")
    }
    loaded = load_jobs(run, "on")
    assert loaded is not None
    worst = np.argsort(loaded.response)[-200:]
    assert set(range(FIRST)) <= drawn
    assert set(worst.tolist()) <= drawn
    assert {14_998, 14_999, 15_000, 15_001, 15_002} <= drawn
    assert len(drawn) < 2100
    selection = select(loaded)
    assert set(selection.indexes.tolist()) == drawn
    assert selection.text.startswith(f"{len(drawn)} of 20000 jobs: the first 1000, the 200 with the longest")
    assert parsed.on(parsed.instants, "about")[0][0] == selection.text
