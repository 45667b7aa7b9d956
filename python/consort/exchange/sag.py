# SPDX-License-Identifier: Apache-2.0
"""The jobs of a core as the CSV that np-schedulability-analysis reads (schedule-abstraction graphs)."""

from __future__ import annotations

from functools import reduce
from math import gcd, lcm

from consort.base.errors import BadInput
from consort.exchange.report import Report
from consort.exchange.unwritten import leave_unwritten
from consort.model import System

HEADER = "Task ID, Job ID, Arrival min, Arrival max, Cost min, Cost max, Deadline, Priority"
MOST_JOBS = 1_000_000

Job = tuple[int, int, int, int, int, int, int, int]


def export_sag(system: System, report: Report, core: str | None = None) -> str:
    """The text of the CSV file; `BadInput` where the core's tasks are no finite set of jobs."""
    used = list(dict.fromkeys(task.on for task in system.tasks.values()))
    if core is None and len(used) > 1:
        raise BadInput(
            f"the system has tasks on {', '.join(used)}; an analysis is of one core, name it by --core",
            file=system.file,
        )
    core = core or used[0]
    if core not in used:
        raise BadInput(f"no task is on {core!r}; tasks are on {', '.join(used)}", file=system.file)
    for name, task in system.tasks.items():
        if task.on != core:
            report.leave("task", name, f"on {task.on}")
    jobs, unit = jobs_of(system, core, report)
    report.change("time", "all", f"1 in the file is {unit} ps")
    leave_unwritten(system, "sag", report, system.tasks_on(core))
    lines = [HEADER, *(", ".join(map(str, job)) for job in jobs)]
    return "\n".join(lines) + "\n"


def jobs_of(system: System, core: str, report: Report) -> tuple[list[Job], int]:
    """The jobs, in units of so many picoseconds, and that number.

    Released from 0 to the hyperperiod where all tasks begin at once, else to twice the hyperperiod after the
    last has begun: what comes later repeats.
    """
    policy = system.scheduling_of(core).policy
    if policy == "three-phase":
        raise BadInput(f"{core!r} is scheduled by three-phase, which no job set can say", file=system.file)
    if system.scheduling_of(core).supply is not None:
        raise BadInput(f"{core!r} has a supply, and a job set's processor all of its time", file=system.file)
    if system.scheduling_of(core).bandwidth is not None:
        raise BadInput(f"{core!r} has a bandwidth, and a job set's processor never stalls", file=system.file)
    if policy == "fixed-priority":
        report.change("policy", core, "preemptive; the analysis takes each job to run to its end")
    names, priorities = system.tasks_on(core), system.priorities(core)
    for name in names:
        _analysable(system, name)
        if system.tasks[name].sections and policy == "fixed-priority":
            report.leave("resources", name, "the analysis takes each job to run to its end")
        if policy != "edf" and list(priorities.values()).count(priorities[name]) > 1:
            report.change("equal priority", name, "the analysis serves the task with the lower number first")
    tasks = [system.tasks[name] for name in names]
    hyperperiod = lcm(*(task.interval.value for task in tasks))
    last = max(task.offset.value for task in tasks)
    window = hyperperiod if last == 0 else 2 * hyperperiod + last
    count = sum(max(0, -(-(window - t.offset.value) // t.interval.value)) for t in tasks)
    if count > MOST_JOBS:
        raise BadInput(
            f"the hyperperiod holds {count} jobs on {core!r}, more than {MOST_JOBS}; choose periods that"
            " divide each other",
            file=system.file,
        )
    numbers = []
    for place, (name, task) in enumerate(zip(names, tasks, strict=True)):
        wcet, bcet = system.wcet(name), system.bcet(name)
        assert wcet is not None and bcet is not None
        for index, arrival in enumerate(range(task.offset.value, window, task.interval.value)):
            deadline = arrival + task.deadline.value
            numbers.append(
                (place + 1, index, arrival, arrival + task.jitter.value, bcet.value, wcet.value, deadline)
            )
    unit = reduce(gcd, (value for job in numbers for value in job[2:])) or 1
    jobs = []
    for task_id, index, *times in sorted(numbers, key=lambda job: (job[2], job[0])):
        first, latest, low, high, deadline = (value // unit for value in times)
        # The smaller, the more urgent.
        priority = deadline if policy == "edf" else task_id
        jobs.append((task_id, index + 1, first, latest, low, high, deadline, priority))
    return jobs, unit


def _analysable(system: System, name: str) -> None:
    task = system.tasks[name]
    why = None
    if task.sporadic:
        why = "is sporadic, and a finite set of jobs has releases that are known; give it a period"
    elif system.wcet(name) is None:
        why = "has no wcet; add it"
    elif task.execution != "local":
        why = f"is {task.execution}, which no job set can say"
    elif task.remote_state is not None:
        why = "has its state in remote memory, and jobs of a job set wait for nothing; remove 'remote_state'"
    if why is not None:
        raise BadInput(why, file=system.file, field=f"tasks.{name}")
