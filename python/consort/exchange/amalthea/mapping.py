# SPDX-License-Identifier: Apache-2.0
"""The mapping of an AMALTHEA model: cores, priorities and policies of tasks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from consort.exchange.amalthea.hardware import Hardware
from consort.exchange.amalthea.model import Model
from consort.exchange.conventions import Order, say_order, take_priorities, upside_down
from consort.exchange.trees import Element
from consort.model.quantities import Duration

FIXED_PRIORITY = (
    "FixedPriority",
    "FixedPriorityPreemptive",
    "FixedPriorityPreemptiveWithBudgetEnforcement",
    "OSEK",
    "DeadlineMonotonic",
    "RateMonotonic",
    "RateMonotonicScheduling",
)
EDF = ("EarliestDeadlineFirst",)
BY_DEADLINE = "no task of its core has one in the model: the shorter deadline is the more urgent"


class Mapping:
    """The cores and priorities of tasks."""

    def __init__(self, model: Model, hardware: Hardware) -> None:
        self.model = model
        self.hardware = hardware
        self.allocations = _allocations(model)
        self.scheduler_cores = self._scheduler_cores()
        # By core: why the bounds of its tasks would be too low.
        self.unsaid: dict[str, str] = {}
        self.load: dict[str, Fraction] = {unit.core: Fraction(0) for unit in hardware.units.values()}

    def _scheduler_cores(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for allocation in self.model.parts("mappingModel", "schedulerAllocation"):
            cores = self._cores(allocation, "responsibility")
            for scheduler in self.model.refs(allocation, "scheduler"):
                found.setdefault(scheduler, []).extend(cores)
        return found

    def _cores(self, element: Element, attribute: str) -> list[str]:
        units = self.hardware.units
        return [units[key].core for key in self.model.refs(element, attribute) if key in units]

    def scheduler(self, key: str) -> Element | None:
        allocation = self.allocations.get(key)
        if allocation is None:
            return None
        for attribute in ("scheduler", "controller"):
            for scheduler in self.model.refs(allocation, attribute):
                return self.model.find(scheduler)
        return None

    def cores_of(self, key: str) -> list[str]:
        """The cores that the model gives a task."""
        allocation = self.allocations.get(key)
        if allocation is None:
            return []
        cores = self._cores(allocation, "affinity") or self._cores(allocation, "coreAllocation")
        if not cores:
            for attribute in ("scheduler", "controller"):
                for scheduler in self.model.refs(allocation, attribute):
                    cores += self.scheduler_cores.get(scheduler, [])
        return cores

    def place(self, key: str, element: Element, task: dict[str, Any]) -> str:
        """The core of a task; where the model leaves it open the one with the least load that can."""
        name = element.get("name")
        cores = self.cores_of(key)
        fitting = [core for core in cores or self.load if self._cost(core, task) is not None]
        core = min(fitting or cores or self.load, key=lambda name: self.load[name])
        if not cores:
            text = "not mapped in the model; placed where it runs with the least load so far"
            self.model.report.change("placement", f"{name} on {core}", text)
        elif len(set(cores)) > 1:
            text = "may run on several cores in the model; placed on the one with the least load so far"
            self.model.report.change("placement", f"{name} on {core}", text)
        self.load[core] += self._cost(core, task) or 0
        return core

    def _cost(self, core: str, task: dict[str, Any]) -> Fraction | None:
        """The load that a task is on a core; None where it cannot run there."""
        if "wcet" not in task:
            return Fraction(0)
        text = task["wcet"].get(self.hardware.processor_of(core))
        if text is None:
            return None
        interval = Duration.parse(task.get("period") or task["min_interarrival"])
        return Fraction(Duration.parse(text).value, interval.value)

    def policies(self, tasks: dict[str, Any], by_key: dict[str, str]) -> dict[str, Any]:
        """The policy of each core that has tasks, where it is not the default."""
        on_core: dict[str, list[str]] = {}
        for key, name in by_key.items():
            on_core.setdefault(tasks[name]["on"], []).append(key)
        found: dict[str, Any] = {}
        for core, keys in on_core.items():
            names = {n for key in keys if (n := _algorithm(self.model, self.scheduler(key))) is not None}
            elements = [self.model.by_id[key] for key in keys]
            preemptions = {element.get("preemption", "preemptive") for element in elements}
            if names and names <= set(EDF):
                found[core] = {"policy": "edf"}
            elif preemptions <= {"non_preemptive", "nonPreemptive"}:
                found[core] = {"policy": "fixed-priority-non-preemptive"}
            else:
                for element in elements:
                    if element.get("preemption", "preemptive") not in ("preemptive", "_undefined_"):
                        text = "other tasks of its core are preemptive; taken as preemptive"
                        self.model.report.change("preemption", element.get("name"), text)
                        self.unsaid[core] = f"{element.get('name')} is not preempted whenever it runs"
            for name in sorted(names - set(FIXED_PRIORITY) - set(EDF)):
                text = "not modelled; taken as preemptive fixed priorities"
                self.model.report.change("scheduling", f"{name} on {core}", text)
                self.unsaid[core] = f"{name} serves the tasks of its core"
        return found

    def rank(
        self, tasks: dict[str, Any], by_key: dict[str, str], policies: dict[str, Any], order: Order | None
    ) -> None:
        """Priorities as the model has them, complete on each core, or none.

        No release of AMALTHEA says which number is the more urgent; without an order it is the higher one.
        """
        stated = False
        cores: dict[str, list[tuple[str, str]]] = {}
        for key, name in by_key.items():
            cores.setdefault(tasks[name]["on"], []).append((key, name))
        for core, members in cores.items():
            given = {name: self._priority(key) for key, name in members}
            known = {name: priority for name, priority in given.items() if priority is not None}
            if policies.get(core, {}).get("policy") == "edf":
                continue
            if not known:
                for name in given:
                    self.model.report.change("priority", f"{name} on {core}", BY_DEADLINE)
                continue
            if not stated:
                why = "--priority-order" if order else "assumed: AMALTHEA does not say; see --priority-order"
                say_order(self.model.report, order or "higher", why)
                stated = True
            isrs = {name for key, name in members if self.model.by_id[key].name == "isrs"}
            # Interrupts come before tasks, and tasks without a priority after those with one.
            ranks = {
                name: (2 if name in isrs else 1 if name in known else 0, known.get(name, 0))
                for _, name in members
            }
            if order == "lower":
                ranks = upside_down(ranks)
            take_priorities(self.model.report, core, tasks, ranks)

    def _priority(self, key: str) -> int | None:
        allocation = self.allocations.get(key)
        if allocation is None:
            return None
        texts = [(allocation, allocation.get("priority"))]
        for parameters in allocation.all("schedulingParameters"):
            texts.append((parameters, parameters.get("priority")))
            value = parameters.child("value")
            if parameters.get("key") == "priority" and value is not None:
                texts.append((value, value.get("value")))
        for element, text in texts:
            if text:
                number = self.model.reader.number(element, text)
                if number.denominator != 1 or abs(number) >= 2**31:
                    raise self.model.reader.bad(
                        element, f"the priority {text!r} is not a 32-bit whole number"
                    )
                return int(number)
        return None


def read_mapping(model: Model, hardware: Hardware) -> Mapping:
    return Mapping(model, hardware)


def _allocations(model: Model) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for allocation in model.parts("mappingModel", "taskAllocation", "isrAllocation"):
        for attribute in ("task", "isr"):
            for key in model.refs(allocation, attribute):
                if found.setdefault(key, allocation) is not allocation:
                    text = "a task has one; the first is kept"
                    model.report.leave("second allocation of task", key.partition("?")[0], text)
    return found


def _algorithm(model: Model, scheduler: Element | None) -> str | None:
    """The name of a scheduler's algorithm: an element of its own, or since 2.0 a definition."""
    if scheduler is None:
        return None
    own = scheduler.child("schedulingAlgorithm")
    if own is not None:
        return own.type or None
    for definition in model.refs(scheduler, "definition"):
        found = model.find(definition)
        return found.get("name") if found is not None else definition.partition("?")[0]
    return None
