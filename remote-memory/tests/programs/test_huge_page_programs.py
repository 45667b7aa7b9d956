# SPDX-License-Identifier: Apache-2.0
"""`consort remote run` with pages of 2 MiB: an unmodified program gets the right result, or a reason."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort_remote.pager import HUGE_PAGE, Attachment
from remote_server import RemoteServer, serving
from test_pager import PROGRAM

# The cache of the program, the segments of a server that has huge pages itself, and what other programs take.
WANTED = 16 + (16 + 128) // 2
SETTING = Path("/proc/sys/vm/nr_hugepages")


@pytest.fixture(scope="module")
def one_reserves() -> Iterator[None]:
    """The setting is the machine's: other test runs, and tests/pager, wait for this one."""
    if not SETTING.exists():
        yield
        return
    with SETTING.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module", autouse=True)
def huge_pages(one_reserves: None) -> Iterator[None]:
    before = int(SETTING.read_text(encoding="ascii")) if SETTING.exists() else 0
    if SETTING.exists() and os.geteuid() == 0:
        SETTING.write_text(str(before + WANTED), encoding="ascii")
    found = int(SETTING.read_text(encoding="ascii")) if SETTING.exists() else 0
    if found < before + WANTED:
        if found > before:
            SETTING.write_text(str(before), encoding="ascii")
        pytest.skip(f"huge pages: {found} can be reserved, and {before + WANTED} are needed")
    yield
    SETTING.write_text(str(before), encoding="ascii")


@pytest.fixture(scope="module")
def huge_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteServer]:
    with serving(tmp_path_factory.mktemp("r"), size="96MiB", more=("--huge-pages",)) as running:
        yield running


def run(server: RemoteServer, where: str, file: Path, *more: str, faults: str = "handler") -> dict[str, int]:
    report = file.with_suffix(".json")
    done = server.remote(
        *("run", "--attach", f"{where},size=96MiB,cache=16MiB,page=2MiB", "--report", str(report)),
        *("--faults", faults, *more, "--", sys.executable, "-c", PROGRAM),
        FILE=str(file),
    )
    assert done.returncode == 7, done.stderr
    counted: dict[str, int] = json.loads(report.read_text())["segments"][0]
    return counted


@pytest.mark.parametrize("way", ["copied", "tcp"])
def test_an_unmodified_program(server: RemoteServer, tmp_path: Path, way: str) -> None:
    where = f"127.0.0.1:{server.port},key={server.key}" if way == "tcp" else "memory"
    counted = run(server, where, tmp_path / "file")
    assert counted["evicted"] > 0 and counted["fetched"] > 0 and counted["stored"] > 0
    # 24 MiB are 12 pages of 2 MiB: each fault brings one.
    assert counted["faults"] < 1000


def test_mapped_pages_of_a_server_that_has_huge_ones(huge_server: RemoteServer, tmp_path: Path) -> None:
    counted = run(huge_server, "memory,pages=mapped", tmp_path / "file")
    assert counted["evicted"] > 0 and counted["stored"] == 0


def test_a_working_set_of_pages_of_another_size(server: RemoteServer, tmp_path: Path) -> None:
    record = tmp_path / "work.set"
    run(server, "memory", tmp_path / "file", "--record-set", str(record))
    assert record.read_text().startswith("segment of huge pages\n")
    run(server, "memory", tmp_path / "file", "--prefetch-set", str(record))
    small = server.remote(
        *("run", "--attach", "memory,size=96MiB,cache=16MiB", "--prefetch-set", str(record)), "--", "true"
    )
    assert small.returncode == 2 and "'segment of huge pages' is of other pages" in small.stderr


def test_what_is_not_reserved_is_said(server: RemoteServer) -> None:
    many = "memory,size=96MiB,cache=1024GiB,page=2MiB"
    done = server.remote("run", "--attach", many, "--", "true")
    assert done.returncode == 3 and "vm.nr_hugepages" in done.stderr


def test_mapped_pages_of_a_server_that_has_small_ones(server: RemoteServer) -> None:
    done = server.remote(
        *("run", "--attach", "memory,size=96MiB,cache=16MiB,page=2MiB,pages=mapped", "--", "true")
    )
    assert done.returncode == 2 and "--huge-pages" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("memory,size=1GiB,page=64KiB", "64KiB is not a page size"),
        ("memory,size=1GiB,page=big", "'big' is not a size"),
        ("memory,size=3MiB,page=2MiB", "3MiB is not a multiple of 2048KiB"),
        ("memory,size=1GiB,cache=8MiB,page=2MiB", "8MiB is below 16MiB, for pages of 2048KiB"),
    ],
)
def test_an_attachment_that_is_none(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Attachment.parse(text)


def test_the_cache_is_of_whole_pages() -> None:
    found = Attachment.parse("mine,size=102MiB,page=2MiB")
    assert found.page == HUGE_PAGE and found.cache == 50 << 20
