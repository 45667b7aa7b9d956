# SPDX-License-Identifier: Apache-2.0
"""Where a plan's cores are on an emulated board: its bare-metal cores, its Linux, processes beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from consort.board import rtlinux, synchronized
from consort.board.boards import board_named
from consort.board.description import CONTROL_BLOCKS, FIRST_PROCESS, BoardSpec, CoreSpec
from consort.board.process import PROCESSES
from consort.errors import BadInput
from consort.model import BadDescription, System
from consort.model.platform import find_platform
from consort.plan import Plan, PlannedCore, PlannedDevice, plan
from consort.plan.targets import BOARD
from consort.run.rows import ROW_DEVICES
from consort.run.source import carried

# The number of a policy is its place; and what the executive calls it.
POLICIES = {
    "fixed-priority": "fixed_priority",
    "fixed-priority-non-preemptive": "fixed_priority_non_preemptive",
    "edf": "edf",
}


def is_emulated(system: System) -> bool:
    """Whether the system's platform says which emulated board stands for it."""
    return system.platform_description.emulation is not None


def board_of(system: System) -> BoardSpec:
    """The board that stands for the platform of an emulated system."""
    platform = system.platform_description
    assert platform.emulation is not None
    return board_named(platform.emulation.board or platform.name)


@dataclass(frozen=True)
class Side:
    """What plays one of the plan's cores: a core of the board, or a process beside it in the board's time."""

    title: str
    place: int
    """Its control block."""
    hertz: int
    """Of the clock that its program reads."""
    preempts: bool


@dataclass(frozen=True)
class Placement:
    """A plan on a board."""

    plan: Plan
    board: BoardSpec
    sides: Mapping[str, str]
    """For each of the plan's cores a core of the board, its core under Linux, or a kind of process."""
    kernel: bool = False
    """Whether its scratchpad kernel serves the cores, and not the executive."""
    synchronized: bool = False
    """Whether processes beside the board live in its time, and their steps take what is declared."""

    @cached_property
    def bare(self) -> dict[str, CoreSpec]:
        """The bare-metal core of each of the plan's that is one."""
        cores = self.board.named_cores
        return {name: cores[side] for name, side in self.sides.items() if side in cores}

    @cached_property
    def places(self) -> dict[str, int]:
        """The control block of each of the plan's cores."""
        found = {name: core.place for name, core in self.bare.items()}
        processes = FIRST_PROCESS
        for name, side in self.sides.items():
            if side == self.board.linux_side and self.board.linux is not None:
                found[name] = self.board.core(self.board.linux.core).place
            elif name not in found:
                found[name] = processes
                processes += 1
        return found

    @cached_property
    def played(self) -> dict[str, Side]:
        """What plays each of the plan's cores, but for the core under Linux."""
        found = {}
        for name, side in self.sides.items():
            if name in self.bare:
                core = self.bare[name]
                found[name] = Side(core.title, core.place, core.clock.hertz, core.timer_interrupt)
            elif side != self.board.linux_side:
                found[name] = Side(f"{side} process", self.places[name], 10**9, True)
        return found

    @property
    def masters(self) -> list[str]:
        """The plan's cores that release tasks."""
        return [name for name, core in self.plan.cores.items() if core.tasks]

    @property
    def workers(self) -> list[str]:
        return list(self.plan.workers)

    @property
    def linux_core(self) -> str | None:
        """The plan's core that runs Linux."""
        return next((name for name, side in self.sides.items() if side == self.board.linux_side), None)

    @property
    def beside(self) -> list[str]:
        """The plan's cores that do not live in the board's counted time."""
        return [name for name in self.sides if name not in self.bare]

    @property
    def on_board(self) -> bool:
        """Whether instructions can be counted: no side lives in this machine's time, or in Linux's."""
        return not self.beside

    @property
    def counted(self) -> bool:
        """Whether all of it lives in one time, which is that of the board's instructions."""
        return self.on_board or self.synchronized

    @property
    def synchronizer(self) -> CoreSpec | None:
        """The board's core that stops it for processes in its time."""
        return self.board.synchronizer if self.synchronized else None

    @property
    def needs_time(self) -> bool:
        """Whether a run says nothing without a time that all its cores have."""
        plants = any(device.kind == "plant" for device in self.plan.devices.values())
        return plants or bool(carried(self.plan)) or any(name not in self.bare for name in self.masters)

    @property
    def kind(self) -> str:
        return "offloaded" if self.plan.workers else "local"

    @property
    def title(self) -> str:
        """What is run, in a line."""
        if self.kernel:
            return f"three-phase, on the scratchpad kernel of {self.board.name}"
        masters = ", ".join(self.sides[name] for name in self.masters)
        workers = ", ".join(self.sides[name] for name in self.workers)
        return f"{self.kind}, {masters}" + (f" and {workers}" if workers else "")


