# SPDX-License-Identifier: Apache-2.0
"""Slots of three-phase cores, and the bounds that hold with them."""

from __future__ import annotations

from dataclasses import replace

from consort.analysis.figures import MissingFigure, NotAnalysable
from consort.analysis.result import Bound, in_words
from consort.analysis.scratchpad import carried, core_of, moved, slot_of
from consort.analysis.three_phase import bound_core
from consort.base.errors import BadInput
from consort.board.generate.kernel import TableOptions
from consort.model import System
from consort.model.figures import Figure
from consort.model.memories import Dma
from consort.model.quantities import DataRate, Duration
from consort.model.scheduling import Scheduling

# A slot that is computed is a whole number of these: clocks then have a whole number of ticks for it.
SLOT_STEP = 10**6


def rated(system: System, options: TableOptions, notes: list[str]) -> System:
    """The system with the DMA figures that were given, where some were."""
    platform = system.platform_description
    if options.rate is None:
        if options.setup is not None:
            raise BadInput("says how long programming takes; give --dma-rate too", field="--dma-setup")
        engines = list(platform.dmas.items())
        if len(engines) == 1 and engines[0][1].rate is not None:
            name, engine = engines[0]
            source = next(
                (s for place, _, s in platform.figures() if place == f"dmas.{name}.rate"), engine.provenance
            )
            notes.append(f"DMA: {engine.rate}, {source or 'the platform does not say from where'}")
        else:
            notes.append("DMA: no rate is known, so no slot was checked against its operations")
        return system
    if options.rate.bytes_per_second == 0:
        raise BadInput("a rate of 0 moves nothing", field="--dma-rate")
    engines = list(platform.dmas.items())
    if len(engines) > 1:
        raise BadInput(
            f"platform {platform.name} has {len(engines)} DMA engines; its description has to name the one"
            " for three-phase tasks",
            field="--dma-rate",
        )
    name, engine = engines[0] if engines else ("dma", Dma())
    setup = Figure[Duration](value=options.setup) if options.setup is not None else engine.setup
    given = engine.model_copy(update={"rate": Figure[DataRate](value=options.rate), "setup": setup})
    notes.append(
        f"DMA: {options.rate}, given{'' if setup is None else f'; programming it takes {setup.value}'}"
    )
    copy = system.model_copy()
    copy._platform = platform.model_copy(update={"dmas": {name: given}})
    return copy


def slots(system: System, names: list[str], notes: list[str]) -> tuple[System, int]:
    """The system with every slot written down, and how late an operation may begin in any of them."""
    scheduling = dict(system.scheduling)
    slack: list[int] = []
    for core in names:
        described = system.scheduling_of(core)
        computed = described.slot is None or described.slot == "auto"
        try:
            slot = slot_of(system, core)
        except NotAnalysable as error:
            raise BadInput(f"{error}; --dma-rate gives the engine's rate", file=system.file) from None
        if computed:
            slot = -(-slot // SLOT_STEP) * SLOT_STEP
        longest = _longest(system, core)
        if longest is None:
            notes.append(f"{core}: slot {in_words(slot)}, as given")
            slack.append(0)
        else:
            time, what = longest
            if time > slot:
                raise BadInput(
                    f"the {what} takes {in_words(time)}, {in_words(time - slot)} longer than the slot"
                    f" {in_words(slot)}; lengthen it, or write auto",
                    file=system.file,
                    field=f"scheduling.{system.scheduling_entry(core)}.slot",
                )
            source = "computed" if computed else "as given"
            notes.append(f"{core}: slot {in_words(slot)}, {source}; the {what} takes {in_words(time)}")
            slack.append(slot - time)
        scheduling[core] = Scheduling.model_validate(
            {
                **described.model_dump(by_alias=True, exclude_none=True, exclude={"slot"}, mode="json"),
                "slot": str(Duration(slot)),
            }
        )
    return system.model_copy(update={"scheduling": scheduling}), min(slack)


def _longest(system: System, core: str) -> tuple[int, str] | None:
    """The longest operation of a core and whose it is; None where one is not known."""
    found: list[tuple[int, str]] = []
    for name in system.tasks_on(core):
        times = moved(system, name)
        if times is None:
            return None
        found += [(time, f"{what} of {name!r}") for time, what in zip(times, ("load", "unload"), strict=True)]
    return max(found, key=lambda one: one[0])


def bounds(system: System, names: list[str], options: TableOptions) -> tuple[list[Bound], dict[str, int]]:
    """Bounds of all tasks, and what each may execute before the watchdog says so."""
    bounds: list[Bound] = []
    executions: dict[str, int] = {}
    for core in names:
        try:
            found = core_of(system, core)
        except NotAnalysable as error:
            raise BadInput(str(error), file=system.file) from None
        executions |= {task.name: task.execution for task in found.tasks}
        # The watchdog looks once a slot: so much longer a job executes that it stops.
        more = 0 if options.on_overrun == "report" else found.share.slot
        tasks = [replace(task, execution=task.execution + more) for task in found.tasks]
        try:
            carried(system, core)
        except NotAnalysable as error:
            lacks = (error.place,) if isinstance(error, MissingFigure) else ()
            bounds += [
                Bound(t.name, None, t.deadline, "", notes=(str(error),), core=core, missing=lacks)
                for t in tasks
            ]
            continue
        bounds += bound_core(tasks, found.share, method=found.method, core=core)
    return bounds, executions


def lateness(bound: Bound) -> str:
    if bound.response is None:
        return f"{bound.task} on {bound.core} has no bound{''.join(f': {note}' for note in bound.notes)}"
    assert bound.deadline is not None
    return (
        f"{bound.task} on {bound.core} may take {in_words(bound.response)}, its deadline is"
        f" {in_words(bound.deadline)}"
    )
