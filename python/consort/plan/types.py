# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan: plain, frozen data. Times are whole picoseconds, sizes whole bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel

from consort.base.units import counted, html_table
from consort.model import Duration
from consort.model.base import TextValue
from consort.model.channel import (
    SEMANTICS,
    Arbitration,
    Communication,
    Configuration,
    Execution,
    OnMiss,
    Service,
    TimeBase,
    Wait,
    takes_several,
)
from consort.model.figures import Provenance, long_run
from consort.model.platform import Platform
from consort.model.sources import FileInput, FunctionInput, Golden, StepReference
from consort.model.task import Types
from consort.plan.sharing import (
    PlannedAccelerator,
    PlannedBandwidth,
    PlannedCache,
    PlannedCacheSets,
    PlannedRequest,
    PlannedResource,
    PlannedSection,
)

CorePolicy = Literal[
    "fixed-priority", "fixed-priority-non-preemptive", "edf", "worker", "three-phase", "accelerator"
]
Release = Literal["periodic", "sporadic", "arrival"]
ChannelImplementation = Literal["mailbox", "queue", "snapshot", "double-buffer", "versions"]
DeviceKind = Literal["recording", "function", "plant", "driver", "record", "described"]
StandIn = Literal["stand-in"]
# Facts that only Consort itself reads: they are not in the plan as JSON.
UNWRITTEN: Final = {"json": False}


@dataclass(frozen=True)
class Binding:
    """One member of a task's inputs or outputs, and its source or destination."""

    member: str
    """"" is the whole block."""
    source: str
    """A channel or a device."""
    part: str
    """A member of a plant's outputs (for `reads`) or inputs (for `writes`); "" is the whole block."""


@dataclass(frozen=True)
class Slot:
    """A three-phase core's share of the DMA engine."""

    length_ps: int
    phase_ps: int
    """From the start of a round to the start of the slot."""
    round_ps: int
    arbitration: Arbitration
    partitions: int
    """Parts of the scratchpad: one executes while another is unloaded and loaded."""


@dataclass(frozen=True)
class PlannedSupply:
    """A hypervisor's supply to a core: a budget in each period [ps]."""

    budget_ps: int
    period_ps: int
    fixed: bool
    """At the same place of all periods; else anywhere in each."""

    @property
    def gap_ps(self) -> int:
        """The longest time without any, seen from the worst moment on."""
        return (self.period_ps - self.budget_ps) * (1 if self.fixed else 2)

    def __str__(self) -> str:
        kind = "tdma" if self.fixed else "periodic-server"
        return f"{Duration(self.budget_ps)} in each {Duration(self.period_ps)}, {kind}"


@dataclass(frozen=True)
class PlannedCore:
    """One core of a plan."""

    name: str
    processor: str
    policy: CorePolicy
    wait: Wait
    """The core's action while a job that it offloaded is away."""
    service: Service
    """Which request it serves, as a worker."""
    time_base: TimeBase
    context_switch_ps: int | None
    """None: no figure; then there is no bound and no simulation."""
    timer_lateness_ps: int | None
    """How late a release can come because it waits for a timer asleep; None: it spins, or no figure."""
    cpu: int | None
    """The host's CPU that the description gives it."""
    tasks: tuple[str, ...]
    """The tasks that it releases, the most urgent first."""
    serves: tuple[str, ...]
    """The tasks that it computes for masters, the most urgent first."""
    slot: Slot | None = None
    supply: PlannedSupply | None = None
    """None: it has all of its time."""
    cache_reload_ps: int | None = None
    """How much longer a job executes each time it was preempted; None: that is in its WCET."""
    cache: PlannedCache | None = None
    bandwidth: PlannedBandwidth | None = None
    slot_missing: str = ""
    """For a three-phase core without a slot: the missing figure, and how to give it."""
    entry: str | None = field(default=None, metadata=UNWRITTEN)
    """The key of the description's `scheduling` that is about it: its own, or its group's."""
    margin_ps: int | None = field(default=None, metadata=UNWRITTEN)
    """How late its timer is where it sleeps until a margin before a release, which is that long at least."""


@dataclass(frozen=True)
class PlannedRemoteState:
    """The place of a task's state that is paged from remote memory."""

    memory: str
    cache: int
    """How much of it lies in local memory at most [bytes]."""
    prefetch: int
    """How many pages a fault brings at most."""
    faults: int | None
    """How many faults a job has at most; None: nobody says."""
    fault_ps: int | None
    """The longest that a fault takes; None: the memory has no such figure."""

    @property
    def job_ps(self) -> int | None:
        """The longest that all faults of a job take; None where that is not known."""
        return None if self.faults is None or self.fault_ps is None else self.faults * self.fault_ps


