# SPDX-License-Identifier: Apache-2.0
"""Reading a system description from its file."""

from __future__ import annotations

from pathlib import Path

from consort.model.description import System
from consort.model.document import Document, read_document
from consort.model.platform import Platform, find_platform, load_platform
from consort.model.problems import BadDescription
from consort.model.rules import check_rules
from consort.model.validate import validate


def load_system(path: str | Path) -> System:
    """The system that a file describes; `BadDescription` with all that is wrong with it."""
    file = Path(path)
    document = read_document(file)
    system, wrong = validate(System, document)
    platform = _platform(document)
    problems = document.problems + check_rules(document, wrong, platform)
    if problems or system is None:
        raise BadDescription(problems)
    system._file = file
    system._platform = platform
    return system


def _platform(document: Document) -> Platform | None:
    reference = document.get("platform")
    if not isinstance(reference, str) or not reference:
        return None
    try:
        return load_platform(find_platform(reference, document.file))
    except LookupError as error:
        document.problems.append(document.problem(("platform",), str(error.args[0])))
    except BadDescription as error:
        document.problems.extend(error.problems)
    return None
