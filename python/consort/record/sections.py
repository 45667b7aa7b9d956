# SPDX-License-Identifier: Apache-2.0
"""The parts of a run's record (run.json): a judge's result for one configuration and extra sections of a
report; and the form of a record that somebody else may have left.

Of that form is checked what every reader relies on; further keys pass.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from consort.base.errors import BadInput, ConsortError, Held
from consort.base.units import Statistic
from consort.record.columns import Column, Converted
from consort.record.findings import Findings, findings_of
from consort.record.ran import Ran

Provenance = Literal["published", "derived", "bound", "simulated", "counted", "emulated", "measured"]
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
        raise BadInput(f"'{kind}' is not a kind of section; use table or figure", field="kind")
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


@dataclass(frozen=True, kw_only=True)
class Judgement(Findings):
    """A verdict: whether the system held, why not, and what is to be marked in its tables.

    `status` holds bits to add to the status word of each row of `jobs`, `disturbed` marks the rows whose job
    the machine disturbed. `expected` has the expected outputs of a task (by its number), one row for each row
    of its table of outputs.
    """

    status: NDArray[np.uint32] | None = None
    disturbed: NDArray[np.bool_] | None = None
    expected: dict[int, NDArray[np.void]] = field(default_factory=dict)


# Exceptions that a value of an unexpected form or size raises in code that relies on the form.
DAMAGED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, AssertionError)
# Libraries that read tables and fill in pages, with errors of their own; named, since they load slowly.
READERS = {"pyarrow", "jinja2"}


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=200)]
Number = int | float
_Word = Annotated[Held, Field(strict=False)]


class _Table(_Open):
    file: Annotated[str, Field(min_length=1, max_length=1000)]
    rows: Annotated[int, Field(ge=0)]


class _Clock(_Open):
    provenance: str


class _Summary(_Open):
    n: Annotated[int, Field(ge=0)]
    unit: str
    provenance: str
    # Infinite statistics are null, where releases were not served.
    unserved: Annotated[int, Field(ge=0)] = 0
    min: Number | None
    mean: Number | None
    median: Number | None
    p99: Number | None
    p999: Number | None
    p9999: Number | None
    max: Number | None

    @model_validator(mode="after")
    def _infinite_for_a_reason(self) -> _Summary:
        values = (self.min, self.mean, self.median, self.p99, self.p999, self.p9999, self.max)
        if None in values and not self.unserved:
            raise ValueError("a statistic is missing, though every sample is finite")
        return self


class _Metric(_Open):
    table: str
    column: str


class _Configuration(_Open):
    key: Name
    name: str
    clock: _Clock
    counters: dict[str, Number]
    tables: dict[str, _Table]
    summary: dict[str, _Summary]
    metrics: dict[str, _Metric]
    events: list[dict[str, Any]]
    event_summary: list[dict[str, Any]] = []
    cores: list[str]
    tasks: dict[str, dict[str, Any]] = {}
    plan: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    verdict: dict[str, Any] | None = None


class _Verdict(_Open):
    ok: _Word
    reasons: list[str]


class _Record(_Open):
    id: Name
    name: str
    kind: str
    created: str
    environment: dict[str, Any]
    configurations: list[_Configuration]
    sections: list[Annotated[Section, Field(discriminator="kind")]]
    goals: list[dict[str, Any]]
    verdict: _Verdict


def check_record(data: dict[str, Any], file: Path) -> None:
    """`BadInput` names the first field that is not of the form that a record has.

    A verdict from before it was a word of three is made one.
    """
    _word_verdicts(data)
    try:
        _Record.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"the record is damaged: {first['msg']}", file=file, field=where or None) from None
    except RecursionError:
        raise BadInput("the record is damaged: it is nested too deeply", file=file) from None
    for configuration in data["configurations"]:
        findings_of(configuration, file)
    _check_held(data, file)


def _check_held(data: dict[str, Any], file: Path) -> None:
    """A verdict that all held says nothing else; where something else stands beside it, somebody wrote it."""
    if data["verdict"]["ok"] != Held.HELD:
        return
    parts = {c["key"]: c["verdict"]["ok"] for c in data["configurations"] if c.get("verdict")}
    other = [f"configurations.{key} is {word}" for key, word in parts.items() if word != Held.HELD]
    other += [f"a reason is given: {reason}" for reason in data["verdict"]["reasons"][:1]]
    if other:
        raise BadInput(f"the record is damaged: it held, yet {other[0]}", file=file, field="verdict.ok")


def _word_verdicts(data: dict[str, Any]) -> None:
    configurations = data.get("configurations")
    entries = [data, *(configurations if isinstance(configurations, list) else ())]
    for verdict in [entry.get("verdict") for entry in entries if isinstance(entry, dict)]:
        if isinstance(verdict, dict) and isinstance(verdict.get("ok"), bool):
            unknown = Held.UNDECIDED if verdict.pop("undecided", False) else Held.NOT_HELD
            verdict["ok"] = str(Held.HELD if verdict["ok"] else unknown)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Wraps reads of a record's tables: missing or excess content is `BadInput`.

    A table's content decides which of its libraries objects, and how; that the record is damaged is all
    that its reader needs to know.
    """
    try:
        yield
    except ConsortError:
        raise
    except Exception as error:
        if not isinstance(error, DAMAGED) and type(error).__module__.partition(".")[0] not in READERS:
            raise
        if isinstance(error, MemoryError):
            raise
        said = str(error).strip().splitlines()
        why = f"{type(error).__name__}{f': {said[0][:200]}' if said else ''}"
        raise BadInput(f"the record is damaged and cannot be shown ({why})", file=path) from error
