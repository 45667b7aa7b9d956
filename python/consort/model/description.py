# SPDX-License-Identifier: Apache-2.0
"""The system description: what ``system.yaml`` may say.

A new part of a description is a new model here, with its cross-field rules in `consort.model.rules`; nothing
that reads a description today needs to change for it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Discriminator, Field, PlainSerializer, PlainValidator, PrivateAttr, Strict, Tag
from pydantic_core import PydanticCustomError

from consort.model.base import Described, Member, Name, NonEmpty, Version
from consort.model.costs import JobEnergy, Time, cost_on
from consort.model.emit import write_yaml
from consort.model.figures import DurationFigure, Provenance, SizeFigure, Sourced
from consort.model.mode_changes import ModeChanges
from consort.model.modes import overridden
from consort.model.platform import Core, Device, Platform, figures_in
from consort.model.quantities import Duration, Energy, Size
from consort.model.references import CppName, StepReference
from consort.model.sharing import Accesses, Bandwidth, Cache, CacheSets, Resource, Section
from consort.model.sources import Golden, Input, SystemDevice
from consort.model.textvalue import WrongValue, kind_of

Execution = Literal["local", "offloaded", "three-phase"]
Policy = Literal["fixed-priority", "fixed-priority-non-preemptive", "edf", "three-phase"]
Arbitration = Literal["tdma", "round-robin"]
ChannelKind = Literal["periodic", "sporadic", "queue", "subscription"]
Implementation = Literal["mailbox", "double-buffer", "snapshot", "queue"]
Communication = Literal["implicit", "let"]
OnMiss = Literal["hold-last-output", "local-fallback", "stop"]
TimeBase = Literal["spin", "sleep", "hybrid"]
Wait = Literal["spin", "sleep"]
Service = Literal["priority", "fifo"]
SupplyKind = Literal["periodic-server", "tdma"]
Interference = Literal["stream", "loopback-copy", "stress-ng"]
Configuration = Literal["local-off", "local-on", "offloaded-off", "offloaded-on"]
# Where the channels of offloaded tasks lie if nothing is said, on platforms that have it.
DEFAULT_MEMORY = "shm"
# In place of a step: a function that executes for the task's execution time and passes numbered blocks.
STAND_IN: Literal["stand-in"] = "stand-in"
CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)


class Types(Described):
    """The C++ types of a step's parameters, where they are not to be read from its signature."""

    # `in` is a Python keyword.
    in_: CppName = Field(alias="in", description="The inputs' type.", examples=["servo::In"])
    state: CppName = Field(description="The state's type.", examples=["servo::State"])
    out: CppName = Field(description="The outputs' type.", examples=["servo::Out"])


def _deadline(data: dict[str, Any]) -> Duration:
    """The default deadline. A task without either has a rule of its own, and no deadline."""
    interval = data["period"] or data["min_interarrival"]
    return interval if interval is not None else Duration(0)


def _slot(value: Any) -> Duration | Literal["auto"]:
    if value == "auto":
        return "auto"
    try:
        return Duration.from_yaml(value)
    except WrongValue as error:
        text = f"{error}, or auto"
        raise PydanticCustomError("consort_value", "{text}", {"text": text}) from None


