# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, and what their texts mean."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import click

from consort.errors import BadInput
from consort.model.quantities import Duration, Size
from consort.model.textvalue import WrongValue


def size_of(field: str, text: str) -> int:
    """Bytes; `BadInput` that names the option where it is no size."""
    try:
        return Size.parse(text).value
    except WrongValue as error:
        raise BadInput(str(error), field=field) from error


def nanoseconds_of(field: str, text: str) -> int:
    """A duration; `BadInput` that names the option where it is none."""
    try:
        return int(Duration.parse(text).nanoseconds)
    except WrongValue as error:
        raise BadInput(str(error), field=field) from error


class NumberRange(click.FloatRange):
    """A number between two others; "nan", which no comparison finds outside, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


def _folder(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.is_file():
        raise BadInput(f"{value} is a file; runs are kept in a folder", field="--root")
    return value


root_option = click.option(
    "--root",
    type=click.Path(path_type=Path),
    callback=_folder,
    help="Folder of recorded runs (default: $CONSORT_RUNS or ./runs).",
)
