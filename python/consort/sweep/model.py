# SPDX-License-Identifier: Apache-2.0
"""The model of a sweep file, and the figures of each kind of sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict

from consort.analysis.generate import PeriodLaw
from consort.model.base import Described, Name, NonEmpty, Version, WrongValue
from consort.model.load import schema_of
from consort.model.quantities import QUANTITIES, Duration
from consort.sweep.values import anything, choices, durations, integers, numbers, truths

# Slots that are known only once there are programs, or a set.
LARGEST_OF_SET, LARGEST = 0, -1
Names = Annotated[tuple[NonEmpty, ...], Strict(False), Field(min_length=1)]
Nanoseconds = Annotated[tuple[int, ...], durations()]
Cores = Annotated[tuple[int, ...], integers(1, 64)]
Truths = Annotated[tuple[bool, ...], truths()]
Utilisations = Annotated[tuple[float, ...], numbers(0.001, 4, 0.7)]
_UTILISATIONS = ["{from: 0.05, to: 1, step: 0.05}"]


class Block(Described):
    """The subject of a sweep: its fields are the parameters."""

    # The parameters that the sets depend on, and for each analysis those that it depends on besides: sets
    # are the same for all analyses, and what does not depend on a parameter is computed once.
    made_of: ClassVar[tuple[str, ...]] = ()
    analyses: ClassVar[dict[str, tuple[str, ...]]] = {}


class TaskSets(Block):
    """Random task sets of one core: utilisations uniform over all that have the sum, periods by a law."""

    made_of = ("tasks", "utilisation", "periods", "shortest", "longest")
    analyses: ClassVar[dict[str, tuple[str, ...]]] = {
        "fixed-priority": (),
        "fixed-priority-non-preemptive": (),
        "edf": (),
        "edf-non-preemptive": (),
        "three-phase": ("cores", "slot"),
        "three-phase-printed": ("cores", "slot"),
        "three-phase-round-robin": ("cores", "slot"),
        "simulated-fixed-priority": ("duration",),
        "simulated-edf": ("duration",),
    }

    tasks: Annotated[tuple[int, ...], integers(1, 200)] = Field(
        description="Tasks of a set.", examples=["10"]
    )
    utilisation: Utilisations = Field(description="Sum of the tasks' utilisations.", examples=_UTILISATIONS)
    periods: Annotated[tuple[PeriodLaw, ...], choices(("log-uniform", "uniform", "automotive"))] = Field(
        default=("log-uniform",),
        description="How periods are drawn; automotive: Kramer et al. 2015, which has its own range.",
    )
    shortest: Nanoseconds = Field(default=(10_000_000,), description="Shortest period.")
    longest: Nanoseconds = Field(default=(100_000_000,), description="Longest period.")
    cores: Cores = Field(default=(2,), description="three-phase: cores that share the DMA, a slot each.")
    slot: Nanoseconds = Field(default=(), description="three-phase: TDMA slot.", examples=["155us"])
    duration: Nanoseconds = Field(
        default=(1_000_000_000,), description="simulated: for how long jobs are released."
    )


class Programs(Block):
    """Task sets of one core, made of given programs with random periods until a utilisation is reached."""

    made_of = ("utilisation", "utilisation_of", "shortest", "longest", "keep_last")
    analyses: ClassVar[dict[str, tuple[str, ...]]] = {
        "three-phase": ("cores", "slot", "context_switch"),
        "three-phase-printed": ("cores", "slot", "context_switch"),
        "three-phase-round-robin": ("cores", "context_switch"),
        "contended": ("context_switch",),
    }

    file: NonEmpty = Field(
        description="CSV of the programs: program, scratchpad_ns, contended_ns, load_ns, unload_ns; its path"
        " is relative to this file.",
        examples=["programs.csv"],
    )
    utilisation: Utilisations = Field(
        description="Programs are drawn until their utilisations reach this.", examples=_UTILISATIONS
    )
    utilisation_of: Annotated[tuple[str, ...], choices(("scratchpad", "contended"))] = Field(
        default=("scratchpad",), description="Which execution times make up the utilisation."
    )
    slot: Annotated[tuple[int, ...], durations(largest_of_set=LARGEST_OF_SET, largest=LARGEST)] = Field(
        default=(0,),
        description="TDMA slot; largest: the longest load or unload of the programs; largest-of-set: of those"
        " of the set at hand.",
    )
    cores: Cores = Field(default=(2,), description="Cores that share the DMA.")
    shortest: Nanoseconds = Field(default=(10_000_000,), description="Shortest period.")
    longest: Nanoseconds = Field(default=(100_000_000,), description="Longest period.")
    context_switch: Annotated[tuple[int, ...], durations(none=0)] = Field(
        description="The cost of one; a job pays two.", examples=["460ns"]
    )
    keep_last: Truths = Field(
        default=(True,), description="True: the task that passes the utilisation stays in the set."
    )


class Attack(Block):
    """Bounds of three-phase tasks attacked: schedules above them looked for in sets that they accept."""

    made_of = ("jitter", "fewest_cores", "most_cores")
    analyses: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("three-phase", "three-phase-printed", "three-phase-round-robin"), ("lowered",)
    )

    jitter: Truths = Field(default=(False,), description="True: releases have jitter.")
    fewest_cores: Cores = Field(default=(1,), description="Cores that share the DMA, at least.")
    most_cores: Cores = Field(default=(4,), description="Cores that share the DMA, at most.")
    lowered: dict[Name, dict[Annotated[str, Field(pattern=r"^[a-z_]+$")], int]] = Field(
        default={},
        description="Lengths that a lemma proves, lowered: each by a name; all are tried, one after another.",
        examples=["{no-interval: {interval_slots: 0}}"],
    )
    until_refuted: bool = Field(
        default=False, description="True: the first schedule above a bound ends the search for others."
    )


class Simulated(Described):
    """The simulation of a description."""

    duration: Duration = Field(description="For how long jobs are released.", examples=["1s"])
    runs: Annotated[int, Field(ge=1)] = Field(default=1, description="Runs, each with its own seed.")
    execution: Annotated[str, Field(pattern="^(uniform|worst|edges)$")] = Field(
        default="uniform", description="Execution times: uniform, worst, or edges."
    )
    dense: bool = Field(default=False, description="Sporadic releases as early as they may come.")


class Varied(Block):
    """A system description with some of its values, or its platform's, changed."""

    analyses: ClassVar[dict[str, tuple[str, ...]]] = {"bounds": (), "simulation": (), "sensitivity": ()}

    file: NonEmpty = Field(
        description="The description; its path is relative to this file.", examples=["system.yaml"]
    )
    mode: Name | None = Field(default=None, description="The mode in which it is looked at.")
    change: dict[NonEmpty, Annotated[tuple[Any, ...], anything()]] = Field(
        description="Values by the path of what they replace: tasks.servo.wcet; platform.…: in the platform;"
        " scale.wcet, scale.wcet.TASK, scale.clock.PROCESSOR: factors.",
        examples=["{scale.wcet: {from: 0.5, to: 2, step: 0.1}}"],
        min_length=1,
    )
    simulate: Simulated | None = Field(default=None, description="How it is simulated.")


