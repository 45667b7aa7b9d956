# SPDX-License-Identifier: Apache-2.0
"""Plans outside of Python: as images (include/consort/app/plan.hpp), encoded by the layouts that a program
describes, and as the plain data that a record keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from consort.base.errors import BadInput
from consort.model.figures import Provenance
from consort.model.quantities import DataRate, Duration, Energy, Frequency, Size
from consort.plan.types import Plan

Row = Mapping[str, Any]

_ALIGNMENT = 8


def fnv1a(data: bytes) -> int:
    """The 64-bit hash of plan.hpp."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def names_of(tasks: Iterable[str], channels: Iterable[str]) -> bytes:
    """The table of names, which identifies a program with these tasks and channels."""
    words = [*(f"t{name}" for name in tasks), *(f"c{name}" for name in channels)]
    return "".join(f"{word}\0" for word in words).encode()


class Encoder:
    """Encodes images for programs that describe these layouts (the key `plan` of `--describe`)."""

    def __init__(self, layouts: Mapping[str, Any]) -> None:
        self._layouts = layouts
        self.none: int = layouts["none"]
        self._choices = {
            member: {name: place for place, name in enumerate(names)}
            for member, names in layouts["choices"].items()
        }
        self._tables: list[str] = list(layouts["tables"])
        self._types = {name: _type(row) for name, row in layouts["rows"].items()}

    def image(self, head: Row, tables: Mapping[str, Sequence[Any]]) -> bytes:
        """The image of a head and all tables; each row names all members of its type, and no others.

        A member with choices is given by the name of its value; a table of plain numbers has these for rows.
        """
        at = self._types["head"].itemsize
        parts, places = [], []
        assert tables.keys() == set(self._tables), "an image has all tables, and no others"
        for name in self._tables:
            rows = tables[name]
            part = self._rows(name, rows).tobytes()
            part += bytes(-len(part) % _ALIGNMENT)
            places.append((at, len(rows)))
            at += len(part)
            parts.append(part)
        body = b"".join(parts)
        filled = {
            "magic": self._layouts["magic"],
            "version": self._layouts["version"],
            "layout": self._layouts["layout"],
            "program": fnv1a(bytes(tables["names"])),
            "hash": fnv1a(body),
            "bytes": at,
            **{f"places[{n}].offset": offset for n, (offset, _) in enumerate(places)},
            **{f"places[{n}].count": count for n, (_, count) in enumerate(places)},
        }
        return self._rows("head", [{**head, **filled}]).tobytes() + body

    def _rows(self, table: str, rows: Sequence[Any]) -> NDArray[Any]:
        kind = self._types[table]
        names = kind.names
        if names is None:
            return np.array(list(rows), dtype=kind)
        # Padding is written, too: equal plans have equal images.
        made = np.zeros(len(rows), dtype=kind)
        for place, row in enumerate(rows):
            if row.keys() != set(names):
                raise KeyError(f"{table}: {sorted(set(names) ^ set(row))} do not go with its type")
            made[place] = tuple(self._value(name, row[name]) for name in names)
        return made

    def _value(self, member: str, value: Any) -> Any:
        return self._choices[member][value] if member in self._choices else value


def _type(row: Mapping[str, Any]) -> np.dtype[Any]:
    members = row["members"]
    if [member["name"] for member in members] == [""]:
        return np.dtype(f"<{members[0]['type']}")
    return np.dtype(
        {
            "names": [member["name"] for member in members],
            "formats": [f"<{member['type']}" for member in members],
            "offsets": [member["offset"] for member in members],
            "itemsize": row["bytes"],
        }
    )


# Raised where an older reader would take a plan for another one.
FORM = 2
# The figures of a description; the unit tells which it is.
Value = Duration | Size | DataRate | Frequency | Energy | int


@cache
def _plans() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


@cache
def _figures() -> TypeAdapter[Any]:
    return TypeAdapter(dict[str, tuple[Value, Provenance | None]])


def stored(plan: Plan) -> dict[str, Any]:
    """The plan as plain data; `restored` gives an equal one."""
    data = _plans().dump_python(plan, mode="json", by_alias=True, exclude_unset=True, exclude={"figures"})
    figures = _figures().dump_python(dict(plan.figures), mode="json")
    return {"form": FORM, **data, "figures": figures}


def restored(data: Any, *, file: object = None) -> Plan:
    """The plan that `stored` made; `BadInput` with `file` where it is none, or one of another version."""
    form = data.get("form") if isinstance(data, dict) else None
    where = None if file is None else str(file)
    if form != FORM:
        text = f"recorded by another version: the plan's form is {form!r}, this version reads {FORM}"
        raise BadInput(f"{text}; record the run again", file=where, field="form")
    parts = {key: value for key, value in data.items() if key != "form"}
    try:
        figures = _figures().validate_python(parts.get("figures"))
        return _plans().validate_python(parts | {"figures": figures})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"the plan is damaged: {first['msg']}", file=where, field=place or None) from None
