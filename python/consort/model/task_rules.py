# SPDX-License-Identifier: Apache-2.0
"""Rules about tasks: what they cost, where they are placed, and how their cores are scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from consort._engine import SPM_PARTITIONS
from consort.errors import BadInput
from consort.model.base import group_of
from consort.model.costs import MODES
from consort.model.distance_rules import distances_fit
from consort.model.document import Location
from consort.model.platform import Scratchpad
from consort.model.problems import nearest
from consort.model.quantities import Duration, Quantity, Size
from consort.model.view import View

Problems = Iterator[BadInput]
Q = TypeVar("Q", bound=Quantity)


def cost(
    view: View, kind: type[Q], here: Location, processor: str, execution: str
) -> tuple[Location, Q | None]:
    """What a job costs on a processor, and where that stands, or would."""
    value = view.get(*here)
    if isinstance(value, dict) and "value" not in value:
        here = (*here, processor)
        value = view.get(*here)
        if isinstance(value, dict) and "value" not in value:
            here = (*here, execution)
    return here, view.figure(kind, *here)


def _cost_processors(view: View) -> Problems:
    if view.platform is None:
        return
    for task in view.tasks():
        for key in ("wcet", "bcet", "energy"):
            here = ("tasks", task, key)
            given = view.mapping(*here)
            for name in given if "value" not in given else ():
                if name in MODES:
                    text = f"{name!r} stands under a processor, for example"
                    text += f" '{key}: {{{next(iter(view.platform.processors))}: {{{name}: …}}}}'; name one"
                    yield view.problem((*here, name), text, at_key=True)
                elif name not in view.platform.processors:
                    known = view.platform.processors
                    yield view.problem(
                        (*here, name),
                        f"{name!r} is no processor of platform {view.platform.name};"
                        f" {nearest(name, known, 'processors')}",
                        at_key=True,
                    )


def _wcet_where_placed(view: View) -> Problems:
    """A task that says how long it executes says it for the processor that it is placed on."""
    for task in view.tasks():
        core, execution = view.core(task), view.execution(task)
        here = ("tasks", task, "wcet")
        if core is None or execution is None or not view.mapping(*here) or "value" in view.mapping(*here):
            continue
        if view.wrong_within(*here) or set(MODES) & view.mapping(*here).keys():
            continue
        place, _ = cost(view, Duration, here, core.processor_name, execution)
        if view.document.get(*place) is None:
            where = f"processor {core.processor_name!r}"
            if len(place) > len(here) + 1:
                where += f" by {execution!r} execution"
            yield view.problem(
                here,
                f"the task is placed on {core.name!r} and has no wcet for {where}; add it, or place the task"
                " elsewhere",
                at_key=True,
            )


def _costs(view: View) -> Problems:
    for task in view.tasks():
        core, execution = view.core(task), view.execution(task)
        if core is None or execution is None:
            continue
        here = ("tasks", task)
        place, wcet = cost(view, Duration, (*here, "wcet"), core.processor_name, execution)
        low_place, bcet = cost(view, Duration, (*here, "bcet"), core.processor_name, execution)
        if wcet is not None and wcet.value == 0:
            yield view.problem(place, "the wcet is 0; more than 0 is needed")
        if wcet is not None and bcet is not None and bcet > wcet:
            yield view.problem(
                low_place, f"the bcet {bcet} is longer than the wcet {wcet}; correct one of them"
            )
        often = view.get(*here, "suspensions")
        if often not in (None, 1) and "self_suspension" not in view.mapping(*here):
            text = "says how often a job waits, not how long; add 'self_suspension', or remove 'suspensions'"
            yield view.problem((*here, "suspensions"), text, at_key=True)
        if "bcet" in view.mapping(*here) and "wcet" not in view.mapping(*here):
            yield view.problem(
                (*here, "bcet"), "a task with a bcet needs a wcet; add 'wcet', or remove 'bcet'", at_key=True
            )


def _sporadic(view: View) -> Problems:
    for task in view.tasks():
        here = ("tasks", task)
        offset = view.parsed(Duration, *here, "offset")
        if "min_interarrival" in view.mapping(*here) and offset is not None and offset.value > 0:
            yield view.problem(
                (*here, "offset"),
                "a sporadic task comes when it comes and has no offset; remove 'offset', or write 'period'",
                at_key=True,
            )


def _priorities(view: View) -> Problems:
    """Where priorities decide, all tasks of a core have one, or none has; only local ones share one."""
    cores: dict[str, list[str]] = {}
    for task in view.tasks():
        for key in ("on", "master"):
            name = view.text("tasks", task, key)
            if name is not None and task not in cores.setdefault(name, []):
                cores[name].append(task)
    for core, tasks in cores.items():
        _, policy = view.policy(core)
        given = {t: view.get("tasks", t, "priority") for t in tasks if "priority" in view.mapping("tasks", t)}
        if policy == "edf":
            for task in given:
                if view.text("tasks", task, "on") == core:
                    yield view.problem(
                        ("tasks", task, "priority"),
                        f"the core {core!r} is scheduled by edf, where priorities mean nothing; remove"
                        " 'priority'",
                        at_key=True,
                    )
            continue
        first: dict[int, str] = {}
        for task, priority in given.items():
            if not isinstance(priority, int) or (other := first.setdefault(priority, task)) == task:
                continue
            kinds = [view.text("tasks", one, "execution") or "local" for one in (task, other)]
            if kinds != ["local", "local"]:
                yield view.problem(
                    ("tasks", task, "priority"),
                    f"the task {other!r} on {core!r} has priority {priority} too; give each its own: only"
                    " local tasks may share one",
                )
        if given and len(given) < len(tasks):
            bare = next(task for task in tasks if task not in given)
            yield view.problem(
                ("tasks", bare),
                f"the task has no priority, but {next(iter(given))!r} on {core!r} has; give a priority to"
                " all tasks of a core, or to none",
                at_key=True,
            )


def _scheduled_cores(view: View) -> Problems:
    if view.platform is None:
        return
    known = [*view.platform.cores, *view.platform.core_names()]
    for name in view.mapping("scheduling"):
        if name not in known:
            yield view.problem(
                ("scheduling", name),
                f"{name!r} is no core and no group of cores of platform {view.platform.name};"
                f" {nearest(name, known, 'groups and cores')}",
                at_key=True,
            )


def check_waits(view: View) -> Problems:
    """How an answer is awaited is said of cores that await answers."""
    masters = {view.text("tasks", task, "master") for task in view.tasks() if view.offloaded(task)}
    masters |= {
        view.text("tasks", task, "on") for task in view.tasks() if view.get("tasks", task, "requests")
    }
    groups = {group_of(master) for master in masters if master is not None}
    for name in view.mapping("scheduling"):
        if "wait" in view.mapping("scheduling", name) and name not in masters | groups:
            yield view.problem(
                ("scheduling", name, "wait"),
                f"{name!r} is no master and asks no accelerator, so there is no answer that it awaits; remove"
                " 'wait'",
                at_key=True,
            )


def check_service(view: View) -> Problems:
    """How requests are served is said of cores that serve some."""
    workers = {view.text("tasks", task, "on") for task in view.tasks() if view.offloaded(task)}
    groups = {group_of(worker) for worker in workers if worker is not None}
    for name in view.mapping("scheduling"):
        if "service" in view.mapping("scheduling", name) and name not in workers | groups:
            yield view.problem(
                ("scheduling", name, "service"),
                f"{name!r} is no worker, so there is no request that it serves; remove 'service'",
                at_key=True,
            )


def check_supply(view: View) -> Problems:
    """A supply is of cores that execute local tasks, and a part of their time."""
    for name in view.mapping("scheduling"):
        here: Location = ("scheduling", name, "supply")
        budget, period = (view.parsed(Duration, *here, key) for key in ("budget", "period"))
        if budget is not None and budget.value == 0:
            yield view.problem((*here, "budget"), "the budget is 0; more than 0 is needed")
        elif budget is not None and period is not None and budget > period:
            yield view.problem(
                (*here, "budget"), f"the budget is longer than the period, {period}; shorten it"
            )


def _slots(view: View) -> Problems:
    """The slot belongs to three-phase cores that take turns, and holds a whole transfer."""
    for name in view.mapping("scheduling"):
        here: Location = ("scheduling", name)
        given = view.mapping(*here)
        three_phase = view.text(*here, "policy") == "three-phase"
        for key in ("slot", "arbitration"):
            if key in given and not three_phase and (*here, "policy") not in view.wrong:
                yield view.problem(
                    (*here, key),
                    f"{key!r} belongs to three-phase cores; remove it, or write 'policy: three-phase'",
                    at_key=True,
                )
        if three_phase and "slot" not in given and view.text(*here, "arbitration") in (None, "tdma"):
            yield view.problem(
                (*here, "policy"),
                "three-phase cores that take turns need a slot; add 'slot: auto', or a duration",
            )
        slot = view.parsed(Duration, *here, "slot") if view.get(*here, "slot") != "auto" else None
        if slot is not None and slot.value == 0:
            yield view.problem((*here, "slot"), "the slot is 0; more than 0 is needed, or auto")
        elif slot is not None and three_phase:
            yield from _slot_holds(view, name, slot)


def _slot_holds(view: View, name: str, slot: Duration) -> Problems:
    if view.platform is None:
        return
    for task in view.tasks():
        core = view.core(task)
        if core is None or name not in (core.name, core.group) or view.execution(task) != "three-phase":
            continue
        here = ("tasks", task, "footprint")
        parts = {key: view.figure(Size, *here, key) for key in ("code", "data", "inputs", "outputs")}
        sizes = {key: part.value for key, part in parts.items() if part is not None}
        load = sum(sizes.get(key, 0) for key in ("code", "data", "inputs"))
        unload = sum(sizes.get(key, 0) for key in ("data", "outputs"))
        needed = view.platform.transfer_ps(max(load, unload))
        if needed is not None and needed > slot.value:
            what = "load" if load >= unload else "unload"
            yield view.problem(
                ("scheduling", name, "slot"),
                f"the {what} of {task!r} ({Size.spelled(max(load, unload))}) takes"
                f" {Duration.spelled(needed)}, longer than the slot {slot}; lengthen it, or write auto",
            )


def _three_phase(view: View) -> Problems:
    for task in view.tasks():
        core, execution = view.core(task), view.execution(task)
        if core is None or execution is None:
            continue
        here = ("tasks", task)
        if execution == "three-phase":
            if core.scratchpad is None:
                having = [n for n, g in core_groups(view).items() if g is not None]
                yield view.problem(
                    (*here, "on"),
                    f"a three-phase task needs a scratchpad, and {core.name!r} has none; groups with one:"
                    f" {', '.join(having) or 'none on this platform'}",
                )
            if core.scratchpad is not None:
                if core.scratchpad.partitions != SPM_PARTITIONS:
                    yield view.problem(
                        (*here, "on"),
                        f"{core.name!r} has 'partitions: {core.scratchpad.partitions}', and bounds and"
                        f" kernels are of {SPM_PARTITIONS}, one for a job that executes and one for the next;"
                        f" write 'partitions: {SPM_PARTITIONS}' in the platform, or name another core",
                    )
                yield from _footprint(view, task, core.scratchpad)


def core_groups(view: View) -> dict[str, Scratchpad | None]:
    """The platform's groups of cores, and the scratchpads of their cores."""
    if view.platform is None:
        return {}
    return {name: group.scratchpad for name, group in view.platform.cores.items()}


