# SPDX-License-Identifier: Apache-2.0
"""Reading a system description from its file."""

from __future__ import annotations

import difflib
import json
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from consort.base import arguments
from consort.base.errors import BadDescription, nearest
from consort.model.base import CHANNEL_PATTERN
from consort.model.description import System
from consort.model.document import Document
from consort.model.lay import laid
from consort.model.platform import Platform, find_platform, load_platform, platform_of_document
from consort.model.reading import read_document
from consort.model.rules import check_rules
from consort.model.validate import pruned, validate


def load_system(path: str | PathLike[str], on: str | None = None) -> System:
    """The system that a file describes; `BadDescription` with all that is wrong with it.

    `on` is one of the description's targets, on whose platform the system is laid. The name of its own
    platform, or of the board that stands for that, is the description as it stands.
    """
    chosen = None if on is None else arguments.text("on", on)
    return _on(read_document(arguments.given_path("path", path)), chosen)


def system_from_data(
    data: dict[str, Any],
    *,
    file: str | Path = "system.yaml",
    platform: Platform | None = None,
    on: str | None = None,
) -> System:
    """The system that plain data describes, such as an importer makes; checked as a file is.

    `file` is where the data would stand or came from: what it names is relative to it. With `platform` the
    data's own 'platform' is only its name. `on` as in `load_system`.
    """
    return _on(Document.of_data(data, Path(file)), on, platform)


def load_description(path: str | Path, on: str | None = None) -> System | Platform:
    """The system or the platform that a file describes: a platform says what there is, and no tasks."""
    document = read_document(Path(path))
    data = document.data
    if on is None and "tasks" not in data and {"processors", "cores", "memories"} & data.keys():
        return platform_of_document(document)
    return _on(document, on)


def _on(document: Document, on: str | None, platform: Platform | None = None) -> System:
    """The system as it stands, or laid on one of its targets."""
    targets = document.get("targets")
    if on is not None and isinstance(targets, dict) and on in targets:
        return _system(*laid(document, on))
    platform = platform or _platform(document)
    if on is not None and platform is not None:
        board = None if platform.emulation is None else platform.emulation.board
        own = dict.fromkeys(one for one in (document.get("platform"), platform.name, board) if one)
        if on not in own:
            known = [*own, *(targets if isinstance(targets, dict) else ())]
            text = f"there is no target {on!r}; {nearest(on, known, 'targets')}"
            if not targets:
                text += "; other platforms are described under 'targets'"
            raise BadDescription([document.problem(("targets",), text)])
    return _system(document, platform)


def _system(document: Document, platform: Platform | None) -> System:
    system, wrong = validate(System, document)
    # Parts that break the form are taken out, and the rest is held to the rules.
    checked = pruned(System, document.data) if wrong else system
    if checked is not None:
        checked._file, checked._platform = document.file, platform
        checked._document = document
    problems = document.problems + check_rules(document, wrong, platform, checked)
    if problems or system is None:
        raise BadDescription(problems)
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


def diff(file: Path, text: str) -> str:
    """The changes to a file, as a unified diff that `patch` and `git apply` take."""
    before = file.read_text(encoding="utf-8").splitlines(keepends=True)
    after = text.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{file.name}", f"b/{file.name}"))


def loaded_from(system: System, text: str) -> System:
    """The system that a text describes in the place of a system's file."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=system.file.parent, prefix=".edited-", suffix=".yaml"
    ) as written:
        written.write(text)
        written.flush()
        return load_system(Path(written.name))


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def system_schema() -> dict[str, Any]:
    """The schema, made from the models: it accepts what `load_system` accepts field by field."""
    schema = schema_of(System, "Consort system description")
    definitions: dict[str, Any] = schema["$defs"]
    task = definitions["Task"]
    task["if"] = {"properties": {"execution": {"const": "offloaded"}}, "required": ["execution"]}
    task["then"] = {"required": ["master"]}
    task["else"] = {"properties": {"master": False, "dispatch": False}}
    task["oneOf"] = [{"required": ["period"]}, {"required": ["min_interarrival"]}]
    task["dependentRequired"] = {"input": ["step"], "golden": ["step"]}
    schema["properties"]["channels"]["propertyNames"] = {"pattern": CHANNEL_PATTERN}
    return schema


def platform_schema() -> dict[str, Any]:
    """The schema of platform files."""
    return schema_of(Platform, "Consort platform description")


def schema_of(model: type[BaseModel], title: str) -> dict[str, Any]:
    """The schema of a model, field by field."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    schema["title"] = title
    definitions: dict[str, Any] = schema["$defs"]
    for part in (schema, *definitions.values()):
        # Titles made from field names say nothing that the names do not, and clutter what editors show.
        for field in part.get("properties", {}).values():
            if "patternProperties" in field:
                field["additionalProperties"] = False
            field.pop("title", None)
            if field.get("default", 0) is None:
                del field["default"]
            choices = [choice for choice in field.get("anyOf", ()) if choice != {"type": "null"}]
            if len(choices) == 1:
                # Optional means that the key may be left out, not that it may be empty.
                del field["anyOf"]
                field.update({key: value for key, value in choices[0].items() if key not in field})
            elif "anyOf" in field:
                field["anyOf"] = choices
    return {"$schema": DIALECT, **schema}


def schema_text(schema: dict[str, Any] | None = None) -> str:
    return json.dumps(schema or system_schema(), indent=2) + "\n"