class Plot(Described):
    """A picture of some of the figures."""

    title: str = Field(default="", description="Its title.")
    x: NonEmpty = Field(description="The parameter along the horizontal axis.", examples=["utilisation"])
    y: NonEmpty = Field(description="The figure along the vertical axis.", examples=["share"])
    lines: Names = Field(
        default=("analysis",), description="One line for each combination of these parameters."
    )
    panels: Annotated[tuple[NonEmpty, ...], Strict(False)] = Field(
        default=(), description="One panel for each combination of these parameters."
    )
    where: dict[NonEmpty, str | int | float | bool] = Field(
        default={}, description="Only these values of parameters.", examples=["{tasks: 10}"]
    )
    log: Annotated[tuple[str, ...], Strict(False)] = Field(
        default=(), description="Which axes are logarithmic: x, y.", examples=["[x]"]
    )


class Sweep(Described):
    """A sweep file."""

    sweep: Version = Field(description="Version of the format.", examples=["1"])
    name: Name | None = Field(default=None, description="Its name; without it that of the file.")
    title: str = Field(default="", description="The sweep, in a line.")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1, description="The seed of all random choices."
    )
    sets: Annotated[int, Field(ge=1, le=10**12)] = Field(
        default=1000, description="Random task sets of each combination of parameters."
    )
    block: Annotated[int, Field(ge=1, le=10**9)] = Field(
        default=5000, description="Systems of one cell, which is computed, and kept, as a whole."
    )
    analyses: Names = Field(description="The analyses of each system.", examples=["[fixed-priority, edf]"])
    task_sets: TaskSets | None = Field(default=None, description="Random task sets.")
    programs: Programs | None = Field(default=None, description="Task sets made of programs.")
    attack: Attack | None = Field(default=None, description="Bounds attacked by search.")
    description: Varied | None = Field(default=None, description="A system description, changed.")
    plots: dict[Name, Plot] = Field(default={}, description="Pictures, by name.")

    @property
    def kind(self) -> str:
        """The kind of block that the sweep has."""
        return next(kind for kind in BLOCKS if getattr(self, kind) is not None)

    @property
    def swept(self) -> Block:
        block: Block = getattr(self, self.kind)
        return block


BLOCKS: dict[str, type[Block]] = {
    "task_sets": TaskSets,
    "programs": Programs,
    "attack": Attack,
    "description": Varied,
}


def sweep_schema() -> dict[str, Any]:
    """The schema of sweep files."""
    schema = schema_of(Sweep, "Consort sweep")
    schema["oneOf"] = [{"required": [kind]} for kind in BLOCKS]
    return schema


Together = Literal["sum", "largest", "elementwise", "first", "none"]
# Parameters in nanoseconds; their columns say so.
DURATIONS = ("shortest", "longest", "slot", "duration", "context_switch")