def _footprint(view: View, task: str, scratchpad: Scratchpad) -> Problems:
    here = ("tasks", task, "footprint")
    parts = {key: view.figure(Size, *here, key) for key in ("code", "data", "inputs", "outputs")}
    sizes = {key: part.value for key, part in parts.items() if part is not None}
    limits = [("code, data, inputs and outputs", tuple(parts), scratchpad.partition_bytes)]
    if scratchpad.instructions is not None and scratchpad.data is not None:
        code = scratchpad.instructions.value.bytes // scratchpad.partitions
        data = scratchpad.data.value.bytes // scratchpad.partitions
        rest = ("data", "inputs", "outputs")
        limits = [("code", ("code",), code), ("data, inputs and outputs", rest, data)]
    for what, keys, limit in limits:
        needed = sum(sizes.get(key, 0) for key in keys)
        if needed > limit:
            yield view.problem(
                here,
                f"a partition of the scratchpad has {Size.spelled(limit)} for {what}, and the task needs"
                f" {Size.spelled(needed)}, {needed - limit} bytes too many; make it smaller, or split it",
                at_key=True,
            )


TASK_RULES: tuple[Callable[[View], Problems], ...] = (
    _cost_processors,
    _wcet_where_placed,
    _costs,
    _sporadic,
    distances_fit,
    _priorities,
    _scheduled_cores,
    _slots,
    _three_phase,
)
