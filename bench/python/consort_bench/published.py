# SPDX-License-Identifier: Apache-2.0
"""Figures that the papers print, in experiments/<paper>/<table or figure>/published.csv.

A row is one printed number with its unit, provenance and source, beside columns that say what it is of.
A row without a value is a statement that the paper makes without a number; its note quotes it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput
from consort.base.toolchain.builds import need_source_tree
from consort.record.summary import checked

COMMON = ("statistic", "value", "unit", "provenance", "source", "note")
NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Published:
    """One row: `of` holds the columns that identify the number, `text` the number as it is printed."""

    of: dict[str, str]
    statistic: str
    text: str
    unit: str
    provenance: str
    source: str
    note: str

    @property
    def value(self) -> float | None:
        """The number, or None where the paper gives none."""
        return float(self.text) if self.text else None

    @property
    def ns(self) -> float | None:
        """The number in nanoseconds."""
        return None if self.value is None else self.value * NANOSECONDS[self.unit]


def experiment_folder(paper: str, name: str) -> Path:
    """experiments/<paper>/<name> of the source tree."""
    return need_source_tree("an experiment of a paper") / "experiments" / paper / name


def read_published(file: Path) -> list[Published]:
    """All rows of a published.csv; BadInput names the line that is wrong."""
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            heads = reader.fieldnames or []
            lacking = [name for name in COMMON if name not in heads]
            if lacking:
                raise BadInput(f"has no column {', '.join(lacking)}", file=file, line=1)
            return [_row(row, file, reader.line_num) for row in reader]
    except FileNotFoundError:
        raise BadInput("no such file", file=file) from None


def _row(row: dict[str, str], file: Path, line: int) -> Published:
    if None in row or None in row.values():
        raise BadInput("has another number of cells than the heading", file=file, line=line)
    if row["value"]:
        try:
            float(row["value"])
        except ValueError:
            raise BadInput(f"'{row['value']}' is not a number", file=file, line=line, field="value") from None
    elif not row["note"]:
        raise BadInput("has neither a value nor a note", file=file, line=line)
    return Published(
        of={name: text for name, text in row.items() if name not in COMMON},
        statistic=row["statistic"],
        text=row["value"],
        unit=row["unit"],
        provenance=checked(row["provenance"], field=f"{file}:{line}: provenance"),
        source=row["source"],
        note=row["note"],
    )
