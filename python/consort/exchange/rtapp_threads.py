# SPDX-License-Identifier: Apache-2.0
"""The threads of an rt-app workload and their phases, from JSON with comments and keys that repeat."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput, closest
from consort.base.files import LARGEST_DESCRIPTION, read_bytes
from consort.exchange.conventions import Report
from consort.model import Duration

# An event without a value, which rt-app's tool completes: after a brace or a comma, before one of them.
_VALUELESS = re.compile(r'([{,]\s*)("(?:suspend|yield)\d*")(?=\s*[,}])')


# What Linux grants a job of SCHED_DEADLINE at least [ps].
_LEAST_BUDGET = 1_024_000


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON with its keys in order, equal ones kept."""


def read_rtapp_text(path: Path) -> _Pairs:
    try:
        text = read_bytes(path, LARGEST_DESCRIPTION, "workload").decode("utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"is not UTF-8 text: byte {error.start}", file=path) from None
    plain = _VALUELESS.sub(r'\1\2: ""', without_comments(text, path))
    try:
        data = json.loads(plain, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"is not JSON: {error.msg}", file=path, line=error.lineno, column=error.colno
        ) from None
    except (RecursionError, ValueError):
        raise BadInput(
            "is nested too deep, or holds a number too long; this is not a workload", file=path
        ) from None
    if not isinstance(data, _Pairs):
        raise BadInput("holds no object; a workload is {tasks: …, global: …}", file=path)
    return data


def without_comments(text: str, path: Path) -> str:
    """The text with comments and trailing commas blanked out, so that lines and columns stay as they are."""
    out = list(text)
    place, comma = 0, -1
    while place < len(text):
        start = text[place : place + 2]
        if start in ("//", "/*"):
            end = text.find("\n" if start == "//" else "*/", place + 2)
            if end < 0 and start == "/*":
                raise BadInput(
                    "the comment has no end; add */", file=path, line=text.count("\n", 0, place) + 1
                )
            end = len(text) if end < 0 else end + (2 if start == "/*" else 0)
            for index in range(place, end):
                if out[index] != "\n":
                    out[index] = " "
            place = end
            continue
        if text[place] == '"':
            place = _end_of_string(text, place)
            comma = -1
            continue
        if text[place] == ",":
            comma = place
        elif text[place] in "}]" and comma >= 0:
            out[comma] = " "
        if not text[place].isspace() and text[place] != ",":
            comma = -1
        place += 1
    return "".join(out)


def _end_of_string(text: str, place: int) -> int:
    place += 1
    while place < len(text) and text[place] not in '"\n':
        place += 2 if text[place] == "\\" else 1
    return place + 1


MICROSECOND = 10**6
# Events that a loop is made of, longest names first: rt-app knows an event by how its key begins.
TIMED = ("runtime", "timer", "sleep", "run")
OTHER_EVENTS = (
    "lock", "unlock", "wait", "signal", "broad", "sync", "barrier", "suspend", "resume", "mem", "iorun",
    "yield", "fork",
)  # fmt: skip
# Of these, events that take time of their own or wait for others: how long is not said.
TAKE_TIME = {
    "mem": "it writes memory",
    "iorun": "it writes to a device",
    "wait": "it waits for a signal",
    "sync": "it waits for a signal",
    "barrier": "it waits for other threads at a barrier",
}
# Linux has these for SCHED_FIFO and SCHED_RR.
PRIORITIES = (1, 99)
# Keys of a thread beside its events: those that are read, and why the rest is left out.
READ_KEYS = (
    "instance", "delay", "phases", "loop", "policy", "priority", "cpus", "dl-runtime", "dl-period",
    "dl-deadline", "period", "deadline",
)  # fmt: skip
LEFT_OUT = {
    "util_min": "it clamps the speed of a CPU, which has one here",
    "util_max": "it clamps the speed of a CPU, which has one here",
    "membind_nodes": "memory of several nodes is not modelled",
    "nodes_membind": "memory of several nodes is not modelled",
    "taskgroup": "no group shares or limits the time of its threads here",
    "use_cgroup_slice": "no group shares or limits the time of its threads here",
}
TASK_KEYS = (*READ_KEYS, *LEFT_OUT)
# Keys of a timer, and why they are left out; a 'ref' where several threads name it, but for 'unique'.
TIMER_KEYS = {
    "period": "",
    "ref": "each task has a timer of its own, and none waits for that of others",
    "mode": "a release is due a period after the one before, however late that was served",
}
# Keys of a phase for its thread; those for anything but its turns and CPUs are left out.
PHASE_KEYS = ("loop", "cpus")
POLICIES = ("SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE", "SCHED_RR", "SCHED_FIFO", "SCHED_DEADLINE")


@dataclass
class Phase:
    """One turn of a phase, in picoseconds."""

    run: int = 0
    sleep: int = 0
    # How often it sleeps.
    stops: int = 0
    period: int = 0
    # The threads that it resumes, and those that resume it.
    resumes: list[str] = field(default_factory=list)
    suspends: list[str] = field(default_factory=list)
    # How many turns it has before the next phase; -1: the thread stays in it.
    loop: int = 1

    @property
    def waits(self) -> bool:
        return bool(self.period or self.sleep or self.suspends)


def joined(phases: list[Phase]) -> list[Phase]:
    """The phases of a thread, each that never waits joined with the one that comes after it.

    They come in turn, the first one after the last: what executes between two waits is one job. Without a
    phase that waits, or where a thread stays in one that does not, there is nothing to join.
    """
    last = max((place for place, phase in enumerate(phases) if phase.waits), default=-1)
    if last < 0 or any(phase.loop < 0 and not phase.waits for phase in phases):
        return phases
    found, before, resumes = [], 0, list[str]()
    for phase in (*phases[last + 1 :], *phases[: last + 1]):
        if not phase.waits:
            before += phase.loop * phase.run
            resumes += phase.loop * phase.resumes
            continue
        found.append(replace(phase, run=before + phase.run, resumes=resumes + phase.resumes))
        if before and phase.loop != 1:
            found.append(phase)
        before, resumes = 0, []
    return found


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
    # The execution time that SCHED_DEADLINE grants in each of its periods.
    budget: int = 0
    # The names of its timers, which others may name, too.
    timers: set[str] = field(default_factory=set)
    instances: int = 1
    # True if the deadline is the thread's own, whatever its policy: the form with 'exec' has such.
    checked: bool = False
    # Why its jobs may take longer than what it runs.
    longer: list[str] = field(default_factory=list)
    # The locks that it takes, and the threads that it starts.
    locks: set[str] = field(default_factory=set)
    forks: set[str] = field(default_factory=set)

    @property
    def awaits(self) -> set[str]:
        """Names by which others resume it."""
        return {self.name, *(name for phase in self.phases for name in phase.suspends)}

    @property
    def resumed(self) -> bool:
        """True if each of its turns is released by another thread, and by nothing else."""
        return all(len(p.suspends) == 1 and not p.period and not p.sleep for p in self.phases)


class Reader:
    """Reads the threads of a workload; parts that the model has no place for go into the report."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.report = report

    def bad(self, field_name: str, message: str) -> BadInput:
        return BadInput(message, file=self.path, field=field_name)

    def integer(self, value: Any, place: str, least: int = 0) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(place, f"{value!r} is not a whole number, which rt-app needs here")
        if not least <= value < 2**31:
            raise self.bad(place, f"{value} is outside {least} to {2**31 - 1}")
        return value

    def pairs(self, value: Any, place: str) -> _Pairs:
        if not isinstance(value, _Pairs):
            raise self.bad(place, "is not an object; write {…}")
        return value

    def one(self, pairs: _Pairs, key: str) -> Any:
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
            elif key == "dl-runtime":
                thread.budget = self.integer(item, here) * MICROSECOND
            elif key == "loop" and item != -1:
                self.report.leave("loop", name, "its number of turns; tasks go on")
            elif key in LEFT_OUT:
                self.report.leave(key, name, LEFT_OUT[key])
            if key.startswith("dl-") and thread.policy != "SCHED_DEADLINE":
                self.report.leave(key, name, f"{thread.policy} has none")
            elif key == "priority" and thread.policy not in ("SCHED_FIFO", "SCHED_RR"):
                self.report.leave(
                    key, name, f"under {thread.policy} it is not an order in which threads are served"
                )
        least, most = PRIORITIES
        if (
            thread.policy in ("SCHED_FIFO", "SCHED_RR")
            and not least <= (least if thread.priority is None else thread.priority) <= most
        ):
            text = f"{thread.priority} is not a priority of {thread.policy}, which has {least} to {most}"
            raise self.bad(f"{place}.priority", text)
        phases = self.one(pairs, "phases")
        if self.one(pairs, "exec") is not None:
            thread.phases.append(self._old_form(pairs, thread, place))
        elif phases is None:
            thread.phases.append(self._phase(pairs, place, thread))
        else:
            for title, phase in self.pairs(phases, f"{place}.phases"):
                here = f"{place}.phases.{title}"
                inner = self.pairs(phase, here)
                for key, _ in inner:
                    if key in TASK_KEYS and key not in PHASE_KEYS:
                        self.report.leave(f"{key} of a phase", name, "a task has one for all of its jobs")
                made = self._phase(inner, here, thread)
                turns = self.one(inner, "loop")
                if turns is not None:
                    made.loop = self.integer(turns, f"{here}.loop", -1)
                thread.phases.append(made)
                cpus = self.one(inner, "cpus")
                if cpus is not None:
                    own = self._cpus(cpus, f"{here}.cpus")
                    thread.cpus = thread.cpus or own
                    self.report.change(
                        "CPUs of a phase", name, "the thread's, or of the first phase with some"
                    )
        thread.phases = joined(thread.phases)
        if thread.policy == "SCHED_DEADLINE":
            self._admitted(thread, place)
        return thread

    def _admitted(self, thread: Thread, place: str) -> None:
        """Refuses what Linux does (EINVAL). Without a dl-period rt-app takes the runtime, without a
        dl-deadline the period."""
        period = thread.dl_period or thread.budget
        deadline = thread.deadline or period
        each = f"{Duration(thread.budget)} within {Duration(deadline)} each {Duration(period)}"
        if thread.budget < _LEAST_BUDGET:
            text = f"Linux takes no reservation of less than {Duration(_LEAST_BUDGET)}, and this is {each}"
            raise self.bad(f"{place}.dl-runtime", text)
        if thread.budget > deadline:
            raise self.bad(f"{place}.dl-runtime", f"Linux takes none above 'dl-deadline', and this is {each}")
        if deadline > period:
            raise self.bad(f"{place}.dl-deadline", f"Linux takes none above 'dl-period', and this is {each}")

    def _old_form(self, pairs: _Pairs, thread: Thread, place: str) -> Phase:
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
                raise self.bad(f"{place}.{key}", "is not a key beside 'exec', the form without events")
        if not thread.dl_period:
            raise self.bad(f"{place}.exec", "needs a 'period': it is the execution time in each")
        thread.checked = True
        return Phase(
            run=self.integer(self.one(pairs, "exec"), f"{place}.exec", 1) * MICROSECOND,
            period=thread.dl_period,
        )

    def _policy(self, pairs: _Pairs, place: str) -> str:
        policy = self.one(pairs, "policy")
        if policy is not None and policy not in POLICIES:
            raise self.bad(f"{place}.policy", f"{policy!r} is not a policy; one of {', '.join(POLICIES)}")
        return policy or ""

    def _cpus(self, value: Any, place: str) -> list[int]:
        if not isinstance(value, list) or isinstance(value, _Pairs):
            raise self.bad(place, "is not a list of CPU numbers; write [0, 1]")
        cpus = [self.integer(cpu, place) for cpu in value]
        if any(cpu >= 1024 for cpu in cpus):
            raise self.bad(place, "a CPU number is above 1023")
        return cpus

    def _phase(self, pairs: _Pairs, place: str, thread: Thread) -> Phase:
        """One turn of a phase's events."""
        phase, name = Phase(), thread.name
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
                for part, said in value:
                    if part not in TIMER_KEYS:
                        hint = closest(part, list(TIMER_KEYS))
                        text = f"unknown key {part!r}" + (f"; did you mean {hint!r}?" if hint else "")
                        raise self.bad(f"{here}.{part}", text)
                    if part == "mode":
                        self.report.leave("mode of a timer", f"{name}, {said}", TIMER_KEYS[part])
                    elif part == "ref" and said != "unique":
                        thread.timers.add(str(said))
                given = self.integer(period, f"{here}.period", 1) * MICROSECOND
                if phase.period and phase.period != given:
                    self.report.change("timer", name, "several periods in one turn: their sum")
                phase.period += given
            elif event in ("run", "runtime"):
                if key == "runtime" and deadline_runtime:
                    thread.budget = self.integer(value, here) * MICROSECOND
                    continue
                phase.run += self.integer(value, here) * MICROSECOND
            elif event == "sleep":
                phase.sleep += self.integer(value, here) * MICROSECOND
                phase.stops += 1
            elif event in ("suspend", "resume"):
                if value == "" and event == "suspend":
                    value = name  # as rt-app's own tool completes it
                if not isinstance(value, str) or not value:
                    raise self.bad(here, f"{value!r} is not a name of a thread")
                (phase.suspends if event == "suspend" else phase.resumes).append(value)
            else:
                self.report.leave(f"event {event}", name, "not modelled")
                if event in TAKE_TIME and TAKE_TIME[event] not in thread.longer:
                    thread.longer.append(TAKE_TIME[event])
                elif event in ("lock", "fork"):
                    (thread.locks if event == "lock" else thread.forks).add(str(value))
        return phase
