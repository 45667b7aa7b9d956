# SPDX-License-Identifier: Apache-2.0
"""Cores that died while others went on with their tasks, each gap against its bound:
docs/explanation/mode-changes.md, theorem 26."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from consort.analysis.result import in_words
from consort.record.sections import FAIL_OVERS


@dataclass(frozen=True)
class Gap:
    """A task whose core died; times in ps from the core's last sign of life."""

    core: str
    mode: str
    """In which the core died."""
    task: str
    noticed: int
    idle: int | None
    released: int | None
    """The first releases of the mode that follows; None: the run ended before."""
    first: int | None
    """The end of its first job on another core; None: there was none."""
    lost: int | None
    """Jobs that were due and gave nothing, until the first one elsewhere; None: there is to be none."""
    goes_on: bool
    """True if the mode that follows has it."""
    bound: int | None
    left: int
    """How long the run lasted."""
    provenance: str
    disturbed: bool = False
    """The machine kept a core from a job meanwhile."""

    @property
    def kept(self) -> bool:
        if not self.goes_on or self.disturbed or self.bound is None:
            return True
        return self.first <= self.bound if self.first is not None else self.left < self.bound

    @property
    def excess(self) -> str:
        assert self.bound is not None
        what = f"{self.task} when {self.core} died in {self.mode}"
        if self.first is None:
            return f"{what}: no job of it elsewhere, {in_words(self.left)} after the last sign of life"
        return f"{what}: a gap of {in_words(self.first)}, above its bound {in_words(self.bound)}"


def fail_over_section(gaps: Sequence[Gap]) -> dict[str, Any]:
    """The table of a report; all times from the last sign of life."""
    seen = {"unit": "us", "provenance": gaps[0].provenance}

    def us(ps: int | None) -> float | None:
        return None if ps is None else ps / 1e6

    return {
        "title": FAIL_OVERS,
        "kind": "table",
        "columns": [
            {"name": "core"},
            {"name": "died in"},
            {"name": "task"},
            {"name": "jobs lost"},
            {"name": "noticed", **seen},
            {"name": "idle", **seen},
            {"name": "released", **seen},
            {"name": "first job", **seen},
            {"name": "bound", "unit": "us", "provenance": "bound"},
        ],
        "rows": [
            [
                gap.core,
                gap.mode,
                gap.task,
                gap.lost,
                us(gap.noticed),
                us(gap.idle),
                us(gap.released),
                us(gap.first),
                us(gap.bound),
            ]
            for gap in gaps
        ],
        "note": "Times from the core's last sign of life. A task without a first job is not in the mode that"
        " follows, or the run ended before.",
    }
