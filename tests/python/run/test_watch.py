# SPDX-License-Identifier: Apache-2.0
"""`consort watch` beside real runs: what it shows is what the run records, and the run does not notice."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.runtime import Process, runtime_folder
from consort.plan import Plan
from consort.record import Ran as PlanThatRan
from consort.record.store import list_runs
from consort.report.live import live_data, live_lines
from consort.run.live import Announcement, SummaryReader, live_run, live_runs, page_bytes
from effort import PATIENCE, VERDICTS, wait_for
from made_plan import made_plan
from run_support import CONSORT, LOCAL, both, consort, describe

pytestmark = pytest.mark.realtime


@pytest.fixture(autouse=True)
def own_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


def watched_run(description: Path, keys: list[str], *look: str) -> subprocess.CompletedProcess[str]:
    """The output of a watcher that was there before the run began."""
    command = [str(CONSORT), "watch", "--wait", *look]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        # Whoever looks for runs makes the folder; from here on the watcher looks twenty times a second.
        listing = Path(os.environ["XDG_RUNTIME_DIR"]) / "consort" / "runs"
        wait_for("the watcher looks", listing.is_dir)
        only = [word for key in keys for word in ("--only", key)]
        ended = consort("run", description, "--ordinary", "--json", *only)
        assert ended.returncode in VERDICTS, ended.stderr
        said, errors = watcher.communicate(timeout=PATIENCE)
    finally:
        watcher.kill()
        watcher.wait()
    return subprocess.CompletedProcess(command, watcher.returncode, said, errors)


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_last_line_is_what_the_run_recorded(tmp_path: Path, runs: Path) -> None:
    description = describe(tmp_path / "d", both(**LOCAL), iterations=150)
    watched = watched_run(description, ["local-off"], "--json", "--interval", "0.1")
    looks = lines_of(watched.stdout)
    assert looks, watched.stderr
    (recorded,) = list_runs(runs)
    assert {look["run"] for look in looks} == {recorded.id}
    assert [look["state"] for look in looks].count("ended") == 1 and looks[-1]["state"] == "ended"
    (configuration,) = recorded.configurations
    for name, task in looks[-1]["tasks"].items():
        jobs = recorded.jobs("local-off", name).to_pydict()
        served = [r for r in jobs["response_ns"] if np.isfinite(r)]
        counts = configuration["tasks"][name]["jobs"]
        assert task["jobs"] == len(jobs["response_ns"]) == counts["jobs"]
        assert task["unserved"] == len(jobs["response_ns"]) - len(served) == counts["unserved"]
        # Ticks become nanoseconds by two ways: the sums may differ by one.
        assert abs(task["response_max_ns"] - max(served)) <= 2
        assert abs(task["response_last_ns"] - served[-1]) <= 2
        # Classes of a 64th; the recorded median lies between two jobs.
        ordered = sorted(jobs["response_ns"])
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
        assert low * (1 - 1 / 64) - 2 <= task["response_median_ns"] <= high * (1 + 1 / 64) + 2
        assert task["lateness_max_ns"] == task["response_max_ns"] - task["deadline_ns"]
    for earlier, later in itertools.pairwise(looks):
        for name in earlier["tasks"]:
            assert earlier["tasks"][name]["jobs"] <= later["tasks"][name]["jobs"]
    missed = any(task["missed"] for task in looks[-1]["tasks"].values())
    assert watched.returncode == (1 if missed else 0)
    assert live_runs() == []


def test_a_run_that_misses_every_deadline_is_failing(tmp_path: Path) -> None:
    tasks = both(**{**LOCAL, "deadline": "1us"})
    description = describe(tmp_path / "d", tasks, iterations=100)
    watched = watched_run(description, ["local-off"], "latest", "--interval", "0.2")
    assert watched.returncode == 1
    assert "jobs missed their deadline" in " ".join(watched.stdout.split())
    assert all(len(line) <= 80 for line in watched.stdout.splitlines())


@pytest.mark.usefixtures("two_cpus")
def test_several_configurations_are_shown_one_after_another(tmp_path: Path) -> None:
    description = describe(tmp_path / "d", iterations=60)
    watched = watched_run(description, ["local-off", "offloaded-off"], "--json", "--interval", "0.1")
    looks = lines_of(watched.stdout)
    ended = [look["configuration"] for look in looks if look["state"] == "ended"]
    assert ended == ["local-off", "offloaded-off"]
    assert looks[-1]["tasks"]["digest"]["worker"] == "worker-0"


def test_a_run_that_is_killed_has_not_held_and_leaves_nothing(tmp_path: Path) -> None:
    description = describe(tmp_path / "d", both(**LOCAL), iterations=100_000)
    command = [str(CONSORT), "run", str(description), "--ordinary", "--json", "--only", "local-off"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watcher = None
    try:
        wait_for("the run begins", lambda: any(r.configuration for r in live_runs()))
        command = [str(CONSORT), "watch", "--json", "--interval", "0.05"]
        watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert watcher.stdout is not None
        wait_for("a look", lambda: json.loads(watcher.stdout.readline())["state"] == "running")
        run.send_signal(signal.SIGKILL)
        rest, _ = watcher.communicate(timeout=PATIENCE)
    finally:
        run.kill()
        run.communicate()
    assert lines_of(rest)[-1]["failing"][-1] == "it ended before its last job"
    assert watcher.returncode == 1
    assert list(runtime_folder("runs").iterdir()) == [], "its entry is swept away"


def test_no_run_is_not_a_failure_of_the_system() -> None:
    ended = consort("watch")
    assert ended.returncode == 3 and "no run of yours is in progress" in ended.stderr
    assert consort("watch", "--interval", "0").returncode == 2


def test_a_folder_of_another_user_is_refused(own_runtime_folder: Path) -> None:
    own_runtime_folder.chmod(0o755)
    ended = consort("watch")
    assert ended.returncode == 3 and "open to other users" in ended.stderr


def test_a_run_nobody_can_find_runs_and_says_so(tmp_path: Path, own_runtime_folder: Path, runs: Path) -> None:
    own_runtime_folder.chmod(0o755)
    description = describe(tmp_path / "d", both(**LOCAL), iterations=30)
    ended = consort("run", description, "--ordinary", "--only", "local-off", "--json")
    assert ended.returncode in VERDICTS, ended.stderr
    (recorded,) = list_runs(runs)
    notes = recorded.configurations[0]["realtime"]["notes"]
    assert any(note.startswith("consort watch cannot find this run") for note in notes)


# Without a run: the page and its reader.


def layouts() -> dict[str, Any]:
    def struct(*names: str) -> dict[str, Any]:
        members = [
            {"name": name, "type": "u8", "offset": 8 * at, "count": 1} for at, name in enumerate(names)
        ]
        return {"bytes": 8 * len(names), "members": members}

    head = struct("version", "check", "state", "tasks", "cores", "elapsed_ns", "records_lost", "x")
    return {"head": head, "task": struct("jobs", "y"), "core": struct("z"), "no_time": 77, "states": {}}


def planned(tasks: int, cores: int) -> Plan:
    return made_plan({f"t{i}": {"core": f"c{i % cores}"} for i in range(tasks)})


def opened(made: Announcement, tasks: int = 40) -> tuple[SummaryReader, int]:
    path = made.page("key", "title", layouts(), planned(tasks, 3), {})
    (found,) = live_runs()
    assert found.configuration is not None
    return SummaryReader(Process.of(os.getpid()), found.configuration), os.open(path, os.O_RDWR)


def put(page: int, version: int, value: int, tasks: int = 40) -> None:
    """Writes a page whose every figure is `value`, as the executive does it."""
    words = np.full(page_bytes(layouts(), tasks, 3) // 8, value, dtype="<u8")
    words[:5] = (0, 0, 0, tasks, 3)
    words[1] = words.sum(dtype=np.uint64)
    os.pwrite(page, np.uint64(version + 1).tobytes(), 0)
    # In pieces, so that readers see it half written.
    for at in range(1, words.size, 16):
        os.pwrite(page, words[at : at + 16].tobytes(), 8 * at)
    os.pwrite(page, np.uint64(version + 2).tobytes(), 0)


def test_a_copy_is_never_of_two_states(tmp_path: Path) -> None:
    """The writer never waits; every copy that is taken has one value throughout."""
    made = Announcement("run-1", "name", tmp_path)
    reader, page = opened(made)
    assert reader.read() is None, "nothing has been written yet"
    stop = threading.Event()
    versions: list[int] = []

    def write() -> None:
        version = 0
        while not stop.is_set():
            put(page, version, version)
            version += 2
        versions.append(version)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = set()
        until = time.monotonic() + PATIENCE
        while len(seen) < 50 and time.monotonic() < until:
            summary = reader.read()
            if summary is None:
                continue
            values = {task["y"] for task in summary.tasks} | {core["z"] for core in summary.cores}
            values |= {summary.head["elapsed_ns"]}
            assert len(values) == 1, "a torn copy"
            seen |= values
    finally:
        stop.set()
        writer.join()
        os.close(page)
        made.close()
    assert len(seen) == 50


def test_a_writer_whose_stores_arrive_out_of_order_is_noticed(tmp_path: Path) -> None:
    """The version says that the page is whole before all of it is there: the sum does not."""
    made = Announcement("run-1", "name", tmp_path)
    reader, page = opened(made)
    put(page, 0, 5)
    summary = reader.read()
    assert summary is not None and summary.tasks[0]["y"] == 5
    os.pwrite(page, np.uint64(6).tobytes(), 8 * 20)
    assert reader.read() is None
    put(page, 2, 77)
    summary = reader.read()
    assert summary is not None and summary.tasks[0]["y"] is None, "a time that was not seen"
    os.close(page)
    made.close()
    assert reader.read() is not None, "the reader holds the page itself"


def test_a_descriptor_that_names_another_file_is_refused(tmp_path: Path) -> None:
    made = Announcement("run-1", "name", tmp_path)
    made.page("key", "title", layouts(), planned(2, 1), {})
    (found,) = live_runs()
    assert found.configuration is not None
    with pytest.raises(ProcessLookupError):
        SummaryReader(found.process, {**found.configuration, "inode": found.configuration["inode"] + 1})
    made.close()


def test_a_run_removes_what_killed_ones_left(tmp_path: Path) -> None:
    made = Announcement("run-1", "name", tmp_path)
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "consort" / "runs"
    (entry,) = folder.iterdir()
    said = json.loads(entry.read_text())
    with subprocess.Popen(["true"]) as other:
        pass
    dead = {"pid": other.pid, "started": 1}, {"pid": said["pid"], "started": said["started"] + 1}
    for number, process in enumerate(dead):
        (folder / f"dead-{number}.json").write_text(json.dumps({**said, **process}))
    (folder / f".dead.json.{other.pid}").touch()
    (folder / f".alive.json.{os.getpid()}").touch()
    second = Announcement("run-2", "name", tmp_path)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f".alive.json.{os.getpid()}", "run-1.json", "run-2.json"]
    made.close()
    second.close()


def test_which_run_is_meant(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="no run of yours"):
        live_run(None)
    first, second = Announcement("2026-a-x", "a", tmp_path), Announcement("2026-b-y", "b", tmp_path)
    assert live_run("a").id == live_run("2026-a").id == "2026-a-x"
    assert live_run("latest").id == "2026-b-y"
    for unclear in (None, "2026"):
        with pytest.raises(BadInput, match="2 runs are in progress"):
            live_run(unclear)
    with pytest.raises(EnvironmentLacks, match="no run in progress is called 'c'"):
        live_run("c")
    first.close()
    assert live_run(None).id == "2026-b-y"
    second.close()


def test_an_entry_of_a_process_that_is_gone_is_swept_away() -> None:
    file = runtime_folder("runs") / "old.json"
    said = {"run": "old", "name": "n", "description": "d", "configuration": None}
    file.write_text(json.dumps({**said, "pid": os.getpid(), "started": 1}), encoding="utf-8")
    assert live_runs() == [] and not file.exists()
    file.write_text("{", encoding="utf-8")
    assert live_runs() == []


def test_long_names_and_large_figures_fit_80_columns() -> None:
    name = "a-task-with-a-name-that-is-longer-than-any-column-of-the-table"
    row = dict.fromkeys(("jobs", "missed", "unserved", "aborted"), 123_456_789_012) | {"rate_per_s": 20_000.5}
    for time_of in ("response", "lateness", "start"):
        row |= {f"{time_of}_{which}_ns": 3_600 * 10**9 for which in ("last", "max", "median")}
    core = dict.fromkeys(("disturbed", "disturbed_longest_ns", "throttled", "deaths", "records_lost"), 10**12)
    facts = {"core": name, "worker": name, "period_ns": 1, "deadline_ns": 10**12}
    ran = PlanThatRan.of(made_plan({name: facts}), {"duration_ns": 10**12})
    configuration = {"key": "k", "title": "t"}
    head = {"elapsed_ns": 10**13, "records_lost": 3, "blocks_corrupt": 2}
    lines = live_lines(live_data("run", configuration, ran, "running", head, [row], [core]))
    assert all(len(line) <= 80 for line in lines if name not in line), lines
    assert sum("3 records found no room" in line for line in lines) == 1
