# SPDX-License-Identifier: Apache-2.0
"""The record of a run (run.json) as somebody else may have left it: read within limits, its form checked.

What is checked is what every reader relies on; further keys pass. A table that the record names lies inside
of the run's folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from consort.base.errors import BadInput, ConsortError
from consort.record.sections import Held, Section

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
    verdict: _Judged | None = None


class _Judged(_Open):
    ok: _Word
    summary: str
    machine: str
    reasons: list[str]
    rows: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    pauses: list[dict[str, Any]]
    ways: list[dict[str, Any]]
    notes: list[str]


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


def inside(folder: Path, name: str) -> Path:
    """The file `name` of a run's folder; `BadInput` where it would lie outside, links followed."""
    try:
        found = (folder / name).resolve()
        within = found.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        within = False
    if not within:
        raise BadInput(f"{name[:200]!r} does not lie in the run's folder", file=folder)
    return found


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
