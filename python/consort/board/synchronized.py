# SPDX-License-Identifier: Apache-2.0
"""Processes beside a board that live in its time: the times of their steps, the period of their looks at
others' writes, and the requirements of such a run on a board and a description."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput
from consort.board.description import BoardSpec, CoreSpec
from consort.model.kinds import STAND_IN
from consort.model.platform import find_platform
from consort.plan import Plan, PlannedTask

# Between two looks where the platform has no figure of a look [ns].
LOOK_NS = 1000
WORD_BYTES = 4


def computed_on(plan: Plan, core: str) -> list[PlannedTask]:
    """The tasks whose steps a core computes: its own, as a worker, or in place of one that did not answer."""
    return [
        task
        for task in plan.tasks.values()
        if core == (task.worker or task.core) or (core == task.core and task.on_miss == "local-fallback")
    ]


def time_on(task: PlannedTask, core: str) -> int | None:
    """The step's declared time on a core [ps]."""
    return task.wcet_ps if core == (task.worker or task.core) else task.fallback_ps


def look_ns(plan: Plan, core: str) -> tuple[int, str]:
    """The time between two looks of a process at what others write, and its source.

    A look is an access to the memory of a channel: as long as the quickest of those it uses.
    """
    figures, processor = Figures(plan), plan.cores[core].processor
    found: dict[int, str] = {}
    for channel in plan.channels.values():
        task = None if channel.exchange_of is None else plan.tasks[channel.exchange_of]
        users = {channel.writer_core, *channel.reader_cores, *((task.core, task.worker) if task else ())}
        if core not in users or channel.memory is None:
            continue
        try:
            cost = figures.access(channel.memory, WORD_BYTES, processor, loaded=False)
        except MissingFigure:
            continue
        if cost.ps >= 1000:
            found[cost.ps // 1000] = f"an access of {processor} to {channel.memory}"
    return min(found.items(), default=(LOOK_NS, "assumed: the platform has no figure of an access"))


def notes(plan: Plan, cores: Sequence[str]) -> Iterator[str]:
    """Notes on processes in the board's time for a run's reader."""
    for core in cores:
        ns, source = look_ns(plan, core)
        yield (
            f"{core} is a process in the board's time: its steps take their declared times, and where it"
            f" waits it looks every {ns / 1000:g} us ({source})"
        )


def refusals(
    plan: Plan, board: BoardSpec, synchronizer: CoreSpec | None, processes: Sequence[str]
) -> Iterator[BadInput]:
    """Obstacles to keeping processes in the board's time."""
    file = plan.file
    if synchronizer is None:
        yield BadInput(
            f"the board {board.name} has no core that starts with it and has a timer interrupt, and only such"
            " a one stops it for the processes beside it",
            file=find_platform(plan.platform_given, file),
            field="emulation.board",
        )
    for core in processes:
        for task in computed_on(plan, core):
            if task.step != STAND_IN and time_on(task, core) is None:
                kind = "offloaded" if task.worker == core else "local"
                processor = plan.cores[core].processor
                yield BadInput(
                    f"{core!r} is a process in the board's time, where a step takes what is declared, and the"
                    f" time of {kind} execution on {processor} is not; add it, for example"
                    f" 'wcet: {{{processor}: {{{kind}: 50us}}}}'",
                    file=file,
                    field=f"tasks.{task.name}.wcet",
                )
