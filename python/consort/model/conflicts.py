# SPDX-License-Identifier: Apache-2.0
"""Features that exclude each other on one core: the one table that check, plan and analyze read.

A row says which feature has no bound beside which other one, and why. `consort check` refuses what the rows
say, but for those of bounds alone; a plan has for each core what of the table is true of it
(`Plan.unbounded`), and where something is, `consort analyze` bounds nothing. What no row names works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from consort.model.document import Location, spell

if TYPE_CHECKING:
    from consort.model.description import System
    from consort.model.platform import Core
    from consort.model.sharing import Scheduling
    from consort.model.task import Task


@dataclass(frozen=True)
class Use:
    """A feature that a core, or a task of it, has, and where that is said."""

    place: Location
    task: str = ""
    said: str = ""
    """Further words for a row."""
    at_key: bool = False
    """The key is pointed at, as nothing else stands there."""


class OnCore:
    """The description of a core, or of a group of cores without tasks, and of the tasks there."""

    def __init__(self, system: System, core: str) -> None:
        self.system = system
        self.name = core
        self._uses: dict[str, list[Use]] = {}
        entry = system.scheduling_entry(core)
        self.entry: Location = ("scheduling",) if entry is None else ("scheduling", entry)

    @cached_property
    def scheduling(self) -> Scheduling:
        return self.system.scheduling_of(self.name)

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """Those that are computed or released there."""
        return self.system.tasks_at(self.name)

    @cached_property
    def local(self) -> dict[str, Task]:
        return {name: task for name, task in self.tasks.items() if task.execution == "local"}

    def uses(self, feature: str) -> list[Use]:
        """The uses of a feature there; most rows share theirs with others."""
        found = self._uses.get(feature)
        if found is None:
            found = self._uses[feature] = list(FEATURES[feature](self))
        return found

    @cached_property
    def described(self) -> Core | None:
        """The platform's core; None where there is none of the name."""
        return self.system.known_core(self.name)

    def has(self, *keys: str) -> Iterator[Use]:
        """Keys of its scheduling."""
        return (Use((*self.entry, key)) for key in keys if getattr(self.scheduling, key) is not None)

    def policy(self, *policies: str) -> Iterator[Use]:
        if self.scheduling.policy in policies:
            yield Use((*self.entry, "policy"))

    def where(self, key: str, tasks: Mapping[str, Task], true: Callable[[Task], object]) -> Iterator[Use]:
        return (Use(("tasks", name, key), name) for name, task in tasks.items() if true(task))

    def inherited(self) -> Iterator[Use]:
        """Resources whose holders inherit priorities, once each."""
        used = dict.fromkeys(name for task in self.tasks.values() for name in task.sections)
        for name in used:
            resource = self.system.resources.get(name)
            if resource is not None and resource.protocol == "priority-inheritance":
                yield Use(("resources", name, "protocol"), said=name)


Feature = Callable[[OnCore], Iterator[Use]]


def _task(key: str, true: Callable[[Task], object] | None = None) -> Feature:
    """A key of local tasks."""
    return lambda core: core.where(key, core.local, true or (lambda task: getattr(task, key)))


def _away(key: str) -> Feature:
    """A key of tasks that are not local."""
    others = {"three-phase", "offloaded"}
    return lambda core: core.where(
        key, core.tasks, lambda task: getattr(task, key) and task.execution in others
    )


def _scheduling(key: str) -> Feature:
    return lambda core: core.has(key)


def _policy(*names: str) -> Feature:
    return lambda core: core.policy(*names)


def _execution(*kinds: str) -> Feature:
    return lambda core: core.where("execution", core.tasks, lambda task: task.execution in kinds)


def _shared(core: OnCore) -> Iterator[Use]:
    """Resources that tasks of other cores use, too."""
    for name in dict.fromkeys(name for task in core.tasks.values() for name in task.sections):
        users = {user: task.on for user, task in core.system.tasks.items() if name in task.sections}
        count = len(set(users.values()))
        if count > 1:
            yield Use(("resources", name), said=f"{' and '.join(users)} are on {count} cores")


