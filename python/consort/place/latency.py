# SPDX-License-Identifier: Apache-2.0
"""The time to pass a block through each channel between tasks (analyses.md, theorem 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from consort.analysis.channels import WORD_BYTES, Implementation, Side, read_time, write_time
from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput
from consort.model import System
from consort.place.problem import Choice, Place, Problem
from consort.plan import PlannedChannel, plan


@dataclass(frozen=True)
class End:
    """One end of a channel: its task's cost for each reader."""

    channel: str
    task: str
    index: int
    """The decision that says where the task runs."""
    implementation: Implementation
    writes: bool
    at_worker: bool = False

    def core(self, place: Place) -> str | None:
        """The core that accesses the channel; None: a request, or an answer, of a task that runs locally."""
        if "." in self.channel:
            return None if place.master is None else place.on if self.at_worker else place.master
        return place.on if place.master is None else place.master


class Latencies:
    """The latencies of mailboxes and queues, and the reads of snapshots, in memories."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[tuple[End, str, str], int] = {}

    @cached_property
    def _figures(self) -> Figures:
        return Figures(plan(self.problem.system, "analysis"))

    def check(self) -> None:
        """`BadInput` where what is described lacks a figure for any place that is to be chosen."""
        for ends in self.ends.values():
            for end in ends:
                decision = self.problem.decisions[end.index]
                kept = end.task in self.problem.kept
                for place in (decision.places[decision.given],) if kept else decision.places:
                    self.cost(end, place, self.here(end))
        if not any(self.ends.values()):
            raise BadInput(
                "no channel between tasks lies in a memory and has a latency; choose another objective",
                file=self.problem.system.file,
                field="channels",
            )

    @cached_property
    def memories(self) -> dict[str, str | None]:
        """The memory of each channel as described."""
        return {name: one.memory for name, one in self._figures.plan.channels.items()}

    @cached_property
    def ends(self) -> dict[str | None, list[End]]:
        """Each end as often as it counts, by mode: a writer once for each of its readers."""
        return {view: list(self._ends(view, system)) for view, system in self.problem.systems.items()}

    def _ends(self, view: str | None, system: System) -> Iterator[End]:
        links = system.platform_description.links
        active = self.problem.active[view]
        for name, channel in plan(self.problem.system, "analysis", mode=view).channels.items():
            if channel.memory in links or channel.implementation in ("double-buffer", "versions"):
                continue
            kind: Implementation = channel.implementation  # type: ignore[assignment]
            if channel.exchange_of is not None:
                index, asks = active[channel.exchange_of], name.endswith(".in")
                yield End(name, channel.exchange_of, index, kind, True, not asks)
                yield End(name, channel.exchange_of, index, kind, False, asks)
                continue
            yield from self._free(channel, kind, active)

    def _free(
        self, channel: PlannedChannel, kind: Implementation, active: Mapping[str, int]
    ) -> Iterator[End]:
        if channel.writer_core is None:
            return
        for reader, core in zip(channel.readers, channel.reader_cores, strict=True):
            if core is None:
                continue
            if kind != "snapshot":
                yield End(channel.name, channel.writer, active[channel.writer], kind, True)
            yield End(channel.name, reader, active[reader], kind, False)

    def cost(self, end: End, place: Place, memory: str) -> int:
        """The cost of an end at a place [ps]; `BadInput` names a figure that lacks."""
        core = end.core(place)
        if core is None:
            return 0
        kind = self.problem.system.platform_description.core(core).processor_name
        key = (end, kind, memory)
        if key not in self._known:
            try:
                side = self._side(end.channel, memory, kind)
            except MissingFigure as missing:
                raise BadInput(
                    f"{missing}, and nothing is 0 because nobody gave it; add it, or keep {end.task} where it"
                    f" is known (--keep {end.task})",
                    file=self.problem.system.file,
                    field=f"channels.{end.channel}",
                ) from None
            look = 0 if end.implementation == "snapshot" else side.word
            self._known[key] = (
                write_time(end.implementation, side)
                if end.writes
                else look + read_time(end.implementation, side)
            )
        return self._known[key]

    def _side(self, channel: str, memory: str, kind: str) -> Side:
        size = self._figures.channel(channel)[1]
        word, copy = (self._figures.access(memory, bytes_, kind) for bytes_ in (WORD_BYTES, size))
        return Side(word.ps, copy.ps)

    def value(self, choice: Choice) -> int:
        """The sum, in the mode in which it is largest, as a value (negative)."""
        places = self.problem.places(choice)
        chosen = {
            one.path[1]: str(value) for one, value in self.problem.values(choice) if one.kind == "memories"
        }
        return -max(
            sum(self.cost(end, places[end.index], chosen.get(end.channel) or self.here(end)) for end in ends)
            for ends in self.ends.values()
        )

    def here(self, end: End) -> str:
        memory = self.memories[end.channel]
        if memory is None:
            raise BadInput(
                f"nothing says where the blocks of {end.channel} lie; add its 'memory'",
                file=self.problem.system.file,
                field=f"channels.{end.channel}.memory",
            )
        return memory
