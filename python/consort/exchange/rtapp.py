# SPDX-License-Identifier: Apache-2.0
"""rt-app workloads: read into a system, and written so that rt-app runs the system's tasks on Linux."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from consort.errors import BadInput
from consort.exchange.delays import fill_in_delays
from consort.exchange.names import Names
from consort.exchange.priorities import distinct_priorities, say_order
from consort.exchange.report import Report
from consort.exchange.result import Imported
from consort.exchange.rtapp_text import Pairs, read_rtapp_text
from consort.model import Duration, System
from consort.model.problems import closest

MICROSECOND = 10**6
# Events that a loop is made of, longest names first: rt-app knows an event by how its key begins.
TIMED = ("runtime", "timer", "sleep", "run")
OTHER_EVENTS = (
    "lock", "unlock", "wait", "signal", "broad", "sync", "barrier", "suspend", "resume", "mem", "iorun",
    "yield", "fork",
)  # fmt: skip
TASK_KEYS = (
    "instance", "delay", "phases", "loop", "policy", "priority", "cpus", "dl-runtime", "dl-period",
    "dl-deadline", "period", "deadline", "util_min", "util_max", "membind_nodes", "nodes_membind",
    "taskgroup", "use_cgroup_slice",
)  # fmt: skip
UNMODELLED = ("util_min", "util_max", "membind_nodes", "nodes_membind", "taskgroup")
POLICIES = ("SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE", "SCHED_RR", "SCHED_FIFO", "SCHED_DEADLINE")
MOST_INSTANCES = 1024


@dataclass
class Phase:
    """What one turn of a phase does, in picoseconds."""

    run: int = 0
    sleep: int = 0
    # How often it sleeps.
    stops: int = 0
    period: int = 0
    # What it resumes, and what it is resumed by.
    resumes: list[str] = field(default_factory=list)
    suspends: list[str] = field(default_factory=list)


@dataclass
class Thread:
    name: str
    policy: str
    phases: list[Phase] = field(default_factory=list)
    cpus: list[int] = field(default_factory=list)
    priority: int | None = None
    delay: int = 0
    deadline: int = 0
    dl_period: int = 0
    instances: int = 1
    # Whether the deadline is the thread's own, whatever its policy: the form with 'exec' has such.
    checked: bool = False

    @property
    def awaits(self) -> set[str]:
        """By which names others resume it."""
        return {self.name, *(name for phase in self.phases for name in phase.suspends)}

    @property
    def resumed(self) -> bool:
        """Whether each of its turns is released by another thread, and by nothing else."""
        return all(len(p.suspends) == 1 and not p.period and not p.sleep for p in self.phases)


class _Reader:
    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.report = report

    def bad(self, field_name: str, message: str) -> BadInput:
        return BadInput(message, file=self.path, field=field_name)

    def integer(self, value: Any, place: str, least: int = 0) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(place, f"{value!r} is no whole number, which rt-app needs here")
        if not least <= value < 2**31:
            raise self.bad(place, f"{value} is outside {least} to {2**31 - 1}")
        return value

    def pairs(self, value: Any, place: str) -> Pairs:
        if not isinstance(value, Pairs):
            raise self.bad(place, "is no object; write {…}")
        return value

    def one(self, pairs: Pairs, key: str) -> Any:
        return next((value for name, value in pairs if name == key), None)

    def thread(self, name: str, value: Any, default_policy: str) -> Thread:
        place = f"tasks.{name}"
        pairs = self.pairs(value, place)
        thread = Thread(name, self._policy(pairs, place) or default_policy)
        for key, item in pairs:
            here = f"{place}.{key}"
            if key == "instance":
                thread.instances = self.integer(item, here)
            elif key == "delay":
                thread.delay = self.integer(item, here) * MICROSECOND
            elif key == "priority":
                thread.priority = self.integer(item, here, -20)
            elif key == "cpus":
                thread.cpus = self._cpus(item, here)
            elif key in ("dl-deadline", "deadline"):
                thread.deadline = self.integer(item, here) * MICROSECOND
            elif key in ("dl-period", "period"):
                thread.dl_period = self.integer(item, here) * MICROSECOND
            elif key == "loop" and item != -1:
                self.report.leave("loop", name, "its number of turns; tasks go on")
            elif key in UNMODELLED:
                self.report.leave(key, name, "not modelled")
        phases = self.one(pairs, "phases")
        if self.one(pairs, "exec") is not None:
            thread.phases.append(self._old_form(pairs, thread, place))
        elif phases is None:
            thread.phases.append(self._phase(pairs, place, name))
        else:
            for title, phase in self.pairs(phases, f"{place}.phases"):
                here = f"{place}.phases.{title}"
                inner = self.pairs(phase, here)
                thread.phases.append(self._phase(inner, here, name))
                cpus = self.one(inner, "cpus")
                if cpus is not None and not thread.cpus:
                    thread.cpus = self._cpus(cpus, f"{here}.cpus")
                    self.report.change("CPUs of a phase", name, "those of the first phase that names some")
        return thread

    def _old_form(self, pairs: Pairs, thread: Thread, place: str) -> Phase:
        """A thread as rt-app took it before it had events: an execution time in each period."""
        for key in ("lock_order", "resources"):
            if self.one(pairs, key) is not None:
                raise self.bad(
                    f"{place}.{key}",
                    "beside 'exec' the form does not say whether its durations are in the execution time;"
                    " write the thread with 'run' and 'timer'",
                )
        known = ("exec", "sleep", *TASK_KEYS)
        for key, _ in pairs:
            if key not in known:
                raise self.bad(f"{place}.{key}", "is no key beside 'exec', the form without events")
        if not thread.dl_period:
            raise self.bad(f"{place}.exec", "needs a 'period': it is the execution time in each")
        thread.checked = True
        return Phase(
            run=self.integer(self.one(pairs, "exec"), f"{place}.exec", 1) * MICROSECOND,
            period=thread.dl_period,
        )

    def _policy(self, pairs: Pairs, place: str) -> str:
        policy = self.one(pairs, "policy")
        if policy is not None and policy not in POLICIES:
            raise self.bad(f"{place}.policy", f"{policy!r} is no policy; one of {', '.join(POLICIES)}")
        return policy or ""

    def _cpus(self, value: Any, place: str) -> list[int]:
        if not isinstance(value, list) or isinstance(value, Pairs):
            raise self.bad(place, "is no list of CPU numbers; write [0, 1]")
        cpus = [self.integer(cpu, place) for cpu in value]
        if any(cpu >= 1024 for cpu in cpus):
            raise self.bad(place, "a CPU number is above 1023")
        return cpus

    def _phase(self, pairs: Pairs, place: str, name: str) -> Phase:
        """One turn of a phase's events."""
        phase = Phase()
        deadline_runtime = self.one(pairs, "policy") == "SCHED_DEADLINE" and not self.one(pairs, "dl-runtime")
        for key, value in pairs:
            here = f"{place}.{key}"
            if key in TASK_KEYS:
                continue
            event = next((event for event in (*TIMED, *OTHER_EVENTS) if key.startswith(event)), None)
            if event is None:
                known = [*TIMED, *OTHER_EVENTS, *TASK_KEYS]
                hint = closest(key, known)
                raise self.bad(here, f"unknown key {key!r}" + (f"; did you mean {hint!r}?" if hint else ""))
            if event == "timer":
                period = self.one(self.pairs(value, here), "period")
                given = self.integer(period, f"{here}.period", 1) * MICROSECOND
                if phase.period and phase.period != given:
                    self.report.change("timer", name, "several periods in one turn: their sum")
                phase.period += given
            elif event in ("run", "runtime"):
                if key == "runtime" and deadline_runtime:
                    continue
                phase.run += self.integer(value, here) * MICROSECOND
            elif event == "sleep":
                phase.sleep += self.integer(value, here) * MICROSECOND
                phase.stops += 1
            elif event in ("suspend", "resume"):
                if not isinstance(value, str):
                    raise self.bad(here, f"{value!r} is no name of a thread")
                (phase.suspends if event == "suspend" else phase.resumes).append(value)
            else:
                self.report.leave(f"event {event}", name, "not modelled")
        return phase


