# SPDX-License-Identifier: Apache-2.0
"""Urgent accesses keep their bound against a flood of others, and would not without shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from consort.base.errors import ConsortError
from consort_remote import build, run
from consort_remote.worst_case import Share, access_64, bound
from consort_remote_bench.remap import FLOOD

ROOT = Path(__file__).parents[2]


def longest(rows: list[dict[str, int]]) -> int:
    assert len(rows) == 5
    return max(max(row["longest_read"], row["longest_write"]) for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "load",
    [
        FLOOD,
        replace(FLOOD, rate=0, seed=6),
        replace(FLOOD, share=Share(64, 72), link_latency=50, rate=31775, seed=7),
        # The longest bursts are longer than the share, and go alone.
        replace(FLOOD, longest=256, seed=8),
        replace(FLOOD, ports=4, seed=9),
    ],
    ids=["slow PHY", "as fast as the blocks", "20 Gb/s", "long bursts", "four ports"],
)
def test_urgent_accesses_keep_their_bound_against_a_flood(load: run.FullLoad) -> None:
    rows = run.worst(load)
    assert longest(rows) <= load.bound
    # The others go on.
    assert all(row["others"] > 10 for row in rows)


@pytest.mark.slow
def test_without_shares_the_same_flood_breaks_that_bound() -> None:
    assert longest(run.worst(replace(FLOOD, share=None))) > FLOOD.bound


# Writes hardly wait behind each other at a memory that takes a beat a cycle, share or not: what holds theirs
# is the proof of write_share.
@pytest.mark.slow
def test_a_port_whose_reads_keep_to_no_share_is_found_out(tmp_path: Path) -> None:
    source = build.module(ROOT, "port_read")
    text = source.read_text(encoding="utf-8")
    right = "held_q <= qos_i.reads != '0 &&"
    assert text.count(right) == 1
    changed = tmp_path / source.name
    changed.write_text(text.replace(right, "held_q <= 1'b0 &&"), encoding="utf-8")
    assert longest(run.worst(FLOOD, more=(changed,))) > FLOOD.bound


def test_a_share_shortens_the_bound_and_less_of_it_more() -> None:
    limits = [
        bound(2, 4, 0, 20, share, 16)
        for share in (None, Share(0, 0), Share(128, 144), Share(32, 36), Share(16, 20))
    ]
    assert limits == sorted(limits, reverse=True)
    assert len(set(limits)) == len(limits)


def test_what_is_longer_than_a_share_goes_alone() -> None:
    def at(share: Share, longest: int) -> list[int]:
        return [term.cycles for term in access_64(2, 1.0, 0, 20, share, longest)]

    assert at(Share(16, 18), 16) == at(Share(1, 1), 16)
    assert at(Share(16, 18), 16) != at(Share(17, 18), 16) != at(Share(17, 19), 16)
    # No burst is longer than 256 beats, and there is no room for more than there is.
    assert at(Share(1023, 1023), 256) == at(Share(0, 0), 256)


def test_nobody_waits_for_the_replay_buffer_where_all_that_is_under_way_fits() -> None:
    def stall(ports: int, share: Share | None) -> int:
        return {term.stage: term.cycles for term in access_64(ports, 1.0, 0, 20, share, 16)}[
            "room in the replay buffer of requests"
        ]

    assert stall(2, Share(16, 20)) == 0
    assert stall(2, Share(512, 320)) == stall(2, None) > 0
    assert stall(4, Share(128, 144)) > 0


@pytest.mark.parametrize(("reads", "writes", "said"), [(1024, 0, "reads are 1024"), (0, -1, "writes are -1")])
def test_a_share_that_no_register_holds_is_refused(reads: int, writes: int, said: str) -> None:
    with pytest.raises(ConsortError, match=said):
        Share(reads, writes)
