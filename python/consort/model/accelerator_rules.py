# SPDX-License-Identifier: Apache-2.0
"""Rules about accelerators: who serves, who asks for what, and what each client is given."""

from __future__ import annotations

from consort.base.errors import nearest
from consort.model.description import System
from consort.model.document import Location, Problems, View
from consort.model.exclusions import excluded
from consort.model.figures import cost_on
from consort.model.sharing import Accelerator, Client

# The keys of a client, by arbitration.
GIVEN = {"fixed-priority": ("priority",), "tdma": ("slot",), "budget": ("priority", "budget", "period")}
EXAMPLES = {
    "priority": "priority: 10",
    "slot": "slot: 500us",
    "budget": "budget: 1ms",
    "period": "period: 10ms",
}
# By task: the operations that it asks for.
Asked = dict[str, list[str]]


def check_accelerators(view: View, system: System) -> Problems:
    asked: dict[str, Asked] = {name: {} for name in system.accelerators}
    for task in system.tasks:
        yield from _requests(view, system, task, asked)
    if system.accelerators and system.modes:
        yield from view.say(("accelerators",), excluded("accelerators", "modes"), at_key=True)
    serving: dict[str, str] = {}
    for name, given in system.accelerators.items():
        yield from _core(view, system, name, given, serving)
        yield from _operations(view, name, given, asked[name])
        yield from _clients(view, name, given, asked[name])


def _requests(view: View, system: System, task: str, asked: dict[str, Asked]) -> Problems:
    seen: set[tuple[str, str]] = set()
    for index, request in enumerate(system.tasks[task].requests):
        here: Location = ("tasks", task, "requests", index)
        name, operation = request.accelerator, request.operation
        if name not in system.accelerators:
            known = view.names("accelerators")
            if name not in known:
                text = f"there is no accelerator {name!r}; {nearest(name, known, 'accelerators')}"
                yield from view.say((*here, "accelerator"), text)
            continue
        asked[name].setdefault(task, [])
        operations = system.accelerators[name].operations
        if operation not in operations:
            text = f"{name!r} has no operation {operation!r}; {nearest(operation, operations, 'operations')}"
            yield from view.say((*here, "operation"), text)
            continue
        asked[name][task].append(operation)
        if (name, operation) in seen:
            text = f"{operation!r} of {name!r} stands twice; write once how often with 'times'"
            yield from view.say(here, text)
        seen.add((name, operation))


def _core(view: View, system: System, name: str, given: Accelerator, serving: dict[str, str]) -> Problems:
    here: Location = ("accelerators", name, "on")
    core = given.on
    if view.platform is not None and core not in view.platform.core_names():
        yield from view.say(here, view.platform.unknown_core(core))
        return
    if serving.setdefault(core, name) != name:
        yield from view.say(here, f"{core!r} serves {serving[core]!r} already; name another core")
    other = next((task for task, one in system.tasks.items() if core in (one.on, one.master)), None)
    if other is not None:
        text = f"{core!r} serves requests and does nothing else, and {other!r} is on it; name another core"
        yield from view.say(here, text)
    if core in system.scheduling:
        text = (
            f"{core!r} serves the requests of {name!r} by its arbitration, and schedules nothing; remove it"
        )
        yield from view.say(("scheduling", core), text, at_key=True)
    memory = given.memory
    if view.platform is not None and memory is not None and memory not in view.platform.memories:
        text = f"{memory!r} is not a memory of platform {view.platform.name}"
        hint = nearest(memory, view.platform.memories, "memories")
        yield from view.say(("accelerators", name, "memory"), f"{text}; {hint}")


def _operations(view: View, name: str, given: Accelerator, asked: Asked) -> Problems:
    for operation, one in given.operations.items():
        here: Location = ("accelerators", name, "operations", operation)
        if not any(operation in operations for operations in asked.values()):
            text = "no task asks for it; add it under a task's 'requests', or remove it"
            yield from view.say(here, text, at_key=True)
        for key, time in (("wcet", one.wcet), ("bcet", one.bcet)):
            if time is not None and time.value.value == 0:
                yield from view.say((*here, key), f"the {key} is 0; more than 0 is needed")
        if one.bcet is not None and one.wcet is None and not view.wrong_within(*here, "wcet"):
            text = "an operation with a bcet needs a wcet; add 'wcet', or remove 'bcet'"
            yield from view.say((*here, "bcet"), text, at_key=True)
        if one.wcet is not None and one.bcet is not None and one.bcet.value > one.wcet.value:
            text = f"the bcet {one.bcet} is longer than the wcet {one.wcet}; correct one of them"
            yield from view.say((*here, "bcet"), text)


