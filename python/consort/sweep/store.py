# SPDX-License-Identifier: Apache-2.0
"""The folder of a sweep: its subject, its finished cells as Parquet files, and its result by points.

Each file appears whole or not at all, so a client may be killed at any moment. One client writes at a time.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from consort.base.environment import environment
from consort.base.errors import BadInput
from consort.base.files import LARGEST_RECORD, read_bytes, replace_file, written_whole
from consort.sweep.cells import FORMAT, Cells, Spec, digest
from consort.sweep.model import FIGURES, SHARES, column_of, provenance_of
from consort.sweep.work import Done, code

MANIFEST, CELLS, RESULT, LOCK = "sweep.json", "cells", "result.parquet", ".lock"
_TYPES: dict[str, pa.DataType] = {
    "int64": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "list<int64>": pa.list_(pa.int64()),
}
# Damage inside of a file shows when it is read.
_CHECKED: dict[str, Any] = {"page_checksum_verification": True}


class Store:
    """The folder, held by one client."""

    def __init__(self, folder: Path, cells: Cells) -> None:
        self.folder = folder
        self.cells = cells
        self.schema = schema_of(cells)
        self.damaged: list[Path] = []
        """Files of cells that could not be read: what was in them is computed again."""

    def finished(self) -> set[tuple[int, int]]:
        """The cells that are there; files that are damaged are removed."""
        found: set[tuple[int, int]] = set()
        for file in self._files():
            try:
                table = self._read(file, ["combination", "block"])
            except (OSError, pa.ArrowException, ValueError):
                self.damaged.append(file)
                file.unlink()
                continue
            columns = (table.column(name).to_pylist() for name in ("combination", "block"))
            found |= set(zip(*columns, strict=True))
        return found

    def put(self, done: list[Done]) -> None:
        """Writes the rows of finished cells as one file."""
        table = self._table(done)
        if table.num_rows:
            name = digest([table.column(key).to_pylist() for key in ("cell", "row")], 10)
            write_whole(table, self.folder / CELLS / f"{name}.parquet")

    def result(self) -> pa.Table:
        """All rows, each cell once, in the canonical order: the same however they came about."""
        tables = [self._read(file) for file in self._files()]
        if not tables:
            return self.schema.empty_table()
        table = pa.concat_tables(tables)
        place = {cell: index for index, cell in enumerate(self.cells)}
        where = zip(*(table.column(name).to_pylist() for name in ("combination", "block")), strict=True)
        table = table.append_column("place", pa.array([place[cell] for cell in where], pa.int64()))
        table = table.sort_by([("place", "ascending"), ("row", "ascending")])
        table = table.filter(_first_of_each(table))
        return table.drop_columns(["place"]).combine_chunks()

    def write_result(self) -> pa.Table:
        table = self.result()
        write_whole(table, self.folder / RESULT)
        return table

    def _files(self) -> list[Path]:
        return sorted((self.folder / CELLS).glob("*.parquet"))

    def _read(self, file: Path, columns: list[str] | None = None) -> pa.Table:
        # All columns are read where it is looked for damage, too.
        table = pq.ParquetFile(file, **_CHECKED).read()
        if table.schema != self.schema:
            raise ValueError("other columns")
        return table if columns is None else table.select(columns)

    def _table(self, done: list[Done]) -> pa.Table:
        """Column by column: a client of many workers has some ten thousand cells a second to write."""
        columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}
        figures = [columns[figure.name] for figure in FIGURES[self.cells.kind]]
        for one in done:
            for combination, block, rows in one.rows:
                key = self.cells.key(combination, block)
                for index, row in enumerate(rows):
                    columns["cell"].append(key)
                    columns["combination"].append(combination)
                    columns["block"].append(block)
                    columns["row"].append(index)
                    for column, value in zip(figures, row, strict=True):
                        column.append(value)
        places = columns["combination"]
        for name, of_each in self._of_combinations(set(places)).items():
            columns[name] = [of_each[place] for place in places]
        arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _of_combinations(self, chosen: set[int]) -> dict[str, dict[int, Any]]:
        """The columns that are the same in all rows of a combination: its analysis and parameters."""
        combinations = {place: self.cells.combinations[place] for place in chosen}
        kind = self.cells.kind
        found: dict[str, dict[int, Any]] = {
            "analysis": {place: one.analysis for place, one in combinations.items()},
            "provenance": {place: provenance_of(kind, one.analysis) for place, one in combinations.items()},
        }
        for name in self.cells.spec["parameters"]:
            found[column_of(name)] = {
                place: _as_stored(one.parameters[name]) if name in one.parameters else None
                for place, one in combinations.items()
            }
        return found


def _as_stored(value: Any) -> Any:
    """A parameter's value in its column: numbers as numbers, all else as text."""
    return value if isinstance(value, bool | int | float) else str(value)


