# SPDX-License-Identifier: Apache-2.0
"""``consort profile``: measures the execution times of a description's steps and proposes `wcet` and
`bcet`.
"""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput
from consort.base.waiting import progress_bar, signals_to_exceptions
from consort.commands.options import on_option, print_json, root_option
from consort.commands.run import nanoseconds_of

if TYPE_CHECKING:
    from consort.model import System


def _refuse_own_figures(system: System, mode: str, tasks: tuple[str, ...]) -> None:
    """Refuses to write what was measured in a mode where the mode has figures, or a place, of its own."""
    for task, override in system.modes[mode].overrides.items():
        own = sorted({"wcet", "bcet", "on", "execution"} & set(override.changed))
        if own and (not tasks or task in tasks):
            raise BadInput(
                f"the mode {mode} has {own[0]!r} of its own for this task, and --write changes what all modes"
                f" share; profile it without --write, or without --mode",
                file=system.file,
                field=f"modes.{mode}.overrides.{task}.{own[0]}",
            )


def margin_of(text: str) -> Fraction:
    """A margin such as 20%: at least 0 and at most 1000 %."""
    found = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*%\s*", text)
    if found is None or not 0 <= Fraction(found[1]) <= 1000:
        raise BadInput(f"{text!r} is not a margin; write 20%, at most 1000%", field="--margin")
    return Fraction(found[1]) / 100


@click.command(
    epilog="Example: consort profile system.yaml --write",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("description", type=click.Path(path_type=Path))
@click.option("--task", "tasks", multiple=True, help="Profile this task only; may be given several times.")
@click.option("--write", is_flag=True, help="Write the figures into the description.")
@click.option("--diff", "only_diff", is_flag=True, help="Print nothing but the diff of the description.")
@click.option(
    "--interference/--no-interference",
    default=True,
    show_default=True,
    help="Run each step also beside the interference of the description (run.interference).",
)
@click.option(
    "--margin", default="20%", show_default=True, help="The share that is added to the high-water mark."
)
@click.option(
    "--duration",
    default="2s",
    show_default=True,
    help="How long each step runs, alone and under interference.",
)
@click.option("--ordinary", is_flag=True, help="Stay in the ordinary scheduling class: no SCHED_FIFO.")
@on_option
@click.option("--mode", help="Profile the tasks of this mode, as they are in it.")
@root_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    description: Path,
    tasks: tuple[str, ...],
    write: bool,
    only_diff: bool,
    interference: bool,
    margin: str,
    duration: str,
    ordinary: bool,
    on: str | None,
    mode: str | None,
    root: Path | None,
    as_json: bool,
) -> None:
    """Measure the execution time of every step on this machine, and propose `wcet` and `bcet`.

    This builds and runs the description's own code. Run only descriptions that you trust.

    Each step runs where it is placed, as a local task, alone and under interference, with the inputs that it
    has in the system; every sample is kept as a recorded run. Proposed are the high-water mark and the
    low-water mark with a margin: measured, not a bound.
    """
    from consort.base.files import replace_file
    from consort.model import load_system
    from consort.model.load import diff
    from consort.plan.make import chosen_mode
    from consort.run.profile import Settings, edited, profile_system, proposals
    from consort.run.profile.edit import as_json as data_of
    from consort.run.profile.edit import lines, source_of

    if as_json and only_diff:
        raise BadInput("--diff prints text; choose one of them", field="--json")
    added = margin_of(margin)
    system = load_system(description, on)
    chosen = chosen_mode(system, mode)
    if write and mode is not None:
        _refuse_own_figures(system, mode, tasks)
    settings = Settings(
        tasks=tasks,
        interference=interference,
        duration_ps=nanoseconds_of(duration) * 1000,
        realtime=not ordinary,
        root=root,
        command=["consort", *sys.argv[1:]],
    )
    signals_to_exceptions()
    with progress_bar(as_json or only_diff) as progress:
        seen, run = profile_system(chosen, settings, progress)
    platform = system.platform_description
    found = proposals(seen, {name: platform.core(name).processor_name for name in chosen.cores()}, added)
    source = {
        p.task: source_of([q for q in found if q.task == p.task], run.data["environment"]) for p in found
    }
    text = edited(system, found, source, elsewhere=on is not None)
    changes = diff(system.file, text)
    if write:
        replace_file(system.file, text)
    if as_json:
        result: dict[str, Any] = {"run": run.data["id"], "path": str(run.path), "proposals": data_of(found)}
        print_json({**result, "diff": changes, "written": write})
        return
    if only_diff:
        click.echo(changes, nl=False)
        return
    for line in lines(found, {name: chosen.wcet(name) for name in chosen.tasks}):
        click.echo(line)
    if interference and not chosen.run.interference:
        click.echo("Alone only: the description names no interference (run.interference).")
    click.echo("")
    click.echo(changes, nl=False)
    click.echo("")
    click.echo(f"{system.file}: written" if write else "Nothing is written: add --write, or apply the diff.")
    click.echo(f"every sample: {run.path}")
