# SPDX-License-Identifier: Apache-2.0
"""A run that is ended from outside leaves no process, no file and no half run, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from consort.base.errors import Held
from consort.model import load_system
from consort.record import RunWriter
from consort.record.store import list_runs
from consort.run import prepare
from effort import wait_for
from run_support import (
    CONSORT,
    PATIENCE,
    Process,
    consort,
    describe,
    names,
    no_process_left,
    pinned,
    processes,
    silent,
)

pytestmark = [pytest.mark.realtime, pytest.mark.usefixtures("two_cpus")]
# Far longer than a test takes: every run here is ended from outside.
FOREVER = 30_000


@pytest.fixture(scope="module")
def program(compiler: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(load_system(describe(tmp_path_factory.mktemp("digest"))), silent).program


class Run:
    """`consort run`, with its application serving jobs."""

    def __init__(self, program: Path, description: Path, *arguments: str, shell: bool = False) -> None:
        self.program = program
        command = [
            str(CONSORT),
            "run",
            str(description),
            "--iterations",
            str(FOREVER),
            "--ordinary",
            *arguments,
        ]
        if shell:
            # As a shell starts what it runs in the background: with SIGINT ignored.
            command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
        # A group of its own: a signal sent to the group is what a terminal sends.
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            self.supervisor = wait_for("the application", self._supervisor)
            self.workers = wait_for("its processes", self._both_serving)
        except BaseException:
            self.popen.kill()
            raise

    def _supervisor(self) -> Process | None:
        if self.popen.poll() is not None:
            raise AssertionError(self.popen.communicate())
        # Not the short life of the one that describes the layouts.
        mine = [p for p in processes(self.program) if p.parent == self.popen.pid and "--raw" in p.arguments]
        return mine[0] if mine else None

    def _both_serving(self) -> list[Process] | None:
        cpus = sorted(os.sched_getaffinity(0))
        found = [pinned(self.program, cpu, self.supervisor.pid) for cpu in cpus]
        both = [p for p in found if p is not None]
        return both if len(both) == 2 else None

    def ended(self) -> tuple[int, str]:
        _, words = self.popen.communicate(timeout=PATIENCE)
        no_process_left(self.program)
        return self.popen.returncode, words


@pytest.fixture
def run(program: Path, tmp_path: Path, runs: Path) -> Iterator[Run]:
    started = Run(program, describe(tmp_path / "digest"), "--only", "offloaded-off")
    yield started
    if started.popen.poll() is None:
        started.popen.kill()
        started.popen.communicate()


def files_under(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_the_command_is_asked_to_end(run: Run, runs: Path, number: int, status: int) -> None:
    run.popen.send_signal(number)
    assert run.ended()[0] == status
    assert list(runs.iterdir()) == []


def test_in_the_background_of_a_shell_it_can_be_ended_too(program: Path, tmp_path: Path, runs: Path) -> None:
    """A shell lets what it starts there ignore SIGINT, and that is passed on to every process of the run."""
    run = Run(program, describe(tmp_path / "digest"), "--only", "offloaded-off", shell=True)
    run.popen.send_signal(signal.SIGINT)
    # Ignored, as the shell wants it; what ends it is SIGTERM.
    assert run.popen.poll() is None
    run.popen.send_signal(signal.SIGTERM)
    assert run.ended()[0] == 143
    assert list(runs.iterdir()) == []


def test_control_c_reaches_all_of_them(run: Run, runs: Path) -> None:
    os.killpg(run.popen.pid, signal.SIGINT)
    status, words = run.ended()
    assert status == 130
    assert "Traceback" not in words
    assert list(runs.iterdir()) == []


def test_the_command_is_killed(run: Run, runs: Path, temporary: Path) -> None:
    run.popen.kill()
    assert run.ended()[0] == -signal.SIGKILL
    # Files that it could not remove are not a run, and go when the next run begins.
    assert files_under(runs)
    assert all(path.name.startswith(".partial-") for path in runs.iterdir())
    assert list_runs(runs) == []
    assert "no runs in" in consort("runs").stdout
    with pytest.raises(KeyError), RunWriter("next", "application", runs):
        assert len(list(runs.iterdir())) == 1
        raise KeyError
    assert list(runs.iterdir()) == []


def test_the_command_is_killed_with_interference_beside_it(program: Path, tmp_path: Path, runs: Path) -> None:
    run = Run(program, describe(tmp_path / "digest", interference=["stress-ng"]), "--only", "offloaded-on")
    beside = wait_for("what runs beside it", lambda: _naming(runs))
    run.popen.kill()
    run.ended()
    assert beside
    wait_for("interference ends", lambda: not _naming(runs))


def _naming(folder: Path) -> list[str]:
    """Command lines of living processes that name this folder, other than the application's."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if str(folder.resolve()) in words and "stress-ng" in words:
            found.append(words)
    return found


def test_the_supervisor_is_killed(run: Run, runs: Path) -> None:
    os.kill(run.supervisor.pid, signal.SIGKILL)
    status, words = run.ended()
    assert status == 1, words
    # What the recorder had written by then is kept.
    for kept in list_runs(runs):
        assert kept.held is Held.NOT_HELD
        assert any("the supervisor was ended by" in reason for reason in kept.verdict["reasons"])
    assert list_runs(runs) or (list(runs.iterdir()) == [] and "nothing was recorded" in words), words


def test_the_master_is_killed(run: Run, runs: Path) -> None:
    master = next(p for p in run.workers if os.sched_getaffinity(p.pid) == {_master_cpu()})
    os.kill(master.pid, signal.SIGKILL)
    status, words = run.ended()
    # Everything recorded until then is kept, and the run failed by name.
    assert status == 1
    assert "Traceback" not in words
    (recorded,) = list_runs(runs)
    assert not recorded.held
    assert any(
        "master-0" in reason and "signal 9" in reason for reason in recorded.data["verdict"]["reasons"]
    )


def _master_cpu() -> int:
    from consort.base.environment import usable_cpus

    return usable_cpus()[1]


def test_an_application_without_its_parent_does_not_start(program: Path, tmp_path: Path) -> None:
    """The command was killed while it started the application: the parent is another process by now."""
    config = tmp_path / "config.json"
    config.write_text("{}", encoding="utf-8")
    raw = tmp_path / "raw"
    raw.mkdir()
    arguments = ["--config", str(config), "--raw", str(raw), "--parent", str(2**22 - 1)]
    ended: Any = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert list(names(raw)) == [], "nothing was begun"
    no_process_left(program)
