# SPDX-License-Identifier: Apache-2.0
"""A description with other places and ranks of its tasks: as a system, and in its text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node

from consort.base.errors import BadInput
from consort.model import System
from consort.model.base import group_of
from consort.model.load import loaded_from, system_from_data
from consort.model.mode import offloaded_anywhere, overridden
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


_RELEASES = ("offset", "deadline", "burst", "min_distances", "min_interarrival", "period")
# Keys of a task after which a new one may stand, the best first.
_AFTER = {
    "execution": ("on",),
    "master": ("execution", "on"),
    "memory": ("size",),
    "on": ("execution", "period"),
    "preemption_threshold": ("priority", *_RELEASES),
    "priority": _RELEASES,
}


@dataclass
class _Text:
    """A YAML text, its nodes, and its replacements: from, to, by what."""

    text: str
    root: MappingNode
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def mapping(self, *path: str) -> MappingNode | None:
        node: Node | None = self.root
        for key in path:
            node = None if not isinstance(node, MappingNode) else dict(_items(node)).get(key)
        return node if isinstance(node, MappingNode) else None

    def set(self, mapping: MappingNode, key: str, value: str, after: tuple[str, ...]) -> None:
        found = dict(_items(mapping)).get(key)
        if found is not None:
            self.edits.append((found.start_mark.index, found.end_mark.index, value))
            return
        items = dict(_items(mapping))
        anchor = items[next((name for name in after if name in items), next(iter(items)))]
        if mapping.flow_style:
            self.edits.append((anchor.end_mark.index, anchor.end_mark.index, f", {key}: {value}"))
            return
        column = mapping.value[0][0].start_mark.column
        at = self._line_end(anchor)
        self.edits.append((at, at, f"{' ' * column}{key}: {value}\n"))

    def remove(self, mapping: MappingNode, keys: Collection[str]) -> None:
        """Takes keys out of a mapping, with their values; not all of them."""
        names = [name for name, _ in _items(mapping)]
        last = max(at for at, name in enumerate(names) if name not in keys)
        for at, (name, value) in enumerate(mapping.value):
            if names[at] not in keys:
                continue
            if not mapping.flow_style:
                begin = self.text.rfind("\n", 0, name.start_mark.index) + 1
                self.edits.append((begin, self._line_end(value), ""))
            elif at < last:
                self.edits.append((name.start_mark.index, mapping.value[at + 1][0].start_mark.index, ""))
        if mapping.flow_style and last + 1 < len(names):
            end = mapping.value[-1][1].end_mark.index
            self.edits.append((mapping.value[last][1].end_mark.index, end, ""))

    def _line_end(self, node: Node) -> int:
        """The beginning of the line after a node."""
        # A block ends where what comes after it begins: its last scalar ends on a line of its own.
        while isinstance(node, MappingNode) and not node.flow_style and node.value:
            node = node.value[-1][1]
        end = self.text.find("\n", node.end_mark.index - (node.end_mark.column == 0))
        if end < 0:
            self.text += "\n"
            return len(self.text)
        return end + 1

    def done(self) -> str:
        text = self.text
        ordered = sorted(enumerate(self.edits), key=lambda edit: (edit[1][0], edit[0]), reverse=True)
        for _, (begin, end, new) in ordered:
            text = text[:begin] + new + text[end:]
        return text


def edited(system: System, wanted: System) -> str:
    """The text of `system`'s file, changed so that it says what `wanted` is.

    Other places, priorities, and values of settings.

    `BadInput` where the file is written so that this cannot be done in place, as with aliases.
    """
    source = system.file.read_text(encoding="utf-8")
    root = YAML().compose(source)
    assert isinstance(root, MappingNode), "a checked description is a mapping"
    text = _Text(source, root)
    old, new = system.to_given(), wanted.to_given()
    for name in old["tasks"]:
        _task(text, ("tasks", name), old["tasks"][name], new["tasks"][name])
    for mode, described in old.get("modes", {}).items():
        for name, override in described.get("overrides", {}).items():
            _task(text, ("modes", mode, "overrides", name), override, new["modes"][mode]["overrides"][name])
    _removed(text, ("channels",), old.get("channels", {}), new.get("channels", {}))
    _removed(text, ("scheduling",), old.get("scheduling", {}), new.get("scheduling", {}))
    for name, channel in new.get("channels", {}).items():
        _value(text, ("channels", name), "memory", old["channels"][name], channel)
    for name, scheduling in new.get("scheduling", {}).items():
        _removed(text, ("scheduling", name), old["scheduling"][name], scheduling)
        _value(text, ("scheduling", name), "slot", old["scheduling"][name], scheduling)
        for key in ("supply", "bandwidth"):
            was = old["scheduling"][name].get(key, {})
            _value(text, ("scheduling", name, key), "budget", was, scheduling.get(key, {}))
    result = text.done()
    if loaded_from(system, result).to_json() != wanted.to_json():
        raise BadInput(
            "it is written so that its places cannot be changed one by one, as with aliases (*name) and merge"
            " keys (<<); write them out",
            file=system.file,
        )
    return result


def _task(text: _Text, path: tuple[str, ...], old: Mapping[str, object], new: Mapping[str, object]) -> None:
    mapping = text.mapping(*path)
    gone = [key for key in old if key not in new]
    for key in ("on", "execution", "master", "priority", "preemption_threshold"):
        if key in new and new[key] != old.get(key):
            _found(text, mapping, path).set(_known(mapping), key, str(new[key]), _AFTER[key])
    if gone:
        _found(text, mapping, path).remove(_known(mapping), gone)


def _value(
    text: _Text, path: tuple[str, ...], key: str, old: Mapping[str, object], new: Mapping[str, object]
) -> None:
    """A value of a setting, which was there or has a default."""
    if new.get(key) != old.get(key):
        mapping = text.mapping(*path)
        _found(text, mapping, path).set(_known(mapping), key, str(new[key]), _AFTER.get(key, ()))


def _removed(
    text: _Text, path: tuple[str, ...], old: Mapping[str, object], new: Mapping[str, object]
) -> None:
    gone = [key for key in old if key not in new]
    mapping = text.mapping(*path)
    if gone and len(gone) == len(old):
        owner = text.root if len(path) == 1 else text.mapping(*path[:-1])
        _found(text, owner, path).remove(_known(owner), path[-1:])
    elif gone:
        _found(text, mapping, path).remove(_known(mapping), gone)


def _found(text: _Text, mapping: MappingNode | None, path: tuple[str, ...]) -> _Text:
    if mapping is None:
        raise BadInput(
            "it is not written as a mapping of its own, so nothing in it can be changed; write it out",
            field=".".join(path),
        )
    return text


def _known(mapping: MappingNode | None) -> MappingNode:
    assert mapping is not None
    return mapping


def _items(mapping: MappingNode) -> Iterator[tuple[str, Node]]:
    for key, value in mapping.value:
        yield str(key.value), value
