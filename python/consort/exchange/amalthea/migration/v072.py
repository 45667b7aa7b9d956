# SPDX-License-Identifier: Apache-2.0
"""0.7.1 to 0.7.2: instructions of a runnable have a default, groups hold their items, switches theirs."""

from __future__ import annotations

from consort.exchange.amalthea.migration.tree import made, parts, rename, retype
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

INSTRUCTIONS = ("InstructionsConstant", "InstructionsDeviation")
ITEMS = ("runnableItems", "runnableItem", "items")


def migrate(root: Element, report: Report) -> None:
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
