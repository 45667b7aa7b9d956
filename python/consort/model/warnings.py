# SPDX-License-Identifier: Apache-2.0
"""Warnings for valid descriptions that can't work: jobs longer than their deadlines, overloaded cores."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from consort.base.errors import BadInput
from consort.model.description import System
from consort.model.document import Document
from consort.model.kinds import SEMANTICS


def warnings_of(system: System) -> list[BadInput]:
    """A warning for each task that may miss its deadline alone, each core with a load above 1, and each queue
    that fills; and for each key that means nothing on the chosen target."""
    document = system.document
    return [*document.notes, *_tasks(system, document), *_loads(system, document), *_queues(system, document)]


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


def _queues(system: System, document: Document) -> Iterator[BadInput]:
    for name, channel in system.channels.items():
        source = system.tasks.get(system.writer(name) or "")
        if SEMANTICS[channel.implemented_by].full != "dropped" or source is None or source.period is None:
            continue
        for reader in system.readers(name):
            period = system.tasks[reader].period if reader in system.tasks else None
            if period is None or period <= source.period or system.takes_several(reader):
                continue
            text = (
                f"a block comes each {source.period}, and {reader} takes one each {period}: it fills, and"
                " blocks are dropped; let the step take several (consort::Batch), or write 'kind: sporadic'"
            )
            yield document.problem(("channels", name), text, at_key=True)
