# SPDX-License-Identifier: Apache-2.0
"""The commands that redo the papers' communication experiments, each beside what the paper prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from consort.bench import loopback as loopback_test
from consort.bench import one_way
from consort.bench.pair import Class
from consort.errors import BadInput

Command = Callable[..., Any]

HELP = {"help_option_names": ["-h", "--help"]}
ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="Folder of recorded runs (default: $CONSORT_RUNS or ./runs).",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print goals and figures as JSON.")
ITERATIONS = click.option(
    "--iterations",
    type=click.IntRange(1, 10**9),
    help="Round trips of each size (default: 1,000,000, as in the paper).",
)
QUICK = click.option("--quick", is_flag=True, help="20,000 round trips of each size: a look, not a result.")
ONE_WAY_ITERATIONS = click.option(
    "--iterations", type=click.IntRange(1, 10**7), default=one_way.ITERATIONS, show_default=True
)
RUNS = click.option("--runs", type=click.IntRange(1, 10**4), default=one_way.RUNS, show_default=True)
CLASS = click.option(
    "--class",
    "scheduling",
    type=click.Choice(["ordinary", "realtime"]),
    default="realtime",
    show_default=True,
    help="Scheduling class of both processes.",
)
SIGNS = {"min": "min", "max": "max", "mean": "mean", "median": "median"} | {
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
}


@click.command(
    "loopback", epilog="Example: consort bench loopback --quick --sizes 0,8,1024", context_settings=HELP
)
@ITERATIONS
@QUICK
@click.option("--sizes", default=",".join(map(str, loopback_test.SIZES)), show_default=True, help="In bytes.")
@click.option("--interference", type=click.Choice(["on", "off", "both"]), default="both", show_default=True)
@click.option(
    "--class",
    "scheduling",
    type=click.Choice(["ordinary", "realtime", "both"]),
    default="both",
    show_default=True,
    help="Scheduling class of both processes; realtime is the whole set-up of the Linux port.",
)
@ROOT
@JSON
def loopback(
    iterations: int | None,
    quick: bool,
    sizes: str,
    interference: str,
    scheduling: str,
    root: Path | None,
    as_json: bool,
) -> None:
    """Packages of random bytes there and back between two processes on two CPUs.

    Every round trip is recorded and every package compared; the bare cache-line round trip is measured in
    between as the floor. Exit status 1: a package came back changed, or a goal is not met.
    """
    options = loopback_test.Options(
        iterations=_iterations(iterations, quick),
        sizes=_sizes(sizes),
        interference={"on": (True,), "off": (False,), "both": (False, True)}[interference],
        classes=_classes(scheduling),
        root=root,
        command=["consort", *sys.argv[1:]],
    )
    _run_loopback("loopback", options, as_json, _print_round_trips)


@click.command("table1", epilog="Example: consort bench table1 --quick", context_settings=HELP)
@ITERATIONS
@QUICK
@ROOT
@JSON
def table1(iterations: int | None, quick: bool, root: Path | None, as_json: bool) -> None:
    """Redo Table I of Orciari et al. 2024: the loopback test, interference off and on."""
    _run_loopback("table1", _paper_options("table1", iterations, quick, root), as_json, _print_round_trips)


@click.command("figure2", epilog="Example: consort bench figure2 --quick", context_settings=HELP)
@ITERATIONS
@QUICK
@ROOT
@JSON
def figure2(iterations: int | None, quick: bool, root: Path | None, as_json: bool) -> None:
    """Redo Figure 2 of Orciari et al. 2024: throughput of the loopback test over size."""
    _run_loopback("figure2", _paper_options("figure2", iterations, quick, root), as_json, _print_throughput)


@click.command("figure3", epilog="Example: consort bench figure3", context_settings=HELP)
@ONE_WAY_ITERATIONS
@RUNS
@CLASS
@ROOT
@JSON
def figure3(iterations: int, runs: int, scheduling: Class, root: Path | None, as_json: bool) -> None:
    """Redo Figure 3 of Coppik et al. 2025: one byte in shared memory, one way, idle and loaded."""
    _run_one_way("figure3", iterations, runs, scheduling, root, as_json)


@click.command("figure4", epilog="Example: consort bench figure4", context_settings=HELP)
@ONE_WAY_ITERATIONS
@RUNS
@CLASS
@ROOT
@JSON
def figure4(iterations: int, runs: int, scheduling: Class, root: Path | None, as_json: bool) -> None:
    """Redo Figure 4 of Coppik et al. 2025: a signal to a sleeper (eventfd, futex) for their interrupt."""
    _run_one_way("figure4", iterations, runs, scheduling, root, as_json)


@click.command("figure5", epilog="Example: consort bench figure5", context_settings=HELP)
@ONE_WAY_ITERATIONS
@RUNS
@CLASS
@ROOT
@JSON
def figure5(iterations: int, runs: int, scheduling: Class, root: Path | None, as_json: bool) -> None:
    """Redo Figure 5 of Coppik et al. 2025: an array and its flag, one way, over the array's size."""
    _run_one_way("figure5", iterations, runs, scheduling, root, as_json)


