# SPDX-License-Identifier: Apache-2.0
"""Parts that an import or an export dropped, or kept only in another form: grouped, counted, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Names that the text form shows of a group; the JSON form has them all.
SHOWN = 6


@dataclass
class Report:
    """Left out: is not in the result. Changed: is in it in another form. Notes: how the source was read."""

    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    changed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def leave(self, what: str, name: str, why: str) -> None:
        self.left_out.setdefault((what, why), []).append(name)

    def change(self, what: str, name: str, how: str) -> None:
        self.changed.setdefault((what, how), []).append(name)

    def to_json(self) -> dict[str, Any]:
        return {
            "notes": self.notes,
            "left_out": [_group(what, "why", why, names) for (what, why), names in self.left_out.items()],
            "changed": [_group(what, "how", how, names) for (what, how), names in self.changed.items()],
        }

    def text(self) -> str:
        lines: list[str] = []
        for title, groups in (("left out", self.left_out), ("changed", self.changed)):
            if not groups:
                continue
            lines.append(f"{title}:")
            for (what, why), names in groups.items():
                unique = list(dict.fromkeys(names))
                shown = ", ".join(unique[:SHOWN])
                if len(unique) > SHOWN:
                    shown += f" and {len(unique) - SHOWN} more"
                lines.append(f"  {what}, {len(unique)}: {why}: {shown}")
        return "\n".join([*self.notes, *(lines or ["nothing left out, nothing changed"])])


def _group(what: str, key: str, why: str, names: list[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(names))
    return {"what": what, key: why, "count": len(unique), "names": unique}
