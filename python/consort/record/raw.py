# SPDX-License-Identifier: Apache-2.0
"""The raw run folder: packed binary tables and the manifest that says what they hold, written and read.

The programs that measure write it (C++, ports/linux), or this module for the simulator and boards; its
reference is docs/reference/run-record.md.
The manifest is written last, so that its presence means that the recording is complete.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consort.base.errors import BadInput
from consort.base.files import read_json, write_json
from consort.record.ran import PLAN_FILE, Ran, load_plan, write_plan

if TYPE_CHECKING:
    from consort.plan import Plan


MANIFEST = "manifest.json"
_FORMAT = 1
_NO_TIME = np.iinfo(np.uint64).max

Kind = Literal["timestamp", "duration", "sample"]


class IncompleteRun(BadInput):
    """A raw run folder without a manifest: the program ended before its recording was complete."""


class _Strict(BaseModel):
    """Unknown keys are an error: a misspelt key must not turn into a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FieldSpec(_Strict):
    """One field of a table's fixed-size record."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    type: Literal["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]
    offset: Annotated[int, Field(ge=0)]
    unit: str = ""
    kind: Kind | None = None

    @property
    def size(self) -> int:
        return int(self.type[1:])


class TableSpec(_Strict):
    """One binary file: rows of packed little-endian records."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    file: str
    rows: Annotated[int, Field(ge=0)]
    record_bytes: Annotated[int, Field(gt=0)]
    fields: Annotated[list[FieldSpec], Field(min_length=1)]
    attrs: dict[str, Any] = {}


class Clock(_Strict):
    """The clock that the ticks of the recording come from."""

    name: str
    ticks_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    resolution_ticks: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1
    provenance: Literal["measured", "simulated", "counted", "emulated"] = "measured"
    source: str = ""
    disagreement_ppm: float | None = None
    notes: list[str] = []


class Event(_Strict):
    """Something that happened once, such as the death of a worker."""

    tick: Annotated[int, Field(ge=0)]
    name: str
    args: dict[str, Any] = {}


class Manifest(_Strict):
    format: Literal[1]
    program: str
    config: Any = None
    clock: Clock
    tables: list[TableSpec]
    events: list[Event] = []
    counters: dict[str, int | float] = {}
    realtime: dict[str, Any] = {}


# A table as its columns, each of which lies in one piece.
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class RawTable:
    """A table's rows, mapped from its file, or its columns, and what each field is."""

    spec: TableSpec
    given: NDArray[np.void] | Columns

    @property
    def name(self) -> str:
        return self.spec.name

    def __getitem__(self, field: str) -> NDArray[Any]:
        """The column of a field: of rows a view."""
        found: NDArray[Any] = self.given[field]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return names_of(self.given)

    @cached_property
    def rows(self) -> NDArray[np.void]:
        """The rows; those of columns are put together when they are first asked for."""
        return self.given if isinstance(self.given, np.ndarray) else packed(self.given)

    def of(self, rows: NDArray[np.void], name: str = "") -> RawTable:
        """A table of some of the rows, or of such rows."""
        spec = self.spec.model_copy(update={"name": name or self.name, "rows": int(rows.size)})
        return RawTable(spec, rows)


@dataclass(frozen=True)
class RawRun:
    """A complete, validated recording of one configuration."""

    path: Path
    manifest: Manifest
    tables: dict[str, RawTable]
    ran: Ran | None = None
    """The system that ran; None for programs without a plan."""

    @staticmethod
    def load(folder: str | Path, plan: Plan | None = None) -> RawRun:
        """Reads and checks a raw run folder; BadInput names the file and field that is wrong.

        `plan`: the one that ran, where it is at hand; else it is read from the folder, if that holds one.
        """
        path = Path(folder)
        if not path.is_dir():
            raise BadInput("no such folder", file=path)
        manifest = _load_manifest(path / MANIFEST)
        tables: dict[str, RawTable] = {}
        for index, spec in enumerate(manifest.tables):
            if spec.name in tables:
                raise BadInput(
                    f"table '{spec.name}' is listed twice", file=path / MANIFEST, field=f"tables.{index}.name"
                )
            tables[spec.name] = _load_table(path, index, spec)
        if plan is None and (path / PLAN_FILE).is_file():
            plan = load_plan(path / PLAN_FILE)
        ran = None if plan is None else Ran.of(plan, manifest.config, file=path / MANIFEST)
        return RawRun(path, manifest, tables, ran)

    def origin(self) -> int:
        """The first tick of the run: the smallest time stamp recorded in any table or event.

        A time stamp of 0 means that the thing did not happen (a job that was never sent) and is not a time.
        """
        firsts = [event.tick for event in self.manifest.events if event.tick > 0]
        if 1 in firsts:
            return 1  # and no row has an earlier one
        for table in self.tables.values():
            for field in table.spec.fields:
                if field.kind == "timestamp" and field.unit == "tick":
                    column = table[field.name]
                    # One below 0 is the largest of all.
                    if column.size and (least := int((column - np.uint64(1)).min())) != _NO_TIME:
                        firsts.append(least + 1)
        return min(firsts, default=0)


def _load_manifest(file: Path) -> Manifest:
    try:
        data = read_json(file, "manifest")
    except FileNotFoundError:
        raise IncompleteRun(
            f"no {MANIFEST}: the recording is incomplete, because the program ended before writing it",
            file=file.parent,
        ) from None
    if isinstance(data, dict) and data.get("format") != _FORMAT:
        raise BadInput(
            f"format {data.get('format')!r} is not known; this version reads format {_FORMAT}",
            file=file,
            field="format",
        )
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(first["msg"], file=file, field=where or None) from None


