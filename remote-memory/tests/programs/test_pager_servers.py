# SPDX-License-Identifier: Apache-2.0
"""`consort remote run` with several servers, encryption, and working sets; each fault named has a test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort_remote.pager import Attachment
from effort import PATIENCE

CONSORT = Path(sys.executable).with_name("consort")
ROOT = Path(__file__).resolve().parents[3]
# Ends its first server when it has written what the cache does not hold.
PROGRAM = """
import os, signal
block = bytearray(24 << 20)
for turn in range(2):
    for at in range(0, len(block), 4096):
        block[at] = (at >> 12) + turn & 255
    if turn == 0 and "VICTIM" in os.environ:
        os.kill(int(os.environ["VICTIM"]), signal.SIGKILL)
    assert all(block[at] == (at >> 12) + turn & 255 for at in range(0, len(block), 4096))
"""
# Goes on when a page is there of a range that userfaultfd serves ("um").
PREFETCHED = """
def prefetched():
    pages = 0
    for line in open("/proc/self/smaps"):
        if line.startswith("Rss:"):
            pages = int(line.split()[1])
        elif line.startswith("VmFlags:") and " um" in line and pages:
            return True
    return False
while not prefetched():
    pass
"""


class Servers:
    """Two of them, in processes of their own."""

    def __init__(self, place: Path) -> None:
        self.key = place / "remote.key"
        self.key.write_text("k" * 64)
        self.key.chmod(0o600)
        self.place = place
        self.processes: list[subprocess.Popen[str]] = []
        self.addresses: list[str] = []

    def start(self, stack: ExitStack, *more: str) -> None:
        command = [str(CONSORT), "remote", "serve", "--size", "256MiB", "--listen", "127.0.0.1:0"]
        command += ["--key", str(self.key), "--name", f"m{len(self.processes)}", *more]
        process = stack.enter_context(
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"XDG_RUNTIME_DIR": str(self.place)},
            )
        )
        stack.callback(process.kill)
        assert process.stdout is not None
        ready = next(line for line in process.stdout if line.startswith("ready "))
        self.processes.append(process)
        self.addresses.append(f"127.0.0.1:{ready.split()[1]}")

    def run(
        self, attach: str, *options: str, program: str = PROGRAM, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(
                    str(CONSORT),
                    "remote",
                    "run",
                    "--attach",
                    f"{attach},size=96MiB,cache=4MiB,key={self.key}",
                ),
                *(*options, "--", sys.executable, "-c", program),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ | {"XDG_RUNTIME_DIR": str(self.place)} | variables,
        )


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    tmp_path.chmod(0o700)
    with ExitStack() as stack:
        made = Servers(tmp_path)
        made.start(stack, "--encrypt")
        made.start(stack, "--encrypt")
        yield made


@pytest.mark.representative
def test_a_program_goes_on_when_one_of_two_servers_is_killed(servers: Servers, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = servers.run(
        "+".join(servers.addresses) + ",encrypt=yes",
        *("--replicas", "2", "--reconnect", "100ms", "--report", str(report)),
        VICTIM=str(servers.processes[0].pid),
    )
    assert done.returncode == 0, done.stderr
    assert f"server {servers.addresses[0]} is lost" in done.stderr
    counted = json.loads(report.read_text())["segments"][0]
    assert counted["replicas_lost"] == 1 and counted["evicted"] > 0


@pytest.mark.representative
def test_without_a_replica_it_ends_with_sigbus(servers: Servers) -> None:
    done = servers.run(
        servers.addresses[0] + ",encrypt=yes",
        *("--reconnect", "100ms"),
        VICTIM=str(servers.processes[0].pid),
    )
    assert done.returncode == -7 and "SIGBUS at 0x" in done.stderr


def test_a_server_that_demands_encryption(servers: Servers) -> None:
    done = servers.run(servers.addresses[0])
    assert done.returncode == 2 and "way of encryption" in done.stderr


def test_a_working_set(servers: Servers, tmp_path: Path) -> None:
    file = tmp_path / "work.set"
    where = servers.addresses[0] + ",encrypt=yes"
    program = "block = bytearray(3 << 20)\nfor at in range(0, len(block), 4096): block[at] = 1"
    done = servers.run(where, "--record-set", str(file), program=program)
    assert done.returncode == 0, done.stderr
    lines = file.read_text().split()
    assert lines[0] == "segment"
    pages = sum(int(line.partition("+")[2] or 1) for line in lines[1:])
    assert 768 <= pages < 2048  # and what was prefetched behind it
    report = tmp_path / "report.json"
    done = servers.run(
        where,
        "--prefetch-set",
        str(file),
        "--report",
        str(report),
        program=PREFETCHED + program,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text())["segments"][0]["prefetched"] > 0
    file.write_text("segment\nnine\n")
    done = servers.run(where, "--prefetch-set", str(file), program=program)
    assert done.returncode == 2 and "line 1: 'nine'" in done.stderr
    file.write_text("segment\nsegment\n")
    done = servers.run(where, "--prefetch-set", str(file), program=program)
    assert done.returncode == 2 and "of 2 segments, and 1 are attached" in done.stderr


def test_segments_that_are_full(servers: Servers) -> None:
    program = """
blocks = []
try:
    while True: blocks.append(bytearray(20 << 20))
except MemoryError:
    raise SystemExit(len(blocks))
"""
    done = servers.run(servers.addresses[0] + ",encrypt=yes", program=program)
    assert done.returncode == 4 and "no room for an allocation; it fails (ENOMEM)" in done.stderr


def test_a_full_disk(servers: Servers) -> None:
    done = servers.run(servers.addresses[0] + ",encrypt=yes", "--report", "/dev/full", program="pass")
    assert done.returncode == 0
    assert "the report in /dev/full is not whole: No space left on device" in done.stderr
    missing = servers.place / "nowhere" / "work.set"
    done = servers.run(servers.addresses[0] + ",encrypt=yes", "--record-set", str(missing), program="pass")
    assert done.returncode == 0 and "the working set cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:1+b:2+c:3,size=1GiB,key=k,replicas=2", "3 servers are not a multiple of 2"),
        ("a:1,size=1GiB,key=k,replicas=two", "is not a number"),
        ("a:1+a:1,size=1GiB,key=k,replicas=2", "named twice"),
        ("a:1,size=1GiB,key=k,encrypt=perhaps", "not yes or no"),
        ("memory,size=1GiB,encrypt=yes", "shares its memory"),
        ("one+two,size=1GiB,pages=mapped,key=k", "not the only one"),
        ("one+two,size=1GiB", "key is needed"),
    ],
)
def test_lists_of_servers_that_are_none(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Attachment.parse(text)


@pytest.mark.representative
def test_each_fault_that_the_documentation_names_has_its_test() -> None:
    page = (ROOT / "remote-memory" / "docs" / "remote-faults.md").read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| \d+ ", line)]
    assert len(rows) >= 24
    sources = "".join(file.read_text() for file in (ROOT / "remote-memory" / "tests" / "pager").glob("*.cpp"))
    here = Path(__file__).parent
    files = (*here.glob("test_*.py"), ROOT / "tests/python/run/test_runs_with_remote_states.py")
    in_python = "".join(file.read_text() for file in files)
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == str(number) and cells[2]
        named = re.findall(r"`([^`]+)`", cells[3])
        assert named, row
        for test in named:
            suite, dot, name = test.partition(".")
            if dot:
                assert re.search(rf"TEST(_F|_P)?\({suite},\s*{name}\)", sources), test
            else:
                assert f"def {test}(" in in_python, test
