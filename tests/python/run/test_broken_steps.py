# SPDX-License-Identifier: Apache-2.0
"""Steps that crash, loop for ever or leave their process: the run ends, fails, and says which step it was."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from broken_support import AT, broken, system
from consort.model import load_system
from consort.record.store import list_runs
from consort.run import prepare
from run_support import Ran, consort, no_process_left, silent

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]


def assert_others_are_recorded(found: Ran, breaks: str) -> None:
    """The work until then is kept, and the rest is counted."""
    assert not found.verdict.ok
    assert not found.run.held
    assert found.wrong == 0, "what was recorded is right"
    counts = {count.task: count for count in found.verdict.tasks}
    assert counts[breaks].planned is not None
    assert counts[breaks].released < counts[breaks].planned
    assert any(
        r.startswith(f"{breaks}: {counts[breaks].released} of {counts[breaks].planned} planned jobs")
        for r in found.verdict.reasons
    )


@pytest.mark.representative
@pytest.mark.parametrize(
    ("breaks", "core", "how", "number"),
    [
        ("plain", "m-0", 1, signal.SIGSEGV),
        ("beside", "m-1", 5, signal.SIGABRT),
        ("plain", "m-0", 6, signal.SIGABRT),
    ],
)
def test_a_step_that_crashes(tmp_path: Path, breaks: str, core: str, how: int, number: int) -> None:
    found = broken(tmp_path / "broken", breaks, how)
    assert_others_are_recorded(found, breaks)
    (event,) = found.events("crashed")
    assert (event["value"], event["task"]) == (number, found.number(breaks))
    (reason,) = [r for r in found.verdict.reasons if "crashed" in r]
    assert reason.startswith(f"task {breaks} crashed") and signal.Signals(number).name in reason
    (words,) = [r for r in found.run.data["verdict"]["reasons"] if "ended before its last job" in r]
    assert f"core {core}, task {breaks}, job {AT}: the process was ended by signal {int(number)}" in words
    # Job 5 began and did not end.
    assert found.jobs(breaks)["seq"].tolist() == list(range(AT))


def test_a_step_that_does_not_end(tmp_path: Path) -> None:
    """It is given a hundred times its deadline, and a second at least."""
    found = broken(tmp_path / "broken", "plain", 2, iterations=60, deadline="100us")
    assert_others_are_recorded(found, "plain")
    (event,) = found.events("over-budget")
    assert event["task"] == found.number("plain")
    (words,) = [r for r in found.run.data["verdict"]["reasons"] if "ended before its last job" in r]
    assert f"core m-0, task plain, job {AT}: the step did not end within 1000 ms and was ended" in words


# A step that loops where its core is not its master's: who names it, and what of it has a row.
ELSEWHERE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "its master falls back": ("away", "w-0", {"on_miss": "local-fallback", "deadline": "8ms"}),
    "its master goes on": ("away", "w-0", {}),
    "three-phase": ("load", "s-0", {}),
}


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("its master falls back", marks=pytest.mark.representative),
        pytest.param("its master goes on", marks=pytest.mark.slow),
        pytest.param("three-phase", marks=pytest.mark.representative),
    ],
)
def test_a_step_that_does_not_end_elsewhere(tmp_path: Path, where: str) -> None:
    """Soon after the run's end, and not by the bound on its whole length; everything else is kept."""
    breaks, core, changes = ELSEWHERE[where]
    found = broken(tmp_path / "broken", breaks, 2, **changes)
    assert not found.verdict.ok and not found.run.held
    assert found.wrong == 0
    assert found.number(breaks) in found.events("over-budget")["task"].tolist()
    reasons = found.run.data["verdict"]["reasons"]
    (words,) = [reason for reason in reasons if f"core {core}, task {breaks}" in reason]
    assert f"core {core}, task {breaks}, job {AT}: the step had not ended after" in words
    assert "when the run was over, and was ended" in words
    if where == "its master falls back":
        assert f"core m-0, task away, job {AT}: the step had not ended" in words
    # Whoever has nothing to do with it did all of its work.
    beside = next(count for count in found.verdict.tasks if count.task == "beside")
    assert found.jobs("beside", skipped=True).size == beside.planned
    served = found.jobs(breaks)
    assert set(range(AT)) <= set(served["seq"].tolist())


