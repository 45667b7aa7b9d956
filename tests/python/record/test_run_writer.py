# SPDX-License-Identifier: Apache-2.0
"""Run folders: complete or absent, with every sample and its figures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from consort.base.errors import BadInput
from consort.record import RawRun, Run, RunWriter, default_root, list_runs, load_run
from consort.record.columns import Column
from consort.record.writer import scratch_folder
from synthetic import PERIOD_NS, TICKS_PER_SECOND, make_activity, make_jobs, write_raw


def record(tmp_path: Path, jobs: Any, **extra: Any) -> Run:
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": jobs}, **extra))
    with RunWriter("servo", "application", tmp_path / "runs", command=["consort", "run"]) as writer:
        writer.add_configuration("offloaded", "offloaded, interference off", raw)
    assert writer.run is not None
    return writer.run


def test_every_sample_is_kept_in_ticks_and_nanoseconds(tmp_path: Path) -> None:
    jobs = make_jobs(5000, 3)
    run = record(tmp_path, jobs)
    table = run.table("offloaded", "jobs")
    assert table.num_rows == 5000
    np.testing.assert_array_equal(table["release_tick"].to_numpy(), jobs["release"])
    np.testing.assert_array_equal(table["compute_tick"].to_numpy(), jobs["compute"])
    ticks = (jobs["finish"] - jobs["release"]).astype(np.float64)
    np.testing.assert_array_equal(
        table["response_ns"].to_numpy(), np.rint(ticks * 1e9 / TICKS_PER_SECOND).astype(np.int64)
    )
    assert table["release_ns"].to_numpy()[:3].tolist() == [0, PERIOD_NS, 2 * PERIOD_NS]
    metadata = table.schema.field("response_ns").metadata
    assert metadata == {b"unit": b"ns", b"kind": b"duration", b"provenance": b"measured"}
    parquet = pq.ParquetFile(run.table_file("offloaded", "jobs"))
    group = parquet.metadata.row_group(0)
    assert group.column(0).compression == "ZSTD"
    columns = [group.column(place) for place in range(group.num_columns)]
    # Those in whose order the rows lie.
    assert [one.path_in_schema for one in columns if one.is_stats_set] == ["release_tick", "release_ns"]


def test_summaries_are_those_of_the_parquet(tmp_path: Path) -> None:
    run = record(tmp_path, make_jobs(5000, 3))
    table = run.table("offloaded", "jobs")
    assert list(run.configurations[0]["summary"]) == ["response", "compute", "communication", "latency"]
    for metric, summary in run.configurations[0]["summary"].items():
        values = np.sort(table[f"{metric}_ns"].to_numpy())
        assert summary["n"] == values.size
        assert summary["min"] == values[0]
        assert summary["max"] == values[-1]
        assert summary["p999"] == values[int(np.ceil(values.size * 0.999)) - 1]
        assert (summary["unit"], summary["provenance"]) == ("ns", "measured")
    at = table["received_ns"].to_numpy() - table["sent_ns"].to_numpy() - table["compute_ns"].to_numpy()
    # Each of the three is rounded on its own here; the recorded figure is rounded once.
    assert np.abs(at - table["communication_ns"].to_numpy()).max() <= 2


def test_what_did_not_happen_is_null_and_counts_in_no_summary(tmp_path: Path) -> None:
    jobs = make_jobs(100, 3)
    jobs["received"][7] = jobs["worker_receive"][7] = jobs["worker_send"][7] = jobs["compute"][7] = 0
    jobs["status"][7] = 0b1011  # missed, output held, worker lost
    run = record(tmp_path, jobs, counters={"deadline_misses": 1})
    table = run.table("offloaded", "jobs")
    assert table["received_ns"][7].as_py() is None
    assert table["communication_ns"][7].as_py() is None
    assert table["compute_ns"][7].as_py() is None
    summary = run.configurations[0]["summary"]
    assert [summary[m]["n"] for m in ("response", "compute", "communication")] == [100, 99, 99]
    counts = run.configurations[0]["jobs"]
    assert (counts["deadline_misses"], counts["outputs_held"], counts["worker_lost"]) == (1, 1, 1)


def test_local_jobs_have_no_communication(tmp_path: Path) -> None:
    run = record(tmp_path, make_jobs(100, 3, offloaded=False))
    assert list(run.configurations[0]["summary"]) == ["response", "compute", "latency"]
    assert run.table("offloaded", "jobs")["communication_ns"].null_count == 100


def test_a_benchmark_table_is_one_metric(tmp_path: Path) -> None:
    rows = np.zeros(1000, dtype=[("ticks", "<u8")])
    rows["ticks"] = np.arange(1000) + 1
    raw = RawRun.load(write_raw(tmp_path / "raw", {"one_way": rows}))
    with RunWriter("icc", "icc", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("idle", "idle", raw)
    assert writer.run is not None
    entry = writer.run.configurations[0]
    assert entry["metrics"] == {
        "one_way": {"table": "one_way", "column": "ticks_ns", "task": None, "quantity": "one_way"}
    }
    assert entry["summary"]["one_way"]["median"] == round(500 * 1e9 / TICKS_PER_SECOND)


def test_interference_achieved(tmp_path: Path) -> None:
    activity = make_activity(21, 1)
    activity["source"] = 0
    activity["bytes"] = 5_000_000
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(1000, 1), "activity": activity}))
    with RunWriter("servo", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("on", "on", raw)
    assert writer.run is not None
    (achieved,) = writer.run.configurations[0]["interference"]
    assert (achieved["source"], achieved["bytes"]) == ("memory stream", 100_000_000)
    assert achieved["bytes_per_second"] == pytest.approx(5e9, rel=1e-6)


def test_a_run_that_holds_and_its_files(tmp_path: Path) -> None:
    description = tmp_path / "system.yaml"
    description.write_text("consort: 1\n")
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)}))
    pages = {name: lambda run, file: file.write_text(run.id) for name in ("a.html", "b.trace")}
    with RunWriter("servo", "application", tmp_path / "runs", command=["x"], pages=pages) as writer:
        writer.add_configuration("on", "on", raw)
        writer.add_description(description)
        writer.add_diagram("<svg/>")
    run = load_run(writer.id, tmp_path / "runs")
    assert run.data["verdict"] == {"ok": "held", "reasons": []}
    files = sorted(str(p.relative_to(run.path)) for p in run.path.rglob("*") if p.is_file())
    assert files == ["a.html", "b.trace", "on/jobs.parquet", "run.json", "system.svg", "system.yaml"]
    assert (run.path / "a.html").read_text() == run.id


@pytest.mark.parametrize(
    ("bits", "counters", "events", "reasons"),
    [
        (1, {"deadline_misses": 2}, [], ["on: 2 deadline misses in 10 jobs"]),
        (1 << 5, {}, [], ["on: 2 wrong outputs in 10 jobs"]),
        (
            1,
            {"deadline_misses": 0},
            [],
            [
                "on: the program counted 0 deadline misses, its samples show 2",
                "on: 2 deadline misses in 10 jobs",
            ],
        ),
        (0, {"records_lost": 1}, [], ["on: 1 record that found no room"]),
        (0, {}, [{"tick": 10_002_596_100, "name": "worker-died"}], ["on: worker-died at 1.000 ms"]),
        (0, {}, [{"tick": 10_002_596_100, "name": "began"}], []),
    ],
)
def test_the_verdict_says_why(
    tmp_path: Path, bits: int, counters: Any, events: Any, reasons: list[str]
) -> None:
    jobs = make_jobs(10, 1)
    jobs["status"][:2] = bits
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": jobs}, counters=counters, events=events))
    with RunWriter("servo", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("on", "on", raw, expected_events=())
    assert writer.run is not None
    assert writer.run.data["verdict"] == {"ok": "not held" if reasons else "held", "reasons": reasons}


def test_an_expected_death_and_a_goal_not_met(tmp_path: Path) -> None:
    events = [{"tick": 10_002_596_100, "name": "worker-died"}]
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)}, events=events))
    goal = {"name": "g", "value": 1.2, "unit": "", "sense": "<=", "limit": 1.1, "met": False}
    with RunWriter("servo", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("on", "on", raw, expected_events=["worker-died"])
        writer.add_goals([goal | {"provenance": "measured"}])
        writer.fail("said by the caller")
    assert writer.run is not None
    assert writer.run.data["verdict"]["reasons"] == ["goal g: 1.2, not <= 1.1", "said by the caller"]


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)}))
    root = tmp_path / "runs"
    with pytest.raises(RuntimeError, match="half-way"), RunWriter("servo", "application", root) as writer:
        writer.add_configuration("on", "on", raw)
        raise RuntimeError("half-way")
    assert list(root.iterdir()) == []


def test_a_failure_while_finishing_leaves_nothing(tmp_path: Path) -> None:
    def broken(*_: Any) -> None:
        raise OSError("disk full")

    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)}))
    root = tmp_path / "runs"
    with (
        pytest.raises(OSError, match="disk full"),
        RunWriter("servo", "application", root, pages={"page": broken}) as writer,
    ):
        writer.add_configuration("on", "on", raw)
    assert list(root.iterdir()) == []


KILLED = """
import sys, time
from pathlib import Path
from consort.record import RawRun, RunWriter
writer = RunWriter("servo", "application", Path(sys.argv[2]), command=[])
writer.add_configuration("on", "on", RawRun.load(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""


def test_a_killed_writer_leaves_no_run_and_is_swept_away(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)})
    root = tmp_path / "runs"
    command = [sys.executable, "-c", KILLED, str(raw), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        # While it lives, another writer leaves its folder alone.
        RunWriter("other", "application", root, command=[]).abandon()
        assert len(list(root.iterdir())) == 1
        process.send_signal(signal.SIGKILL)
    assert list_runs(root) == []
    with pytest.raises(BadInput, match="there are no runs yet"):
        load_run("latest", root)
    RunWriter("other", "application", root, command=[]).abandon()
    assert list(root.iterdir()) == []


def test_no_clock_decides_what_a_killed_writer_left(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / ".partial-x"
    folder.mkdir(parents=True)
    RunWriter("other", "application", tmp_path / "runs", command=[]).abandon()
    assert not folder.exists()


def test_runs_by_prefix_latest_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = record(tmp_path, make_jobs(10, 1))
    second = record(tmp_path, make_jobs(10, 2))
    root = tmp_path / "runs"
    assert [run.id for run in list_runs(root)] == [first.id, second.id]
    assert load_run("latest", root).id == second.id
    assert load_run(first.id, root).id == first.id
    assert load_run(first.path).id == first.id
    assert load_run(str(first.path)).id == first.id
    with pytest.raises(BadInput, match="no run begins with 'nope'; `consort runs` lists them"):
        load_run("nope", root)
    with pytest.raises(BadInput, match=rf"'2' begins 2 runs: {first.id}, {second.id}"):
        load_run("2", root)
    with pytest.raises(BadInput, match=r"no run folder: it has no run\.json"):
        load_run(tmp_path / "raw")
    monkeypatch.setenv("CONSORT_RUNS", str(root))
    assert default_root() == root
    (first.path / "run.json").write_text(json.dumps({"consort_run": 9}))
    with pytest.raises(BadInput, match="the run format is 9, this version reads 2; record the run again"):
        load_run(first.path)


@pytest.mark.parametrize("length", [1, 8, 16, 17])
def test_an_unambiguous_prefix_is_enough(tmp_path: Path, length: int) -> None:
    run = record(tmp_path, make_jobs(10, 1))
    assert load_run(run.id[:length], tmp_path / "runs").id == run.id


def test_what_the_caller_gives_is_checked(tmp_path: Path) -> None:
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)}))
    root = tmp_path / "runs"
    with pytest.raises(BadInput, match="name: 'a/b' is not a name for a run"):
        RunWriter("a/b", "application", root)
    with pytest.raises(BadInput, match="kind: 'demo' is not a kind of run; use one of application, loopback"):
        RunWriter("a", "demo", root)
    writer = RunWriter("a", "application", root, command=[])
    writer.add_configuration("on", "on", raw)
    with pytest.raises(BadInput, match="key: configuration 'on' was added before"):
        writer.add_configuration("on", "on", raw)
    with pytest.raises(BadInput, match=r"published\.unit: Input should be 'ns', 'us', 'ms' or 's'"):
        row = {"metric": "response", "values": {"max": 1.0}, "unit": "min", "source": "a paper"}
        writer.add_configuration("off", "off", raw, published=[row])
    with pytest.raises(BadInput, match="section 't': row 0 has 2 cells for 1 columns"):
        writer.add_section("t", columns=[{"name": "a"}], rows=[[1, 2]])
    with pytest.raises(BadInput, match=r"columns\.0\.provenance: Input should be 'published'"):
        writer.add_section("t", columns=[{"name": "a", "provenance": "guessed"}], rows=[])
    with pytest.raises(BadInput, match="kind: 'picture' is not a kind of section; use table or figure"):
        writer.add_section("t", "picture")
    writer.abandon()


