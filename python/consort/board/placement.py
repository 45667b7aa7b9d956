# SPDX-License-Identifier: Apache-2.0
"""The placement of a plan's cores on an emulated board: its bare-metal cores, its Linux, processes beside
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from consort.base.errors import BadInput
from consort.board import rtlinux
from consort.board.boards import board_named
from consort.board.description import FIRST_PROCESS, BoardSpec, CoreSpec
from consort.board.records import written
from consort.board.refusals import Refusals
from consort.model import BadDescription, System
from consort.plan import Plan, plan
from consort.plan.targets import BOARD


def is_emulated(system: System) -> bool:
    """True if the system's platform names an emulated board that stands for it."""
    return system.platform_description.emulation is not None


def board_of(system: System) -> BoardSpec:
    """The board that stands for the platform of an emulated system."""
    platform = system.platform_description
    assert platform.emulation is not None
    return board_named(platform.emulation.board or platform.name)


@dataclass(frozen=True)
class Side:
    """The place of one of the plan's cores: a core of the board, or a process beside it in the board's
    time."""

    title: str
    place: int
    """Its control block."""
    hertz: int
    """The frequency of the clock that its program reads."""
    preempts: bool


@dataclass(frozen=True)
class Placement:
    """A plan on a board."""

    plan: Plan
    board: BoardSpec
    sides: Mapping[str, str]
    """For each of the plan's cores a core of the board, its core under Linux, or a kind of process."""
    kernel: System | None = None
    """The description, if the board's scratchpad kernel serves the cores: its tables are made of that."""
    synchronized: bool = False
    """True if processes beside the board live in its time, and their steps take their declared times."""

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
        """The side that plays each of the plan's cores, but for the core under Linux."""
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
    def device_place(self) -> int | None:
        """The control block of the process that plays devices, where the plan has such."""
        if not written(self.plan):
            return None
        return FIRST_PROCESS + sum(place >= FIRST_PROCESS for place in self.places.values())

    @property
    def on_board(self) -> bool:
        """True if instructions can be counted: no side lives in this machine's time, or in Linux's."""
        return not self.beside and self.device_place is None

    @property
    def counted(self) -> bool:
        """True if all sides live in one time, which is that of the board's instructions."""
        return self.on_board or self.synchronized

    @property
    def synchronizer(self) -> CoreSpec | None:
        """The board's core that stops it for processes in its time."""
        return self.board.synchronizer if self.synchronized else None

    @property
    def needs_time(self) -> bool:
        """True if a run has no meaning without a time that all its cores share."""
        plants = any(device.kind == "plant" for device in self.plan.devices.values())
        return plants or bool(self.plan.carried) or any(name not in self.bare for name in self.masters)

    @property
    def kind(self) -> str:
        return "offloaded" if self.plan.workers else "local"

    @property
    def title(self) -> str:
        """A title for the run, in a line."""
        if self.kernel is not None:
            return f"three-phase, on the scratchpad kernel of {self.board.name}"
        masters = ", ".join(self.sides[name] for name in self.masters)
        workers = ", ".join(self.sides[name] for name in self.workers)
        return f"{self.kind}, {masters}" + (f" and {workers}" if workers else "")


def placement(
    system: System,
    *,
    mode: str | None = None,
    rt_linux: bool = False,
    counted: bool = False,
    stand_ins: bool = False,
) -> Placement:
    """`mode`: the system as it is in that mode. `rt_linux`: a worker's core runs Linux. `counted`: processes
    beside the board live in its time, which they also do where the plan needs one. `BadDescription` says what
    the board cannot honour."""
    made = plan(system, BOARD, mode=mode, stand_ins=stand_ins)
    emulation = system.platform_description.emulation
    assert emulation is not None
    spec = board_of(system)
    sides = {name: emulation.cores[name] for name in made.cores if name in emulation.cores}
    if rt_linux:
        spec, sides = _with_linux(made, spec, sides)
    found = Placement(replace(made, target=spec.name), spec, sides)
    if not found.on_board and not rt_linux and (counted or found.needs_time):
        found = replace(found, synchronized=True)
    problems = list(Refusals(found).problems())
    if problems:
        raise BadDescription(problems)
    return found


def plan_for(system: System, target: str, *, mode: str | None = None, stand_ins: bool = False) -> Plan:
    """A plan for any target, with all that the target refuses: a board's cores and processes refuse too."""
    if target != BOARD:
        return plan(system, target, mode=mode, stand_ins=stand_ins)
    return placement(system, mode=mode, stand_ins=stand_ins).plan


def _with_linux(made: Plan, spec: BoardSpec, sides: dict[str, str]) -> tuple[BoardSpec, dict[str, str]]:
    linux = spec.linux
    core = next((name for name in made.workers if linux and sides.get(name) == linux.core), None)
    if linux is None or core is None or spec.linux_side is None:
        which = f"only {linux.core} runs Linux" if linux else "none of its cores runs Linux"
        raise BadInput(
            f"--rt-linux: the worker's core has to run Linux; on the board {spec.name} {which}",
            file=made.file,
            field=f"tasks.{next(iter(made.tasks))}.on",
        )
    return rtlinux.with_linux(spec), {**sides, core: spec.linux_side}


__all__ = ["Placement", "Side", "board_of", "is_emulated", "placement", "plan_for"]
