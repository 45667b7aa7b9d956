# SPDX-License-Identifier: Apache-2.0
"""Labels to channels: one writer, its readers, the label's size and memory."""

from __future__ import annotations

from typing import Any

from consort.exchange.amalthea.hardware import Hardware
from consort.exchange.amalthea.model import Model
from consort.exchange.amalthea.software import Software
from consort.exchange.amalthea.values import BYTES, ceiling
from consort.exchange.names import Names
from consort.model.quantities import Size


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
    memories = _memories(model, hardware)
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


def _memories(model: Model, hardware: Hardware) -> dict[str, str]:
    found: dict[str, str] = {}
    for mapping in model.parts("mappingModel", "memoryMapping"):
        memory = next((hardware.memories.get(key) for key in model.refs(mapping, "memory")), None)
        for key in model.refs(mapping, "abstractElement"):
            if memory is not None:
                found[key] = memory
    return found
