# SPDX-License-Identifier: Apache-2.0
"""Exports to rt-app and to schedule-abstraction graphs, and the reason for each key that is left out.

AMALTHEA is not in the table: what its elements cannot say stands in a custom property of the model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import Any, Literal

from pydantic import BaseModel

from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.rtapp_threads import MICROSECOND
from consort.model import Duration, System
from consort.model.figures import Figure, Sourced

Form = Literal["mast", "rt-app", "sag"]
FORMS: tuple[Form, ...] = ("mast", "rt-app", "sag")
NAMES: dict[Form, str] = {"mast": "MAST", "rt-app": "rt-app", "sag": "the job set"}
# In place of a reason: the export writes it, or says itself what becomes of it.
WRITTEN = ""
_NONE = "no such thing in {form}"
_NOT_TIMED = "no part of the timing that is written"
_TOO_LOW = "written without: bounds of {form} are too low"
_PARTS = dict.fromkeys(("channels", "chains", "devices", "modes", "mode_changes", "accelerators"), _NONE)
SYSTEM: dict[str, str] = {
    **_PARTS,
    **dict.fromkeys(("consort", "name", "description", "platform", "tasks", "scheduling"), WRITTEN),
    "resources": WRITTEN,
    "run": "how a run is made, not what the system is",
    "targets": "the system as it stands is written, on its own platform",
}
_SCHEDULING: dict[str, str] = {
    "policy": WRITTEN,
    "context_switch": _TOO_LOW,
    "cache_reload": _TOO_LOW,
    "cache": _TOO_LOW,
    "bandwidth": _TOO_LOW,
    "supply": _TOO_LOW,
    **dict.fromkeys(("slot", "arbitration", "wait", "service"), _NONE),
}
SCHEDULING: dict[Form, dict[str, str]] = {
    "mast": _SCHEDULING | {"context_switch": WRITTEN},
    "rt-app": _SCHEDULING
    | dict.fromkeys(("context_switch", "cache_reload", "cache"), "that of the machine takes its place")
    | dict.fromkeys(("supply", "bandwidth"), "threads of rt-app have all of their CPU's time"),
    # A core with a supply or a bandwidth is refused.
    "sag": _SCHEDULING | dict.fromkeys(("supply", "bandwidth"), WRITTEN),
}
_TASK: dict[str, str] = {
    **dict.fromkeys(("period", "min_interarrival", "deadline", "offset", "jitter", "priority"), WRITTEN),
    **dict.fromkeys(("wcet", "bcet", "on", "execution", "master", "sections"), WRITTEN),
    "dispatch": _NONE,
    **dict.fromkeys(("min_distances", "burst"), "the task comes as often as its shortest interval allows"),
    "preemption_threshold": _NONE,
    "self_suspension": _TOO_LOW,
    "suspensions": _NONE,
    "requests": _TOO_LOW,
    "cache_sets": _NONE,
    "accesses": _NONE,
    "remote_state": _TOO_LOW,
    "arrival": "nothing of the task that releases it is written",
    **dict.fromkeys(("step", "types", "energy", "footprint", "reads", "writes"), _NOT_TIMED),
    **dict.fromkeys(("on_miss", "restart_worker", "input", "golden"), _NOT_TIMED),
}
TASK: dict[Form, dict[str, str]] = {
    "mast": _TASK,
    "rt-app": _TASK
    | dict.fromkeys(("self_suspension", "suspensions"), WRITTEN)
    | {"bcet": _NONE, "jitter": _NONE, "sections": "a run of its threads holds nothing", "requests": _NONE}
    | {"remote_state": "nothing of its threads is paged"},
    # Resources are of no matter where no job is preempted; where one is, the export says so.
    "sag": _TASK | {"priority": WRITTEN, "remote_state": WRITTEN},
}


def leave_unwritten(system: System, form: Form, report: Report, tasks: Collection[str]) -> None:
    """Lists what is said of the system and of these tasks, and is not in the file."""
    cores = dict.fromkeys(system.tasks[name].on for name in tasks)
    _leave(report, form, SYSTEM, "", system)
    for name in tasks:
        _leave(report, form, TASK[form], name, system.tasks[name])
    for core in cores:
        _leave(report, form, SCHEDULING[form], core, system.scheduling_of(core))
        described = system.platform_description.core(core).description
        own = system.scheduling_of(core).context_switch
        if own is None and described.context_switch is not None and described.context_switch.value.value:
            why = SCHEDULING[form]["context_switch"]
            if why != WRITTEN:
                report.leave("context_switch", core, why.format(form=NAMES[form]))
        if described.timer_lateness is not None and described.timer_lateness.value.value:
            report.leave("timer_lateness", core, _TOO_LOW.format(form=NAMES[form]))


def _leave(report: Report, form: Form, table: dict[str, str], name: str, part: BaseModel) -> None:
    for key, value in _said(part):
        why = table[key]
        if why != WRITTEN:
            inner = list(value) if not name and isinstance(value, dict) else [name or key]
            for one in inner:
                report.leave(key, one, why.format(form=NAMES[form]))


def keys_of(part: type[BaseModel]) -> list[str]:
    """The keys of a part of a description, but for those that say where its figures come from."""
    return [name for name in part.model_fields if name not in Sourced.model_fields]


def _said(part: BaseModel) -> Iterator[tuple[str, object]]:
    """Keys and values that the description states, but for those that equal the defaults."""
    for key in keys_of(type(part)):
        value = getattr(part, key)
        plain = value.value if isinstance(value, Figure) else value
        nothing = isinstance(plain, Duration) and not plain.value
        if key in part.model_fields_set and value != type(part).model_fields[key].default and not nothing:
            yield key, value


HEADER = "Task ID, Job ID, Arrival min, Arrival max, Cost min, Cost max, Deadline, Priority"
MOST_JOBS = 1_000_000

Job = tuple[int, int, int, int, int, int, int, int]


def export_sag(system: System, report: Report, core: str | None = None) -> str:
    """The text of the CSV file; `BadInput` where the core's tasks are not a finite set of jobs."""
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
            latest = arrival + task.jitter_time.value
            numbers.append((place + 1, index, arrival, latest, bcet.value, wcet.value, deadline))
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


