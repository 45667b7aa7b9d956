# SPDX-License-Identifier: Apache-2.0
"""Rules about tasks: their costs, their places, and the scheduling of their cores."""

from __future__ import annotations

from collections.abc import Iterable

from consort import _engine
from consort.base.errors import nearest
from consort.model.base import group_of
from consort.model.conflicts import THRESHOLD
from consort.model.description import System
from consort.model.distance_rules import arrivals_fit, distances_fit
from consort.model.document import Location, Problems, View
from consort.model.exclusions import excluded
from consort.model.figures import MODES, Cost, TimeByExecution, cost_on, figures_of
from consort.model.lay import processors_elsewhere
from consort.model.platform import Platform, Scratchpad
from consort.model.quantities import Duration, Size
from consort.model.task import Footprint, Task

# States in remote memory are paged, and a part of each lies in a cache of whole pages.
PAGE = 4096
LEAST_CACHE = 1 << 20


def cost_place(name: str, key: str, cost: Cost, processor: str, execution: str) -> Location:
    """The location of a cost, or the one it would have, on a processor by a way of executing."""
    here: Location = ("tasks", name, key)
    if isinstance(cost, dict):
        here = (*here, processor)
        if isinstance(cost.get(processor), TimeByExecution):
            here = (*here, execution)
    return here


def _cost_processors(view: View, system: System) -> Problems:
    if view.platform is None:
        return
    known = view.platform.processors
    elsewhere = processors_elsewhere(view.document.data, view.document.file) if system.targets else set()
    for task, given in system.tasks.items():
        for key, cost in (("wcet", given.wcet), ("bcet", given.bcet), ("energy", given.energy)):
            here = ("tasks", task, key)
            for name in cost if isinstance(cost, dict) else ():
                if name in MODES:
                    text = f"{name!r} stands under a processor, for example"
                    text += f" '{key}: {{{next(iter(known))}: {{{name}: …}}}}'; name one"
                    yield from view.say((*here, name), text, at_key=True)
                elif name not in known and name not in elsewhere:
                    text = f"{name!r} is not a processor of platform {view.platform.name}"
                    text += f"; {nearest(name, known, 'processors')}"
                    yield from view.say((*here, name), text, at_key=True)


