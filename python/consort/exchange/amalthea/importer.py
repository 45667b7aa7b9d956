# SPDX-License-Identifier: Apache-2.0
"""AMALTHEA to Consort: a platform file and a system description, and what they lack."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.exchange.amalthea.channels import read_chains, read_channels
from consort.exchange.amalthea.elements import ceiling
from consort.exchange.amalthea.hardware import Hardware, read_hardware
from consort.exchange.amalthea.mapping import Mapping, read_mapping
from consort.exchange.amalthea.model import Model, apply_extras, read_model
from consort.exchange.amalthea.software import Release, Software
from consort.exchange.conventions import Imported, Names, Order, Report, fill_in_delays, take_times
from consort.exchange.trees import Element
from consort.model.quantities import Duration

READ_PARTS = {
    "swModel": ("tasks", "isrs", "runnables", "labels"),
    "hwModel": ("definitions", "structures", "domains", "featureCategories"),
    "osModel": ("operatingSystems", "schedulerDefinitions", "schedulingParameterDefinitions"),
    "stimuliModel": ("stimuli",),
    "eventModel": ("events",),
    "constraintsModel": ("requirements", "eventChains", "timingConstraints"),
    "mappingModel": (
        "schedulerAllocation",
        "taskAllocation",
        "isrAllocation",
        "memoryMapping",
        "runnableAllocation",
    ),
}
# Items of a task or runnable that cost no time of their own; what they do is not modelled.
UNMODELLED_ITEMS = (
    "WaitEvent",
    "SetEvent",
    "ClearEvent",
    "SemaphoreAccess",
    "SenderReceiverRead",
    "SenderReceiverWrite",
    "ChannelSend",
    "ChannelReceive",
    "ModeLabelAccess",
    "EnforcedMigration",
    "TerminateProcess",
    "SchedulePoint",
    "SynchronousServerCall",
    "AsynchronousServerCall",
    "CustomEventTrigger",
)


def import_amalthea(*paths: Path, order: Order | None = None, within: bool = False) -> Imported:
    """The system of .amxmi files, or of all in a folder, as one model; `BadInput` where it cannot be read."""
    return import_model(read_model(paths, Report()), order, within)


def import_model(model: Model, order: Order | None = None, within: bool = False) -> Imported:
    """`within`: the model's ticks have the times of accesses to labels."""
    report, path = model.report, model.path
    names = Names(report)
    hardware = read_hardware(model, names)
    software = Software(model, hardware, within)
    mapping = read_mapping(model, hardware)
    tasks, by_key, triggers = _tasks(model, software, hardware, mapping, names)
    if not tasks:
        raise BadInput(f"the model has no task that could be imported\n{report.text()}", file=path)
    system: dict[str, Any] = {"consort": 1, "platform": f"{hardware.platform['name']}.yaml"}
    policies = mapping.policies(tasks, by_key)
    if policies:
        system["scheduling"] = policies
    mapping.rank(tasks, by_key, policies, order)
    _unsaid_times(model, software, mapping, tasks, by_key)
    system["tasks"] = tasks
    channels = read_channels(model, software, hardware, by_key, names)
    if channels:
        system["channels"] = channels
    if hardware.accesses:
        _say_accesses(model, software, tasks, by_key, within)
    chains = read_chains(model, by_key, channels, names)
    if chains:
        system["chains"] = chains
    _left_out(model)
    files = ", ".join(file.name for file in model.paths)
    how = ", migrated" if model.migrated else ""
    comment = f"Imported from {files}, an AMALTHEA model of release {model.version}{how}."
    apply_extras(model, hardware.platform, system)
    if triggers:
        fill_in_delays(system, hardware.platform, triggers, report)
    return Imported(hardware.platform, system, report, comment)


