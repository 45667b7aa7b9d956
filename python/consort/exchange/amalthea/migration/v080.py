# SPDX-License-Identifier: Apache-2.0
"""0.7.2 to 0.8.0: units as the standards spell them, mappings of memory, a switch that was misspelt."""

from __future__ import annotations

from consort.exchange.amalthea.migration.tree import parts, retype
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

UNITS = {"byte": "B", "kibit": "Kibit"}
SIZES = ("size", "chunkSize")


def migrate(root: Element, report: Report) -> None:
    for element in root.walk():
        if element.type == "ProbabiltitySwitch":
            retype(element, "ProbabilitySwitch")
        if element.name in SIZES and element.get("unit") in UNITS:
            element.attributes["unit"] = UNITS[element.get("unit")]
    for mapping in parts(root, "mappingModel", "mapping"):
        if mapping.type == "AbstractElementMapping":
            mapping.name = "memoryMapping"
            del mapping.attributes["xsi:type"]
