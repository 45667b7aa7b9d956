# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run: rows of figures, checks of assumptions, and the sentences that sum them up."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal

from consort.judge.bounds import Quantity
from consort.judge.outputs import NotFinite
from consort.judge.stops import Stops
from consort.record.sections import Held, Judgement

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
            return "inf" if value == float("inf") else value
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        if is_dataclass(value):
            value = vars(value)
        if not isinstance(value, dict):
            return value
        return {key: inner if type(inner) in _AS_THEY_ARE else plain(inner) for key, inner in value.items()}

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
