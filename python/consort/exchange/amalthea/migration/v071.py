# SPDX-License-Identifier: Apache-2.0
"""0.7.0 to 0.7.1: sizes and frequencies get units, entries of switches and constraints other names."""

from __future__ import annotations

from consort.exchange.amalthea.migration.tree import inside, made, parts, rename, retype
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

LATENCIES = {"AgeConstraint": "Age", "ReactionConstraint": "Reaction"}


def migrate(root: Element, report: Report) -> None:
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
        kind = LATENCIES.get(constraint.type)
        if kind is not None:
            retype(constraint, "EventChainLatencyConstraint")
            constraint.attributes["type"] = kind
    for switch in inside(root, "swModel"):
        if switch.type == "ModeSwitch":
            for entry in switch.all("entries"):
                if entry.attributes.pop("default", "false") == "true":
                    entry.name = "defaultEntry"
