# SPDX-License-Identifier: Apache-2.0
"""Checks of the bounds' assumptions against the record: execution times, releases, slots, channels."""

from __future__ import annotations

import signal
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from consort.base.units import apart, jobs_of, microseconds, number, times
from consort.judge.disturbance import Disturbances, merged, touched
from consort.judge.executed import Executed
from consort.judge.samples import Samples
from consort.judge.stops import Stops
from consort.judge.verdict import Bounds
from consort.plan.channels import links_of
from consort.record.findings import Check, Row
from consort.record.ran import CAUSES_OF_EVENTS, EVENTS, NONE, OPERATIONS, STATUS, executes_ns

# Events that break an assumption, and what each says. Whose doing it is follows from the disturbances.
_REPORTED: dict[str, tuple[str, str]] = {
    "slot-missed": ("slots", "slot missed"),
    "slot-overrun": ("slots", "slot overrun"),
    "let-late-write": ("logical execution time", "write after its publication instant"),
    "let-lap": ("logical execution time", "block overwritten before it was read"),
    "over-budget": ("budgets", "job over its budget"),
    "release-lost": ("releases", "release lost"),
    "early-arrival": ("arrivals", "block that came before min_interarrival and min_distances allow"),
}
# Those that follow from a job that the machine disturbed.
_OF_DISTURBED_JOBS = ("let-late-write", "let-lap", "release-lost")
_LOST = ("records_lost", "operations_lost", "events_lost")


def executions(
    samples: Samples,
    limits: Bounds,
    found: Disturbances,
    interrupted: Executed,
    stops: Stops | None = None,
) -> list[Check]:
    """No job may execute longer than the WCET that its bound rests on.

    Of one that was interrupted what it executed at least counts; less than the WCET says nothing. What a
    host takes counts as execution: where `stops` explain an excess, it may be the machine's.
    """
    checks = []
    tasks = samples.system.tasks
    wcets = [limits.wcets.get(task.name, executes_ns(task)) for task in tasks]
    least = interrupted.least
    ns = samples.ns(samples.table["compute"].astype(np.int64))
    ns = np.where(least > 0, least, ns)
    counted = (samples.all_alone & ~found.disturbed & (ns > 0)) | (least > 0)
    longest_allowed = np.array([np.inf if ns is None else ns * (1 + 1e-9) for ns in wcets])
    longest_allowed += samples.resolution_ns
    over = counted & (ns > longest_allowed[samples.task])
    columns = zip(
        tasks,
        wcets,
        samples.count(counted),
        samples.count(over),
        samples.largest(np.where(counted, ns, -np.inf)),
        strict=True,
    )
    for place, (facts, allowed, jobs, longer, most) in enumerate(columns):
        if allowed is None or not jobs:
            continue
        hidden = False
        longest, limit = apart(most, allowed) if longer else (microseconds(most), microseconds(allowed))
        if longer:
            rows = samples.rows_of(place)
            above = rows[over[rows]]
            text = (
                f"{facts.name} executed for longer than its WCET of {limit} µs in"
                f" {number(longer)} of {number(jobs)} undisturbed jobs, first in job"
                f" {int(samples.jobs['seq'][above[0]])}; longest {longest} µs"
            )
            if (least[rows] > 0).any():
                text += ", without what interrupts can have taken"
            hidden = stops is not None and stops.explain(
                ns[above] - allowed, ns[above], float(ns[rows[counted[rows]]].sum())
            )
        else:
            text = (
                f"{facts.name} executed for at most {longest} µs of its WCET of {limit} µs in"
                f" {number(jobs)} undisturbed jobs"
            )
        checks.append(Check("execution times", not longer, text, by="machine" if hidden else "system"))
    return checks


