# SPDX-License-Identifier: Apache-2.0
"""``consort check``: is a system description right, and if not, all that is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from consort.model import BadDescription, System, load_system


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def summary(system: System) -> str:
    """What a good description describes, one line a task."""
    lines = [
        f"{system.file}: ok, {_count(len(system.tasks), 'task')} on {_count(len(system.cores()), 'core')} of"
        f" {system.platform_description.name}"
    ]
    for name, task in system.tasks.items():
        where = f"on {task.on}" if task.master is None else f"on {task.on}, master {task.master}"
        lines.append(f"  {name}: every {task.period}, deadline {task.deadline}, {task.execution} {where}")
    lines.append(f"  runs: {', '.join(system.configurations())}; {system.run.iterations} jobs each")
    return "\n".join(lines)


@click.command(
    "check",
    epilog="Example: consort check examples/servo/system.yaml",
    help="Check the system description FILE: its form, its units, and that the files and cores it names"
    " exist. All errors are reported together, one a line: file, line, column, field, what is wrong, what"
    " would be"
    " right.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="Print {ok, system} or {ok, problems} as JSON on standard output."
)
def command(file: Path, as_json: bool) -> int:
    try:
        system = load_system(file)
    except BadDescription as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "problems": error.to_json()}, indent=2, ensure_ascii=False))
        else:
            click.echo(str(error), err=True)
            click.echo(f"consort: {_count(len(error.problems), 'error')} in {file}", err=True)
        return error.exit_status
    if as_json:
        click.echo(json.dumps({"ok": True, "system": system.to_json()}, indent=2, ensure_ascii=False))
    else:
        click.echo(summary(system))
    return 0
