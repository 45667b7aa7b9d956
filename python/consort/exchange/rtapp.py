# SPDX-License-Identifier: Apache-2.0
"""rt-app workloads, read into a system."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from consort.base.environment import MOST_CPUS, usable_cpus
from consort.base.errors import BadInput, closest
from consort.exchange.conventions import (
    Imported,
    Names,
    Report,
    fill_in_delays,
    say_order,
    take_priorities,
    take_times,
)
from consort.exchange.rtapp_threads import POLICIES, TIMER_KEYS, Reader, Thread, read_rtapp_text
from consort.model import Duration
from consort.model.base import numbered

MOST_INSTANCES = 1024
# Policies under which threads share a CPU's time.
FAIR = ("SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE")


def import_rtapp(path: Path, cpus: int | None = None) -> Imported:
    """The system of an rt-app file; `BadInput` where it cannot be read.

    `cpus`: how many the machine has for threads that name none; without it as many as this one.
    """
    report = Report()
    reader = Reader(path, report)
    data = read_rtapp_text(path)
    default = "SCHED_OTHER"
    threads: list[tuple[str, Any]] = []
    for key, value in data:
        if key == "global":
            for name, item in reader.pairs(value, "global"):
                if name == "default_policy":
                    if item not in POLICIES:
                        text = f"{item!r} is not a policy; one of {', '.join(POLICIES)}"
                        raise reader.bad("global.default_policy", text)
                    default = item
                else:
                    report.leave("global", name, "how rt-app runs, not what")
        elif key == "tasks":
            threads += reader.pairs(value, "tasks")
        elif key == "resources":
            for name, _ in reader.pairs(value, "resources"):
                report.leave("resource", name, "not modelled")
        else:
            hint = closest(key, ["tasks", "global", "resources"])
            raise reader.bad(key, f"unknown key {key!r}" + (f"; did you mean {hint!r}?" if hint else ""))
    known = [reader.thread(name, value, default) for name, value in threads]
    named = Counter(timer for thread in known for timer in thread.timers)
    for thread in known:
        for timer in sorted(one for one in thread.timers if named[one] > 1):
            report.leave("ref of a timer", f"{thread.name}, {timer}", TIMER_KEYS["ref"])
    return _imported(path, reader, known, cpus)


def _imported(path: Path, reader: Reader, threads: list[Thread], cpus: int | None) -> Imported:
    report, names = reader.report, Names(reader.report)
    tasks: dict[str, dict[str, Any]] = {}
    sources: dict[str, Thread] = {}
    made: dict[str, list[str]] = {}
    triggers = _triggers(report, threads)
    _share(threads)
    for thread in threads:
        if thread.instances > MOST_INSTANCES:
            text = f"{thread.instances} instances; at most {MOST_INSTANCES} are read"
            raise reader.bad(f"tasks.{thread.name}.instance", text)
        task = _task(reader, thread, triggers)
        if task is None:
            continue
        if not thread.instances:
            report.leave("thread", thread.name, "it has no instance")
        for index in range(thread.instances):
            title = thread.name if thread.instances == 1 else f"{thread.name}-{index}"
            name = names.new("task", title)
            tasks[name], sources[name] = dict(task), thread
            made.setdefault(thread.name, []).append(name)
    if not tasks:
        raise BadInput(f"there is no thread that could be imported\n{report.text()}", file=path)
    _place(report, tasks, sources, cpus)
    _unsaid_times(report, threads, tasks, sources)
    scheduling = _schedule(report, tasks, sources)
    count = 1 + max(numbered(task["on"])[1] or 0 for task in tasks.values())
    platform = {
        "consort": 1,
        "name": "rt-app-host",
        "description": "the Linux machine that an rt-app workload is for",
        "processors": {"cpu": {"isa": "probed"}},
        "cores": {
            "cpu": {
                "processor": "cpu",
                "count": count,
                "cpu": "auto",
                "context_switch": {"value": "0ns", "assumed": "an rt-app workload has none"},
                "timer_lateness": {"value": "0ns", "assumed": "an rt-app workload has none"},
            }
        },
    }
    system: dict[str, Any] = {"consort": 1, "platform": "rt-app-host.yaml"}
    if scheduling:
        system["scheduling"] = scheduling
    system["tasks"] = tasks
    released = {
        made[name][0]: made.get(by.name, [by.name])[0] for name, by in triggers.items() if name in made
    }
    if released:
        fill_in_delays(system, platform, released, report)
    return Imported(platform, system, report, f"Imported from {path.name}, an rt-app workload.")


def _triggers(report: Report, threads: list[Thread]) -> dict[str, Thread]:
    """The threads that others resume, by name, with the one that does."""
    found: dict[str, Thread] = {}
    for thread in threads:
        if not thread.resumed:
            if any(phase.suspends for phase in thread.phases):
                report.leave("event suspend", thread.name, "not the one thing that each turn waits for")
                thread.longer.append("it waits until another thread resumes it")
            continue
        names = thread.awaits
        by = [other for other in threads if any(names & set(phase.resumes) for phase in other.phases)]
        often = max((sum(r in names for r in p.resumes) for other in by for p in other.phases), default=0)
        single = all(one.instances == 1 for one in (thread, *by))
        if len(by) == 1 and by[0] is not thread and often == 1 and single:
            found[thread.name] = by[0]
    # Threads that resume each other in a ring have no first release.
    for name in list(found):
        seen, by_name = {name}, found[name].name
        while by_name in found and by_name not in seen:
            seen.add(by_name)
            by_name = found[by_name].name
        if by_name in seen:
            del found[name]
    for thread in threads:
        names = {name for phase in thread.phases for name in phase.resumes}
        for lost in sorted(
            names - {n for one in threads if found.get(one.name) is thread for n in one.awaits}
        ):
            report.leave("event resume", f"{lost} by {thread.name}", "it releases no thread that is imported")
    return found


def _release(thread: Thread) -> dict[str, str] | None:
    """The release of a thread that times itself; None where it runs without a pause."""
    phases = [phase for phase in thread.phases if phase.run or phase.period or phase.sleep]
    periods = {phase.period for phase in phases}
    if phases and 0 not in periods and len(periods) == 1:
        return {"period": str(Duration(periods.pop()))}
    if phases and all(phase.period or phase.sleep for phase in phases):
        apart = min(phase.period or phase.run + phase.sleep for phase in phases)
        return {"min_interarrival": str(Duration(apart))}
    if thread.policy == "SCHED_DEADLINE" and thread.dl_period:
        return {"period": str(Duration(thread.dl_period))}
    return None


def _task(reader: Reader, thread: Thread, triggers: dict[str, Thread]) -> dict[str, Any] | None:
    report = reader.report
    phases = [phase for phase in thread.phases if phase.run or phase.period or phase.sleep]
    worst = max((phase.run for phase in phases), default=0)
    if not worst:
        report.leave("thread", thread.name, "it executes nothing")
        return None
    first = thread
    while first.name in triggers:
        first = triggers[first.name]
    task: dict[str, Any] = dict(_release(first) or {})
    if not task:
        _refuse_endless(reader, thread, first)
        return None
    if first is not thread:
        task = {"min_interarrival": next(iter(task.values()))}
        by = triggers[thread.name].name
        report.change("release", f"{thread.name} by {by}", "as often as the thread that resumes it")
    elif "min_interarrival" in task:
        report.change(
            "release", thread.name, "sleeps, or has phases that differ: sporadic, at least as far apart"
        )
    if thread.deadline and (thread.checked or thread.policy == "SCHED_DEADLINE"):
        task["deadline"] = str(Duration(thread.deadline))
    if thread.delay:
        if "period" in task:
            task["offset"] = str(Duration(thread.delay))
        else:
            report.leave("delay", thread.name, "a sporadic task comes when it comes")
    task["wcet"] = str(Duration(worst))
    if len(phases) > 1 and any(phase.run != worst for phase in phases):
        task["bcet"] = str(Duration(min(phase.run for phase in phases)))
        report.change(
            "phases", thread.name, "one task that executes as long as the longest, and as the shortest"
        )
    if thread.budget and thread.policy == "SCHED_DEADLINE":
        _granted(report, thread, task, worst)
    waits = max((phase.sleep for phase in phases if phase.period), default=0)
    if waits:
        task["self_suspension"] = str(Duration(waits))
        stops = max(phase.stops for phase in phases if phase.period)
        if stops > 1:
            task["suspensions"] = stops
    return task


def _share(threads: list[Thread]) -> None:
    """Notes of threads that wait for one another's locks, and of those that others start once more."""
    for thread in threads:
        others = [one for one in threads if one is not thread]
        here = {lock for one in others for lock in one.locks} if thread.locks else set()
        # Instances of one priority on one CPU never find their lock taken.
        alone = thread.instances == 1 or len(thread.cpus) == 1
        held = sorted(thread.locks if not alone else thread.locks & here)
        if held:
            thread.longer.append(f"it waits for the lock {held[0]} while another thread has it")
        by = next((one.name for one in threads if thread.name in one.forks), None)
        if by is not None:
            thread.longer.append(f"{by} starts it again and again, so that there are many of it")


