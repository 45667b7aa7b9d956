# SPDX-License-Identifier: Apache-2.0
"""``consort sweep``: figures as functions of parameters, on all cores or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput
from consort.base.waiting import progress_bar
from consort.commands.options import print_json

if TYPE_CHECKING:
    from consort.sweep.cells import Cells
    from consort.sweep.run import Outcome

# Plots are there in other formats, too.
SHOWN = (".parquet", ".csv", ".html", ".pdf")


@click.command(
    "sweep",
    epilog="Example: consort sweep sweep.yaml --out sweeps/first",
    help="Compute the figures that the sweep file FILE asks for, for every combination of its parameters, and"
    " draw them. What is finished is kept: after an interruption the same command goes on from there.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where results are kept (default: sweeps/NAME, NAME being that of the sweep).",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 4096),
    metavar="N",
    help="Worker processes of this machine (default: one for each processor); 0: none, all is done in this"
    " process.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="The address of a Dask cluster, such as tcp://HOST:8786, in place of workers.",
)
@click.option("--sets", type=click.IntRange(1), metavar="N", help="Task sets instead of those of the file.")
@click.option("--cell", metavar="KEY", help="Compute this cell alone, print its figures, and keep nothing.")
@click.option("--list", "as_list", is_flag=True, help="List the cells with their keys and parameters.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done, or the list, as JSON.")
def command(
    file: Path,
    out: Path | None,
    workers: int | None,
    scheduler: str | None,
    sets: int | None,
    cell: str | None,
    as_list: bool,
    as_json: bool,
) -> None:
    from consort.sweep.cells import Cells, spec_of
    from consort.sweep.load import load_sweep

    if scheduler is not None and workers is not None:
        raise click.UsageError("--workers are of this machine, and --scheduler has its own; give one of them")
    if as_list or cell is not None:
        alone = "--list" if as_list else "--cell"
        given = {"--out": out, "--workers": workers, "--scheduler": scheduler}
        given |= {"--cell": cell} if as_list else {}
        for option, value in given.items():
            if value is not None:
                raise BadInput(
                    f"{alone} keeps nothing and needs no workers; leave {option} out", field=option
                )
    loaded = load_sweep(file, sets)
    cells = Cells(spec_of(loaded))
    if as_list:
        if as_json:
            listed = [_cell(cells, combination, block) for combination, block in cells]
            print_json(listed)
            return
        for combination, block in cells:
            click.echo(_line(cells, combination, block))
        return
    if cell is not None:
        print_json(_one(cells, cell))
        return
    from consort.base.waiting import signals_to_exceptions
    from consort.sweep.run import run

    signals_to_exceptions()
    folder = out or Path("sweeps") / loaded.name
    files: list[Path] = []

    def finish(result: Any) -> None:
        from consort.sweep.run import write_all

        files.extend(write_all(loaded, cells, result, folder))

    with progress_bar(as_json) as progress:
        outcome = run(
            cells,
            folder,
            loaded.name,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
            finish=finish,
        )
    if as_json:
        print_json(_object(outcome, files))
    else:
        _show(outcome, files)
    sys.exit(0)


def _line(cells: Cells, combination: int, block: int) -> str:
    one = cells.combinations[combination]
    values = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
    return f"{cells.key(combination, block)}  {one.analysis}: {values}; block {block}"


def _cell(cells: Cells, combination: int, block: int) -> dict[str, Any]:
    """The identity of a cell."""
    chosen = cells.combinations[combination]
    return {
        "cell": cells.key(combination, block),
        "analysis": chosen.analysis,
        "parameters": chosen.parameters,
        "block": block,
        "seed": cells.seed(combination, block),
    }


def _one(cells: Cells, key: str) -> dict[str, Any]:
    from consort.sweep.model import FIGURES, provenance_of
    from consort.sweep.work import evaluate

    combination, block = cells.find(key)
    names = [figure.name for figure in FIGURES[cells.kind]]
    return {
        **_cell(cells, combination, block),
        "provenance": provenance_of(cells.kind, cells.combinations[combination].analysis),
        "rows": [dict(zip(names, row, strict=True)) for row in evaluate(cells, combination, block)],
    }


def _object(outcome: Outcome, files: list[Path]) -> dict[str, Any]:
    return {
        "folder": str(outcome.folder),
        "cells": outcome.cells,
        "finished_before": outcome.found,
        "damaged": [str(path) for path in outcome.damaged],
        "seconds": outcome.seconds,
        "workers": outcome.workers,
        "tasks": outcome.tasks,
        "handed_out_again": outcome.again,
        "files": [str(path) for path in files],
    }


def _show(outcome: Outcome, files: list[Path]) -> None:
    computed = outcome.cells - outcome.found
    before = f", {outcome.found} were finished before" if outcome.found else ""
    click.echo(f"{computed} cells computed in {outcome.seconds:.1f} s{before}")
    for path in outcome.damaged:
        click.echo(f"{path} was damaged: its cells were computed again")
    if outcome.again:
        click.echo(f"{outcome.again} tasks were lost with their workers and done again")
    for path in files:
        if path.suffix in SHOWN:
            click.echo(str(path))
