# SPDX-License-Identifier: Apache-2.0
"""Results, output and record of `consort run`; read back by the other commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from consort.machine.prepare import Prepared as PreparedMachine
from consort.machine.prepare import Restoration
from consort.machine.prepare.settings import Target
from consort.model import load_system
from consort.record import Held
from consort.record.ran import CAUSES_OF_DISTURBANCE
from consort.record.store import open_run
from consort.run import Options, prepare, run_system
from consort.run.config import SLEEP_ONE_IN
from effort import VERDICTS, wait_for
from run_support import (
    CONSORT,
    FALLBACK,
    LOCAL,
    PATIENCE,
    SKIPPED,
    WRONG,
    beside_time,
    both,
    consort,
    describe,
    names,
    no_process_left,
    pinned,
    ran,
    silent,
)

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]
TWO = both()


def assert_verdict(data: dict[str, Any], status: int) -> None:
    """A busy machine may miss deadlines, and then must say so; an output is never wrong."""
    assert beside_time(data["verdict"]["reasons"]) == []
    assert (data["verdict"]["ok"] == "held") == (not data["verdict"]["reasons"])
    assert status == Held(data["verdict"]["ok"]).exit_status


JOBS, SLOW_JOBS = 60, 24


def test_run_list_compare_report(tmp_path: Path, runs: Path) -> None:
    description = describe(tmp_path / "digest", TWO, configurations=["local-off", "offloaded-off"])
    first = consort("run", description, "--json", "--name", "first")
    assert first.stderr == ""
    printed = json.loads(first.stdout)
    assert set(printed) == {"run", "path", "verdict", "configurations"}
    assert_verdict(printed, first.returncode)
    assert [c["key"] for c in printed["configurations"]] == ["local-off", "offloaded-off"]
    for configuration in printed["configurations"]:
        # 60 releases each 10 ms, and the other task for the same 600 ms.
        assert configuration["counters"]["jobs"] == JOBS + SLOW_JOBS
        assert configuration["counters"]["records_lost"] == 0
        counts = {row["task"]: row for row in configuration["verdict"]["tasks"]}
        for name, planned in (("digest", JOBS), ("slow", SLOW_JOBS)):
            count = counts[name]
            assert (count["planned"], count["released"]) == (planned, planned)
            assert count["on_time"] + count["late"] + count["unserved"] == planned

    folder = Path(printed["path"])
    assert folder.parent == runs
    assert sorted(names(folder)) == [
        "local-off",
        "offloaded-off",
        "run.json",
        "system.svg",
        "system.yaml",
    ]
    assert (folder / "system.yaml").read_bytes() == description.read_bytes()
    data = open_run(folder).data
    assert data["command"][:2] == ["consort", "run"]
    assert data["name"] == "first"
    for key in ("local-off", "offloaded-off"):
        jobs = pq.read_table(folder / key / "jobs.parquet").to_pydict()
        assert len(jobs["seq"]) == JOBS + SLOW_JOBS
        for name, count in (("digest", JOBS), ("slow", SLOW_JOBS)):
            mine = [seq for seq, t in zip(jobs["seq"], jobs["task"], strict=True) if t == name]
            assert sorted(mine) == list(range(count))
            served = sum(
                (status & SKIPPED) == 0
                for status, t in zip(jobs["status"], jobs["task"], strict=True)
                if t == name
            )
            assert pq.read_table(folder / key / f"outputs-{name}.parquet").num_rows == (served)
        planned = open_run(folder).plan(key)
        assert planned is not None
        worker = None if key.startswith("local") else "worker-0"
        assert [task.worker for task in planned.tasks.values()] == [worker, worker]

    second = consort(
        "run", description, "--only", "offloaded-off", "--iterations", 20, "--time-base", "sleep", "-v"
    )
    assert second.returncode in VERDICTS
    assert "offloaded-off" in second.stdout or "offloaded, interference off" in second.stdout
    listed = json.loads(consort("runs", "--json").stdout)
    assert [r["name"] for r in listed] == ["first", "digest"]
    last = open_run(Path(listed[1]["path"])).configuration("offloaded-off")
    assert last["tables"]["jobs"]["rows"] == 20 + 8
    assert not {"tasks", "cores", "channels", "chains"} & last["config"].keys(), "those are the plan's"
    planned = open_run(Path(listed[1]["path"])).plan("offloaded-off")
    assert planned is not None and {core.time_base for core in planned.cores.values()} == {"sleep"}

    compared = json.loads(consort("compare", printed["run"], "latest", "--json").stdout)
    assert {row["configuration"] for row in compared["rows"]} == {"offloaded-off"}
    assert consort("report", printed["run"]).returncode == 0
    assert (folder / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("realtime", [True, False])
def test_two_tasks_on_one_worker(tmp_path: Path, realtime: bool) -> None:
    path = describe(tmp_path / "digest", TWO)
    # A worker that another run keeps from its processor answers nothing: then once more.
    for _ in range(5):
        found = ran(path, "offloaded-off", realtime=realtime)
        if all(((found.jobs(name)["status"] & FALLBACK) == 0).any() for name in ("digest", "slow")):
            break
    assert beside_time(found.verdict.reasons) == []
    for name, count, rows in (("digest", JOBS, 64), ("slow", SLOW_JOBS, 64)):
        jobs, outputs = found.jobs(name), found.outputs(name)
        assert found.jobs(name, skipped=True)["seq"].tolist() == list(range(count))
        # No input was lost, doubled or swapped, and none went to the other task.
        expected = found.prepared.golden[name].rows
        for member in expected.dtype.names:
            assert (outputs[member] == expected[member][np.arange(len(outputs)) % rows]).all()
        served = jobs[jobs["worker_send"] != 0]
        assert (served["worker_receive"] <= served["worker_send"]).all()
        by_worker = served[(served["status"] & FALLBACK) == 0]
        assert (by_worker["sent"] <= by_worker["worker_receive"]).all()
        period = np.diff(found.jobs(name, skipped=True)["release"].astype(np.int64))
        assert period.max() - period.min() <= 1, "releases lie on one time base, whatever happened"
    # No bound counts what a worker gives the kernel: its record says how long each time was.
    rests = found.events("disturbed")
    rests = rests[rests["cause"] == CAUSES_OF_DISTURBANCE.index("rested")]
    answered = sum(int((found.jobs(name)["worker_send"] != 0).sum()) for name in ("digest", "slow"))
    assert (
        rests.size >= answered // SLEEP_ONE_IN
        and (rests["core"] == list(found.system.core_names).index("worker-0")).all()
    )
    assert found.wrong == 0
    cores = found.raw.manifest.realtime["workers"]
    assert {core["name"] for core in cores} == {"master-0", "worker-0"}
    policies = {core["policy"] for core in cores}
    assert realtime or policies == {"SCHED_OTHER"}


def test_local_tasks_and_one_offloaded(tmp_path: Path) -> None:
    tasks = {"digest": TWO["digest"], "slow": both(**LOCAL)["slow"]}
    found = ran(describe(tmp_path / "digest", tasks), "offloaded-off")
    assert found.wrong == 0
    assert [task.worker for task in found.system.tasks] == ["worker-0", None]
    assert (found.jobs("slow")["sent"] == 0).all()
    assert (found.jobs("digest")["sent"] != 0).any()


def test_three_cores_on_two_cpus(tmp_path: Path, runs: Path) -> None:
    tasks = {"digest": TWO["digest"], "slow": {**TWO["slow"], "on": "worker-1"}}
    description = describe(tmp_path / "digest", tasks)
    two = set(sorted(os.sched_getaffinity(0))[:2])
    refused = consort(
        "run", description, "--only", "offloaded-off", preexec_fn=lambda: os.sched_setaffinity(0, two)
    )
    assert refused.returncode == 3
    assert "the system uses 3 cores, each on a CPU of its own, and 2 CPUs are usable here" in refused.stderr
    assert "--time-scale" in refused.stderr
    assert list(runs.iterdir()) == []


@pytest.mark.representative
def test_exactly_the_wrong_outputs_are_marked(tmp_path: Path, runs: Path) -> None:
    golden = {"function": "digest.py::golden", "arguments": {"wrong_row": 5}}
    tasks = both(**LOCAL)
    tasks["digest"]["golden"] = golden
    # So that the row comes up again.
    tasks["digest"]["input"] = {"function": "digest.py::inputs", "arguments": {"rows": 16}}
    description = describe(tmp_path / "digest", tasks)
    found = ran(description, "local-off")
    jobs = found.run.table("local-off", "jobs")
    status, row, name = (np.array(jobs[c]) for c in ("status", "input", "task"))
    executed = (status & SKIPPED) == 0
    assert (((status & WRONG) != 0) == ((row == 5) & (name == "digest") & executed)).all()
    wrong = int(((status & WRONG) != 0).sum())
    assert 1 <= wrong <= 4, "row 5 comes up at jobs 5, 21, 37 and 53 unless releases were skipped"
    assert not found.run.held
    assert any(
        f"digest: {wrong} of " in reason and "outputs are wrong (expected: golden)" in reason
        for reason in found.run.data["verdict"]["reasons"]
    )
    command = consort("run", description, "--only", "local-off", "--ordinary", "--iterations", 20, "-v")
    assert command.returncode == 1
    assert "outputs are wrong" in command.stdout


@pytest.mark.parametrize(("allowed", "errors"), [("2ulp", True), ("3ulp", False)])
def test_tolerance(tmp_path: Path, allowed: str, errors: bool) -> None:
    golden = {
        "function": "digest.py::golden",
        "arguments": {"level_ulp": 3},
        "tolerance": {"level": allowed},
    }
    tasks = both(**LOCAL)
    tasks["digest"]["golden"] = golden
    found = ran(describe(tmp_path / "digest", tasks), "local-off")
    assert found.wrong == (len(found.jobs("digest")) if errors else 0)


def test_without_a_golden_model_outputs_are_held_against_the_steps_themselves(tmp_path: Path) -> None:
    tasks = both(golden=None)
    tasks["slow"].pop("golden")
    found = ran(describe(tmp_path / "digest", tasks), "offloaded-off")
    assert found.prepared.golden == {}
    assert found.wrong == 0
    for number, name in enumerate(("digest", "slow")):
        reference = found.scratch / "raw" / f"reference-{number}.bin"
        # A row is the job's number and the output, as it lies in memory.
        assert reference.stat().st_size == len(found.jobs(name)) * (8 + 24)


@pytest.mark.usefixtures("alone")
def test_the_region_of_a_running_application(tmp_path: Path, runs: Path) -> None:
    inspect = pytest.importorskip("consort._engine", reason="the native module is not built").inspect_region
    description = describe(tmp_path / "digest", TWO, iterations=30_000)
    program = prepare(load_system(description), silent).program
    command = [str(CONSORT), "run", str(description), "--only", "offloaded-off", "--ordinary"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        cpu = sorted(os.sched_getaffinity(0))[-1]
        worker = wait_for("a core's process", lambda: pinned(program, cpu))
        shown = [
            str(fd)
            for fd in Path(f"/proc/{worker.pid}/fd").iterdir()
            if str(fd.readlink()).startswith("/memfd:consort-region")
        ]
        # The processes share anonymous memory: there is no name that could be left behind.
        maps = Path(f"/proc/{worker.pid}/maps").read_text(encoding="utf-8").splitlines()
        assert not [line for line in maps if "/dev/shm" in line]
        region = inspect(shown[0])
        creator = worker.parent
    finally:
        run.terminate()
        run.communicate(timeout=PATIENCE)
    no_process_left(program)
    assert run.returncode == 143
    assert region["refused"] is None
    assert [item["name"] for item in region["objects"]] == [
        *(
            f"{name}.{channel}"
            for name in ("digest", "slow")
            for channel in ("mail", "checkpoint", "restore")
        ),
        "worker:worker-0",
    ]
    assert region["creator"] == creator
    assert list(runs.iterdir()) == []


def test_the_record_says_how_the_machine_was_restored(tmp_path: Path, runs: Path) -> None:
    """The machine is restored before the record is written, so that it has more than what was set."""

    @contextmanager
    def machine() -> Iterator[PreparedMachine]:
        made = PreparedMachine(Target(frozenset({0}), frozenset({1}), tmp_path))
        yield made
        made.restoration = Restoration("the run ended", early=False, changed=("governor",))

    prepared = prepare(load_system(describe(tmp_path / "d", both(**LOCAL), iterations=20)), silent)
    options = Options(configurations=["local-off"], realtime=False, root=runs)
    run = run_system(prepared, options, silent, machine=machine())
    restored = run.data["environment"]["prepared"]["restored"]
    assert restored == {"why": "the run ended", "early": False, "changed": ["governor"], "failed": []}
