# SPDX-License-Identifier: Apache-2.0
"""Each field of a description that names a part of the platform is marked, and the walk finds it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

from consort.model import System
from consort.model.base import NameOf, names_in
from consort.model.figures import KINDS
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
import featured

# Every field with a text or a name that is none of a part of the platform, by its model.
OTHER_TEXTS = {
    "Accelerator": "operations clients",
    "Asked": "accelerator operation",
    "Chain": "path",
    "Channel": "from_ to flow",
    "Column": "column",
    "FailOver": "to",
    "FileInput": "file time columns",
    "FunctionInput": "arguments",
    "Golden": "arguments tolerance",
    "Mode": "tasks overrides",
    "ModeAsker": "task member modes",
    "ModeChanges": "start",
    "ModeRequest": "to",
    "System": "name description platform resources accelerators devices tasks channels chains modes targets",
    "SystemDevice": "kind description arguments",
    "Target": "platform cores memories",
    "Task": "arrival reads writes sections",
}


def fields(model: type[BaseModel], seen: set[type]) -> Iterator[tuple[str, str, Any]]:
    """Each field of a model and of those inside it: the names of model and field, the type with its marks."""
    if model in seen:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        whole = field.annotation
        for mark in field.metadata:
            whole = Annotated[whole, mark]
        yield model.__name__, name, whole
        for inside in parts(field.annotation):
            if isinstance(inside, type) and issubclass(inside, BaseModel):
                yield from fields(inside, seen)


def parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inside in get_args(annotation):
        yield from parts(inside)


def test_each_field_that_names_a_part_of_the_platform_is_marked() -> None:
    """A new field with a text is either marked, or said here to be of another kind."""
    unmarked: dict[str, set[str]] = {}
    for model, name, whole in fields(System, set()):
        inside = list(parts(whole))
        if str in inside and name not in KINDS and not any(isinstance(one, NameOf) for one in inside):
            unmarked.setdefault(model, set()).add(name)
    assert unmarked == {model: {*names.split()} for model, names in OTHER_TEXTS.items()}


def test_the_walk_finds_every_mark() -> None:
    """The random systems name parts of their platform at each of the marked fields."""
    marked = {
        f"{model}.{name}"
        for model, name, whole in fields(System, set())
        if any(isinstance(one, NameOf) for one in parts(whole))
    }
    assert len(marked) == 17
    found = set()
    for data in (featured.system(number, (feature,)) for number, feature in enumerate(featured.FEATURES)):
        found |= {re.sub(r"\d+", "*", ".".join(map(str, one.place[-2:]))) for one in names_in(System, data)}
    for name in ("memory", "state_through", "core", "master", "on"):
        assert any(place.endswith(f".{name}") for place in found), name
    for name in ("scheduling", "cpus", "wcet"):
        assert any(place.startswith(f"{name}.") for place in found), name
