# SPDX-License-Identifier: Apache-2.0
"""Exports to AMALTHEA 1.0: parts that it has elements for as elements, the rest as one custom property."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from consort.exchange.amalthea.elements import Node, ceiling, document, reference, text
from consort.exchange.amalthea.importer import import_model
from consort.exchange.amalthea.model import KEY, Model, patch_between
from consort.exchange.conventions import Report
from consort.exchange.trees import parse_xml
from consort.model import Platform, System, Task
from consort.model.figures import cost_on, kept_without_jitter
from consort.model.quantities import Duration

# The clock that a processor without one is written with: cycles are then nanoseconds.
STAND_IN_HERTZ = 10**9
MEMORY_TYPES = {"ddr": "DRAM", "sram": "SRAM", "scratchpad": "PRAM", "flash": "FLASH"}
ALGORITHMS = {"edf": "EarliestDeadlineFirst"}
UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}


def export_amalthea(system: System, report: Report) -> str:
    """The text of an .amxmi file, from which `import_amalthea` makes the same system again."""
    root = document()
    platform = system.platform_description
    _software(root, system)
    _hardware(root, platform, report)
    _schedulers(root, system)
    _stimuli(root, system)
    _events(root, system)
    _constraints(root, system)
    _mapping(root, system)
    patch = _extras(text(root), system)
    if patch != {"platform": {}, "system": {}}:
        kept = Node("customProperties", key=KEY)
        kept.add("value", "StringObject", value=json.dumps(patch, separators=(",", ":")))
        root.children.insert(0, kept)
        for part in patch.values():
            for what, inner in part.items():
                for name in inner if isinstance(inner, dict) else [what]:
                    how = "in the custom property 'consort', which other tools do not read"
                    report.change(f"part of {what}", str(name), how)
    return text(root)


def _extras(written: str, system: System) -> dict[str, Any]:
    """A merge patch from an import of the written model to the description."""
    path = Path(f"{system.platform_description.name}.amxmi")
    lost = Report()
    back = import_model(Model([parse_xml(written.encode(), path)], lost))
    assert back.platform is not None and back.system is not None
    wanted = [
        part.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        for part in (system.platform_description, system)
    ]
    wanted[1]["platform"] = back.system["platform"]
    return {
        "platform": patch_between(back.platform, wanted[0]),
        "system": patch_between(back.system, wanted[1]),
    }


def _time(node: Node, name: str, time: Duration) -> None:
    unit = next(u for u, factor in UNITS.items() if time.value % factor == 0)
    node.add(name, value=str(time.value // UNITS[unit]), unit=unit)


def _hertz(platform: Platform, processor: str) -> int:
    clock = platform.processors[processor].clock
    return clock.value.hertz if clock is not None else STAND_IN_HERTZ


def _channels(system: System) -> dict[str, tuple[str, list[str]]]:
    """Channels between tasks, which labels can stand for."""
    found = {}
    for name in system.channels:
        writer = system.writer(name)
        if "." not in name and writer in system.tasks:
            found[name] = (writer, [reader for reader in system.readers(name) if reader in system.tasks])
    return found


def _software(root: Node, system: System) -> None:
    software = root.add("swModel")
    channels = _channels(system)
    for name in system.tasks:
        policy = system.scheduling_of(system.tasks[name].on).policy
        preemption = "non_preemptive" if policy == "fixed-priority-non-preemptive" else "preemptive"
        task = software.named("tasks", name, "Task", stimuli=_stimulus(system, name), preemption=preemption)
        graph = task.add("activityGraph").add("items", "Group", name="CallSequence", ordered="true")
        graph.add("items", "RunnableCall", runnable=reference(name, "Runnable"))
    for name in system.tasks:
        runnable = software.named("runnables", name, "Runnable")
        graph = runnable.add("activityGraph")
        for channel, (_, readers) in channels.items():
            if name in readers:
                graph.add("items", "LabelAccess", data=reference(channel, "Label"), access="read")
        _ticks(graph, system, name)
        for channel, (writer, _) in channels.items():
            if name == writer:
                graph.add("items", "LabelAccess", data=reference(channel, "Label"), access="write")
    for channel in channels:
        label = software.named("labels", channel, "Label")
        size = system.channels[channel].size
        if size is not None:
            label.add("size", value=str(size.bytes), unit="B")


def _ticks(graph: Node, system: System, name: str) -> None:
    """Cycles on each processor for which the task has a time, as it is executed."""
    task, platform = system.tasks[name], system.platform_description
    demand = Node("items", "Ticks")
    for processor in platform.processors:
        worst = cost_on(task.wcet, processor, task.execution)
        best = cost_on(task.bcet, processor, task.execution)
        if worst is None:
            continue
        hertz = _hertz(platform, processor)
        high = ceiling(Fraction(worst.value.picoseconds * hertz, 10**12))
        low = (best or worst).value.picoseconds * hertz // 10**12
        extended = demand.add("extended", key=reference(processor, "ProcessingUnitDefinition"))
        if low == high:
            extended.add("value", "DiscreteValueConstant", value=str(high))
        else:
            extended.add("value", "DiscreteValueBoundaries", lowerBound=str(low), upperBound=str(high))
    if demand.children:
        graph.children.append(demand)


def _hardware(root: Node, platform: Platform, report: Report) -> None:
    hardware = root.add("hwModel")
    for name in platform.processors:
        hardware.named("definitions", name, "ProcessingUnitDefinition", typed=True, puType="CPU")
    for name, memory in platform.memories.items():
        kind = MEMORY_TYPES.get(memory.kind, "")
        definition = hardware.named("definitions", name, "MemoryDefinition", typed=True, memoryType=kind)
        if memory.size is not None:
            definition.add("size", value=str(memory.size.value.bytes), unit="B")
    top = hardware.named("structures", platform.name, "HwStructure", structureType="System")
    for group, cores in platform.cores.items():
        structure = top.named("structures", group, "HwStructure", structureType="Cluster")
        for core in platform.cores_of(group):
            structure.named(
                "modules",
                core.name,
                "ProcessingUnit",
                typed=True,
                frequencyDomain=reference(cores.processor, "FrequencyDomain"),
                definition=reference(cores.processor, "ProcessingUnitDefinition"),
            )
    for name in platform.memories:
        definition_of = reference(name, "MemoryDefinition")
        top.named("modules", name, "Memory", typed=True, definition=definition_of)
    for name, processor in platform.processors.items():
        if processor.clock is None:
            report.change("clock", name, "none is known; written as 1 GHz, so that cycles are nanoseconds")
        domain = hardware.named("domains", name, "FrequencyDomain", typed=True, clockGating="false")
        domain.add("defaultValue", value=str(_hertz(platform, name)), unit="Hz")


def _schedulers(root: Node, system: System) -> None:
    operating = root.add("osModel").add("operatingSystems", name=system.platform_description.name)
    for core in dict.fromkeys(task.on for task in system.tasks.values()):
        scheduler = operating.named("taskSchedulers", core, "TaskScheduler")
        policy = system.scheduling_of(core).policy
        scheduler.add("schedulingAlgorithm", ALGORITHMS.get(policy, "FixedPriorityPreemptive"))


def _stimulus(system: System, name: str) -> str:
    return reference(name, "ArrivalCurveStimulus" if system.tasks[name].sporadic else "PeriodicStimulus")


def _stimuli(root: Node, system: System) -> None:
    stimuli = root.add("stimuliModel")
    for name, task in system.tasks.items():
        if task.sporadic:
            stimulus = stimuli.named("stimuli", name, "ArrivalCurveStimulus", typed=True)
            for occurrences, least in enumerate(_distances(task), 2):
                entry = stimulus.add("entries", numberOfOccurrences=str(occurrences))
                _time(entry, "lowerTimeBorder", Duration(least))
            continue
        stimulus = stimuli.named("stimuli", name, "PeriodicStimulus", typed=True)
        if task.offset.value:
            _time(stimulus, "offset", task.offset)
        _time(stimulus, "recurrence", task.interval)
        if task.has_jitter:
            jitter = stimulus.add("jitter", "TimeBoundaries")
            _time(jitter, "lowerBound", Duration(0))
            _time(jitter, "upperBound", task.jitter_time)
            if task.distances:
                _time(stimulus, "minDistance", task.distances[0])


def _distances(task: Task) -> tuple[int, ...]:
    """Distances from a release to the next, the one after that, …, as an arrival curve without jitter has
    them."""
    given = tuple(distance.value for distance in task.distances)
    if not given or task.has_jitter:
        return (task.interval.value,)
    return kept_without_jitter(task.interval.value, given)


def _events(root: Node, system: System) -> None:
    tasks = dict.fromkeys(task for chain in system.chains.values() for task in chain.path)
    if tasks:
        events = root.add("eventModel")
        for task in tasks:
            for kind in ("start", "terminate"):
                entity = reference(task, "Task")
                events.named(
                    "events", f"{kind}-{task}", "ProcessEvent", typed=True, entity=entity, eventType=kind
                )


def _event(kind: str, task: str) -> str:
    return reference(f"{kind}-{task}", "ProcessEvent")


def _constraints(root: Node, system: System) -> None:
    constraints = root.add("constraintsModel")
    for name, chain in system.chains.items():
        first, last = chain.path[0], chain.path[-1]
        begin, end = _event("start", first), _event("terminate", last)
        whole = constraints.named("eventChains", name, "EventChain", stimulus=begin, response=end)
        if len(chain.path) > 1:
            starts = [_event("start", task) for task in chain.path]
            for index, stimulus in enumerate(starts):
                response = starts[index + 1] if index + 1 < len(starts) else end
                segment = whole.add("segments", "EventChainContainer")
                title = f"{name}-{index}"
                segment.add("eventChain", name=title, stimulus=stimulus, response=response)
    for name, chain in system.chains.items():
        for kind, limit in (("Reaction", chain.reaction), ("Age", chain.age)):
            if limit is not None:
                constraint = constraints.add(
                    "timingConstraints",
                    "EventChainLatencyConstraint",
                    name=f"{name}-{kind.lower()}",
                    scope=reference(name, "EventChain"),
                )
                constraint.attributes["type"] = kind
                _time(constraint, "maximum", limit)
    for name, task in system.tasks.items():
        if "deadline" in task.model_fields_set:
            process = reference(name, "Task")
            requirement = constraints.add(
                "requirements", "ProcessRequirement", name=f"deadline-{name}", process=process
            )
            limit_of = requirement.add(
                "limit", "TimeRequirementLimit", limitType="UpperLimit", metric="ResponseTime"
            )
            _time(limit_of, "limitValue", task.deadline)


def _mapping(root: Node, system: System) -> None:
    mapping = root.add("mappingModel")
    for core in dict.fromkeys(task.on for task in system.tasks.values()):
        unit = reference(core, "ProcessingUnit")
        scheduler = reference(core, "TaskScheduler")
        mapping.add("schedulerAllocation", scheduler=scheduler, responsibility=unit, executingPU=unit)
    for name, task in system.tasks.items():
        allocation = mapping.add(
            "taskAllocation",
            task=reference(name, "Task"),
            scheduler=reference(task.on, "TaskScheduler"),
            affinity=reference(task.on, "ProcessingUnit"),
        )
        if task.priority is not None:
            allocation.add("schedulingParameters", priority=str(task.priority))
    for channel in _channels(system):
        memory = system.channels[channel].memory
        if memory is not None:
            mapping.add(
                "memoryMapping",
                abstractElement=reference(channel, "Label"),
                memory=reference(memory, "Memory"),
            )