def _load_table(folder: Path, index: int, spec: TableSpec) -> RawTable:
    where = f"tables.{index}"
    _check_fields(folder / MANIFEST, where, spec)
    if Path(spec.file).name != spec.file or spec.file in ("", ".", ".."):
        raise BadInput(
            f"'{spec.file}' is not a plain file name in the folder",
            file=folder / MANIFEST,
            field=f"{where}.file",
        )
    file = folder / spec.file
    if not file.is_file():
        raise BadInput(f"missing, though {MANIFEST} lists it as table '{spec.name}'", file=file)
    need = spec.rows * spec.record_bytes
    have = file.stat().st_size
    if have != need:
        what = "truncated" if have < need else "longer than its table"
        raise BadInput(
            f"{what}: {have} bytes, but {spec.rows} rows of {spec.record_bytes} bytes are {need}", file=file
        )
    try:
        dtype = np.dtype(
            {
                "names": [field.name for field in spec.fields],
                "formats": ["<" + field.type for field in spec.fields],
                "offsets": [field.offset for field in spec.fields],
                "itemsize": spec.record_bytes,
            }
        )
    except (ValueError, OverflowError) as error:
        raise BadInput(f"a record cannot be so: {error}", file=folder / MANIFEST, field=where) from None
    # An empty file cannot be mapped.
    rows: NDArray[np.void] = np.memmap(file, dtype=dtype, mode="r") if need else np.empty(0, dtype=dtype)
    return RawTable(spec, rows)


def _check_fields(manifest: Path, where: str, spec: TableSpec) -> None:
    """Every field lies in the record and no two fields overlap or share a name."""
    end = 0
    before = ""
    names: set[str] = set()
    for field in sorted(spec.fields, key=lambda f: f.offset):
        if field.name in names:
            raise BadInput(f"field '{field.name}' is listed twice", file=manifest, field=f"{where}.fields")
        names.add(field.name)
        if field.offset < end:
            raise BadInput(
                f"field '{field.name}' at offset {field.offset} overlaps '{before}'",
                file=manifest,
                field=f"{where}.fields",
            )
        end = field.offset + field.size
        before = field.name
        if end > spec.record_bytes:
            raise BadInput(
                f"field '{field.name}' ends at byte {end} of a record of {spec.record_bytes} bytes",
                file=manifest,
                field=f"{where}.fields",
            )
        if field.kind in ("timestamp", "duration") and field.unit == "tick" and field.type != "u8":
            raise BadInput(
                f"field '{field.name}' counts ticks in {field.type}; ticks are u8",
                file=manifest,
                field=f"{where}.fields",
            )


def names_of(table: NDArray[np.void] | Columns) -> tuple[str, ...]:
    return (table.dtype.names or ()) if isinstance(table, np.ndarray) else tuple(table)


def size_of(columns: Columns) -> int:
    return next(iter(columns.values())).size


def packed(columns: Columns) -> NDArray[np.void]:
    """The columns as rows of fields without gaps."""
    rows = np.empty(size_of(columns), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        rows[name] = column
    return rows


def write_table(
    folder: Path,
    name: str,
    rows: NDArray[np.void],
    *,
    stamps: Collection[str] = (),
    durations: Collection[str] = (),
) -> dict[str, Any]:
    """Writes a table's file into `folder` and returns its entry of the manifest."""
    entry = table_entry(name, rows, stamps, durations)
    rows.tofile(folder / entry["file"])
    return entry


def table_entry(
    name: str,
    rows: NDArray[np.void] | Columns,
    stamps: Collection[str] = (),
    durations: Collection[str] = (),
) -> dict[str, Any]:
    """A table's entry of the manifest.

    `rows`, or the columns of such, is one-dimensional, little-endian, of named fields; a field that is an
    array stays in the file without being described. `stamps` and `durations` name the fields that are times,
    in ticks (u8).
    """
    if not isinstance(rows, np.ndarray):
        # Only their form and their number say something here.
        size, rows = size_of(rows), packed({field: column[:0] for field, column in rows.items()})
    else:
        size = rows.size
    assert rows.dtype.fields is not None and rows.dtype.names is not None
    fields = []
    for field in rows.dtype.names:
        dtype, offset = rows.dtype.fields[field][:2]
        if dtype.shape:
            continue
        kind = "timestamp" if field in stamps else "duration" if field in durations else None
        fields.append(
            {
                # The name of a member of a C++ struct may be a path, such as motor.angle.
                "name": re.sub(r"[^A-Za-z0-9_]", "_", field),
                "type": dtype.str[1:],
                "offset": offset,
                "unit": "tick" if kind else "",
                "kind": kind,
            }
        )
    return {
        "name": name,
        "file": f"{name}.bin",
        "rows": int(size),
        "record_bytes": rows.dtype.itemsize,
        "fields": fields,
    }


def manifest_of(
    program: str,
    tables: Sequence[Mapping[str, Any]],
    *,
    clock: Mapping[str, Any],
    config: Mapping[str, Any],
    counters: Mapping[str, int],
    events: Sequence[Mapping[str, Any]] = (),
    realtime: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "program": program,
        "config": config,
        "clock": clock,
        "tables": tables,
        "events": events,
        "counters": counters,
        "realtime": realtime or {},
    }


def write_manifest(
    folder: Path,
    program: str,
    tables: Sequence[Mapping[str, Any]],
    *,
    plan: Plan | None = None,
    **facts: Any,
) -> RawRun:
    """Completes a raw run folder whose tables are written, and reads it back, which checks it.

    `plan`: the one that ran; `facts` are those of `manifest_of`.
    """
    if plan is not None:
        write_plan(folder, plan)
    write_json(folder / MANIFEST, manifest_of(program, tables, **facts))
    return RawRun.load(folder, plan)
