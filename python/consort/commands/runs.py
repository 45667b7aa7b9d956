# SPDX-License-Identifier: Apache-2.0
"""`consort runs`: which runs are recorded; and a run's tables as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput
from consort.commands.options import root_option

if TYPE_CHECKING:
    from consort.record.store import Run


@click.group(invoke_without_command=True, epilog="Example: consort runs --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, oldest run first.")
@root_option
@click.pass_context
def command(context: click.Context, as_json: bool, root: Path | None) -> None:
    """List the recorded runs, oldest first; `runs export` writes the tables of one as CSV."""
    if context.invoked_subcommand is not None:
        context.obj = root
        return
    from rich.console import Console
    from rich.table import Table

    from consort.record.store import default_root, list_runs

    folder = root if root is not None else default_root()
    damaged: list[BadInput] = []
    runs = list_runs(folder, damaged)
    for error in damaged:
        click.echo(f"warning: passed over: {error}", err=True)
    if as_json:
        click.echo(json.dumps([_entry(run) for run in runs], indent=1))
        return
    if not runs:
        click.echo(f"no runs in {folder}; `consort run` records one")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "kind", "verdict", "configuration", "metric"):
        table.add_column(heading)
    for heading in ("samples", "median", "p99.9", "max"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    for run in runs:
        label = [run.id, str(run.data["kind"]), run.data["verdict"]["ok"]]
        for configuration in run.configurations:
            for row in _rows(configuration):
                table.add_row(*label, *row)
                label = ["", "", ""]
    Console(width=None if Console().is_terminal else 200).print(table)


@command.command(epilog="Example: consort runs export latest --csv tables")
@click.argument("run")
@click.option(
    "--csv",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write one file for each table of each configuration into; it is made.",
)
@root_option
@click.pass_context
def export(context: click.Context, run: str, folder: Path, root: Path | None) -> None:
    """Write every table of RUN as CSV, and its figures as summary.csv.

    A run is named by its folder, its id, the beginning of its id, or `latest`.
    """
    from consort.record.export import write_csv
    from consort.record.store import load_run

    for file in write_csv(load_run(run, root if root is not None else context.obj), folder):
        click.echo(str(file))


def _rows(configuration: dict[str, Any]) -> Iterator[list[str]]:
    """The response of each task; of a recording without tasks its first metric, which is the telling one."""
    from consort.base.units import figure_unit, microseconds, number

    summary = configuration["summary"]
    chosen = [m for m in summary if m == "response" or m.endswith(".response")] or list(summary)[:1]
    if not chosen:
        yield [configuration["key"], "no samples"]
    for metric in chosen:
        s = summary[metric]
        in_time = s["unit"] == "ns"
        cells = [
            ("∞" if s[name] is None else microseconds(s[name])) if in_time else number(s[name])
            for name in ("median", "p999", "max")
        ]
        unit = figure_unit(configuration["clock"]).split(",")[0] if in_time else s["unit"]
        yield [configuration["key"], metric, number(s["n"]), *cells, unit]


def _entry(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "path": str(run.path),
        "name": run.data["name"],
        "kind": run.data["kind"],
        "created": run.data["created"],
        "verdict": run.data["verdict"],
        "configurations": [
            {"key": c["key"], "name": c["name"], "summary": c["summary"]} for c in run.configurations
        ],
    }
