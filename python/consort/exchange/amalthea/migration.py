# SPDX-License-Identifier: Apache-2.0
"""Models of APP4MC 0.7.0 to 0.9.2 brought to the form that the importer reads, one release after another."""

from __future__ import annotations

from collections.abc import Callable

from consort.exchange.amalthea.elements import (
    inside,
    key_of,
    keys,
    made,
    parts,
    rename,
    retype,
    retype_references,
)
from consort.exchange.amalthea.migration_090 import migrate_to_0_9_0
from consort.exchange.conventions import Report
from consort.exchange.trees import Element

_CONSTRAINTS = {"AgeConstraint": "Age", "ReactionConstraint": "Reaction"}


def _to_0_7_1(root: Element, report: Report) -> None:
    """0.7.0 to 0.7.1: sizes and frequencies get units, entries of switches and constraints other names."""
    for element in root.walk():
        if element.name == "size" and "numberBits" in element.attributes:
            rename(element, "numberBits", "value")
            element.attributes["unit"] = "bit"
    for memory in parts(root, "hwModel", "memoryTypes"):
        size = memory.attributes.pop("size", "")
        if size:
            memory.children.append(made(memory, "size", value=size, unit="B"))
            report.change("size of memory", memory.get("name"), "taken as bytes: release 0.7.0 has no unit")
    for quartz in inside(root, "hwModel"):
        if quartz.name == "quartzes" and (value := quartz.attributes.pop("frequency", "")):
            quartz.children.append(made(quartz, "frequency", value=value, unit="Hz"))
            report.change("frequency", quartz.get("name"), "taken as hertz: release 0.7.0 has no unit")
    for constraint in parts(root, "constraintsModel", "timingConstraints"):
        kind = _CONSTRAINTS.get(constraint.type)
        if kind is not None:
            retype(constraint, "EventChainLatencyConstraint")
            constraint.attributes["type"] = kind
    for switch in inside(root, "swModel"):
        if switch.type == "ModeSwitch":
            for entry in switch.all("entries"):
                if entry.attributes.pop("default", "false") == "true":
                    entry.name = "defaultEntry"


INSTRUCTIONS = ("InstructionsConstant", "InstructionsDeviation")
ITEMS = ("runnableItems", "runnableItem", "items")


def _to_0_7_2(root: Element, report: Report) -> None:
    """0.7.1 to 0.7.2: instructions of a runnable have a default, groups hold their items, switches theirs."""
    for runnable in parts(root, "swModel", "runnables"):
        # Whatever is turned inside out is walked again, from the outside inwards.
        for item in list(runnable.walk()):
            if item.name in ITEMS and item.type in INSTRUCTIONS:
                _default(item)
            elif item.type == "Group":
                _unpack(item, report)
            elif item.type == "ProbabilityGroup":
                retype(item, "RunnableProbabilitySwitch")
                for entry in list(item.all("items")):
                    entry.name = "entries"
                    rename(entry, "runnableItem", "items")
    for process in parts(root, "swModel", "tasks", "isrs"):
        if process.get("preemption") == "unknown":
            del process.attributes["preemption"]
    for stimulus in parts(root, "stimuliModel", "stimuli"):
        rename(stimulus, "arrivalCurveEntries", "entries")


def _default(item: Element) -> None:
    inner = made(item, "default", kind=item.type)
    inner.children, item.children = item.children, [inner]
    if "value" in item.attributes:
        inner.attributes["value"] = item.attributes.pop("value")
    retype(item, "RunnableInstructions")


def _unpack(group: Element, report: Report) -> None:
    """The items that wrappers around them held, in the order of the wrappers."""
    found: list[Element] = []
    for child in group.children:
        held = list(child.all("runnableItem")) if child.name == "items" else []
        for item in held:
            item.name = "items"
        found += held or [child]
        if held and child.child("deviation") is not None:
            # It says how a simulator draws the items; what they cost at most is in them.
            report.leave("sampling of group", group.get("name") or "unnamed", "not modelled")
    group.children = found


UNITS = {"byte": "B", "kibit": "Kibit"}
SIZES = ("size", "chunkSize")


def _to_0_8_0(root: Element, report: Report) -> None:
    """0.7.2 to 0.8.0: units as the standards spell them, mappings of memory, a switch that was misspelt."""
    for element in root.walk():
        if element.type == "ProbabiltitySwitch":
            retype(element, "ProbabilitySwitch")
        if element.name in SIZES and element.get("unit") in UNITS:
            element.attributes["unit"] = UNITS[element.get("unit")]
    for mapping in parts(root, "mappingModel", "mapping"):
        if mapping.type == "AbstractElementMapping":
            mapping.name = "memoryMapping"
            del mapping.attributes["xsi:type"]


STIMULI = {
    "ArrivalCurve": "ArrivalCurveStimulus",
    "InterProcess": "InterProcessStimulus",
    "Periodic": "PeriodicStimulus",
    "PeriodicEvent": "VariableRateStimulus",
    "Single": "SingleStimulus",
    "Sporadic": "SporadicStimulus",
    "Synthetic": "SyntheticStimulus",
}


def _to_0_8_1(root: Element, report: Report) -> None:
    """0.8.0 to 0.8.1: kinds of stimuli, priorities and cores beside the scheduler, chains in chains."""
    retype_references(root, STIMULI)
    for element in root.walk():
        if element.type in STIMULI and (element.name == "stimuli" or element.get("href")):
            retype(element, STIMULI[element.type])
    for allocation in parts(root, "mappingModel", "coreAllocation"):
        allocation.name = "schedulerAllocation"
        rename(allocation, "core", "responsibility")
    for element in inside(root, "constraintsModel"):
        if element.type == "SubEventChain":
            retype(element, "EventChainContainer")
    _priorities(root, report)
    _overheads(root, report)


