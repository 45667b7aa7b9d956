# SPDX-License-Identifier: Apache-2.0
"""The system that ran: its plan, and what this run made of it (a manifest's `config`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from consort.base.errors import BadInput
from consort.base.files import read_json, write_json
from consort.plan.channels import dropping, in_order_between
from consort.plan.image import restored, stored
from consort.plan.types import Plan, PlannedChain, PlannedChannel, PlannedCore, PlannedTask

Nanoseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PLAN_FILE = "plan.json"


class RunFacts(BaseModel):
    """The facts of a run that no plan has. Further keys are kept: a target records what else it knows."""

    model_config = ConfigDict(extra="allow", frozen=True)

    configuration: str = ""
    time_scale: Annotated[int, Field(gt=0)] = 1
    """By which the plan's times were stretched, but for execution times: no execution is."""
    duration_ns: Nanoseconds | None = None
    """For how long jobs were released, stretched."""
    start_tick: int | None = None
    cpus: Mapping[str, int] = {}
    """By core: the CPU that played it, where one was chosen."""
    steps_of_chains: bool = False
    """The operations are those of the steps of chains from task to task, and of the plan's channels only
    those of queues and mailboxes for which no step stands."""
    stays: tuple[tuple[int, int], ...] = ()
    """Where the recording is of one mode of several: when [ticks] each stay in it began and ended."""
    detection_ns: Nanoseconds | None = None
    """For how long a core is silent until it is known to be dead, stretched; None where nobody looks."""
    jobs: Mapping[str, int] = {}
    """By task: how many jobs were due, where its period does not tell."""


@dataclass(frozen=True)
class Ran:
    """A plan as it ran: rows number its tasks, and the cores, channels and links that stand here."""

    plan: Plan
    facts: RunFacts
    cores: tuple[PlannedCore, ...]
    channels: tuple[PlannedChannel, ...]
    chains: tuple[PlannedChain, ...]

    @staticmethod
    def of(plan: Plan, config: Any, *, file: object = None) -> Ran:
        """The plan with a manifest's `config`; `BadInput` names the key of it that is wrong."""
        try:
            facts = RunFacts.model_validate(config)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(["config", *(str(part) for part in first["loc"])])
            raise BadInput(first["msg"], file=str(file) if file else None, field=where) from None
        channels, chains = plan.carried, tuple(plan.chains.values())
        if facts.steps_of_chains:
            channels, chains = _steps_of_chains(plan)
        return Ran(plan, facts, tuple(plan.cores.values()), channels, chains)

    @cached_property
    def tasks(self) -> tuple[PlannedTask, ...]:
        return tuple(self.plan.tasks.values())

    @cached_property
    def task_names(self) -> list[str]:
        return list(self.plan.tasks)

    @cached_property
    def core_names(self) -> list[str]:
        return [core.name for core in self.cores]

    @cached_property
    def channel_names(self) -> list[str]:
        return [channel.name for channel in self.channels]

    def ns(self, picoseconds: int) -> float:
        """A time of the plan in nanoseconds of the run's clock."""
        return picoseconds * self.facts.time_scale / 1000

    def pending_ns(self, task: PlannedTask) -> float:
        """The longest that a release of the task stands where nothing serves it."""
        return self.ns(max(task.period_ps, task.deadline_ps))


def executes_ns(task: PlannedTask) -> float | None:
    """The longest that the task's step executes, which no time scale stretches; None if that is not known."""
    return None if task.computes_ps is None else task.computes_ps / 1000


def _steps_of_chains(plan: Plan) -> tuple[tuple[PlannedChannel, ...], tuple[PlannedChain, ...]]:
    """A channel for each step from task to task of a chain, and the chains with them in their paths; and the
    queues and mailboxes whose blocks, and those that they drop, no step has."""
    channels: dict[str, PlannedChannel] = {}
    chains = []
    stood_for: set[str] = set()
    for chain in plan.chains.values():
        path = list(chain.path[:1])
        for writer, reader in pairwise(chain.path):
            name = f"{writer} to {reader}" + (" (let)" if chain.communication == "let" else "")
            channels[name] = PlannedChannel(
                name=name,
                # No more is claimed of it than that a read gets a block.
                implementation="snapshot",
                writer=writer,
                readers=(reader,),
                writer_core=plan.tasks[writer].core,
                reader_cores=(plan.tasks[reader].core,),
                capacity=None,
                memory=None,
                bytes=None,
                communication=chain.communication,
                described=False,
            )
            path += [name, reader]
            alike = in_order_between(plan, writer, reader)
            stood_for |= {channel.name for channel in alike if len(alike) == 1}
        chains.append(replace(chain, path=tuple(path)))
    # A step may have had several channels between two tasks: then each of them has its own rows.
    own = (replace(channel, memory=None) for channel in dropping(plan) if channel.name not in stood_for)
    return (*channels.values(), *own), tuple(chains)


