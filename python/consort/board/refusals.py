# SPDX-License-Identifier: Apache-2.0
"""Parts of a plan that a board cannot honour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput
from consort.base.toolchain.compiler import PROCESSES
from consort.board.data_flow import POLICIES, THREE_PHASE, up
from consort.board.description import CONTROL_BLOCKS, FIRST_PROCESS, BoardSpec, CoreSpec
from consort.board.generate.kernel import PARTITIONS
from consort.model.channel import STAND_IN
from consort.model.emulation import not_preempted
from consort.model.platform import find_platform
from consort.plan import Plan, PlannedCore, PlannedDevice, PlannedTask
from consort.run.blocks import ROW_DEVICES

if TYPE_CHECKING:
    from consort.board.placement import Placement

# Between two looks where the platform has no figure of a look [ns].
LOOK_NS = 1000
WORD_BYTES = 4


def computed_on(plan: Plan, core: str) -> list[PlannedTask]:
    """The tasks whose steps a core computes: its own, as a worker, or in place of one that did not answer."""
    return [
        task
        for task in plan.tasks.values()
        if core == (task.worker or task.core) or (core == task.core and task.on_miss == "local-fallback")
    ]


def time_on(task: PlannedTask, core: str) -> int | None:
    """The step's declared time on a core [ps]."""
    return task.wcet_ps if core == (task.worker or task.core) else task.fallback_ps