@dataclass(frozen=True)
class PlannedFootprint:
    """A job's memory [bytes], and the times of its transfers."""

    code: int | None
    data: int | None
    inputs: int | None
    outputs: int | None
    load_ps: int | None
    """None: the platform has no DMA engine, or one without a rate."""
    unload_ps: int | None
    stack: int | None
    """The use of a board's stack by calls in its step that nobody can bound."""


@dataclass(frozen=True)
class AutoJitter:
    """A jitter that the analysis finds (consort.analysis.jitters)."""

    found: bool = False
    """True if the plan has its number."""
    why: str = ""
    """Why it has none, where the analysis has looked."""
    missing: tuple[str, ...] = ()
    """Places of the figures for want of which it has none."""


@dataclass(frozen=True)
class PlannedTask:
    """A task of a plan: its releases, its place, and the use of its data."""

    name: str
    core: str
    """Where its jobs are released."""
    worker: str | None
    """The core that computes it, where it is offloaded."""
    execution: Execution
    rank: int
    """On its core: 0 is the most urgent. Tasks of one rank are served in the order of their releases; none
    preempts another."""
    threshold: int | None
    """A job that has begun is preempted only by tasks of a rank below it; None: below its own."""
    worker_rank: int | None
    release: Release
    arrival: str | None
    """The channel whose blocks release it."""
    period_ps: int
    """Or the shortest time between releases."""
    offset_ps: int
    jitter_ps: int
    """0 also where it is to be found, and is not yet."""
    min_distances_ps: tuple[int, ...]
    """From a release to the next, the one after that, …, at least, jitter included."""
    deadline_ps: int
    wcet_ps: int | None
    """Where it is placed, as it is executed."""
    bcet_ps: int | None
    fallback_ps: int | None
    """The WCET of its master's computing it, where that is the remedy for a missing answer."""
    send_ps: int | None
    """The master's computation before the request, and after the answer; None: no figure."""
    receive_ps: int | None
    give_up_ps: int | None
    """How long after the release its master waits for an answer before it falls back."""
    self_suspension_ps: int | None
    suspensions: int
    """In how many stretches at most a job suspends itself."""
    energy_pj: int | None
    footprint: PlannedFootprint | None
    on_miss: OnMiss
    restart_worker: bool
    communication: Communication
    """let where one of its channels is let, or all its chains are. What holds for a channel stands there."""
    step: StepReference | StandIn | None
    types: Types | None
    input: FileInput | FunctionInput | None
    golden: Golden | None
    reads: tuple[Binding, ...]
    writes: tuple[Binding, ...]
    sections: tuple[PlannedSection, ...] = ()
    """The resources that a job holds, one after another."""
    requests: tuple[PlannedRequest, ...] = ()
    """A job's requests to accelerators."""
    cache_sets: PlannedCacheSets | None = None
    accesses: int | None = None
    """How often a job accesses memory at most."""
    remote_state: PlannedRemoteState | None = None
    """None: its state lies in local memory."""
    checkpoint: str | None = None
    """The memory to which each job writes what another core would go on from."""
    comes_in_bursts: bool = field(default=False, metadata=UNWRITTEN)
    """True if the description states a burst, from which the least distances follow."""
    has_offset: bool = field(default=False, metadata=UNWRITTEN)
    """True if the description states when the first job is due: 0 is such a moment, too."""
    has_bcet: bool = field(default=False, metadata=UNWRITTEN)
    """True if the description states the least execution time."""
    auto_jitter: AutoJitter | None = field(default=None, metadata=UNWRITTEN)
    accesses_from: Provenance | None = field(default=None, metadata=UNWRITTEN)
    cache_sets_from: Provenance | None = field(default=None, metadata=UNWRITTEN)

    @property
    def patience_ps(self) -> int:
        """How long after its release the answer to a job is awaited."""
        return self.deadline_ps if self.give_up_ps is None else self.give_up_ps

    @property
    def shortest_ps(self) -> int:
        """The least time of an execution where time is simulated: a picosecond, where nothing is known.

        Of two jobs of no length at one instant it would be open which one executes first.
        """
        return min(self.wcet_ps or 0, max(self.bcet_ps or 0, 1))

    @property
    def computed_on(self) -> str:
        """The core that computes the step."""
        return self.worker if self.worker is not None else self.core

    @property
    def waits(self) -> bool:
        """True if its jobs may give their core up before they end: for a worker, an accelerator, a page of
        remote memory, or what is not modelled."""
        away = self.worker is not None or bool(self.requests)
        return away or bool(self.self_suspension_ps) or self.remote_state is not None

    @property
    def computes_ps(self) -> int | None:
        """The longest time of its step at its place: the WCET and the faults of its state; None if one of
        these is not known."""
        if self.remote_state is None or self.wcet_ps is None:
            return self.wcet_ps
        faults = self.remote_state.job_ps
        return None if faults is None else self.wcet_ps + faults

    @property
    def limit(self) -> int:
        """A job that has begun is preempted only by tasks of a rank below it."""
        return self.rank if self.threshold is None else self.threshold

    @property
    def sporadic(self) -> bool:
        return self.release != "periodic"

    @property
    def extra_gap_ps(self) -> int:
        """The most extra time between two releases of a sporadic task that a generator releases."""
        return self.period_ps if self.release == "sporadic" else 0

    def releases_until(self, duration_ps: int) -> int:
        """The number of jobs that a periodic task releases in so long after the run's start, and the most of
        others."""
        left = max(0, duration_ps - self.offset_ps)
        most = -(-left // self.period_ps)
        if not self.min_distances_ps:
            return most
        return min(most, left // self.long_run_ps + len(self.min_distances_ps) + 1)

    @property
    def long_run_ps(self) -> Fraction:
        """The least interval between releases in the long run."""
        return long_run(self.period_ps, self.min_distances_ps)


@dataclass(frozen=True)
class PlannedChannel:
    """One channel, with where its blocks lie and who uses it."""

    name: str
    implementation: ChannelImplementation
    writer: str
    """A task or a device."""
    readers: tuple[str, ...]
    writer_core: str | None
    """None: a device, which belongs to no core."""
    reader_cores: tuple[str | None, ...]
    capacity: int | None
    """Blocks that it holds; of `versions` as many as the slowest reader may need."""
    memory: str | None
    bytes: int | None
    """One block; None: as large as its type."""
    communication: Communication
    flow: int | str | None = None
    """For a subscription: the flow that is asked for."""
    min_interarrival_ps: int | None = None
    """For a subscription: the shortest time between two messages, as described."""
    messages_apart_ps: int = field(default=0, metadata=UNWRITTEN)
    """The same where a device writes it, described or not; 0: no task reads it."""
    exchange_of: str | None = None
    """The offloaded task whose requests or answers it carries."""
    described: bool = field(default=True, metadata=UNWRITTEN)

    @property
    def reads_oldest(self) -> bool:
        """True where a read takes the oldest block that waits, False where it returns the newest."""
        return SEMANTICS[self.implementation].read == "oldest"


@dataclass(frozen=True)
class PlannedDevice:
    """A source or sink of data."""

    name: str
    kind: DeviceKind
    reference: FileInput | str | None
    """A recording, or the reference of a function, a plant, a driver, or of what a record's blocks go to."""
    arguments: Mapping[str, Any]
    period_ps: int | None
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    is_a: str | None = None
    """The description's name for it, such as camera."""
    rate: str | None = None
    description: str = ""


@dataclass(frozen=True)
class PlannedChain:
    """A cause-effect chain and its limits."""

    name: str
    path: tuple[str, ...]
    reaction_ps: int | None
    age_ps: int | None
    communication: Communication


@dataclass(frozen=True)
class PlannedRun:
    """The settings of a run."""

    iterations: int
    configurations: tuple[Configuration, ...]
    interference: tuple[str, ...]
    seed: int
    chosen: bool = field(default=False, metadata=UNWRITTEN)
    """True if the description names the configurations."""
    time_base: TimeBase = field(default="sleep", metadata=UNWRITTEN)
    """The one that the description asks for; a core of several tasks does not spin."""


@dataclass(frozen=True)
class PlannedAsker:
    """A task whose output asks for a change: 1 for the first of the modes."""

    task: str
    member: str
    modes: tuple[str, ...]


@dataclass(frozen=True)
class PlannedChanges:
    """The mode changes of a run."""

    start: str
    agreement_ps: int
    within_ps: int | None
    state_through: str | None
    requests: tuple[tuple[int, str], ...]
    """When [ps], and the mode that is to follow."""
    asked_by: tuple[PlannedAsker, ...] = ()
    fail_over: Mapping[str, str] = field(default_factory=dict)
    """By core: the mode that its death asks for."""
    detection_ps: int | None = None
    """From a core's last sign of life until it is known to be dead."""
    modes: tuple[str, ...] = field(default=(), metadata=UNWRITTEN)


@dataclass(frozen=True)
class Source:
    """A figure of the description, or a part with several, that says where it comes from."""

    place: str
    value: str
    """"" for a part: of all its figures that have no source of their own."""
    source: str


@dataclass(frozen=True)
class Plan:
    """A description laid out on a target, in one mode."""

    file: Path = field(metadata=UNWRITTEN)
    """The description's."""
    name: str | None = field(metadata=UNWRITTEN)
    description: str = field(metadata=UNWRITTEN)
    platform: Platform = field(metadata=UNWRITTEN)
    platform_given: str = field(metadata=UNWRITTEN)
    """The platform as the description names it."""
    figures: Mapping[str, tuple[object, Provenance | None]] = field(metadata=UNWRITTEN)
    """By place in the description or its platform."""
    target: str
    mode: str | None
    cores: Mapping[str, PlannedCore]
    tasks: Mapping[str, PlannedTask]
    channels: Mapping[str, PlannedChannel]
    devices: Mapping[str, PlannedDevice]
    chains: Mapping[str, PlannedChain]
    resources: Mapping[str, PlannedResource]
    run: PlannedRun
    sources: tuple[Source, ...]
    notes: tuple[str, ...]
    """Notes on the target for a reader."""
    accelerators: Mapping[str, PlannedAccelerator] = field(default_factory=dict)
    changes: PlannedChanges | None = None
    """For a plan in no mode, if modes change."""
    unbounded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By core: why nothing on it has a bound (model/conflicts.py)."""

    def __repr__(self) -> str:
        return f"<Plan {self._head()}>"

    def _head(self) -> str:
        what = f"{counted(len(self.tasks), 'task')} on {counted(len(self.cores), 'core')}"
        mode = f", mode {self.mode}" if self.mode else ""
        return f"{self.name or self.file}: {what} of {self.platform.name}, for {self.target}{mode}"

    def _repr_html_(self) -> str:
        rows = [
            (
                task.name,
                task.core,
                task.worker,
                task.rank,
                *(
                    None if ps is None else Duration(ps)
                    for ps in (task.period_ps, task.deadline_ps, task.wcet_ps)
                ),
            )
            for task in self.tasks.values()
        ]
        columns = ("task", "released on", "computed on", "rank", "period", "deadline", "wcet")
        return html_table(self._head(), columns, rows)

    @property
    def workers(self) -> tuple[str, ...]:
        """The cores that compute for masters."""
        return tuple(name for name, core in self.cores.items() if core.serves)

    @property
    def carried(self) -> tuple[PlannedChannel, ...]:
        """The channels of tasks' own data, as the rows of a record number them. Exchanges with workers go
        with the tasks."""
        return tuple(channel for channel in self.channels.values() if channel.exchange_of is None)

    @property
    def lacks_steps(self) -> bool:
        """True if a task has none, and no stand-in for it either."""
        return any(task.step is None for task in self.tasks.values())

    @property
    def three_phase_cores(self) -> tuple[str, ...]:
        """The cores that execute three-phase tasks, in the order of their slots."""
        found = (task.core for task in self.tasks.values() if task.execution == "three-phase")
        return tuple(dict.fromkeys(found))

    def path(self, relative: str) -> Path:
        """A file that the description names, which is relative to the description."""
        return self.file.parent / relative

    def takes_several(self, task: str) -> bool:
        """True if a task's step takes several blocks of a queue in one job, by the text of its headers."""
        step = self.tasks[task].step
        return isinstance(step, StepReference) and takes_several(self.path(step.file))

    def processor_of(self, task: str) -> str:
        """The kind of processor that computes a task."""
        return self.cores[self.tasks[task].computed_on].processor

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON: `_ps` are picoseconds, `_pj` picojoules, sizes bytes."""
        parts = _plain(self)
        if not self.unbounded:
            del parts["unbounded"]
        return {
            "plan": 1,
            "system": self.name,
            "description": self.description,
            "platform": {"name": self.platform.name, "given": self.platform_given},
            **parts,
        }


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type) and not isinstance(value, TextValue):
        written = (part.name for part in fields(value) if part.metadata != UNWRITTEN)
        return {name: _plain(getattr(value, name)) for name in written}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, TextValue | Path):
        return str(value)
    return value
