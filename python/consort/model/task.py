# SPDX-License-Identifier: Apache-2.0
"""A task: its step, its times, its reads and writes."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Discriminator, Field, PlainSerializer, PlainValidator, Strict, Tag
from pydantic_core import PydanticCustomError

from consort.model.base import CoreName, Described, Member, Name, NonEmpty, WrongValue
from consort.model.channel import (
    STAND_IN,
    Execution,
    OnMiss,
)
from consort.model.figures import (
    MOST_DISTANCES,
    DurationFigure,
    JobEnergy,
    SizeFigure,
    Sourced,
    Time,
    cost_on,
    long_run,
)
from consort.model.quantities import Duration, Energy
from consort.model.sharing import Accesses, CacheSets, RemoteState, Requests, Section
from consort.model.sources import CppName, Golden, Input, StepReference


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


Step = Annotated[
    StepReference | Literal["stand-in"],
    PlainValidator(_step, json_schema_input_type=StepReference | Literal["stand-in"]),
    PlainSerializer(str, return_type=str),
]

# Channels, devices, or members of a plant (<device>.<member>): all of them, or one for each bound member.
Bindings = Annotated[
    Annotated[tuple[NonEmpty, ...], Strict(False), Tag("<list>")]
    | Annotated[dict[Member, NonEmpty], Tag("<members>")],
    Discriminator(_binding_form),
]


AUTO: Final = "auto"


def _jitter(value: Any) -> Duration | Literal["auto"]:
    if value == AUTO:
        return AUTO
    try:
        return Duration.from_yaml(value)
    except WrongValue as error:
        # A word that is no number may have meant it.
        text = f"{error}; or {AUTO}" if str(value)[:1].isalpha() else str(error)
        raise PydanticCustomError("consort_value", "{text}", {"text": text}) from None


Jitter = Annotated[
    Duration | Literal["auto"],
    PlainValidator(_jitter, json_schema_input_type=Duration | Literal["auto"]),
    PlainSerializer(str, return_type=str),
]


class Footprint(Sourced):
    """A job's memory. A load brings all but the outputs, an unload takes data and outputs."""

    code: SizeFigure | None = Field(default=None, description="Its code.", examples=["4KiB"])
    data: SizeFigure | None = Field(default=None, description="Its state and constants.")
    inputs: SizeFigure | None = Field(default=None, description="Its inputs.")
    outputs: SizeFigure | None = Field(default=None, description="Its outputs.")
    stack: SizeFigure | None = Field(
        default=None,
        description="The part of a board's stack that calls in its step take and the compiler cannot bound:"
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
    """The master's own computation for each job of an offloaded task."""

    send: DurationFigure | None = Field(default=None, description="Before the worker begins.")
    receive: DurationFigure | None = Field(default=None, description="After the worker has answered.")


class Burst(Described):
    """Releases that come close to one another, and how soon the next may follow."""

    count: Annotated[int, Field(ge=2, le=MOST_DISTANCES)] = Field(
        description="The most releases in any such interval.", examples=[25]
    )
    within: Duration = Field(description="The length of the interval, jitter included.", examples=["200us"])


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
    min_distances: Annotated[tuple[Duration, ...], Strict(False)] = Field(
        default=(),
        description="The least time from the first to the second, the third, … of releases that follow one"
        " another, jitter included: bursts. Of a sporadic task, or of one with jitter.",
        examples=["[1ms, 2ms, 40ms]"],
    )
    burst: Burst | None = Field(
        default=None,
        description="Instead of min_distances: so many releases at most in any interval of a length.",
        examples=["{count: 25, within: 200us}"],
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
    jitter: Jitter = Field(
        default=Duration(0),
        description="How much later than its time a release may come. auto: as late as the blocks of"
        " 'arrival' may come, by the analysis.",
    )
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = Field(
        default=None,
        description="The larger, the more urgent. Local tasks of one core may share one: bounds then hold in"
        " whichever order they are served. Where no task of a core has one, the shorter deadline is the more"
        " urgent, and of equal ones the task that stands first.",
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
        description="The memory that a job needs.",
        examples=["{code: 4KiB, data: 2KiB, inputs: 64B, outputs: 64B}"],
    )
    on: CoreName = Field(description="The core that computes the step.", examples=["worker-0"])
    execution: Execution = Field(
        default="local",
        description="local: released and computed on one core. offloaded: released by the master, which sends"
        " the inputs to the core under 'on' and awaits its outputs. three-phase: loaded into the core's"
        " scratchpad, executed there, unloaded.",
    )
    master: CoreName | None = Field(
        default=None,
        description="The core that releases the jobs of an offloaded task.",
        examples=["master-0"],
    )
    dispatch: Dispatch | None = Field(
        default=None,
        description="The master's own computing for each job of an offloaded task.",
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
    requests: Requests = Field(
        default=(),
        description="Requests of a job to accelerators; it waits for each, anywhere in its execution.",
        examples=["[{accelerator: convolver, operation: convolve, times: 2}]"],
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
    remote_state: RemoteState | None = Field(
        default=None,
        description="That the state of its step lies in remote memory, of which a part is cached.",
        examples=["{memory: far, cache: 4MiB, faults: 12}"],
    )
    reads: Bindings = Field(
        default=(),
        description="Inputs of the task: a list of channels and devices, or for each member of the input"
        " type a channel, a device or a plant's member.",
        examples=["{reference: set-points, position: arm.angle}"],
    )
    writes: Bindings = Field(
        default=(),
        description="Outputs of the task: a list of channels and devices, or for each member of the output"
        " type a channel, a device or a plant's member.",
        examples=["{torque: arm.torque}"],
    )
    arrival: NonEmpty | None = Field(
        default=None,
        description="For a sporadic task: the channel it reads whose blocks release its jobs; without it a"
        " generator does, at random times that the minimum inter-arrival time allows.",
        examples=["events"],
    )
    on_miss: OnMiss = Field(
        default="hold-last-output",
        description="For an offloaded task: the fate of a job whose answer is not there at its deadline:"
        " the last output holds, the master computes it itself, or the run stops.",
    )
    restart_worker: bool = Field(default=False, description="True if a worker that died is started again.")
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
    def distances(self) -> tuple[Duration, ...]:
        """The least time from a release to the next, the one after that, …, jitter included."""
        if self.burst is None:
            return self.min_distances
        apart = 1 if self.has_jitter else self.interval.value
        longest = self.burst.within
        inside = (Duration(min(steps * apart, longest.value)) for steps in range(1, self.burst.count))
        return (*inside, longest)

    def place_of_distance(self, at: int) -> tuple[str | int, ...]:
        """The key that says a distance, by its place among all."""
        return ("min_distances", at) if self.burst is None else ("burst", "within")

    @property
    def long_run_interval(self) -> Fraction:
        """The least interval between releases in the long run [ps]."""
        return long_run(self.interval.value, [distance.value for distance in self.distances])

    @property
    def step_to_run(self) -> StepReference:
        assert isinstance(self.step, StepReference), "a plan for a machine makes sure of it"
        return self.step

    def bound_to(self, key: Literal["reads", "writes"]) -> list[tuple[str, str]]:
        """The task's reads or writes: member ("" is all of the block), and channel, device or its part."""
        given = self.reads if key == "reads" else self.writes
        return list(given.items()) if isinstance(given, dict) else [("", name) for name in given]

    @property
    def sporadic(self) -> bool:
        return self.period is None

    @property
    def has_jitter(self) -> bool:
        return self.jitter == AUTO or self.jitter_time.value > 0

    @property
    def jitter_time(self) -> Duration:
        assert isinstance(self.jitter, Duration), "who reads it has no auto, or has put numbers in its place"
        return self.jitter

    @property
    def gives_up_its_core(self) -> bool:
        """True if jobs wait before they end: for what is not modelled, an accelerator or a worker."""
        return self.self_suspension is not None or bool(self.requests) or self.execution == "offloaded"

    @property
    def has_offset(self) -> bool:
        """True if the description states when the first job is due: 0 is such a moment, too."""
        return "offset" in self.model_fields_set

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
