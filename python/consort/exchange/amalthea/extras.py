# SPDX-License-Identifier: Apache-2.0
"""Parts of a description for which AMALTHEA has no element, in a custom property of the model.

It is a merge patch (RFC 7396): applied to what the elements say, it gives the whole description. What the
elements do say is not in it, so that a model edited elsewhere still counts.
"""

from __future__ import annotations

import json
from typing import Any

from consort.exchange.amalthea.model import Model

KEY = "consort"


def patch_between(base: Any, wanted: Any) -> Any:
    """The merge patch that makes `wanted` of `base`."""
    if not isinstance(base, dict) or not isinstance(wanted, dict):
        return wanted
    patch: dict[str, Any] = {key: None for key in base if key not in wanted}
    for key, value in wanted.items():
        if key not in base:
            patch[key] = value
        elif base[key] != value:
            patch[key] = patch_between(base[key], value)
    return patch


def apply_patch(base: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_patch(result.get(key), value)
    return result


def apply_extras(model: Model, platform: dict[str, Any], system: dict[str, Any]) -> None:
    """Adds what the exporter kept, except for tasks that are there no more."""
    for element in model.root.all("customProperties"):
        if element.get("key") != KEY:
            continue
        value = element.child("value")
        text = value.get("value") if value is not None else ""
        try:
            patch = json.loads(text)
            parts = (patch["platform"], patch["system"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise model.reader.bad(element, "the property 'consort' is not what an export writes") from None
        if not all(isinstance(part, dict) for part in parts):
            raise model.reader.bad(element, "the property 'consort' is not what an export writes")
        tasks = parts[1].get("tasks")
        for name in [n for n in tasks if n not in system["tasks"]] if isinstance(tasks, dict) else ():
            model.report.leave("property of a task", str(name), "the task is not in the model any more")
            del tasks[name]
        for target, part in zip((platform, system), parts, strict=True):
            merged = apply_patch(target, part)
            target.clear()
            target.update(merged)
