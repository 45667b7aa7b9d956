# SPDX-License-Identifier: Apache-2.0
"""Arguments of the public functions: converted as Python does, checked as the command checks its options.

A seed may be any whole number, NumPy's too; a path anything with `__fspath__`. What is of another kind, or
out of range, is a `BadInput` that names the argument.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar, overload

from consort.base.errors import BadInput, nearest

LARGEST_SEED = 2**64 - 1
# Bytes of a name in a folder, and of a path, that Linux takes.
LONGEST_NAME, LONGEST_PATH = 255, 4096

T = TypeVar("T")


def _kind(value: object) -> str:
    shown = repr(value)
    # All of a description is no help in a message.
    shown = shown if len(shown) <= 80 else f"{shown[:80]}…"
    return f"{shown} ({type(value).__name__})"


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number in a range."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise BadInput(f"{_kind(value)} is not a whole number", field=name) from None
    if number < least or (most is not None and number > most):
        where = f"{least} or more" if most is None else f"{least} to {most}"
        raise BadInput(f"{number} is out of range; {where} can be", field=name)
    return number


def seed(value: Any) -> int:
    return whole("seed", value, 0, LARGEST_SEED)


def number(name: str, value: Any, least: float, most: float) -> float:
    """A number in a range; what is none (NaN) is in no range."""
    try:
        # NumPy's bool is not a bool of Python's.
        if isinstance(value, (bool, str)) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{_kind(value)} is not a number", field=name) from None
    if not least <= found <= most:
        raise BadInput(f"{value} is out of range; {least:g} to {most:g} can be", field=name)
    return found


def flag(name: str, value: Any) -> bool:
    plain = value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value
    if not isinstance(plain, bool):
        raise BadInput(f"{_kind(value)} is neither True nor False", field=name)
    return plain


def one_of(name: str, value: Any, names: Collection[T]) -> T:
    """One of some words."""
    for one in names:
        if isinstance(value, str) and value == one:
            return one
    hint = nearest(str(value), map(str, names), "write one of")
    said = repr(value) if isinstance(value, str) else _kind(value)
    raise BadInput(f"{said} is not one of the values; {hint}", field=name)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{_kind(value)} is not text", field=name)
    return str(value)


@overload
def path(name: str, value: None) -> None: ...
@overload
def path(name: str, value: str | os.PathLike[str]) -> Path: ...
def path(name: str, value: Any) -> Path | None:
    """A path of a file or a folder; None stays."""
    if value is None:
        return None
    try:
        plain = os.fspath(value)
        if not isinstance(plain, str):
            raise TypeError
    except TypeError:
        raise BadInput(f"{_kind(value)} is not a path", field=name) from None
    if "\0" in plain:
        raise BadInput(f"{plain!r} is not a path: a 0 stands in it", field=name)
    try:
        longest = max((len(os.fsencode(part)) for part in plain.split("/")), default=0)
    except UnicodeEncodeError:
        raise BadInput(f"{plain!r} is not a path: no file system has such letters", field=name) from None
    if longest > LONGEST_NAME or len(os.fsencode(plain)) >= LONGEST_PATH:
        raise BadInput(f"{plain[:40]!r}… is longer than the name of a file may be", field=name)
    return Path(plain)


def given_path(name: str, value: Any) -> Path:
    """A path that must be there."""
    found: Path | None = path(name, value)
    if found is None:
        raise BadInput(f"{_kind(value)} is not a path", field=name)
    return found


def several(name: str, values: Any) -> list[Any]:
    """The words of a collection; one word alone would be taken letter by letter."""
    try:
        if isinstance(values, str):
            raise TypeError
        return list(values)
    except TypeError:
        raise BadInput(f"{values!r} is not a collection of texts; write [{values!r}]", field=name) from None


def callback(name: str, value: Any) -> None:
    """A function that is called now and then."""
    if not callable(value):
        raise BadInput(f"{_kind(value)} cannot be called", field=name)


def instance(name: str, value: Any, kinds: type[T] | tuple[type[T], ...], how: str) -> T:
    """An object that another function makes."""
    if not isinstance(value, kinds):
        raise BadInput(f"{_kind(value)} is of another kind; {how}", field=name)
    return value
