# SPDX-License-Identifier: Apache-2.0
"""``consort check``: is a system description right, and if not, all that is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from consort.model import BadDescription, Platform, System, load_platform, load_system
from consort.model.document import spell
from consort.model.load import is_platform
from consort.model.runnable import what_keeps_it_from_running


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
        every = f"at least {task.interval} apart" if task.sporadic else f"every {task.period}"
        lines.append(f"  {name}: {every}, deadline {task.deadline}, {task.execution} {where}")
    kept = next(what_keeps_it_from_running(system), None)
    if kept is None:
        lines.append(f"  runs: {', '.join(system.configurations())}; {system.run.iterations} jobs each")
        return "\n".join(lines)
    parts = (("channel", system.channels), ("chain", system.chains), ("mode", system.modes))
    counts = [_count(len(part), what) for what, part in parts if part]
    if counts:
        lines.append(f"  {', '.join(counts)}")
    lines.append(f"  not to be run on this machine: {spell(kept[0])}: {kept[1]}")
    return "\n".join(lines)


def platform_summary(platform: Platform, file: Path) -> str:
    """What a good platform file describes."""
    cores = sum(group.count for group in platform.cores.values())
    figures = platform.figures()
    sourced = sum(source is not None for _, _, source in figures)
    return (
        f"{file}: ok, platform {platform.name}: {_count(cores, 'core')} of"
        f" {_count(len(platform.processors), 'processor')}, {_count(len(figures), 'figure')}, {sourced} with"
        " a source"
    )


@click.command(
    "check",
    epilog="Example: consort check examples/servo/system.yaml",
    help="Check FILE, a system description or a platform file: its form, its units, and that the files and"
    " cores it names exist. All errors are reported together, one a line: file, line,"
    " column, field, what is wrong, what would be right.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print {ok, system}, {ok, platform} or {ok, problems} as JSON on standard output.",
)
def command(file: Path, as_json: bool) -> int:
    try:
        checked = load_platform(file) if is_platform(file) else load_system(file)
    except BadDescription as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "problems": error.to_json()}, indent=2, ensure_ascii=False))
        else:
            click.echo(str(error), err=True)
            click.echo(f"consort: {_count(len(error.problems), 'error')} in {file}", err=True)
        return error.exit_status
    if as_json:
        what = "platform" if isinstance(checked, Platform) else "system"
        click.echo(json.dumps({"ok": True, what: checked.to_json()}, indent=2, ensure_ascii=False))
    elif isinstance(checked, Platform):
        click.echo(platform_summary(checked, file))
    else:
        click.echo(summary(checked))
    return 0