def _iterations(given: int | None, quick: bool) -> int:
    if given is not None and quick:
        raise BadInput("give --iterations or --quick, not both", field="--quick")
    return given or (loopback_test.QUICK if quick else loopback_test.ITERATIONS)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"'{text}' is no list of sizes such as 0,8,1024", field="--sizes") from None
    return sizes


def _classes(scheduling: str) -> tuple[Class, ...]:
    if scheduling == "both":
        return loopback_test.CLASSES
    return ("realtime",) if scheduling == "realtime" else ("ordinary",)


def _paper_options(
    name: str, iterations: int | None, quick: bool, root: Path | None
) -> loopback_test.Options:
    return loopback_test.Options(
        iterations=_iterations(iterations, quick),
        name=name,
        root=root,
        command=["consort", *sys.argv[1:]],
    )


def _run_loopback(
    name: str,
    options: loopback_test.Options,
    as_json: bool,
    show: Callable[[loopback_test.Result], None],
) -> None:
    from consort.commands.run import progress_bar
    from consort.runner.application import signals_to_exceptions

    signals_to_exceptions()
    with progress_bar(as_json) as progress:
        result = loopback_test.measure(options, progress)
    if as_json:
        rows = [
            {"configuration": c.key, "interference_bytes_per_second": c.moved, **row}
            for c in result.configurations
            for row in c.rows
        ]
        _print_json(name, result.run, result.goals, rows)
    else:
        show(result)
        _print_end(result.run, result.goals)
    _exit(result.goals)


def _run_one_way(
    name: str, iterations: int, runs: int, scheduling: Class, root: Path | None, as_json: bool
) -> None:
    from consort.commands.run import progress_bar
    from consort.runner.application import signals_to_exceptions

    signals_to_exceptions()
    options = one_way.Options(iterations, runs, scheduling, root=root, command=["consort", *sys.argv[1:]])
    with progress_bar(as_json) as progress:
        result = one_way.measure(one_way.EXPERIMENTS[name], options, progress)
    if as_json:
        rows = [
            {"load": c.load, "load_bytes_per_second": c.moved, **row}
            for c in result.configurations
            for row in c.rows
        ]
        _print_json(name, result.run, result.goals, rows)
    else:
        _print_one_way(result)
        _print_end(result.run, result.goals)
    _exit(result.goals)


