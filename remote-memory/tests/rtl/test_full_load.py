# SPDX-License-Identifier: Apache-2.0
"""The longest access of 64 bytes under full load is computed, and never exceeded in simulation."""

from __future__ import annotations

import pytest
from consort_remote import run, worst_case


def held(load: run.FullLoad, alone: int) -> None:
    limit = load.bound
    rows = run.worst(load)
    assert len(rows) == 5
    assert all(row["others"] > 50 for row in rows)
    longest = max(max(row["longest_read"], row["longest_write"]) for row in rows)
    # The others do stand in its way, and the bound is of the same kind of size.
    assert 4 * alone < longest <= limit < 20 * longest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "alone"),
    [
        (run.FullLoad(200, seed=11), 47),
        (run.FullLoad(200, link_latency=50, rate=31775, seed=12), 170),
    ],
    ids=["as fast as the blocks", "20 Gb/s"],
)
def test_the_bound_holds_with_two_ports(load, alone):
    held(load, alone)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22, 23])
@pytest.mark.parametrize("ports", [2, 4])
def test_the_bound_holds_for_long(ports, seed):
    held(run.FullLoad(5000, link_latency=20 * (seed % 4), rate=31775, seed=seed, ports=ports), 100)


def test_each_stage_counts():
    terms = worst_case.access_64(2, 1.0, 0, 20)
    assert all(term.cycles > 0 for term in terms)
    assert sum(term.cycles for term in terms) == worst_case.bound(2, 1.0, 0, 20)
    # Without other ports nothing is before it.
    alone = {term.stage: term.cycles for term in worst_case.access_64(1, 1.0, 0, 20)}
    assert alone["requests before it at the mBlock"] == alone["answers before it on the link"] == 0
    assert worst_case.bound(3, 1.0, 0, 20) > worst_case.bound(2, 1.0, 0, 20)
    assert worst_case.bound(2, 2.1, 0, 20) > worst_case.bound(2, 1.0, 0, 20)


def test_at_least_32_reads_and_writes_are_outstanding():
    most = run.outstanding()
    assert most["reads"] >= 32
    assert most["writes"] >= 32
