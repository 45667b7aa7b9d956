# SPDX-License-Identifier: Apache-2.0
"""The figures that a bound rests on: the place, the value and the source of each.

No cost is 0 because nobody gave it: what needs a figure that the description lacks has no bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from consort.analysis.channels import WORD_BYTES
from consort.analysis.result import UNSOURCED, Used
from consort.model.base import group_of
from consort.model.channel import STAND_IN
from consort.model.memories import AccessCost, Exchange
from consort.model.quantities import Duration, Quantity
from consort.plan import Plan

# How to get a figure that is missing, by its place: the first that fits.
REMEDIES = (
    (r"tasks\..+\.wcet", "`consort profile` measures {}"),
    (r"tasks\..+\.remote_state\.|memories\..+\.fault", "a run over the remote memory records {}"),
    (r"channels\..+\.size", "write {}: the bytes of a block, the size of its type"),
    (r"(channels|accelerators)\..+\.memory", "write {}: a memory of the platform"),
    (
        r"tasks\..+\.(footprint|cache_sets|accesses)",
        "write {}, from the linker's map or a counter of the processor",
    ),
    (
        r"(cores|memories|exchanges)\.",
        "`consort probe` measures {} on this machine; elsewhere a data sheet has it",
    ),
    (r"", "write {}, from a data sheet or a measurement"),
)

# The source of a jitter that is not given.
FOUND_BY = "docs/explanation/analyses.md, theorem 27"


def remedy_of(place: str) -> str:
    """How to get the figure of a place, with {} for its name."""
    return next(remedy for pattern, remedy in REMEDIES if re.match(pattern, place))


class NotAnalysable(ValueError):
    """An error: the description lacks something that the analysis needs; the text says what.

    `missing`: places of figures that nobody gave, if it is for want of these.
    """

    missing: tuple[str, ...] = ()


def check_together(plan: Plan, core: str) -> None:
    """Raises `NotAnalysable` where what a core has, or one that computes for it, has no bound together."""
    for end in (core, *(plan.tasks[name].computed_on for name in plan.cores[core].tasks)):
        if end in plan.unbounded:
            raise NotAnalysable(plan.unbounded[end][0])


class MissingFigure(NotAnalysable):
    """A cost that nobody gave. `place` is where it would stand, `unplaced` the message for who names that.

    `choices`: of what can be named there, where that is no figure, which could be assumed.
    """

    def __init__(self, place: str, what: str, choices: Iterable[str] = ()) -> None:
        remedy = remedy_of(place).format("it")
        some = ", ".join(choices)
        remedy = f"{remedy} ({some})" if some else f"{remedy}; or write it with 'assumed:' and why"
        super().__init__(f"no figure for {what} ({place}): {remedy}")
        self.missing = (place,)
        self.place, self.unplaced = place, f"no figure for {what}: {remedy}"


@dataclass(frozen=True)
class Cost:
    """A time [ps] and the figures that it is made of."""

    ps: int
    used: tuple[Used, ...]

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.ps + other.ps, (*self.used, *other.used))

    def times(self, count: int) -> Cost:
        return Cost(self.ps * count, self.used)


NOTHING = Cost(0, ())


class Figures:
    """Looks up the costs of a plan.

    `lacking`: collects the places of figures that there are not, instead of an error at the first: a cost is
    then 0, which is the cost of nothing.
    """

    def __init__(self, plan: Plan, lacking: list[str] | None = None) -> None:
        self.lacking = lacking
        self.plan = plan
        self.platform = plan.platform
        self._known = plan.figures
        self._used: dict[str, Used] = {}
        self._accesses: dict[tuple[str, int, str, bool], Cost] = {}

    def _lack(self, place: str, what: str) -> Cost:
        if self.lacking is None:
            raise MissingFigure(place, what)
        self.lacking.append(place)
        return NOTHING

    def used(self, place: str) -> Used:
        """The figure at a place, which is there."""
        if place not in self._used:
            value, source = self._known[place]
            kind, text = (UNSOURCED, "") if source is None else (source.kind, source.source)
            self._used[place] = Used(place, str(value), kind, text)
        return self._used[place]

    def time(self, place: str) -> Cost:
        """The figure at a place, which is there, as a time."""
        value, _ = self._known[place]
        assert isinstance(value, Duration)
        return Cost(value.picoseconds, (self.used(place),))

    def wcet(self, task: str) -> Cost:
        """The execution time of a task where it is placed, as it is executed."""
        planned = self.plan.tasks[task]
        processor = self.plan.processor_of(task)
        here = f"tasks.{task}.wcet"
        for place in (f"{here}.{processor}.{planned.execution}", f"{here}.{processor}", here):
            if place in self._known:
                return self.time(place)
        return self._lack(here, f"the execution time of {task}, {planned.execution} on {processor}")

    def jitter(self, task: str) -> Cost:
        """How much later than its time a release of the task may come, without its core's lateness."""
        planned = self.plan.tasks[task]
        auto = planned.auto_jitter
        if auto is None:
            return Cost(planned.jitter_ps, ())
        if auto.found:
            value = Duration.spelled(planned.jitter_ps)
            return Cost(planned.jitter_ps, (Used(f"tasks.{task}.jitter", value, "bound", FOUND_BY),))
        if self.lacking is not None:
            self.lacking.extend(auto.missing)
            return NOTHING
        error = NotAnalysable(f"the jitter of {task} has no bound: {auto.why or 'nobody has looked'}")
        error.missing = auto.missing
        raise error

    def context_switch(self, core: str) -> Cost:
        """The cost of a core's switch from one task to another."""
        group = group_of(core)
        entry = self.plan.cores[core].entry
        places = [f"scheduling.{entry}.context_switch", f"cores.{group}.context_switch"]
        for place in places:
            if place in self._known:
                return self.time(place)
        return self._lack(f"cores.{group}.context_switch", f"a context switch of {core}")

    def cache_reload(self, core: str) -> Cost:
        """The longer execution of a core's job for each preemption, if the description states one."""
        if self.plan.cores[core].cache_reload_ps is None:
            return NOTHING
        return self.time(f"scheduling.{self.plan.cores[core].entry}.cache_reload")

    def faults(self, task: str) -> Cost:
        """The longest that the faults of a job take whose state lies in remote memory."""
        state = self.plan.tasks[task].remote_state
        if state is None:
            return NOTHING
        often, here = f"tasks.{task}.remote_state.faults", f"memories.{state.memory}.fault"
        record = "a run records how many there were and the longest"
        if state.faults is None:
            raise MissingFigure(often, f"how many faults a job of {task} has at most ({record})")
        for key, needed in (("page", True), ("further", state.prefetch > 1)):
            if needed and f"{here}.{key}" not in self._known:
                what = "a fault on a page of" if key == "page" else "each further page that a fault brings of"
                raise MissingFigure(
                    f"{here}.{key}", f"the longest that {what} {state.memory} takes ({record})"
                )
        assert state.job_ps is not None
        keys = [f"{here}.page", *([f"{here}.further"] if state.prefetch > 1 else [])]
        return Cost(state.job_ps, tuple(self.used(place) for place in (often, *keys)))

    def supply(self, core: str) -> tuple[Used, ...]:
        """The supply that a hypervisor gives the core: a choice, which the hypervisor enforces."""
        planned = self.plan.cores[core]
        return (Used(f"scheduling.{planned.entry}.supply", str(planned.supply), UNSOURCED, ""),)

    def lateness(self, core: str) -> Cost:
        """The lateness of the timer that wakes a core that sleeps until the next release.

        One that sleeps until a margin before it and spins from there comes on time, where the figure says
        how long the margin must be.
        """
        base = self.plan.cores[core].time_base
        if base == "spin":
            return NOTHING
        place = f"cores.{group_of(core)}.timer_lateness"
        if place not in self._known:
            until = "a release" if base == "sleep" else "a margin before a release"
            return self._lack(place, f"how late a timer wakes {core}, which sleeps until {until}")
        return self.time(place) if base == "sleep" else Cost(0, (self.used(place),))

    def transfers(self) -> tuple[Used, ...]:
        """Figures behind the times of loads and unloads: any of the platform's DMA engines may do them."""
        if not self.platform.dmas:
            self._lack("dmas", "a DMA engine that loads and unloads: the platform describes none")
        places = []
        for name, engine in self.platform.dmas.items():
            for key, what in (("setup", f"what it costs to program {name}"), ("rate", f"how fast {name} is")):
                place = f"dmas.{name}.{key}"
                if place in self._known:
                    places.append(place)
                else:
                    self._lack(place, what)
            places += [
                f"dmas.{name}.transfers.{one}.time" for one in engine.transfers if engine.transfers[one].size
            ]
        return tuple(self.used(place) for place in places)

    def moves(self, task: str) -> tuple[int, int]:
        """Times to load and to unload a three-phase task [ps]."""
        footprint = self.plan.tasks[task].footprint
        for key, given in (("", footprint), (".code", footprint and footprint.code)):
            if given is None:
                self._lack(f"tasks.{task}.footprint{key}", f"what is loaded for a job of {task}")
                break
        if footprint is not None and self.plan.tasks[task].step not in (None, STAND_IN):
            # Its types have sizes, which a run takes from the compiler.
            for key in ("data", "inputs", "outputs"):
                if getattr(footprint, key) is None:
                    what = f"the {'state and constants' if key == 'data' else key} of a job of {task}"
                    self._lack(f"tasks.{task}.footprint.{key}", what)
        self.transfers()
        if self.lacking:
            return NOTHING.ps, NOTHING.ps
        assert footprint is not None and footprint.load_ps is not None and footprint.unload_ps is not None
        return footprint.load_ps, footprint.unload_ps

    def given(self, task: str, end: str) -> Cost | None:
        """The master's computation before a request (`send`) or after an answer (`receive`), if given."""
        place = f"tasks.{task}.dispatch.{end}"
        return self.time(place) if place in self._known else None

    def channel(self, name: str) -> tuple[str, int]:
        """A channel's memory and the size of a block of it [bytes]."""
        planned = self.plan.channels[name]
        if planned.memory is None:
            what = f"where the blocks of {name} lie"
            raise MissingFigure(f"channels.{name}.memory", what, self.platform.memories)
        if planned.bytes is None:
            self._lack(f"channels.{name}.size", f"how large a block of {name} is")
            return planned.memory, WORD_BYTES
        return planned.memory, planned.bytes

    def access(self, memory: str, size: int, processor: str, *, loaded: bool = True) -> Cost:
        """One access to `size` bytes from a kind of processor, under load where that has figures."""
        asked = (memory, size, processor, loaded)
        if asked in self._accesses:
            return self._accesses[asked]
        described = self.platform.memories[memory]
        here = f"memories.{memory}.access"
        what = f"an access of {processor} to {memory}"
        if described.access is None:
            return self._lack(here, what)
        cost: AccessCost = described.access
        if processor in described.access.from_:
            here, cost = f"{here}.from.{processor}", described.access.from_[processor]
        figures = cost.under(loaded)
        here = here if figures is cost else f"{here}.loaded"
        if figures.base is None:
            return self._lack(f"{here}.base", what)
        keys = ["base", *(k for k in ("per_byte", "rate", "granularity") if getattr(figures, k) is not None)]
        if len(keys) == 1 and size > WORD_BYTES:
            return self._lack(f"{here}.per_byte", f"each byte of {what}")
        time = figures.picoseconds(size)
        assert time is not None
        found = Cost(time, tuple(self.used(f"{here}.{key}") for key in keys))
        self._accesses[asked] = found
        return found

    def transfer(self, link: str, size: int) -> Cost:
        """One transfer of `size` bytes over a link, with nothing else on it."""
        described = self.platform.links[link]
        for key in described.lacks():
            raise MissingFigure(f"links.{link}.{key}", f"a transfer over {link}")
        time = described.picoseconds(size)
        assert time is not None
        keys = [
            "setup",
            *(key for key in ("latency", "descriptor") if getattr(described, key) is not None),
            "per_descriptor",
            "rate",
        ]
        return Cost(time, tuple(self.used(f"links.{link}.{key}") for key in keys))

    def exchange(self, memory: str, size: int, sender: str, receiver: str) -> Cost | None:
        """The longest that a message of at least `size` bytes was seen to take; None where none was timed.

        From the beginning of its write to the end of its read. A round trip holds both ways. Maxima alone:
        a median or a mean bounds nothing.
        """
        found: list[tuple[int, int, str]] = []
        for name, one in self.platform.exchanges.items():
            ways = [(one.from_, one.to)] + ([(one.to, one.from_)] if one.round_trip else [])
            if one.memory != memory or (sender, receiver) not in ways or one.size is None:
                continue
            place, longest = _longest(name, one)
            if longest is not None and one.size.value.bytes >= size:
                found.append((one.size.value.bytes, longest.picoseconds, place))
        if not found:
            return None
        smallest = min(found)[0]
        _, time, place = max((f for f in found if f[0] == smallest), key=lambda f: f[1])
        return Cost(time, (self.used(place),))

    def signal(self, sender: str, receiver: str) -> Cost:
        """The longest that a signal takes to wake a processor of another kind, or of the same."""
        found = [
            (longest.picoseconds, place)
            for name, one in self.platform.exchanges.items()
            if one.memory is None and (one.from_, one.to) == (sender, receiver) and not one.round_trip
            for place, longest in (_longest(name, one),)
            if longest is not None
        ]
        if not found:
            return self._lack(
                f"exchanges.signal-{sender}-{receiver}.max",
                f"a signal from {sender} that wakes {receiver} (an exchange without a memory, its longest)",
            )
        time, place = max(found)
        return Cost(time, (self.used(place),))


def _longest(name: str, exchange: Exchange) -> tuple[str, Duration | None]:
    """The largest of an exchange's times, under load where there is such a figure."""
    found: list[tuple[Quantity, str]] = []
    for statistics, place in ((exchange, f"exchanges.{name}"), (exchange.loaded, f"exchanges.{name}.loaded")):
        if statistics is not None and statistics.max is not None:
            found.append((statistics.max.value, f"{place}.max"))
    if not found:
        return "", None
    value, place = max(found, key=lambda pair: pair[0].value)
    assert isinstance(value, Duration)
    return place, value
