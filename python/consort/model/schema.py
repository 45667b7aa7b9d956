# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of system descriptions, by which editors complete and check."""

from __future__ import annotations

import json
from typing import Any

from consort.model.description import System

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def system_schema() -> dict[str, Any]:
    """The schema, made from the models: what stands in it is what `load_system` accepts field by field."""
    schema = System.model_json_schema(by_alias=True, mode="validation")
    schema["title"] = "Consort system description"
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
    task = definitions["Task"]
    task["if"] = {"properties": {"execution": {"const": "offloaded"}}, "required": ["execution"]}
    task["then"] = {"required": ["master"]}
    task["else"] = {"properties": {"master": False}}
    schema["properties"]["channels"]["propertyNames"] = {"pattern": r"^[A-Za-z][A-Za-z0-9_-]*\.(in|out)$"}
    return {"$schema": DIALECT, **schema}


def schema_text() -> str:
    return json.dumps(system_schema(), indent=2, ensure_ascii=False) + "\n"
