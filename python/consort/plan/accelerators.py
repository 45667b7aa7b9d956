# SPDX-License-Identifier: Apache-2.0
"""A plan's accelerators, and the requests of tasks to them: plain, frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from consort.model import Duration, System, Task
from consort.model.accelerators import Accelerator, Sharing
from consort.model.figures import Figure
from consort.model.kinds import DEFAULT_MEMORY


@dataclass(frozen=True)
class PlannedRequest:
    """A job's request, and the most times that a job makes it."""

    accelerator: str
    operation: str
    times: int


@dataclass(frozen=True)
class PlannedOperation:
    """An operation that an accelerator does for a request [ps, bytes]; None: no figure."""

    wcet_ps: int | None
    bcet_ps: int | None
    request_bytes: int | None
    answer_bytes: int | None


@dataclass(frozen=True)
class PlannedClient:
    """A task's share of an accelerator; 0 if its arbitration has no such thing."""

    task: str
    rank: int
    """Among the clients: 1 is the least urgent."""
    slot_from_ps: int
    """From the beginning of a round."""
    slot_ps: int
    budget_ps: int
    period_ps: int


@dataclass(frozen=True)
class PlannedAccelerator:
    """A core that serves requests."""

    core: str
    arbitration: Sharing
    round_ps: int
    memory: str | None
    operations: dict[str, PlannedOperation]
    clients: tuple[PlannedClient, ...]
    """In the order of their slots; else the most urgent first."""


def plan_accelerators(system: System) -> dict[str, PlannedAccelerator]:
    """All accelerators, in the order of the description."""
    return {name: _planned(system, given) for name, given in system.accelerators.items()}


def requests_of(task: Task) -> tuple[PlannedRequest, ...]:
    """The requests of a task's jobs."""
    return tuple(PlannedRequest(one.accelerator, one.operation, one.times) for one in task.requests)


def _planned(system: System, given: Accelerator) -> PlannedAccelerator:
    memory = given.memory
    if memory is None and DEFAULT_MEMORY in system.platform_description.memories:
        memory = DEFAULT_MEMORY
    operations = {
        name: PlannedOperation(
            _ps(one.wcet),
            _ps(one.bcet if one.bcet is not None else one.wcet),
            None if one.request is None else one.request.bytes,
            None if one.answer is None else one.answer.bytes,
        )
        for name, one in given.operations.items()
    }
    ranked = sorted(given.clients, key=lambda task: given.clients[task].priority or 0, reverse=True)
    clients, at = [], 0
    for task, client in given.clients.items():
        slot = 0 if client.slot is None else client.slot.picoseconds
        rank = 0 if given.arbitration == "tdma" else ranked.index(task)
        share = (0 if time is None else time.picoseconds for time in (client.budget, client.period))
        clients.append(PlannedClient(task, rank, at, slot, *share))
        at += slot
    if given.arbitration != "tdma":
        clients.sort(key=lambda client: client.rank)
    return PlannedAccelerator(given.on, given.arbitration, at, memory, operations, tuple(clients))


def _ps(figure: Figure[Duration] | None) -> int | None:
    return None if figure is None else figure.value.picoseconds
