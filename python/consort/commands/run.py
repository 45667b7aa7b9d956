# SPDX-License-Identifier: Apache-2.0
"""``consort run``: runs a system description and records every sample."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from consort.board.application import platform_of, run_on_board
from consort.board.three_phase import MESSAGES, SLOTS, run_three_phase_on_board
from consort.board.three_phase import RESPONSES as RESPONSES_ON_BOARD
from consort.errors import BadInput
from consort.model import load_system
from consort.model.description import CONFIGURATIONS
from consort.model.quantities import Duration
from consort.progress import progress_bar
from consort.record import Run
from consort.runner.application import Options, prepare, run_system, signals_to_exceptions
from consort.runner.three_phase import RESPONSES, only_three_phase, run_three_phase


@click.command(
    epilog="Example: consort run examples/servo/system.yaml --iterations 100000 --only offloaded-off",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("description", type=click.Path(path_type=Path))
@click.option(
    "--iterations",
    type=click.IntRange(1, 2**32 - 1),
    help="Jobs of the first task, instead of run.iterations.",
)
@click.option(
    "--duration",
    help="Boards' scratchpad kernel: how long jobs are released, instead of --iterations; 90s, 30min, 1h.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(CONFIGURATIONS),
    help="Run this configuration only; may be given several times.",
)
@click.option("--time-base", type=click.Choice(["spin", "sleep", "hybrid"]), help="Instead of run.time_base.")
@click.option(
    "--counted",
    is_flag=True,
    help="Boards: time is instructions executed, and runs repeat to the tick; refused where that cannot be.",
)
@click.option(
    "--board",
    type=click.Choice(["versal"]),
    help="Three-phase systems: on this emulated board's scratchpad kernel, in counted time.",
)
@click.option(
    "--rt-linux", is_flag=True, help="Boards: PREEMPT_RT Linux on the worker's core a72-0, not bare metal."
)
@click.option("--ordinary", is_flag=True, help="Stay in the ordinary scheduling class: no SCHED_FIFO.")
@click.option("--name", help="Name of the run; without it the description's folder.")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="Folder of recorded runs (default: $CONSORT_RUNS or ./runs).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run's summaries as JSON.")
def command(
    description: Path,
    iterations: int | None,
    duration: str | None,
    only: tuple[Any, ...],
    time_base: str | None,
    counted: bool,
    board: str | None,
    rt_linux: bool,
    ordinary: bool,
    name: str | None,
    root: Path | None,
    as_json: bool,
) -> None:
    """Run a system description: master and workers as processes on cores of their own.

    Each configuration (local or offloaded, interference off or on) runs once; every job is recorded and
    every output is held against its golden one. Exit status 1: a deadline was missed, an output was wrong or
    a worker died; the run is recorded all the same.
    """
    system = load_system(description)
    if duration is not None and (board is None or iterations is not None):
        why = "only runs with --board have one" if board is None else "--iterations says how long already"
        raise BadInput(why, field="--duration")
    signals_to_exceptions()
    options = Options(
        iterations=iterations,
        configurations=only or None,
        time_base=time_base,
        realtime=not ordinary,
        name=name,
        root=root,
        command=["consort", *sys.argv[1:]],
    )
    with progress_bar(as_json) as progress:
        if board is not None:
            if only or time_base is not None or rt_linux:
                option = "--only" if only else "--time-base" if time_base is not None else "--rt-linux"
                raise BadInput("the board's scratchpad kernel has no such choice", field=option)
            run = run_three_phase_on_board(
                system,
                iterations=iterations,
                name=name,
                root=root,
                command=options.command,
                progress=progress,
                duration=None if duration is None else nanoseconds_of(duration),
            )
        elif platform_of(system) is not None:
            run = run_on_board(
                system,
                iterations=iterations,
                name=name,
                root=root,
                command=options.command,
                must_count=counted,
                rt_linux=rt_linux,
                progress=progress,
            )
        elif counted or rt_linux:
            option = "--counted: only boards count instructions" if counted else "--rt-linux: only on boards"
            raise BadInput(option, file=description, field="platform")
        elif only_three_phase(system):
            if only or time_base is not None:
                option = "--only" if only else "--time-base"
                raise BadInput("three-phase systems have one configuration, timed by slots", field=option)
            run = run_three_phase(system, options, progress)
        else:
            prepared = prepare(system, progress)
            run = run_system(prepared, options, progress)
    if as_json:
        click.echo(json.dumps(summary(run), indent=1))
    else:
        print_run(run)
    if not run.data["verdict"]["ok"]:
        sys.exit(1)


def nanoseconds_of(text: str) -> int:
    """A duration, also in minutes and hours, of at least a nanosecond and at most a day."""
    longer = re.fullmatch(r"\s*(\d+)\s*(min|h)\s*", text)
    try:
        if longer is not None:
            seconds = int(longer[1]) * (60 if longer[2] == "min" else 3600)
            found = seconds * 10**9
        else:
            found = Duration.parse(text).nanoseconds
    except ValueError as error:
        raise BadInput(f"{error}; write 90s, 30min or 1h", field="--duration") from None
    if not 0 < found <= 24 * 3600 * 10**9:
        raise BadInput(f"{text} is no duration of a run; up to 24h are", field="--duration")
    return found


def summary(run: Run) -> dict[str, Any]:
    """What `--json` prints: where the run lies, its verdict, and each configuration's figures, counters."""
    keys = ("key", "name", "counters", "jobs", "summary")
    return {
        "run": run.data["id"],
        "path": str(run.path),
        "verdict": run.data["verdict"],
        "configurations": [{k: c[k] for k in keys if k in c} for c in run.data["configurations"]],
    }


