# SPDX-License-Identifier: Apache-2.0
"""`consort runs`: which runs are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from consort.record.store import Run, default_root, list_runs
from consort.report.units import number, quantity, time_unit


@click.command(epilog="Example: consort runs --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, oldest run first.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the runs are kept (default: $CONSORT_RUNS, or ./runs).",
)
def command(as_json: bool, root: Path | None) -> None:
    """List the recorded runs, oldest first."""
    folder = root if root is not None else default_root()
    runs = list_runs(folder)
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
    for run in runs:
        label = [run.id, str(run.data["kind"]), "holds" if run.data["verdict"]["ok"] else "FAILS"]
        for configuration in run.configurations:
            # The first metric is the telling one: the response time of jobs.
            metric = next(iter(configuration["summary"]), None)
            if metric is None:
                table.add_row(*label, configuration["key"], "no samples")
            else:
                s = configuration["summary"][metric]
                unit = time_unit([s["median"]])
                cells = [
                    quantity(s[name], unit) if s["unit"] == "ns" else f"{number(s[name])} {s['unit']}"
                    for name in ("median", "p999", "max")
                ]
                table.add_row(*label, configuration["key"], metric, number(s["n"]), *cells)
            label = ["", "", ""]
    Console(width=None if Console().is_terminal else 200).print(table)


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