def remote_states(samples: Samples, limits: Bounds) -> list[Check]:
    """No job may have more faults on its state in remote memory than its bound rests on."""
    checks: list[Check] = []
    if samples.events is None:
        return checks
    kinds = [EVENTS.index(name) for name in ("remote-faults", "remote-waits")]
    for place, facts in enumerate(samples.system.tasks):
        mine = samples.events[samples.events["task"] == place]
        faults, waits = (mine[mine["kind"] == kind]["value"].astype(np.int64) for kind in kinds)
        if not faults.size:
            continue
        most = limits.faults.get(facts.name)
        allowed = "" if most is None else f" of {number(most)}"
        # The longest of one fault that is known to have been so long: of jobs that had no other.
        each = samples.ns(waits[faults == 1]) if waits.size == faults.size else np.zeros(0)
        longest = f"; of one alone at most {microseconds(float(each.max()))} µs" if each.size else ""
        text = (
            f"{facts.name} had at most {number(int(faults.max()))}{allowed} faults on its remote state in a"
            f" job, {number(int(faults.sum()))} in {number(int(faults.size))} jobs{longest}"
        )
        checks.append(Check("remote memory", most is None or int(faults.max()) <= most, text))
    return checks


def releases(samples: Samples, found: Disturbances) -> list[Check]:
    """Jobs begin when they are released and their core is free."""
    checks: list[Check] = []
    if not found.late.any():
        return checks
    for place, core in enumerate(samples.system.cores):
        late = found.late & (samples.jobs["core"] == place)
        if late.any():
            worst = float(
                samples.ns(
                    samples.jobs["start"][late].astype(np.int64)
                    - samples.jobs["release"][late].astype(np.int64)
                ).max()
            )
            text = (
                f"{core.name} began {jobs_of(int(late.sum()))} more than a tenth of a period late"
                " while"
                f" it was free; the latest {microseconds(worst)} µs after its release"
            )
            checks.append(Check("releases", False, text, "machine"))
    return checks


def links(samples: Samples, expected_events: Collection[str], rows: Sequence[Row]) -> list[Check]:
    """Every transaction of a link moved its block, and no engine died.

    What was asked for is a finding only where something came too late, or found no room, because of it.
    """
    if samples.events is None:
        return []
    dropped = samples.operations is not None and bool(
        (samples.operations["kind"] == OPERATIONS.index("write-dropped")).any()
    )
    late = dropped or any(row.outcome in ("late", "above bound") for row in rows)
    checks = []
    for name, words_of in (("link-failed", _failed), ("link-died", _engine_died)):
        events = samples.events[samples.events["kind"] == EVENTS.index(name)]
        if name in expected_events and not late:
            continue
        for value in np.unique(events["value"]).tolist():
            mine = events[events["value"] == value]
            checks.append(Check("links", False, words_of(samples, int(value), mine["cause"])))
    return checks


def _failed(samples: Samples, place: int, causes: NDArray[np.uint16]) -> str:
    channel = samples.system.channels[place]
    of = "; ".join(
        f"{CAUSES_OF_EVENTS['link-failed'][cause]}: {times(int(np.count_nonzero(causes == cause)))}"
        for cause in np.unique(causes).tolist()
    )
    return f"transactions of {channel.name} over {channel.memory} ended with an error ({of})"


def _engine_died(samples: Samples, place: int, causes: NDArray[np.uint16]) -> str:
    silent = " after it gave no sign of life" if causes.any() else ""
    return (
        f"the engine of {links_of(samples.system.plan)[place]} ended{silent} {times(int(causes.size))},"
        " and another one went on"
    )


def reported(samples: Samples, found: Disturbances) -> list[Check]:
    """Checks of events that the executive itself reported, and of losses of the recording.

    A release that was lost, or a block that came too late, is the machine's where it disturbed that job: one
    of its core, where a release found no room; of an end of the channel, where a block was overwritten.
    """
    checks = []
    if samples.events is not None:
        for name, (what, words) in _REPORTED.items():
            mine = samples.events[samples.events["kind"] == EVENTS.index(name)]
            at = mine["time"].astype(np.int64)
            excused = np.zeros(mine.size, dtype=np.bool_)
            whose = [_whose(samples, name, one) for one in mine] if name in _OF_DISTURBED_JOBS else []
            for some in set(whose):
                here = np.array([one == some for one in whose])
                excused[here] = touched(_disturbed(samples, found, some), at[here], at[here] + 1)
            for core, by_machine in sorted(set(zip(mine["core"].tolist(), excused.tolist(), strict=True))):
                of_core = mine[(mine["core"] == core) & (excused == by_machine)]
                where = "" if core == NONE else f" on {samples.system.cores[core].name}"
                tasks = sorted({samples.system.tasks[t].name for t in of_core["task"].tolist() if t != NONE})
                of = f" ({', '.join(tasks)})" if tasks else ""
                # On a machine the I/O core is a thread, which came late; a counted one is the system's own.
                timed_by_machine = samples.record.manifest.clock.provenance in ("measured", "emulated")
                machine = by_machine or (what == "slots" and timed_by_machine)
                text = f"{words}{where}{of}: {times(int(of_core.size))}"
                checks.append(Check(what, False, text, "machine" if machine else "system"))
    for counter in _LOST:
        lost = samples.record.manifest.counters.get(counter, 0)
        if lost:
            what = counter.removesuffix("_lost")
            checks.append(
                Check("the record", False, f"{number(lost)} {what} found no room: the record is not whole")
            )
    return checks


