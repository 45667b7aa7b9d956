# SPDX-License-Identifier: Apache-2.0
"""What `consort run` finds, prints and records; read back by the other commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from consort.model import load_system
from consort.record.store import open_run
from consort.runner.application import Options, prepare, run_system
from runner_support import (
    FALLBACK,
    LOCAL,
    PATIENCE,
    SKIPPED,
    WRONG,
    both,
    consort,
    describe,
    names,
    no_process_left,
    prepared,
    start,
    task,
    wait_for,
)

pytestmark = pytest.mark.usefixtures("two_cpus")
TWO = both()


def silent(_what: str, _share: float | None) -> None:
    pass


def assert_verdict(data: dict[str, Any], status: int) -> None:
    """A busy machine may miss deadlines, and then must say so; an output is never wrong."""
    misses = [c["counters"]["deadline_misses"] for c in data["configurations"]]
    assert data["verdict"]["ok"] == (not any(misses))
    assert status == (1 if any(misses) else 0)
    assert len(data["verdict"]["reasons"]) == sum(1 for m in misses if m)
    assert [c["counters"]["output_errors"] for c in data["configurations"]] == [0] * len(misses)


def test_run_list_compare_report(tmp_path: Path, runs: Path, temporary: Path) -> None:
    description = describe(tmp_path / "digest", TWO, configurations=["local-off", "offloaded-off"])
    first = consort("run", description, "--json", "--name", "first")
    assert first.stderr == ""
    printed = json.loads(first.stdout)
    assert set(printed) == {"run", "path", "verdict", "configurations"}
    assert_verdict(printed, first.returncode)
    assert [c["key"] for c in printed["configurations"]] == ["local-off", "offloaded-off"]
    for configuration in printed["configurations"]:
        assert {"key", "name", "counters", "jobs", "summary"} == set(configuration)
        # 150 releases each 2 ms, and the other task for the same 300 ms.
        assert configuration["jobs"]["jobs"] == 150 + 60
        assert configuration["counters"]["jobs"] == 150 + 60
        response = configuration["summary"]["response"]
        assert response["unit"] == "ns"
        assert response["provenance"] == "measured"
        assert response["n"] + configuration["counters"]["releases_skipped"] == 210
        assert 0 < response["min"] <= response["median"] <= response["p99"] <= response["max"]
    assert "communication" not in printed["configurations"][0]["summary"]
    offloaded = printed["configurations"][1]
    by_master = offloaded["counters"]["local_fallbacks"] + offloaded["counters"]["releases_skipped"]
    assert ("communication" in offloaded["summary"]) == (by_master < 210)

    folder = Path(printed["path"])
    assert folder.parent == runs
    assert sorted(names(folder)) == [
        "local-off",
        "offloaded-off",
        "report.html",
        "run.json",
        "system.yaml",
        "trace.pftrace",
    ]
    assert (folder / "system.yaml").read_bytes() == description.read_bytes()
    data = open_run(folder).data
    assert data["command"][:2] == ["consort", "run"]
    assert data["name"] == "first"
    for key in ("local-off", "offloaded-off"):
        jobs = pq.read_table(folder / key / "jobs.parquet").to_pydict()
        assert len(jobs["seq"]) == 210
        for kind, count in ((0, 150), (1, 60)):
            mine = [seq for seq, k in zip(jobs["seq"], jobs["kind"], strict=True) if k == kind]
            assert mine == list(range(count))
        assert pq.read_table(folder / key / "outputs-digest.parquet").num_rows == 150
        assert pq.read_table(folder / key / "outputs-slow.parquet").num_rows == 60

    second = consort(
        "run", description, "--only", "offloaded-off", "--iterations", 40, "--time-base", "hybrid"
    )
    assert second.returncode in (0, 1)
    assert "offloaded-off" in second.stdout
    assert "local-off" not in second.stdout
    assert ("the system held" in second.stdout) or second.returncode == 1
    listed = json.loads(consort("runs", "--json").stdout)
    assert [r["name"] for r in listed] == ["first", "digest"]
    last = open_run(Path(listed[1]["path"])).configuration("offloaded-off")
    assert last["tables"]["jobs"]["rows"] == 40 + 16
    assert last["config"]["time_base"] == "hybrid"
    assert last["config"]["realtime"] is True
    assert last["realtime"]["cpu"] == last["config"]["master_cpu"]

    compared = json.loads(consort("compare", printed["run"], "latest", "--json").stdout)
    assert {row["configuration"] for row in compared["rows"]} == {"offloaded-off"}
    (folder / "report.html").unlink()
    assert consort("report", printed["run"]).returncode == 0
    assert (folder / "report.html").stat().st_size > 10_000


def test_two_tasks_on_one_worker(tmp_path: Path, cache: Path) -> None:
    system = prepared(tmp_path / "digest", TWO, iterations=200)
    recorded = start(system, tmp_path / "run", realtime=False).end()
    assert recorded.status == 0
    for kind, (name, count, rows) in enumerate((("digest", 200, 64), ("slow", 80, 64))):
        jobs, outputs = recorded.jobs(kind), recorded.outputs(name)
        assert recorded.jobs(kind, skipped=True)["seq"].tolist() == list(range(count))
        # No input was lost, doubled or swapped, and none went to the other task.
        expected = system.golden[kind][1]
        assert (outputs == expected[np.arange(len(outputs)) % rows]).all()
        assert (jobs["worker"] == 1).all()
        served = jobs[jobs["worker_send"] != 0]
        assert (served["worker_receive"] <= served["worker_send"]).all()
        by_worker = served[(served["status"] & FALLBACK) == 0]
        assert (by_worker["sent"] <= by_worker["worker_receive"]).all()
        period = np.diff(recorded.jobs(kind, skipped=True)["release"].astype(np.int64))
        assert len(set(period.tolist())) == 1, "releases lie on one time base, whatever happened"
    assert recorded.counters["output_errors"] == 0


def test_what_a_worker_was_refused_is_recorded(tmp_path: Path, cache: Path) -> None:
    absent = 4095
    system = prepared(tmp_path / "digest", TWO, iterations=20)
    run = start(system, tmp_path / "run", realtime=False, changes={"worker_cpus": [absent]})
    realtime = run.end().raw.manifest.realtime
    assert realtime["cpu"] == run.config["master_cpu"]
    (worker,) = realtime["workers"]
    assert (worker["name"], worker["cpu"], worker["policy"]) == ("worker-0", -1, "SCHED_OTHER")
    (note,) = [n for n in worker["notes"] if f"cannot run on processor {absent}" in n]
    assert "taskset" in note, "whole, with how to mend it"
    assert note not in realtime["notes"], "the master's own"


def test_local_tasks_and_one_offloaded(tmp_path: Path, cache: Path) -> None:
    tasks = {"digest": TWO["digest"], "slow": both(**LOCAL)["slow"]}
    system = prepared(tmp_path / "digest", tasks)
    recorded = start(system, tmp_path / "run", realtime=False).end()
    assert recorded.counters["output_errors"] == 0
    assert set(recorded.jobs(0)["worker"].tolist()) == {1}
    assert set(recorded.jobs(1)["worker"].tolist()) == {0}


def test_three_cores_on_two_cpus(tmp_path: Path, runs: Path) -> None:
    tasks = {"digest": TWO["digest"], "slow": {**TWO["slow"], "on": "worker-1"}}
    description = describe(tmp_path / "digest", tasks)
    two = set(sorted(os.sched_getaffinity(0))[:2])
    refused = consort(
        "run", description, "--only", "offloaded-off", preexec_fn=lambda: os.sched_setaffinity(0, two)
    )
    assert refused.returncode == 3
    assert "the system uses 3 cores, each on a CPU of its own, and 2 CPUs are usable here" in refused.stderr
    assert list(runs.iterdir()) == []
    if len(os.sched_getaffinity(0)) >= 3:
        recorded = start(prepared(tmp_path / "digest", tasks), tmp_path / "run", realtime=False).end()
        assert recorded.counters["output_errors"] == 0
        assert set(recorded.jobs(1)["worker"].tolist()) == {2}


def run_in_process(description: Path, runs: Path, **options: Any) -> Any:
    system = prepare(load_system(description), silent)
    return run_system(
        system, Options(realtime=False, root=runs, configurations=["local-off"], **options), silent
    )


def test_exactly_the_wrong_outputs_are_marked(tmp_path: Path, runs: Path) -> None:
    golden = {"function": "digest.py::golden", "arguments": {"wrong_row": 5}}
    description = describe(tmp_path / "digest", {**TWO, "digest": task(golden=golden)})
    run = run_in_process(description, runs)
    jobs = run.table("local-off", "jobs")
    status, step, kind = (np.array(jobs[c]) for c in ("status", "step", "kind"))
    executed = (status & SKIPPED) == 0
    assert (((status & WRONG) != 0) == ((step == 5) & (kind == 0) & executed)).all()
    wrong = int(((status & WRONG) != 0).sum())
    assert wrong in (2, 3), "row 5 comes up at jobs 5, 69 and 133 unless releases were skipped"
    assert run.configuration("local-off")["counters"]["output_errors"] == wrong
    assert not run.data["verdict"]["ok"]
    assert any(f"{wrong} wrong outputs" in reason for reason in run.data["verdict"]["reasons"])
    command = consort("run", description, "--only", "local-off", "--ordinary", "--iterations", 20)
    assert command.returncode == 1
    assert "wrong output" in command.stdout


@pytest.mark.parametrize(("allowed", "errors"), [("2ulp", True), ("3ulp", False)])
def test_tolerance(tmp_path: Path, runs: Path, allowed: str, errors: bool) -> None:
    golden = {
        "function": "digest.py::golden",
        "arguments": {"level_ulp": 3},
        "tolerance": {"level": allowed},
    }
    run = run_in_process(describe(tmp_path / "digest", {**TWO, "digest": task(golden=golden)}), runs)
    jobs = run.table("local-off", "jobs")
    status, kind = np.array(jobs["status"]), np.array(jobs["kind"])
    executed = int(((kind == 0) & ((status & SKIPPED) == 0)).sum())
    assert run.configuration("local-off")["counters"]["output_errors"] == (executed if errors else 0)


def test_the_region_of_a_running_application(tmp_path: Path, cache: Path) -> None:
    inspect = pytest.importorskip("consort._engine", reason="the native module is not built").inspect_region
    run = start(prepared(tmp_path / "digest", TWO, iterations=30_000), tmp_path / "run", realtime=False)
    try:
        worker = wait_for("the worker", run.worker)
        shown = [
            str(fd)
            for fd in Path(f"/proc/{worker.pid}/fd").iterdir()
            if str(fd.readlink()).startswith("/memfd:consort-region")
        ]
        region = inspect(shown[0])
    finally:
        run.popen.terminate()
        _, words = run.popen.communicate(timeout=PATIENCE)
    no_process_left(run.prepared.program)
    assert region["refused"] is None
    assert [item["name"] for item in region["objects"]] == [
        *(
            f"{name}.{channel}"
            for name in ("digest", "slow")
            for channel in ("in", "out", "checkpoint", "restore")
        ),
        "worker-0",
    ]
    assert region["creator"] == run.popen.pid
    assert (run.popen.returncode, words) == (1, "the run was ended by signal 15\n")