def _costs(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        core = system.known_core(task.on)
        if core is not None and not _refused_there(system, task):
            yield from _cost_where_placed(view, name, task, core.name, core.processor_name)
        here: Location = ("tasks", name)
        for place, figure in figures_of(task.wcet, (*here, "wcet")):
            if figure.value.value == 0:
                # A plan may take the figure of another core than the description names.
                yield from view.say(place, "the wcet is 0; more than 0 is needed")
        if task.suspensions != 1 and task.self_suspension is None:
            text = "says how often a job waits, not how long; add 'self_suspension', or remove 'suspensions'"
            yield from view.say((*here, "suspensions"), text, at_key=True)
        if task.bcet is not None and task.wcet is None and not view.wrong_within(*here, "wcet"):
            text = "a task with a bcet needs a wcet; add 'wcet', or remove 'bcet'"
            yield from view.say((*here, "bcet"), text, at_key=True)


def _refused_there(system: System, task: Task) -> bool:
    """True for a three-phase task on a core without a scratchpad, which `_three_phase` says."""
    if task.execution != "three-phase":
        return False
    core = system.known_core(task.on)
    return core is not None and core.scratchpad is None


def _cost_where_placed(view: View, name: str, task: Task, core: str, processor: str) -> Problems:
    wcet = cost_on(task.wcet, processor, task.execution)
    bcet = cost_on(task.bcet, processor, task.execution)
    place = cost_place(name, "wcet", task.wcet, processor, task.execution)
    sure = not view.wrong_within(*place[:3])
    if isinstance(task.wcet, dict) and wcet is None and sure and not set(MODES) & task.wcet.keys():
        where = f"processor {processor!r}"
        if len(place) > 4:
            where += f" by {task.execution!r} execution"
        text = (
            f"the task is placed on {core!r} and has no wcet for {where}; add it, or place the task elsewhere"
        )
        yield from view.say(place[:3], text, at_key=True)
    if wcet is not None and bcet is not None and bcet.value > wcet.value:
        low = cost_place(name, "bcet", task.bcet, processor, task.execution)
        yield from view.say(low, f"the bcet {bcet} is longer than the wcet {wcet}; correct one of them")


def _sporadic(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        if task.min_interarrival is not None and task.offset.value > 0:
            text = excluded("offset", "min_interarrival")
            yield from view.say(("tasks", name, "offset"), text, at_key=True)


def _priorities(view: View, system: System) -> Problems:
    """Checks that all tasks of a core have priorities if they decide there, or none has; only local ones
    share one."""
    cores: dict[str, list[str]] = {}
    for name, task in system.tasks.items():
        for core in dict.fromkeys(end for end in (task.on, task.master) if end is not None):
            cores.setdefault(core, []).append(name)
    for core, names in cores.items():
        tasks = {name: system.tasks[name] for name in names}
        given = {name: task.priority for name, task in tasks.items() if task.priority is not None}
        if system.scheduling_of(core).policy == "edf":
            text = f"the core {core!r} is scheduled by edf, where priorities mean nothing; remove 'priority'"
            for name in given:
                if tasks[name].on == core:
                    yield from view.say(("tasks", name, "priority"), text, at_key=True)
            continue
        first: dict[int, str] = {}
        for name, priority in given.items():
            other = first.setdefault(priority, name)
            if other != name and {tasks[name].execution, tasks[other].execution} != {"local"}:
                beside = {"other": other, "core": core, "priority": str(priority)}
                text = excluded("a priority of several tasks", "tasks that are not local", **beside)
                yield from view.say(("tasks", name, "priority"), text)
        bare = [
            name
            for name in names
            if name not in given
            and not view.wrong_within("tasks", name, "priority")
            and not _refused_there(system, tasks[name])
        ]
        if given and bare:
            text = f"the task has no priority, but {next(iter(given))!r} on {core!r} has; give a priority to"
            yield from view.say(("tasks", bare[0]), f"{text} all tasks of a core, or to none", at_key=True)


def _scheduled_cores(view: View, system: System) -> Problems:
    if view.platform is None:
        return
    known = [*view.platform.cores, *view.platform.core_names()]
    for name in system.scheduling:
        if name not in known:
            text = f"{name!r} is neither a core nor a group of cores of platform {view.platform.name}"
            text += f"; {nearest(name, known, 'groups and cores')}"
            yield from view.say(("scheduling", name), text, at_key=True)


def _called(cores: Iterable[str]) -> set[str]:
    """Names by which `scheduling` may call some cores: their own, and their groups'."""
    # Thousands of tasks are on a few cores.
    return {name for core in set(cores) for name in (core, group_of(core))}


def check_waits(view: View, system: System) -> Problems:
    """Checks that only cores that await answers have the key for how they wait."""
    if view.tasks_missing(system):
        return
    tasks = system.tasks.values()
    masters = _called(master for name in system.tasks for master, _ in system.offloads(name) if master)
    masters |= _called(task.on for task in tasks if task.requests)
    for name, scheduling in system.scheduling.items():
        if scheduling.wait is not None and name not in masters:
            text = f"{name!r} is not a master and asks no accelerator, so there is no answer that it awaits;"
            yield from view.say(("scheduling", name, "wait"), f"{text} remove 'wait'", at_key=True)


def check_service(view: View, system: System) -> Problems:
    """Checks that only cores that serve requests have the key for how they serve them."""
    workers = _called(worker for name in system.tasks for _, worker in system.offloads(name))
    for name, scheduling in system.scheduling.items():
        if scheduling.service is not None and name not in workers:
            text = f"{name!r} is not a worker, so there is no request that it serves; remove 'service'"
            yield from view.say(("scheduling", name, "service"), text, at_key=True)


def check_supply(view: View, system: System) -> Problems:
    """A supply is a part of a core's time."""
    for name, scheduling in system.scheduling.items():
        here: Location = ("scheduling", name, "supply")
        supply = scheduling.supply
        if supply is not None and supply.budget.value == 0:
            yield from view.say((*here, "budget"), "the budget is 0; more than 0 is needed")
        elif supply is not None and supply.budget > supply.period:
            text = f"the budget is longer than the period, {supply.period}; shorten it"
            yield from view.say((*here, "budget"), text)


def _slots(view: View, system: System) -> Problems:
    """The slot belongs to three-phase cores that take turns, and holds a whole transfer."""
    for name, scheduling in system.scheduling.items():
        here: Location = ("scheduling", name)
        three_phase = scheduling.policy == "three-phase"
        for key, given in (("slot", scheduling.slot), ("arbitration", scheduling.arbitration)):
            if given is not None and not three_phase and (*here, "policy") not in view.wrong:
                text = f"{key!r} belongs to three-phase cores; remove it, or write 'policy: three-phase'"
                yield from view.say((*here, key), text, at_key=True)
        turns = scheduling.arbitration in (None, "tdma")
        if three_phase and scheduling.slot is None and turns and not view.wrong_within(*here, "slot"):
            text = "three-phase cores that take turns need a slot; add 'slot: auto', or a duration"
            yield from view.say((*here, "policy"), text)
        slot = scheduling.slot
        if isinstance(slot, Duration) and slot.value == 0:
            yield from view.say((*here, "slot"), "the slot is 0; more than 0 is needed, or auto")
        elif isinstance(slot, Duration) and three_phase and view.platform is not None:
            yield from _slot_holds(view, system, view.platform, name, slot)


def _slot_holds(view: View, system: System, platform: Platform, name: str, slot: Duration) -> Problems:
    for task_name, task in system.tasks.items():
        if name not in (task.on, group_of(task.on)) or task.execution != "three-phase":
            continue
        footprint = task.footprint or Footprint()
        load, unload = footprint.load_bytes, footprint.unload_bytes
        needed = platform.transfer_ps(max(load, unload))
        if needed is not None and needed > slot.value:
            what = "load" if load >= unload else "unload"
            text = f"the {what} of {task_name!r} ({Size.spelled(max(load, unload))}) takes"
            text += f" {Duration.spelled(needed)}, longer than the slot {slot}; lengthen it, or write auto"
            yield from view.say(("scheduling", name, "slot"), text)


def _three_phase(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        core = system.known_core(task.on) if task.execution == "three-phase" else None
        if core is None or view.platform is None:
            continue
        here = ("tasks", name, "on")
        if core.scratchpad is None:
            having = [group for group, one in view.platform.cores.items() if one.scratchpad is not None]
            text = f"a three-phase task needs a scratchpad, and {core.name!r} has none; groups with one:"
            yield from view.say(here, f"{text} {', '.join(having) or 'none on this platform'}")
            continue
        needed = _engine.SPM_PARTITIONS
        if core.scratchpad.partitions != needed:
            yield from view.say(
                here,
                f"{core.name!r} has 'partitions: {core.scratchpad.partitions}', and bounds and kernels are of"
                f" {needed}, one for a job that executes and one for the next; write 'partitions: {needed}'"
                " in the platform, or name another core",
            )
        yield from _footprint(view, name, task.footprint or Footprint(), core.scratchpad)


def _footprint(view: View, task: str, footprint: Footprint, scratchpad: Scratchpad) -> Problems:
    code = 0 if footprint.code is None else footprint.code.value.bytes
    limits = [("code, data, inputs and outputs", footprint.bytes, scratchpad.partition_bytes)]
    if scratchpad.instructions is not None and scratchpad.data is not None:
        rooms = [
            part.value.bytes // scratchpad.partitions for part in (scratchpad.instructions, scratchpad.data)
        ]
        limits = [("code", code, rooms[0]), ("data, inputs and outputs", footprint.bytes - code, rooms[1])]
    for what, needed, limit in limits:
        if needed > limit:
            text = f"a partition of the scratchpad has {Size.spelled(limit)} for {what}, and the task needs"
            text += f" {Size.spelled(needed)}, {needed - limit} bytes too many; make it smaller, or split it"
            yield from view.say(("tasks", task, "footprint"), text, at_key=True)


def _thresholds(view: View, system: System) -> Problems:
    """Checks that a threshold that acts is no lower than the task's priority."""
    for name, task in system.tasks.items():
        acts = task.execution == "local" and system.scheduling_of(task.on).policy == "fixed-priority"
        given, here = task.preemption_threshold, ("tasks", name, THRESHOLD)
        if given is None or not acts or view.wrong_within("tasks", name, "priority"):
            continue
        if task.priority is None:
            text = (
                "there is no priority to compare it with; add 'priority' to all tasks of the core, or remove"
            )
            yield from view.say(here, f"{text} {THRESHOLD!r}", at_key=True)
        elif given < task.priority:
            text = f"it is below the task's priority, {task.priority}; write {task.priority} or more"
            yield from view.say(here, f"{text}, or remove it")


def _remote_states(view: View, system: System) -> Problems:
    """A state lies in a memory that is paged, and a part of it in a cache of whole pages."""
    for name, task in system.tasks.items():
        given = task.remote_state
        if given is None:
            continue
        here: Location = ("tasks", name, "remote_state")
        known = {} if view.platform is None else view.platform.memories
        remote = [key for key, memory in known.items() if memory.kind == "remote"]
        if view.platform is not None and given.memory not in known:
            text = f"there is no memory {given.memory!r}; {nearest(given.memory, remote, 'remote memories')}"
            yield from view.say((*here, "memory"), text)
        elif view.platform is not None and given.memory not in remote:
            text = (
                f"{given.memory!r} is of kind {known[given.memory].kind}, and what lies there needs no paging"
            )
            text += "; name a memory of kind remote, or remove 'remote_state'"
            yield from view.say((*here, "memory"), text)
        if given.cache.value < LEAST_CACHE or given.cache.value % PAGE:
            text = f"the cache {given.cache} is below 1MiB, or no multiple of 4KiB; write 1MiB"
            yield from view.say((*here, "cache"), text)


TASK_RULES = (
    _cost_processors,
    _costs,
    _sporadic,
    distances_fit,
    arrivals_fit,
    _priorities,
    _scheduled_cores,
    _slots,
    _three_phase,
    _thresholds,
    _remote_states,
)