def _whose(samples: Samples, name: str, event: np.void) -> tuple[int, ...]:
    """The tasks whose jobs made an event come to be."""
    system, task = samples.system, int(event["task"])
    if task == NONE:
        return tuple(range(len(system.tasks)))
    if name == "release-lost" and event["core"] != NONE:
        mates = system.cores[int(event["core"])].tasks
        return tuple(samples.number(mate) for mate in mates if mate in system.task_names)
    if name == "let-lap" and event["value"] < len(system.channels):
        channel = system.channels[int(event["value"])]
        ends = (channel.writer, *channel.readers)
        return tuple(samples.number(end) for end in ends if end in system.task_names)
    return (task,)


def channels(samples: Samples, found: Disturbances) -> list[Check]:
    """Nothing is dropped, torn or out of order; a queue's reader gets every block.

    Whose doing it was is said of each block: the machine's where it disturbed writer or reader meanwhile.
    """
    checks: list[Check] = []
    operations = samples.operations
    if operations is None:
        return checks
    for place, channel in enumerate(samples.system.channels):
        here = operations[operations["channel"] == place]
        if not here.size:
            continue
        ends = [name for name in (channel.writer, *channel.readers) if name in samples.system.task_names]
        windows = _disturbed(samples, found, [samples.number(name) for name in ends])
        dropped = here[here["kind"] == OPERATIONS.index("write-dropped")]
        problems: list[tuple[str, NDArray[np.void]]] = [
            ("dropped because there was no room", dropped),
            ("not read whole", here[here["kind"] == OPERATIONS.index("read-overtaken")]),
            ("that were not what their number says", here[here["kind"] == OPERATIONS.index("read-corrupt")]),
        ]
        for reader in channel.readers:
            if reader not in samples.system.task_names:
                continue
            mine = here[(here["kind"] == OPERATIONS.index("read")) & (here["task"] == samples.number(reader))]
            if not mine.size:
                continue
            mine = mine[np.argsort(mine["seq"], kind="stable")]
            sequence = mine["sequence"].astype(np.int64)
            follows = np.append(False, np.diff(samples.stay_of(mine["time"])) == 0)
            # After a change of mode the first block may still be to come.
            back = np.append(False, np.diff(sequence) < 0) & ((sequence != 0) | follows)
            problems.append((f"read out of order by {reader}", mine[back]))
            if channel.implementation == "queue" and "count" in (mine.dtype.names or ()):
                # A batch of `count` blocks ends with `sequence`: it begins where the one before it ended.
                last, first = sequence[:-1], sequence[1:] - mine["count"][1:].astype(np.int64)
                # A block that found no room was never there to be seen, and is judged as that.
                refused = np.sort(dropped["sequence"].astype(np.int64))
                known = np.searchsorted(refused, first, "right") - np.searchsorted(refused, last, "right")
                missed = np.append(False, first - known != last)
                missed &= ~back & (mine["count"] > 0) & follows
                problems.append((f"not seen by {reader}", mine[missed]))
        broken = [(words, rows) for words, rows in problems if rows.size]
        for words, rows in broken:
            times = rows["time"].astype(np.int64)
            # A block finds no room because of all that has happened since all of them were read.
            since = _last_empty(here, times) if rows is dropped else times
            excused = touched(windows, since, times + 1)
            for by_machine in np.unique(excused).tolist():
                count = int(np.count_nonzero(excused == by_machine))
                text = f"{channel.name}: {number(count)} blocks {words}"
                checks.append(Check("channels", False, text, "machine" if by_machine else "system"))
        corrupt = int(np.count_nonzero(here["kind"] == OPERATIONS.index("read-corrupt")))
        if corrupt:
            # Whatever the machine did meanwhile: a delay makes no block a wrong one.
            text = f"{channel.name}: {number(corrupt)} blocks read with other content than was written"
            checks.append(Check("channels", False, text))
        if not (broken or corrupt):
            written = int(np.count_nonzero(np.isin(here["kind"], (1, 4))))
            text = f"{channel.name}: {number(written)} blocks, none lost, torn or out of order"
            checks.append(Check("channels", True, text))
    return checks


