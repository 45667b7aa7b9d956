# SPDX-License-Identifier: Apache-2.0
"""An AMALTHEA file as a tree whose references can be followed, whatever its release."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote_plus, unquote_plus

from consort.errors import BadInput
from consort.exchange.amalthea.values import Reader
from consort.exchange.report import Report
from consort.exchange.xmltree import Element, read_xml

_NAMESPACE = re.compile(r"http://app4mc\.eclipse\.org/amalthea/([0-9]+)\.([0-9]+)(?:\.[0-9]+)?$")
_BEFORE = re.compile(r"http://(?:www\.)?amalthea\.itea2\.org/model/([0-9.]+)/")
# The class of elements that name none, for the ids by which others refer to them.
_CLASSES = {
    "tasks": "Task",
    "isrs": "ISR",
    "runnables": "Runnable",
    "labels": "Label",
    "structures": "HwStructure",
    "features": "HwFeature",
    "taskSchedulers": "TaskScheduler",
    "interruptControllers": "InterruptController",
    "schedulerDefinitions": "SchedulerDefinition",
    "eventChains": "EventChain",
}
OLDEST, NEWEST = (0, 9), (3, 99)


class Model:
    """The root, its release, and its elements by id."""

    def __init__(self, path: Path, root: Element, report: Report) -> None:
        self.path = path
        self.root = root
        self.report = report
        self.reader = Reader(path)
        self.version = self._version()
        self.by_id: dict[str, Element] = {}
        for element in root.walk():
            key = element.get("xmi:id") or self._id(element)
            if key and self.by_id.setdefault(key, element) is not element:
                raise self.reader.bad(element, f"the id {key!r} stands twice")

    def _version(self) -> str:
        root = self.root
        found = _NAMESPACE.match(root.namespace)
        old = _BEFORE.match(root.namespace)
        release = (int(found[1]), int(found[2])) if found else (0, 0)
        if old or (found and not OLDEST <= release <= NEWEST):
            # Before APP4MC's 0.7 came ITEA2's 1.x.
            said = f"ITEA2 release {old[1]}" if old else f"release {root.namespace.rpartition('/')[2]!r}"
            raise BadInput(
                f"the model is of {said}; releases 0.9 to 3.x are read, and APP4MC's model migration brings"
                " others there",
                file=self.path,
                line=root.line,
            )
        if root.name != "Amalthea" or found is None:
            raise BadInput(
                f"the root element is {root.name!r} of {root.namespace or 'no namespace'!r};"
                " this is no Amalthea model",
                file=self.path,
                line=root.line,
            )
        return f"{release[0]}.{release[1]}"

    def _id(self, element: Element) -> str:
        """The id of an element that does not state it: files may leave out what follows from the name."""
        name, kind = element.get("name"), element.type or _CLASSES.get(element.name, "")
        if not name or not kind:
            return ""
        prefix = ""
        if element.name == "features":
            above = self._above(element)
            prefix = f"{quote_plus(above)}/" if above else ""
        key = f"{prefix}{quote_plus(name)}?type={kind}"
        if key in self.by_id:
            # Nothing refers to it by a name that distinguishes it.
            return ""
        element.attributes["xmi:id"] = key
        return key

    def _above(self, feature: Element) -> str:
        for category in self.root.walk():
            if category.name == "featureCategories" and feature in category.children:
                return category.get("name")
        return ""

    def part(self, name: str) -> Element | None:
        return self.root.child(name)

    def parts(self, part: str, *names: str) -> list[Element]:
        """The children of one of the model's parts, by name."""
        root = self.part(part)
        return list(root.all(*names)) if root is not None else []

    def refs(self, element: Element, name: str) -> list[str]:
        """The ids that an attribute lists, or children with an href to another file."""
        text = element.get(name)
        if text:
            return text.split()
        return [
            child.get("href").rpartition("#")[2]
            for child in element.children
            if child.name == name and child.get("href")
        ]

    def find(self, key: str) -> Element | None:
        return self.by_id.get(key)

    def referred(self, element: Element, name: str) -> list[Element]:
        """The elements that are referred to; what lies in another file is reported."""
        found = []
        for key in self.refs(element, name):
            target = self.by_id.get(key)
            if target is None:
                self.report.leave("reference", unquote_plus(key), "what it names is not in this file")
            else:
                found.append(target)
        return found

    def definition(self, module: Element) -> Element | None:
        return next(iter(self.referred(module, "definition")), None)


def read_model(path: Path, report: Report) -> Model:
    return Model(path, read_xml(path), report)
