# SPDX-License-Identifier: Apache-2.0
"""``consort bench``: runs a benchmark and holds its figures against their goals."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from consort.base.errors import EnvironmentLacks
from consort.base.waiting import progress_bar
from consort.commands.options import NumberRange, root_option

from consort_bench.registry import BENCHMARKS, EXPERIMENTS, BenchResult, Options, boards_of, grouped, load

LISTING = "\n".join(f"  {name:<12} {text}" for name, (_, text) in sorted(BENCHMARKS.items()))


@click.command(
    epilog="\b\nBenchmarks:\n" + LISTING + "\n\n\b\nExample: consort bench icc --json",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("name", type=click.Choice(sorted(BENCHMARKS)), required=False, metavar="NAME")
@click.option("--list", "as_list", is_flag=True, help="List the benchmarks.")
@click.option("--json", "as_json", is_flag=True, help="Print one object with goals, rows and machine.")
@click.option("--quick", is_flag=True, help="A short look: fewer iterations, wider spread.")
@click.option(
    "--seconds",
    type=NumberRange(0.5, 600),
    help="How long to measure: icc (default 30), executive: the run whose records are counted (default 600).",
)
@click.option("--iterations", type=click.IntRange(1, 10**9), help="loopback, figures: of each size.")
@click.option("--sizes", help="loopback: in bytes, such as 8,64,1024.")
@click.option(
    "--interference",
    type=click.Choice(["off", "on", "both"]),
    help="loopback, figures.",
    default="both",
    show_default=True,
)
@click.option(
    "--class",
    "scheduling",
    type=click.Choice(["ordinary", "realtime", "both"]),
    help="loopback, figures: scheduling class; realtime is the whole set-up of the Linux port.",
    default="both",
    show_default=True,
)
@click.option(
    "--board",
    help="icc, figures 3 to 5, scratchpad: on this emulated board instead; icc: also processes, all.",
)
@click.option(
    "--store",
    is_flag=True,
    help="figures on boards: keep the counted rows as counted.csv beside the published ones.",
)
@root_option
def command(
    name: str | None,
    as_list: bool,
    as_json: bool,
    quick: bool,
    seconds: float | None,
    iterations: int | None,
    sizes: str | None,
    interference: str,
    scheduling: str,
    board: str | None,
    store: bool,
    root: Path | None,
) -> None:
    """Run benchmark NAME and hold its figures against their goals.

    Goals are ratios to a floor or a peer of the same run, or counts; never times by themselves. Exit status
    1: a goal is not met; one that could not be measured here is reported with the reason. 3: executive, where
    the machine lacks what a goal needs.
    """
    if as_list:
        click.echo(LISTING)
        return
    if name is None:
        raise click.UsageError("NAME is missing; give one of:\n" + LISTING)
    on_board = checked_board(name, board)
    if store:
        from consort_bench import stored

        stored.checked(name, board, shortened=quick or iterations is not None)
    from consort.base.waiting import signals_to_exceptions

    signals_to_exceptions()
    with progress_bar(as_json) as progress:
        options = Options(
            name,
            quick,
            seconds,
            iterations,
            parse_sizes(sizes),
            interference,
            scheduling,
            on_board,
            root,
            ["consort", *sys.argv[1:]],
            progress,
        )
        result = load(name)(options)
        if name in EXPERIMENTS and "run" not in result.extra:
            from consort_bench.run_folder import leave

            progress("writing the report", None)
            result = leave(result, options)
    if store:
        stored.store(name, result.rows, stored.file_of(name))
    if as_json:
        click.echo(json.dumps(as_object(name, result), indent=1))
    else:
        show(result)
    if any(goal["met"] is False for goal in result.goals):
        sys.exit(1)
    if result.lacking:
        sys.exit(EnvironmentLacks.exit_status)


def checked_board(name: str, board: str | None) -> str | None:
    """The board, if there is one of that name that the benchmark runs on."""
    known = boards_of(name)
    if board is not None and board not in known:
        said = f"is one of {', '.join(known)}" if known else f"{name} does not run on boards"
        raise click.BadParameter(f"'{board}': {said}", param_hint="--board")
    return board


def parse_sizes(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise click.BadParameter(
            f"'{text}' is not a list of sizes; write for example 8,64,1024", param_hint="--sizes"
        ) from error


def as_object(name: str, result: BenchResult) -> dict[str, Any]:
    """The output of `--json`."""
    fixed = {"bench": name, "machine": result.machine, "goals": result.goals, "rows": result.rows}
    return fixed | result.extra


def show(result: BenchResult) -> None:
    """The rows, then the goals."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    # In a file or a pipe there is no width to respect.
    console = console if console.is_terminal else Console(width=170)
    if result.show is not None:
        result.show(console)
    else:
        for columns, rows in grouped(result.rows):
            table = Table()
            for column in columns:
                side: Any = "left" if column in ("what", "spin") else "right"
                table.add_column(column.replace("_", " "), justify=side)
            for row in rows:
                table.add_row(*(cell(row[column]) for column in columns))
            console.print(table)
    if result.goals:
        table = Table(title="goals", title_justify="left")
        # Beside a goal that is missed, whether the machine's bare copy alone would miss it.
        copies = any("raw_copy" in goal for goal in result.goals)
        heads = ["goal", "value", "", "limit", "unit", "met", "provenance"]
        for head in heads + ["raw copy / floor"] * copies:
            table.add_column(head)
        for goal in result.goals:
            met = {True: "yes", False: "no", None: "not measured: " + goal.get("reason", "")}[goal["met"]]
            value, limit = cell(goal["value"]), cell(goal["limit"])
            cells = [goal["name"], value, goal["sense"], limit, goal["unit"], met, goal["provenance"]]
            table.add_row(*cells, *[cell(goal.get("raw_copy"))] * copies)
        console.print(table)
    for note in result.notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
    return "" if value is None else str(value)
