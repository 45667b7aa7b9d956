# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests, however they are started."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import costs
import effort
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tools/run_tests.py, with a set-up of nothing, and files of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "tools")
    import run_tests

    (tmp_path / "sample").write_text("7\n", encoding="ascii")
    for name, value in {
        "ROOT": tmp_path,
        "LOGS": tmp_path / "logs",
        "TIMES": tmp_path / "times.json",
        "SAMPLE": tmp_path / "sample",
        "PASSED": tmp_path / "passed.json",
        "setup_of": lambda _: [],
        "skips": lambda _: run_tests.Stage("skips", [["true"]]),
        "committed": lambda: "a tree",
    }.items():
        monkeypatch.setattr(run_tests, name, value)
    monkeypatch.setattr(costs, "found", lambda _: tmp_path / "costs.json")
    monkeypatch.setattr(costs, "LIST", tmp_path / "costly.txt")
    monkeypatch.setattr(effort, "LOCKS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run_tests.py", "slow"])
    return run_tests


def others_run(file: Path, how: int = fcntl.LOCK_SH) -> bool:
    """True if another process can lock a file now, with others or alone."""
    ask = f"import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'a+'), {how | fcntl.LOCK_NB})"
    return subprocess.run([sys.executable, "-c", ask, str(file)], capture_output=True).returncode == 0


def ignored() -> set[int]:
    """The signals that a process ignores which is started by a test."""
    status = subprocess.run(["cat", "/proc/self/status"], check=True, capture_output=True, text=True).stdout
    mask = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), 16)
    return {number for number in range(1, 32) if mask >> (number - 1) & 1}


def test_processes_of_tests_can_be_interrupted() -> None:
    assert not ignored() & {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}


