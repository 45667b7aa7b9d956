# SPDX-License-Identifier: Apache-2.0
"""``consort plan``: a system description laid out on a target, with the work of each core."""

from __future__ import annotations

import json
from pathlib import Path

import click

from consort.commands.options import on_option


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

    from consort.board.placement import plan_for
    from consort.model import load_system
    from consort.plan.show import WIDTH, show

    made = plan_for(load_system(file, on), target, mode=mode, stand_ins=stand_ins)
    if as_json:
        click.echo(json.dumps(made.to_json(), indent=2, ensure_ascii=False))
        return
    console = Console()
    show(made, console if console.is_terminal else Console(width=WIDTH))
