# SPDX-License-Identifier: Apache-2.0
"""``consort region``: what a region holds, and why a thing is none."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from consort.base.toolchain.builds import cpp_tree
from consort.cli import main

pytest.importorskip("consort._engine", reason="the native module is not built")
BYTES = 65536
VERSION_AT = 4  # of the header: magic, version, line size, bytes, …

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def region(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: Any) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["region", *map(str, arguments)])
        output = capsys.readouterr()
        return int(end.value.code or 0), output.out, output.err

    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a region in it, made by the target library."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("region")
    tree = cpp_tree()
    source = Path(__file__).with_name("region_maker.cpp")
    command = [compiler, "-std=c++20", f"-I{tree / 'include'}", f"-I{tree / 'ports' / 'linux' / 'include'}"]
    subprocess.run([*command, str(source), "-o", str(folder / "maker")], check=True)
    (folder / "region").write_bytes(bytes(BYTES))
    subprocess.run([str(folder / "maker"), str(folder / "region")], check=True)
    return folder / "region"


def test_listing(region: Run, made: Path) -> None:
    status, out, err = region(made)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{made}: region of {BYTES} bytes, version 2, generation ")
    for text in ("mailbox", "snapshot[3]", "queue[16]", "drive.in", "drive.state", "drive.trace"):
        assert text in out
    assert "+4      float32" in out
    assert "+8      signed16 x 3" in out


def test_json(region: Run, made: Path) -> None:
    status, out, _ = region(made, "--json")
    assert status == 0
    shown = json.loads(out)
    assert shown["refused"] is None
    assert shown["bytes"] == BYTES
    assert [(o["name"], o["kind"], o["parameter"]) for o in shown["objects"]] == [
        ("drive.in", "mailbox", 0),
        ("drive.state", "snapshot", 3),
        ("drive.trace", "queue", 16),
        ("drive.link", "link ring", 8),
        ("drive.bell", "bell", 0),
    ]
    drive, number, byte, descriptor, bell = (o["leaves"] for o in shown["objects"])
    assert [(leaf["offset"], leaf["kind"], leaf["bytes"], leaf["count"]) for leaf in drive] == [
        (0, "unsigned", 4, 1),
        (4, "float", 4, 1),
        (8, "signed", 2, 3),
        (16, "float", 4, 1),
        (20, "signed", 2, 3),
    ]
    assert number == [{"offset": 0, "kind": "float", "bytes": 8, "count": 1}]
    assert byte == [{"offset": 0, "kind": "unsigned", "bytes": 1, "count": 1}]
    assert len(descriptor) == 4 and not bell
    assert {o["payload_bytes"] for o in shown["objects"]} == {28, 8, 1, 16, 0}
    offsets = [o["offset"] for o in shown["objects"]]
    assert all(o % 64 == 0 for o in offsets)
    assert offsets == sorted(offsets)


def truncated(content: bytes) -> bytes:
    return content[: BYTES // 2]


def short(content: bytes) -> bytes:
    return content[:16]


def without_magic(content: bytes) -> bytes:
    return bytes(4) + content[4:]


def another_version(content: bytes) -> bytes:
    return content[:VERSION_AT] + b"\x07" + content[VERSION_AT + 1 :]


def flipped_in_the_table(content: bytes) -> bytes:
    at = content.index(b"drive.in")
    return content[:at] + b"D" + content[at + 1 :]


def noise(content: bytes) -> bytes:
    return random.Random(1).randbytes(len(content))


def zeros(content: bytes) -> bytes:
    return bytes(len(content))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncated, "the region is larger than the memory given"),
        (short, "the memory is smaller than a region's header"),
        (without_magic, "the memory holds no Consort region"),
        (another_version, "the region has another format version"),
        (flipped_in_the_table, "the region's header or table is corrupted"),
        (noise, "the memory holds no Consort region"),
        (zeros, "the memory holds no Consort region"),
    ],
)
def test_refused(
    region: Run, made: Path, tmp_path: Path, damage: Callable[[bytes], bytes], reason: str
) -> None:
    file = tmp_path / "damaged"
    file.write_bytes(damage(made.read_bytes()))
    before = file.read_bytes()
    status, out, err = region(file)
    assert (status, out) == (1, "")
    assert err.startswith(f"{file}: {reason} (expected ")
    status, out, _ = region(file, "--json")
    assert status == 1
    assert json.loads(out)["refused"] == reason
    assert file.read_bytes() == before, "looking changes nothing"


def test_random_damage_never_crashes(region: Run, made: Path, tmp_path: Path) -> None:
    """Whatever byte of header or table is wrong: it is refused with a reason, or no part of the region."""
    chance = random.Random(2)
    content = made.read_bytes()
    file = tmp_path / "damaged"
    for _ in range(200):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(2048)] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        status, out, _ = region(file, "--json")
        assert status == (0 if json.loads(out)["refused"] is None else 1)
        if damaged[:48] != content[:48]:
            assert status == 1, "every byte of the header is checked"


@pytest.mark.parametrize("what", ["missing", "empty", "folder"])
def test_what_cannot_be_mapped(region: Run, tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "empty":
        path.touch()
    elif what == "folder":
        path.mkdir()
    status, out, err = region(path)
    assert (status, out) == (2, "")
    assert err.startswith(f"consort: {path}: cannot be mapped (")
    assert "give a file, /dev/shm/NAME or /proc/PID/fd/N" in err


def test_the_memory_of_a_running_process(region: Run, made: Path) -> None:
    """An anonymous memory is reached through its owner's file descriptors."""
    script = (
        "import os, sys\n"
        "fd = os.memfd_create('region')\n"
        "os.write(fd, open(sys.argv[1], 'rb').read())\n"
        "print(fd, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(made)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        descriptor = int(owner.stdout.readline())
        status, out, err = region(f"/proc/{owner.pid}/fd/{descriptor}", "--json")
        assert owner.stdin is not None
        owner.stdin.close()
    assert (status, err) == (0, "")
    names = [o["name"] for o in json.loads(out)["objects"]]
    assert names == ["drive.in", "drive.state", "drive.trace", "drive.link", "drive.bell"]
    status, _, err = region(f"/proc/{owner.pid}/fd/{descriptor}")
    assert status == 2
    assert os.strerror(2) in err
