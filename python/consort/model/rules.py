# SPDX-License-Identifier: Apache-2.0
"""Rules across the fields of a description and against its platform and the files it names.

They read the document, not the models: so a fault in one field does not hide those of others.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from consort.errors import BadInput
from consort.model.accelerator_rules import check_accelerators
from consort.model.base import NAME_PATTERN
from consort.model.chain_rules import CHAIN_RULES, links_of_chains
from consort.model.channel_rules import CHANNEL_RULES
from consort.model.conflicts import refused
from consort.model.device_rules import DEVICE_RULES
from consort.model.document import Document, Location
from consort.model.file_rules import FILE_RULES
from consort.model.kinds import CONFIGURATIONS, STAND_IN
from consort.model.mode_change_rules import check_mode_changes
from consort.model.mode_rules import check_modes
from consort.model.platform import Platform
from consort.model.problems import MOST_PROBLEMS, closest, nearest
from consort.model.quantities import Duration, Frequency, Quantity
from consort.model.remote_rules import check_remote_states
from consort.model.resource_rules import check_bandwidth, check_caches, check_resources
from consort.model.running import Run
from consort.model.task_rules import TASK_RULES, check_service, check_supply, check_waits
from consort.model.threshold_rules import check_thresholds
from consort.model.view import View

if TYPE_CHECKING:
    from consort.model.description import System

Problems = Iterator[BadInput]


def check_rules(
    document: Document, wrong: set[Location], platform: Platform | None, system: System | None
) -> list[BadInput]:
    """All that the rules find wrong; rules about fields in `wrong` stay silent.

    `system` is what is right of the document.
    """
    view = View(document, wrong, platform, system)
    found = (problem for rule in (*RULES, *DESIGN_RULES) for problem in rule(view))
    problems = list(itertools.islice(found, MOST_PROBLEMS))
    return problems + check_modes(view, DESIGN_RULES, problems)


def _conflicts(view: View) -> Problems:
    for core, place, text, at_key in () if view.system is None else refused(view.system):
        # Of what is taken out nobody knows whether it would go together.
        parts = (core.entry, *(("tasks", name) for name in core.tasks))
        if not view.wrong or not any(view.wrong_within(*part) for part in parts):
            yield view.problem(place, text, at_key=at_key)


def _known_cores(view: View) -> Problems:
    if view.platform is None:
        return
    cores = view.platform.core_names()
    for task in view.tasks():
        for key in ("on", "master"):
            core = view.text("tasks", task, key)
            if core is not None and core not in cores:
                yield view.problem(("tasks", task, key), view.platform.unknown_core(core))
    for core in view.mapping("run", "cpus"):
        if core not in cores:
            yield view.problem(("run", "cpus", core), view.platform.unknown_core(core), at_key=True)


def _releases(view: View) -> Problems:
    for task in view.tasks():
        here, given = ("tasks", task), view.mapping("tasks", task)
        both = [key for key in ("period", "min_interarrival") if key in given]
        if not both and not any(closest(key, ("period", "min_interarrival")) for key in view.unknown(*here)):
            yield view.problem(
                (*here, "period"),
                "the key 'period' is missing; add it, for example 'period: 50us', or 'min_interarrival' for"
                " sporadic releases",
            )
        if len(both) == 2:
            yield view.problem(
                (*here, "min_interarrival"),
                "a task is released periodically or sporadically; keep 'period' or 'min_interarrival'",
                at_key=True,
            )
        if view.runs(task) and "step" not in given:
            yield view.problem(
                (*here, "step"),
                "the key 'step' is missing; add it, for example 'step: step.hpp::servo::step', or remove"
                " 'input' and let the task be analysed only",
            )
        if "golden" in given and not view.runs(task) and "step" not in given:
            yield view.problem(
                (*here, "golden"),
                "'golden' belongs to a task that is run; add 'input', or remove 'golden'",
                at_key=True,
            )


def _stand_ins(view: View) -> Problems:
    for task in view.tasks():
        if view.get("tasks", task, "step") != STAND_IN:
            continue
        for key in ("types", "input", "golden"):
            if key in view.mapping("tasks", task):
                yield view.problem(
                    ("tasks", task, key),
                    f"a stand-in passes numbered blocks and computes nothing; remove {key!r}, or name a step",
                    at_key=True,
                )


def _positive(view: View) -> Problems:
    for task in view.tasks():
        places: list[tuple[Location, type[Quantity]]] = [
            (("tasks", task, "period"), Duration),
            (("tasks", task, "min_interarrival"), Duration),
            (("tasks", task, "deadline"), Duration),
            (("tasks", task, "input", "rate"), Frequency),
        ]
        for location, kind in places:
            quantity = view.parsed(kind, *location)
            if quantity is not None and quantity.value == 0:
                yield view.problem(location, f"the {location[-1]} is 0; more than 0 is needed")
            # Releases of runs are timed by the clocks of hosts, in nanoseconds.
            elif view.runs(task) and isinstance(quantity, Duration) and quantity.value % 1000:
                yield view.problem(
                    location, f"{view.text(*location)!r} is not a whole number of nanoseconds; round it"
                )


def _deadlines(view: View) -> Problems:
    """A run has one job of a task at a time."""
    for task in filter(view.runs, view.tasks()):
        period = view.parsed(Duration, "tasks", task, "period")
        deadline = view.parsed(Duration, "tasks", task, "deadline")
        if period is not None and deadline is not None and deadline > period:
            yield view.problem(
                ("tasks", task, "deadline"),
                f"the deadline {deadline} is later than the period {period}; at most {period} is possible",
            )


def _execution(view: View) -> Problems:
    for task in view.tasks():
        here = ("tasks", task)
        given = view.mapping(*here)
        if view.execution(task) == "offloaded":
            if "master" not in given:
                yield view.problem(
                    (*here, "execution"),
                    "an offloaded task needs a master; add the core that releases its jobs, for example"
                    " 'master: master-0'",
                )
            elif view.text(*here, "master") is not None and given["master"] == given.get("on"):
                yield view.problem(
                    (*here, "master"),
                    f"the task is computed on {given['on']!r}, its own master; name another core, or write"
                    " 'execution: local'",
                )
        execution = view.execution(task)
        if execution not in ("local", "three-phase"):
            continue
        if "master" in given:
            yield view.problem(
                (*here, "master"),
                f"a {execution} task has no master; remove 'master', or write 'execution: offloaded'",
                at_key=True,
            )
        if "dispatch" in given:
            yield view.problem(
                (*here, "dispatch"),
                f"a {execution} task has no master; remove 'dispatch', or write 'execution: offloaded'",
                at_key=True,
            )
        if view.get(*here, "restart_worker") is True:
            yield view.problem(
                (*here, "restart_worker"),
                f"a {execution} task has no worker; remove 'restart_worker', or write 'execution: offloaded'",
                at_key=True,
            )
        if view.text(*here, "on_miss") in ("local-fallback", "stop"):
            yield view.problem(
                (*here, "on_miss"),
                f"a {execution} task awaits no answer, and its output is written when its job ends, however"
                " late; remove 'on_miss', or write 'execution: offloaded'",
                at_key=True,
            )


def _channel_names(view: View) -> Problems:
    valid = [f"{task}.{end}" for task in view.tasks() for end in ("in", "out") if view.offloaded(task)]
    described = view.document.get("tasks")
    if not isinstance(described, dict):
        return
    for name in view.mapping("channels"):
        here = ("channels", name)
        task, dot, end = name.rpartition(".")
        if not dot:
            if name in described and view.offloaded(name):
                yield view.problem(
                    here,
                    f"{name!r} is a task; its channels are {name}.in and {name}.out; did you mean"
                    f" '{name}.in'?",
                    at_key=True,
                )
            elif re.fullmatch(NAME_PATTERN, name) is None or len(name) > 64:
                yield view.problem(
                    here,
                    f"{name!r} is no name; a letter, then letters, digits, '-' and '_', for example gains",
                    at_key=True,
                )
        elif task in described and end in ("in", "out"):
            if view.execution(task) in ("local", "three-phase"):
                yield view.problem(
                    here,
                    f"the task {task!r} is {view.execution(task)} and has no channels; remove {name!r}, or"
                    " write 'execution: offloaded' there",
                    at_key=True,
                )
            elif view.text(*here, "kind") in ("sporadic", "queue", "subscription"):
                yield view.problem(
                    (*here, "kind"),
                    f"{name!r} carries a block for each job of {task!r}; write periodic",
                )
        else:
            yield view.problem(
                here,
                f"{name!r} is no channel; channels are <task>.in and <task>.out of offloaded tasks;"
                f" {nearest(name, valid, 'channels')}",
                at_key=True,
            )


def _channel_memories(view: View) -> Problems:
    for name in view.mapping("channels"):
        here = ("channels", name)
        memory = view.text(*here, "memory")
        if view.platform is None or memory is None:
            continue
        places = [*view.platform.memories, *view.platform.links]
        if memory not in places:
            what, plural = (
                ("memory and no link", "memories and links")
                if view.platform.links
                else ("memory", "memories")
            )
            yield view.problem(
                (*here, "memory"),
                f"{memory!r} is no {what} of platform {view.platform.name};"
                f" {nearest(memory, places, plural)}",
            )


def _run(view: View) -> Problems:
    interference = view.sequence("run", "interference")
    chosen = view.sequence("run", "configurations")
    for key, entries in (("interference", interference), ("configurations", chosen)):
        for index, entry in enumerate(entries):
            if entry in entries[:index]:
                yield view.problem(("run", key, index), f"{entry!r} stands twice; remove one of them")
    if "configurations" in view.mapping("run") and not chosen and view.get("run", "configurations") == []:
        yield view.problem(
            ("run", "configurations"), f"the list is empty; choose from {', '.join(CONFIGURATIONS)}"
        )
    offloads = any(view.offloaded(task) for task in view.tasks())
    for index, entry in enumerate(chosen):
        if entry not in CONFIGURATIONS:
            continue
        if entry.endswith("-on") and not interference and ("run", "interference") not in view.wrong:
            known = Run.model_json_schema()["properties"]["interference"]["items"]["enum"]
            yield view.problem(
                ("run", "configurations", index),
                f"{entry!r} needs interference; add 'interference: [{', '.join(known[:2])}]' under 'run'",
            )
        if entry.startswith("offloaded") and view.tasks() and not offloads:
            yield view.problem(
                ("run", "configurations", index),
                f"{entry!r} needs an offloaded task; write 'local{entry[9:]}'",
            )
    given: dict[int, str] = {}
    for core, cpu in view.mapping("run", "cpus").items():
        if isinstance(cpu, int) and given.setdefault(cpu, core) != core:
            yield view.problem(
                ("run", "cpus", core), f"CPU {cpu} is already given to {given[cpu]!r}; give each core its own"
            )


# What must hold in each mode as it must hold in the whole.
DESIGN_RULES = (
    _known_cores,
    _execution,
    _positive,
    _deadlines,
    *TASK_RULES,
    _conflicts,
    check_supply,
    check_resources,
    check_accelerators,
    check_caches,
    check_bandwidth,
    check_remote_states,
    check_thresholds,
    *CHANNEL_RULES,
    *CHAIN_RULES,
    *DEVICE_RULES,
)
RULES: tuple[Callable[[View], Problems], ...] = (
    _releases,
    _stand_ins,
    check_waits,
    check_service,
    _channel_names,
    _channel_memories,
    links_of_chains,
    *FILE_RULES,
    _run,
    check_mode_changes,
)
