# SPDX-License-Identifier: Apache-2.0
"""Rules across the fields of a description and against its platform and the files it names.

What breaks the form of a description is taken out first: a fault in one field does not hide those of others.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction

from consort.base.errors import MOST_PROBLEMS, BadInput, closest, nearest
from consort.model.accelerator_rules import (
    check_accelerators,
    check_bandwidth,
    check_caches,
    check_resources,
    check_unused_resources,
)
from consort.model.base import NAME_PATTERN
from consort.model.channel import CONFIGURATIONS, SEMANTICS, STAND_IN
from consort.model.channel_rules import CHANNEL_END_RULES, CHANNEL_RULES
from consort.model.conflicts import refused
from consort.model.description import System
from consort.model.device_rules import CHAIN_RULES, DEVICE_RULES, FILE_RULES, links_of_chains
from consort.model.document import Document, Location, Problems, Rule, View
from consort.model.emulation import unpreempted
from consort.model.mode import Run
from consort.model.mode_rules import check_mode_changes, check_modes
from consort.model.platform import Platform
from consort.model.quantities import Duration
from consort.model.sources import FileInput
from consort.model.task import Task
from consort.model.task_rules import TASK_RULES, check_service, check_supply, check_waits

INTERVALS = ("period", "min_interarrival")


def check_rules(
    document: Document, wrong: set[Location], platform: Platform | None, system: System | None
) -> list[BadInput]:
    """All that the rules find wrong; rules about fields in `wrong` stay silent.

    `system` is what is right of the document; where that is too little, they say nothing.
    """
    if system is None:
        return []
    view = View(document, wrong, platform)
    found = (problem for rule in (*RULES, *DESIGN_RULES) for problem in rule(view, system))
    problems = list(itertools.islice(found, MOST_PROBLEMS))
    return problems + check_modes(view, system, DESIGN_RULES, problems)


def _lacks_scratchpad(system: System, task: Task) -> bool:
    core = system.known_core(task.on)
    return task.execution == "three-phase" and core is not None and core.scratchpad is None


def _conflicts(view: View, system: System) -> Problems:
    moved = {("tasks", name, "on") for name, task in system.tasks.items() if _lacks_scratchpad(system, task)}
    for core, place, text, at_key in refused(system):
        # It has to go elsewhere anyway, and that is said.
        if place in moved:
            continue
        # A part that is taken out might or might not go together with others.
        parts = (core.entry, *(("tasks", name) for name in core.tasks))
        if not view.wrong or not any(view.wrong_within(*part) for part in parts):
            yield view.problem(place, text, at_key=at_key)


def _known_cores(view: View, system: System) -> Problems:
    if view.platform is None:
        return
    cores = view.platform.core_names()
    for name, task in system.tasks.items():
        for key, core in (("on", task.on), ("master", task.master)):
            if core is not None and core not in cores:
                yield from view.say(("tasks", name, key), view.platform.unknown_core(core))
    for core in system.run.cpus:
        if core not in cores:
            yield from view.say(("run", "cpus", core), view.platform.unknown_core(core), at_key=True)


def _releases(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        here: Location = ("tasks", name)
        meant = any(view.wrong_within(*here, key) for key in INTERVALS)
        meant = meant or any(closest(key, INTERVALS) for key in view.unknown(*here))
        if task.period is None and task.min_interarrival is None and not meant:
            text = "the key 'period' is missing; add it, for example 'period: 50us', or"
            yield from view.say((*here, "period"), f"{text} 'min_interarrival' for sporadic releases")
        if task.period is not None and task.min_interarrival is not None:
            text = "a task is released periodically or sporadically; keep 'period' or 'min_interarrival'"
            yield from view.say((*here, "min_interarrival"), text, at_key=True)
        bare = task.step is None
        if task.input is not None and bare:
            text = "the key 'step' is missing; add it, for example 'step: step.hpp::servo::step', or remove"
            yield from view.say((*here, "step"), f"{text} 'input' and let the task be analysed only")
        if task.golden is not None and task.input is None and bare and not view.wrong_within(*here, "input"):
            text = "'golden' belongs to a task that is run; add 'input', or remove 'golden'"
            yield from view.say((*here, "golden"), text, at_key=True)


def _stand_ins(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        for key in ("types", "input", "golden") if task.step == STAND_IN else ():
            if getattr(task, key) is not None:
                text = (
                    f"a stand-in passes numbered blocks and computes nothing; remove {key!r}, or name a step"
                )
                yield from view.say(("tasks", name, key), text, at_key=True)


def _times(view: View, system: System) -> Problems:
    """Times are more than 0; those of a run are whole nanoseconds, and it has one job of a task at a time."""
    for name, task in system.tasks.items():
        here: Location = ("tasks", name)
        times = {"period": task.period, "min_interarrival": task.min_interarrival}
        if "deadline" in task.model_fields_set:
            times["deadline"] = task.deadline
        for key, time in times.items():
            if time is not None and time.value == 0:
                yield from view.say((*here, key), f"the {key} is 0; more than 0 is needed")
            # Releases of runs are timed by the clocks of hosts, in nanoseconds.
            elif time is not None and time.value % 1000 and task.input is not None:
                text = f"{view.written(*here, key)!r} is not a whole number of nanoseconds; round it"
                yield from view.say((*here, key), text)
        if isinstance(task.input, FileInput) and task.input.rate is not None and task.input.rate.value == 0:
            yield from view.say((*here, "input", "rate"), "the rate is 0; more than 0 is needed")
        if task.input is not None and task.period is not None and task.deadline > task.period:
            text = (
                f"the deadline {task.deadline} is later than the period {task.period}; at most {task.period}"
            )
            yield from view.say((*here, "deadline"), f"{text} is possible")


def _execution(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        here: Location = ("tasks", name)
        if task.execution == "offloaded":
            if task.master is None and not view.wrong_within(*here, "master"):
                text = "an offloaded task needs a master; add the core that releases its jobs, for example"
                yield from view.say((*here, "execution"), f"{text} 'master: master-0'")
            elif task.master == task.on:
                text = f"the task is computed on {task.on!r}, its own master; name another core, or write"
                yield from view.say((*here, "master"), f"{text} 'execution: local'")
        if task.execution == "offloaded" or view.wrong_within(*here, "execution"):
            continue
        given = _of_an_offloaded_task(task)
        ends = [f"{name}.{end}" for end in ("in", "out") if f"{name}.{end}" in system.channels]
        if given:
            text = f"a {task.execution} task has no master and no worker; write 'execution: offloaded', or"
            text += f" remove {' and '.join(map(repr, given))}"
            text += f", and the channels {' and '.join(map(repr, ends))}" if ends else ""
            yield from view.say((*here, given[0]), text, at_key=True)
        if task.on_miss in ("local-fallback", "stop"):
            text = f"a {task.execution} task awaits no answer, and its output is written when its job ends,"
            text = f"{text} however late; remove 'on_miss', or write 'execution: offloaded'"
            yield from view.say((*here, "on_miss"), text, at_key=True)


def _of_an_offloaded_task(task: Task) -> list[str]:
    """The keys of a task that only an offloaded one has."""
    there = {
        "master": task.master is not None,
        "dispatch": task.dispatch is not None,
        "restart_worker": task.restart_worker,
    }
    return [key for key, given in there.items() if given]


def _channel_names(view: View, system: System) -> Problems:
    described = view.names("tasks")
    offloaded = [name for name in system.tasks if system.offloads(name)]
    valid = [f"{task}.{end}" for task in offloaded for end in ("in", "out")]
    for name, channel in system.channels.items():
        here: Location = ("channels", name)
        owner, dot, end = name.rpartition(".")
        if not dot and name in offloaded:
            text = f"{name!r} is a task; its channels are {name}.in and {name}.out; did you mean '{name}.in'?"
            yield from view.say(here, text, at_key=True)
        elif not dot and (re.fullmatch(NAME_PATTERN, name) is None or len(name) > 64):
            text = f"{name!r} is not a name; a letter, then letters, digits, '-' and '_', for example gains"
            yield from view.say(here, text, at_key=True)
        elif dot and (owner not in described or end not in ("in", "out")):
            text = f"{name!r} is not a channel; channels are <task>.in and <task>.out of offloaded tasks"
            yield from view.say(here, f"{text}; {nearest(name, valid, 'channels')}", at_key=True)
        elif owner in system.tasks and not view.wrong_within("tasks", owner, "execution"):
            if owner not in offloaded and _of_an_offloaded_task(system.tasks[owner]):
                continue  # said at the task
            if owner not in offloaded:
                text = f"the task {owner!r} is {system.tasks[owner].execution} and has no channels; remove"
                text = f"{text} {name!r}, or write 'execution: offloaded' there"
                yield from view.say(here, text, at_key=True)
            elif channel.kind != "periodic":
                text = f"{name!r} carries a block for each job of {owner!r}; write periodic"
                yield from view.say((*here, "kind"), text)


def _channel_memories(view: View, system: System) -> Problems:
    platform = view.platform
    for name, channel in system.channels.items():
        if platform is None or channel.memory in (None, *platform.memories, *platform.links):
            continue
        what, plural = "not a memory", "memories"
        if platform.links:
            what, plural = "neither a memory nor a link", "memories and links"
        text = f"{channel.memory!r} is {what} of platform {platform.name}"
        hint = nearest(str(channel.memory), [*platform.memories, *platform.links], plural)
        yield from view.say(("channels", name, "memory"), f"{text}; {hint}")


def _run(view: View, system: System) -> Problems:
    run = system.run
    chosen = run.configurations or ()
    for key, entries in (("interference", run.interference), ("configurations", chosen)):
        for index, entry in enumerate(entries if not view.wrong_within("run", key) else ()):
            if entry in entries[:index]:
                yield from view.say(("run", key, index), f"{entry!r} stands twice; remove one of them")
    if run.configurations == () and not view.wrong_within("run", "configurations"):
        text = f"the list is empty; choose from {', '.join(CONFIGURATIONS)}"
        yield from view.say(("run", "configurations"), text)
    name, first = next(iter(system.tasks.items()), ("", None))
    apart = None if first is None else first.period or first.min_interarrival
    if "iterations" in run.model_fields_set and apart and apart.value * run.iterations > Duration.largest:
        most = Duration.largest // apart.value
        text = f"so many periods of {name!r} last longer than 1000000s; write {most} or less"
        yield from view.say(("run", "iterations"), text)
    offloads = bool(system.workers())
    for index, entry in enumerate(chosen):
        here: Location = ("run", "configurations", index)
        if entry.endswith("-on") and not run.interference and not view.wrong_within("run", "interference"):
            known = Run.model_json_schema()["properties"]["interference"]["items"]["enum"]
            text = f"{entry!r} needs interference; add 'interference: [{', '.join(known[:2])}]' under 'run'"
            yield from view.say(here, text)
        # A task with an error may be the one.
        if entry.startswith("offloaded") and not offloads and not view.wrong_within("tasks"):
            yield from view.say(here, f"{entry!r} needs an offloaded task; write 'local{entry[9:]}'")
    given: dict[int, str] = {}
    for core, cpu in run.cpus.items():
        if given.setdefault(cpu, core) != core:
            text = f"CPU {cpu} is already given to {given[cpu]!r}; give each core its own"
            yield from view.say(("run", "cpus", core), text)


# Rules that must hold in each mode as they must hold in the whole.
DESIGN_RULES: tuple[Rule, ...] = (
    _known_cores,
    _execution,
    _times,
    *TASK_RULES,
    _conflicts,
    check_supply,
    check_resources,
    check_caches,
    check_bandwidth,
    *CHANNEL_RULES,
    *CHAIN_RULES,
    *DEVICE_RULES,
)
RULES: tuple[Rule, ...] = (
    # Where there are modes, accelerators are refused.
    check_accelerators,
    _releases,
    _stand_ins,
    check_waits,
    check_service,
    _channel_names,
    _channel_memories,
    check_unused_resources,
    *CHANNEL_END_RULES,
    links_of_chains,
    *FILE_RULES,
    _run,
    check_mode_changes,
)


def warnings_of(system: System) -> list[BadInput]:
    """Warnings: tasks that may miss their deadlines alone, cores with a load above 1 or without preemption,
    queues that fill, and keys that mean nothing on the chosen target."""
    document = system.document
    rules = (_tasks, _loads, _unpreempted, filling)
    return [*document.notes, *(found for rule in rules for found in rule(system, document))]


def _tasks(system: System, document: Document) -> Iterator[BadInput]:
    for name, task in system.tasks.items():
        wcet = system.wcet(name)
        for key, value in (("wcet", wcet), ("self_suspension", task.self_suspension)):
            if value is not None and value > task.deadline:
                text = f"{value} is longer than the deadline, {task.deadline}: a job may miss it by itself"
                yield document.problem(("tasks", name, key), text, at_key=True)


def _loads(system: System, document: Document) -> Iterator[BadInput]:
    loads: dict[str, Fraction] = {}
    for name, task in system.tasks.items():
        wcet = system.wcet(name)
        parts = [(task.on, 0 if wcet is None else wcet.value)]
        if task.master is not None and task.dispatch is not None:
            own = (task.dispatch.send, task.dispatch.receive)
            parts.append((task.master, sum(part.value.value for part in own if part is not None)))
        for core, time in parts:
            loads[core] = loads.get(core, Fraction(0)) + time / task.long_run_interval
    for core, load in loads.items():
        supply = system.scheduling_of(core).supply
        if supply is not None:
            load *= Fraction(supply.period.value, supply.budget.value)
        if load > 1:
            on = [name for name, task in system.tasks.items() if core in (task.on, task.master)]
            text = f"{core} is asked for {float(load):.3g} times what it has, by {', '.join(on)}"
            yield document.problem(("tasks", on[0], "on"), text, at_key=True)


def _unpreempted(system: System, document: Document) -> Iterator[BadInput]:
    return (document.problem(place, text) for _, place, text in unpreempted(system))


def filling(system: System, document: Document) -> Iterator[BadInput]:
    """Warnings: queues and mailboxes that fill, as blocks come faster than they are taken."""
    for name, channel in system.channels.items():
        source = system.tasks.get(system.writer(name) or "")
        apart = channel.min_interarrival if source is None else source.period
        if SEMANTICS[channel.implemented_by].full != "dropped" or apart is None:
            continue
        for reader in system.readers(name):
            period = system.tasks[reader].period if reader in system.tasks else None
            if period is None or period <= apart or system.takes_several(reader):
                continue
            text = (
                f"a block comes each {apart}, and {reader} takes one each {period}: it fills, and"
                " blocks are dropped; let the step take several (consort::Batch)"
            )
            newest = "implementation: snapshot" if source is None else "kind: sporadic"
            text += f", or write '{newest}'"
            yield document.problem(("channels", name), text, at_key=True)
