# SPDX-License-Identifier: Apache-2.0
"""Tasks whose outputs ask for a change of mode: where in the output the number lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consort.base.errors import BadInput
from consort.plan import Plan, PlannedAsker


def asker_config(
    plan: Plan, asker: PlannedAsker, layouts: Mapping[str, Any], modes: Sequence[str]
) -> dict[str, Any]:
    """Its entry of a configuration; `BadInput` where the step's outputs have no such number."""
    layout = next(known for known in layouts["tasks"] if known["name"] == asker.task)["out"]
    whole = [m for m in layout["members"] if m["type"][0] in "ui" and m["count"] == 1]
    member = next((m for m in whole if m["name"] == asker.member), None)
    if member is None:
        names = [str(m["name"]) for m in whole]
        raise BadInput(
            f"the outputs of {asker.task} have no whole number {asker.member!r}; they have"
            f" {', '.join(names) or 'none'}",
            file=plan.file,
            field="mode_changes.asked_by",
        )
    return {
        "task": list(plan.tasks).index(asker.task),
        "offset": member["offset"],
        "bytes": int(member["type"][1:]),
        "signed": member["type"][0] == "i",
        "modes": [modes.index(mode) for mode in asker.modes],
    }
