# SPDX-License-Identifier: Apache-2.0
"""The keys of descriptions, along the schema: where each stands, and what else may stand there.

The descriptions in python/plan/walk together have every key.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from consort.model import system_schema
from ruamel.yaml import YAML

WALK = Path(__file__).parent / "python" / "plan" / "walk"
DESCRIPTIONS = ("stand_ins", "steps", "arrival", "supply", "resources", "cache", "bandwidth", "mode_changes")
DESCRIPTIONS += ("thresholds", "remote_state", "accelerators", "targets")
SCHEMA = system_schema()
SOURCES = ("published", "derived", "measured", "counted", "bound", "simulated", "assumed")
Place = tuple[str | int, ...]


@cache
def data(name: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load((WALK / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def options(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The forms of a part of the schema: the name of its definition, and the definition."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        for _, found in options(SCHEMA["$defs"][name]):
            yield name, found
    alternatives = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    for part in alternatives if "properties" not in schema else ():
        yield from options(part)
    if "$ref" not in schema and (not alternatives or "properties" in schema):
        yield "", schema


def fits(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], **schema}).is_valid(value)


def walk(
    name: str, schema: dict[str, Any], value: Any, place: Place
) -> Iterator[tuple[Place, str, dict[str, Any]]]:
    """Every key of a description: its place, its part and name in the schema, and what may stand there."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        for key, inside in value.items():
            if key in properties:
                yield (*place, key), f"{name}.{key}", properties[key]
                into = properties[key]
            else:
                into = next((s for p, s in patterns.items() if re.search(p, key)), None)
                into = into or schema["additionalProperties"]
            yield from within(name, into, inside, (*place, key))
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from within(name, schema.get("items", {}), inside, (*place, index))


def within(
    name: str, schema: dict[str, Any], value: Any, place: Place
) -> Iterator[tuple[Place, str, dict[str, Any]]]:
    for part, option in options(schema):
        if fits(option, value):
            yield from walk(part or name, option, value, place)
            return


@cache
def keys(name: str) -> list[tuple[Place, str, dict[str, Any]]]:
    return list(walk("System", SCHEMA, data(name), ()))


def all_keys(name: str, schema: dict[str, Any], seen: set[str]) -> Iterator[str]:
    for part, option in options(schema):
        inner = part or name
        for key, inside in option.get("properties", {}).items():
            if f"{inner}.{key}" not in seen:
                seen.add(f"{inner}.{key}")
                yield f"{inner}.{key}"
                yield from all_keys(inner, inside, seen)
        nested = [*option.get("patternProperties", {}).values()]
        nested += [
            option[key] for key in ("items", "additionalProperties") if isinstance(option.get(key), dict)
        ]
        for inside in nested:
            yield from all_keys(inner, inside, seen)


def get(described: Any, place: Place) -> Any:
    for part in place:
        described = described[part]
    return described


def changed(described: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    again = copy.deepcopy(described)
    get(again, place[:-1])[place[-1]] = value
    return again


def without(described: dict[str, Any], place: Place) -> dict[str, Any]:
    again = copy.deepcopy(described)
    del get(again, place[:-1])[place[-1]]
    return again


def others(value: Any, schema: dict[str, Any]) -> Iterator[Any]:
    """Values that may stand in a value's place: of its own kind, and every other choice."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
        yield value + 100
        if value > 25:
            yield value - 25
        if value > 1 and isinstance(value, int):
            yield value - 1
    elif isinstance(value, list):
        if len(value) > 1:
            yield value[1:]
            yield value[:-1]
    elif isinstance(value, str):
        choices = [
            choice
            for _, option in options(schema)
            for choice in (*option.get("enum", ()), option.get("const"))
        ]
        yield from (choice for choice in choices if isinstance(choice, str) and choice != value)
        number = re.fullmatch(r"([0-9]+)( ?[a-zA-Z/]+)", value)
        if number is not None:
            yield f"{int(number.group(1)) + 1}{number.group(2)}"
            yield f"{int(number.group(1)) * 3}{number.group(2)}"
        for old, new in (
            ("steps.hpp", "more.hpp"),
            ("::made", "::other"),
            ("functions.py", "others.py"),
            ("rows.csv", "more.csv"),
            ("board.yaml", "other.yaml"),
            ("::step", "::jump"),
        ):
            if old in value:
                yield value.replace(old, new)
        if value in ("a", "b"):
            yield {"a": "b", "b": "a"}[value]
        if value == "far":
            yield "farther"
        if value in ("shm", "ddr"):
            yield {"shm": "ddr", "ddr": "shm"}[value]
        core = re.fullmatch(r"(m|w|spm)-([0-9])", value)
        if core is not None:
            yield f"{core.group(1)}-{3 - int(core.group(2))}"
        if not choices and number is None:
            yield f"{value}x"