def _priorities(root: Element, report: Report) -> None:
    """Those of allocations, else those of the tasks; 0 is what the releases write where none was given."""
    tasks = {key_of(task, "Task"): task for task in parts(root, "swModel", "tasks")}
    isrs = {key_of(isr, "ISR"): isr for isr in parts(root, "swModel", "isrs")}
    allocations = parts(root, "mappingModel", "taskAllocation", "isrAllocation")
    own = {key: p.attributes.pop("priority", "0") for key, p in (tasks | isrs).items()}
    given = any(allocation.get("priority", "0") != "0" for allocation in allocations)
    fallen_back = not given and any(text != "0" for text in own.values())
    allocated: set[str] = set()
    for allocation in allocations:
        text = allocation.attributes.pop("priority", "0")
        found = [key for name in ("task", "isr") for key in keys(allocation, name)]
        allocated.update(found)
        if fallen_back:
            text = next((own[key] for key in found if key in own), "0")
        if given or fallen_back:
            allocation.children.append(made(allocation, "schedulingParameters", priority=text))
    for key, process in (tasks | isrs).items():
        if own[key] == "0":
            continue
        if not fallen_back:
            report.leave("own priority of task", process.get("name"), "allocations have priorities, too")
        elif key in allocated:
            report.change("own priority of task", process.get("name"), "taken: allocations have none")
        else:
            report.leave("own priority of task", process.get("name"), "no scheduler is allocated to it")


def _overheads(root: Element, report: Report) -> None:
    for system in parts(root, "osModel", "operatingSystems"):
        for scheduler in system.all("taskSchedulers", "interruptControllers"):
            for unit in scheduler.all("schedulingUnit"):
                delay = unit.child("delay")
                takes = delay is not None and delay.get("value", "0") not in ("0", "0.0")
                if takes or unit.child("instructions") is not None:
                    report.leave("scheduler's own execution", scheduler.get("name"), "not modelled")


RENAMED = {"SporadicStimulus": "RelativePeriodicStimulus", "SyntheticStimulus": "PeriodicSyntheticStimulus"}
# A deviation of these stimuli is a jitter, or the time to the next; for others it has no meaning.
DEVIATIONS = {"PeriodicStimulus": "jitter", "SporadicStimulus": "nextOccurrence"}


def _to_0_8_3(root: Element, report: Report) -> None:
    """0.8.2 to 0.8.3: stimuli say what deviates: jitter, the next occurrence, occurrences of a curve."""
    for stimulus in parts(root, "stimuliModel", "stimuli"):
        kind = stimulus.type
        clocked = kind == "PeriodicStimulus" and bool(keys(stimulus, "clock"))
        if kind in DEVIATIONS and not clocked:
            rename(stimulus, "stimulusDeviation", DEVIATIONS[kind])
        elif any(child.children for child in stimulus.all("stimulusDeviation")):
            report.leave("deviation of stimulus", stimulus.get("name"), f"{kind} is not bounded by one")
        for entry in stimulus.all("entries"):
            rename(entry, "numberOfEvents", "numberOfOccurrences")
        if clocked:
            # Its period is one of a clock whose rate varies; ids by name follow the kind.
            _rename_kind(root, stimulus, "VariableRateStimulus")
    retype_references(root, RENAMED)
    for element in root.walk():
        if element.type in RENAMED and (element.name == "stimuli" or element.get("href")):
            retype(element, RENAMED[element.type])


def _rename_kind(root: Element, stimulus: Element, kind: str) -> None:
    old = key_of(stimulus, stimulus.type)
    retype(stimulus, kind)
    if "xmi:id" in stimulus.attributes:
        return
    new = key_of(stimulus, kind)
    for element in root.walk():
        for name, text in element.attributes.items():
            if old in text:
                words = (new if word == old else word for word in text.split())
                element.attributes[name] = (
                    text.replace(f"#{old}", f"#{new}") if "#" in text else " ".join(words)
                )


_LATENCIES = ("accessLatency", "readLatency", "writeLatency")


def _to_0_9_3(root: Element, report: Report) -> None:
    """0.9.2 to 0.9.3: latencies are values or deviations of values, in cycles."""
    for latency in inside(root, "hwModel"):
        if latency.name not in _LATENCIES:
            continue
        if latency.type == "LatencyConstant":
            retype(latency, "DiscreteValueConstant")
            rename(latency, "cycles", "value")
        elif latency.type == "LatencyDeviation":
            rename(latency, "cycles", "deviation")


Release = tuple[int, int, int]
Step = Callable[[Element, Report], None]
# The release that a step leads to, from the one before. Releases without one changed nothing that is read.
STEPS: tuple[tuple[Release, Step], ...] = (
    ((0, 7, 1), _to_0_7_1),
    ((0, 7, 2), _to_0_7_2),
    ((0, 8, 0), _to_0_8_0),
    ((0, 8, 1), _to_0_8_1),
    ((0, 8, 3), _to_0_8_3),
    ((0, 9, 0), migrate_to_0_9_0),
    ((0, 9, 3), _to_0_9_3),
)


def migrate(root: Element, release: Release, report: Report) -> bool:
    """The model in place, by all steps to releases later than its own; whether there were any."""
    steps = [(later, step) for later, step in STEPS if later > release]
    for _, step in steps:
        step(root, report)
    return bool(steps)
