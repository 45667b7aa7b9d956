# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote-workloads`: a small program in place of the large ones."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from consort.errors import EnvironmentLacks
from consort.remote import pager
from consort_bench import remote_workloads, swap_guest
from consort_bench.registry import Options
from consort_bench.remote_programs import Workload, with_memory

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


def _said(jobs: list[swap_guest.Job], zram: float, file: float, mine: float) -> dict[str, Any]:
    figure = {swap_guest.ALL_LOCAL: 9e6, swap_guest.ZRAM: zram, swap_guest.FILE: file, swap_guest.PAGER: mine}
    return {
        job.label: {
            "right": True,
            "accesses": figure[job.way],
            "swapped_in": 7 if job.way in (swap_guest.ZRAM, swap_guest.FILE) and job.share < 100 else 0,
        }
        for job in jobs
    }


def test_rows_of_each_way_and_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_guest(*_: object) -> None:
        raise EnvironmentLacks("no emulator", "install it")

    monkeypatch.setattr(remote_workloads, "programs", lambda scale: [SMALL])
    monkeypatch.setattr(remote_workloads, "in_a_guest", no_guest)
    result = remote_workloads.run(Options("remote-workloads", quick=True))
    assert [(row["where"], row["local"]) for row in result.rows] == [
        (way, share) for way in ("tcp", "shared memory") for share in remote_workloads.SHARES
    ]
    assert all(row["over_all_local"] == 1 and row["provenance"] == "measured" for row in result.rows)
    assert result.goals[0]["met"]
    # Without a guest the goal has no value, and says why; it is not met by that.
    assert result.lacking
    assert result.goals[1]["met"] is None
    assert "no emulator" in result.goals[1]["reason"]
    (figure,) = result.figures
    assert [each["name"] for each in figure["series"]] == ["tcp", "shared memory", "all local"]


@pytest.mark.parametrize(("mine", "met"), [(5000.0, True), (4999.0, False)])
def test_the_goal_is_over_swap_where_it_swapped(
    mine: float, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share in which nothing was swapped is no comparison; ratios of a guest are emulated."""
    monkeypatch.setattr(remote_workloads, "programs", lambda scale: [RANDOM])
    monkeypatch.setattr(remote_workloads, "on_this_machine", lambda workload: ([], [True]))
    monkeypatch.setattr(
        swap_guest, "jobs_of", lambda workload, shares: [
            swap_guest.Job(workload, 32 << 20, share, way)
            for way in (swap_guest.ALL_LOCAL, *swap_guest.WAYS)
            for share in (*shares, 100)
        ]
    )  # fmt: skip
    monkeypatch.setattr(swap_guest, "run", lambda jobs, patience: (_said(jobs, 2e4, 1e3, mine), []))
    result = remote_workloads.run(Options("remote-workloads"))
    (goal,) = (each for each in result.goals if each["name"] == "random_over_swap")
    assert (goal["met"], goal["value"], goal["provenance"]) == (met, mine / 1e3, "emulated")
    assert any("zram" in note and f"{mine / 2e4:.2f}" in note for note in result.notes)
    assert {row["pages_swapped_in"] for row in result.rows if row["where"] == "guest: pager"} == {0}


def test_what_the_guest_runs() -> None:
    """A limit holds whatever is not local; the pager's environment goes before the program that it is for."""
    jobs = [swap_guest.Job(SMALL, 8 << 20, 50, way) for way in swap_guest.WAYS]
    zram, file, mine = (job.script() for job in jobs)
    limit = f"limited {(4 << 20) + SMALL.beside} chroot /host"
    assert all(limit in text for text in (zram, file, mine))
    assert zram.startswith("swapon /dev/zram0\n") and zram.endswith("\nswapoff /dev/zram0")
    assert file.startswith("swapon /dev/vda\n") and file.endswith("\nswapoff /dev/vda")
    assert "swapon" not in mine and "CONSORT_REMOTE_SEGMENTS=" in mine and f"\t{4 << 20}\t" in mine
    served = with_memory(["client", "server"], 1, {"LD_PRELOAD": "x", "HOME": "/"})
    assert served == ["client", "/usr/bin/env", "LD_PRELOAD=x", "server"]


def test_the_c_library_is_asked_for_the_sizes_of_its_blocks() -> None:
    """Programs linked with another allocator, as Debian's Redis is, would else ask that one."""
    made = pager.environment(
        [], threshold=1, faults="handler", prefetch=1, patience_ms=1, reconnect_ms=0, report=None
    )
    assert made["LD_PRELOAD"].split()[1] == "libc.so.6"
