# SPDX-License-Identifier: Apache-2.0
"""Rules about what tasks of a core share: resources, caches, and budgets of memory accesses."""

from __future__ import annotations

from consort.base.problems import nearest
from consort.model.costs import cost_on
from consort.model.description import System
from consort.model.document import Location
from consort.model.view import Problems, View, typed


@typed
def check_resources(view: View, system: System) -> Problems:
    known = view.names("resources")
    for name, task in system.tasks.items():
        core = system.known_core(task.on)
        wcet = None if core is None else cost_on(task.wcet, core.processor_name, task.execution)
        for resource, section in task.sections.items():
            here: Location = ("tasks", name, "sections", resource)
            if resource not in known:
                text = f"there is no resource {resource!r}; {nearest(resource, known, 'resources')}"
                yield from view.say(here, text, at_key=True)
                continue
            length = section.length.value
            if length.value == 0:
                yield from view.say((*here, "length"), "the length is 0; more than 0 is needed")
            # Each is the longest of its resource, and not all are as long: their sum may be more.
            elif wcet is not None and length > wcet.value:
                text = f"{length} is longer than the wcet {wcet}, of which it is a part; correct one of them"
                yield from view.say((*here, "length"), text)


@typed
def check_unused_resources(view: View, system: System) -> Problems:
    """Each resource has a user; in a mode its users may all rest."""
    if any(view.wrong_within("tasks", task, "sections") for task in view.names("tasks")):
        return
    used = {resource for task in system.tasks.values() for resource in task.sections}
    for name in system.resources:
        if name not in used:
            text = "no task has a section of it; add one under a task's 'sections', or remove it"
            yield from view.say(("resources", name), text, at_key=True)


@typed
def check_caches(view: View, system: System) -> Problems:
    """Checks that the keys of caches fit them, and that they are on cores with tasks."""
    for name, scheduling in system.scheduling.items():
        cache = scheduling.cache
        if cache is not None and cache.replacement == "direct-mapped" and cache.ways != 1:
            text = "a direct-mapped cache has one way; remove 'ways', or write 'replacement: lru'"
            yield from view.say(("scheduling", name, "cache", "ways"), text)
    for name, task in system.tasks.items():
        if task.cache_sets is None:
            continue
        here: Location = ("tasks", name, "cache_sets")
        missing = [number for number in task.cache_sets.useful if number not in task.cache_sets.evicting]
        if missing:
            text = f"set {missing[0]} is useful and not evicting; add it there, or remove it here"
            yield from view.say((*here, "useful"), text)
        if system.known_core(task.on) is not None and not _said(view, system, task.on, "cache"):
            text = f"nothing is said of the cache of {task.on!r}; add 'cache' for it under 'scheduling', or"
            yield from view.say(here, f"{text} remove 'cache_sets'", at_key=True)


@typed
def check_bandwidth(view: View, system: System) -> Problems:
    """A budget has a period, and times of accesses; accesses are counted where there is a budget."""
    for name, scheduling in system.scheduling.items():
        here: Location = ("scheduling", name, "bandwidth")
        given = scheduling.bandwidth
        if given is not None and given.period.value == 0:
            yield from view.say((*here, "period"), "the period is 0; more than 0 is needed")
        if given is not None and given.shortest.value > given.longest.value:
            text = f"the shortest access is longer than the longest, {given.longest}; correct one of them"
            yield from view.say((*here, "shortest"), text)
    for name, task in system.tasks.items():
        known = system.known_core(task.on) is not None and task.accesses is not None
        if known and not _said(view, system, task.on, "bandwidth"):
            text = f"{task.on!r} has no budget of accesses; add 'bandwidth' for it under 'scheduling', or"
            yield from view.say(("tasks", name, "accesses"), f"{text} remove 'accesses'", at_key=True)


def _said(view: View, system: System, core: str, key: str) -> bool:
    """True if a core's scheduling has the key, valid or not."""
    entry = system.scheduling_entry(core)
    given = getattr(system.scheduling_of(core), key) is not None
    return given or (entry is not None and view.wrong_within("scheduling", entry, key))
