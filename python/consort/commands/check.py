# SPDX-License-Identifier: Apache-2.0
"""``consort check``: is a system description right, and if not, all that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consort.base.errors import BadInput
from consort.base.waiting import progress_bar
from consort.commands.options import on_option, print_json

if TYPE_CHECKING:
    from consort.model import Platform, System, Task
    from consort.plan.targets import Target


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# Said where the description chooses none, and so may not know them.
_CONFIGURATIONS = (
    "(local: masters compute what is offloaded; off: without interference; run.configurations chooses)"
)


def summary(system: System, *, stand_ins: bool = False) -> str:
    """The summary of a valid description, one line a task."""
    from consort.plan.make import problems_of

    lines = [
        f"{system.file}: ok, {_count(len(system.tasks), 'task')} on {_count(len(system.cores()), 'core')} of"
        f" {system.platform_description.name}"
    ]
    for name, task in system.tasks.items():
        where = f"on {task.on}" if task.master is None else f"on {task.on}, master {task.master}"
        every = f"at least {task.interval} apart" if task.sporadic else f"every {task.period}"
        if task.burst is not None:
            every += f", at most {task.burst.count} in {task.burst.within}"
        lines.append(f"  {name}: {every}, deadline {task.deadline}, {task.execution} {where}")
    kept = problems_of(system, "linux", stand_ins=stand_ins)
    if not kept:
        jobs = f"{system.run.iterations} periods of {next(iter(system.tasks))} in each"
        chosen = system.configurations()
        lines.append(f"  runs: {', '.join(chosen)}; {jobs}")
        if len(chosen) > 1 and system.run.configurations is None:
            lines.append(f"  {_CONFIGURATIONS}")
        return "\n".join(lines)
    parts = (("channel", system.channels), ("chain", system.chains), ("mode", system.modes))
    counts = [_count(len(part), what) for what, part in parts if part]
    if counts:
        lines.append(f"  {', '.join(counts)}")
    lines.append(f"  not to be run on this machine: {kept[0].field}: {kept[0].message}")
    return "\n".join(lines)


def _has_step(task: Task) -> bool:
    from consort.model.channel import STAND_IN

    return task.step not in (None, STAND_IN)


def platform_summary(platform: Platform, file: Path) -> str:
    """The summary of a valid platform file."""
    cores = sum(group.count for group in platform.cores.values())
    figures = platform.figures()
    sourced = sum(source is not None for _, _, source in figures)
    return (
        f"{file}: ok, platform {platform.name}: {_count(cores, 'core')} of"
        f" {_count(len(platform.processors), 'processor')}, {_count(len(figures), 'figure')}, {sourced} with"
        " a source"
    )


def _meaning(system: System, target: Target | None, stand_ins: bool) -> None:
    """`BadDescription` unless the target honours all of the description; without one, unless one does."""
    from consort.model import BadDescription
    from consort.plan.make import refused_everywhere

    if target is not None:
        from consort.board.placement import plan_for

        for mode in (None, *(system.modes if target.in_modes else ())):
            plan_for(system, target.name, mode=mode, stand_ins=stand_ins)
    elif refused := refused_everywhere(system):
        raise BadDescription(refused)


def _figures_lacking(system: System, stand_ins: bool) -> list[BadInput]:
    """Figures that virtual time needs and nobody gave, but for those that compiled steps will tell."""
    from consort import _engine
    from consort.model import BadDescription
    from consort.run.options import Options, planned_in_modes
    from consort.run.plan_image import plan_image

    stepped = [name for name, task in system.tasks.items() if _has_step(task)]
    known = tuple(f"channels.{name}.{end}.size" for name in stepped for end in ("in", "out"))
    # A slot is as long as its tasks' moves, and the sizes of those are the types'.
    known += ("scheduling.",) if stepped else ()
    try:
        plans = planned_in_modes(system, Options(target="virtual", stand_ins=stand_ins))
        plan_image(plans, _engine.plan_layouts(), (), 1)
    except BadDescription as error:
        return [problem for problem in error.problems if not (problem.field or "").startswith(known)]
    return []


def _compile(system: System, target: Target | None, stand_ins: bool, quiet: bool) -> None:
    """`BadInput` where the system's program, or a board's, does not compile or has other sizes."""
    from consort.board.application import prepare_board
    from consort.plan.targets import BOARD
    from consort.run.application import build
    from consort.run.options import Options

    name = "linux" if target is None else target.name
    options = Options(target=name, stand_ins=stand_ins)
    with progress_bar(quiet) as progress:
        if name == BOARD:
            prepare_board(system, progress, options)
        else:
            build(system, progress, options)


def _on_targets(system: System) -> Iterator[System]:
    """The system on each of its targets; `BadDescription` of all that is wrong there."""
    from consort.model import BadDescription, load_system

    problems = []
    for name in system.targets:
        try:
            there = load_system(system.file, name)
            _meaning(there, None, False)
            yield there
        except BadDescription as error:
            problems += [_said_of(name, problem) for problem in error.problems]
    if problems:
        raise BadDescription(problems)


def _said_of(target: str, problem: BadInput) -> BadInput:
    """A problem with the name of the target that it is of."""
    return problem.saying(f"on {target!r}: {problem.message}")


@click.command(
    "check",
    epilog="Example: consort check system.yaml",
    help="Check FILE, a system description or a platform file: its form, its units, and that the files and"
    " cores it names exist, and that it means something to one target at least; as it stands, and on"
    " each of its targets. All errors are reported together, one a line: file, line, column, field, what is"
    " wrong, what would be right.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "target",
    metavar="TARGET",
    help="Check too that this target can honour all of the description, as `consort plan` would say.",
)
@on_option
@click.option(
    "--compile",
    "compiles",
    is_flag=True,
    help="Compile the steps too, for this machine or the target that is named: members, types and sizes are"
    " those of the code. It runs none of them.",
)
@click.option("--stand-ins", is_flag=True, help="With --for: give a stand-in to every task without a step.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print {ok, system}, {ok, platform} or {ok, problems} as JSON on standard output.",
)
def command(
    file: Path, target: str | None, on: str | None, compiles: bool, stand_ins: bool, as_json: bool
) -> int:
    from consort.base.errors import machines_fault, to_json
    from consort.commands.lines import placed, with_lines
    from consort.model import Platform, System
    from consort.model.load import load_description
    from consort.model.rules import warnings_of
    from consort.plan import target_named
    from consort.plan.targets import BOARD

    if stand_ins and target is None:
        raise BadInput("stand-ins are for a target; name it with --for", field="--stand-ins")
    chosen = None if target is None else target_named(target)
    if compiles and chosen is not None and not chosen.executes:
        raise BadInput(f"for {chosen.name} nothing is compiled; leave it out", field="--compile")
    try:
        checked = load_description(file, on)
        laid: dict[str, System] = {}
        if isinstance(checked, System):
            _meaning(checked, chosen, stand_ins)
            # One that was laid has none.
            laid = dict(zip(checked.targets, _on_targets(checked), strict=True)) if on is None else {}
            if compiles:
                _compile(checked, chosen, stand_ins, as_json)
    except BadInput as error:
        if machines_fault(error) is not None:
            raise
        found = placed(error)
        if as_json:
            print_json({"ok": False, "problems": found.to_json()})
        else:
            click.echo(str(found), err=True)
            click.echo(f"consort: {_count(len(found.problems), 'error')} in {file}", err=True)
        return error.exit_status
    warnings = warnings_of(checked) if isinstance(checked, System) else []
    said = {str(warning) for warning in warnings}
    if isinstance(checked, System) and chosen is not None and chosen.name == "virtual":
        warnings += _figures_lacking(checked, stand_ins)
    for name, system in laid.items():
        there = (warning for warning in warnings_of(system) if str(warning) not in said)
        warnings += [_said_of(name, warning) for warning in there]
    warnings = with_lines(warnings)
    for warning in () if as_json else warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        what = "platform" if isinstance(checked, Platform) else "system"
        result = {"ok": True, "warnings": to_json(warnings), what: checked.to_json()}
        print_json(result)
    elif isinstance(checked, Platform):
        click.echo(platform_summary(checked, file))
    else:
        click.echo(summary(checked, stand_ins=stand_ins))
        if laid:
            click.echo(f"  on its targets: ok, {', '.join(laid)}")
        if chosen is not None:
            modes = ", in each mode" if checked.modes and chosen.in_modes else ""
            click.echo(f"  {chosen.name} can honour all that is described{modes}")
            if not compiles and chosen.executes and any(_has_step(task) for task in checked.tasks.values()):
                constants = ", and that they take no constants" if chosen.name == BOARD else ""
                click.echo(
                    "  not checked here, as nothing is compiled: that the steps compile, that their types"
                    f" have the members and the sizes that are described{constants}; --compile says so"
                )
        if compiles:
            click.echo("  the steps compile; their members, types and sizes are those that are described")
    return 0
