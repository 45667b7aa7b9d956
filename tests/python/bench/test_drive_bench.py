# SPDX-License-Identifier: Apache-2.0
"""`consort bench drive`: its parts are kept, go on where they were ended, and are summed as they are."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import EnvironmentLacks, Held
from consort.judge import JobCounts, Row, Verdict
from consort_bench import drive
from consort_bench.registry import Options

BOUND = 20_000.0


def judged(response: list[float], **changes: Any) -> dict[str, Any]:
    """The result of a part whose third job, of 1 ms, the machine disturbed."""
    count = JobCounts("servo", None, len(response), len(response), 0, 0, 1, 1, {})
    row = Row(
        subject="servo", kind="task", quantity="response", seen=None, undisturbed=None, provenance="measured",
        bound=BOUND, bound_source="", missing="", simulated=None, simulated_source="", required=None,
        count=len(response), above=0, late=0, outcome="holds",
    )  # fmt: skip
    seen = np.array([*response[:2], 1e6, *response[2:]])
    disturbed, status = np.zeros(seen.size, dtype=np.bool_), np.zeros(seen.size, dtype=np.uint32)
    disturbed[2] = True
    rows = (replace(row, quantity="compute"), replace(row, **changes))
    verdict = Verdict(
        ok=Held.HELD, reasons=(), rows=rows, tasks=(count,), disturbed=disturbed, status=status,
        checks=(), pauses=(), ways=(), summary="", machine="", notes=(),
    )  # fmt: skip
    return drive.part_of(verdict, seen) | {"lost": 0}


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "drive" / "key" / "described" / "drive" / "system.yaml"
    file.parent.mkdir(parents=True)
    monkeypatch.setattr(drive, "described", lambda options: file)
    return file


def test_a_call_goes_on_where_one_was_ended(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def part(_system: Path, jobs: int, configuration: str, _scratch: Path) -> dict[str, Any]:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(configuration)
        longest = 4_000.0 * (1 + len(ran) % 2)
        return judged([1_000.0, longest]) | {"jobs": jobs, "configuration": configuration}

    monkeypatch.setattr(drive, "_run", part)
    monkeypatch.setattr(drive, "PART", 1_000)
    with pytest.raises(KeyboardInterrupt):
        drive.run(Options("drive", iterations=3_000))
    assert ran == ["local-off", "offloaded-off"]
    monkeypatch.setattr(drive, "_run", lambda *_: pytest.fail("it ran a part again"))
    found = drive.run(Options("drive", iterations=2_000))
    assert all(one["met"] for one in found.goals)
    assert found.extra["median_tightness"] == pytest.approx(0.3)
    assert [row["configuration"] for row in found.rows] == ran


def test_a_part_that_the_machine_keeps_from_its_end_leaves_those_before(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def part(_system: Path, jobs: int, configuration: str, _scratch: Path) -> dict[str, Any]:
        if configuration != "local-off":
            raise EnvironmentLacks("processes had not ended", "try later")
        return judged([1_000.0, 2_000.0]) | {"jobs": jobs, "configuration": configuration}

    monkeypatch.setattr(drive, "_run", part)
    monkeypatch.setattr(drive, "PART", 1_000)
    found = drive.run(Options("drive", iterations=3_000))
    assert found.goals[0]["value"] == 1_000 and not found.goals[0]["met"]
    assert "not recorded: processes had not ended" in found.notes[0]


def test_less_than_was_asked_for_meets_no_goal(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "_run", lambda *_: pytest.fail("the time is over"))
    found = drive.run(Options("drive", iterations=5_000, seconds=1e-9))
    jobs = found.goals[0]
    assert (jobs["name"], jobs["value"], jobs["met"]) == ("drive_jobs", 0, False)
    assert found.extra["median_tightness"] is None


def test_one_block_in_which_a_job_was_not_served_is_not_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "BLOCK", 2)
    part = judged([1_000.0, 2_000.0, 5_000.0, inf, 6_000.0, 6_000.0], above=1)
    assert part["above"] == 1 and part["longest"] == [2_000.0, 5_000.0, None, 6_000.0]
    assert drive.tightness([part]) == pytest.approx(0.275)
    assert drive.tightness([]) is None
    (row,) = drive.rows_of([part | {"configuration": "local-off"}])
    assert row["longest_us"] == inf and row["above"] == 1


def test_without_a_bound_nothing_is_held() -> None:
    with pytest.raises(EnvironmentLacks, match="no bound on this machine: memories"):
        judged([1.0, 1.0], bound=None, missing="memories.shm.access")
