# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote`: its goals out of what the program measures. No time is asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks
from consort_bench.registry import Options
from consort_remote_bench import remote

pytestmark = pytest.mark.realtime

ROW = {
    "set_pages": 100,
    "floor_fault": 5.0,
    "floor_write_fault": 5.6,
    "fault": 5.5,
    "fault_evicted": 0,
    "fault_evicting": 7.0,
    "fault_evicting_evicted": 90,
    "floor_stream": 4.0,
    "stream": 3.0,
    "floor_stream_continue": 10.0,
    "stream_continue": 8.5,
    "floor_tcp": 10.0,
    "floor_tcp_least": 9.0,
    "tcp_fault": 18.0,
}


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    made = folder / "program"
    made.write_text(f"#!/bin/sh\n{body}\n")
    made.chmod(0o755)
    monkeypatch.setattr(remote, "cpp_program", lambda target, folder: made)


def test_it_runs_the_program_of_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.dumps({"rounds": [ROW], "no_huge_pages": "none are reserved"})
    program(tmp_path, monkeypatch, f'[ "$#" -eq 1 ] && [ "$1" -eq 3 ] && echo \'{rows}\'')
    done = remote.run(Options("remote", quick=True, command=["consort", "bench", "remote", "--quick"]))
    found = {each["name"]: (each["value"], each["met"]) for each in done.goals}
    assert found["fault_over_floor"] == (pytest.approx(1.1), True)
    assert found["fault_evicting_over_floor"] == (pytest.approx(1.25), False)
    assert found["stream_copy_over_floor"] == (pytest.approx(0.75), False)
    assert found["stream_continue_over_floor"] == (pytest.approx(0.85), True)
    assert found["tcp_fault_over_floor"] == (pytest.approx(1.2), True)


def test_a_program_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo userfaultfd is not permitted >&2; exit 3")
    with pytest.raises(EnvironmentLacks, match="not permitted"):
        remote.run(Options("remote"))
    program(tmp_path, monkeypatch, "echo a defect >&2; exit 134")
    with pytest.raises(RuntimeError, match=r"134.*a defect"):
        remote.run(Options("remote"))


def test_a_round_that_did_not_measure_a_goal_does_not_count_for_it() -> None:
    goals = {each["name"]: each for each in remote.goals([ROW | {"fault_evicted": 1}, ROW | {"fault": 6.0}])}
    assert goals["fault_over_floor"]["rounds"] == 1 and goals["fault_over_floor"]["value"] == 1.2
    assert goals["tcp_fault_over_floor"]["rounds"] == 2
    none = remote.goals([ROW | {"fault_evicted": 1}])[0]
    assert none["value"] is None and none["met"] is None and "other work" in none["reason"]
    # A round trip of milliseconds is the scheduler's: it would make any fault look fast.
    busy = {each["name"]: each for each in remote.goals([ROW | {"floor_tcp": 14e6}])}
    assert busy["tcp_fault_over_floor"]["met"] is None and busy["fault_over_floor"]["met"]
