# SPDX-License-Identifier: Apache-2.0
"""Validation of a document by a model, its errors in the user's words at the place in the file."""

from __future__ import annotations

import re
import types
from collections.abc import Collection, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from consort.base.errors import MOST_PROBLEMS, closest, nearest
from consort.model.base import MEMBER_PATTERN, NAME_PATTERN, TextValue, kind_of
from consort.model.document import Document, Location
from consort.model.figures import Kind

M = TypeVar("M", bound=BaseModel)

# Union members are tagged `<…>`, so that a tag in an error's location differs from any key.
_TAG = re.compile(r"<.*>")
# Follows from another error that is reported on its own.
_CONSEQUENCES = {"default_factory_not_called"}
_EXPECTED = {
    "string_type": "a text is needed",
    "int_type": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "float_type": "a number is needed",
    "bool_type": "true or false is needed",
    "list_type": "a list is needed",
    "tuple_type": "a list is needed",
    "dict_type": "a mapping is needed",
    "model_type": "a mapping is needed",
    "model_attributes_type": "a mapping is needed",
    "finite_number": "a finite number is needed",
}


def validate(model: type[M], document: Document) -> tuple[M | None, set[Location]]:
    """The model of a document, or None and the locations that are wrong; problems go into the document."""
    try:
        found = model.model_validate(document.data)
        return found, _refuse_empty(document, set(document.unreadable))
    except ValidationError as error:
        wrong: set[Location] = set(document.unreadable)
        details = error.errors(include_url=False)
        unknown = [detail for detail in details if detail["type"] == "extra_forbidden"][:MOST_PROBLEMS]
        meant = {detail["loc"]: _meant(model, detail) for detail in unknown}
        # A slip of one key says nothing about another one that is missing.
        pairs = {place: keys for place, keys in _lacking(details).items() if meant.get(place) == place}
        misspelt = set(meant.values())
        misspelt |= {(*place[:-1], key) for place, keys in pairs.items() for key in keys}
        for detail in details:
            # A key that is missing because it is misspelt is one fault, not two.
            if detail["type"] in _CONSEQUENCES or (detail["type"] == "missing" and detail["loc"] in misspelt):
                continue
            location = tuple(part for part in detail["loc"] if not _TAG.fullmatch(str(part)))
            location = _written(document, location)
            if location in document.unreadable:
                wrong.add(location)
                continue
            at_key = False
            if location and location[-1] == "[key]":
                location, at_key = location[:-1], True
            wrong.add(location)
            if len(document.problems) >= MOST_PROBLEMS:
                continue
            message, at_key = _message(model, detail, location, at_key)
            lacking = pairs.get(detail["loc"])
            if lacking is not None and "known keys: " in message:
                owner = _owner(model, detail["loc"][:-1])
                are = "is" if len(lacking) == 1 else "are"
                message = (
                    f"unknown key {location[-1]!r}, and {', '.join(map(repr, lacking))} {are} missing; write"
                )
                message += f" {', '.join(_example(owner, key) for key in lacking)}"
            # A missing key is reported where it should stand: at the mapping that lacks it.
            place = location[:-1] if detail["type"] == "missing" else location
            document.problems.append(document.problem(place, message, at_key=at_key))
        return None, _refuse_empty(document, wrong)


def _lacking(details: Sequence[ErrorDetails]) -> dict[tuple[int | str, ...], list[str]]:
    """Unknown keys, each with the keys that its mapping lacks, where it is the only unknown one there."""
    found: dict[tuple[int | str, ...], tuple[list[str], list[str]]] = {}
    for detail in details:
        if detail["type"] in ("extra_forbidden", "missing"):
            *parent, key = detail["loc"]
            found.setdefault(tuple(parent), ([], []))[detail["type"] == "missing"].append(str(key))
    return {
        (*parent, unknown[0]): missing
        for parent, (unknown, missing) in found.items()
        if len(unknown) == 1 and missing
    }