def _flow(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value:
        return value
    text = f"{kind_of(value)} is no flow; write the flow's number, or a text that its name begins with"
    raise PydanticCustomError("consort_value", "{text}", {"text": text})


def _step(value: Any) -> StepReference | Literal["stand-in"]:
    if value == STAND_IN:
        return STAND_IN
    try:
        return StepReference.from_yaml(value)
    except WrongValue as error:
        text = f"{error}; or {STAND_IN}"
        raise PydanticCustomError("consort_value", "{text}", {"text": text}) from None


def _binding_form(value: Any) -> str:
    return "<members>" if isinstance(value, dict) else "<list>"


Slot = Annotated[
    Duration | Literal["auto"],
    PlainValidator(_slot, json_schema_input_type=Duration | Literal["auto"]),
    PlainSerializer(str, return_type=str),
]
Flow = Annotated[int | str, PlainValidator(_flow, json_schema_input_type=int | str)]
Step = Annotated[
    StepReference | Literal["stand-in"],
    PlainValidator(_step, json_schema_input_type=StepReference | Literal["stand-in"]),
    PlainSerializer(str, return_type=str),
]
Names = Annotated[tuple[Name, ...], Strict(False)]
# Channels, devices, or members of a plant (<device>.<member>): all of them, or one for each bound member.
Bindings = Annotated[
    Annotated[tuple[NonEmpty, ...], Strict(False), Tag("<list>")]
    | Annotated[dict[Member, NonEmpty], Tag("<members>")],
    Discriminator(_binding_form),
]


class Footprint(Sourced):
    """What a job needs in memory. A load brings all but the outputs, an unload takes data and outputs."""

    code: SizeFigure | None = Field(default=None, description="Its code.", examples=["4KiB"])
    data: SizeFigure | None = Field(default=None, description="Its state and constants.")
    inputs: SizeFigure | None = Field(default=None, description="Its inputs.")
    outputs: SizeFigure | None = Field(default=None, description="Its outputs.")
    stack: SizeFigure | None = Field(
        default=None,
        description="Of a board's stack, what calls in its step take that the compiler cannot bound:"
        " recursion, calls through pointers.",
        examples=["2KiB"],
    )

    def _bytes(self, *parts: SizeFigure | None) -> int:
        return sum(part.value.bytes for part in parts if part is not None)

    @property
    def bytes(self) -> int:
        return self._bytes(self.code, self.data, self.inputs, self.outputs)

    @property
    def load_bytes(self) -> int:
        return self._bytes(self.code, self.data, self.inputs)

    @property
    def unload_bytes(self) -> int:
        return self._bytes(self.data, self.outputs)


class Dispatch(Sourced):
    """What the master of an offloaded task computes itself for each job."""

    send: DurationFigure | None = Field(default=None, description="Before the worker begins.")
    receive: DurationFigure | None = Field(default=None, description="After the worker has answered.")


class Task(Sourced):
    """A task: a step over plain data, released again and again."""

    counts: ClassVar[bool] = False

    step: Step | None = Field(
        default=None,
        description=f"{StepReference.description} Or stand-in: what executes for the task's execution time"
        " and passes numbered blocks. Needed to run the task, not to analyse it.",
        examples=["step.hpp::servo::step"],
    )
    types: Types | None = Field(
        default=None, description="The step's types; without it they are read from its signature."
    )
    period: Duration | None = Field(default=None, description="From each release to the next.")
    min_interarrival: Duration | None = Field(
        default=None,
        description="Instead of a period: sporadic releases, at least this far apart.",
        examples=["10ms"],
    )
    # Depends on the period, which a failed validation may lack: pydantic then leaves the factory uncalled.
    deadline: Duration = Field(
        default_factory=_deadline,
        description="Relative to the release; without it the period. May be later than the next release, but"
        " not for a task that `consort run` runs.",
    )
    offset: Duration = Field(
        default=Duration(0), description="From the start of the system to the first release."
    )
    jitter: Duration = Field(
        default=Duration(0), description="How much later than its time a release may come."
    )
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None,
        description="The larger, the more urgent. Where no task of a core has one, the shorter deadline is"
        " the more urgent, and of equal ones the task that stands first.",
        examples=["10"],
    )
    preemption_threshold: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None,
        description="A job that has begun is preempted only by tasks of a priority above this one; without it"
        " by all whose priority is above the task's own. Under preemptive fixed priorities.",
        examples=["12"],
    )
    wcet: Time | None = Field(
        default=None,
        description="Worst-case execution time: one duration, or one for each kind of processor, or for each"
        " way of executing there.",
        examples=["{a72: 6us, r5f: 38us}"],
    )
    bcet: Time | None = Field(
        default=None, description="Best-case execution time, written likewise; without it the worst case."
    )
    energy: JobEnergy | None = Field(
        default=None, description="Energy of a job, written likewise.", examples=["{a72: 12uJ}"]
    )
    footprint: Footprint | None = Field(
        default=None,
        description="What a job needs in memory.",
        examples=["{code: 4KiB, data: 2KiB, inputs: 64B, outputs: 64B}"],
    )
    on: Name = Field(description="The core that computes the step.", examples=["worker-0"])
    execution: Execution = Field(
        default="local",
        description="local: released and computed on one core. offloaded: released by the master, which sends"
        " the inputs to the core under 'on' and awaits its outputs. three-phase: loaded into the core's"
        " scratchpad, executed there, unloaded.",
    )
    master: Name | None = Field(
        default=None,
        description="The core that releases the jobs of an offloaded task.",
        examples=["master-0"],
    )
    dispatch: Dispatch | None = Field(
        default=None,
        description="What the master of an offloaded task computes itself for each job.",
        examples=["{send: 2us, receive: 1us}"],
    )
    self_suspension: Duration | None = Field(
        default=None, description="How long a job may wait for something that is not modelled, at most."
    )
    suspensions: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="In how many stretches at most a job waits so: what the bounds count."
    )
    sections: dict[Name, Section] = Field(
        default={},
        description="The resources that a job holds, and for how long; one after another, never one within"
        " another.",
        examples=["{bus: {length: 20us}}"],
    )
    cache_sets: CacheSets | None = Field(
        default=None,
        description="The sets of its core's cache that it uses, where the core's scheduling has a cache.",
        examples=["{evicting: [0, 1, 2], useful: [1]}"],
    )
    accesses: Accesses | None = Field(
        default=None,
        description="How often a job accesses memory, where the core's scheduling has a bandwidth.",
        examples=["{most: 1200}"],
    )
    reads: Bindings = Field(
        default=(),
        description="What the task reads: a list of channels and devices, or for each member of the input"
        " type a channel, a device or a plant's member.",
        examples=["{reference: set-points, position: arm.angle}"],
    )
    writes: Bindings = Field(
        default=(),
        description="What the task writes: a list of channels and devices, or for each member of the output"
        " type a channel, a device or a plant's member.",
        examples=["{torque: arm.torque}"],
    )
    arrival: NonEmpty | None = Field(
        default=None,
        description="Of a sporadic task: the channel it reads whose blocks release its jobs; without it a"
        " generator does, at random times that the minimum inter-arrival time allows.",
        examples=["events"],
    )
    on_miss: OnMiss = Field(
        default="hold-last-output",
        description="What becomes of a job whose output is not there at its deadline: the last output holds,"
        " the master computes it itself, or the run stops.",
    )
    restart_worker: bool = Field(default=False, description="Whether a worker that died is started again.")
    input: Input | None = Field(
        default=None,
        description="Where the inputs come from. Needed to run the task, not to analyse it.",
        examples=["{file: data/servo.csv, …}"],
    )
    golden: Golden | None = Field(default=None, description="The outputs that a run must produce.")

    @property
    def released_by(self) -> str:
        """The core that owns the task's time."""
        return self.master if self.master is not None else self.on

    @property
    def interval(self) -> Duration:
        """The shortest time from one release to the next, but for jitter."""
        interval = self.period if self.period is not None else self.min_interarrival
        assert interval is not None, "a checked task has a period or a minimum inter-arrival time"
        return interval

    @property
    def step_to_run(self) -> StepReference:
        assert isinstance(self.step, StepReference), "a plan for a machine makes sure of it"
        return self.step

    def bound_to(self, key: Literal["reads", "writes"]) -> list[tuple[str, str]]:
        """What the task reads or writes: member ("" is all of the block), and channel, device or its part."""
        given = self.reads if key == "reads" else self.writes
        return list(given.items()) if isinstance(given, dict) else [("", name) for name in given]

    @property
    def sporadic(self) -> bool:
        return self.period is None

    def wcet_on(self, processor: str, execution: str | None = None) -> Duration | None:
        """The worst-case execution time on a kind of processor; None where the description has none.

        Without `execution` as the task is executed.
        """
        figure = cost_on(self.wcet, processor, execution or self.execution)
        return None if figure is None else figure.value

    def bcet_on(self, processor: str, execution: str | None = None) -> Duration | None:
        """The best-case execution time; where none is given the worst-case one: no variation."""
        figure = cost_on(self.bcet, processor, execution or self.execution)
        return self.wcet_on(processor, execution) if figure is None else figure.value

    def energy_on(self, processor: str, execution: str | None = None) -> Energy | None:
        """The energy of a job; None where the description has none."""
        figure = cost_on(self.energy, processor, execution or self.execution)
        return None if figure is None else figure.value