@dataclass(frozen=True)
class Figure:
    """A column of results: Arrow's type, the way to combine several blocks' values, and its meaning."""

    name: str
    type: str
    together: Together
    meaning: str
    unit: str = ""


_SETS = (
    Figure("sets", "int64", "sum", "task sets that were made"),
    Figure("schedulable", "int64", "sum", "those that the analysis accepts"),
)
FIGURES: dict[str, tuple[Figure, ...]] = {
    "task_sets": _SETS,
    "programs": _SETS,
    "attack": (
        Figure("sets", "int64", "sum", "task sets that the bound accepts and that were attacked"),
        Figure("simulations", "int64", "sum", "schedules that were tried"),
        Figure("violated_sets", "int64", "sum", "sets with a schedule above the bound"),
        Figure("largest_ratio", "double", "largest", "largest simulated response over its bound"),
        Figure(
            "tightness",
            "list<int64>",
            "elementwise",
            "tasks by largest simulated response over bound, in equal steps from 0 to 1",
        ),
        Figure("example", "string", "first", "a schedule above the bound, as JSON"),
    ),
    "description": (
        Figure("name", "string", "none", "the task, chain or channel; empty: the system"),
        Figure("kind", "string", "none", "what is bounded, or found out"),
        Figure("core", "string", "none", "the task's core"),
        Figure("bound_ps", "int64", "none", "upper bound", "ps"),
        Figure("allowed_ps", "int64", "none", "what it is held against", "ps"),
        Figure("holds", "bool", "none", "whether it holds; none: not known"),
        Figure("simulated_ps", "int64", "none", "largest simulated", "ps"),
        Figure("jobs", "int64", "none", "simulated jobs"),
        Figure("misses", "int64", "none", "simulated deadline misses"),
        Figure("factor", "double", "none", "the factor up to, or down to, which the system is schedulable"),
        Figure("note", "string", "none", "why there is no figure, or what is to be known of it"),
    ),
}
# Computed from the others when points are made.
SHARES: dict[str, tuple[tuple[str, Callable[[Any], float | None], str], ...]] = {
    "attack": (("violated", lambda r: _over(r["violated_sets"], r["sets"]), "share of sets violated"),),
    "description": (("used", lambda r: _over(r["bound_ps"], r["allowed_ps"]), "bound over allowed"),),
} | dict.fromkeys(
    ("task_sets", "programs"),
    (("share", lambda r: _over(r["schedulable"], r["sets"]), "share of schedulable sets"),),
)


def _over(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def column_of(parameter: str) -> str:
    """The column that holds a parameter's values."""
    return f"{parameter}_ns" if parameter in DURATIONS else parameter


# Meanings of numbers below 1.
WORDS: dict[tuple[str, float], str] = {
    ("slot", LARGEST): "largest",
    ("slot", LARGEST_OF_SET): "largest of set",
    ("context_switch", 0): "none",
}


def position(name: str, value: Any) -> float | str:
    """A value's position on an axis: times in microseconds, other quantities in their base unit."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        if (name, value) in WORDS:
            return WORDS[name, value]
        return value / 1e3 if name in DURATIONS else float(value)
    for kind in QUANTITIES:
        try:
            found = kind.parse(value).value
        except WrongValue:
            continue
        return found / 1e6 if kind.base == "picoseconds" else float(found)
    return str(value)


def spelled(name: str, value: Any) -> str:
    """A value as a legend has it."""
    if name in DURATIONS and isinstance(value, int):
        word = WORDS.get((name, value))
        return word or f"{value / 1e3:g} us"
    return f"{value:g}" if isinstance(value, float) else str(value)


def same(name: str, value: Any, wanted: Any) -> bool:
    """True if a parameter's value is the one that a plot asks for, whatever the unit of either."""
    return bool(value == wanted or (value is not None and position(name, value) == position("", wanted)))


def provenance_of(kind: str, analysis: str) -> str:
    return "simulated" if kind == "attack" or analysis.startswith("simulat") else "bound"


def parameters_of(sweep: Sweep) -> dict[str, tuple[Any, ...]]:
    """The parameters of a sweep and their values, in the order in which they vary, the last one fastest."""
    block = sweep.swept
    if isinstance(block, Varied):
        return dict(block.change)
    names = [*block.made_of]
    for analysis in sweep.analyses:
        names += [name for name in block.analyses.get(analysis, ()) if name not in names]
    values = {name: getattr(block, name) for name in names}
    if "lowered" in values:
        values["lowered"] = tuple(values["lowered"]) or ("",)
    return values


def figures_of(sweep: Sweep) -> tuple[list[str], list[str]]:
    """The names of columns that can be drawn, and of the parameters over which they can be drawn."""
    figures = [f.name for f in FIGURES[sweep.kind] if f.type in ("int64", "double")]
    figures += [name for name, _, _ in SHARES[sweep.kind]]
    parameters = ["analysis", *parameters_of(sweep)]
    return figures, parameters + (["name", "kind"] if sweep.kind == "description" else [])
