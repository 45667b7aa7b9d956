# SPDX-License-Identifier: Apache-2.0
"""A description in a line, and as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consort.base.units import counted, html_table
from consort.model.quantities import Duration

if TYPE_CHECKING:
    from consort.model.description import System


def in_a_line(system: System) -> str:
    parts = [f"{counted(len(system.tasks), 'task')} on {counted(len(system.cores()), 'core')}"]
    for word, members in (("channel", system.channels), ("chain", system.chains), ("mode", system.modes)):
        parts += [counted(len(members), word)] if members else []
    name = system.name or (system._file.as_posix() if system._file is not None else "system")
    return f"{name}: {', '.join(parts)}, platform {system.platform}"


def as_html(system: System) -> str:
    rows = [
        (
            name,
            task.on,
            task.execution if task.master is None else f"{task.execution}, master {task.master}",
            f"at least {task.interval} apart" if task.sporadic else f"every {task.interval}",
            task.deadline,
            None if (wcet := system.wcet(name)) is None else Duration(wcet.value),
        )
        for name, task in system.tasks.items()
    ]
    columns = ("task", "on", "execution", "released", "deadline", "wcet")
    return html_table(in_a_line(system), columns, rows)
