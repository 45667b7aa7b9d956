# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run: rows of figures, checks of assumptions, and the sentences that sum them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from typing import Any, Literal

from consort.analysis.result import Bound, in_words
from consort.judge.outputs import NotFinite
from consort.judge.stops import Stops
from consort.record.sections import Held, Judgement

# The limited quantities. `response`, `compute` and `communication` are of tasks, `channel age` of channels
# (from when the job that wrote was due to the end of the read; `delivery`: from the end of a write until the
# block has arrived over a link), `reaction` and `age` of chains.
Quantity = Literal["response", "compute", "communication", "channel age", "delivery", "reaction", "age"]
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


# The outcome of a row. `disturbed`: only jobs that the machine disturbed were above; `no bound`: nothing to
# hold it against; `not judged`: its clock says nothing of time (an emulator that does not count); `not due`:
# never seen, and no stay in the mode was so long that it had to be; `cannot be shown`: late or above its
# bound by no more than what the machine was seen to stop a core that did nothing else.
Outcome = Literal[
    "holds",
    "above bound",
    "late",
    "disturbed",
    "no bound",
    "not judged",
    "not seen",
    "not due",
    "cannot be shown",
]

# Types of which a record keeps the values unchanged: nearly all that a verdict on many tasks holds.
_AS_THEY_ARE = frozenset({str, int, bool, type(None)})
_INFINITE = float("inf")
# The machine may disturb this share of a task's jobs before nothing is known of them.
UNDECIDED_ABOVE = 0.1


@dataclass(frozen=True)
class Row:
    """One quantity of one task, channel or chain. Times in ns; None: there is none, inf: unserved.

    `seen` is the maximum of all, `undisturbed` that of jobs that the machine did not disturb; both have the
    clock's provenance. `required` is a deadline, or what a chain is allowed. `above` counts the undisturbed
    samples above the bound, `late` those above what is required, of `count`.
    """

    subject: str
    kind: Literal["task", "channel", "chain"]
    quantity: Quantity
    seen: float | None
    undisturbed: float | None
    provenance: str
    bound: float | None
    bound_source: str
    missing: str
    simulated: float | None
    simulated_source: str
    required: float | None
    count: int
    above: int
    late: int
    outcome: Outcome
    note: str = ""
    # How many of the samples are of jobs that the machine disturbed, or are too long only by the wait behind
    # blocks that it left in a channel; and how many are of the latter.
    disturbed: int = 0
    left_behind: int = 0


@dataclass(frozen=True)
class JobCounts:
    """Counts of a task's jobs by how they ended. `planned` is None if nothing says how many there were to be.

    `on_time`, `late` and `unserved` add up to `released`; `disturbed_misses` are those of them that missed
    while the machine disturbed them. `causes` counts the misses of undisturbed jobs.
    """

    task: str
    planned: int | None
    released: int
    on_time: int
    late: int
    unserved: int
    disturbed: int
    disturbed_misses: int
    causes: dict[str, int]


@dataclass(frozen=True)
class Check:
    """An assumption of the bounds, or a property of the channels, held against the record."""

    name: str
    holds: bool
    text: str
    # The cause of a broken one.
    by: Literal["system", "machine"] = "system"


@dataclass(frozen=True)
class Pause:
    """Stops of one core by the machine for one reason: how often and for how long."""

    core: str
    culprit: str
    count: int
    total_ns: float
    longest_ns: float


@dataclass(frozen=True)
class Unseen:
    """Undisturbed jobs of a task that were above a bound, and in how many the host may have come between.

    `taken`: how often the host took the task's cores while they waited, for `excess_ns` or more, the
    smallest excess. `expected`: in how many of its undisturbed jobs it came by that rate, at the least.
    """

    task: str
    above: int
    excess_ns: float
    taken: int
    expected: float


@dataclass(frozen=True)
class ChainWay:
    """The longest reaction of a chain: when its stimulus came, and each job on the way, in ns."""

    chain: str
    stimulus_ns: float
    # (task, job, read, written)
    links: tuple[tuple[str, int, float, float], ...]


@dataclass(frozen=True)
class Verdict(Judgement):
    """Everything that was found; `ok` says whether the system held, `summary` is the last line for people."""

    rows: tuple[Row, ...] = ()
    tasks: tuple[JobCounts, ...] = ()
    checks: tuple[Check, ...] = ()
    pauses: tuple[Pause, ...] = ()
    ways: tuple[ChainWay, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    not_finite: tuple[NotFinite, ...] = ()
    stops: Stops | None = None
    summary: str = ""
    machine: str = ""
    notes: tuple[str, ...] = field(default=())


def as_data(
    *,
    ok: Held,
    reasons: tuple[str, ...],
    rows: tuple[Row, ...],
    tasks: tuple[JobCounts, ...],
    checks: tuple[Check, ...],
    pauses: tuple[Pause, ...],
    ways: tuple[ChainWay, ...],
    unseen: tuple[Unseen, ...],
    not_finite: tuple[NotFinite, ...],
    stops: Stops | None,
    summary: str,
    machine: str,
    notes: tuple[str, ...],
) -> dict[str, Any]:
    """The verdict as run.json keeps it; an infinite time is the text "inf"."""

    def plain(value: Any) -> Any:
        if type(value) in _AS_THEY_ARE:
            return value
        if isinstance(value, float):
            return "inf" if value == _INFINITE else value
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        if is_dataclass(value):
            value = vars(value)
        if not isinstance(value, dict):
            return value
        return {
            # Most of what is not kept unchanged are times: a call for each costs more than it does.
            key: inner
            if type(inner) in _AS_THEY_ARE or (type(inner) is float and inner != _INFINITE)
            else plain(inner)
            for key, inner in value.items()
        }

    found: dict[str, Any] = plain(
        {
            "ok": ok,
            "summary": summary,
            "machine": machine,
            "reasons": reasons,
            "rows": rows,
            "tasks": tasks,
            "checks": checks,
            "pauses": pauses,
            "ways": ways,
            "unseen": unseen,
            "not_finite": not_finite,
            "stops": None if stops is None else stops.as_data(),
            "notes": notes,
        }
    )
    return found
