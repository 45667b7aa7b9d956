# SPDX-License-Identifier: Apache-2.0
"""Rules across the fields of a platform description."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from consort.errors import BadInput
from consort.model.document import Document, Location
from consort.model.problems import nearest
from consort.model.view import View

Problems = Iterator[BadInput]


def check_platform_rules(document: Document, wrong: set[Location]) -> list[BadInput]:
    """All that the rules find wrong; rules about fields in `wrong` stay silent."""
    view = View(document, wrong, None)
    return [problem for rule in RULES for problem in rule(view)]


def _named_like_the_file(view: View) -> Problems:
    name = view.text("name")
    if name is not None and view.document.file.stem != name:
        yield view.problem(("name",), f"{name!r} is not the file's name; write {view.document.file.stem!r}")


def _known_processors(view: View) -> Problems:
    processors = view.mapping("processors")
    for group in view.mapping("cores"):
        name = view.text("cores", group, "processor")
        if name is not None and name not in processors:
            yield view.problem(
                ("cores", group, "processor"),
                f"the processor {name!r} is not known; {nearest(name, processors, 'processors')}",
            )


RULES: tuple[Callable[[View], Problems], ...] = (
    _named_like_the_file,
    _known_processors,
)