def _last_empty(operations: NDArray[np.void], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last time before each instant at which a channel's newest block had been read; 0 if it never
    was."""
    by_time = operations[np.argsort(operations["time"], kind="stable")]
    written = np.isin(by_time["kind"], (OPERATIONS.index("write"), OPERATIONS.index("write-late")))
    newest = np.maximum.accumulate(np.where(written, by_time["sequence"], 0).astype(np.int64))
    emptied = (by_time["kind"] == OPERATIONS.index("read")) & (by_time["sequence"] >= newest)
    at = by_time["time"][emptied].astype(np.int64)
    before = np.searchsorted(at, times, side="right") - 1
    return np.where(before >= 0, at[np.maximum(before, 0)], 0) if at.size else times * 0


def _disturbed(
    samples: Samples, found: Disturbances, tasks: Collection[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Intervals in which a disturbed job of one of these tasks was pending."""
    jobs = samples.jobs[found.disturbed & np.isin(samples.jobs["task"], list(tasks))]
    begin = jobs["release"].astype(np.int64)
    allowed = np.array(
        [round(samples.system.pending_ns(task) * samples.ticks_per_ns) for task in samples.system.tasks]
    )[jobs["task"]]
    finish = jobs["finish"].astype(np.int64)
    return merged(begin, np.where(finish > 0, finish, begin + allowed))


def crashes(samples: Samples, expected_events: Collection[str]) -> list[str]:
    """Steps, workers and cores that ended on their own, by name."""
    found: list[str] = []
    system = samples.system
    events = samples.events if samples.events is not None else np.zeros(0, dtype=[("kind", "<u2")])
    if "crashed" not in expected_events:
        for event in events[events["kind"] == EVENTS.index("crashed")]:
            found.append(_crash(samples, event))
    if "worker-died" not in expected_events:
        for event in events[events["kind"] == EVENTS.index("worker-died")]:
            core = system.cores[event["core"]].name if event["core"] != NONE else "a worker"
            task = "" if event["task"] == NONE else f", which computes {system.tasks[event['task']].name}"
            found.append(f"the worker {core}{task} died")
    if "ended" not in expected_events:
        for event in events[events["kind"] == EVENTS.index("ended")]:
            if event["value"] and event["core"] != NONE:
                name = system.cores[event["core"]].name
                found.append(f"core {name} ended with status {int(event['value'])}")
    for event in samples.record.manifest.events:
        if event.name.endswith("-died") and event.name not in expected_events:
            found.append(event.name.replace("-", " "))
    return found


def _crash(samples: Samples, event: np.void) -> str:
    number = int(event["value"])
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}" if number else "without a signal: a step must return, not exit"
    did = "crashed" if number else "ended its process"
    if event["task"] == NONE:
        core = "a core" if event["core"] == NONE else f"core {samples.system.cores[event['core']].name}"
        return f"{core} {did} ({name})"
    facts = samples.system.tasks[int(event["task"])]
    rows = samples.rows_of(int(event["task"]))
    aborted = rows[(samples.jobs["status"][rows] & STATUS["aborted"]) != 0]
    job = f" in job {int(samples.jobs['seq'][aborted[-1]])}" if aborted.size else ""
    step = f", step {facts.step}" if facts.step else ""
    return (
        f"task {facts.name} {did}{job} ({name}{step}); `consort run --debug {facts.name}` takes a debugger"
        " there, `consort run --sanitize` says what the step did"
    )
