# SPDX-License-Identifier: Apache-2.0
"""The run folder of an experiment that writes none while it measures: its rows, figures and goals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from consort.record import RunWriter
from consort.report import PAGES

from consort_bench.registry import BenchResult, Options, grouped

# The provenance of a column by the beginning of its name, where its rows do not say so.
BY_NAME = ("published", "simulated", "derived", "counted")


def series(name: str, provenance: str, points: Iterable[tuple[float, float | None]]) -> dict[str, Any]:
    """One curve of a figure, in the order of its x."""
    ordered = sorted(points, key=lambda point: point[0])
    return {
        "name": name,
        "provenance": provenance,
        "x": [x for x, _ in ordered],
        "y": [y for _, y in ordered],
    }


def leave(result: BenchResult, options: Options) -> BenchResult:
    """Writes the folder, and returns the result with where it is."""
    title = options.name.replace("-", " ")
    with RunWriter(options.name, "experiment", options.root, command=options.command, pages=PAGES) as writer:
        for section in result.figures:
            writer.add_section(kind="figure", **section)
        for number, (columns, rows) in enumerate(grouped(result.rows)):
            writer.add_section(
                f"{title}: table {number + 1}",
                columns=[_column(name, rows) for name in columns],
                rows=[[_cell(row[name]) for name in columns] for row in rows],
                note="" if number else " ".join(result.notes),
            )
        writer.add_goals([goal for goal in result.goals if goal["met"] is not None])
        finished = writer.finish()
    return replace(
        result,
        machine=finished.data["environment"],
        notes=[*result.notes, f"report: {finished.path / 'report.html'}"],
        extra=result.extra | {"run": str(finished.path)},
    )


def _column(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    figures = any(isinstance(row[name], float) for row in rows)
    if not figures or "provenance" in rows[0]:
        return {"name": name.replace("_", " ")}
    kind = next((kind for kind in BY_NAME if name.startswith(kind)), "measured")
    return {"name": name.replace("_", " "), "provenance": kind}


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