def import_rtapp(path: Path) -> Imported:
    """The system of an rt-app file; `BadInput` where it cannot be read."""
    report = Report()
    reader = _Reader(path, report)
    data = read_rtapp_text(path)
    default = "SCHED_OTHER"
    threads: list[tuple[str, Any]] = []
    for key, value in data:
        if key == "global":
            for name, item in reader.pairs(value, "global"):
                if name == "default_policy":
                    if item not in POLICIES:
                        text = f"{item!r} is no policy; one of {', '.join(POLICIES)}"
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
    return _imported(path, reader, known)


def _imported(path: Path, reader: _Reader, threads: list[Thread]) -> Imported:
    report, names = reader.report, Names(reader.report)
    tasks: dict[str, dict[str, Any]] = {}
    sources: dict[str, Thread] = {}
    made: dict[str, list[str]] = {}
    triggers = _triggers(report, threads)
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
    _place(report, tasks, sources)
    scheduling = _schedule(report, tasks, sources)
    count = 1 + max(int(task["on"].rpartition("-")[2]) for task in tasks.values())
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


def _task(reader: _Reader, thread: Thread, triggers: dict[str, Thread]) -> dict[str, Any] | None:
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
    waits = max((phase.sleep for phase in phases if phase.period), default=0)
    if waits:
        task["self_suspension"] = str(Duration(waits))
        stops = max(phase.stops for phase in phases if phase.period)
        if stops > 1:
            task["suspensions"] = stops
    return task