def _clients(view: View, name: str, given: Accelerator, asked: Asked) -> Problems:
    tasks = view.names("tasks")
    for task in asked:
        if task not in given.clients and task not in view.names("accelerators", name, "clients"):
            text = f"{name!r} gives {task!r} nothing; add it under the accelerator's 'clients'"
            yield from view.say(("tasks", task, "requests"), text, at_key=True)
    priorities: dict[int, str] = {}
    for task, client in given.clients.items():
        here: Location = ("accelerators", name, "clients", task)
        if task not in tasks:
            text = f"{task!r} is not a task; {nearest(task, tasks, 'tasks')}"
            yield from view.say(here, text, at_key=True)
        elif task not in asked and not view.wrong_within("tasks", task):
            text = f"{task!r} asks {name!r} for nothing; add it under the task's 'requests', or remove it"
            yield from view.say(here, text, at_key=True)
        if not view.wrong_within("accelerators", name, "arbitration"):
            yield from _given(view, here, given.arbitration, client)
        priority = client.priority
        if priority is not None and priorities.setdefault(priority, task) != task:
            text = f"{priorities[priority]!r} has priority {priority} too; give each client its own"
            yield from view.say((*here, "priority"), text)
        yield from _fits(view, here, given, client, asked.get(task, []))


def _given(view: View, here: Location, arbitration: str, client: Client) -> Problems:
    keys = GIVEN[arbitration]
    for key, example in EXAMPLES.items():
        value = getattr(client, key)
        if key in keys and value is None and not view.wrong_within(*here, key):
            text = f"{arbitration} gives each client a {key}; add it, for example '{example}'"
            yield from view.say(here, text, at_key=True)
        elif key not in keys and value is not None:
            text = f"{arbitration} arbitration has no {key}, each client has {' and '.join(keys)}"
            yield from view.say((*here, key), f"{text}; remove {key!r}", at_key=True)
    for key, time in (("slot", client.slot), ("budget", client.budget), ("period", client.period)):
        if time is not None and time.value == 0:
            yield from view.say((*here, key), f"the {key} is 0; more than 0 is needed")
    if client.budget is not None and client.period is not None and client.budget > client.period:
        text = f"the budget is longer than the period, {client.period}; shorten it"
        yield from view.say((*here, "budget"), text)


def _fits(view: View, here: Location, given: Accelerator, client: Client, operations: list[str]) -> Problems:
    """Checks that a client's requests fit its slot or budget; one that does not would never begin."""
    key = {"tdma": "slot", "budget": "budget"}.get(given.arbitration)
    room = None if key is None else getattr(client, key)
    if key is None or room is None or room.value == 0:
        return
    for operation in operations:
        wcet = given.operations[operation].wcet
        if wcet is not None and wcet.value > room:
            text = (
                f"{operation!r} takes up to {wcet}, longer than the {key}, and would never begin; lengthen it"
            )
            yield from view.say((*here, key), text)
            break


def check_resources(view: View, system: System) -> Problems:
    known = view.names("resources")
    for name, task in system.tasks.items():
        core = system.known_core(task.on) if task.sections else None
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


def check_unused_resources(view: View, system: System) -> Problems:
    """Each resource has a user; in a mode its users may all rest."""
    if any(view.wrong_within("tasks", task, "sections") for task in view.names("tasks")):
        return
    used = {resource for task in system.tasks.values() for resource in task.sections}
    for name in system.resources:
        if name not in used:
            text = "no task has a section of it; add one under a task's 'sections', or remove it"
            yield from view.say(("resources", name), text, at_key=True)


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
        known = task.accesses is not None and system.known_core(task.on) is not None
        if known and not _said(view, system, task.on, "bandwidth"):
            text = f"{task.on!r} has no budget of accesses; add 'bandwidth' for it under 'scheduling', or"
            yield from view.say(("tasks", name, "accesses"), f"{text} remove 'accesses'", at_key=True)


def _said(view: View, system: System, core: str, key: str) -> bool:
    """True if a core's scheduling has the key, valid or not."""
    entry = system.scheduling_entry(core)
    given = getattr(system.scheduling_of(core), key) is not None
    return given or (entry is not None and view.wrong_within("scheduling", entry, key))
