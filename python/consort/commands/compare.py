# SPDX-License-Identifier: Apache-2.0
"""`consort compare`: two runs held against each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from consort.base.errors import SystemFails
from consort.commands.options import root_option


@click.command(epilog="Example: consort compare 20260301T1200 latest")
@click.argument("a")
@click.argument("b")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@root_option
def command(a: str, b: str, as_json: bool, root: Path | None) -> None:
    """Compare run B with run A: ratios B/A of every metric that both have.

    A run is named by its folder, its id, the beginning of its id, or `latest`. Two tables of counts
    (`consort board count --output`) are compared by name: exit status 1 says that one changed by above 2 %.
    """
    from rich.console import Console
    from rich.table import Table

    from consort.record.checked import reading
    from consort.record.compare import compare
    from consort.record.store import load_run

    if a.endswith(".csv") and b.endswith(".csv"):
        _compare_counts(Path(a), Path(b), as_json)
        return
    first, second = load_run(a, root), load_run(b, root)
    with reading(second.path), reading(first.path):
        result = compare(first, second)
    if as_json:
        click.echo(json.dumps(result.as_dict(first, second), indent=1))
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
        table.add_row(row["configuration"], row["metric"], *_cells(row))
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
        click.echo(json.dumps({"a": str(a), "b": str(b), "rows": rows, "changes": changed}, indent=1))
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


def _cells(row: dict[str, Any]) -> list[str]:
    from consort.base.units import number

    interval = row["median_ratio_interval_95"]
    ratios = [_ratio(row["ratio"][name]) for name in ("p99", "p999", "max")]
    verdict = "median changed" if row["changed"] else ""
    if interval is None:
        verdict = "too few samples to tell"
    return [
        number(row["a"]["median"]),
        number(row["b"]["median"]),
        row["unit"],
        _ratio(row["ratio"]["median"]),
        "" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}",
        *ratios,
        f"{row['ks_distance']:.3f}",
        verdict,
    ]


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