class Channel(Described):
    """How data travels from a task or a device to tasks."""

    kind: ChannelKind = Field(
        default="periodic",
        description="periodic: a block for each job. sporadic: the latest of blocks that come now and then."
        " queue: every block, in order. subscription: the part of a device's flow that a task asked for.",
        examples=["periodic"],
    )
    from_: Name | None = Field(
        default=None,
        alias="from",
        description="The task or device that writes it; or the task says so under 'writes'.",
        examples=["sensor"],
    )
    to: Names = Field(
        default=(),
        description="The tasks or devices that read it; or a task says so under 'reads'.",
        examples=["[servo]"],
    )
    memory: Name | None = Field(
        default=None,
        description="The memory of the platform that holds the channel, or the link that carries it; without"
        " it shm, if there is one.",
        examples=["shm"],
    )
    size: Size | None = Field(default=None, description="One block.")
    implementation: Implementation | None = Field(
        default=None,
        description="What holds the blocks; without it a mailbox (periodic), a snapshot (sporadic) or a"
        " queue.",
    )
    capacity: Annotated[int, Field(ge=1, le=2**24)] | None = Field(
        default=None, description="Blocks that a queue holds."
    )
    communication: Communication | None = Field(
        default=None,
        description="As in chains. Without it let where every chain through the channel is let, else"
        " implicit; with it all chains through the channel must be so.",
        examples=["let"],
    )
    flow: Flow | None = Field(
        default=None,
        description="Of a subscription: the flow's number, or a text that its name begins with.",
        examples=["17"],
    )
    min_interarrival: Duration | None = Field(
        default=None,
        description="Of a subscription: the shortest time from one message of the flow to the next. A run on"
        " a board sends them at this distance.",
        examples=["10ms"],
    )

    @property
    def implemented_by(self) -> Implementation:
        """What holds the blocks."""
        if self.implementation is not None:
            return self.implementation
        defaults: dict[ChannelKind, Implementation] = {"periodic": "mailbox", "sporadic": "snapshot"}
        return defaults.get(self.kind, "queue")


