# SPDX-License-Identifier: Apache-2.0
"""The programs of bench/loopback: they record what they measure and notice a damaged byte.

No time is asserted: the machine that runs the tests may be busy.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from consort.record import RawRun
from effort import PATIENCE

Run = Callable[..., tuple[subprocess.CompletedProcess[str], Path]]
SIZES = (0, 1, 8, 16, 32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize("scheduling", ["ordinary", "realtime"])
def test_loopback_records_every_round_trip(run_program: Run, scheduling: str) -> None:
    ended, folder = run_program("loopback", "--iterations", "200", "--class", scheduling)
    assert ended.returncode == 0, ended.stderr
    raw = RawRun.load(folder)
    assert raw.manifest.program == "consort-loopback"
    assert raw.manifest.counters == {"content_errors": 0, "records_lost": 0}
    for size in SIZES:
        table = raw.tables[f"loopback_{size}"]
        assert table.spec.attrs["bytes"] == size
        assert table.rows["time"].size == 200
        assert np.all(table.rows["time"] > 0)
    floor = raw.tables["floor"]
    blocks = floor.spec.attrs["blocks"]
    assert blocks == table.spec.attrs["rounds"] * len(SIZES) + 1
    assert floor.rows["time"].size == blocks * floor.spec.attrs["block"]
    assert [event.name for event in raw.manifest.events] == ["measuring-begins", "measuring-ends"]


@pytest.mark.parametrize(("size", "iteration"), [(1, 0), (8, 57), (1024, 199)])
def test_loopback_notices_a_damaged_byte(run_program: Run, size: int, iteration: int) -> None:
    ended, folder = run_program(
        "loopback", "--iterations", "200", "--sizes", f"0,{size}", "--corrupt-at", str(iteration)
    )
    assert ended.returncode == 1
    assert "1 packages came back changed" in ended.stderr
    # The record is complete all the same, and says which one it was.
    raw = RawRun.load(folder)
    assert raw.manifest.counters["content_errors"] == 1
    errors = [event.args for event in raw.manifest.events if event.name == "content-error"]
    assert errors == [{"bytes": size, "iteration": iteration}]


def test_loopback_sleeps_between_blocks_for_a_load(run_program: Run) -> None:
    ended, folder = run_program("loopback", "--iterations", "50", "--sizes", "8", "--gap-us", "100")
    assert ended.returncode == 0, ended.stderr
    assert RawRun.load(folder).manifest.config["gap_us"] == 100


def test_one_way_records_both_directions(run_program: Run) -> None:
    ended, folder = run_program(
        "one_way",
        *("--signals", "byte,eventfd,futex", "--sizes", "1,8,4096"),
        *("--iterations", "50", "--runs", "2", "--gap-ms", "1"),
    )
    assert ended.returncode == 0, ended.stderr
    raw = RawRun.load(folder)
    assert raw.manifest.counters["content_errors"] == 0
    signals = [f"{s}_to_{d}" for s in ("byte", "eventfd", "futex") for d in ("worker", "master")]
    expected = {*signals, "transfer_1", "transfer_8", "transfer_4096", "empty_section"}
    assert set(raw.tables) == expected
    for name in expected - {"empty_section"}:
        assert raw.tables[name].rows["time"].size == 100


def test_one_way_notices_a_damaged_array(run_program: Run) -> None:
    ended, folder = run_program(
        "one_way", "--sizes", "8,64", "--iterations", "20", "--runs", "1", "--corrupt-at", "19"
    )
    assert ended.returncode == 1
    assert "2 messages came with a wrong content" in ended.stderr
    assert RawRun.load(folder).manifest.counters["content_errors"] == 2


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("loopback", ["--sizes", "3"], "there is no package of 3 bytes"),
        ("loopback", ["--sizes", "8,,16"], "must be sizes in bytes"),
        ("loopback", ["--sizes", "8,8"], "8 is given twice"),
        ("loopback", ["--class", "fast"], "must be ordinary or realtime"),
        ("loopback", ["--iterations", "0"], "must be a number from 1"),
        ("one_way", ["--signals", "smoke"], "must be of byte, eventfd, futex"),
        ("one_way", ["--signals", "byte,byte"], "each once"),
    ],
)
def test_bad_arguments_are_refused(run_program: Run, name: str, arguments: list[str], words: str) -> None:
    ended, folder = run_program(name, *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert list(folder.iterdir()) == []


def test_a_time_limit_ends_both_processes(run_program: Run) -> None:
    ended, folder = run_program("loopback", "--iterations", "20000000", "--sizes", "0", "--seconds", "0.2")
    assert ended.returncode == 1
    assert "not done after 0.2 s" in ended.stderr
    assert not (folder / "manifest.json").exists()


def test_both_processes_end_with_who_started_them(programs: dict[str, Path], tmp_path: Path) -> None:
    arguments = [
        "--raw",
        str(tmp_path),
        "--iterations",
        "20000000",
        "--sizes",
        "0",
        "--seconds",
        str(2 * PATIENCE),
    ]
    # A shell starts the program and waits; killed, it can tell nobody.
    script = '"$0" "$@" --parent $$ & echo $!; wait'
    shell = subprocess.Popen(
        ["sh", "-c", script, str(programs["loopback"]), *arguments], stdout=subprocess.PIPE, text=True
    )
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    time.sleep(0.5)
    assert not _has_ended(pid)
    shell.kill()
    shell.wait()
    deadline = time.monotonic() + PATIENCE
    while not _has_ended(pid):
        assert time.monotonic() < deadline, "the program outlived who started it"
        time.sleep(0.02)
    assert not (tmp_path / "manifest.json").exists()
    shell.stdout.close()


def _has_ended(pid: int) -> bool:
    try:
        # A zombie has ended, with nobody who takes note of it (in a container without an init).
        return ") Z " in (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8")
    except OSError:
        return True
