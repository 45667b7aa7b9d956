# SPDX-License-Identifier: Apache-2.0
"""``consort place``: chooses where each task of a description runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consort.base.errors import BadInput
from consort.commands.options import NumberRange, print_json

if TYPE_CHECKING:
    from consort.place.call import Placement
    from consort.place.goals import Goal
    from consort.place.search import Conflict

# The objective of thresholds, which are chosen by themselves.
MEMORY = "memory"
OBJECTIVES = ("slack", "cores", "reaction", "energy", "budgets", "latency")


@click.command(
    "place",
    epilog="Example: consort place system.yaml --best slack --keep brake --output placed.yaml",
    help="Choose where each task of the system description FILE runs, and how urgent it is, so that every"
    " bound of `consort analyze` holds in every mode and an objective is best. What is said to be optimal is"
    " proven. Exit status 1: no placement holds, none was found in time, or the best one found is not proven"
    " to be the best. 4: a figure that nobody gave decides whether one holds.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--best",
    type=click.Choice((*OBJECTIVES, MEMORY)),
    default="slack",
    show_default=True,
    help="The objective: the least share of a deadline that a task's bound leaves; the number of cores;"
    " the sum of the chains' reaction times; the energy of the jobs; the sum of the budgets that --choose"
    " names; the sum of the channels' latencies; what the stacks take, of which --choose thresholds decides.",
)
@click.option(
    "--pareto",
    metavar="A,B",
    help="Print the placements of which none is better in one of these two objectives and as good in the"
    " other.",
)
@click.option("--keep", multiple=True, metavar="TASK", help="Leave this task where it is; may be repeated.")
@click.option("--moves", type=click.IntRange(0), metavar="N", help="Move at most so many tasks.")
@click.option("--in-modes", is_flag=True, help="Choose the places that modes give, too; else they stay.")
@click.option(
    "--choose",
    multiple=True,
    metavar="KIND[=FROM..TO[/STEP]],…",
    help="Choose these values of the description, too: slots (of three-phase cores), memories (of"
    " channels), supplies, bandwidths (their budgets). For example"
    " slots=50us..500us/10us,supplies. Or thresholds alone, with --best memory: the preemption thresholds"
    " with which the stacks take the least.",
)
@click.option(
    "--time-limit",
    type=NumberRange(0.1, 86_400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to search at most.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write the description with the new places to OUT, beside FILE, or to FILE itself.",
)
@click.option("--diff", "only_diff", is_flag=True, help="Print nothing but the diff of the description.")
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Draw the load of each core before and after.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(
    file: Path,
    best: Goal,
    pareto: str | None,
    keep: tuple[str, ...],
    moves: int | None,
    in_modes: bool,
    choose: tuple[str, ...],
    time_limit: float,
    output: Path | None,
    only_diff: bool,
    svg: Path | None,
    as_json: bool,
) -> None:
    from consort.base.files import replace_file
    from consort.base.waiting import progress_bar
    from consort.model import load_system
    from consort.model.load import diff
    from consort.place.apply import edited
    from consort.place.call import place
    from consort.place.search import conflict_of
    from consort.place.settings import THRESHOLDS
    from consort.place.show import as_data, loads
    from consort.report.draw.timeline import draw_loads

    if as_json and only_diff:
        raise BadInput("--diff prints text; choose one of them", field="--json")
    for option, path in (("--output", output), ("--svg", svg)):
        if path is not None and (path.is_dir() or not path.resolve().parent.is_dir()):
            raise BadInput(f"{path} is a folder, or is in none; name a file", field=option)
    if output is not None and output.resolve().parent != file.resolve().parent:
        raise BadInput(
            f"{output} is in another folder, and what the description names is relative to it; name a file"
            f" in {file.resolve().parent}",
            field="--output",
        )
    if pareto is not None:
        for option, given in (("--output", output), ("--diff", only_diff or None), ("--svg", svg)):
            if given is not None:
                raise BadInput(
                    "a front is not a single placement; choose one of its points first", field=option
                )
        _front(file, pareto, keep, moves, in_modes, choose, time_limit, as_json)
        return
    if best == MEMORY or THRESHOLDS in choose:
        if (
            best != MEMORY
            or choose != (THRESHOLDS,)
            or svg is not None
            or keep
            or moves is not None
            or in_modes
        ):
            text = "thresholds are chosen alone, for the places as they are: write"
            raise BadInput(f"{text} '--choose thresholds --best memory'", field="--choose")
        _thresholds(file, output, only_diff, as_json)
        return
    system = load_system(file)
    with progress_bar(as_json or only_diff) as progress:
        placement = place(
            system,
            best,
            keep=keep,
            moves=moves,
            in_modes=in_modes,
            choose=choose,
            seconds=time_limit,
            progress=progress,
        )
        conflict = None
        if placement.found.status == "infeasible":
            conflict = conflict_of(placement.problem, time_limit, progress, lacking=bool(placement.missing))
    text = ""
    changes = ""
    if placement.best.outcome is not None:
        text = edited(system, placement.system)
        changes = diff(file, text)
        if output is not None:
            replace_file(output, text)
        if svg is not None:
            before, after = loads(placement.problem, system), loads(placement.problem, placement.system)
            cores = [c for c in system.platform_description.core_names() if c in {*before, *after}]
            title = f"{system.name or file.stem}: load of each core before and after"
            svg.write_text(draw_loads(title, cores, before, after), encoding="utf-8")
    if as_json:
        written = None if output is None or not text else str(output)
        print_json(as_data(placement, best, conflict, changes, written))
    elif only_diff:
        click.echo(changes, nl=False)
    else:
        _show(placement, best, conflict, changes, output)
    if placement.found.status != "optimal":
        sys.exit(4 if placement.found.status == "undecided" else 1)


def _show(
    placement: Placement, goal: Goal, conflict: Conflict | None, changes: str, output: Path | None
) -> None:
    from rich.console import Console
    from rich.table import Table

    from consort.place.show import chain_rows, conflict_lines, rows, setting_rows, verdict

    for line in verdict(placement, goal):
        click.echo(line)
    if conflict is not None:
        for line in conflict_lines(conflict):
            click.echo(line)
    if placement.best.outcome is None:
        return
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    table = Table("task", "was on", "is on", "bound before", "bound after")
    for name, old, new, before, after in rows(placement):
        table.add_row(name, old, new if new == old else f"[bold]{new}[/bold]", before, after)
    console.print(table)
    settings = list(setting_rows(placement))
    if settings:
        table = Table("chosen", "was", "is")
        for name, old, new in settings:
            table.add_row(name, old, new if new == old else f"[bold]{new}[/bold]")
        console.print(table)
    chains = list(chain_rows(placement))
    if chains:
        table = Table("chain", "before", "after")
        for row in chains:
            table.add_row(*row)
        console.print(table)
    click.echo(changes, nl=False)
    if output is not None:
        click.echo(f"{output}: written")
    elif changes:
        click.echo("Nothing is written: add --output OUT, or apply the diff.")
    else:
        click.echo("The description stays as it is.")


def _thresholds(file: Path, output: Path | None, only_diff: bool, as_json: bool) -> None:
    from consort.base.files import replace_file
    from consort.model import load_system
    from consort.model.load import diff
    from consort.place.apply import edited
    from consort.place.show import threshold_lines, thresholds_as_data
    from consort.place.thresholds import choose_thresholds

    system = load_system(file)
    found = choose_thresholds(system)
    changes = ""
    if found.late is None:
        text = edited(system, found.system)
        changes = diff(file, text)
        if output is not None:
            replace_file(output, text)
    if as_json:
        data = thresholds_as_data(found, changes, None if output is None else str(output))
        print_json(data)
    elif not only_diff:
        for line in threshold_lines(found):
            click.echo(line)
        click.echo(changes, nl=False)
        if output is not None and found.late is None:
            click.echo(f"{output}: written")
    else:
        click.echo(changes, nl=False)
    if found.late is not None or found.failing:
        sys.exit(1)


def _front(
    file: Path,
    pareto: str,
    keep: tuple[str, ...],
    moves: int | None,
    in_modes: bool,
    choose: tuple[str, ...],
    seconds: float,
    as_json: bool,
) -> None:
    from consort.base.waiting import progress_bar
    from consort.model import load_system
    from consort.place.call import front
    from consort.place.goals import WORDS
    from consort.place.show import left_out

    names = pareto.split(",")
    if len(names) != 2 or any(name not in OBJECTIVES for name in names):
        raise BadInput(
            f"{pareto!r} is not a pair of objectives; write two of {', '.join(OBJECTIVES)}, for example"
            " cores,slack",
            field="--pareto",
        )
    first, second = names[0], names[1]
    with progress_bar(as_json) as progress:
        search, points, whole = front(
            load_system(file),
            first,  # type: ignore[arg-type]
            second,  # type: ignore[arg-type]
            keep=keep,
            moves=moves,
            in_modes=in_modes,
            choose=choose,
            seconds=seconds,
            progress=progress,
        )
    problem, missing = search.problem, search.evaluator.missing
    if as_json:
        found = [
            {
                first: one.value,
                second: other.value,
                "places": [str(place) for place in problem.places(other.outcome.choice)],
                "chosen": {str(one): value for one, value in problem.values(other.outcome.choice)},
            }
            for one, other in points
            if other.outcome is not None
        ]
        names_of = [str(decision) for decision in problem.decisions]
        print_json({"whole": whole, "missing": [*missing], "tasks": names_of, "points": found})
    for one, other in () if as_json else points:
        assert other.outcome is not None
        moved = other.outcome.moved(problem)
        a, b = WORDS[one.goal], WORDS[other.goal]
        values = f"{first} {a.value(one.value)}, {second} {b.value(other.value)}"
        changed = "".join(f"; {one} {value}" for one, value in problem.changed(other.outcome.choice))
        click.echo(f"{values}: moves {', '.join(moved) or 'none'}{changed}")
    if not as_json:
        if not points and whole and missing:
            text = "Undecided: no placement is accepted without figures that nobody gave."
        elif not points and whole:
            text = "These analyses accept no placement: proven."
        elif not points:
            text = "No placement was found in the time allowed."
        elif whole:
            text = "This is all of the front: proven."
        else:
            text = "The front may go on: the time, or the number of points, was over."
        click.echo("\n".join([text, *left_out(missing)]))
    if not whole or not points:
        sys.exit(4 if whole and missing else 1)