def _kinds(of_them: bool) -> Feature:
    """The execution of tasks on a core: of three-phase ones, or of others."""

    def uses(core: OnCore) -> Iterator[Use]:
        # Without a scratchpad, or on no core at all, another policy is not a remedy.
        if core.described is None or (of_them and core.described.scratchpad is None):
            return
        for name, task in core.tasks.items():
            if task.on == core.name and (task.execution == "three-phase") == of_them:
                given = "execution" in task.model_fields_set
                yield Use(("tasks", name, *(("execution",) if given else ())), name, at_key=not given)

    return uses


def _equal(core: OnCore) -> Iterator[Use]:
    """Tasks that share a priority with one before them, of those that the core releases by priority."""
    first: dict[int, str] = {}
    for name, task in core.tasks.items() if core.scheduling.policy != "edf" else ():
        given = task.priority if task.released_by == core.name else None
        if given is not None and first.setdefault(given, name) != name:
            yield Use(("tasks", name, "priority"), name, said=first[given])


def _late_timer(core: OnCore) -> Iterator[Use]:
    late = None if core.described is None else core.described.description.timer_lateness
    released = [name for name, task in core.tasks.items() if task.released_by == core.name]
    if late is not None and late.value.value and core.system.sleeps(core.name, released):
        yield Use((*core.entry, "policy"))


def _edf_with_sections(core: OnCore) -> Iterator[Use]:
    return core.policy("edf") if any(task.sections for task in core.tasks.values()) else iter(())


def _with_jitter(core: OnCore) -> Iterator[Use]:
    on = {name: task for name, task in core.tasks.items() if task.on == core.name}
    return core.where("jitter", on, lambda task: task.has_jitter)


def _released(core: OnCore) -> Iterator[Use]:
    for name, task in core.tasks.items():
        if task.released_by == core.name:
            yield Use(("tasks", name, "on" if task.master is None else "master"), name)


THRESHOLD = "preemption_threshold"
FEATURES: dict[str, Feature] = {
    THRESHOLD: _task(THRESHOLD, lambda task: task.preemption_threshold is not None),
    "sections": _task("sections"),
    "requests": _task("requests"),
    "remote_state": _task("remote_state"),
    "self_suspension": _task("self_suspension"),
    "jitter": _with_jitter,
    "sections of jobs elsewhere": _away("sections"),
    "requests of jobs elsewhere": _away("requests"),
    "remote_state of jobs elsewhere": _away("remote_state"),
    "self_suspension of three-phase tasks": lambda core: core.where(
        "self_suspension", core.tasks, lambda task: task.self_suspension and task.execution == "three-phase"
    ),
    "a late deadline of three-phase tasks": lambda core: core.where(
        "deadline",
        core.tasks,
        lambda task: task.execution == "three-phase" and task.deadline > task.interval,
    ),
    "a threshold of an offloaded task": lambda core: core.where(
        THRESHOLD,
        core.tasks,
        lambda task: task.preemption_threshold is not None and task.execution == "offloaded",
    ),
    "a threshold of a three-phase task": lambda core: core.where(
        THRESHOLD,
        core.tasks,
        lambda task: task.preemption_threshold is not None and task.execution == "three-phase",
    ),
    "equal priorities": _equal,
    "priority-inheritance": lambda core: core.inherited(),
    "jobs that wait": lambda core: core.where("on", core.tasks, lambda task: task.gives_up_its_core),
    "offloaded tasks": _execution("offloaded"),
    "tasks offloaded from there": lambda core: core.where(
        "master", core.tasks, lambda task: task.master == core.name
    ),
    "tasks elsewhere": _execution("offloaded", "three-phase"),
    "three-phase tasks": _execution("three-phase"),
    "a three-phase task": _kinds(True),
    "a task that is not three-phase": _kinds(False),
    "tasks released there": _released,
    "tasks computed for others": lambda core: core.where(
        "on",
        core.tasks,
        # One without another core as its master has an error of its own.
        lambda task: (
            task.execution == "offloaded" and task.on == core.name and task.master not in (None, core.name)
        ),
    ),
    "a resource of several cores": _shared,
    "a late timer": _late_timer,
    "cache_reload": _scheduling("cache_reload"),
    "cache": _scheduling("cache"),
    "bandwidth": _scheduling("bandwidth"),
    "supply": _scheduling("supply"),
    "edf": _policy("edf"),
    "edf with resources": _edf_with_sections,
    "fixed-priority-non-preemptive": _policy("fixed-priority-non-preemptive"),
    "three-phase": _policy("three-phase"),
    "another policy than three-phase": _policy("fixed-priority", "fixed-priority-non-preemptive", "edf"),
    "no preemption": _policy("fixed-priority-non-preemptive", "three-phase"),
    "another policy than fixed-priority": _policy("edf", "fixed-priority-non-preemptive", "three-phase"),
}