class Chain(Described):
    """A cause-effect chain: what a stimulus of its first task becomes at its last."""

    path: Annotated[Names, Field(min_length=1)] = Field(
        description="The tasks, from cause to effect.", examples=["[sample, servo, actuate]"]
    )
    reaction: Duration | None = Field(
        default=None, description="The longest reaction time that is allowed: from a stimulus to its effect."
    )
    age: Duration | None = Field(
        default=None, description="The oldest that the data behind an output may become."
    )
    communication: Communication = Field(
        default="implicit",
        description="implicit: read at a job's start, written at its end. let: logical execution time, read"
        " at the release, written at the deadline.",
    )


class Override(Described):
    """What differs in a mode."""

    period: Duration | None = Field(default=None, description="As in the task.")
    min_interarrival: Duration | None = Field(default=None, description="As in the task.")
    deadline: Duration | None = Field(default=None, description="As in the task.")
    offset: Duration | None = Field(default=None, description="As in the task.")
    jitter: Duration | None = Field(default=None, description="As in the task.")
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None, description="As in the task."
    )
    preemption_threshold: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None, description="As in the task."
    )
    wcet: Time | None = Field(default=None, description="As in the task.")
    bcet: Time | None = Field(default=None, description="As in the task.")
    on: Name | None = Field(default=None, description="As in the task.")
    execution: Execution | None = Field(default=None, description="As in the task.")
    master: Name | None = Field(default=None, description="As in the task.")