def _refuse_endless(reader: _Reader, thread: Thread, first: Thread) -> None:
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
        text = "it runs without a pause; real-time threads preempt it, to others it is in no bound"
        reader.report.leave("thread", thread.name, text)


def _place(report: Report, tasks: dict[str, dict[str, Any]], sources: dict[str, Thread]) -> None:
    """Each task on one CPU: of those it may run on the one with the least load so far."""
    cpus = sorted({cpu for thread in sources.values() for cpu in thread.cpus}) or [0]
    load = dict.fromkeys(cpus, Fraction(0))
    for name, task in tasks.items():
        thread = sources[name]
        cpu = min(thread.cpus or cpus, key=lambda number: load[number])
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
        if any(level for level, _ in ranks.values()):
            if not report.notes:
                say_order(report, "higher", "as Linux has it")
            distinct_priorities(report, core, tasks, ranks)
    return scheduling


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
    described: dict[str, Iterable[str]] = {
        "channel": system.channels,
        "device": system.devices,
        "chain": system.chains,
        "mode": system.modes,
    }
    for what, parts in described.items():
        for part in parts:
            report.leave(what, part, "rt-app has none")
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
    if system.scheduling_of(task.on).supply is not None:
        report.leave("supply", name, "rt-app's threads have all of their CPU's time")
    if system.scheduling_of(task.on).bandwidth is not None:
        report.leave("bandwidth", name, "nothing regulates rt-app's accesses")
    if task.preemption_threshold is not None:
        report.leave("preemption threshold", name, "rt-app's threads keep one priority")
    for resource in task.sections:
        report.leave("resource", f"{name}, {resource}", "a run of rt-app's threads holds nothing")
    if system.scheduling_of(task.on).policy == "edf":
        thread |= {"policy": "SCHED_DEADLINE", "dl-runtime": run, "dl-period": period}
        thread["dl-deadline"] = min(deadline, period)
        if deadline > period:
            report.leave("deadline", name, "later than the period, which SCHED_DEADLINE refuses")
        report.leave("placement", name, "Linux gives SCHED_DEADLINE all CPUs of its set")
    else:
        thread |= {"policy": "SCHED_FIFO", "priority": _linux_priority(system, name, report)}
        thread["cpus"] = [cpus[task.on]]
        if task.deadline != task.interval:
            report.leave("deadline", name, "SCHED_FIFO has none")
    if task.offset.value:
        thread["delay"] = task.offset.value // MICROSECOND
    if task.sporadic:
        report.change("release", name, "sporadic; as often as it can come")
    for what, there in (("jitter", task.jitter.value > 0), ("bcet", task.bcet is not None)):
        if there:
            report.leave(what, name, "rt-app has none")
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
    if len(own) > 99:
        raise BadInput(f"{len(own)} tasks on {core!r}; Linux has 99 priorities", file=system.file)
    report.change("priority", name, "counted anew in the same order, to lie in 1 to 99")
    return sorted(own, key=lambda task: own[task]).index(name) + 1