@dataclass(frozen=True)
class Row:
    """Two features that have no bound on one core.

    `why` may name {core}, its {policy}, the {task} with the feature and its {execution}, the {other} task,
    which has what the feature does not go with, the place {beside} of that, and what is {said} of either.
    """

    feature: str
    beside: str
    why: str
    remedy: str = ""
    refused: bool = True
    """By check; else only bounds lack."""
    at_key: bool = True
    own: bool = False
    """Both are of one task."""

    def says(self, core: OnCore, use: Use, other: Use) -> str:
        task = core.tasks.get(use.task)
        text = self.why.format(
            core=core.name,
            policy=core.scheduling.policy,
            task=use.task,
            execution="" if task is None else task.execution,
            other=other.task,
            beside=spell(other.place),
            said=use.said or other.said,
        )
        return f"{text}; {self.remedy}" if self.remedy else text

    def found(self, core: OnCore) -> Iterator[tuple[Use, str]]:
        """The uses on a core that conflict, each with its message: the first feature beside it that it
        excludes."""
        for use in core.uses(self.feature):
            others = core.uses(self.beside)
            other = next((one for one in others if not self.own or one.task == use.task), None)
            if other is not None:
                yield use, self.says(core, use, other)


LOCAL = "write 'execution: local', or remove it"
FIXED = f"remove {THRESHOLD!r}, or write 'policy: fixed-priority'"
ROWS: tuple[Row, ...] = (
    # Preemption thresholds.
    Row(
        "a threshold of a three-phase task",
        "three-phase tasks",
        "a three-phase job is preempted by nobody: its core executes one partition to its end before it"
        " turns to the other",
        f"remove {THRESHOLD!r}",
        own=True,
    ),
    Row(
        "a threshold of an offloaded task",
        "offloaded tasks",
        "its jobs give the core up while their worker computes, and a threshold is kept from a job's"
        " beginning to its end",
        f"remove {THRESHOLD!r}, or write 'execution: local'",
        own=True,
    ),
    Row(THRESHOLD, "edf", "the core {core!r} is scheduled by edf, where priorities mean nothing", FIXED),
    Row(
        THRESHOLD,
        "fixed-priority-non-preemptive",
        "no job of {core!r} is preempted ({policy}), whatever the threshold",
        FIXED,
    ),
    Row(
        THRESHOLD,
        "bandwidth",
        "beside a budget of accesses of {core!r} it has no bound",
        f"remove {THRESHOLD!r}, or 'bandwidth'",
    ),
    Row(
        THRESHOLD,
        "jobs that wait",
        "jobs of {other!r} wait on {core!r}, where thresholds have no bound",
        f"place one of the two tasks elsewhere, or remove {THRESHOLD!r}",
    ),
    Row(
        THRESHOLD,
        "priority-inheritance",
        "a job that finds {said!r} taken waits on {core!r}, where thresholds have no bound",
        f"write 'protocol: priority-ceiling' for it, or remove {THRESHOLD!r}",
    ),
    Row(THRESHOLD, "cache", "there is no bound for thresholds beside {beside}", refused=False),
    *(
        Row(
            "equal priorities",
            key,
            "is that of {said}, too; there is no bound for equal priorities beside {beside}",
            refused=False,
        )
        for key in ("cache", "bandwidth", THRESHOLD, "sections")
    ),
    # Resources.
    Row(
        "priority-inheritance",
        "edf",
        "{core!r} is scheduled by edf, where no job has a priority to inherit",
        "write 'protocol: priority-ceiling', or 'policy: fixed-priority' for the core",
        at_key=False,
    ),
    *(
        Row(
            "priority-inheritance",
            key,
            f"{{core!r}} has {key!r}, and no bound counts the reloads of a job that waited for a resource",
            "write 'protocol: priority-ceiling', or remove it and let each wcet hold that",
            at_key=False,
        )
        for key in ("cache_reload", "cache")
    ),
    Row(
        "sections of jobs elsewhere",
        "tasks elsewhere",
        "a job of {execution} execution holds no resource",
        LOCAL,
        own=True,
    ),
    Row(
        "sections",
        "jobs that wait",
        "jobs of {other!r} wait on {core!r}, where blocking is bounded of jobs only that do not",
        "place one of the two tasks elsewhere",
    ),
    Row(
        "jitter",
        "edf with resources",
        "{core!r} is scheduled by edf, where resources have bounds without jitter",
        "remove it, or write 'policy: fixed-priority' for the core",
        at_key=False,
    ),
    Row(
        "a late timer",
        "edf with resources",
        "under edf resources have bounds without jitter, and {core} has some",
        refused=False,
    ),
    Row(
        "a resource of several cores",
        "sections",
        "{said}, and no protocol here keeps one core from what another holds",
        "place them on one core, or let a channel carry the data",
    ),
    # Cache reloads of preempted jobs.
    *(
        row
        for key in ("cache_reload", "cache")
        for row in (
            Row(
                key,
                "no preemption",
                "no job is preempted by {policy}",
                f"remove {key!r}, or write another policy",
            ),
            Row(
                key,
                "supply",
                "what a hypervisor runs while the core is off takes its caches, too",
                "remove one of the two",
            ),
            Row(
                key,
                "jobs that wait",
                "jobs of {other!r} wait there, and what they load again then is in no figure",
                f"place it elsewhere, or remove {key!r} and let each wcet hold it",
            ),
        )
    ),
    Row(
        "cache",
        "edf",
        "by sets preemption is bounded under fixed priorities",
        "write 'cache_reload', or that policy",
    ),
    Row("cache", "cache_reload", "'cache_reload' says the same as a stated cost", "keep one of them"),
    # Budgets of memory accesses.
    Row(
        "bandwidth",
        "another policy than fixed-priority",
        "a budget of accesses has bounds under fixed-priority, not {policy}",
        "write that policy",
    ),
    *(
        Row("bandwidth", key, f"beside {key!r} a budget of accesses has no bound", "remove one of the two")
        for key in ("supply", "cache_reload", "cache")
    ),
    *(
        Row(
            "bandwidth",
            beside,
            "jobs of {other!r} wait there, or hold a resource, and have no bound with a budget",
            "place it elsewhere, or remove 'bandwidth'",
        )
        for beside in ("jobs that wait", "sections")
    ),
    # A part of a core's time.
    Row(
        "supply",
        "three-phase",
        "a three-phase core takes turns at the DMA engine and has all of its time",
        "remove 'supply'",
    ),
    Row(
        "supply",
        "offloaded tasks",
        "{other!r} is offloaded between cores that have all of their time",
        "write 'execution: local' for it, name other cores, or remove 'supply'",
    ),
    Row(
        "requests",
        "supply",
        "a job that waits has no bound on {core!r}, which has a supply",
        "place it elsewhere, or remove one of the two",
    ),
    Row(
        "self_suspension",
        "supply",
        "a job that waits has no bound on {core}, which has a supply",
        refused=False,
    ),
    # Accelerators, and states in remote memory.
    Row(
        "requests of jobs elsewhere",
        "tasks elsewhere",
        "a job of {execution} execution asks no accelerator",
        LOCAL,
        own=True,
    ),
    Row(
        "remote_state of jobs elsewhere",
        "tasks elsewhere",
        "the state of a task of {execution} execution goes with its jobs, and is not paged",
        "write 'execution: local', or remove 'remote_state'",
        own=True,
    ),
    *(
        Row(
            "remote_state",
            key,
            f"jobs that wait for pages have no bound beside {key!r} of {{core!r}}",
            "remove one of the two, or place the task elsewhere",
        )
        for key in ("supply", "cache_reload", "cache", "bandwidth")
    ),
    *(
        Row(
            "remote_state",
            key,
            f"jobs that wait for pages have no bound on {{core!r}}, where {{other!r}} has {key!r}",
            "place one of the two elsewhere",
        )
        for key in ("self_suspension", "sections", THRESHOLD, "requests")
    ),
    Row(
        "remote_state",
        "tasks offloaded from there",
        "jobs that wait for pages have no bound on {core!r}, where {other!r} is offloaded from there",
        "place one of the two elsewhere",
    ),
    # Cores that do one thing.
    Row(
        "a three-phase task",
        "another policy than three-phase",
        "the core {core!r} is scheduled by {policy}",
        "write 'policy: three-phase' for it under 'scheduling', or another execution",
        at_key=False,
    ),
    Row(
        "a task that is not three-phase",
        "three-phase",
        "the core {core!r} is three-phase and the task is {execution}",
        "write 'execution: three-phase', or place it elsewhere",
        at_key=False,
    ),
    Row(
        "tasks offloaded from there",
        "three-phase",
        "the core {core!r} executes three-phase tasks and nothing else",
        "name another master",
        at_key=False,
    ),
    Row(
        "tasks released there",
        "tasks computed for others",
        "the core {core!r} is a worker (task {other!r}), which does nothing else",
        "name another core",
        at_key=False,
    ),
    # Three-phase tasks.
    Row(
        "self_suspension of three-phase tasks",
        "three-phase tasks",
        "a three-phase task executes without a stop; remove it",
        refused=False,
        own=True,
    ),
    Row(
        "a late deadline of three-phase tasks",
        "three-phase tasks",
        "the analysis of three-phase tasks takes no deadline above the period",
        refused=False,
        own=True,
    ),
)


