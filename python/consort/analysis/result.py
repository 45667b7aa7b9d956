# SPDX-License-Identifier: Apache-2.0
"""The result of an analysis: a bound, its source, its assumptions and figures, and the steps to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, overload

from consort.base.errors import Held
from consort.base.units import counted, html_table
from consort.model.base import group_of
from consort.model.quantities import LARGEST, Duration

StepKind = Literal[
    "blocking",
    "interference",
    "own",
    "suspension",
    "jitter",
    "slot",
    "load",
    "unload",
    "communication",
    "supply",
]


# Not frozen, which makes an object five times as dear: a large system has millions.
@dataclass(slots=True, unsafe_hash=True)
class Step:
    """A part of a bound's worst case.

    `start` and `length` are in ps from the release of the job (or from the beginning of its busy period,
    where a note says so); `count` is how many jobs or operations it stands for.
    """

    kind: StepKind
    label: str
    start: int
    length: int
    count: int = 1
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{in_words(self.length):>12}  {self.kind}: {self.label}{note}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "label": self.label,
            "start_ps": self.start,
            "length_ps": self.length,
            "count": self.count,
            "note": self.note,
        }


class Steps:
    """Collects the parts of a worst case, each beginning where the one before it ended [ps]."""

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self._steps: list[Step] = []

    def put(self, kind: StepKind, label: str, length: int, count: int = 1, note: str = "") -> None:
        """Appends a step; one of no length is left out."""
        if length:
            self._steps.append(Step(kind, label, self._at, length, count, note))
            self._at += length

    def done(self) -> tuple[Step, ...]:
        return tuple(self._steps)


class Later(Sequence[Step]):
    """Steps that are made when somebody looks at them.

    A large system has millions, each of its bounds one for every task before it, and a table shows none.
    """

    def __init__(self, make: Callable[[], tuple[Step, ...]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> tuple[Step, ...]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, place: int | slice) -> Step | tuple[Step, ...]:
        return self._made[place]

    def __len__(self) -> int:
        return len(self._made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._made == tuple(other)

    def __hash__(self) -> int:
        return hash(self._made)

    def __reduce__(self) -> tuple[Any, ...]:
        # As it was made: what it would be made of is larger.
        return tuple, (self._made,)


# The name of a source for a figure whose description states none.
UNSOURCED = "given"


@dataclass(frozen=True, order=True)
class Used:
    """A figure that a bound rests on."""

    place: str
    value: str
    kind: str
    """Its provenance: published, derived, measured, …, or `given` where the description names no source."""
    source: str

    def to_json(self) -> dict[str, str]:
        return {"place": self.place, "value": self.value, "kind": self.kind, "source": self.source}


def kinds_of(figures: Iterable[Used]) -> list[str]:
    """The kinds of figures, those that say least first."""
    order = (UNSOURCED, "assumed", "measured", "simulated", "counted", "derived", "published", "bound")
    return sorted({one.kind for one in figures}, key=order.index)


def joined(*figures: Iterable[Used]) -> tuple[Used, ...]:
    """All figures of several bounds, each once."""
    return tuple(sorted({one for some in figures for one in some}))


@dataclass(frozen=True)
class Bound:
    """An upper bound of a task's response time, from release to the end of its last part [ps].

    `response` is None where the analysis found no bound (the iteration left its limit); `schedulable` is then
    False. `deadline` is relative to the release [ps]. With release jitter both count from the moment at which
    the release was due.

    A chain's or a channel's bound has this form too: `task` is then its name, `kind` says what is bounded,
    and `deadline` is None where nothing was required of it.
    """

    task: str
    response: int | None
    deadline: int | None
    source: str
    assumptions: tuple[str, ...] = ()
    explanation: Sequence[Step] = ()
    core: str = ""
    # Notes on the bound: that it is for comparison only, that lower tasks were left out.
    notes: tuple[str, ...] = field(default=())
    # The bounded quantity: "response time", "reaction time", "data age", "latency", …
    kind: str = "response time"
    # The costs that it rests on, each with its source; and where those would stand that nobody gave.
    figures: tuple[Used, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def schedulable(self) -> bool:
        return self.response is not None and (self.deadline is None or self.response <= self.deadline)

    @property
    def held(self) -> Held:
        """Undecided where only a figure that nobody gave would tell."""
        if self.schedulable:
            return Held.HELD
        return Held.UNDECIDED if self.response is None and self.missing else Held.NOT_HELD

    @property
    def slack(self) -> int | None:
        """Deadline minus bound [ps]; negative when the bound is above the deadline."""
        return None if self.response is None or self.deadline is None else self.deadline - self.response

    @property
    def lateness(self) -> Duration:
        """How late a timer wakes the core, where that sleeps until releases: a part of the jitter."""
        place = f"cores.{group_of(self.core)}.timer_lateness"
        known = (Duration.parse(one.value) for one in self.figures if one.place == place)
        return next(known, Duration(0))

    def note_of(self, step: Step) -> str:
        """The note of a step of its explanation; of a late release the figure that it rests on."""
        if step.kind != "jitter" or not self.lateness.value:
            return step.note
        note = f"the core sleeps until then: timer_lateness {self.lateness}"
        return f"{step.note}; {note}" if step.note else note

    @property
    def parts(self) -> list[tuple[str, int]]:
        """The parts that it is made of, in words, with their lengths [ps]."""
        return [(self._in_words(step), step.length) for step in self.explanation]

    def _in_words(self, step: Step) -> str:
        if step.kind == "own" and step.label == self.task:
            return "its own execution"
        note = self.note_of(step) if step.kind in ("jitter", "blocking") else ""
        return f"{step.kind}: {step.label}" + (f" ({note})" if note else "")

    def verdict(self) -> str:
        """One line: the bounded quantity, its limit, and the amount by which it fails."""
        where = f"{self.task} on {self.core}" if self.core else self.task
        if self.response is None:
            return f"{where}: {self.kind} has no bound" + (f": {'; '.join(self.notes)}" if self.notes else "")
        text = f"{where}: {self.kind} at most {in_words(self.response)}"
        if self.deadline is None:
            return text
        text += f", allowed {in_words(self.deadline)}"
        return text if self.schedulable else f"{text}: too late by {in_words(self.response - self.deadline)}"

    def __repr__(self) -> str:
        return f"<Bound {self.verdict()}>"

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "kind": self.kind,
            "core": self.core,
            "response_ps": self.response,
            "deadline_ps": self.deadline,
            "schedulable": self.schedulable,
            "source": self.source,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "rests_on": kinds_of(self.figures),
            "figures": [one.to_json() for one in self.figures],
            "missing": list(self.missing),
            "explanation": [step.to_json() for step in self.explanation],
            "provenance": "bound",
        }


class Bounds(list[Bound]):
    """The bounds of a system, as a notebook shows them."""

    def __repr__(self) -> str:
        return f"<{self._head()}>"

    def _head(self) -> str:
        none = sum(bound.response is None for bound in self)
        late = sum(not bound.schedulable for bound in self) - none
        return f"{counted(len(self), 'bound')}: {late} above what is allowed, {none} not found"

    def _repr_html_(self) -> str:
        rows = [
            (
                bound.task,
                bound.core,
                bound.kind,
                *(None if ps is None else in_words(ps) for ps in (bound.response, bound.deadline)),
                "no bound" if bound.response is None else "holds" if bound.schedulable else "too late",
            )
            for bound in self
        ]
        return html_table(self._head(), ("of", "core", "what", "at most", "allowed", ""), rows)


def least(bounds: Iterable[Bound]) -> Bound:
    """The lowest of several bounds of one thing; where there is none, the first that says why."""
    return min(bounds, key=lambda bound: (bound.response is None, bound.response or 0))


def with_theorem(source: str, bound: Bound) -> str:
    """The source of a bound to which one more theorem was applied; `source` ends with "with"."""
    return source + bound.source.partition("analyses.md, ")[2]


def in_words(picoseconds: int) -> str:
    """A time, exactly, in the largest unit in which it is at least 1."""
    sign, value = ("-", -picoseconds) if picoseconds < 0 else ("", picoseconds)
    unit, factor = max(
        ((u, f) for u, f in Duration.units.items() if f <= max(value, 1)), key=lambda pair: pair[1]
    )
    whole, rest = divmod(value, factor)
    digits = len(str(factor)) - 1
    fraction = f".{rest:0{digits}d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{fraction}{unit}"


OUT_OF_RANGE = "out-of-range"
OUT_OF_RANGE_NOTE = "its busy window, or a time of it, leaves 63 bits of picoseconds (106 days)"


def within_range(analysis: Callable[..., dict[str, Any]], **arguments: Any) -> dict[str, Any]:
    """The result of an analysis of the engine, within 63 bits; without a bound, and with this verdict, if a
    sum is too large."""
    try:
        return analysis(**arguments)
    except OverflowError:
        pass
    except TypeError:
        # The engine takes no longer numbers. To look for them before each of thousands of calls takes longer
        # than the calls.
        lists = (value for value in arguments.values() if isinstance(value, list) and value)
        if not any(isinstance(value[0], int) and max(value) > LARGEST for value in lists):
            raise
    return {"verdict": OUT_OF_RANGE, "bound": None}
