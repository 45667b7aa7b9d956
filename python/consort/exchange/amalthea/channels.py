# SPDX-License-Identifier: Apache-2.0
"""Labels to channels, with one writer and its readers, and event chains to cause-effect chains."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from consort.exchange.amalthea.elements import BYTES, ceiling
from consort.exchange.amalthea.hardware import Hardware, memories_of_labels
from consort.exchange.amalthea.model import Model
from consort.exchange.amalthea.software import CALLS, Software
from consort.exchange.conventions import Names
from consort.exchange.trees import Element
from consort.model.quantities import Duration, Size


def read_channels(
    model: Model, software: Software, hardware: Hardware, by_key: dict[str, str], names: Names
) -> dict[str, Any]:
    """A channel for each label and writer that other tasks read.

    A label is the latest value written, so the channel is sporadic: a reader takes what is there.
    """
    writers: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for key, task in by_key.items():
        for label, way in software.accesses(model.by_id[key]):
            (writers if way == "write" else readers).setdefault(label, []).append(task)
    memories = memories_of_labels(model, hardware)
    channels: dict[str, Any] = {}
    for element in model.parts("swModel", "labels"):
        label = element.get("xmi:id")
        title = element.get("name")
        written, read = writers.get(label, []), readers.get(label, [])
        ways = {writer: [task for task in read if task != writer] for writer in written}
        ways = {writer: tasks for writer, tasks in ways.items() if tasks}
        if not ways:
            model.report.leave("label", title, _why(written, read))
            continue
        described: dict[str, Any] = {}
        size = model.reader.quantity(element.child("size"), BYTES)
        if size:
            described["size"] = str(Size(ceiling(size)))
        if label in memories:
            described["memory"] = memories[label]
        for writer, tasks in ways.items():
            name = title if len(ways) == 1 else f"{title}-{writer}"
            if len(ways) > 1:
                model.report.change("label", title, "written by several tasks: a channel for each of them")
            name = names.new("channel", name)
            channels[name] = {"kind": "sporadic", "from": writer, "to": tasks, **described}
    return channels


def _why(written: list[str], read: list[str]) -> str:
    if not written and not read:
        return "no imported task accesses it"
    if not written:
        return "only read: a constant"
    if not read:
        return "only written"
    return "written and read by one task alone: its state"


SEGMENTS = ("segments", "items")
DEEPEST_CHAIN = 50


def read_chains(
    model: Model, by_key: dict[str, str], channels: dict[str, Any], names: Names
) -> dict[str, Any]:
    owners = _owners(model, by_key)
    limits = _limits(model)
    ways = {(c["from"], reader) for c in channels.values() for reader in c["to"]}
    chains: dict[str, Any] = {}
    for chain in model.parts("constraintsModel", "eventChains"):
        title = chain.get("name")
        path = _path(model, chain, owners, by_key)
        if path is None:
            model.report.leave(
                "event chain", title, "an event of it belongs to no imported task, or to several"
            )
            continue
        if len(set(path)) != len(path):
            model.report.leave("event chain", title, "it passes a task twice")
            continue
        missing = [pair for pair in pairwise(path) if pair not in ways]
        if channels and missing:
            text = f"no label leads from {missing[0][0]} to {missing[0][1]}"
            model.report.leave("event chain", title, text)
            continue
        described: dict[str, Any] = {"path": path}
        for kind, limit in limits.get(chain.get("xmi:id"), {}).items():
            described[kind] = str(Duration(int(limit)))
        chains[names.new("chain", title or "chain")] = described
    return chains


def _path(
    model: Model, chain: Element, owners: dict[str, list[str]], by_key: dict[str, str], depth: int = 0
) -> list[str] | None:
    """The tasks of a chain, each once where it stands; None where an event's task is not known."""
    if depth > DEEPEST_CHAIN:
        raise model.reader.bad(chain, "chains refer to each other in a circle")
    parts: list[list[str] | None] = []
    segments = [element for element in chain.children if element.name in SEGMENTS]
    for segment in segments:
        for inner in model.referred(segment, "eventChain") or [segment.child("eventChain") or segment]:
            parts.append(_path(model, inner, owners, by_key, depth + 1))
    if not segments:
        for end in ("stimulus", "response"):
            for event in model.referred(chain, end):
                tasks = _tasks_of(model, event, owners, by_key)
                parts.append(tasks if len(tasks) == 1 else None)
    path: list[str] = []
    for part in parts:
        if part is None:
            return None
        for task in part:
            if not path or path[-1] != task:
                path.append(task)
    return path or None


def _tasks_of(
    model: Model, event: Element, owners: dict[str, list[str]], by_key: dict[str, str]
) -> list[str]:
    """The tasks that an event may happen in: named by it, or the only one that calls its runnable."""
    for name in ("process", "entity"):
        for key in model.refs(event, name):
            if key in by_key:
                return [by_key[key]]
    keys = [key for name in ("entity", "runnable") for key in model.refs(event, name)]
    return owners.get(keys[0], []) if keys else []


def _owners(model: Model, by_key: dict[str, str]) -> dict[str, list[str]]:
    """The tasks that call each runnable."""
    found: dict[str, list[str]] = {}
    for key, task in by_key.items():
        for element in model.by_id[key].walk():
            if element.type in CALLS:
                for runnable in model.refs(element, "runnable"):
                    tasks = found.setdefault(runnable, [])
                    if task not in tasks:
                        tasks.append(task)
    return found


def _limits(model: Model) -> dict[str, dict[str, Fraction]]:
    found: dict[str, dict[str, Fraction]] = {}
    for constraint in model.parts("constraintsModel", "timingConstraints"):
        value = model.reader.time(constraint.child("maximum"))
        kind = {"Age": "age", "Reaction": "reaction"}.get(constraint.get("type"))
        if constraint.type != "EventChainLatencyConstraint" or kind is None or not value:
            text = "not an upper limit of a chain's age or reaction"
            model.report.leave("timing constraint", constraint.get("name"), text)
            continue
        for key in model.refs(constraint, "scope"):
            limits = found.setdefault(key, {})
            limits[kind] = min(value, limits.get(kind, value))
    return found