def without(data: Any, places: Collection[Location]) -> Any:
    """Plain data without what stands at some places."""
    if () in places:
        return None
    inside: dict[str | int, list[Location]] = {}
    for place in places:
        inside.setdefault(place[0], []).append(place[1:])
    if isinstance(data, dict):
        gone = {key for key, rests in inside.items() if () in rests}
        return {
            key: without(value, inside[key]) if key in inside else value
            for key, value in data.items()
            if key not in gone
        }
    if isinstance(data, list):
        return [
            without(value, inside.get(place, ()))
            for place, value in enumerate(data)
            if () not in inside.get(place, ())
        ]
    return data


def pruned(model: type[M], data: Any) -> M | None:
    """The model of the rest when all parts that break it are taken out; None if too many do."""
    while data:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            places = set()
            for detail in error.errors(include_url=False, include_input=False, include_context=False):
                place = tuple(part for part in detail["loc"] if not _TAG.fullmatch(str(part)))
                if detail["type"] == "missing" or place[-1:] == ("[key]",):
                    place = place[:-1]
                # A bare figure has no 'value' of its own.
                places.add(_inside_data(data, place))
            data = without(data, places)
    return None


def _inside_data(data: Any, place: Location) -> Location:
    """The longest beginning of a place that there is."""
    for length, part in enumerate(place):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return place[:length]
    return place


def _refuse_empty(document: Document, wrong: set[Location]) -> set[Location]:
    """`wrong`, with the keys that have no value; a key without one would be taken for one that is absent."""
    for location in sorted(document.empty - wrong, key=lambda location: document.keys[location]):
        wrong.add(location)
        if len(document.problems) < MOST_PROBLEMS:
            message = "nothing stands here; write a value, or remove the key"
            document.problems.append(document.problem(location, message, at_key=True))
    return wrong


def _message(
    model: type[BaseModel], detail: ErrorDetails, location: Location, at_key: bool
) -> tuple[str, bool]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    last = str(location[-1]) if location else ""
    if kind == "consort_value":
        return str(context["text"]), at_key
    if kind == "extra_forbidden":
        known = _keys(_owner(model, detail["loc"][:-1]))
        if str(last).lower() == "true" and "on" in known:
            return (
                f"unknown key {last!r}; YAML 1.1, as PyYAML has it, takes 'on' for that: put \"on\" in"
                " quotes where this was made",
                True,
            )
        return f"unknown key {last!r}; {nearest(last, known, 'known keys')}", True
    if kind == "missing":
        owner = _owner(model, detail["loc"][:-1])
        return f"the key {last!r} is missing; add it, for example {_example(owner, last)}", True
    if kind == "literal_error":
        allowed = re.findall(r"'([^']*)'|\b(\d+)\b", str(context["expected"]))
        names = [text or number for text, number in allowed]
        if str(value) in names:
            return f"{kind_of(value)} stands here; write {value} without quotes", at_key
        return f"{kind_of(value)} is not one of the values; {nearest(str(value), names, 'values')}", at_key
    if kind == "string_pattern_mismatch":
        return _name_message(str(value), str(context["pattern"])), at_key
    if kind in _EXPECTED:
        needed = _EXPECTED[kind]
        if kind in ("list_type", "tuple_type") and str(detail["loc"][-1]) == "<list>":
            needed = "a list or a mapping is needed"
        return f"{kind_of(value)} stands here; {needed}{_for_example(model, detail, last)}", at_key
    if kind in ("greater_than_equal", "greater_than"):
        least = context.get("ge", context.get("gt"))
        return (
            f"{value} is too small; {'at least' if 'ge' in context else 'more than'} {least} is needed",
            at_key,
        )
    if kind in ("less_than_equal", "less_than"):
        return f"{value} is too large; at most {context.get('le', context.get('lt'))} is possible", at_key
    if kind == "string_too_short":
        return "the text is empty; something must stand here", at_key
    if kind == "too_short":
        least, found = context["min_length"], context["actual_length"]
        if found == 0:
            return (
                f"this is empty; at least {'one entry is' if least == 1 else f'{least} are'} needed",
                at_key,
            )
        return f"too few entries stand here ({found}); {least} are needed", at_key
    if kind == "too_long":
        most, found = context["max_length"], context["actual_length"]
        return f"too many entries stand here ({found}); {most} are possible", at_key
    if kind == "string_too_long":
        return f"{last!r} is too long; at most {context['max_length']} characters are possible", at_key
    return f"{kind_of(value)} cannot be used: {detail['msg']}", at_key


