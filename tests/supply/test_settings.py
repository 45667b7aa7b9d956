# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests, however they are started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


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
