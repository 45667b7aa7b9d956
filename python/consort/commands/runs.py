# SPDX-License-Identifier: Apache-2.0
"""``consort runs``, ``report`` and ``compare``: the recorded runs, the page of one, and two held against
each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consort.base.errors import BadInput, SystemFails
from consort.base.files import written_whole
from consort.commands.options import print_json, root_option

if TYPE_CHECKING:
    from consort.record.compare import Compared
    from consort.record.store import Run
    from consort.record.summary import Configuration


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
        print_json([_entry(run) for run in runs])
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
        label = [run.id, str(run.data["kind"]), run.verdict["ok"]]
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
    from consort.record.store import load_run, write_csv

    for file in write_csv(load_run(run, root if root is not None else context.obj), folder):
        click.echo(str(file))


def _rows(configuration: Configuration) -> Iterator[list[str]]:
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
        "verdict": run.verdict,
        "configurations": [
            {"key": c["key"], "name": c["name"], "summary": c["summary"]} for c in run.configurations
        ],
    }


@click.command(epilog="Example: consort report latest")
@click.argument("run", required=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the page (default: report.html in the run's folder, the trace beside it).",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@root_option
def report_command(run: str | None, output: Path | None, open_page: bool, root: Path | None) -> None:
    """Print the verdict on RUN, measured beside simulated beside bound; write its HTML report and trace.

    A run is named by its folder, its id, the beginning of its id, or `latest`. Without RUN it is the last
    one, which is named first.
    """
    from consort.record.sections import reading
    from consort.record.store import load_run
    from consort.report import write_report, write_trace
    from consort.report.terminal import verdict_lines

    chosen = load_run(run or "latest", root)
    page = output if output is not None else chosen.path / "report.html"
    if not page.parent.is_dir():
        raise BadInput("no such folder", file=page.parent, field="--output")
    trace = page.parent / "trace.pftrace" if output is None else page.with_suffix(".pftrace")
    if run is None:
        click.echo(f"The last run, {chosen.path}:")
    with reading(chosen.path):
        lines = verdict_lines(chosen, files=False)
    for line in lines:
        click.echo(line)
    # Written beside and renamed: a reader never sees half a page.
    for write, file in ((write_report, page), (write_trace, trace)):
        with written_whole(file) as draft, reading(chosen.path):
            write(chosen, draft)
        click.echo(str(file))
    if open_page:
        if not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
            click.echo(
                "consort: this session has no display; open the page where there is a browser", err=True
            )
        else:
            click.launch(str(page))


@click.command(epilog="Example: consort compare 20260301T1200 latest")
@click.argument("a")
@click.argument("b")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@root_option
def compare_command(a: str, b: str, as_json: bool, root: Path | None) -> None:
    """Compare run B with run A: ratios B/A of every metric that both have.

    A run is named by its folder, its id, the beginning of its id, or `latest`. Two tables of counts
    (`consort board count --output`) are compared by name: exit status 1 says that one changed by above 2 %.
    """
    from rich.console import Console
    from rich.table import Table

    from consort.record.compare import compare
    from consort.record.sections import reading
    from consort.record.store import load_run

    if a.endswith(".csv") and b.endswith(".csv"):
        _compare_counts(Path(a), Path(b), as_json)
        return
    first, second = load_run(a, root), load_run(b, root)
    with reading(second.path), reading(first.path):
        result = compare(first, second)
    if as_json:
        print_json(result.as_dict(first, second))
        return
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not result.rows:
        click.echo("the two runs have no configuration and metric in common")
        return
    click.echo(f"A {first.id}\nB {second.id}\nratios are B / A; below 1, B is smaller")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("configuration")
    table.add_column("metric")
    for heading in ("median A", "median B", "unit", "ratio", "95 % interval", "p99", "p99.9", "max", "KS"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in result.rows:
        table.add_row(row.configuration, row.metric, *_cells(row))
    Console(width=None if Console().is_terminal else 200).print(table)


def _compare_counts(a: Path, b: Path, as_json: bool) -> None:
    from consort.board import count

    before, now = count.load(a), count.load(b)
    changed = count.changes(now, before) + count.missing(now, before)
    known = {(c.core, c.operation): c for c in before}
    pairs = [(known[c.core, c.operation], c) for c in now if (c.core, c.operation) in known]
    if as_json:
        rows = [
            {"core": y.core, "operation": y.operation, "a": x.instructions, "b": y.instructions}
            | {"compilers": [x.compiler, y.compiler], "provenance": "counted"}
            for x, y in pairs
        ]
        print_json({"a": str(a), "b": str(b), "rows": rows, "changes": changed})
    else:
        click.echo(f"{'instructions, counted':<46}{'A':>9}{'B':>9}{'change':>9}")
        for x, y in pairs:
            change = 100 * (y.instructions / max(x.instructions, 1) - 1)
            other = "" if x.compiler == y.compiler else "  another compiler"
            click.echo(
                f"{y.core:<12} {y.operation:<33}{x.instructions:>9}{y.instructions:>9}{change:>+8.1f}%{other}"
            )
    if changed:
        raise SystemFails("; ".join(changed))


def _cells(row: Compared) -> list[str]:
    from consort.base.units import number

    interval = row.median_ratio_interval_95
    ratios = [_ratio(row.ratio[name]) for name in ("p99", "p999", "max")]
    verdict = "median changed" if row.changed else ""
    if interval is None:
        verdict = "too few samples to tell"
    return [
        number(row.a["median"]),
        number(row.b["median"]),
        row.unit,
        _ratio(row.ratio["median"]),
        "" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}",
        *ratios,
        f"{row.ks_distance:.3f}",
        verdict,
    ]


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