def placement(
    system: System, *, rt_linux: bool = False, counted: bool = False, stand_ins: bool = False
) -> Placement:
    """`rt_linux`: a worker's core runs Linux. `counted`: processes beside the board live in its time, which
    they also do where the plan needs one. `BadDescription` says what the board cannot honour."""
    made = plan(system, BOARD, stand_ins=stand_ins)
    emulation = system.platform_description.emulation
    assert emulation is not None
    spec = board_of(system)
    sides = {name: emulation.cores[name] for name in made.cores if name in emulation.cores}
    if rt_linux:
        spec, sides = _with_linux(made, spec, sides)
    found = Placement(replace(made, target=spec.name), spec, sides)
    if found.beside and not rt_linux and (counted or found.needs_time):
        found = replace(found, synchronized=True)
    problems = list(_Refusals(found).problems())
    if problems:
        raise BadDescription(problems)
    return found


def plan_for(system: System, target: str, *, mode: str | None = None, stand_ins: bool = False) -> Plan:
    """A plan for any target, with all that the target refuses: a board's cores and processes refuse too."""
    if target != BOARD:
        return plan(system, target, mode=mode, stand_ins=stand_ins)
    if mode is not None:
        raise BadInput("a board has no such choice", field="--mode")
    return placement(system, stand_ins=stand_ins).plan


def _with_linux(made: Plan, spec: BoardSpec, sides: dict[str, str]) -> tuple[BoardSpec, dict[str, str]]:
    linux = spec.linux
    core = next((name for name in made.workers if linux and sides.get(name) == linux.core), None)
    if linux is None or core is None or spec.linux_side is None:
        which = f"only {linux.core} runs Linux" if linux else "none of its cores runs Linux"
        raise BadInput(
            f"--rt-linux: the worker's core has to run Linux; on the board {spec.name} {which}",
            file=made.system.file,
            field=f"tasks.{next(iter(made.tasks))}.on",
        )
    return rtlinux.with_linux(spec), {**sides, core: spec.linux_side}


class _Refusals:
    """What a board cannot honour of a plan, with place and reason."""

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
            yield from synchronized.refusals(self.plan, where.board, where.synchronizer, where.beside)

    def _at(self, field: str, message: str) -> BadInput:
        return BadInput(message, file=self.plan.system.file, field=field)

    def _emulation(self) -> Iterator[BadInput]:
        system, spec = self.plan.system, self.where.board
        emulation = system.platform_description.emulation
        assert emulation is not None
        for core, side in emulation.cores.items():
            if side not in spec.named_cores and side not in PROCESSES:
                yield BadInput(
                    f"{core}: {side!r} is neither a core of the board {spec.name}"
                    f" ({', '.join(spec.named_cores)}) nor a kind of process ({', '.join(PROCESSES)})",
                    file=find_platform(system.platform, system.file),
                    field=f"emulation.cores.{core}",
                )

    def _core(self, core: PlannedCore) -> Iterator[BadInput]:
        platform = self.plan.system.platform_description
        task = self.plan.tasks[(core.tasks or core.serves)[0]]
        field = f"tasks.{task.name}." + ("master" if core.tasks and task.worker is not None else "on")
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
        if core.policy not in POLICIES:
            yield self._at(
                f"scheduling.{core.name}.policy",
                f"a board's core does not schedule by {core.policy}; write {', '.join(POLICIES)}",
            )
        elif len(core.tasks) > 1 and not side.preempts and "non-preemptive" not in core.policy:
            yield self._at(
                f"scheduling.{core.name}.policy",
                f"the {side.title} has no timer interrupt here, so a job is not preempted;"
                " write policy: fixed-priority-non-preemptive",
            )
        if core.wait == "sleep":
            yield self._at(
                f"scheduling.{core.name}.wait",
                "a board's core spins while a job of its is at a worker; write spin, or remove it",
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

    def _channels(self) -> Iterator[BadInput]:
        for channel in carried(self.plan):
            device = next(
                (end for end in (channel.writer, *channel.readers) if end not in self.plan.tasks), None
            )
            if device is not None:
                yield self._at(
                    f"channels.{channel.name}",
                    f"{device!r} is only described; a board's channels lie between tasks that have steps",
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
        """Why a board's executive does not bind a device to a task; empty: it does."""
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
            if task.arrival is not None:
                yield self._at(f"{where}.arrival", "a board's cores release by their clocks, and by no block")
            if task.min_distances_ps:
                text = "a board's releases are a period apart; remove it"
                yield self._at(f"{where}.min_distances", text)
            if task.restart_worker:
                yield self._at(f"{where}.restart_worker", "a board's worker is not started again; remove it")
            for way, bindings in (("reads", task.reads), ("writes", task.writes)):
                for binding in bindings:
                    device = self.plan.devices.get(binding.source)
                    refused = "" if device is None else self._device(device)
                    if refused:
                        yield self._at(f"{where}.{way}", refused)


__all__ = ["POLICIES", "Placement", "Side", "board_of", "is_emulated", "placement", "plan_for"]
