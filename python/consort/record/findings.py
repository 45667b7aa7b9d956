# SPDX-License-Identifier: Apache-2.0
"""The findings that a record keeps of what was judged: rows of figures, checks of assumptions, and the
sentences that sum them up."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from consort.base.errors import BadInput, Held
from consort.record.summary import Configuration

# The limited quantities. `response`, `compute` and `communication` are of tasks, `channel age` of channels
# (from when the job that wrote was due to the end of the read; `delivery`: from the end of a write until the
# block has arrived over a link), `reaction` and `age` of chains.
Quantity = Literal["response", "compute", "communication", "channel age", "delivery", "reaction", "age"]

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
class NotFinite:
    """Outputs of a task that are not a number, or infinite, in one member; `first` is the job's number."""

    task: str
    member: str
    first: int
    count: int
    outputs: int

    def __str__(self) -> str:
        return (
            f"{self.task}: {self.count} of {self.outputs} outputs are not finite (NaN or infinite) in member"
            f" {self.member}; first job {self.first}"
        )


@dataclass(frozen=True)
class StopsInRun:
    """How many stops the run itself saw while its cores waited, and the longest."""

    count: int
    longest_ns: float


@dataclass(frozen=True)
class StopsSeen:
    """The figures of stops that a record keeps: those of the watch, and of the run itself."""

    seconds: float
    cpus: tuple[int, ...]
    count: int
    per_second: float
    threshold_ns: float
    longest_ns: float
    in_run: StopsInRun | None = None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything that was found; `ok` says whether the system held, `reasons` why it did not and what is not
    known. `summary` is the last line for people."""

    ok: Held
    reasons: tuple[str, ...]
    rows: tuple[Row, ...]
    tasks: tuple[JobCounts, ...]
    checks: tuple[Check, ...]
    pauses: tuple[Pause, ...]
    ways: tuple[ChainWay, ...]
    summary: str
    machine: str
    notes: tuple[str, ...]
    # Not in each version of a record.
    unseen: tuple[Unseen, ...] = ()
    not_finite: tuple[NotFinite, ...] = ()
    stops: StopsSeen | None = None

    @cached_property
    def data(self) -> dict[str, Any]:
        """The findings as run.json keeps them; an infinite time is the text "inf"."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(Findings)}


def findings_of(configuration: Configuration, file: Path | None = None) -> Findings | None:
    """The findings that a record keeps of a configuration; None where nothing was judged.

    `BadInput` names the first field that is not of the form that `Findings.data` has, in `file`.
    """
    kept = configuration.get("verdict")
    if kept is None:
        return None
    try:
        return _findings().validate_python(kept)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        parts = ("configurations", configuration["key"], "verdict", *first["loc"])
        field = ".".join(str(part) for part in parts)
        raise BadInput(f"the record is damaged: {first['msg']}", file=file, field=field) from None


@cache
def _findings() -> TypeAdapter[Findings]:
    return TypeAdapter(Findings)


def _plain(value: Any) -> Any:
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, float):
        return "inf" if value == _INFINITE else value
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if is_dataclass(value):
        value = vars(value)
    if not isinstance(value, dict):
        return value
    return {
        # Most of what is not kept unchanged are times: a call for each costs more than it does.
        key: inner
        if type(inner) in _AS_THEY_ARE or (type(inner) is float and inner != _INFINITE)
        else _plain(inner)
        for key, inner in value.items()
    }
