# SPDX-License-Identifier: Apache-2.0
"""The limits that a run is held against, and the verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from consort.analysis.result import Bound, in_words
from consort.record.findings import Quantity
from consort.record.sections import Judgement

OF_ANALYSIS: dict[str, Quantity] = {
    "response time": "response",
    "compute": "compute",
    "communication": "communication",
    "age when read": "channel age",
    "delivery": "delivery",
    "reaction time": "reaction",
    "data age": "age",
}


@dataclass(frozen=True)
class Limit:
    """One bound, or one simulated maximum. `ns` is None where there is none: `missing` then says why."""

    subject: str
    quantity: Quantity
    ns: float | None
    source: str
    missing: str = ""


@dataclass(frozen=True)
class Bounds:
    """Bounds and simulated maxima, and the WCETs that the bounds rest on (ns, in the system's own time).

    With a time scale the judge multiplies all of them by it, but the WCETs: no execution is stretched.
    """

    bounds: tuple[Limit, ...] = ()
    simulated: tuple[Limit, ...] = ()
    wcets: Mapping[str, float] = field(default_factory=dict)
    wcet_source: str = "description"
    faults: Mapping[str, int] = field(default_factory=dict)
    """The most faults of a job, for tasks whose states lie in remote memory."""
    lacking: tuple[str, ...] = ()
    """The places of figures that bounds lack (consort.analysis.lacking): simulated time counts nothing for
    them."""

    @staticmethod
    def of(
        found: Iterable[Bound],
        *,
        wcets_ps: Mapping[str, int | None] | None = None,
        simulated: Iterable[Limit] = (),
        faults: Mapping[str, int] | None = None,
        lacking: Iterable[str] = (),
    ) -> Bounds:
        """Limits from the results of `consort.analysis`; kinds that no run shows (a longest read) are left
        out."""
        limits = []
        for bound in found:
            quantity = OF_ANALYSIS.get(bound.kind)
            if quantity is None:
                continue
            ns = None if bound.response is None else bound.response / 1000
            missing = "" if ns is not None else "; ".join(bound.notes) or "the analysis found none"
            if quantity == "response" and ns is not None and not bound.schedulable:
                # Many analyses end their search there: what they return then bounds nothing.
                missing = f"the analysis ended above the deadline, at {in_words(bound.response or 0)}"
                ns = None
            limits.append(Limit(bound.task, quantity, ns, bound.source, missing))
        wcets = {name: ps / 1000 for name, ps in (wcets_ps or {}).items() if ps is not None}
        return Bounds(tuple(limits), tuple(simulated), wcets, faults=faults or {}, lacking=tuple(lacking))

    def bound(self, subject: str, quantity: Quantity) -> Limit:
        """The bound of a quantity; one without a figure, which says so, where there is none."""
        nothing = Limit(subject, quantity, None, "", "nothing was analysed")
        return self._bounds.get((subject, quantity), nothing)

    def maximum(self, subject: str, quantity: Quantity) -> Limit | None:
        """The simulated maximum, or None."""
        return self._simulated.get((subject, quantity))

    @cached_property
    def _bounds(self) -> dict[tuple[str, str], Limit]:
        return _first_of_each(self.bounds)

    @cached_property
    def _simulated(self) -> dict[tuple[str, str], Limit]:
        return _first_of_each(self.simulated)


def _first_of_each(limits: Iterable[Limit]) -> dict[tuple[str, str], Limit]:
    found: dict[tuple[str, str], Limit] = {}
    for limit in limits:
        found.setdefault((limit.subject, limit.quantity), limit)
    return found


# The machine may disturb this share of a task's jobs before nothing is known of them.
UNDECIDED_ABOVE = 0.1


@dataclass(frozen=True, kw_only=True)
class Verdict(Judgement):
    """The judge's findings on a record, and what they say of its rows."""

    mistaken: tuple[int, ...] = ()
    """The cores that were taken for dead as the machine stood still."""
