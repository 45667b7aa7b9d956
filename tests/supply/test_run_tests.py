# SPDX-License-Identifier: Apache-2.0
"""tools/run_tests.py runs the Python tests beside the others, and no failure of either gets lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import run_tests

# Says whether a test of real time would have to wait.
ASKS = """
import fcntl, sys
lock = open(sys.argv[1], "r+")
try:
    fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("alone")
except OSError:
    print("others run")
"""


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    return tmp_path


def stage(name: str, *command: str) -> run_tests.Stage:
    return run_tests.Stage(name, [list(command)])


def test_all_stages_run_and_all_failures_are_kept() -> None:
    results = run_tests.Results({"b": 1.0})
    beside = [stage("a", "sh", "-c", "exit 3"), stage("b", "true")]
    run_tests.side_by_side(results, beside, stage("tests", "false"))
    assert sorted(results.failures) == ["a: status 3", "tests: status 1"]
    assert {name: said for name, said, _ in results.table} == {
        "a": "FAILED",
        "b": "passed",
        "tests": "FAILED",
    }
    assert results.times.keys() == {"a", "b", "tests"}


def test_tests_of_real_time_wait_for_what_runs_beside_them(logs: Path) -> None:
    lock, begun = logs / "realtime.lock", logs / "begun"
    # It ends when the tests have asked.
    beside = [stage("a", "sh", "-c", f"until [ -e {begun} ]; do sleep 0.01; done")]
    asks = [sys.executable, "-c", ASKS, str(lock)]
    tests = run_tests.Stage("tests", [asks, ["touch", str(begun)]])
    run_tests.side_by_side(run_tests.Results({}), beside, tests)
    assert (logs / "tests.log").read_text(encoding="utf-8") == "others run\n"
    after = run_tests.Results({})
    after.ran([run_tests.Stage("after", [asks])])
    assert (logs / "after.log").read_text(encoding="utf-8") == "alone\n"


def test_a_stage_that_cannot_be_started_ends_the_run() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        run_tests.side_by_side(run_tests.Results({}), [stage("a", "true")], stage("tests", "no-such-program"))
