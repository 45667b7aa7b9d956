# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs whose pages go through libfabric, and what is refused there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort_remote.pager import Attachment
from consort_remote.toolchain import FABRIC_HEADER
from effort import PATIENCE

CONSORT = Path(sys.executable).with_name("consort")
# Writes and reads twice what its cache holds; ends its server between the two where it is told to.
PROGRAM = """
import os, signal
block = bytearray(24 << 20)
for at in range(0, len(block), 4096):
    block[at] = (at >> 12) & 255
if "VICTIM" in os.environ:
    os.kill(int(os.environ["VICTIM"]), signal.SIGKILL)
assert all(block[at] == (at >> 12) & 255 for at in range(0, len(block), 4096))
print(os.getpid())
"""


@dataclass
class Server:
    place: Path
    key: Path
    address: str
    pid: int

    def run(self, attach: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        segment = f"{self.address},size=32MiB,cache=12MiB,key={self.key}{attach}"
        command = [str(CONSORT), "remote", "run", "--attach", segment, *options]
        return subprocess.run(
            [*command, "--", sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ | {"XDG_RUNTIME_DIR": str(self.place)} | variables,
        )


@contextmanager
def serving(place: Path, *options: str) -> Iterator[Server]:
    place.chmod(0o700)
    key = place / "remote.key"
    key.write_text("k" * 64)
    key.chmod(0o600)
    command = [str(CONSORT), "remote", "serve", "--size", "128MiB", "--listen", "127.0.0.1:0"]
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                [*command, "--key", str(key), *options],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"XDG_RUNTIME_DIR": str(place)},
            )
        )
        stack.callback(process.terminate)
        assert process.stdout is not None
        ready = next(line for line in process.stdout if line.startswith("ready "))
        yield Server(place, key, f"127.0.0.1:{ready.split()[1]}", process.pid)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if not FABRIC_HEADER.exists():
        pytest.skip("apt-get install libfabric-dev")
    with serving(tmp_path, "--fabric", "tcp", "--fabric", "shm") as made:
        yield made


@pytest.mark.parametrize("provider", ["tcp", "shm"])
@pytest.mark.parametrize("faults", ["handler", "in-thread"])
def test_a_program_with_twice_its_allowance(server: Server, provider: str, faults: str) -> None:
    report = server.place / "report.json"
    done = server.run(f",fabric={provider}", "--faults", faults, "--report", str(report))
    assert done.returncode == 0, done.stderr
    assert '"stored": 0' not in report.read_text()
    assert not list(Path("/dev/shm").glob(f"{int(done.stdout)}:*")), "the memory of a provider stays behind"


@pytest.mark.parametrize("provider", ["tcp", "shm"])
def test_a_server_that_is_killed_ends_it_with_sigbus(server: Server, provider: str) -> None:
    done = server.run(f",fabric={provider}", VICTIM=str(server.pid))
    assert done.returncode == -7 and "SIGBUS at 0x" in done.stderr
    assert "died" in done.stderr


def test_an_unknown_provider_is_refused_with_those_that_there_are(server: Server) -> None:
    done = server.run(",fabric=pigeons")
    assert done.returncode == 2
    assert "fabric=pigeons" in done.stderr and "there are: " in done.stderr and "tcp" in done.stderr


def test_reconnect_is_refused(server: Server) -> None:
    done = server.run(",fabric=tcp", "--reconnect", "1s")
    assert done.returncode == 2 and "reconnect" in done.stderr


def test_a_server_without_a_fabric_refuses(tmp_path: Path) -> None:
    if not FABRIC_HEADER.exists():
        pytest.skip("apt-get install libfabric-dev")
    with serving(tmp_path) as plain:
        done = plain.run(",fabric=tcp")
        assert done.returncode == 2 and "offers no fabric" in done.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one:7070,size=1MiB,key=k,encrypt=yes,fabric=tcp", "as they are"),
        ("memory,size=1MiB,fabric=tcp", "shares its memory"),
        ("one:7070,size=1MiB,key=k,fabric=T cp", "not a name of a provider"),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        Attachment.parse(text)
    assert refused.value.field == "--attach: fabric"


@pytest.mark.parametrize("more", [("--encrypt", "--listen", "127.0.0.1:0"), ()])
def test_a_server_refuses_a_fabric_that_it_cannot_offer(more: tuple[str, ...]) -> None:
    command = [str(CONSORT), "remote", "serve", "--size", "1MiB", "--fabric", "tcp", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "--fabric" in done.stderr
