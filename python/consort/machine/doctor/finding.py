# SPDX-License-Identifier: Apache-2.0
"""The result of one check of the machine."""

from __future__ import annotations

import dataclasses
from typing import Literal

Status = Literal["ok", "warn", "bad", "unknown"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One property of the machine that real time depends on.

    `cost` names the mechanism; a figure in it says where it comes from (counted from settings,
    published, measured).
    `remedy` is the exact command or kernel parameter, empty where nothing has to be repaired.
    """

    id: str
    title: str
    status: Status
    found: str
    cost: str = ""
    remedy: str = ""
    sources: tuple[str, ...] = ()
    figures: dict[str, float] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        return dataclasses.asdict(self) | {"sources": list(self.sources)}