@pytest.mark.slow
def test_a_three_phase_step_that_aborts(tmp_path: Path) -> None:
    found = broken(tmp_path / "broken", "load", 5)
    assert_others_are_recorded(found, "load")
    reasons = found.run.data["verdict"]["reasons"]
    words = f"core s-0, task load, job {AT}: the process was ended by signal 6"
    assert any(words in reason for reason in reasons), reasons


def test_an_offloaded_step_that_crashes_its_master_too(tmp_path: Path) -> None:
    """The worker does not answer, and the master computes the step itself."""
    found = broken(tmp_path / "broken", "away", 1, on_miss="local-fallback", deadline="8ms")
    assert_others_are_recorded(found, "away")
    (event,) = found.events("crashed")
    assert event["task"] == found.number("away")
    reasons = found.run.data["verdict"]["reasons"]
    words = f"core m-0, task away, job {AT}: the process was ended by signal 11"
    assert any(words in each for each in reasons), reasons


@pytest.mark.parametrize("how", [3, 4])
def test_a_step_that_leaves(tmp_path: Path, how: int) -> None:
    found = broken(tmp_path / "broken", "plain", how)
    assert_others_are_recorded(found, "plain")
    (words,) = [r for r in found.run.data["verdict"]["reasons"] if "ended before its last job" in r]
    status = 0 if how == 3 else 7
    assert f"core m-0, task plain, job {AT}: the process ended with status {status} before its last job" in (
        words
    )
    assert "a step must return, not exit" in words
    (reason,) = [r for r in found.verdict.reasons if r.startswith("task plain")]
    assert reason.startswith("task plain ended its process")


def test_a_three_phase_step_that_crashes(tmp_path: Path) -> None:
    found = broken(tmp_path / "broken", "load", 1)
    assert_others_are_recorded(found, "load")
    reasons = found.run.data["verdict"]["reasons"]
    assert any("load" in reason and "SIGSEGV" in reason for reason in reasons), reasons


def test_a_step_that_kills_its_worker(tmp_path: Path) -> None:
    """The master goes on and holds; that the worker died unasked for makes the run fail by name."""
    found = broken(tmp_path / "broken", "away", 1)
    assert not found.verdict.ok
    (event,) = found.events("worker-died")
    assert (event["value"], event["task"]) == (signal.SIGSEGV, found.number("away"))
    assert "the worker w-0, which computes away died" in found.verdict.reasons
    words = f"core w-0, task away, job {AT}: the process was ended by signal 11"
    assert any(words in reason for reason in found.run.data["verdict"]["reasons"])
    for name in ("plain", "beside", "load"):
        assert found.jobs(name, skipped=True).size == next(
            count.planned for count in found.verdict.tasks if count.task == name
        )


def test_answers_that_nobody_takes_any_more(tmp_path: Path) -> None:
    """The last two come after their master has done all its jobs, and there is room for one of them."""
    found = broken(tmp_path / "broken", "away", 7, at=18)
    planned = {count.task: count.planned for count in found.verdict.tasks}
    assert found.jobs("away", skipped=True).size == planned["away"] == 20
    assert len(found.events("worker-died")) == len(found.events("over-budget")) == 0
    reasons = found.run.data["verdict"]["reasons"]
    assert not any("ended before its last job" in reason or "was ended" in reason for reason in reasons), (
        reasons
    )


def test_the_command_says_so_and_leaves_nothing(tmp_path: Path, runs: Path) -> None:
    description = system(tmp_path / "broken", "plain", 1)
    arguments = ("--only", "offloaded-off", "--time-scale", "10", "--ordinary")
    ended = consort("run", description, *arguments, "-v")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr + ended.stdout
    said = " ".join(ended.stdout.split())
    assert "task plain crashed" in said and f"job {AT}" in said
    (recorded,) = list_runs(runs)
    assert not recorded.held
    again = consort("run", description, *arguments, "--json")
    assert again.returncode == 1
    printed = json.loads(again.stdout)
    assert any(f"task plain, job {AT}" in reason for reason in printed["verdict"]["reasons"])
    no_process_left(prepare(load_system(description), silent).program)
