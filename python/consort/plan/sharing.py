# SPDX-License-Identifier: Apache-2.0
"""A plan's resources, caches and memory accesses: plain, frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from consort.model import Duration, System, Task
from consort.model.channel import DEFAULT_MEMORY
from consort.model.figures import Figure
from consort.model.sharing import Accelerator, Locking, Replacement, Sharing


@dataclass(frozen=True)
class PlannedCache:
    """The cache of a core whose tasks say which of its sets they use."""

    replacement: Replacement
    ways: int
    block_ps: int

    @property
    def per_set_ps(self) -> int:
        """The longest reload by a job of a set in which it lost something."""
        return self.ways * self.block_ps


@dataclass(frozen=True)
class PlannedBandwidth:
    """A core's budget of memory accesses in each period, and what one access takes [ps]."""

    budget: int
    period_ps: int
    shortest_ps: int
    longest_ps: int

    @property
    def stall_ps(self) -> int:
        """The longest stall: an access that began in the period before may end as this one begins."""
        return max(0, self.period_ps - (self.budget - 1) * self.shortest_ps)

    def __str__(self) -> str:
        return f"{self.budget} accesses in each {Duration(self.period_ps)}"


@dataclass(frozen=True)
class PlannedCacheSets:
    """The sets of its core's cache that a task touches, and those in which it uses a block again."""

    evicting: tuple[int, ...]
    useful: tuple[int, ...]


@dataclass(frozen=True)
class PlannedSection:
    """A job's hold of a resource: at most so long at a time, at most so often."""

    resource: str
    length_ps: int
    times: int


@dataclass(frozen=True)
class PlannedResource:
    """A resource that tasks use one at a time."""

    protocol: Locking
    users: tuple[str, ...]
    """The most urgent first."""
    cores: tuple[str, ...]
    """Where its users are; there is a bound and a simulation only of one."""
    ceiling: int
    """The rank of its most urgent user, which a job has that holds it; or has at most, by inheritance."""

    @property
    def inherits(self) -> bool:
        """True if a job that holds it has the rank of the job that waits for it."""
        return self.protocol == "priority-inheritance"


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