def print_run(run: Run) -> None:
    """One table for each metric, then the verdict and where to look further."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    # In a file or a pipe there is no width to respect.
    console = console if console.is_terminal else Console(width=120)
    statistics = ("min", "mean", "median", "p99", "p999", "p9999", "max")
    heads = ("min", "mean", "median", "p99", "p99.9", "p99.99", "max")
    clocks = {configuration["clock"]["provenance"] for configuration in run.data["configurations"]}
    provenance = ", ".join(sorted(clocks))
    for metric, title in (
        ("response", "job response time"),
        ("compute", "compute time"),
        ("communication", "communication time"),
    ):
        table = Table(title=f"{title}, us, {provenance}", title_justify="left")
        table.add_column("configuration")
        for head in (*heads, "jobs"):
            table.add_column(head, justify="right")
        for configuration in run.data["configurations"]:
            figures = configuration["summary"].get(metric)
            if figures is not None:
                cells = [f"{figures[s] / 1000:.3f}" for s in statistics]
                table.add_row(configuration["key"], *cells, str(figures["n"]))
        if table.row_count:
            console.print(table)
    for section in run.data["sections"]:
        if section["title"] in (RESPONSES, RESPONSES_ON_BOARD, MESSAGES, SLOTS):
            print_section(console, section)
    table = Table(title="counted", title_justify="left")
    table.add_column("configuration")
    counters = (
        "deadline_misses",
        "releases_skipped",
        "output_errors",
        "outputs_held",
        "local_fallbacks",
        "worker_deaths",
    )
    for counter in counters:
        table.add_column(counter.replace("_", " "), justify="right")
    for configuration in run.data["configurations"]:
        table.add_row(configuration["key"], *(str(configuration["counters"].get(c, 0)) for c in counters))
    console.print(table)
    verdict = run.data["verdict"]
    console.print(
        "the system held" if verdict["ok"] else "the system did not hold:", style="bold", highlight=False
    )
    for reason in verdict["reasons"]:
        console.print(f"  {reason}", highlight=False, markup=False)
    console.print(f"report: {run.path / 'report.html'}", highlight=False, soft_wrap=True)
    console.print(
        f"trace:  {run.path / 'trace.pftrace'} (open in ui.perfetto.dev)", highlight=False, soft_wrap=True
    )


def print_section(console: Any, section: dict[str, Any]) -> None:
    """A section that is a table."""
    from rich.table import Table

    units = sorted({column["unit"] for column in section["columns"] if column.get("unit")})
    table = Table(title=", ".join([section["title"], *units]), title_justify="left")
    for column in section["columns"]:
        table.add_column(column["name"], justify="right")
    for row in section["rows"]:
        table.add_row(*("-" if v is None else f"{v:.3f}" if isinstance(v, float) else str(v) for v in row))
    console.print(table)