def _tasks(
    model: Model, software: Software, hardware: Hardware, mapping: Mapping, names: Names
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """The tasks, their names by id, and of those that others release the name of the trigger."""
    tasks: dict[str, Any] = {}
    triggered: dict[str, str] = {}
    by_key: dict[str, str] = {}
    deadlines = _deadlines(model)
    for key, element in software.tasks.items():
        release = software.release(element)
        if release is None:
            model.report.leave(
                "task", element.get("name"), "no period or least distance of releases is known"
            )
            continue
        name = names.new("task", element.get("name") or "task")
        by_key[key] = name
        tasks[name] = _released(model, element, release)
        if release.trigger is not None:
            triggered[name] = release.trigger
        deadline = deadlines.get(key)
        if deadline is not None:
            tasks[name]["deadline"] = _duration(model, element, deadline)
        costs = _costs(model, software, hardware, element)
        tasks[name] |= costs
        tasks[name]["on"] = mapping.place(key, element, tasks[name])
        _costs_where_placed(model, hardware, element, tasks[name])
    return tasks, by_key, {name: by_key[key] for name, key in triggered.items() if key in by_key}


def _unsaid_times(
    model: Model, software: Software, mapping: Mapping, tasks: dict[str, Any], by_key: dict[str, str]
) -> None:
    """Takes execution times away that would make a bound too low."""
    why = dict(mapping.unsaid)
    for key, element in software.tasks.items():
        if key not in by_key and software.has_ticks(element):
            for core in mapping.cores_of(key) or mapping.load:
                why.setdefault(core, f"{element.get('name')} may run on its core, and is left out")
    for key, name in by_key.items():
        reason = software.longer(software.tasks[key]) or why.get(tasks[name]["on"])
        if reason:
            take_times(model.report, tasks, name, reason)


def _say_accesses(
    model: Model, software: Software, tasks: dict[str, Any], by_key: dict[str, str], within: bool
) -> None:
    for key, name in by_key.items():
        if "wcet" in tasks[name] and software.accesses(model.by_id[key]):
            text = (
                "its accesses to labels take what the hardware says, beside the ticks (see --label-accesses)"
            )
            if within:
                text = "its ticks have the times of its accesses to labels (--label-accesses)"
            model.report.change("execution times of task", name, text)


def _released(model: Model, element: Element, release: Release) -> dict[str, Any]:
    task: dict[str, Any] = {}
    for key, value in (
        ("period", release.period),
        ("min_interarrival", release.apart),
        ("offset", release.offset),
        ("jitter", release.jitter),
    ):
        if value:
            task[key] = _duration(model, element, value, up=key in ("offset", "jitter"))
    if release.distances:
        task["min_distances"] = [_duration(model, element, least) for least in release.distances]
    return task


def _duration(model: Model, element: Element, value: Fraction, *, up: bool = False) -> str:
    """Whole picoseconds, rounded to the safe side: down where shorter is worse."""
    whole = ceiling(value) if up else int(value)
    if whole > Duration.largest:
        raise model.reader.bad(
            element, "a time of it is longer than 1000000s, the longest that Consort takes"
        )
    if whole != value:
        model.report.change("time", element.get("name"), "rounded to whole picoseconds, to the safe side")
    return str(Duration(whole))


def _costs(model: Model, software: Software, hardware: Hardware, element: Element) -> dict[str, Any]:
    """Worst and best cases on each kind of processor of which the clock and the cycles are known."""
    if not software.has_ticks(element):
        model.report.change("task without execution time", element.get("name"), "no runnable of it has any")
        return {}
    worst: dict[str, str] = {}
    best: dict[str, str] = {}
    for processor, clock in hardware.clocks.items():
        bounds = software.ticks(element, processor)
        if bounds is None or bounds[1] is None or not bounds[1]:
            continue
        if clock is None:
            model.report.leave("execution time", processor, "the processor has no clock to count cycles by")
            continue
        low, high = bounds[0] * 10**12 / clock, bounds[1] * 10**12 / clock
        worst[processor] = _duration(model, element, high, up=True)
        if int(low) != ceiling(high):
            best[processor] = _duration(model, element, low)
    costs: dict[str, Any] = {"wcet": worst} if worst else {}
    if best:
        costs["bcet"] = best
    return costs


def _costs_where_placed(model: Model, hardware: Hardware, element: Element, task: dict[str, Any]) -> None:
    processor = hardware.processor_of(task["on"])
    if "wcet" in task and processor not in task["wcet"]:
        del task["wcet"]
        task.pop("bcet", None)
        text = f"placed on {processor}, for which it has none"
        model.report.leave("execution times of task", element.get("name"), text)


def _deadlines(model: Model) -> dict[str, Fraction]:
    """The least upper limit of each task's response time."""
    found: dict[str, Fraction] = {}
    for requirement in model.parts("constraintsModel", "requirements"):
        limit = requirement.child("limit")
        value = None
        if limit is not None and limit.get("metric", "ResponseTime") == "ResponseTime":
            value = model.reader.time(limit.child("limitValue"))
        fits = limit is not None and limit.get("limitType") in ("UpperLimit", "")
        if requirement.type != "ProcessRequirement" or not fits or not value:
            what = "not an upper limit of a task's response time"
            model.report.leave("requirement", requirement.get("name"), what)
            continue
        for key in model.refs(requirement, "process"):
            found[key] = min(value, found.get(key, value))
    return found


def _left_out(model: Model) -> None:
    """Reports the parts of the file that were not read, by part and kind."""
    report = model.report
    for part in model.root.children:
        known = READ_PARTS.get(part.name)
        if part.name == "customProperties":
            if part.get("key") != "consort":
                report.leave("custom property", part.get("key"), "not modelled")
            continue
        for child in part.children:
            if known is None or child.name not in known:
                name = child.get("name") or child.get("key") or "unnamed"
                report.leave(f"{part.name}: {child.name}", name, "not modelled")
    for part in model.parts("swModel", "tasks", "isrs", "runnables"):
        for element in part.walk():
            if element.type in UNMODELLED_ITEMS:
                report.leave(f"item {element.type}", part.get("name"), "not modelled")
    for allocation in model.parts("mappingModel", "runnableAllocation"):
        name = allocation.get("entity") or "unnamed"
        report.leave("runnable allocation", name, "runnables run where their tasks do")
    for allocation in model.parts("mappingModel", "taskAllocation", "isrAllocation"):
        for extension in allocation.all("parameterExtensions"):
            report.leave("scheduling parameter", extension.get("key"), "not modelled")
