# SPDX-License-Identifier: Apache-2.0
"""The record of campaigns: each term is attacked, and no bound was exceeded."""

from __future__ import annotations

import campaign
import pytest
from consort.model import System
from consort.run import blocks


@pytest.mark.parametrize("name", campaign.TERMS)
def test_each_term_holds_bounds_against_its_simulator(name: str) -> None:
    *_, counts = campaign.totals(campaign.TERMS[name], range(campaign.FIRST, campaign.FIRST + 20))
    assert counts[0] > 0 and counts[2] == 0


def test_an_exceeded_bound_ends_a_campaign_and_names_its_seed() -> None:
    term = campaign.Term(0, __name__, "exceeded", "none")
    with pytest.raises(SystemExit, match="seed 7: 1 of 3 bounds are exceeded"):
        list(campaign.totals(term, [7]))


def exceeded(_seed: int) -> tuple[int, int, int]:
    return 3, 0, 1


def test_a_size_that_is_not_compared_with_its_type_ends_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    given = blocks._given

    def ignoring(system: System, one: blocks._Size) -> int | None:
        return None if one.part == "data" else given(system, one)

    monkeypatch.setattr(blocks, "_given", ignoring)
    with pytest.raises(AssertionError, match=r"are taken|wrong are"):
        list(campaign.totals(campaign.TERMS["sizes"], range(campaign.FIRST, campaign.FIRST + 100)))


def test_no_seed_is_used_twice() -> None:
    rows = campaign.recorded()
    for name in campaign.TERMS:
        mine = sorted((int(r["first"]), int(r["systems"])) for r in rows if r["term"] == name)
        ends = [first + systems for first, systems in mine]
        assert all(end <= first for end, (first, _) in zip(ends, mine[1:], strict=False))
        assert campaign.next_seed(name) == max([campaign.FIRST, *ends])


def test_no_bound_of_the_record_is_exceeded_and_each_term_is_shown() -> None:
    assert all(row["exceeded"] == "0" for row in campaign.recorded())
    shown = campaign.table()
    assert all(f"| `{name}` | " in shown for name in campaign.TERMS)


def test_what_goes_on_adds_to_its_line() -> None:
    def row(first: int, systems: int, commit: str = "a") -> dict[str, str]:
        values = ("2026-01-01", commit, "supply", *map(str, (first, systems, 3, 2, 0, 5)))
        return dict(zip(campaign.COLUMNS, values, strict=True))

    rows = campaign.added([row(10, 5)], row(15, 7))
    assert [(r["first"], r["systems"], r["bounds"], r["seconds"]) for r in rows] == [("10", "12", "6", "10")]
    assert len(campaign.added(rows, row(23, 1))) == 2  # a gap
    assert len(campaign.added(rows, row(22, 1, "b"))) == 2
