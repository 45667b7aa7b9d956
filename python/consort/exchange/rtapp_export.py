# SPDX-License-Identifier: Apache-2.0
"""A workload with which rt-app runs a system's tasks on Linux."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from consort.base.errors import BadInput
from consort.exchange.report import Report
from consort.exchange.rtapp_threads import MICROSECOND
from consort.exchange.unwritten import leave_unwritten
from consort.model import System

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
        thread |= {"policy": "SCHED_DEADLINE", "dl-runtime": run, "dl-period": period}
        thread["dl-deadline"] = min(deadline, period)
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
