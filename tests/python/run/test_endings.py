# SPDX-License-Identifier: Apache-2.0
"""How runs end that do not end by themselves: whatever ended them is named, and what was recorded is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from broken_support import AT, broken, system
from consort.base.waiting import Continuer
from consort.model import load_system
from consort.run import prepare
from consort.run.collect import ReplayFails, expected_outputs
from effort import wait_for
from run_support import Process, Ran, processes, ran, silent

# In virtual time: which task breaks how, and the words for it.
STEPS = {
    "crash": ("plain", 1, "core m-0, task plain, job {job}: the process was ended by signal 11"),
    "leaves": ("beside", 3, "core m-1, task beside, job {job}: the process ended with status 0"),
    "leaves badly": ("plain", 4, "core m-0, task plain, job {job}: the process ended with status 7"),
    "abort": ("away", 5, "task away, job {job}: the process was ended by signal 6"),
    "exception": ("plain", 6, "core m-0, task plain, job {job}: the process was ended by signal 6"),
    "three-phase crash": ("load", 1, "core s-0, task load, job {job}: the process was ended by signal 11"),
    "loop": ("plain", 2, "core m-0, task plain, job {job}: the step did not end within 6 s and was ended"),
    "offloaded loop": ("away", 2, "task away, job {job}: the step did not end within 6 s and was ended"),
}


def assert_named_and_kept(found: Ran, breaks: str, words: str) -> None:
    reasons = found.run.data["verdict"]["reasons"]
    assert not found.run.held
    assert any(words.format(job=AT) in reason for reason in reasons), reasons
    assert found.wrong == 0
    assert found.jobs(breaks)["seq"].tolist() == list(range(AT)), "all jobs before, and no other"
    assert len(found.events("crashed")) + len(found.events("over-budget")) == 1


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if "loop" in name else []) for name in STEPS],
)
def test_a_step_in_virtual_time(tmp_path: Path, name: str) -> None:
    breaks, how, words = STEPS[name]
    found = ran(system(tmp_path / "broken", breaks, how), target="virtual", time_scale=10)
    assert_named_and_kept(found, breaks, words)


def test_a_step_that_stops_its_process_in_virtual_time(tmp_path: Path) -> None:
    """It is continued, in the replay, too: in virtual time nothing came late by that."""
    found = ran(system(tmp_path / "broken", "plain", 8), target="virtual", time_scale=10)
    assert found.run.held, found.run.data["verdict"]["reasons"]
    assert found.jobs("plain").size == 20


# The processes of a run on this machine, and its fate when one is stopped or killed.
PROCESSES = {
    ("core", signal.SIGSTOP): "task plain, job {job}: the process was stopped by signal 19",
    ("core", signal.SIGKILL): "the process was ended by signal 9",
    ("recorder", signal.SIGSTOP): "the recorder was stopped by signal 19",
    (
        "recorder",
        signal.SIGKILL,
    ): "the recorder was ended by signal 9 (Killed): what it had not written is lost",
    ("supervisor", signal.SIGSTOP): "",
    ("supervisor", signal.SIGKILL): "the supervisor was ended by signal 9 (Killed)",
}


def signalled(program: Path, role: str, number: int) -> Callable[[], None]:
    """Sends a signal to a process of the run that begins now, once it has jobs."""

    def act() -> None:
        def all_there() -> list[Process]:
            mine = processes(program)
            return mine if len(mine) >= 6 else []

        found = wait_for("the run", all_there)
        pids = {process.pid for process in found}
        (supervisor,) = [p for p in found if p.parent not in pids]
        # In the order in which they were started.
        children = sorted((p for p in found if p.parent == supervisor.pid), key=lambda p: p.pid)
        time.sleep(1.0)
        chosen = {"supervisor": supervisor, "recorder": children[-1], "core": children[0]}[role]
        os.kill(chosen.pid, number)

    return act


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize(("role", "number"), PROCESSES)
def test_a_process_of_a_run(tmp_path: Path, role: str, number: int) -> None:
    description = system(tmp_path / "fine", "plain", 0)
    program = prepare(load_system(description), silent).program
    thread = threading.Thread(target=signalled(program, role, number))
    thread.start()
    found = broken(tmp_path / "broken", "plain", 0)
    thread.join()
    reasons = found.run.data["verdict"]["reasons"]
    words = PROCESSES[role, number]
    if words:
        assert not found.run.held
        assert any(words.split(": ")[-1] in reason for reason in reasons), reasons
    else:
        notes = found.raw.manifest.realtime["notes"]
        assert any("the supervisor was stopped, and was continued" in note for note in notes), notes
    assert not any("signal 15" in reason for reason in reasons), "of those that are ended with it"
    assert found.wrong == 0
    assert found.jobs("plain").size >= 3, "what was recorded until then"


def test_a_stopped_program_is_continued() -> None:
    """Nobody else would, and it would be waited for."""
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        os.kill(sleeping.pid, signal.SIGSTOP)
        os.waitpid(sleeping.pid, os.WUNTRACED)
        stops = Continuer(sleeping.pid)

        def continued() -> bool:
            stops.look()
            return bool(stops.times)

        wait_for("it goes on", continued)
        os.waitpid(sleeping.pid, os.WCONTINUED)
    finally:
        sleeping.kill()
        sleeping.wait()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was ended by signal 11"),
        ("import time; time.sleep(1000)", "did not go on for 0 s and was ended"),
        ("import sys; sys.exit('no such thing')", "no such thing"),
    ],
)
def test_a_replay_that_breaks_costs_the_check_of_outputs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    monkeypatch.setattr("consort.run.collect.REPLAY_S", 0.3)
    (tmp_path / "replay-at").write_bytes(bytes([1, 0, 0, 0, 7, 0, 0, 0]))
    plan: Any = SimpleNamespace(tasks={"plain": None, "beside": None})
    with pytest.raises(ReplayFails) as failed:
        expected_outputs([sys.executable, "-c", program], tmp_path, plan, {}, {}, "title")
    assert f"the replay of task beside, job 7, {words}" in str(failed.value)
    assert failed.value.known == {}
