# SPDX-License-Identifier: Apache-2.0
"""`consort bench migrate`: goals of shared regions out of what their program prints."""

from __future__ import annotations

from typing import Any

import pytest
from consort_bench.migrate import shared_streams, stream_goals

pytestmark = pytest.mark.realtime


def printed(**other: dict[str, Any]) -> dict[str, Any]:
    row = {"ns": [10, 20, 1000], "wrong": 0}
    ways: dict[str, Any] = dict.fromkeys(("local", "link", "touch", "pages", "lines"), row) | other
    return {"bytes": 4096, "whole": ways, "sparse": ways}


def test_the_ratio_is_of_medians_and_a_slow_region_misses_the_goal() -> None:
    rows = shared_streams([printed(touch={"ns": [25, 50, 60], "wrong": 0})])
    ratio, wrong = stream_goals(rows)
    assert ratio["name"] == "dsm_over_local" and ratio["value"] == 20 / 50 and not ratio["met"]
    assert wrong["value"] == 0 and wrong["met"]


def test_a_run_on_a_slower_machine_has_the_ratio_of_the_others() -> None:
    """A median of all rounds of local and one of all of the other compare different states of the machine."""
    fast, slow = (
        printed(local={"ns": [one], "wrong": 0}, touch={"ns": [other], "wrong": 1})
        for one, other in ((10, 20), (30, 60))
    )
    rows = shared_streams([fast, slow, slow])
    ratio, wrong = stream_goals(rows)
    assert ratio["value"] == 0.5 and ratio["met"]
    assert wrong["value"] == 6
    uneven = printed(local={"ns": [30], "wrong": 0}, touch={"ns": [90], "wrong": 0})
    assert stream_goals(shared_streams([fast, fast, uneven]))[0]["value"] == 0.5


def test_a_wrong_sum_anywhere_is_counted() -> None:
    _, wrong = stream_goals(shared_streams([printed(lines={"ns": [20], "wrong": 3})]))
    assert wrong["value"] == 6 and not wrong["met"]


def test_a_kernel_that_records_no_writes_has_no_figure() -> None:
    rows = shared_streams([printed(pages={"lacks": "Linux 6.7"})])
    assert {"stream": "whole pages", "lacks": "Linux 6.7"} in rows
    assert stream_goals(rows)[0]["met"]
