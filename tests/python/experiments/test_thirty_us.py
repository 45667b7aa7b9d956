# SPDX-License-Identifier: Apache-2.0
"""The sweep over memories and waits: what its README prints, and what its limits and medians mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort_bench import thirty_us
from consort_bench.published import experiment_folder
from consort_bench.registry import Options
from consort_bench.thirty_us import MEMORIES, SIZES, US, WAITS, Case

EXAMPLE = thirty_us.load_example()
PLATFORM = EXAMPLE.platform_description
LIMIT = EXAMPLE.tasks["loop"].deadline.picoseconds
CASES = [Case(memory, wait) for memory in MEMORIES for wait in WAITS]


def test_the_readme_has_these_figures(tmp_path: Path) -> None:
    result = thirty_us.run(Options("thirty-us", quick=True, root=tmp_path))
    assert all(goal["met"] for goal in result.goals)
    text = (experiment_folder("low-latency-icc", "thirty-us") / "README.md").read_text(encoding="utf-8")
    printed = [
        [cell.strip().removesuffix(" µs") for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith(("| TCM", "| OCM", "| DDR"))
    ]
    names = {"tcm": "TCM", "ocm": "OCM", "ddr": "DDR", "ddr-cci": "DDR/CCI"}
    assert printed == [
        [
            names[row["memory"]],
            row["wait"],
            *(f"{row[key]:.1f}" for key in ("bound_us", "simulated_max_us", "with_medians_us")),
            "yes" if row["holds"] else "no",
            f"{row['access_at_most_ns'] / 1000:.3f}",
        ]
        for row in result.rows
    ]
    assert {row["rests_on"] for row in result.rows} == {"assumed"}
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    sections = json.loads((folder / "run.json").read_text(encoding="utf-8"))["sections"]
    assert [section["kind"] for section in sections] == ["table", "figure", "table"]
    (curves,) = (section["series"] for section in sections if section["kind"] == "figure")
    assert len(curves) == len(CASES) + 1 and {len(curve["x"]) for curve in curves} == {len(SIZES), 2}
    # No bound rests on a median, and each figure says where it is from.
    assert all(place.endswith(".max") or "exchanges" not in place for place, *_ in sections[2]["rows"])
    assert all(all(row) for row in sections[2]["rows"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.memory}-{case.wait}")
def test_the_longest_access_is_where_the_limit_is_reached(case: Case) -> None:
    longest = thirty_us.longest_access(case, EXAMPLE, PLATFORM, LIMIT)
    assert longest is not None
    for time, holds in ((longest, True), (longest + 1000, False)):
        bound = case.bound(EXAMPLE, thirty_us.with_access(PLATFORM, case.memory, time))
        assert bound.response is not None and (bound.response <= LIMIT) is holds


def test_no_access_is_short_enough_for_a_limit_below_the_rest() -> None:
    assert thirty_us.longest_access(CASES[0], EXAMPLE, PLATFORM, 1 * US) is None


def test_medians_are_the_published_ones() -> None:
    medians = thirty_us.with_medians(PLATFORM)
    times = {name: medians.memories[name].access_picoseconds(4) for name in MEMORIES}
    assert times == {"tcm": 600_000, "ocm": 670_000, "ddr": 1_140_000, "ddr-cci": 1_210_000}
    assert str(medians.exchanges["interrupt-a53-r5f"].max) == "1970ns"
