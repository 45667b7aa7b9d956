# SPDX-License-Identifier: Apache-2.0
"""The command: its output, its exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort.base.toolchain.compiler import tool
from consort.cli import main


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["doctor", *args])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def test_json_holds_every_finding(make_tree, capsys):
    status, out, _ = run(capsys, "--json", "--sysroot", str(make_tree()))
    report = json.loads(out)
    assert status == 0
    assert report["doctor"] == 2
    assert report["ready"] is True
    assert report["machine"]["processors"] == [0, 1, 2, 3]
    for finding in report["findings"]:
        assert finding["status"] in {"ok", "warn", "bad", "unknown"}
        assert set(finding) == {"id", "title", "status", "found", "cost", "remedy", "sources", "figures"}
    assert len({f["id"] for f in report["findings"]}) == len(report["findings"])


def test_text_shows_costs_and_remedies(make_tree, capsys):
    status, out, _ = run(capsys, "--sysroot", str(make_tree({"proc/sys/kernel/timer_migration": "1"})))
    assert status == 0
    assert "sysctl -w kernel.timer_migration=0" in out
    assert "costs:" in out


BAD = {"sys/devices/system/clocksource/clocksource0/current_clocksource": "jiffies"}


def test_a_bad_finding_is_no_failure(make_tree, capsys):
    status, out, _ = run(capsys, "--json", "--sysroot", str(make_tree(BAD)))
    assert status == 0
    assert json.loads(out)["ready"] is False


def test_require_ready_makes_it_one(make_tree, capsys):
    status, out, err = run(capsys, "--require", "ready", "--json", "--sysroot", str(make_tree(BAD)))
    assert status == 3
    assert json.loads(out)["ready"] is False
    assert "not ready for real time: clock source" in err


def test_require_ready_on_a_ready_machine(make_tree, capsys):
    assert run(capsys, "--require", "ready", "--sysroot", str(make_tree()))[0] == 0


def test_bad_usage(capsys, tmp_path: Path):
    assert run(capsys, "--sysroot", str(tmp_path / "absent"))[0] == 2
    assert run(capsys, "--require", "something")[0] == 2


def test_this_machine(capsys, monkeypatch, tmp_path: Path):
    """The real /proc and /sys, the real trials: whatever they say, the command says it."""
    monkeypatch.setenv("CONSORT_CACHE", str(tmp_path))
    tool.cache_clear()
    status, out, _ = run(capsys, "--json", "--seconds", "0.1")
    assert status == 0
    assert {f["id"] for f in json.loads(out)["findings"]} >= {
        "cores",
        "sched_fifo",
        "steal",
        "wakeup",
        "busy",
    }
    measured = next(f for f in json.loads(out)["findings"] if f["id"] == "wakeup")
    tool.cache_clear()
    # In a fresh clone the command builds the probe itself.
    assert measured["figures"]["n"] > 0 and list(tmp_path.glob("programs/probe-*/consort-probe"))
