# SPDX-License-Identifier: Apache-2.0
"""Choices beside places and ranks: slots, memories of requests and answers, budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from consort.analysis.channels import WORD_BYTES
from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput, nearest
from consort.model import Duration, System
from consort.model.base import WrongValue
from consort.plan import plan

Kind = Literal["slots", "memories", "supplies", "bandwidths"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# The choice that is made by itself, after the rest (thresholds.py).
THRESHOLDS = "thresholds"
# In so many steps a range is looked at that says nothing else, and a supply, and a budget of accesses.
STEPS = 10
SUPPLY_STEPS = 100
# Slack and shares are counted in billionths.
BILLION = 10**9
# Memories that hold no block which another core is to find.
_NOT_SHARED = ("scratchpad", "flash", "cache", "remote")


@dataclass(frozen=True)
class Range:
    """The values to look at: from the first in steps to the last; times in ps."""

    first: int
    last: int
    step: int
    text: str = ""
    """As it was written."""

    def values(self) -> list[int]:
        return sorted({*range(self.first, self.last, self.step), self.last})


# The kinds to choose, each with its range, if one is given.
Choose = Mapping[Kind, Range | None]


@dataclass(frozen=True)
class Setting:
    """One value of a description that is chosen."""

    kind: Kind
    path: tuple[str, ...]
    """Where it stands in the description."""
    values: tuple[str | int, ...]
    """As they are written; the value that the description has is among them."""
    given: int
    allowed: bool = True
    """True if the given value may stay: it may lie beside the range that was asked for."""
    cores: frozenset[str] = frozenset()
    """The cores whose share of something it says."""
    task: str | None = None
    """The offloaded task whose requests or answers it places."""
    ends: frozenset[str] = frozenset()
    """The tasks that access what it places, and how much there is of it [bytes]."""
    room: int = 0
    shares: tuple[int, ...] = ()
    """For a budget: the share that each value takes of its period, of all its cores, in billionths."""

    @property
    def rising(self) -> bool:
        """True if no bound grows with the index (placement.md, lemma 7)."""
        return self.kind == "supplies"

    def __str__(self) -> str:
        return ".".join(self.path)


def parsed(wanted: Iterable[str]) -> Choose:
    """The kinds that `--choose` names: `slots`, `slots=50us..500us`, `supplies=1ms..3ms/100us`, several with
    commas."""
    found: dict[Kind, Range | None] = {}
    for one in (part.strip() for text in wanted for part in text.split(",")):
        name, given, span = one.partition("=")
        if name == THRESHOLDS:
            text = "thresholds are chosen alone, for the places as they are, and for '--best memory'"
            raise BadInput(text, field="--choose")
        kind = next((kind for kind in KINDS if kind == name), None)
        if kind is None:
            raise BadInput(f"{name!r} cannot be chosen; {nearest(name, KINDS, 'kinds')}", field="--choose")
        if kind in found:
            raise BadInput(f"{kind!r} stands twice; name it once", field="--choose")
        found[kind] = _range(kind, span) if given else None
    return found


def _range(kind: Kind, text: str) -> Range:
    example = "bandwidths=100..2000/100" if kind == "bandwidths" else f"{kind}=50us..500us/10us"
    if kind == "memories":
        raise BadInput("memories have no range; write 'memories' alone", field="--choose")
    ends, stepped, by = text.partition("/")
    first, dots, last = ends.partition("..")
    try:
        values = [_number(kind, one) for one in (first, last, *([by] if stepped else []))]
    except (WrongValue, ValueError):
        values = []
    if not dots or not values or min(values) <= 0 or values[0] > values[1]:
        raise BadInput(f"{text!r} is not a range; write it as in {example}", field="--choose")
    step = values[2] if stepped else max(1, -(-(values[1] - values[0]) // STEPS))
    if (values[1] - values[0]) // step > 1000:
        raise BadInput(
            f"{text!r} has more than 1000 values; name a larger step, as in {example}", field="--choose"
        )
    return Range(values[0], values[1], step, text)


def _number(kind: Kind, text: str) -> int:
    return int(text) if kind == "bandwidths" else Duration.parse(text.strip()).picoseconds


def settings_of(
    system: System, choose: Choose, cores: Mapping[str, Sequence[str]], loads: Mapping[str, Iterable[str]]
) -> tuple[Setting, ...]:
    """The settings of a description. `cores`: by entry of `scheduling` the cores that it speaks of and
    tasks may come to; `loads`: for each of them the tasks that may be loaded there."""
    return tuple(
        setting for kind, span in choose.items() for setting in _FINDERS[kind](system, span, cores, loads)
    )


def check_choose(system: System, choose: Choose, found: Iterable[Setting]) -> None:
    """`BadInput` where a kind was asked for that the description does not have."""
    kinds = {setting.kind for setting in found}
    for kind in choose:
        if kind not in kinds:
            raise BadInput(_NOTHING[kind], file=system.file, field="--choose")


_NOTHING: dict[Kind, str] = {
    "slots": "no core takes turns at one DMA engine whose rate the platform says, so there is no slot to"
    " choose",
    "memories": "no channel between tasks lies in a memory beside another one that could hold it and says"
    " what an access costs (memories.….access); a channel on a link stays there, and so do requests and"
    " answers whose cost 'dispatch' says",
    "supplies": "no core has a 'supply' whose budget could be chosen",
    "bandwidths": "no core has a 'bandwidth' whose budget could be chosen",
}
Finder = Iterator[Setting]


def _slots(
    system: System, span: Range | None, cores: Mapping[str, Sequence[str]], loads: Mapping[str, Iterable[str]]
) -> Finder:
    """`auto`, the slot as it is, and the range; without one the times of the loads and unloads."""
    planned = plan(system, "analysis")
    for entry, names in cores.items():
        scheduling = system.scheduling[entry]
        if scheduling.policy != "three-phase" or scheduling.arbitration not in (None, "tdma") or not names:
            continue
        longest: set[int] = set()
        for task in loads[entry]:
            footprint = planned.tasks[task].footprint
            if footprint is None or footprint.load_ps is None or footprint.unload_ps is None:
                return
            longest.add(max(footprint.load_ps, footprint.unload_ps))
        times = sorted(longest) if span is None else span.values()
        values: list[str] = [*(["auto"] if span is None else []), *(Duration.spelled(one) for one in times)]
        given = str(scheduling.slot)
        every = list(dict.fromkeys([*values, given]))
        path = ("scheduling", entry, "slot")
        may_stay = span is None or given in values
        yield Setting("slots", path, tuple(every), every.index(given), may_stay, frozenset(names))


def _memories(
    system: System, _span: Range | None, _cores: Mapping[str, Sequence[str]], _loads: object
) -> Finder:
    """Memories of channels between tasks: those on no link, and no requests and answers that `dispatch` has
    timed."""
    platform = system.platform_description
    for name, planned in plan(system, "analysis").channels.items():
        task = planned.exchange_of
        if task is not None and system.tasks[task].dispatch is not None:
            continue
        here, bytes_ = planned.memory, planned.bytes
        if name not in system.channels or bytes_ is None or here not in platform.memories:
            continue
        if planned.writer_core is None or None in planned.reader_cores:
            # Nothing says what a device pays.
            continue
        room = bytes_ * (planned.capacity or 1)
        values = [
            memory
            for memory, one in platform.memories.items()
            if memory == here
            or (
                one.kind not in _NOT_SHARED
                and one.access is not None
                and (one.size is None or one.size.value.bytes >= room)
            )
        ]
        if len(values) > 1:
            ends = frozenset({planned.writer, *planned.readers})
            path = ("channels", name, "memory")
            yield Setting(
                "memories", path, tuple(values), values.index(here), task=task, ends=ends, room=room
            )


def suits(system: System, setting: Setting, memory: str, cores: Iterable[str]) -> bool:
    """True if a channel may lie in another memory when these cores access it.

    It is known what an access costs there; and what is part of a `wcet`, as the accesses of all channels
    are that are not requests and answers, costs no more than in the memory that is described.
    """
    figures = Figures(plan(system, "analysis"))
    here, bytes_ = figures.channel(setting.path[1])
    try:
        for core in cores:
            kind = system.platform_description.core(core).processor_name
            for size in (WORD_BYTES, bytes_):
                there = figures.access(memory, size, kind).ps
                if setting.task is None and there > figures.access(here, size, kind).ps:
                    return False
    except MissingFigure:
        return False
    return True


def _supplies(
    system: System, span: Range | None, cores: Mapping[str, Sequence[str]], _loads: object
) -> Finder:
    """Hundredths of the period, and the budget as it is."""
    for entry, names in cores.items():
        supply = system.scheduling[entry].supply
        if supply is None or not names:
            continue
        period, given = supply.period.picoseconds, supply.budget.picoseconds
        times = [period * k // SUPPLY_STEPS for k in range(1, SUPPLY_STEPS + 1)]
        wanted = set(times) if span is None else {one for one in span.values() if one <= period}
        yield _budget(
            "supplies",
            ("scheduling", entry, "supply", "budget"),
            [one for one in wanted if one],
            given,
            names,
            spelled=Duration.spelled,
            shares=lambda one, period=period: -(-one * BILLION // period),
        )


def _bandwidths(
    system: System, span: Range | None, cores: Mapping[str, Sequence[str]], _loads: object
) -> Finder:
    """Tenths of the accesses that a period has time for, and the budget as it is."""
    for entry, names in cores.items():
        bandwidth = system.scheduling[entry].bandwidth
        if bandwidth is None or not names:
            continue
        period = bandwidth.period.picoseconds
        longest, shortest = (one.value.picoseconds for one in (bandwidth.longest, bandwidth.shortest))
        # With more the core is never stopped.
        most = max(1, period // max(shortest, 1))
        wanted = (
            {max(1, most * k // STEPS) for k in range(1, STEPS + 1)} if span is None else {*span.values()}
        )
        yield _budget(
            "bandwidths",
            ("scheduling", entry, "bandwidth", "budget"),
            [*wanted],
            bandwidth.budget,
            names,
            spelled=lambda one: one,
            shares=lambda one, longest=longest, period=period: -(-one * longest * BILLION // period),
        )


def _budget(
    kind: Kind,
    path: tuple[str, ...],
    wanted: Sequence[int],
    given: int,
    cores: Sequence[str],
    *,
    spelled: Any,
    shares: Any,
) -> Setting:
    values = sorted({*wanted, given})
    return Setting(
        kind,
        path,
        tuple(spelled(one) for one in values),
        values.index(given),
        given in wanted or not wanted,
        frozenset(cores),
        shares=tuple(shares(one) * len(cores) for one in values),
    )


_FINDERS: dict[Kind, Any] = {
    "slots": _slots,
    "memories": _memories,
    "supplies": _supplies,
    "bandwidths": _bandwidths,
}