def write_plan(folder: Path, plan: Plan) -> None:
    """Writes the plan into a folder of a record."""
    write_json(folder / PLAN_FILE, stored(plan))


def load_plan(file: Path) -> Plan:
    """The plan that a run's record holds; `BadInput` where it is none. `FileNotFoundError` passes."""
    return restored(read_json(file, "plan"), file=file)


# Bits of a job's status word.
STATUS: dict[str, int] = {
    "deadline_misses": 1 << 0,
    "outputs_held": 1 << 1,
    "local_fallbacks": 1 << 2,
    "worker_lost": 1 << 3,
    "late_answers_discarded": 1 << 4,
    "output_errors": 1 << 5,
    "late_releases": 1 << 6,
    "unserved": 1 << 7,
    "aborted": 1 << 8,
}
# Names in reports and traces.
LABELS: dict[str, str] = {
    "deadline_misses": "deadline miss",
    "outputs_held": "output held",
    "local_fallbacks": "local fallback",
    "worker_lost": "worker lost",
    "late_answers_discarded": "late answer discarded",
    "output_errors": "output error",
    "late_releases": "late release",
    "unserved": "unserved",
    "aborted": "aborted",
}
# Why a job missed its deadline: the first of these bits that it carries, in the words of a report.
CAUSES: tuple[tuple[str, str], ...] = (
    ("unserved", "unserved"),
    ("aborted", "aborted"),
    ("worker_lost", "worker lost"),
    ("outputs_held", "no answer in time"),
    ("local_fallbacks", "fallback late"),
    ("late_releases", "started late"),
)
FINISHED_LATE = "finished late"

# Kinds of events, by their number.
EVENTS: tuple[str, ...] = (
    "worker-lost",
    "worker-silent",
    "worker-back",
    "worker-restarted",
    "worker-died",
    "queue-full",
    "overrun",
    "over-budget",
    "crashed",
    "let-late-write",
    "let-lap",
    "disturbed",
    "started",
    "ended",
    "slot-missed",
    "slot-overrun",
    "release-lost",
    "block-corrupt",
    "early-arrival",
    "mode-requested",
    "mode-idle",
    "mode-entered",
    "state-given",
    "state-taken",
    "core-died",
    "state-prepared",
    "state-copied",
    "remote-faults",
    "remote-waits",
    "link-failed",
    "link-died",
    "executed",
    "preempted",
)
# Why a disturbed thread did not run, as far as known, by its number (Event::Cause).
CAUSES_OF_DISTURBANCE: tuple[str, ...] = ("", "stopped", "interrupted", "woken late", "taken", "rested")
# Causes of events by their kind and number; those of a death are Event::Death, of a link link::Outcome. Other
# events have none.
CAUSES_OF_EVENTS: dict[str, tuple[str, ...]] = {
    "disturbed": CAUSES_OF_DISTURBANCE,
    "core-died": ("", "no sign of life", "no sign of life, supervisor kept away"),
    "link-failed": ("moved", "out of a window", "malformed", "the DMA failed", "timed out"),
    "link-died": ("", "no sign of life"),
}
# Events whose value is a time in ticks.
TIMED_EVENTS = frozenset(
    (
        "over-budget",
        "disturbed",
        "executed",
        "preempted",
        "early-arrival",
        "state-given",
        "state-taken",
        "core-died",
        "state-prepared",
        "state-copied",
        "remote-waits",
    )
)

# Kinds of channel operations, by their number.
OPERATIONS: tuple[str, ...] = (
    "read",
    "write",
    "write-dropped",
    "read-overtaken",
    "write-late",
    "read-corrupt",
    "delivered",
)

# The kinds of a slice of a simulation, for a core or the DMA, by their numbers (engine/sim/record.hpp).
SLICES: tuple[str, ...] = (
    "execute",
    "context switch",
    "load",
    "unload",
    "send",
    "receive",
    "fallback",
    "wait",
)

# A task, core or channel that a row does not have.
NONE = 0xFFFF