# The default of kernel.sched_rt_runtime_us over kernel.sched_rt_period_us.
ADMITTED = Fraction(95, 100)


def export_rtapp(system: System, report: Report) -> str:
    """The text of an rt-app file that runs the tasks of the system."""
    cores = list(dict.fromkeys(task.on for task in system.tasks.values()))
    cpus: dict[str, int] = {}
    free = (n for n in range(len(cores) + len(system.run.cpus)) if n not in system.run.cpus.values())
    for core in cores:
        cpus[core] = system.run.cpus[core] if core in system.run.cpus else next(free)
        if core not in system.run.cpus:
            report.change(
                "core", f"{core} is CPU {cpus[core]}", "the description does not say which CPU it is"
            )
    threads = {}
    for name in system.tasks:
        thread = _exported(system, name, cpus, report)
        if thread is not None:
            threads[name] = thread
    if not threads:
        raise BadInput(f"there is no task that rt-app could run\n{report.text()}", file=system.file)
    _say_admission(system, threads, report)
    leave_unwritten(system, "rt-app", report, list(threads))
    workload = {
        "tasks": threads,
        "global": {
            "duration": 10,
            "calibration": "CPU0",
            "default_policy": "SCHED_OTHER",
            "pi_enabled": False,
            "lock_pages": True,
            "logdir": "./",
            "log_basename": "rt-app",
            "gnuplot": False,
        },
    }
    return json.dumps(workload, indent=2) + "\n"


# [us]: the least that Linux takes is 1,024 ns.
LEAST_BUDGET = 2