def schema_of(cells: Cells) -> pa.Schema:
    """The columns of a sweep: which cell, its parameters, its figures."""
    fields = [
        pa.field("cell", pa.string()),
        pa.field("combination", pa.int64()),
        pa.field("block", pa.int64()),
        pa.field("row", pa.int64()),
        pa.field("analysis", pa.string()),
        pa.field("provenance", pa.string()),
    ]
    for name, values in cells.spec["parameters"].items():
        kinds = {type(value) for value in values}
        kind = pa.string()
        if kinds == {bool}:
            kind = pa.bool_()
        elif kinds == {int}:
            kind = pa.int64()
        elif kinds <= {int, float}:
            kind = pa.float64()
        fields.append(pa.field(column_of(name), kind))
    for figure in FIGURES[cells.kind]:
        metadata = {"meaning": figure.meaning, "unit": figure.unit}
        fields.append(pa.field(figure.name, _TYPES[figure.type], metadata=metadata))
    return pa.schema(fields)


def _first_of_each(table: pa.Table) -> pa.Array:
    """A mask of the first of equal consecutive rows: a batch may have been written twice."""
    if table.num_rows < 2:
        return pa.array([True] * table.num_rows)
    place, row = (table.column(name).combine_chunks() for name in ("place", "row"))
    new = pc.or_(
        pc.not_equal(place.slice(1), place.slice(0, len(place) - 1)),
        pc.not_equal(row.slice(1), row.slice(0, len(row) - 1)),
    )
    return pa.concat_arrays([pa.array([True]), new])


def write_whole(table: pa.Table, file: Path) -> None:
    """Writes a Parquet file that is there whole or not at all, even when the machine stops."""
    with written_whole(file) as part, part.open("wb") as out:
        pq.write_table(table, out, compression="zstd", write_page_checksum=True)
        out.flush()
        os.fsync(out.fileno())
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def open_store(folder: Path, cells: Cells, name: str) -> Iterator[Store]:
    """The folder of a sweep, made or gone on with; `BadInput` where it is of another one, or in use."""
    try:
        (folder / CELLS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}; name another folder", file=folder) from None
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        text = "another consort sweep writes into this folder; wait for it, or name another with --out"
        raise BadInput(text, file=folder) from None
    try:
        _check_manifest(folder, cells, name)
        for left in (folder / CELLS).glob(".*.parquet.*"):
            left.unlink()
        yield Store(folder, cells)
    finally:
        lock.release()


def identity(cells: Cells) -> str:
    """A digest of a sweep's subject and of the code that computes it."""
    return digest([what(cells.spec), code()])


def what(spec: Spec) -> str:
    """A digest of a sweep's subject."""
    return digest({key: value for key, value in spec.items() if key != "file"})


def _check_manifest(folder: Path, cells: Cells, name: str) -> None:
    file = folder / MANIFEST
    mine = {"identity": what(cells.spec), "code": code()}
    try:
        there = json.loads(read_bytes(file, LARGEST_RECORD, "record of a sweep"))
    except FileNotFoundError:
        if any((folder / CELLS).iterdir()):
            raise BadInput(f"holds cells and no {MANIFEST}; name another folder", file=folder) from None
        data = {"consort_sweep": FORMAT, "name": name, **mine, "spec": cells.spec, "made_on": environment()}
        replace_file(file, json.dumps(data, indent=1))
        return
    except (ValueError, BadInput):
        raise BadInput("cannot be read; name another folder", file=file) from None
    if not isinstance(there, dict) or there.get("consort_sweep") != FORMAT:
        raise BadInput("is of another version; name another folder with --out", file=file)
    if there.get("identity") != mine["identity"]:
        raise BadInput("this folder is of another sweep; name another with --out, or remove it", file=folder)
    if there.get("code") != mine["code"]:
        text = "the cells of this folder were computed by another version of Consort; name another with --out"
        raise BadInput(text, file=folder)


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
            shown = {column_of(name): _as_stored(value) for name, value in all_parameters.items()}
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
