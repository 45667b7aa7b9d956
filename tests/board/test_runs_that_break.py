# SPDX-License-Identifier: Apache-2.0
"""`consort run` on a board that dies, without QEMU, on a full disk: what is said; nothing is left behind."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from board_support import CONSORT, PATIENCE, ROOT, board, consort
from consort.board.application import prepare_board
from consort.board.exchange import exchange, pair
from consort.board.session import die_with, running
from consort.model import load_system

SYSTEM = str(ROOT / "examples" / "servo" / "stm32mp157.yaml")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def left(runs: Path) -> list[str]:
    return [str(p.relative_to(runs)) for p in runs.rglob("*")] if runs.exists() else []


@pytest.mark.parametrize("whom", ["qemu", pytest.param("owner", marks=pytest.mark.representative)])
def test_a_board_killed_in_a_run_is_told_and_leaves_nothing(
    runs: Path, boards_folder: Path, whom: str
) -> None:
    board("mps2")
    # Long enough to be killed in its midst; built before, so that it soon is there.
    prepare_board(load_system(SYSTEM), lambda _what, _share: None)
    line = [str(CONSORT), "run", SYSTEM, "--iterations", "50000", "--root", str(runs)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while not (up := running()):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    os.kill(up[0][whom].pid, signal.SIGKILL)
    _, words = process.communicate(timeout=PATIENCE)
    if whom == "qemu":
        assert process.returncode == 1, words
        assert "QEMU was killed by signal 9" in words and "Traceback" not in words
        assert left(runs) == []
    else:
        assert process.returncode == -signal.SIGKILL
        while Path(f"/proc/{up[0]['qemu'].pid}/stat").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        # The next command clears away; no run folder is half there.
        assert consort("board", "list").stdout == ""
        assert not [name for name in left(runs) if not name.startswith(".")]
    assert list(boards_folder.iterdir()) == []


def test_a_process_whose_owner_was_killed_before_it_began_ends_at_once() -> None:
    alive = functools.partial(die_with, os.getpid())
    assert subprocess.run(["true"], preexec_fn=alive).returncode == 0
    # No process of this one's has the first process of the system for its parent.
    killed = functools.partial(die_with, 1)
    assert subprocess.run(["sleep", "60"], preexec_fn=killed).returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_exchange_that_is_ended_leaves_nothing(boards_folder: Path, number: signal.Signals) -> None:
    spec = board("mps2")
    exchange(spec, [pair("m4f", "x86-64")], 1)
    line = [str(CONSORT), "board", "exchange", "mps2", "m4f", "x86-64", "--messages", "100000000"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    try:
        while not (up := running()):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        os.kill(process.pid, number)
        _, words = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == (128 + number if number == signal.SIGTERM else -number)
    assert "Traceback" not in words
    while Path(f"/proc/{up[0]['qemu'].pid}/stat").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    if number == signal.SIGKILL:
        # The next command clears away what a killed owner leaves.
        assert consort("board", "list").stdout == ""
    assert list(boards_folder.iterdir()) == []


def test_missing_qemu_is_named_by_a_run(runs: Path, tmp_path: Path) -> None:
    spec = board("mps2")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if not tool.name.startswith("qemu-system") and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    assert shutil.which(spec.emulator.program, path=str(tools)) is None
    done = consort("run", SYSTEM, "--root", str(runs), env={**os.environ, "PATH": str(tools)})
    assert done.returncode == 3, done.stderr
    assert "no qemu-system-arm was found; install it: apt-get install qemu-system-arm" in done.stderr
    assert left(runs) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: run as root")
def test_full_disk_of_a_run_is_told(tmp_path: Path) -> None:
    board("mps2")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256K", "none", str(small)]).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        done = consort("run", SYSTEM, "--iterations", "3000", "--root", str(small))
        assert done.returncode == 3, done.stderr
        assert "no space left on device" in done.stderr and "Traceback" not in done.stderr
        assert left(small) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_image_for_the_wrong_core_is_refused_by_the_command(tmp_path: Path, boards_folder: Path) -> None:
    # The header of an executable for x86-64.
    other = tmp_path / "other.elf"
    header = b"\x7fELF" + bytes([2, 1, 1, 0]) + bytes(8)
    header += (2).to_bytes(2, "little") + (62).to_bytes(2, "little") + (1).to_bytes(4, "little")
    other.write_bytes(header + bytes(64 - len(header)))
    board("mps2")
    done = consort("board", "up", "mps2", "--image", f"m4f={other}")
    assert done.returncode == 2, done.stderr
    assert "the image is for x86-64, but the core m4f is a Cortex-M4F (Arm)" in done.stderr
    assert list(boards_folder.iterdir()) == []