def _say_admission(system: System, threads: Mapping[str, Mapping[str, Any]], report: Report) -> None:
    """Notes cores that ask for more of a CPU than Linux grants SCHED_DEADLINE threads: it refuses them."""
    shares: dict[str, Fraction] = {}
    for name, thread in threads.items():
        if thread["policy"] == "SCHED_DEADLINE":
            core = system.tasks[name].on
            share = Fraction(thread["dl-runtime"], thread["dl-period"])
            shares[core] = shares.get(core, Fraction(0)) + share
    for core, share in shares.items():
        if share > ADMITTED:
            report.notes.append(
                f"{core} asks for {float(share):.3g} of a CPU by SCHED_DEADLINE: Linux refuses more than"
                f" {float(ADMITTED):g} of its CPUs (EBUSY) unless kernel.sched_rt_runtime_us says otherwise"
                " (-1: all), and less where a fair server has a part"
            )


def _exported(system: System, name: str, cpus: dict[str, int], report: Report) -> dict[str, Any] | None:
    task = system.tasks[name]
    wcet = system.wcet(name)
    if wcet is None:
        report.leave("task", name, "it has no wcet")
        return None
    if task.execution != "local":
        report.change("execution", name, f"{task.execution}; runs where it is placed, released there")
    period = task.interval.value // MICROSECOND
    run = -(-wcet.value // MICROSECOND)
    if not period:
        report.leave("task", name, "its period is less than rt-app's microsecond")
        return None
    deadline = task.deadline.value // MICROSECOND
    exact = (task.interval.value, wcet.value, task.offset.value)
    if any(value % MICROSECOND for value in exact):
        report.change("time", name, "rounded to microseconds, to the safe side")
    thread: dict[str, Any] = {}
    if system.scheduling_of(task.on).policy == "edf":
        granted, budget = min(deadline, period), max(run, LEAST_BUDGET)
        if budget > granted:
            why = f"Linux takes no dl-runtime of {budget} µs in {granted} µs, its deadline or least interval"
            report.leave("task", name, why)
            return None
        if budget > run:
            report.change("budget", name, f"{run} µs is {budget} µs, the least that Linux takes")
        thread |= {"policy": "SCHED_DEADLINE", "dl-runtime": budget, "dl-period": period}
        thread["dl-deadline"] = granted
        if deadline > period:
            report.leave("deadline", name, "later than the period, which SCHED_DEADLINE refuses")
        report.leave("placement", name, "Linux gives SCHED_DEADLINE all CPUs of its set")
    else:
        thread |= {"policy": "SCHED_FIFO", "priority": _linux_priority(system, name, report)}
        thread["cpus"] = [cpus[task.on]]
        if system.scheduling_of(task.on).policy != "fixed-priority":
            report.change(
                "policy", name, "preemptive: a thread of SCHED_FIFO is preempted by more urgent ones"
            )
        if task.deadline != task.interval:
            report.leave("deadline", name, "SCHED_FIFO has none")
    if task.offset.value:
        thread["delay"] = task.offset.value // MICROSECOND
    if task.sporadic:
        report.change("release", name, "sporadic; as often as it can come")
    thread |= {"loop": -1, "run": run}
    if task.self_suspension is not None and task.self_suspension.value:
        thread["sleep"] = -(-task.self_suspension.value // MICROSECOND)
        if task.suspensions > 1:
            report.change("suspension", name, "once for all of its time, at the end of a job's execution")
    thread["timer"] = {"ref": "unique", "period": period}
    return thread


def _linux_priority(system: System, name: str, report: Report) -> int:
    """A priority of SCHED_FIFO, 1 to 99: as given where all fit, else their order."""
    core = system.tasks[name].on
    order = system.priorities(core)
    own = {task: priority for task, priority in order.items() if system.tasks[task].on == core}
    if all(1 <= priority <= 99 for priority in own.values()):
        return own[name]
    numbers = sorted(set(own.values()))
    if len(numbers) > 99:
        raise BadInput(f"{len(numbers)} priorities on {core!r}; Linux has 99", file=system.file)
    report.change("priority", name, "counted anew in the same order, to lie in 1 to 99")
    return numbers.index(own[name]) + 1
