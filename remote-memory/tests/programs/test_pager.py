# SPDX-License-Identifier: Apache-2.0
"""`consort remote serve` and `run`: an unmodified program gets the right result from memory elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort_remote.pager import Attachment, key_of, made_key, preloadable
from remote_server import RemoteServer

# Writes, evicts and reads again, by plain accesses and by system calls.
PROGRAM = """
import os
block = bytearray(24 << 20)
for at in range(0, len(block), 4096):
    block[at] = at >> 12 & 255
assert all(block[at] == at >> 12 & 255 for at in range(0, len(block), 4096))
assert not any(block[1::4096])
file = os.open(os.environ["FILE"], os.O_RDWR | os.O_CREAT)
assert os.write(file, block) == len(block)
again = bytearray(len(block))
assert os.preadv(file, [again], 0) == len(again) and again == block
raise SystemExit(7)
"""


@pytest.mark.representative
@pytest.mark.parametrize("way", ["copied", "mapped", "tcp"])
def test_an_unmodified_program(server: RemoteServer, tmp_path: Path, way: str) -> None:
    where = f"127.0.0.1:{server.port},key={server.key}" if way == "tcp" else f"memory,pages={way}"
    report = tmp_path / "report.json"
    done = server.remote(
        *("run", "--attach", f"{where},size=96MiB,cache=8MiB", "--report", str(report)),
        *("--", sys.executable, "-c", PROGRAM),
        FILE=str(tmp_path / "file"),
    )
    assert done.returncode == 7, done.stderr
    counted = json.loads(report.read_text())["segments"][0]
    assert counted["evicted"] > 0 and counted["fetched"] > 0
    assert (counted["stored"] > 0) == (way != "mapped")


def test_another_key_and_no_server(server: RemoteServer, tmp_path: Path) -> None:
    key = tmp_path / "other.key"
    key.write_text("o" * 40)
    key.chmod(0o600)
    run = ("run", "--attach", f"127.0.0.1:{server.port},size=8MiB,key={key}", "--", "true")
    refused = server.remote(*run)
    assert refused.returncode == 2 and "the keys differ" in refused.stderr
    for where in ("nobody,size=8MiB", f"nobody,size=8MiB,key={key}"):
        missing = server.remote("run", "--attach", where, "--", "true")
        assert missing.returncode == 3 and "no server 'nobody' runs on this machine" in missing.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("memory", "lacks its size"),
        ("memory,size=1GiB,size=2GiB", "each once"),
        ("memory,size=1GiB,colour=red", "is expected"),
        ("memory,size=1GiB,pages=blue", "blue is none of copied, mapped"),
        ("host:7070,size=1GiB,pages=mapped,key=k", "not on this machine"),
        ("memory,size=5000B", "not a multiple of 4KiB"),
        ("memory,size=1GiB,cache=4KiB", "below 1MiB"),
        ("host:7070,size=1GiB", "key is needed"),
        ("../memory,size=1GiB", "is not a name"),
    ],
)
def test_an_attachment_that_is_none(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Attachment.parse(text)


def test_an_attachment(monkeypatch: pytest.MonkeyPatch, server: RemoteServer) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(server.place))
    found = Attachment.parse("mine,size=1GiB")
    assert (found.size, found.cache, found.key) == (1 << 30, 1 << 29, key_of("mine"))
    key = made_key("mine")
    assert key.stat().st_mode & 0o777 == 0o600 and len(key.read_text()) >= 64
    assert made_key("mine").read_text() == key.read_text()


def test_programs_into_which_nothing_is_preloaded(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", str(source), "-o", str(tmp_path / "static")], check=True)
    with pytest.raises(BadInput, match="statically linked"):
        preloadable(str(tmp_path / "static"))
    with pytest.raises(BadInput, match="there is no program"):
        preloadable(str(tmp_path / "nothing"))
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert preloadable(str(script)) == str(script)
    script.chmod(0o4755)
    with pytest.raises(BadInput, match="changes its user"):
        preloadable(str(script))
