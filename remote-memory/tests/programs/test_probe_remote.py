# SPDX-License-Identifier: Apache-2.0
"""`consort probe --remote`: what a fault costs, as a figure that bounds can rest on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from consort.cli import main
from consort.machine.probe import fault_data
from consort.model import load_platform
from consort.model.platform import platform_from_data
from remote_server import RemoteServer, serving

REPORT: dict[str, Any] = {
    "transport": "host:7070 over TCP",
    "policy": "SCHED_FIFO",
    "cpu": 1,
    "apart": True,
    "cache": 4 << 20,
    "evicted": 900,
    "waits": 2,
    "page": {"n": 1000, "median": 10_000, "max": 40_000},
    "write": {"n": 500, "median": 5_000, "max": 45_000},
    "runs": [
        {"pages": 1, "n": 1010, "max": 47_000},
        {"pages": 2, "n": 10, "max": 13_001},
        {"pages": 64, "n": 7, "max": 73_001},
    ],
}


def far(report: dict[str, Any]) -> Any:
    data = {
        "consort": 1,
        "name": "machine",
        "processors": {"host": {"isa": "probed"}},
        "cores": {"core": {"processor": "host", "count": 1}},
        "memories": {"far": {"kind": "remote", "fault": fault_data(report, "A Processor, Linux 6.1.0")}},
    }
    return platform_from_data(data).memories["far"].fault


def test_no_fault_took_longer_than_the_figures_say() -> None:
    fault = far(REPORT)
    assert fault.page.value.picoseconds == 47_000, "the longest, of other passes, too"
    assert fault.further.value.picoseconds == 3_001, "the run of two pages, above the median of one"
    for run in REPORT["runs"]:
        assert fault.picoseconds(run["pages"]) >= run["max"]


def test_a_fault_on_a_clean_page_counts_as_one() -> None:
    assert far(REPORT | {"write": {"n": 5, "median": 1, "max": 90_000}}).page.value.picoseconds == 90_000


def test_figures_say_how_they_were_measured() -> None:
    fault = far(REPORT)
    for figure, words in (
        (fault.page, "high-water mark of n = 1500"),
        (fault.further, "of n = 17 faults that brought 2 to 64 pages"),
    ):
        assert figure.provenance.kind == "measured"
        for part in (words, "host:7070 over TCP", "SCHED_FIFO", "cache of 4MiB", "A Processor, Linux 6.1.0"):
            assert part in figure.provenance.source
        assert "evicts (900 pages, 2 waits for a free one)" in figure.provenance.source
    assert "evicts on the same processor" in far(REPORT | {"apart": False}).page.provenance.source


def test_without_longer_runs_there_is_no_figure_for_further_pages() -> None:
    fault = far(REPORT | {"runs": REPORT["runs"][:1]})
    assert fault.further is None and fault.picoseconds(1) == 47_000 and fault.picoseconds(2) is None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteServer]:
    with serving(tmp_path_factory.mktemp("r")) as running:
        yield running


def run(*arguments: str) -> int:
    cpu = str(min(os.sched_getaffinity(0)))
    with pytest.raises(SystemExit) as end:
        main(["probe", "--quiet", "--seconds", "0.05", "--cpus", cpu, *arguments])
    return int(end.value.code or 0)


def test_faults_of_this_machine(
    server: RemoteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(server.place))
    file = tmp_path / "probed.yaml"
    ways = ("--remote", "near=memory", "--remote", f"far=127.0.0.1:{server.port},key={server.key}")
    assert run("-o", str(file), "--samples", "500", *ways, "--json") == 0
    measured = json.loads(capsys.readouterr().out)["remote"]
    platform = load_platform(file)
    for memory, words in (("near", "a server of this machine"), ("far", "over TCP")):
        report, fault = measured[memory], platform.memories[memory].fault
        assert platform.memories[memory].kind == "remote" and fault is not None
        assert report["page"]["n"] == 500 and report["write"]["n"] > 0
        assert report["evicted"] > 500, "faults are timed while the cache evicts"
        assert max(each["pages"] for each in report["runs"]) > 1
        for each in report["runs"]:
            longest = fault.picoseconds(each["pages"])
            assert longest is not None and longest >= each["max"]
        source = fault.page.provenance
        assert source is not None and source.kind == "measured" and words in source.source


def test_servers_that_cannot_be_asked(
    server: RemoteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(server.place))
    other = tmp_path / "other.key"
    other.write_text("o" * 40)
    other.chmod(0o600)
    for where, status, words in (
        ("far=nobody", 2, "there is no key"),
        ("shm=memory", 2, "'shm' is the machine's own memory"),
        (f"far=127.0.0.1:{server.port},key={other}", 2, "the keys differ"),
        (f"far=127.0.0.1:1,key={server.key}", 3, "measuring faults failed"),
    ):
        assert run("-o", str(tmp_path / "x.yaml"), "--samples", "100", "--remote", where) == status
        assert words in capsys.readouterr().err
    assert not (tmp_path / "x.yaml").exists()
