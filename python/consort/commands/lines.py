# SPDX-License-Identifier: Apache-2.0
"""The lines of fields that errors name alone: those that a target or a step's type tells to be wrong."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from consort.base.errors import BadDescription, BadInput

if TYPE_CHECKING:
    from consort.model.document import Document


def placed(error: BadInput) -> BadDescription:
    """The problems of an error `with_lines`, in the order of the lines."""
    return BadDescription(with_lines(error.problems if isinstance(error, BadDescription) else [error]))


def with_lines(problems: Iterable[BadInput]) -> list[BadInput]:
    """Problems in their order; those that name a field of a YAML file alone with its line and column."""
    read = cache(_document)

    def of_one(problem: BadInput) -> BadInput:
        file = None if problem.file is None else Path(problem.file)
        if file is None or problem.line is not None or not problem.field:
            return problem
        document = read(file) if file.suffix in (".yaml", ".yml") else None
        return problem if document is None else document.located(problem)

    return [of_one(problem) for problem in problems]


def _document(file: Path) -> Document | None:
    """The file as it stands; None where it cannot be read. Reading YAML is loaded for this alone."""
    from consort.model.reading import read_document

    try:
        return read_document(file)
    except BadInput:
        return None
