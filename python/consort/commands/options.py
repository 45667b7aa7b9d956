# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

from consort.errors import BadInput


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