def _places(rows: Sequence[Row]) -> Mapping[str, tuple[int, ...]]:
    """The places of each feature's rows in the table: few features are there at all."""
    return {
        feature: tuple(place for place, row in enumerate(ROWS) if row.feature == feature and row in rows)
        for feature in dict.fromkeys(row.feature for row in rows)
    }


_ROWS_OF = _places(ROWS)
_REFUSED = _places([row for row in ROWS if row.refused])


def cores_of(system: System) -> list[OnCore]:
    """The cores with tasks, and what else is scheduled."""
    names = dict.fromkeys(
        core for task in system.tasks.values() for core in (task.on, task.master) if core is not None
    )
    used = {system.scheduling_entry(name) for name in names}
    return [OnCore(system, name) for name in (*names, *(e for e in system.scheduling if e not in used))]


def _found(core: OnCore, rows_of: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[int, Use, str]]:
    """The conflicts of a core that some rows name: place of the row in the table, the use, the message."""
    there = sorted(place for feature, places in rows_of.items() if core.uses(feature) for place in places)
    return ((place, use, text) for place in there for use, text in ROWS[place].found(core))


def refused(system: System) -> Iterator[tuple[OnCore, Location, str, bool]]:
    """The conflicts that check refuses: core, location, message, and true if the error points at the key.

    They come in the order of the rows.
    """
    found = [(core, *one) for core in system.on_cores for one in _found(core, _REFUSED)]
    for core, place, use, text in sorted(found, key=lambda one: one[1]):
        yield core, use.place, text, ROWS[place].at_key or use.at_key


def unbounded(system: System) -> dict[str, tuple[str, ...]]:
    """Reasons that nothing on a core has a bound, by core."""
    found = {
        core.name: tuple(f"{spell(use.place)}: {text}" for _, use, text in _found(core, _ROWS_OF))
        for core in system.on_cores
    }
    return {core: reasons for core, reasons in found.items() if reasons}


def may_have(system: System, core: str, feature: str) -> bool:
    """True if nothing on a core excludes a bound of the feature."""
    there = OnCore(system, core)
    return not any(True for row in ROWS if row.feature == feature for _ in there.uses(row.beside))
