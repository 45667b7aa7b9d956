# SPDX-License-Identifier: Apache-2.0
"""A judge's result for one configuration as a run keeps it, and extra sections of a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from consort.base.errors import BadInput, Held
from consort.record.columns import Column, Converted
from consort.record.ran import Ran

Provenance = Literal["published", "derived", "bound", "simulated", "counted", "emulated", "measured"]
Statistic = Literal["min", "mean", "median", "p99", "p999", "p9999", "max"]
Cell = str | int | float | bool | None
# Sections that a run that goes from mode to mode adds to its report; the terminal shows them, too.
CHANGES_OF_MODE = "Changes of mode"
HAND_OVERS = "Hand-over of tasks"
PHASES = "Phases of the hand-overs"
FAIL_OVERS = "Fail-over"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnSpec(_Strict):
    """A column of figures names its provenance; one of labels or parameters has none."""

    name: str
    unit: str = ""
    provenance: Provenance | None = None


class TableSection(_Strict):
    kind: Literal["table"] = "table"
    title: str
    columns: Annotated[list[ColumnSpec], Field(min_length=1)]
    rows: list[list[Cell]]
    note: str = ""
    source: str = ""

    @model_validator(mode="after")
    def _rectangular(self) -> TableSection:
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {index} has {len(row)} cells for {len(self.columns)} columns")
        return self


class Axis(_Strict):
    label: str
    unit: str = ""
    log: bool = False


class Series(_Strict):
    name: str
    provenance: Provenance
    x: list[float]
    y: list[float | None]

    @model_validator(mode="after")
    def _same_length(self) -> Series:
        if len(self.x) != len(self.y):
            raise ValueError(f"series '{self.name}' has {len(self.x)} x and {len(self.y)} y values")
        return self


class FigureSection(_Strict):
    kind: Literal["figure"] = "figure"
    title: str
    x: Axis
    y: Axis
    series: Annotated[list[Series], Field(min_length=1)]
    note: str = ""
    source: str = ""


class PublishedRow(_Strict):
    """A paper's figures for a metric of a configuration, to stand beside the measured ones."""

    metric: str
    values: Annotated[dict[Statistic, float], Field(min_length=1)]
    unit: Literal["ns", "us", "ms", "s"]
    source: Annotated[str, Field(min_length=1)]


Section = TableSection | FigureSection


def make_section(title: str, kind: str, content: dict[str, Any]) -> Section:
    """A checked section; BadInput names the part that is wrong."""
    models: dict[str, type[TableSection] | type[FigureSection]] = {
        "table": TableSection,
        "figure": FigureSection,
    }
    if kind not in models:
        raise BadInput(f"'{kind}' is no kind of section; use table or figure", field="kind")
    try:
        return models[kind].model_validate({"title": title, **content})
    except ValidationError as error:
        raise _as_bad_input(error, f"section '{title}'") from None


def make_published(row: dict[str, Any]) -> PublishedRow:
    try:
        return PublishedRow.model_validate(row)
    except ValidationError as error:
        raise _as_bad_input(error, "published") from None


def _as_bad_input(error: ValidationError, what: str) -> BadInput:
    first = error.errors()[0]
    field = ".".join([what, *(str(part) for part in first["loc"])])
    return BadInput(first["msg"].removeprefix("Value error, "), field=field)


_TABLE = re.compile(r"outputs-(\d+)")
EXPECTED = "_expected"


def task_of(table: str, ran: Ran | None) -> int | None:
    """The number of the task whose outputs a raw table holds; None for any other table."""
    found = _TABLE.fullmatch(table)
    if found is None or ran is None or int(found[1]) >= len(ran.tasks):
        return None
    return int(found[1])


def column_name(member: str) -> str:
    """A path to a member of a C++ struct as the name of a column: axes[2].limit is axes_2_limit."""
    return re.sub(r"[^A-Za-z0-9_]", "_", member.replace("]", ""))


def numbered(struct: np.dtype[Any], by: str = "seq") -> np.dtype[Any]:
    """Rows of a struct behind a number: an output behind its job's. Each element stands by itself."""
    members: Mapping[str, Any] = struct.fields or {}
    fields = [(by, np.dtype("<u8"), 0)]
    for name in struct.names or ():
        of, offset = members[name][:2]
        for number, index in enumerate(np.ndindex(of.shape)):
            element = "_".join([column_name(name), *map(str, index)])
            fields.append((element, of.base, 8 + offset + number * of.base.itemsize))
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": 8 + struct.itemsize})


def beside_expected(converted: Converted, expected: NDArray[np.void]) -> Converted:
    """Puts a column `<member>_expected` after each member's column."""
    members = {column_name(name): name for name in expected.dtype.names or ()}
    columns = []
    for column in converted.columns:
        columns.append(column)
        if column.name in members:
            values = np.ascontiguousarray(expected[members[column.name]])
            columns.append(Column(column.name + EXPECTED, values, column.unit, "expected"))
    return Converted(columns, converted.metrics)


__all__ = ["Held", "Judgement"]


@dataclass(frozen=True)
class Judgement:
    """A verdict: whether the system held, why not, and what is to be marked in its tables.

    `data` goes into run.json as it is. `status` holds bits to add to the status word of each row of `jobs`,
    `disturbed` marks the rows whose job the machine disturbed. `expected` has the expected outputs of a task
    (by its number), one row for each row of its table of outputs. `reasons`: why it did not hold, and what is
    not known.
    """

    ok: Held
    reasons: tuple[str, ...]
    data: dict[str, Any]
    status: NDArray[np.uint32] | None = None
    disturbed: NDArray[np.bool_] | None = None
    expected: dict[int, NDArray[np.void]] = field(default_factory=dict)
