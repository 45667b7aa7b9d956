# SPDX-License-Identifier: Apache-2.0
"""A tool is waited for while it works, and ended with all that it started once it stands still."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from consort.base import children
from consort.base.children import Child, finished, tree, worked
from consort.base.errors import EnvironmentLacks
from consort.base.toolchain import builds
from consort_remote import window
from effort import PATIENCE, wait_for

PACKAGES = [Path(__file__).parents[3] / "python", Path(__file__).parents[3] / "remote-memory" / "python"]
STOPS = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (children, builds):
        monkeypatch.setattr(module, "STANDSTILL_S", 0.5)


def test_a_tool_that_ends() -> None:
    done = finished([sys.executable, "-c", "import sys; print('é', sys.stdin.read()); sys.exit('\\x1b')"])
    assert (done.returncode, done.stdout, done.stderr) == (1, "é \n", "\x1b\n")
    assert finished(["printf", "\\377"]).stdout == "\ufffd", "what is no text"
    with pytest.raises(subprocess.CalledProcessError):
        finished(["false"], check=True)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("program", [STOPS, "import time; time.sleep(1000)"])
def test_a_tool_that_stands_still(program: str) -> None:
    with pytest.raises(EnvironmentLacks) as failed:
        finished([sys.executable, "-c", program])
    assert re.search(
        r"python\S* -c .* has not moved for 0.5 s( \(process \d+ was stopped\))? and was ended",
        str(failed.value),
    )


@pytest.mark.usefixtures("impatient")
def test_what_a_tool_started_ends_with_it(tmp_path: Path) -> None:
    """A driver waits for its compiler, which was stopped."""
    file = tmp_path / "pid"
    with pytest.raises(EnvironmentLacks):
        finished(["sh", "-c", f"sh -c 'echo $$ > {file}; kill -STOP $$'; true"])
    pid = int(file.read_text())
    wait_for("it is gone", lambda: not Path(f"/proc/{pid}").exists() or children.state_of(pid) == "Z")


def test_work_shows_in_any_of_the_tree() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done & wait"]) as driver:
        try:
            wait_for("its child is there", lambda: len(tree(driver.pid)) == 2)
            pids = tree(driver.pid)
            before = worked(pids)[pids[1]]
            wait_for("it has worked", lambda: worked(pids)[pids[1]] != before)
        finally:
            Child(driver).end()


@pytest.mark.usefixtures("impatient")
def test_pipes_of_one_that_stands_still() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        assert one.stdin is not None and one.stdout is not None
        with pytest.raises(EnvironmentLacks):
            Child(one).read_line(one.stdout.fileno())
    with subprocess.Popen([sys.executable, "-c", STOPS], stdin=subprocess.PIPE) as one:
        assert one.stdin is not None
        with pytest.raises(EnvironmentLacks):
            Child(one).write(one.stdin.fileno(), bytes(1 << 20))


HOLDS = """
import os, sys, time
from pathlib import Path
from consort.base.toolchain.builds import kept

def make(target, scratch):
    print("makes", flush=True)
    os.kill(os.getpid(), 19)

kept("programs", "key", "name", make, root=Path(sys.argv[1]))
"""


@pytest.mark.usefixtures("impatient")
def test_another_process_that_builds_the_same_and_stands_still(tmp_path: Path) -> None:
    line = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == b"makes\n"
            os.waitpid(other.pid, os.WUNTRACED)
            with pytest.raises(EnvironmentLacks) as failed:
                builds.kept("programs", "key", "name", lambda _target, _scratch: None, root=tmp_path)
            assert f"process {other.pid} is building name, and has not moved" in str(failed.value)
        finally:
            other.kill()


HARDWARE = """
import os
from consort_remote import window

with window.alone():
    print("alone", flush=True)
    os.kill(os.getpid(), 19)
"""


@pytest.mark.usefixtures("impatient")
def test_another_process_that_starts_the_hardware_and_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", HARDWARE], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == b"alone\n"
            os.waitpid(other.pid, os.WUNTRACED)
            with pytest.raises(EnvironmentLacks) as failed, window.alone():
                pass
            words = f"process {other.pid} starts or ends the simulated hardware, and has not moved"
            assert words in str(failed.value) and f"kill -9 {other.pid}" in str(failed.value)
        finally:
            other.kill()
    with window.alone():
        pass


def test_whose_lock_it_is_is_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a file is another one's, too, in another file system."""
    (lock := tmp_path / "lock").touch()
    number = lock.stat().st_ino
    lines = [f"1: FLOCK  ADVISORY  WRITE {pid} 00:{pid}:{number} 0 EOF\n" for pid in (7, 8)]
    for shown, holder in ((lines[:1], 7), (lines, None), ([lines[0], "2: ->" + lines[1][2:]], 7)):
        with monkeypatch.context() as patch:
            text = "".join(shown)
            patch.setattr(Path, "read_text", lambda _, text=text, **__: text)
            assert builds._holder(lock) == holder


def test_nobody_waits_for_a_lock_without_end() -> None:
    """Beside `alone`, which looks whether its holder works, there are those that do not wait."""
    waits = [
        f"{file.name}: {line.strip()}"
        for package in PACKAGES
        for file in sorted(package.rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bFileLock\(|flock\(.*LOCK_(EX|SH)", line)
        and not re.search(r"blocking=False|LOCK_NB", line)
    ]
    known = {
        "builds.py: lock = FileLock(entry / _LOCK)",
        "store.py: lock = FileLock(folder / LOCK)",
        # Of a folder that was just made.
        "owned.py: fcntl.flock(lock, fcntl.LOCK_EX)",
    }
    assert set(waits) == known, "use alone()"


def test_a_stopped_compiler_ends_a_command(tmp_path: Path) -> None:
    compiler = tmp_path / "cxx"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exit\nkill -STOP $$\n')
    compiler.chmod(0o700)
    command = (
        "import sys, consort.base.children as one, consort.cli as cli; one.STANDSTILL_S = 0.5;"
        " cli.main(sys.argv[1:])"
    )
    system = Path(__file__).parents[3] / "examples" / "servo" / "system.yaml"
    done = subprocess.run(
        [sys.executable, "-c", command, "check", "--compile", str(system)],
        env={**os.environ, "CXX": str(compiler), "CONSORT_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 3, done.stderr
    assert f"consort: {compiler} " in done.stderr and "has not moved for 0.5 s" in done.stderr
    assert "Traceback" not in done.stderr


def test_nobody_waits_for_a_tool_without_end() -> None:
    """Beside a debugger, which is the user's, and those that have a limit."""
    allowed = {"debug.py": "subprocess.run(self.command)", "environment.py": "timeout=10"}
    for package in PACKAGES:
        for file in package.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if re.search(r"subprocess\.(run|call|check_\w+)\(", text):
                assert file.name in allowed and allowed[file.name] in text, f"{file}: use finished()"


@pytest.mark.parametrize("arguments", [["check", "--compile"], ["probe", "--seconds", "0.05"]])
def test_a_compiler_that_says_nothing_is_no_fault_of_a_description(
    tmp_path: Path, arguments: list[str]
) -> None:
    system = Path(__file__).parents[3] / "examples" / "servo" / "system.yaml"
    words = [*arguments, str(system)] if "check" in arguments else arguments
    done = subprocess.run(
        [str(Path(sys.executable).with_name("consort")), *words],
        env={**os.environ, "CXX": shutil.which("false") or "", "CONSORT_CACHE": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 3 and "$CXX" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
