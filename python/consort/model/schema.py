# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas of descriptions, by which editors complete and check."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from consort.model.base import CHANNEL_PATTERN
from consort.model.description import System
from consort.model.platform import Platform

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
    return json.dumps(schema or system_schema(), indent=2, ensure_ascii=False) + "\n"
