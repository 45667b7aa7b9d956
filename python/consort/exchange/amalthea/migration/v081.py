# SPDX-License-Identifier: Apache-2.0
"""0.8.0 to 0.8.1: kinds of stimuli, priorities and cores beside the scheduler, chains in chains."""

from __future__ import annotations

from consort.exchange.amalthea.migration.tree import (
    inside,
    key_of,
    keys,
    made,
    parts,
    rename,
    retype,
    retype_references,
)
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

STIMULI = {
    "ArrivalCurve": "ArrivalCurveStimulus",
    "InterProcess": "InterProcessStimulus",
    "Periodic": "PeriodicStimulus",
    "PeriodicEvent": "VariableRateStimulus",
    "Single": "SingleStimulus",
    "Sporadic": "SporadicStimulus",
    "Synthetic": "SyntheticStimulus",
}


def migrate(root: Element, report: Report) -> None:
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