def look_ns(plan: Plan, core: str) -> tuple[int, str]:
    """The time between two looks of a process at what others write, and its source.

    A look is an access to the memory of a channel: as long as the quickest of those it uses.
    """
    figures, processor = Figures(plan), plan.cores[core].processor
    found: dict[int, str] = {}
    for channel in plan.channels.values():
        task = None if channel.exchange_of is None else plan.tasks[channel.exchange_of]
        users = {channel.writer_core, *channel.reader_cores, *((task.core, task.worker) if task else ())}
        if core not in users or channel.memory is None:
            continue
        try:
            cost = figures.access(channel.memory, WORD_BYTES, processor, loaded=False)
        except MissingFigure:
            continue
        if cost.ps >= 1000:
            found[cost.ps // 1000] = f"an access of {processor} to {channel.memory}"
    return min(found.items(), default=(LOOK_NS, "assumed: the platform has no figure of an access"))


def notes(plan: Plan, cores: Sequence[str]) -> Iterator[str]:
    """Notes on processes in the board's time for a run's reader."""
    for core in cores:
        ns, source = look_ns(plan, core)
        yield (
            f"{core} is a process in the board's time: its steps take their declared times, and where it"
            f" waits it looks every {ns / 1000:g} us ({source})"
        )


def refusals(
    plan: Plan, board: BoardSpec, synchronizer: CoreSpec | None, processes: Sequence[str]
) -> Iterator[BadInput]:
    """Obstacles to keeping processes in the board's time."""
    file = plan.file
    if synchronizer is None:
        yield BadInput(
            f"the board {board.name} has no core that starts with it and has a timer interrupt, and only such"
            " a one stops it for the processes beside it",
            file=find_platform(plan.platform_given, file),
            field="emulation.board",
        )
    for core in processes:
        for task in computed_on(plan, core):
            if task.step != STAND_IN and time_on(task, core) is None:
                kind = "offloaded" if task.worker == core else "local"
                processor = plan.cores[core].processor
                yield BadInput(
                    f"{core!r} is a process in the board's time, where a step takes what is declared, and the"
                    f" time of {kind} execution on {processor} is not; add it, for example"
                    f" 'wcet: {{{processor}: {{{kind}: 50us}}}}'",
                    file=file,
                    field=f"tasks.{task.name}.wcet",
                )


class Refusals:
    """Refusals of parts of a plan that a board cannot honour, with place and reason."""

    def __init__(self, where: Placement) -> None:
        self.where = where
        self.plan = where.plan

    def problems(self) -> Iterator[BadInput]:
        yield from self._emulation()
        for core in self.plan.cores.values():
            yield from self._core(core)
        yield from self._places()
        yield from self._channels()
        yield from self._tasks()
        if self.where.synchronized:
            where = self.where
            yield from refusals(self.plan, where.board, where.synchronizer, where.beside)

    def _at(self, field: str, message: str) -> BadInput:
        return BadInput(message, file=self.plan.file, field=field)

    def _emulation(self) -> Iterator[BadInput]:
        plan, spec = self.plan, self.where.board
        emulation = plan.platform.emulation
        assert emulation is not None
        for core, side in emulation.cores.items():
            if side not in spec.named_cores and side not in PROCESSES:
                yield BadInput(
                    f"{core}: {side!r} is neither a core of the board {spec.name}"
                    f" ({', '.join(spec.named_cores)}) nor a kind of process ({', '.join(PROCESSES)})",
                    file=find_platform(plan.platform_given, plan.file),
                    field=f"emulation.cores.{core}",
                )

    def _core(self, core: PlannedCore) -> Iterator[BadInput]:
        platform = self.plan.platform
        task = self.plan.tasks[(core.tasks or core.serves)[0]]
        field = f"tasks.{task.name}." + ("master" if core.tasks and task.worker is not None else "on")
        linux = None if self.where.linux_core is None else self.where.board.linux
        bare = self.where.bare.get(core.name)
        if linux is not None and bare is not None and bare.name not in linux.releases:
            yield self._at(
                field,
                f"{core.name!r} does not start with --rt-linux: Linux releases {', '.join(linux.releases)}",
            )
        if core.name not in self.where.sides:
            assert platform.emulation is not None
            known = ", ".join(platform.emulation.cores)
            yield self._at(field, f"'{core.name}' is not emulated; of {platform.name} {known} are")
            return
        if not core.tasks:
            return
        if core.name not in self.where.played:
            yield self._at(
                field,
                f"{core.name!r} runs Linux, whose time is not the board's: it computes for others; place what"
                " is released there on a bare-metal core",
            )
            return
        side = self.where.played[core.name]
        if core.policy == THREE_PHASE:
            yield from self._three_phase(core)
        elif core.policy not in POLICIES:
            yield self._at(
                f"scheduling.{core.name}.policy",
                f"a board's core does not schedule by {core.policy}; write {', '.join(POLICIES)}",
            )
        elif bare is not None:
            steps = {name: self.plan.tasks[name].step for name in core.tasks}
            if (text := not_preempted(bare, core.policy, steps)) is not None:
                yield self._at(f"scheduling.{core.name}.policy", text)
        if core.wait == "sleep" and side.preempts:
            yield self._at(
                f"scheduling.{core.name}.wait",
                f"the {side.title} is interrupted by its timer and by no answer, so that one that comes while"
                " it sleeps is found late; write spin, or remove it",
            )

    def _three_phase(self, core: PlannedCore) -> Iterator[BadInput]:
        """A core that moves its own jobs, with a DMA channel and a scratchpad of the board's."""
        board, bare = self.where.board, self.where.bare.get(core.name)
        scratchpad = None if bare is None else bare.scratchpad
        policy = f"scheduling.{core.name}.policy"
        if bare is None or scratchpad is None:
            able = [name for name, one in board.named_cores.items() if one.scratchpad is not None]
            which = f"{' and '.join(able)} of {board.name} has one" if able else f"none of {board.name} has"
            yield self._at(
                policy,
                f"{core.name!r} has no scratchpad with a DMA channel there ({which}); write"
                f" {', '.join(POLICIES)}",
            )
            return
        tasks = [self.plan.tasks[name] for name in core.tasks]
        for task in tasks:
            if task.step != STAND_IN:
                yield self._at(
                    f"tasks.{task.name}.step",
                    f"while a step executes nothing moves the next one, as {core.name!r} is its own I/O core;"
                    f" run it on a scratchpad kernel (--on BOARD), or without the step as a stand-in",
                )
        slot = core.slot
        if slot is not None and slot.arbitration != "tdma":
            yield self._at(
                f"scheduling.{core.name}.arbitration",
                "a board's core knows when its own slots are and no other's; write tdma",
            )
        elif slot is not None and slot.length_ps * bare.clock.hertz % 10**12:
            yield self._at(
                f"scheduling.{core.name}.slot",
                f"the slot is not a whole number of ticks of the {bare.title}, {bare.clock.hertz} a second",
            )
        elif slot is not None and slot.round_ps != slot.length_ps:
            yield self._at(policy, "one core of a board is three-phase at most; write another one")
        half = board.memory[scratchpad].size.bytes // PARTITIONS
        for task in tasks:
            footprint = task.footprint
            # Each part begins on a line of its own; a stand-in's inputs and outputs have one each.
            parts = (0, 0) if footprint is None else (footprint.code or 0, max(footprint.data or 0, 1))
            needed = sum(up(part, 64) for part in (*parts, 1, 1))
            if needed > half:
                yield self._at(
                    f"tasks.{task.name}.footprint",
                    f"{needed} bytes do not fit into a partition of the {bare.title}'s scratchpad, {half}",
                )

    def _places(self) -> Iterator[BadInput]:
        """Each core and process has a control block of its own; the last one is Linux's."""
        owners: dict[int, str] = {}
        for name, place in self.where.places.items():
            core = self.plan.cores[name]
            task = (core.tasks or core.serves)[0]
            if place in owners:
                yield self._at(
                    f"tasks.{task}.on",
                    f"{name!r} and {owners[place]!r} are both the board's {self.where.sides[name]}",
                )
            elif place >= CONTROL_BLOCKS - 1:
                most = CONTROL_BLOCKS - 1 - FIRST_PROCESS
                yield self._at(f"tasks.{task}.on", f"at most {most} processes run beside a board")
            owners.setdefault(place, name)
        if (self.where.device_place or 0) >= CONTROL_BLOCKS - 1:
            yield self._at("devices", "no control block is left for the process that plays them")

    def _channels(self) -> Iterator[BadInput]:
        for channel in self.plan.carried:
            device = next((end for end in channel.readers if end not in self.plan.tasks), None)
            if device is not None:
                yield self._at(
                    f"channels.{channel.name}",
                    f"{device!r} is only described, and nothing takes what is written to it on a board;"
                    " remove it as a reader",
                )
            elif not self.where.counted:
                beside = self.where.beside[0]
                yield self._at(
                    f"channels.{channel.name}",
                    f"{beside!r} is {self.where.sides[beside]}: a run with Linux has no time of its own, so"
                    " nothing says what a job finds in a channel; run it without --rt-linux, or place all"
                    " tasks on bare-metal cores",
                )

    def _device(self, device: PlannedDevice) -> str:
        """The reason that a board's executive does not bind a device to a task; empty: it does."""
        if device.kind in (*ROW_DEVICES, "record", "described"):
            return ""
        if device.kind != "plant":
            return (
                f"a board has no {device.kind}s of this machine; make {device.name!r} a plant or a recording"
            )
        if not self.where.counted:
            return (
                f"the plant {device.name!r} goes by the run's time, and beside Linux a board's run has none;"
                " place all tasks on bare-metal cores"
            )
        return ""

    def _tasks(self) -> Iterator[BadInput]:
        for task in self.plan.tasks.values():
            where = f"tasks.{task.name}"
            for way, bindings in (("reads", task.reads), ("writes", task.writes)):
                for binding in bindings:
                    device = self.plan.devices.get(binding.source)
                    refused = "" if device is None else self._device(device)
                    if refused:
                        yield self._at(f"{where}.{way}", refused)
