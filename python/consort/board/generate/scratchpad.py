# SPDX-License-Identifier: Apache-2.0
"""The plan behind the tables of the scratchpad-centric kernel: tasks, slots, subscriptions, partitions.

Sizes come from the object files where there are some, else from the description. What the kernel could not
keep, or the bounds do not allow, is refused here and not found out at run time.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from consort.analysis.figures import MissingFigure, NotAnalysable
from consort.analysis.lacking import answer_of, lacking_figures, named, remedies
from consort.analysis.result import Bound, in_words
from consort.analysis.three_phase import bound_core, carried, core_of, moved, slot_of, three_phase_cores
from consort.base.errors import BadInput, Held, SystemFails, Undecided
from consort.board.generate.kernel import (
    PART_ALIGNMENT,
    PARTITIONS,
    Entry,
    PlannedCore,
    TableOptions,
    Tables,
    identifier,
    message_boxes,
    subscriptions_of,
)
from consort.board.generate.sizes import described_size, fits, image_places, partition_bytes, sized
from consort.board.task_image import kernel_row
from consort.model import System
from consort.model.figures import Figure
from consort.model.memories import Dma
from consort.model.quantities import DataRate, Duration
from consort.model.sharing import Scheduling
from consort.plan import plan_of

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
            slot = slot_of(system, core).length_ps
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


SECOND = 10**12


def make_tables(system: System, options: TableOptions) -> Tables:
    """`BadInput` names what cannot be; `SystemFails` the tasks that may be late, and `Undecided` the figures
    without which nobody knows, unless forced."""
    names = three_phase_cores(system)
    if not names:
        raise BadInput(
            "no task is three-phase; the kernel's tables are of tasks with 'execution: three-phase'",
            file=system.file,
            field="tasks",
        )
    _known(system, names, options)
    notes: list[str] = []
    boxes = {name: message_boxes(system, name) for core in names for name in system.tasks_on(core)}
    system = sized(system, names, options, boxes, notes)
    system = rated(system, options, notes)
    for core in names:
        fits(system, core, options)
    system, tolerance = slots(system, names, notes)
    found, executions = bounds(system, names, options)
    late = tuple(bound.task for bound in found if not bound.schedulable)
    undecided = answer_of(found) is Held.UNDECIDED
    lacking = tuple(lacking_figures(plan_of(system), found)) if undecided else ()
    if lacking and not options.force:
        raise Undecided(
            f"{system.file}: not known to be schedulable: {named(lacking)}: {remedies(lacking)}; --dma-rate"
            " and --dma-setup give an engine's figures; --force writes the tables all the same"
        )
    if late and not options.force:
        said = "; ".join(lateness(bound) for bound in found if not bound.schedulable)
        raise SystemFails(f"{system.file}: not schedulable: {said}; --force writes the tables all the same")
    hertz = options.ticks_per_second
    arbitration = system.scheduling_of(names[0]).arbitration or "tdma"
    cores = tuple(
        PlannedCore(
            core,
            tuple(
                Entry(
                    name,
                    _row(system, name, (core, number), rank, executions[name], options),
                    described_size(system.tasks[name].footprint),
                    *boxes[name],
                )
                for rank, name in enumerate(system.tasks_on(core))
            ),
            whole_ticks(
                system,
                slot_of(system, core).length_ps,
                hertz,
                f"scheduling.{system.scheduling_entry(core)}.slot",
            ),
            partition_bytes(system, core),
            options.scratchpads.get(core),
        )
        for number, core in enumerate(names)
    )
    _apart(system, cores)
    subscriptions = tuple(s for name in boxes for s in subscriptions_of(system, name))
    return Tables(
        system.name or system.file.stem,
        system.platform_description.name,
        arbitration,
        hertz,
        cores,
        subscriptions,
        tolerance * hertz // SECOND,
        image_places(system, cores, options),
        tuple(found),
        tuple(notes),
        late,
        lacking,
        options.region,
    )


def _known(system: System, names: list[str], options: TableOptions) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|", options.region):
        raise BadInput(f"{options.region!r} is not a name of a linker script's memory", field="--region")
    if options.ticks_per_second == 0:
        raise BadInput("a clock of 0 Hz has no ticks", field="--clock")
    for core in options.scratchpads:
        if core not in names:
            raise BadInput(
                f"{core!r} executes no three-phase task; cores that do: {', '.join(names)}",
                field="--scratchpad",
            )
    tasks = [name for core in names for name in system.tasks_on(core)]
    for task in options.objects:
        if task not in tasks:
            raise BadInput(
                f"{task!r} is not a three-phase task; there are {', '.join(tasks)}", field="--object"
            )
    for task in tasks:
        if system.tasks[task].has_jitter:
            raise BadInput(
                "the kernel releases its tasks by the clock, at whole periods; remove 'jitter'",
                file=system.file,
                field=f"tasks.{task}.jitter",
            )


def whole_ticks(system: System, picoseconds: int, hertz: int, field: str) -> int:
    """A time in ticks of a clock; `BadInput` where it is not a whole number of them."""
    found, rest = divmod(picoseconds * hertz, SECOND)
    if rest:
        raise BadInput(
            f"{in_words(picoseconds)} is not a whole number of ticks of the I/O core's clock: one"
            f" takes {1e9 / hertz:g} ns",
            file=system.file,
            field=field,
        )
    return found


def _row(
    system: System, name: str, core: tuple[str, int], rank: int, execution: int, options: TableOptions
) -> dict[str, Any]:
    task, hertz = system.tasks[name], options.ticks_per_second

    def at_least(picoseconds: int) -> int:
        return -(-picoseconds * hertz // SECOND)

    # In turns an operation lasts as long as it moves, where that is known; a slot's lasts until its end.
    slot = slot_of(system, core[0]).length_ps
    in_turn = system.scheduling_of(core[0]).arbitration == "round-robin"
    load, unload = (moved(system, name) or (slot, slot)) if in_turn else (0, 0)
    times = {
        key: whole_ticks(system, duration.picoseconds, hertz, f"tasks.{name}.{key}")
        for key, duration in (("period", task.interval), ("deadline", task.deadline), ("offset", task.offset))
    }
    return kernel_row(
        core[1],
        rank,
        **times,
        wcet=at_least(execution),
        load=at_least(load),
        unload=at_least(unload),
        on_overrun=options.on_overrun,
        on_request=task.sporadic,
    )


def _apart(system: System, cores: tuple[PlannedCore, ...]) -> None:
    """No two scratchpads share memory, and no two names become one identifier."""
    placed = sorted(
        ((core.address, core) for core in cores if core.address is not None), key=lambda one: one[0]
    )
    for (first, core), (second, other) in pairwise(placed):
        if first + PARTITIONS * core.partition_bytes > second:
            raise BadInput(
                f"{core.name} from {first:#x} ({PARTITIONS} x {core.partition_bytes} bytes) reaches into"
                f" {other.name} at {second:#x}",
                field="--scratchpad",
            )
    for address, core in placed:
        if address % PART_ALIGNMENT:
            raise BadInput(
                f"{core.name} at {address:#x}: a multiple of {PART_ALIGNMENT} is needed", field="--scratchpad"
            )
    seen: dict[str, str] = {}
    for name in (task.name for core in cores for task in core.tasks):
        other_name = seen.setdefault(identifier(name), name)
        if other_name != name:
            raise BadInput(
                f"{other_name!r} and {name!r} are one identifier in C++; rename one of them",
                file=system.file,
                field=f"tasks.{name}",
            )
