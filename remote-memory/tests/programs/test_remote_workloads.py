# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote-workloads`: a small program in place of the large ones."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import pytest
from consort.base.errors import EnvironmentLacks
from consort_bench.registry import Options
from consort_remote_bench import remote_workloads, swap_here
from consort_remote_bench.remote_programs import Workload, with_memory

PROGRAM = """
import json
block = bytearray(6 << 20)
for at in range(0, len(block), 4096):
    block[at] = at >> 12 & 255
right = all(block[at] == at >> 12 & 255 for at in range(0, len(block), 4096))
print(json.dumps({"set": len(block), "right": right, "blocks": 2.0}))
"""
SMALL = Workload("small", lambda _: [sys.executable, "-c", PROGRAM], {"blocks": "1/s"})
RANDOM = Workload("random", lambda _: [sys.executable, "-c", PROGRAM], {"accesses": "1/s"})


def test_rows_of_each_way_and_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_swap(*_: object) -> None:
        raise EnvironmentLacks("only root may add swap", "run as root")

    monkeypatch.setattr(remote_workloads, "programs", lambda scale: [SMALL])
    monkeypatch.setattr(swap_here, "measured", no_swap)
    result = remote_workloads.run(Options("remote-workloads"))
    assert [(row["where"], row["local"]) for row in result.rows] == [
        (way, share) for way in ("tcp", "shared memory") for share in remote_workloads.SHARES
    ]
    assert all(row["over_all_local"] == 1 and row["provenance"] == "measured" for row in result.rows)
    assert result.goals[0]["met"]
    # Without swap the goal has no value, and says why; it is not met by that.
    assert result.lacking
    assert result.goals[1]["met"] is None
    assert "only root" in result.goals[1]["reason"]
    (figure,) = result.figures
    assert [each["name"] for each in figure["series"]] == ["tcp", "shared memory", "all local"]


@pytest.mark.parametrize(("mine", "met"), [(5000.0, True), (4999.0, False)])
def test_the_goal_is_over_swap_where_it_swapped(
    mine: float, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share in which nothing was swapped is not a comparison; the least of the others is."""

    def paged(workload: Workload) -> tuple[list[dict[str, Any]], list[bool], dict[str, Any]]:
        whole = {"accesses": 9e6}
        return (
            [
                row
                for share, faster in ((25, 2), (50, 1), (100, 1))
                for row in remote_workloads.rows_of(
                    workload, "shared memory", share, {"accesses": mine * faster}, whole, "measured"
                )
            ],
            [True],
            whole,
        )

    def swapped(workload: Workload, way: str, shares: tuple[int, ...]) -> dict[int, dict[str, Any]]:
        rate = 1e3 if way == swap_here.FILE else 2e4
        return {
            share: {"right": True, "accesses": rate if share < 100 else 9e9, "swapped_in": 7 * (share < 100)}
            for share in shares
        }

    monkeypatch.setattr(remote_workloads, "programs", lambda scale: [RANDOM])
    monkeypatch.setattr(remote_workloads, "on_this_machine", paged)
    monkeypatch.setattr(swap_here, "measured", swapped)
    result = remote_workloads.run(Options("remote-workloads"))
    (goal,) = (each for each in result.goals if each["name"] == "random_over_swap")
    assert (goal["met"], goal["value"], goal["provenance"]) == (met, mine / 1e3, "measured")
    assert any("zram" in note and f"{mine / 2e4:.2f}" in note for note in result.notes)
    assert {row["pages_swapped_in"] for row in result.rows if row["where"] == swap_here.FILE} == {0, 7}


def test_swap_has_what_the_program_has_beside_its_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways have the same memory: the share of the set, and what a run without a limit shows beside."""
    limits: list[int | None] = []

    def run(command: list[str], limit: int | None) -> tuple[dict[str, Any], int]:
        limits.append(limit)
        return {"set": 8 << 20, "right": True}, 11 << 20

    monkeypatch.setattr(swap_here, "_swap", lambda way: nullcontext())
    monkeypatch.setattr(swap_here, "_in_group", run)
    found = swap_here.measured(SMALL, swap_here.FILE, (25, 50))
    assert limits == [None, (3 << 20) + (2 << 20), (3 << 20) + (4 << 20)]
    assert [each["swapped_in"] >= 0 for each in found.values()] == [True, True]


def test_swap_is_refused_to_others_than_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap_here.os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentLacks, match="only root may add swap"):
        swap_here.measured(SMALL, swap_here.FILE, (25,))


def test_an_environment_goes_before_the_program_that_it_is_for() -> None:
    served = with_memory(["client", "server"], 1, {"LD_PRELOAD": "x", "HOME": "/"})
    assert served == ["client", "/usr/bin/env", "LD_PRELOAD=x", "server"]
