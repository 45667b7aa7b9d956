# SPDX-License-Identifier: Apache-2.0
"""The emulated board that stands for a platform, and the cores of it on which no job is preempted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consort.base.errors import BadInput
from consort.base.toolchain.builds import source_tree
from consort.model.base import Described, Name, NonEmpty
from consort.model.channel import STAND_IN
from consort.model.document import Location
from consort.model.reading import read_document

if TYPE_CHECKING:
    from consort.model.description import System

BOARD_FILE = "board.yaml"
PREEMPTIVE = ("fixed-priority", "edf")


class Emulation(Described):
    """The emulated board that stands for the platform, and what stands for its cores."""

    board: Name | None = Field(
        default=None,
        description="A folder under ports/; without it the board of the platform's own name.",
        examples=["mine"],
    )
    cores: dict[Name, Name] = Field(
        min_length=1,
        description="By the platform's core: a core of the board, or a kind of process beside it.",
        examples=["{m4-0: m4f, a7-0: armv7}"],
    )


class EmulatedCore(Described):
    """The keys of a board's core that rules of descriptions read."""

    title: NonEmpty = Field(description="Its name in messages.", examples=["Cortex-R5F"])
    timer_interrupt: bool = Field(
        default=False,
        description="True if it has a timer interrupt; without one jobs are not preempted.",
    )


class _Core(EmulatedCore):
    model_config = ConfigDict(extra="ignore")


class _Board(BaseModel):
    cores: dict[str, _Core]


@cache
def _cores(file: Path, _changed: int) -> dict[str, _Core]:
    try:
        return _Board.model_validate(read_document(file, "board description").data).cores
    except (BadInput, ValidationError):
        return {}  # the board itself is refused when something is to run on it


def _emulated(system: System, core: str) -> EmulatedCore | None:
    """The board's core that stands for a core; None where none does, or no source tree is there."""
    platform, root = system.platform_description, source_tree()
    if platform.emulation is None or root is None:
        return None
    file = root / "ports" / (platform.emulation.board or platform.name) / BOARD_FILE
    cores = _cores(file, file.stat().st_mtime_ns) if file.is_file() else {}
    return cores.get(platform.emulation.cores.get(core, ""))


def not_preempted(core: EmulatedCore, policy: str, steps: Mapping[str, object]) -> str | None:
    """The reason that a board's core cannot schedule tasks, given by their steps, by a policy; None where it
    can. A stand-in's job looks by itself whether another one is due."""
    computing = [task for task, step in steps.items() if step not in (None, STAND_IN)]
    if core.timer_interrupt or policy not in PREEMPTIVE or len(steps) == 1 or not computing:
        return None
    return (
        f"the emulated {core.title} has no timer interrupt, so that a job of {computing[0]!r} is not"
        " preempted there; write policy: fixed-priority-non-preemptive for that core under scheduling"
    )


def unpreempted(system: System) -> Iterator[tuple[str, Location, str]]:
    """The cores on which jobs have to be preempted and the emulated board cannot: core, location, reason."""
    for core in system.cores():
        emulated, entry = _emulated(system, core), system.scheduling_entry(core)
        if emulated is None:
            continue
        tasks = {name: task for name, task in system.tasks.items() if task.released_by == core}
        steps = {name: task.step for name, task in tasks.items()}
        policy = system.scheduling_of(core).policy
        text = not_preempted(emulated, policy, steps)
        if text is not None and entry is not None:
            yield core, ("scheduling", entry, "policy"), text
        elif text is not None:
            first = next(iter(tasks))
            yield core, ("tasks", first, "on" if tasks[first].on == core else "master"), text
