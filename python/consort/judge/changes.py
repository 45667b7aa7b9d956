# SPDX-License-Identifier: Apache-2.0
"""Changes of mode as a run shows them, each held against its bound: docs/explanation/mode-changes.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from consort.analysis.result import in_words
from consort.record.sections import CHANGES_OF_MODE


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
