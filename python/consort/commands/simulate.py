# SPDX-License-Identifier: Apache-2.0
"""``consort simulate``: run a description in exact simulated time, and record it like a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput
from consort.base.waiting import progress_bar, silent
from consort.commands.options import echo_lines, on_option, on_target, print_json, root_option, verbose_option

if TYPE_CHECKING:
    from consort.model import System
    from consort.plan import Plan
    from consort.simulate.engine import Report
    from consort.simulate.outcome import Outcome


class DurationOption(click.ParamType):  # type: ignore[type-arg]
    """A duration with its unit, as in descriptions."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from consort.model import Duration
        from consort.model.base import WrongValue

        if isinstance(value, int):
            return value
        try:
            picoseconds = Duration.parse(str(value)).picoseconds
        except WrongValue as error:
            self.fail(str(error), param, ctx)
        if picoseconds == 0:
            self.fail("more than 0 is needed", param, ctx)
        return picoseconds


@click.command("simulate", epilog="Example: consort simulate system.yaml --duration 10s --seed 1")
@click.argument("description", type=click.Path(path_type=Path))
@click.option(
    "--duration",
    type=DurationOption(),
    default="1s",
    show_default=True,
    help="For how long jobs are released.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), help="The seed of all random choices, instead of run.seed."
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs with this and the following seeds; the one closest to what a deadline or a chain allows, or"
    " furthest past it, is recorded.",
)
@click.option(
    "--execution",
    type=click.Choice(["uniform", "worst", "edges"]),
    default="uniform",
    show_default=True,
    help="Execution times: any between best and worst case, always the worst, or mostly one of the two.",
)
@click.option("--dense", is_flag=True, help="Sporadic releases as early as they may come.")
@click.option(
    "--worker-serves",
    type=click.Choice(["priority", "fifo"]),
    help="Which request a worker takes: of the most urgent task, as `consort run` does, or the oldest;"
    " without it as 'service' of the core says.",
)
@click.option(
    "--master-waits",
    type=click.Choice(["sleep", "spin"]),
    help="While a job is at a worker its master's core runs other jobs, or keeps looking for the answer;"
    " without it as 'wait' of the core says.",
)
@on_option
@click.option("--mode", help="A mode of the description; without it all tasks as they stand.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Write the whole trace for ui.perfetto.dev here."
)
@click.option(
    "--csv", "csv_folder", type=click.Path(path_type=Path), help="Write jobs.csv and slices.csv here."
)
@click.option("--no-record", is_flag=True, help="Write no run folder: only the figures.")
@click.option("--name", help="Name of the run; without it the description's folder.")
@root_option
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    description: Path,
    on: str | None,
    duration: int,
    seed: int | None,
    runs: int,
    execution: Any,
    dense: bool,
    worker_serves: Any,
    master_waits: Any,
    mode: str | None,
    trace: Path | None,
    csv_folder: Path | None,
    no_record: bool,
    name: str | None,
    root: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Simulate a system description exactly: every release, preemption, DMA slot and message.

    The same description, duration and seed give the same run everywhere. Responses, reaction times and data
    ages are held against the bounds of `consort analyze`. Exit status 1: a deadline was missed, a chain took
    longer than it is allowed to, a block found no room or came before the task that it releases allows, or
    something took longer than its bound, which is a defect of Consort. 4: of something nothing was seen, or a
    figure that bounds lack counts nothing here.
    """
    from consort.model import load_system
    from consort.plan import plan
    from consort.report.draw import draw_for_page
    from consort.simulate.call import Options, simulated
    from consort.simulate.outcome import BoundExceeded

    described = load_system(description, on)
    if no_record and (trace is not None or csv_folder is not None):
        raise BadInput("--no-record keeps no jobs; leave it out to write a trace or CSV")
    changes = mode is None and described.mode_changes is not None
    if changes and (trace is not None or csv_folder is not None):
        option = "--csv" if trace is None else "--trace"
        raise BadInput("it is written of a run in one mode; name it with --mode", field=option)
    options = Options(
        duration,
        described.run.seed if seed is None else seed,
        runs,
        execution,
        dense,
        worker_serves,
        master_waits,
        not no_record,
        name,
        root,
        ["consort", *sys.argv[1:]],
        spelled="--{}",
    )
    with _bar(as_json) as report, _files_as_input():
        subject: System | Plan = described
        if not changes:
            subject = plan(described, "analysis", mode=mode)
            options = replace(options, diagram=None if no_record else draw_for_page(described, mode=mode))
        found = simulated(subject, options, report)
        _export(found, trace, csv_folder)
    if as_json:
        print_json(found.to_json())
    else:
        if verbose:
            _print(found)
            click.echo()
        _print_brief(found, on_target(description, on))
        refuted = [str(excess) for excess in found.excesses]
        for line in (*(line for line in found.above if line not in refuted), *found.early):
            click.echo(line, err=True)
    if found.excesses and not changes:
        raise BoundExceeded(found.excesses)
    if not found.held:
        sys.exit(found.held.exit_status)


@contextmanager
def _files_as_input() -> Iterator[None]:
    """Turns errors of files that cannot be written, which the user named, into `BadInput`."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{error.strerror or error}", file=error.filename) from None


def _export(found: Outcome, trace: Path | None, csv_folder: Path | None) -> None:
    """Writes the files that were asked for beside the record."""
    from consort.report.trace import write
    from consort.simulate.record import write_csv

    run = found.run
    if run is None:
        return
    if trace is not None:
        write(run, trace, limit=None)
    if csv_folder is not None and found.recorded is not None:
        write_csv(found.recorded, csv_folder)


def _print(found: Outcome) -> None:
    from consort.report.terminal import files_of
    from consort.simulate.show import change_lines, simulated_lines

    for one in found.modes:
        echo_lines([f"in the mode {one.mode}:"] if one.mode else [])
        echo_lines(simulated_lines(one))
    if found.changes is not None:
        echo_lines(change_lines(found.changes, found.runs))
    click.echo(found.answer)
    echo_lines([] if found.run is None else files_of(found.run))


def _print_brief(found: Outcome, description: str) -> None:
    from consort.simulate.show import brief_of_simulation

    echo_lines(brief_of_simulation(found, description).lines())


@contextmanager
def _bar(quiet: bool) -> Iterator[Report | None]:
    """A bar on a terminal once a simulation has taken a while; nothing elsewhere."""
    with progress_bar(quiet) as show:
        # Without a terminal there is no progress to show: the simulation then runs in this thread.
        yield None if show is silent else lambda share: show("simulating", share)