@pytest.mark.parametrize("kind", ["file", "pipe", "below a file"])
def test_runs_lie_in_folders_only(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    if kind == "pipe":
        os.mkfifo(root)
    else:
        root.write_text("")
    root = root / "runs" if kind == "below a file" else root
    for use in (lambda: RunWriter("run", "loopback", root), lambda: scratch_folder(root).__enter__()):
        with pytest.raises(BadInput, match=r"runs cannot lie here: (File exists|Not a directory)"):
            use()


def test_a_folder_that_takes_none_is_named():
    with pytest.raises(BadInput, match="/proc/self: runs cannot lie here: No such file or directory"):
        RunWriter("test", "application", Path("/proc/self"))


def test_a_jobs_table_without_its_fields(tmp_path: Path) -> None:
    rows = np.zeros(3, dtype=[("release", "<u8"), ("seq", "<u4")])
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": rows}))
    root = tmp_path / "runs"
    with (
        pytest.raises(BadInput, match="table 'jobs' lacks start, sent, received, finish, compute, status"),
        RunWriter("a", "application", root, command=[]) as writer,
    ):
        writer.add_configuration("on", "on", raw)
    assert list(root.iterdir()) == []


def processor_time(tmp_path: Path, jobs: int) -> float:
    """The processor time of the conversion of so many jobs, in seconds."""
    raw = RawRun.load(write_raw(tmp_path / f"raw-{jobs}", {"jobs": make_jobs(jobs, 1)}))
    writer = RunWriter("servo", "application", tmp_path / "runs", command=[])
    begin = time.process_time()
    writer.add_configuration("on", "on", raw)
    taken = time.process_time() - begin
    writer.abandon()
    return taken


@pytest.mark.slow
def test_two_million_jobs_take_no_longer_each_than_few(tmp_path: Path) -> None:
    processor_time(tmp_path, 1000)  # what is loaded and compiled once
    few, many = processor_time(tmp_path, 200_000), processor_time(tmp_path, 2_000_000)
    assert many < 3 * 10 * few


def test_interference_recorded_by_another_program(tmp_path: Path) -> None:
    activity = make_activity(2000, 1)  # two seconds, of which the jobs take half of one
    activity["source"] = 0
    activity["bytes"] = 5_000_000
    activity["t"] -= 1000 * 2_596_100  # it began a second earlier
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10_000, 1)}))
    load = RawRun.load(write_raw(tmp_path / "load", {"activity": activity}))
    other = {"name": "monotonic", "ticks_per_second": 1e9, "provenance": "measured"}
    odd = RawRun.load(write_raw(tmp_path / "odd", {"activity": activity}, clock=other))
    with RunWriter("servo", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("on", "on", raw, interference=load)
        with pytest.raises(BadInput, match="monotonic at 1000000000 Hz is not the measured program's clock"):
            writer.add_configuration("odd", "odd", raw, interference=odd)
        with pytest.raises(BadInput, match="has no table 'activity'"):
            writer.add_configuration("none", "none", raw, interference=raw)
    assert writer.run is not None
    assert [c["key"] for c in writer.run.configurations] == ["on"]
    assert [p.name for p in writer.run.path.iterdir() if p.is_dir()] == ["on"]
    (achieved,) = writer.run.configurations[0]["interference"]
    assert achieved["seconds"] == pytest.approx(0.499, abs=0.0015)
    assert achieved["bytes_per_second"] == pytest.approx(5e9, rel=1e-6)
    assert writer.run.table("on", "activity").num_rows == 2000
    assert writer.run.table("on", "jobs")["release_ns"][0].as_py() == 0


def test_a_part_of_a_column_in_which_nothing_has_a_time_has_the_type_of_the_others():
    """Large tables are written part by part: of another type none was written at all."""
    ticks = np.array([5, 0, 0], dtype="<u8")
    column = Column("sent_ns", ticks, "ns", "timestamp", ticks == 0, since=1, ticks_per_second=1e12)
    with_one, without = column.arrow(slice(0, 1)), column.arrow(slice(1, 3))
    assert with_one.type == without.type == pa.int64()
    assert without.null_count == 2
