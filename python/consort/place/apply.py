# SPDX-License-Identifier: Apache-2.0
"""A description with other places for its tasks, and with the ranks that go with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from consort.model import System
from consort.model.base import group_of
from consort.model.load import system_from_data
from consort.model.modes import offloaded_anywhere, overridden
from consort.place.problem import Choice, Decision, Place, Problem
from consort.place.settings import Setting

# Tasks in an order in which the first is the most urgent; None: their deadlines order them, without a number.
Order = tuple[str, ...] | None


def placed(problem: Problem, choice: Choice, ranks: Mapping[str, int | None]) -> System:
    """The description with what a choice says; `BadDescription` where that breaks a rule.

    `ranks`: the priorities of tasks whose priority changes; None: it has none.
    """
    places = dict(zip(problem.decisions, problem.places(choice), strict=True))
    data = data_of(problem.system, places, ranks, problem.changed(choice))
    return checked(problem.system, data)


def part(
    problem: Problem,
    places: Mapping[Decision, Place],
    ranks: Mapping[str, int | None],
    values: Iterable[tuple[Setting, str | int]] = (),
) -> System:
    """The same of the tasks of some decisions alone, without what travels between tasks."""
    names = {decision.task for decision in places}
    system = problem.system.without([name for name in problem.system.tasks if name not in names])
    data = data_of(system, places, ranks, values)
    data["channels"] = {name: c for name, c in data.get("channels", {}).items() if "." in name}
    # Of the run's options a bound rests on the time base alone.
    data["run"] = {key: value for key, value in data.get("run", {}).items() if key == "time_base"}
    for key in ("chains", "mode_changes", "devices"):
        data.pop(key, None)
    for task in data["tasks"].values():
        for key in ("reads", "writes", "arrival", "input", "golden"):
            task.pop(key, None)
    modes = data.pop("modes", {})
    kept = {}
    for name, mode in modes.items():
        if mode.get("tasks") == []:
            continue
        kept[name] = {key: value for key, value in mode.items() if value or key == "tasks"}
        if not kept[name]:
            kept[name] = {"tasks": list(data["tasks"])}
    if kept:
        data["modes"] = kept
    return checked(problem.system, data)


def checked(system: System, data: dict[str, Any]) -> System:
    return system_from_data(data, file=system.file, platform=system.platform_description)


def data_of(
    system: System,
    places: Mapping[Decision, Place],
    ranks: Mapping[str, int | None],
    values: Iterable[tuple[Setting, str | int]] = (),
) -> dict[str, Any]:
    """The description as plain data, with each task at its place, and with other values of settings."""
    data = system.to_given()
    for setting, value in values:
        _set(data, setting.path, value)
    for decision, place in places.items():
        if decision.mode is None:
            task = data["tasks"][decision.task]
            data["tasks"][decision.task] = overridden(task, _changes(task, place))
        else:
            overrides = data["modes"][decision.mode]["overrides"]
            base = data["tasks"][decision.task]
            overrides[decision.task] = in_override(overrides[decision.task], base, place)
    for name, rank in ranks.items():
        data["tasks"][name].pop("priority", None)
        if rank is not None:
            data["tasks"][name]["priority"] = rank
    _without_leftovers(data)
    return data


def _set(data: dict[str, Any], path: Sequence[str], value: str | int) -> None:
    """Sets what stands at a path; nothing where a description of fewer tasks has no such part."""
    for key in path[:-1]:
        if key not in data:
            return
        data = data[key]
    data[path[-1]] = value


def _changes(task: Mapping[str, Any], place: Place) -> dict[str, str]:
    changes = {"on": place.on}
    if task.get("execution", "local") != place.execution:
        changes["execution"] = place.execution
    if place.master is not None:
        changes["master"] = place.master
    return changes


def in_override(override: Mapping[str, Any], base: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """A task's override in a mode, with the place that it has there."""
    found = {**override, "on": place.on}
    if "execution" in override or base.get("execution", "local") != place.execution:
        found["execution"] = place.execution
    found.pop("master", None)
    if place.master is not None:
        found["master"] = place.master
    return found


def offloads(data: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """The masters and the workers of a description, in any of its modes."""
    masters, workers = set(), set()
    for name, task in data["tasks"].items():
        changes = [mode.get("overrides", {}).get(name, {}) for mode in data.get("modes", {}).values()]
        for one in (task, *(overridden(task, change) for change in changes)):
            if one.get("execution") == "offloaded":
                masters.add(one["master"])
                workers.add(one["on"])
    return masters, workers


def _without_leftovers(data: dict[str, Any]) -> None:
    """Takes away what only offloaded tasks, masters and workers have from those that are none any more."""
    channels = data.get("channels", {})
    for name in list(channels):
        owner, dot, _ = name.rpartition(".")
        if dot and not offloaded_anywhere(owner, data):
            del channels[name]
    for key, cores in zip(("wait", "service"), offloads(data), strict=True):
        named = entries_of(cores)
        entries = data.get("scheduling", {})
        for name in [name for name, entry in entries.items() if name not in named and key in entry]:
            del entries[name][key]
            if not entries[name]:
                del entries[name]


def entries_of(cores: Collection[str]) -> set[str]:
    """The keys of `scheduling` that speak of some cores: themselves, and their groups."""
    return {*cores, *(group_of(core) for core in cores)}
