# SPDX-License-Identifier: Apache-2.0
"""`consort bench communication`: models of messages' costs, held against published points they never saw.

A model that is fitted to all points shows nothing: each point that is judged was left out of the fit, and
each error is printed. What is predicted are means and medians: no bound of `consort analyze` rests on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from consort.base.environment import environment

from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_bench.run_folder import series

# Table I is fitted to these sizes alone [B].
FITTED = (0, 1)
# From this size on memcpy moves words of twice the width, so half as many accesses to each byte.
WIDE = 16
TABLE_1_LIMIT = 4.0
MEDIANS_LIMIT = 15.0
# Memories that a stream on another core disturbs, on its way.
SHARED = ("DDR", "DDR/CCI")


def accesses(size: int) -> float:
    """The number of accesses for a round trip's payload, up to a constant factor."""
    return size if size < WIDE else size / 2


def table_1(rows: Sequence[Published]) -> list[dict[str, Any]]:
    """Mean round trips a + b * accesses(size), with a and b from the sizes 0 and 1."""
    means = {
        int(row.of["size"]): row
        for row in rows
        if row.statistic == "mean" and (row.of["platform"], row.of["interference"]) == ("Jailhouse", "off")
    }
    known = {size: _number(row) for size, row in means.items()}
    first, second = FITTED
    slope = (known[second] - known[first]) / (accesses(second) - accesses(first))
    return [
        _row(
            "Orciari et al. 2024, Table I",
            f"{size} B",
            row,
            known[first] + slope * (accesses(size) - accesses(first)),
            fitted=size in FITTED,
        )
        for size, row in sorted(means.items())
    ]


def medians(rows: Sequence[Published]) -> list[dict[str, Any]]:
    """One-way medians: the memory's own time, and one each for the direction and for load; each left out."""
    points = [row for row in rows if row.statistic == "median"]
    memories = sorted({row.of["memory"] for row in points})
    features = np.array([_features(row, memories) for row in points])
    times = np.array([_number(row) for row in points])
    result = []
    for left, row in enumerate(points):
        others = np.arange(len(points)) != left
        found, *_ = np.linalg.lstsq(features[others], times[others], rcond=None)
        name = f"{row.of['direction']} {row.of['memory']}, {row.of['load']}"
        result.append(
            _row("Coppik et al. 2025, Figure 3", name, row, float(features[left] @ found), fitted=False)
        )
    return result


def _features(row: Published, memories: Sequence[str]) -> list[float]:
    shared = row.of["load"] != "idle" and row.of["memory"] in SHARED
    own = [float(row.of["memory"] == memory) for memory in memories]
    return [*own, float(row.of["direction"].startswith("APU")), float(shared)]


def _number(row: Published) -> float:
    assert row.value is not None
    return row.value


def _row(source: str, point: str, row: Published, modelled: float, *, fitted: bool) -> dict[str, Any]:
    published = _number(row)
    return {
        "source": source,
        "point": point,
        "statistic": row.statistic,
        "published": published,
        "modelled": round(modelled, 4),
        "unit": row.unit,
        "error_percent": round(100 * (modelled / published - 1), 2),
        "fitted": fitted,
        "provenance": "derived",
    }


def figures(trips: Sequence[dict[str, Any]], ways: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Published beside modelled: Table I over its sizes, and each median over the printed one."""
    sizes = [float(row["point"].split()[0]) for row in trips]
    left_out = [(x, row["modelled"]) for x, row in zip(sizes, trips, strict=True) if not row["fitted"]]
    printed = [row["published"] for row in ways]
    return [
        {
            "title": "Table I: mean round trip",
            "x": {"label": "payload", "unit": "byte"},
            "y": {"label": "mean round trip", "unit": "us"},
            "series": [
                series("published", "published", zip(sizes, (r["published"] for r in trips), strict=True)),
                series("modelled from sizes 0 and 1", "derived", left_out),
            ],
            "source": trips[0]["source"],
        },
        {
            "title": "Figure 3: medians, each predicted from the others",
            "x": {"label": "published median", "unit": "ns"},
            "y": {"label": "median", "unit": "ns"},
            "series": [
                series("published", "published", zip(printed, printed, strict=True)),
                series("modelled", "derived", zip(printed, (r["modelled"] for r in ways), strict=True)),
            ],
            "source": ways[0]["source"],
        },
    ]


def run(options: Options) -> BenchResult:
    """Computes; nothing is measured."""
    papers = (
        ("taming-edge-computing", "table1"),
        ("low-latency-icc", "figure3"),
        ("low-latency-icc", "figure4"),
    )
    one, three, four = (read_published(experiment_folder(*paper) / "published.csv") for paper in papers)
    trips, ways = table_1(one), medians(three)
    errors = [abs(row["error_percent"]) for row in trips if not row["fitted"]]
    left_out = [abs(row["error_percent"]) for row in ways]
    goals = [
        goal("table_1_largest_error", max(errors), "%", "<=", TABLE_1_LIMIT, provenance="derived"),
        goal(
            "medians_mean_error",
            sum(left_out) / len(left_out),
            "%",
            "<=",
            MEDIANS_LIMIT,
            provenance="derived",
        ),
    ]
    interrupts = ", ".join(f"{r.of['direction']} {r.text} {r.unit}" for r in four if r.value is not None)
    notes = [
        "Table I is fitted to the sizes 0 and 1; of the medians each is predicted from the fifteen others.",
        f"largest error of a median: {max(left_out):.1f} %",
        f"Not predicted: the interrupts of Figure 4 ({interrupts}), of which there is one a direction, and"
        " Figure 5, of which the paper prints no number.",
        "Means and medians bound nothing: a bound rests on maxima or on what is assumed.",
    ]
    return BenchResult(goals, [*trips, *ways], environment(), notes, figures=figures(trips, ways))
