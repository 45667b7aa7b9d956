# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, what their texts mean, and what `--json` prints."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import click

from consort.base.errors import BadInput


def size_of(field: str, text: str) -> int:
    """Bytes; `BadInput` that names the option where it is not a size."""
    from consort.model.base import WrongValue
    from consort.model.quantities import Size

    try:
        return Size.parse(text).value
    except WrongValue as error:
        raise BadInput(str(error), field=field) from error


def nanoseconds_of(field: str, text: str) -> int:
    """A duration; `BadInput` that names the option where it is none."""
    from consort.model.base import WrongValue
    from consort.model.quantities import Duration

    try:
        return int(Duration.parse(text).nanoseconds)
    except WrongValue as error:
        raise BadInput(str(error), field=field) from error


class NumberRange(click.FloatRange):
    """A number between two others; "nan", which no comparison finds outside, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


class ChoiceOf(click.ParamType):  # type: ignore[type-arg]
    """One of the names in `table` of a module, imported when the option is used: no help waits for it."""

    def __init__(self, name: str, module: str, table: str, *more: str) -> None:
        self.name = name
        self.module = module
        self.table = table
        self.more = more

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        names = (*getattr(importlib.import_module(self.module), self.table), *self.more)
        chosen: str = click.Choice(names).convert(value, param, ctx)
        return chosen


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

verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print every figure, and then the five lines that are printed without it: verdict, worst task, worst"
    " chain, one cause, next command.",
)


on_option = click.option(
    "--on",
    metavar="TARGET",
    help="Lay the description on this target of its own; with its platform's name as it stands.",
)


def on_target(file: Path, on: str | None) -> str:
    """A description as a command names it again."""
    return str(file) if on is None else f"{file} --on {on}"


def echo_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def print_json(data: Any, *, one_line: bool = False) -> None:
    """Prints data as JSON that every reader takes, whatever letters the terminal has.

    A number that JSON does not have is null.
    """
    text = json.dumps(_finite(data), indent=None if one_line else 1, allow_nan=False)
    click.echo(text)


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, (list, tuple)) else data
