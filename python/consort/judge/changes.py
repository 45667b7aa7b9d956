# SPDX-License-Identifier: Apache-2.0
"""Changes of mode as a run shows them, each held against its bound: docs/explanation/mode-changes.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from consort.analysis.result import in_words
from consort.record.sections import CHANGES_OF_MODE, FAIL_OVERS


@dataclass(frozen=True)
class Change:
    """A change of mode that was seen; instants in ps."""

    old: str
    new: str
    requested: int
    drained: int
    released: int
    requests: int | None = None
    """That came before the idle instant: the last one counts. None where nobody counted them."""
    bound: int | None = None
    provenance: str = "simulated"
    disturbed: bool = False
    """The machine kept a core from a job that was under way."""
    within: int | None = None
    """The longest time that the description allows [ps]; None if it allows any."""

    @property
    def latency(self) -> int:
        """The time from the request to the new mode's release."""
        return self.released - self.requested

    @property
    def kept(self) -> bool:
        return self.disturbed or not self._passed

    @property
    def excess(self) -> str:
        """The message for a change that took longer than its bounds."""
        took = f"the change {self.old} -> {self.new} took {in_words(self.latency)}, above "
        return took + " and ".join(self._passed)

    @property
    def _passed(self) -> list[str]:
        """The limits that it took longer than."""
        limits = (("its bound", self.bound), ("'within',", self.within))
        return [f"{name} {in_words(ps)}" for name, ps in limits if ps is not None and self.latency > ps]

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.old,
            "to": self.new,
            "requested_ps": self.requested,
            "drained_ps": self.drained,
            "released_ps": self.released,
            "requests": self.requests,
            "latency_ps": self.latency,
            "bound_ps": self.bound,
            "within_ps": self.within,
            "kept": self.kept,
            "disturbed": self.disturbed,
            "provenance": self.provenance,
        }


def unseen_requests(
    requests: Sequence[tuple[int, str]], duration: int, entered: Collection[str]
) -> list[str]:
    """The requests (instant [ps], mode) that a run of so long, which entered those modes, does not show.

    Of two requests before an idle instant the first is of no effect, so that its mode may not be entered.
    """
    late = [(at, mode) for at, mode in requests if at >= duration]
    found = [f"the run was over before {in_words(at)}, when mode {mode} is asked for" for at, mode in late]
    never = {mode for _, mode in requests} - {*entered} - {mode for _, mode in late}
    return [*found, *(f"the run never entered mode {mode}, which is asked for" for mode in sorted(never))]


def changes_section(changes: Sequence[Change]) -> dict[str, Any]:
    """The table of a report; the changes of one run have one provenance."""
    provenance = changes[0].provenance if changes else "simulated"
    seen = {"unit": "us", "provenance": provenance}
    return {
        "title": CHANGES_OF_MODE,
        "kind": "table",
        "columns": [
            {"name": "from"},
            {"name": "to"},
            {"name": "requested", **seen},
            {"name": "idle", **seen},
            {"name": "released", **seen},
            {"name": "latency", **seen},
            {"name": "bound", "unit": "us", "provenance": "bound"},
        ],
        "rows": [
            [
                change.old,
                change.new,
                change.requested / 1e6,
                change.drained / 1e6,
                change.released / 1e6,
                change.latency / 1e6,
                None if change.bound is None else change.bound / 1e6,
            ]
            for change in changes
        ],
    }


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
