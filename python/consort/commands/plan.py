# SPDX-License-Identifier: Apache-2.0
"""``consort plan``, ``show``, ``schema`` and ``init``: a description as a plan, as a drawing, its schema,
and one to begin from."""

from __future__ import annotations

import importlib
import shlex
from contextlib import ExitStack
from pathlib import Path

import click

from consort.base.errors import BadInput
from consort.base.files import write_text
from consort.commands.options import on_option, print_json


@click.command(
    "plan",
    epilog="Example: consort plan system.yaml --stand-ins",
    help="Lay the system description FILE out on a target and show the plan: cores and their policies, what"
    " each core releases and in which order, channels with what holds them and where, devices and chains."
    " What the target cannot honour is refused, with place and reason. Exit status 2: FILE is wrong, or"
    " refused.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "target",
    default="linux",
    show_default=True,
    metavar="TARGET",
    help="The target: analysis (bounds and simulation), linux (this machine), virtual (a"
    " deterministic clock) or board (the emulated board that stands for the platform).",
)
@on_option
@click.option("--mode", help="The mode to plan; without it all tasks as they stand.")
@click.option("--stand-ins", is_flag=True, help="Give a stand-in to every task without a step.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON; times are in picoseconds.")
def command(
    file: Path, target: str, on: str | None, mode: str | None, stand_ins: bool, as_json: bool
) -> None:
    from rich.console import Console

    from consort.analysis.system import with_jitters
    from consort.board.placement import plan_for
    from consort.model import load_system
    from consort.plan.show import WIDTH, show

    made = with_jitters(plan_for(load_system(file, on), target, mode=mode, stand_ins=stand_ins))
    if as_json:
        print_json(made.to_json())
        return
    console = Console()
    show(made, console if console.is_terminal else Console(width=WIDTH))


# The module and function that makes each.
SCHEMAS = {
    "system": ("consort.model.load", "system_schema"),
    "platform": ("consort.model.load", "platform_schema"),
    "board": ("consort.board.description", "board_schema"),
    "sweep": ("consort.sweep.model", "sweep_schema"),
}


@click.command(
    "schema",
    epilog="Example: consort schema > schema/system.schema.json",
    help="Print the JSON Schema (draft 2020-12) of system descriptions, platform files, boards'"
    " board.yaml, or sweep files. An editor with a YAML language server uses it when a description begins"
    " with '# yaml-language-server: $schema=PATH'.",
)
@click.argument("which", type=click.Choice(list(SCHEMAS)), default="system")
def schema_command(which: str) -> None:
    from consort.model.load import schema_text

    module, function = SCHEMAS[which]
    click.echo(schema_text(getattr(importlib.import_module(module), function)()), nl=False)


@click.command(
    "show",
    epilog="Example: consort show system.yaml -o vehicle.svg",
    help="Draw the system description or platform file FILE as SVG: cores by processor, tasks with their"
    " times, channels between them, memories, links and chains.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Where to write; - is standard output (default: FILE's name with .svg, in the current folder).",
)
@on_option
@click.option("--mode", help="Draw the system as it is in this mode.")
def show_command(file: Path, output: Path | None, on: str | None, mode: str | None) -> None:
    from consort.base.errors import nearest
    from consort.model import Platform
    from consort.model.load import load_description
    from consort.report.draw import draw_platform, draw_system

    described = load_description(file, on)
    if isinstance(described, Platform):
        if mode is not None:
            raise BadInput("a platform has no modes; leave --mode out", file=file)
        text = draw_platform(described)
    else:
        system = described
        if mode is not None and mode not in system.modes:
            raise BadInput(
                f"there is no mode {mode!r}; {nearest(mode, system.modes, 'modes')}", file=file, field="modes"
            )
        text = draw_system(system, mode=mode)
    if output == Path("-"):
        click.echo(text, nl=False)
        return
    path = output or Path(file.with_suffix(".svg").name)
    try:
        write_text(path, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}; name another file with -o", file=path) from None
    click.echo(f"{path}: written", err=True)


SKELETON = Path(__file__).resolve().parent.parent / "skeleton"
FILES = ("system.yaml", "step.hpp", "inputs.py")
# A repository that was just made is an empty folder to whoever made it.
PASSED_OVER = {".git"}


@click.command(
    "init",
    epilog="Example: consort init my-controller && cd my-controller && consort run system.yaml",
    help="Write a small application that passes check, plan, analyze, simulate and run into DIR (default: the"
    " current folder): a description, a step and its inputs. DIR is made where there is none. Exit status 2:"
    " DIR is not empty, or cannot be written; nothing is changed then.",
)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path())
def init_command(folder: Path) -> None:
    write_skeleton(folder)
    for name in FILES:
        click.echo(folder / name)
    place = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    click.echo(f"next: {place}consort run system.yaml")


def write_skeleton(folder: Path) -> None:
    """Writes the skeleton into a folder that is empty or not there yet; `BadInput` otherwise."""
    try:
        if folder.exists():
            if not folder.is_dir():
                raise BadInput("is a file; name a folder that is empty, or a new one", file=folder)
            there = sorted(path.name for path in folder.iterdir() if path.name not in PASSED_OVER)
            if there:
                raise BadInput(
                    f"the folder is not empty (it has {there[0]!r}); name one that is empty, or a new one",
                    file=folder,
                )
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as after_failure:
            for name in FILES:
                with (folder / name).open("x", encoding="utf-8") as file:
                    after_failure.callback((folder / name).unlink)
                    file.write((SKELETON / name).read_text(encoding="utf-8"))
            after_failure.pop_all()
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=error.filename or folder) from None