def _written(document: Document, location: Location) -> Location:
    """The location as written: a bare figure has no 'value' of its own."""
    while len(location) > 1 and location[-1] == "value":
        if isinstance(document.get(*location[:-1]), dict):
            break
        location = location[:-1]
    return location


def _keys(owner: type[BaseModel]) -> list[str]:
    """The keys of a model; those of provenance come last."""
    known = [field.alias or name for name, field in owner.model_fields.items()]
    return sorted(known, key=lambda key: key in get_args(Kind))


def _meant(model: type[BaseModel], detail: ErrorDetails) -> tuple[int | str, ...]:
    """The location that an unknown key is probably a slip of, or its own."""
    *parent, key = detail["loc"]
    return (*parent, closest(str(key), _keys(_owner(model, detail["loc"][:-1]))) or key)


def _name_message(value: str, pattern: str) -> str:
    if pattern == NAME_PATTERN:
        return f"{value!r} is not a name; a letter, then letters, digits, '-' and '_', for example servo"
    if pattern == MEMBER_PATTERN:
        return f"{value!r} is not a member name; write the name of a member of the C++ type"
    return f"{value!r} does not have the form {pattern}"


def _for_example(model: type[BaseModel], detail: ErrorDetails, key: str) -> str:
    """The right form, where the model has an example of the key's value."""
    place = tuple(part for part in detail["loc"] if not _TAG.fullmatch(str(part)))
    try:
        text = _example(_owner(model, place[:-1]), key)
    except (LookupError, StopIteration):
        text = "…'"
    if not text.endswith("…'"):
        return f", for example {text}"
    if not detail["type"].startswith("model_"):
        return ""
    known = _keys(_owner(model, detail["loc"]))
    return f", with {', '.join(known[:3])}{', …' if len(known) > 3 else ''}"


def _example(owner: type[BaseModel], key: str) -> str:
    for name, field in owner.model_fields.items():
        if (field.alias or name) != key:
            continue
        if field.examples:
            return f"'{key}: {field.examples[0]}'"
        for annotation in _members(field.annotation):
            if isinstance(annotation, type) and issubclass(annotation, TextValue):
                return f"'{key}: {annotation.examples[0]}'"
    return f"'{key}: …'"


def _owner(model: type[BaseModel], location: tuple[Any, ...]) -> type[BaseModel]:
    """The model that an error's location lies in."""
    annotation: Any = model
    for part in location:
        annotation = _inside(annotation, part)
    return next(m for m in _members(annotation) if isinstance(m, type) and issubclass(m, BaseModel))


def _inside(annotation: Any, part: str | int) -> Any:
    """The type of the value under a key, an index or a union's tag."""
    tagged = isinstance(part, str) and _TAG.fullmatch(part)
    for member in _members(annotation):
        if tagged and get_origin(member) is dict and part in ("<processors>", "<members>"):
            return member
        if tagged and get_origin(member) is tuple and part == "<list>":
            return member
        if isinstance(member, type) and issubclass(member, BaseModel):
            if getattr(member, "tag", None) == part:
                return member
            for name, field in member.model_fields.items():
                if (field.alias or name) == part:
                    return field.annotation
        elif get_origin(member) is dict:
            return get_args(member)[1]
        elif get_origin(member) in (list, tuple):
            return get_args(member)[0]
    raise LookupError(f"{part!r} does not lie in {annotation}")


def _members(annotation: Any) -> list[Any]:
    """A type's alternatives, without what annotates them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [member for part in get_args(annotation) for member in _members(part)]
    return [annotation]
