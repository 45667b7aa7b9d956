# SPDX-License-Identifier: Apache-2.0
"""Models of communication costs are judged on points that they were not fitted to, and a wrong one fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
from consort_bench import communication
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import Options


def rows(paper: str, name: str) -> list[Published]:
    return read_published(experiment_folder(paper, name) / "published.csv")


def test_points_that_were_not_fitted_are_predicted() -> None:
    result = communication.run(Options("communication"))
    assert {goal["name"]: goal["met"] for goal in result.goals} == {
        "table_1_largest_error": True,
        "medians_mean_error": True,
    }
    # Ten sizes and sixteen medians, each with its error.
    assert len(result.rows) == 26
    assert [row["point"] for row in result.rows if row["fitted"]] == ["0 B", "1 B"]
    assert all(row["published"] and row["modelled"] for row in result.rows)


def test_a_cost_for_each_byte_does_not_predict_table_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communication, "accesses", float)
    (first, _) = communication.run(Options("communication")).goals
    assert first["met"] is False and first["value"] > 50


def test_a_median_is_predicted_from_the_others_alone() -> None:
    points = rows("low-latency-icc", "figure3")
    before = communication.medians(points)
    moved = [replace(points[0], text="9999"), *points[1:]]
    after = communication.medians(moved)
    assert (
        after[0]["modelled"] == before[0]["modelled"]
        and after[0]["error_percent"] != before[0]["error_percent"]
    )
    assert after[1]["modelled"] != before[1]["modelled"]