class Mode(Described):
    """A mode of the system: some of its tasks, or tasks that differ."""

    tasks: Names | None = Field(
        default=None, description="The tasks that are active; without it all.", examples=["[servo]"]
    )
    overrides: dict[Name, Override] = Field(
        default={}, description="What differs, by task.", examples=["{servo: {period: 100us}}"]
    )


class Supply(Described):
    """What a hypervisor gives a core: a budget in each period."""

    kind: SupplyKind = Field(
        description="periodic-server: the budget comes anywhere in each period; tdma: at one place of all."
    )
    budget: Duration = Field(
        description="What the core has of each period for its tasks, the hypervisor's switches not counted.",
        examples=["2ms"],
    )
    period: Duration = Field(description="In each of these the core has its budget once.", examples=["5ms"])


class Scheduling(Sourced):
    """How a core, or each core of a group, is scheduled."""

    counts: ClassVar[bool] = False

    policy: Policy = Field(default="fixed-priority", description="Which ready job a core executes.")
    context_switch: DurationFigure | None = Field(
        default=None, description="What a context switch costs; without it the platform's figure, or nothing."
    )
    cache_reload: DurationFigure | None = Field(
        default=None,
        description="The longest by which a job executes longer each time it was preempted, since it loads"
        " again what its core's caches lost. Without it the wcet of each task holds it.",
        examples=["12us"],
    )
    cache: Cache | None = Field(
        default=None,
        description="Instead of cache_reload: the core's cache, whose sets the tasks say that they use.",
        examples=["{replacement: lru, ways: 2, block: 100ns}"],
    )
    bandwidth: Bandwidth | None = Field(
        default=None,
        description="The core's budget of memory accesses, where a regulator enforces one.",
        examples=["{budget: 1000, period: 1ms, shortest: 40ns, longest: 200ns}"],
    )
    slot: Slot | None = Field(
        default=None,
        description="The TDMA slot of three-phase cores; auto: as short as the largest load and unload"
        " allow.",
        examples=["432us"],
    )
    arbitration: Arbitration | None = Field(
        default=None,
        description="How three-phase cores share the DMA engine; without it tdma, a slot each in turn.",
    )
    wait: Wait | None = Field(
        default=None,
        description="What a master does while an offloaded job is away: spin keeps looking for the answer,"
        " sleep lets the core run other jobs. Without it spin.",
    )
    service: Service | None = Field(
        default=None,
        description="Which request a worker serves of those it finds: that of the most urgent task"
        " (priority), or the oldest one (fifo). Without it priority.",
    )
    supply: Supply | None = Field(
        default=None,
        description="What a hypervisor gives the core, where that is not all of its time. Only of cores that"
        " execute local tasks.",
        examples=["{kind: tdma, budget: 2ms, period: 5ms}"],
    )


class Run(Described):
    """How ``consort run`` runs the system."""

    iterations: Annotated[int, Field(ge=1, le=2**32 - 1)] = Field(
        default=100_000,
        description="Jobs of the first task in each configuration; the others run for the same time.",
    )
    time_base: TimeBase = Field(
        default="hybrid",
        description="How the master awaits a release: spinning on the clock, sleeping on a timer, or sleeping"
        " and spinning the last stretch.",
    )
    interference: Annotated[tuple[Interference, ...], Strict(False)] = Field(
        default=(), description="What else keeps the machine busy in the configurations that end in -on."
    )
    configurations: Annotated[tuple[Configuration, ...], Strict(False)] | None = Field(
        default=None,
        description="Which to run, one after another: execution (local computes offloaded tasks on their"
        " master),"
        " then interference off or on. Without it all that the description makes possible.",
    )
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = Field(
        default=1, description="Of all random choices: jitter, sporadic releases, stand-ins' execution times."
    )
    cpus: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="CPU numbers of the host for cores of the platform; the others are chosen."
    )


