# SPDX-License-Identifier: Apache-2.0
"""An AMALTHEA file as a tree whose references can be followed; and what no element of it holds.

It is a merge patch (RFC 7396): applied to what the elements say, it gives the whole description. What the
elements do say is not in it, so that a model edited elsewhere still counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from consort.base.errors import BadInput
from consort.exchange.amalthea.elements import Reader, keys, made
from consort.exchange.amalthea.migration import Release, migrate
from consort.exchange.conventions import Report
from consort.exchange.trees import Element, read_xml

_NAMESPACE = re.compile(r"http://app4mc\.eclipse\.org/amalthea/([0-9]+)\.([0-9]+)(?:\.([0-9]+))?$")
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
OLDEST, NEWEST = (0, 7), (3, 99)
# Files may hold one part of a model as their root.
_PARTS = {
    "CommonElements": "commonElements",
    "ComponentsModel": "componentsModel",
    "ConfigModel": "configModel",
    "ConstraintsModel": "constraintsModel",
    "EventModel": "eventModel",
    "HWModel": "hwModel",
    "MappingModel": "mappingModel",
    "OSModel": "osModel",
    "PropertyConstraintsModel": "propertyConstraintsModel",
    "StimuliModel": "stimuliModel",
    "SWModel": "swModel",
}
# The files of one model.
MOST_FILES = 256


class Model:
    """The root, its release, and its elements by id; of several files all of it under one root."""

    def __init__(self, roots: Sequence[Element], report: Report) -> None:
        self.report = report
        self.reader = Reader()
        self.paths = [root.path for root in roots]
        self.path = self.paths[0]
        releases = [self._release(root) for root in roots]
        versions = [_spelt(release) for release in releases]
        self.version = versions[0]
        for root, version in zip(roots, versions, strict=True):
            if version != self.version:
                raise BadInput(
                    f"is of release {version}, and {self.path.name} of {self.version};"
                    " the files of a model are of one",
                    file=root.path,
                    line=root.line,
                )
        self.root = _joined([_whole(root) for root in roots])
        # The oldest of releases that differ in their last number: steps leave later forms as they are.
        self.migrated = migrate(self.root, min(releases), report)
        self.by_id: dict[str, Element] = {}
        for element in self.root.walk():
            key = element.get("xmi:id") or self._id(element)
            if key and (first := self.by_id.setdefault(key, element)) is not element:
                text = f"the id {key!r} stands twice"
                if first.path != element.path:
                    text += f", here and in {first.path.name}, line {first.line}"
                raise self.reader.bad(element, text)

    def _release(self, root: Element) -> Release:
        found = _NAMESPACE.match(root.namespace)
        old = _BEFORE.match(root.namespace)
        release = (int(found[1]), int(found[2])) if found else (0, 0)
        if old or (found and not OLDEST <= release <= NEWEST):
            # Before APP4MC's 0.7 came ITEA2's 1.x.
            said = f"ITEA2 release {old[1]}" if old else f"release {root.namespace.rpartition('/')[2]!r}"
            raise BadInput(
                f"the model is of {said}; releases 0.7 to 3.x are read, and APP4MC's model migration brings"
                " others there",
                file=root.path,
                line=root.line,
            )
        if (root.name != "Amalthea" and root.name not in _PARTS) or found is None:
            raise BadInput(
                f"the root element is {root.name!r} of {root.namespace or 'no namespace'!r};"
                " this is not an Amalthea model",
                file=root.path,
                line=root.line,
            )
        return (*release, int(found[3] or 0))

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
        if key in self.by_id and self.by_id[key].path == element.path:
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
        return keys(element, name)

    def find(self, key: str) -> Element | None:
        return self.by_id.get(key)

    def referred(self, element: Element, name: str) -> list[Element]:
        """The elements that are referred to; what lies in another file is reported."""
        found = []
        for key in self.refs(element, name):
            target = self.by_id.get(key)
            if target is None:
                self.report.leave(
                    "reference", unquote_plus(key), "what it names is not in the files that are read"
                )
            else:
                found.append(target)
        return found

    def definition(self, module: Element) -> Element | None:
        return next(iter(self.referred(module, "definition")), None)


def _spelt(release: Release) -> str:
    """The release as errors name it: before 0.9 the last number made a difference, too."""
    return ".".join(map(str, release if release < (0, 9, 0) else release[:2]))


def _whole(root: Element) -> Element:
    """The model of a file whose root is one part of it."""
    if root.name == "Amalthea":
        return root
    whole = made(root, "Amalthea")
    root.name = _PARTS[root.name]
    whole.children = [root]
    return whole


def _joined(roots: Sequence[Element]) -> Element:
    """One root with the parts of all; parts of the same name are one."""
    first, *others = roots
    for other in others:
        for part in other.children:
            # A part is one of its kind; properties are many.
            same = first.child(part.name) if part.name != "customProperties" else None
            if same is None:
                first.children.append(part)
            else:
                same.children.extend(part.children)
    return first


def read_model(paths: Sequence[Path], report: Report) -> Model:
    """The model of files, or of the .amxmi files that lie in folders."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(file for file in path.iterdir() if file.suffix == ".amxmi" and file.is_file())
        if not found:
            raise BadInput("no .amxmi file lies in the folder", file=path)
        files += found
    if len(files) > MOST_FILES:
        raise BadInput(f"{len(files)} files; at most {MOST_FILES} are read as one model", file=paths[0])
    return Model([read_xml(file) for file in dict.fromkeys(files)], report)


KEY = "consort"


def patch_between(base: Any, wanted: Any) -> Any:
    """The merge patch that makes `wanted` of `base`."""
    if not isinstance(base, dict) or not isinstance(wanted, dict):
        return wanted
    patch: dict[str, Any] = {key: None for key in base if key not in wanted}
    for key, value in wanted.items():
        if key not in base:
            patch[key] = value
        elif base[key] != value:
            patch[key] = patch_between(base[key], value)
    return patch


def apply_patch(base: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_patch(result.get(key), value)
    return result


def apply_extras(model: Model, platform: dict[str, Any], system: dict[str, Any]) -> None:
    """Adds what the exporter kept, except for tasks that are there no more."""
    for element in model.root.all("customProperties"):
        if element.get("key") != KEY:
            continue
        value = element.child("value")
        text = value.get("value") if value is not None else ""
        try:
            patch = json.loads(text)
            parts = (patch["platform"], patch["system"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise model.reader.bad(element, "the property 'consort' is not what an export writes") from None
        if not all(isinstance(part, dict) for part in parts):
            raise model.reader.bad(element, "the property 'consort' is not what an export writes")
        tasks = parts[1].get("tasks")
        for name in [n for n in tasks if n not in system["tasks"]] if isinstance(tasks, dict) else ():
            model.report.leave("property of a task", str(name), "the task is not in the model any more")
            del tasks[name]
        for target, part in zip((platform, system), parts, strict=True):
            merged = apply_patch(target, part)
            target.clear()
            target.update(merged)