def _print_json(name: str, run: Any, goals: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    printed = {
        "bench": name,
        "machine": run.data["environment"],
        "run": str(run.path),
        "goals": goals,
        "rows": rows,
    }
    click.echo(json.dumps(printed, indent=1))


def _exit(goals: list[dict[str, Any]]) -> None:
    if not all(goal["met"] for goal in goals):
        sys.exit(1)


def _console() -> Any:
    from rich.console import Console

    console = Console()
    # In a file or a pipe there is no width to respect.
    return console if console.is_terminal else Console(width=140)


def _print_table(console: Any, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        words = any(isinstance(row[index], str) and row[index][:1].isalpha() for row in rows)
        table.add_column(head, justify="left" if words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table)


def _print_round_trips(result: loopback_test.Result) -> None:
    """For each configuration: the published numbers as they are printed, above what was measured."""
    console = _console()
    for c in result.configurations:
        rows: list[list[Any]] = []
        for row in c.rows:
            size = row["bytes"]
            for platform, state in loopback_test.columns_beside(c.interference):
                numbers = loopback_test.printed(result.published, size, platform, state)
                if numbers:
                    cells = [numbers[s].text for s in ("min", "max", "mean")]
                    rows.append([size, "published", f"{platform}", *cells, *[None] * 5])
            figures = [f"{row[s] / 1e3:.3f}" for s in SIGNS]
            over = row["over_floor"]
            rows.append([size, "measured", "here", *figures, None if over is None else f"{over:.2f}"])
        heads = ["bytes", "provenance", "platform", *SIGNS.values(), "x floor"]
        _print_table(console, f"round trip, µs: {c.name}", heads, rows)
        floor = c.rows[0]["floor_ns"] / 1e3
        console.print(f"floor (bare cache-line round trip, measured): {floor:.3f} µs", highlight=False)
        _print_load(console, c.moved, c.notes)


def _print_throughput(result: loopback_test.Result) -> None:
    console = _console()
    section = loopback_test.throughput_section(result.configurations, result.published)
    assert section is not None
    sizes = [row["bytes"] for row in result.configurations[0].rows if row["bytes"] > 0]
    rows = []
    for series in section["series"]:
        by_size = dict(zip(series["x"], series["y"], strict=True))
        rows.append([series["name"], series["provenance"], *(f"{by_size[float(s)]:.3f}" for s in sizes)])
    title = "size / mean round trip, MB/s, over the size in bytes"
    _print_table(console, title, ["configuration", "provenance", *map(str, sizes)], rows)
    console.print("published: derived from the means of Table I", highlight=False)
    for c in result.configurations:
        _print_load(console, c.moved, c.notes)


def _print_one_way(result: one_way.Result) -> None:
    console = _console()
    rows = one_way.table_rows(result.configurations, result.published)
    heads = ["what", "direction", "load", "provenance", "min", "median", "mean", "p99", "p99.9", "max"]
    _print_table(console, f"{result.experiment.title}, ns", heads, rows)
    for row in result.published:
        if row.value is None:
            where = f"{row.of['direction']}, {row.of['load']}"
            console.print(f"published, {where}: {row.note}", highlight=False, soft_wrap=True)
    for c in result.configurations:
        offset = one_way.clock_offset_ns(c)
        console.print(
            f"{c.name}: half the difference of the two directions' shortest times is {offset:.0f} ns",
            highlight=False,
        )
        _print_load(console, c.moved, c.notes)


def _print_load(console: Any, moved: dict[str, float], notes: Sequence[str]) -> None:
    for source, rate in moved.items():
        console.print(f"interference, {source}: {rate / 1e6:.0f} MB/s (measured)", highlight=False)
    for note in notes:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)


def _print_end(run: Any, goals: list[dict[str, Any]]) -> None:
    console = _console()
    for goal in goals:
        value = goal["value"]
        shown = "not known" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
        met = "met" if goal["met"] else "NOT MET"
        line = f"goal {goal['name']}: {shown} {goal['unit']} {goal['sense']} {goal['limit']}: {met}"
        console.print(" ".join(line.split()), highlight=False)
    console.print(f"report: {run.path / 'report.html'}", highlight=False, soft_wrap=True)


COMMANDS: dict[str, click.Command] = {
    command.name or "": command for command in (loopback, table1, figure2, figure3, figure4, figure5)
}