class System(Sourced):
    """A whole description: platform, tasks, channels, and how to run them."""

    counts: ClassVar[bool] = False

    consort: Version = Field(description="Version of the description's form.", examples=["1"])
    name: NonEmpty | None = Field(default=None, description="What the system is called.")
    description: str = Field(default="", description="What the system does, in a line.")
    platform: NonEmpty = Field(
        description="A platform of Consort's own, by name, or a platform file, by a path that ends in .yaml.",
        examples=["linux-host"],
    )
    scheduling: dict[Name, Scheduling] = Field(
        default={},
        description="How cores are scheduled, by core or group of cores; a core's own entry counts before its"
        " group's. Without one: preemptive fixed priorities.",
        examples=["{a72: {policy: edf}}"],
    )
    resources: dict[Name, Resource] = Field(
        default={},
        description="What tasks of one core use one at a time.",
        examples=["{bus: {protocol: priority-ceiling}}"],
    )
    devices: dict[Name, SystemDevice] = Field(
        default={}, description="What data comes from and goes to, beside the platform's devices."
    )
    tasks: Annotated[dict[Name, Task], Field(min_length=1)] = Field(
        description="The tasks, by name.", examples=["{servo: {step: …}}"]
    )
    channels: dict[str, Channel] = Field(
        default={},
        description="The channels, by name. <task>.in and <task>.out are those of offloaded tasks; where they"
        " are not described they are mailboxes.",
    )
    chains: dict[Name, Chain] = Field(default={}, description="Cause-effect chains, by name.")
    modes: dict[Name, Mode] = Field(default={}, description="Modes, by name.")
    mode_changes: ModeChanges | None = Field(
        default=None,
        description="How the system goes from mode to mode while it runs; without it a run has one mode.",
    )
    run: Run = Field(default_factory=Run, description="How the system is run.")

    _file: Path | None = PrivateAttr(default=None)
    _platform: Platform | None = PrivateAttr(default=None)
    _ends: tuple[dict[str, str], dict[str, list[str]]] | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path:
        """The file the description was read from."""
        assert self._file is not None, "only a system read by load_system has a file"
        return self._file

    @property
    def platform_description(self) -> Platform:
        assert self._platform is not None, "only a system read by load_system has a platform"
        return self._platform

    def path(self, relative: str) -> Path:
        """A file that the description names, which is relative to the description."""
        return self.file.parent / relative

    def cores(self) -> list[str]:
        """The cores that the system uses: masters and cores of local tasks first, then workers."""
        masters = dict.fromkeys(task.released_by for task in self.tasks.values())
        return list(masters | dict.fromkeys(task.on for task in self.tasks.values()))

    def workers(self) -> list[str]:
        """The cores that compute for a master."""
        return list(dict.fromkeys(t.on for t in self.tasks.values() if t.execution == "offloaded"))

    def channel(self, name: str) -> Channel:
        """A channel, as described or as it is without a description."""
        channel = self.channels.get(name, Channel())
        if channel.memory is None and DEFAULT_MEMORY in self.platform_description.memories:
            return channel.model_copy(update={"memory": DEFAULT_MEMORY})
        return channel

    def core_of(self, task: str) -> Core:
        """The core that computes a task."""
        return self.platform_description.core(self.tasks[task].on)

    def wcet(self, task: str) -> Duration | None:
        """The worst-case execution time of a task where it is placed, as it is executed."""
        return self.tasks[task].wcet_on(self.core_of(task).processor_name)

    def bcet(self, task: str) -> Duration | None:
        return self.tasks[task].bcet_on(self.core_of(task).processor_name)

    def tasks_on(self, core: str) -> list[str]:
        """The tasks that a core computes, the most urgent first."""
        names = [name for name, task in self.tasks.items() if task.on == core]
        order = self.priorities(core)
        return sorted(names, key=lambda name: -order[name])

    def priorities(self, core: str) -> dict[str, int]:
        """The priority of each task that a core computes or releases: as given, else by deadline."""
        tasks = {name: t for name, t in self.tasks.items() if core in (t.on, t.master)}
        if any(task.priority is not None for task in tasks.values()):
            return {name: task.priority or 0 for name, task in tasks.items()}
        order = sorted(tasks, key=lambda name: tasks[name].deadline)
        return {name: len(order) - place for place, name in enumerate(order)}

    def scheduling_of(self, core: str) -> Scheduling:
        """How a core is scheduled: its own entry, else its group's, else the default."""
        entry = self.scheduling_entry(core)
        return Scheduling() if entry is None else self.scheduling[entry]

    def scheduling_entry(self, core: str) -> str | None:
        """The key of `scheduling` that says how a core is scheduled; None: it has the default."""
        return next((name for name in (core, core.rpartition("-")[0]) if name in self.scheduling), None)

    def context_switch(self, core: str) -> Duration:
        """What a context switch on a core costs: the system's figure, else the platform's, else nothing."""
        for figure in (
            self.scheduling_of(core).context_switch,
            self.platform_description.core(core).description.context_switch,
        ):
            if figure is not None:
                return figure.value
        return Duration(0)

    def writer(self, channel: str) -> str | None:
        """The task or device that writes a channel."""
        task, _, end = channel.rpartition(".")
        if task in self.tasks:
            return task if end == "out" else self.tasks[task].released_by
        return self._channel_ends()[0].get(channel)

    def readers(self, channel: str) -> list[str]:
        """The tasks that read a channel."""
        task, _, end = channel.rpartition(".")
        if task in self.tasks:
            return [task] if end == "in" else [self.tasks[task].released_by]
        return list(self._channel_ends()[1].get(channel, ()))

    def _channel_ends(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Writers and readers of all channels, which are asked for one by one: gathered once."""
        if self._ends is None:
            writers = {name: channel.from_ for name, channel in self.channels.items() if channel.from_}
            readers = {name: list(channel.to) for name, channel in self.channels.items()}
            for name, task in self.tasks.items():
                for _, channel in task.bound_to("writes"):
                    if channel in self.channels:
                        writers.setdefault(channel, name)
                for _, channel in task.bound_to("reads"):
                    if channel in self.channels and name not in readers.setdefault(channel, []):
                        readers[channel].append(name)
            self._ends = writers, readers
        return self._ends

    def changed(self, changes: dict[str, dict[str, Any]]) -> System:
        """The system with other values for some keys of tasks, as the overrides of a mode have them."""
        data = self.to_given()
        for name, change in changes.items():
            data["tasks"][name] = overridden(data["tasks"][name], change)
        channels = data.get("channels", {})
        for name in list(channels):
            owner, dot, _ = name.rpartition(".")
            if dot and data["tasks"][owner].get("execution") != "offloaded":
                del channels[name]
        return self._of(data)

    def _of(self, data: dict[str, Any]) -> System:
        """Another system of the same file and platform; a core that is no master any more awaits nothing."""
        masters = {task.get("master") for task in data["tasks"].values()}
        awaiting = masters | {str(master).rpartition("-")[0] for master in masters}
        for name, scheduling in data.get("scheduling", {}).items():
            if name not in awaiting:
                scheduling.pop("wait", None)
        system = System.model_validate(data)
        system._file, system._platform = self._file, self._platform
        return system

    def in_mode(self, mode: str) -> System:
        """The system as it is in a mode: without the tasks that rest, and with what differs."""
        described = self.modes[mode]
        data = self.to_given()
        tasks = data["tasks"]
        for name, override in described.overrides.items():
            changed = override.model_dump(mode="json", by_alias=True, exclude_none=True)
            tasks[name] = overridden(tasks[name], changed)
        if described.tasks is not None:
            data["tasks"] = tasks = {name: tasks[name] for name in self.tasks if name in described.tasks}
        self._with_both_ends(data)
        del data["modes"]
        data.pop("mode_changes", None)
        return self._of(data)

    def without(self, names: Collection[str]) -> System:
        """The system without some of its tasks, and without channels and chains that need these."""
        data = self.to_given()
        data["tasks"] = {name: task for name, task in data["tasks"].items() if name not in names}
        self._with_both_ends(data)
        users = {name for task in data["tasks"].values() for name in task.get("sections", {})}
        if "resources" in data:
            data["resources"] = {name: r for name, r in data["resources"].items() if name in users}
        for mode in data.get("modes", {}).values():
            if "tasks" in mode:
                mode["tasks"] = [name for name in mode["tasks"] if name not in names]
            overrides = mode.pop("overrides", {})
            left = {name: change for name, change in overrides.items() if name not in names}
            if left:
                mode["overrides"] = left
        modes = data.get("modes", {})
        data["modes"] = {name: mode for name, mode in modes.items() if mode and mode.get("tasks") != []}
        if data["modes"].keys() != modes.keys():
            data.pop("mode_changes", None)
        return self._of(data)

    def _with_both_ends(self, data: dict[str, Any]) -> None:
        """Leaves channels, devices and chains only where the tasks in `data` have all their ends."""
        tasks = data["tasks"]
        data["channels"] = self._channels_of(tasks, data.pop("channels", {}))
        for task in tasks.values():
            for key in ("reads", "writes"):
                if key in task:
                    task[key] = self._kept(task[key], data["channels"])
            if task.get("arrival") not in (None, *data["channels"]):
                del task["arrival"]
        used = {
            name.partition(".")[0]
            for task in tasks.values()
            for key in ("reads", "writes")
            for name in (task[key].values() if isinstance(task.get(key), dict) else task.get(key, ()))
        }
        used |= {channel["from"] for channel in data["channels"].values() if "from" in channel}
        devices = data.pop("devices", {})
        data["devices"] = {
            name: device for name, device in devices.items() if "plant" not in device or name in used
        }
        chains = data.pop("chains", {})
        data["chains"] = {name: chain for name, chain in chains.items() if set(chain["path"]) <= set(tasks)}

    def _kept(self, bound: list[str] | dict[str, str], channels: dict[str, Any]) -> Any:
        """What a task reads or writes, without the channels that a mode does not have."""
        gone = self.channels.keys() - channels.keys()
        if isinstance(bound, dict):
            return {member: name for member, name in bound.items() if name not in gone}
        return [name for name in bound if name not in gone]

    def device(self, name: str) -> SystemDevice | Device | None:
        """A device of the system or of its platform."""
        return self.devices.get(name) or self.platform_description.devices.get(name)

    def _channels_of(self, tasks: dict[str, Any], channels: dict[str, Any]) -> dict[str, Any]:
        """The channels, as plain data, that have both their ends among some of the tasks."""
        kept: dict[str, Any] = {}
        for name, channel in channels.items():
            owner, dot, _ = name.rpartition(".")
            if dot:
                if tasks.get(owner, {}).get("execution") == "offloaded":
                    kept[name] = channel
                continue
            readers = [r for r in self.readers(name) if r in tasks or r not in self.tasks]
            writer = self.writer(name)
            if readers and (writer in tasks or writer not in self.tasks):
                kept[name] = channel
                if "to" in channel:
                    kept[name] = {**channel, "to": [reader for reader in channel["to"] if reader in readers]}
        return kept

    def figures(self) -> list[tuple[str, object, Provenance | None]]:
        """Every figure that may carry a source: where it stands, its value, where it comes from."""
        return list(figures_in(self))

    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations to run, in order."""
        if self.run.configurations is not None:
            return self.run.configurations
        return tuple(
            name
            for name in CONFIGURATIONS
            if (self.workers() or name.startswith("local"))
            and (self.run.interference or name.endswith("off"))
        )

    def to_json(self) -> dict[str, Any]:
        """The description with every default filled in; it is itself a valid description."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_yaml(self, path: str | Path, comment: str = "") -> None:
        """Writes the description, without what was left out of it, as a file that reads back as the same."""
        write_yaml(Path(path), self.to_given(), comment)

    def to_given(self) -> dict[str, Any]:
        """The description without what was left out of it, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