@pytest.mark.parametrize("how", ["trap '' INT HUP; exec \"$@\"", 'nohup "$@"', '"$@" & wait $!'])
def test_in_the_background_too(how: str) -> None:
    """The test above, in a pytest that a shell starts with signals ignored."""
    inner = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{__file__}::{IN_BACKGROUND}"]
    done = subprocess.run(
        ["sh", "-c", how, "sh", *inner],
        cwd=ROOT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


IN_BACKGROUND = test_processes_of_tests_can_be_interrupted.__name__


def test_a_test_that_ends_its_process_fails_and_ends_no_other_test(tmp_path: Path) -> None:
    for name in ("test_a.py", "test_b.py"):
        text = "import os\ndef test_ends(): os._exit(3)\ndef test_goes_on(): pass\n"
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ["-n", "2", "--dist", "loadfile", "-p", "by_files", "-p", "no:cacheprovider", "-c", "/dev/null"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, f"--rootdir={tmp_path}", str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 1, done.stdout
    assert "2 failed, 2 passed" in done.stdout, done.stdout


def test_a_costly_set_up_makes_its_file_costly_and_a_costly_call_its_test() -> None:
    took = {
        "a.py::test_shares": {"setup": 3.0, "call": 0.1},
        "a.py::test_shares_too": {"setup": 0.0, "call": 0.1},
        "b.py::test_loop[1]": {"setup": 0.0, "call": 2.5},
        "b.py::test_loop[2]": {"setup": 0.0, "call": 0.1},
        "b.py::test_short[x]": {"setup": 0.1, "call": 1.5},
        "b.py::test_short[y]": {"setup": 0.1, "call": 0.1},
        # It was left out.
        "b.py::test_skipped": {"setup": 0.0},
    }
    assert costs.costly(took) == ["a.py", "b.py::test_loop"]


def test_what_is_listed_as_costly_is_there() -> None:
    files = {costs.names(name)[0] for name in costs.COSTLY}
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []


def test_a_run_of_hours_goes_on_where_it_ended(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, gate = tmp_path / "ran", tmp_path / "gate"

    def lanes(_tier: str) -> list[list[object]]:
        first = runner.Stage("first", [["sh", "-c", f"echo first >> {ran}"]])
        second = runner.Stage("second", [["sh", "-c", f"echo second >> {ran}; test -e {gate}"]])
        return [[first, second]]

    def run() -> tuple[int, list[str]]:
        ran.write_text("", encoding="ascii")
        with pytest.raises(SystemExit) as ended:
            runner.main()
        return int(str(ended.value.code)), ran.read_text(encoding="ascii").split()

    monkeypatch.setattr(runner, "lanes_of", lanes)
    costs.found("slow").write_text(json.dumps({"a.py::test_a": {"call": 2.0}}), encoding="utf-8")
    assert run() == (1, ["first", "second"])
    assert runner.SAMPLE.read_text(encoding="ascii") == "7\n" and not costs.LIST.exists()
    assert run() == (1, ["second"])
    monkeypatch.setattr(runner, "committed", lambda: "another")
    assert run() == (1, ["first", "second"])
    # Changes that are not committed: nothing is known of what passed.
    monkeypatch.setattr(runner, "committed", lambda: None)
    assert run() == (1, ["first", "second"])
    monkeypatch.setattr(runner, "committed", lambda: "another")
    gate.touch()
    assert run() == (0, ["second"])
    assert runner.SAMPLE.read_text(encoding="ascii") == "8\n"
    assert costs.LIST.read_text(encoding="utf-8") == "a.py::test_a\n"


def test_no_run_but_that_of_all_tests_says_what_is_costly(runner: ModuleType) -> None:
    """The tests of real time, which follow, leave its times as they are."""
    recording = [
        stage.name
        for lane in runner.lanes_of("slow")
        for stage in lane
        if "CONSORT_COSTS" in stage.environment
    ]
    assert recording == ["python"]
    assert len({stage.name for lane in runner.lanes_of("slow") for stage in lane}) > 20


def test_tests_whose_build_failed_are_not_run(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    build = runner.Stage("build a", [["false"]])
    test = runner.Stage("test a", [["touch", str(ran)]], needs="build a")
    other = runner.Stage("test b", [["true"]], needs="build b")
    monkeypatch.setattr(runner, "lanes_of", lambda _tier: [[build, test], [other]])
    with pytest.raises(SystemExit) as ended:
        runner.main()
    assert ended.value.code == 1 and not ran.exists()
    said = capsys.readouterr().out
    assert "not run: build a failed" in said
    assert "build a: status 1" in said and "test a: status 1" in said and "test b: status" not in said


@pytest.mark.parametrize("tier", ["check", "test", "slow"])
def test_what_is_tested_is_built_before(runner: ModuleType, tier: str) -> None:
    for lane in runner.lanes_of(tier):
        built: set[str | None] = {None}
        for stage in lane:
            assert stage.needs in built
            built.add(stage.name)


def test_no_test_of_real_time_runs_while_a_stage_disturbs(runner: ModuleType, tmp_path: Path) -> None:
    """Two stages share the lock; it is given back when the last of them ends."""
    file = tmp_path / effort.REALTIME
    assert others_run(file, fcntl.LOCK_EX)
    begun, ends = tmp_path / "begun", tmp_path / "ends"
    waits = f"touch {begun}; until test -e {ends}; do sleep 0.01; done"
    runner.LOGS.mkdir()
    long = runner.Stage("long", [["sh", "-c", waits]], disturbs=True)
    short = runner.Stage("short", [["true"]], disturbs=True)
    none = runner.Stage("none", [["true"]])
    ended = runner.run_lanes([[long, none], [short]])
    assert next(ended)[0] is short
    effort.wait_for("the long one begins", begun.exists)
    assert not others_run(file, fcntl.LOCK_EX) and others_run(file, fcntl.LOCK_SH)
    ends.touch()
    assert [stage.name for stage, _, _ in ended] == ["long", "none"]
    assert others_run(file, fcntl.LOCK_EX)


def test_a_test_of_real_time_lets_others_run_while_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first run too, where its marker says so."""
    file = tmp_path / "lock"
    monkeypatch.setattr(effort.Time, "own", True)
    monkeypatch.setattr(effort.Time, "alone", False)
    with file.open("w+") as lock:
        monkeypatch.setattr(effort.Time, "lock", lock.fileno())
        fcntl.lockf(lock, fcntl.LOCK_SH)
        with effort.beside_others():
            assert others_run(file)
        assert others_run(file)
        for _ in range(2):
            with effort.own_time():
                assert not others_run(file)
                with effort.beside_others():
                    assert others_run(file)
                with effort.own_time():
                    pass
                assert not others_run(file)
            assert others_run(file)
    monkeypatch.setattr(effort.Time, "own", False)
    with pytest.raises(AssertionError, match="mark it with"), effort.own_time():
        pass
