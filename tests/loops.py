# SPDX-License-Identifier: Apache-2.0
"""A loop over many cases as one property: one test, whose failure names every case that failed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

# Failures that are shown whole; more would hide the names.
MOST = 10


def for_each(
    names: str | Sequence[str],
    cases: Iterable[Any],
    *,
    ids: Sequence[str] | Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but as one test, which runs every case and then says which ones failed.

    The cases share the test's fixtures: what a case leaves behind in them the next one finds.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [_values(case, names) for case in cases]
    assert listed, "no cases: the test would say nothing"

    def name(number: int) -> str:
        named, values = listed[number]
        if named is not None:
            return named
        if ids is not None and not callable(ids):
            return ids[number]
        return "-".join(ids(value) if ids is not None else repr(value) for value in values)

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(*self: Any, **fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for number, (_, values) in enumerate(listed):
                try:
                    test(*self, **fixtures, **dict(zip(names, values, strict=True)))
                # The exceptions of pytest.fail and pytest.raises are not Exceptions.
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the case {name(number)}")
                    failed.append((name(number), error))
            if failed:
                names_of = ", ".join(called for called, _ in failed)
                raise BaseExceptionGroup(
                    f"{len(failed)} of {len(listed)} cases failed: {names_of}",
                    [error for _, error in failed[:MOST]],
                )

        signature = inspect.signature(test)
        kept = [one for one in signature.parameters.values() if one.name not in names]
        assert len(kept) == len(signature.parameters) - len(names), f"the test does not take all of {names}"
        whole.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return whole

    return decorated


def _values(case: Any, names: Sequence[str]) -> tuple[str | None, Sequence[Any]]:
    """A case's name, where it has one, and its values."""
    if hasattr(case, "values") and hasattr(case, "marks"):
        assert not case.marks, "a case has no marks of its own; give them to the test"
        return case.id, case.values
    return None, case if len(names) > 1 else (case,)
