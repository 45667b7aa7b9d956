# SPDX-License-Identifier: Apache-2.0
"""The result of a sweep by points: blocks put together, every combination of parameters with its figures."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa

from consort.base.files import written_whole
from consort.sweep.cells import Cells
from consort.sweep.figures import FIGURES, SHARES, column_of, provenance_of
from consort.sweep.store import as_stored

POINTS = "points.csv"
Point = dict[str, Any]


def points(cells: Cells, result: pa.Table) -> list[Point]:
    """One row for each analysis, combination of all parameters and, of a description, each thing bounded.

    What does not depend on a parameter was computed once, and stands here at each of its values.
    """
    together = _together(cells, result.to_pylist())
    values = cells.spec["parameters"]
    shares = SHARES[cells.kind]
    by_parameters: dict[tuple[Any, ...], int] = {}
    for index, one in enumerate(cells.combinations):
        by_parameters[one.analysis, *one.parameters.items()] = index
    found = []
    depends = {one.analysis: list(one.parameters) for one in cells.combinations}
    for analysis in cells.spec["analyses"]:
        for chosen in itertools.product(*values.values()):
            all_parameters = dict(zip(values, chosen, strict=True))
            own = ((name, all_parameters[name]) for name in depends[analysis])
            combination = by_parameters[analysis, *own]
            shown = {column_of(name): as_stored(value) for name, value in all_parameters.items()}
            for row in together.get(combination, ()):
                point = {"analysis": analysis, **shown, **row}
                point |= {name: compute(row) for name, compute, _ in shares}
                found.append(point | {"provenance": provenance_of(cells.kind, analysis)})
    return found


def _together(cells: Cells, rows: list[dict[str, Any]]) -> dict[int, list[Point]]:
    """The rows of each combination, those of its blocks made one."""
    figures = FIGURES[cells.kind]
    found: dict[int, list[Point]] = {}
    for row in rows:
        mine = {figure.name: row[figure.name] for figure in figures}
        before = found.setdefault(row["combination"], [])
        if cells.kind == "description" or not before:
            before.append(mine)
            continue
        for figure in figures:
            before[0][figure.name] = _put(figure.together, before[0][figure.name], mine[figure.name])
    return found


def _put(how: str, a: Any, b: Any) -> Any:
    if how == "sum":
        return a + b
    if how == "largest":
        return max(a, b)
    if how == "elementwise":
        return [x + y for x, y in itertools.zip_longest(a, b, fillvalue=0)]
    return b if a is None else a


def write_points(rows: list[Point], file: Path) -> None:
    """Writes the points as CSV, whole or not at all."""
    with written_whole(file) as part, part.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