def _unsaid_times(
    report: Report, threads: list[Thread], tasks: dict[str, dict[str, Any]], sources: dict[str, Thread]
) -> None:
    """Takes execution times away that would make a bound too low."""
    kept = {id(thread) for thread in sources.values()}
    dropped = [
        one for one in threads if id(one) not in kept and one.instances and any(p.run for p in one.phases)
    ]
    for name, task in tasks.items():
        thread, (_, cpu) = sources[name], numbered(task["on"])
        beside = [one.name for one in dropped if (not one.cpus or cpu in one.cpus) and _delays(one, thread)]
        for why in (*thread.longer, *(f"{one} may run on its CPU, and is left out" for one in beside)):
            take_times(report, tasks, name, why)


def _delays(first: Thread, other: Thread) -> bool:
    """True if one thread can keep the other from their CPU."""
    levels = [
        0 if one.policy in FAIR else 2 if one.policy == "SCHED_DEADLINE" else 1 for one in (first, other)
    ]
    if levels[0] != levels[1] or levels[0] != 1:
        return levels[0] >= levels[1]
    return (first.priority or 0) >= (other.priority or 0)


def _granted(report: Report, thread: Thread, task: dict[str, Any], worst: int) -> None:
    """Compares what a thread executes with what SCHED_DEADLINE grants it; beyond that its jobs wait."""
    period = thread.dl_period or thread.deadline
    apart = Duration.parse(task.get("period") or task["min_interarrival"]).value
    if worst * -(-period // apart) <= thread.budget:
        report.leave(
            "dl-runtime", thread.name, "a job needs no more; what the budget keeps for it is not said"
        )
        return
    for key in ("wcet", "bcet"):
        task.pop(key, None)
    granted, each = Duration(thread.budget), Duration(period)
    text = (
        f"it executes {Duration(worst)} each {Duration(apart)}, and Linux grants {granted} each {each}: it is"
    )
    text += " throttled, and a bound of its jobs would be too low; raise 'dl-runtime'"
    report.leave("execution times of tasks", thread.name, text)


def _refuse_endless(reader: Reader, thread: Thread, first: Thread) -> None:
    """A thread that never waits takes a share that no description can say."""
    place = f"tasks.{thread.name}"
    if any(phase.suspends for phase in thread.phases):
        reader.report.leave("thread", thread.name, "no one thread that times itself resumes it once a turn")
    elif first is not thread:
        reader.report.leave("thread", thread.name, f"{first.name} runs without a pause, and releases it")
    elif thread.policy in ("SCHED_FIFO", "SCHED_RR"):
        raise reader.bad(
            place,
            f"runs without a pause under {thread.policy}: no thread of a lower priority would ever run on its"
            " CPU, and no description says that; give it a timer, or take it out",
        )
    elif thread.policy == "SCHED_DEADLINE":
        raise reader.bad(
            place, "runs without a pause under SCHED_DEADLINE; give it a 'dl-period', or a timer"
        )
    else:
        text = "it runs without a pause; real-time threads preempt it, others on its CPU have no bound"
        reader.report.leave("thread", thread.name, text)


def _place(
    report: Report, tasks: dict[str, dict[str, Any]], sources: dict[str, Thread], cpus: int | None
) -> None:
    """Each task on one CPU: of those it may run on the one with the least load so far."""
    named = {cpu for thread in sources.values() for cpu in thread.cpus}
    anywhere = sorted(named)
    if any(not thread.cpus for thread in sources.values()):
        count = min(len(usable_cpus()) if cpus is None else cpus, MOST_CPUS)
        anywhere = sorted(named | set(range(count)))
        why = "as this machine has; see --cpus" if cpus is None else "--cpus"
        report.notes.append(f"CPUs: {count} for threads that name none ({why})")
    load = dict.fromkeys(anywhere, Fraction(0))
    for name, task in tasks.items():
        thread = sources[name]
        cpu = min(thread.cpus or anywhere, key=lambda number: load[number])
        if "wcet" in task:
            interval = Duration.parse(task.get("period") or task["min_interarrival"])
            load[cpu] += Fraction(Duration.parse(task["wcet"]).value, interval.value)
        task["on"] = f"cpu-{cpu}"
        if len(thread.cpus) != 1:
            text = "may run on several CPUs; placed on the one with the least load so far"
            report.change("placement", f"{name} on cpu-{cpu}", text)


def _schedule(
    report: Report, tasks: dict[str, dict[str, Any]], sources: dict[str, Thread]
) -> dict[str, dict[str, str]]:
    scheduling = {}
    cores: dict[str, list[str]] = {}
    for name, task in tasks.items():
        cores.setdefault(task["on"], []).append(name)
    for core, members in cores.items():
        policies = {sources[name].policy for name in members}
        if policies == {"SCHED_DEADLINE"}:
            scheduling[core] = {"policy": "edf"}
            continue
        ranks = {}
        for name in members:
            thread = sources[name]
            fixed = thread.policy in ("SCHED_FIFO", "SCHED_RR")
            level = 1 if fixed else 2 if thread.policy == "SCHED_DEADLINE" else 0
            ranks[name] = (level, (10 if thread.priority is None else thread.priority) if fixed else 0)
            if thread.policy != "SCHED_FIFO":
                report.change("policy", f"{name} ({thread.policy})", "taken as preemptive fixed priorities")
        if not any(note.startswith("priorities") for note in report.notes):
            say_order(report, "higher", "as Linux has it")
        take_priorities(report, core, tasks, ranks)
    return scheduling
