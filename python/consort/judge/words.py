# SPDX-License-Identifier: Apache-2.0
"""The sentences of a verdict: why a system did not hold, what the machine did, and the last line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from consort.analysis.lacking import named, remedies
from consort.base.units import duration, microseconds, number, times
from consort.judge.deaths import TakenForDead
from consort.judge.executed import Executed
from consort.judge.outputs import WrongOutput
from consort.judge.samples import Samples
from consort.judge.stops import Stops
from consort.record.findings import Check, JobCounts, NotFinite, Pause, Row, Unseen
from consort.record.sections import Held

# Quantities whose excess makes a verdict; a computing time that an interrupt is in makes none.
_JUDGED = ("response", "reaction", "age", "channel age", "delivery")
_ASSUMPTIONS = ("execution times", "slots", "logical execution time", "budgets", "links")


def reasons(
    rows: Sequence[Row],
    counts: Sequence[JobCounts],
    checks: Sequence[Check],
    errors: Sequence[WrongOutput | NotFinite],
    crashes: Sequence[str],
    provenance: str,
    unseen: Sequence[Unseen],
    pauses: Sequence[Pause] = (),
    ordinary: Sequence[str] = (),
    provoked: Sequence[str] = (),
    lost: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Everything for which the system did not hold, the gravest first; empty where it held.

    `unseen`: what is known of what the machine may have done without a trace; `pauses`: what it was seen to
    do; `ordinary`: the cores whose threads had no real-time priority; `provoked`: ends of steps, workers and
    cores that are no reason; `lost`: by task, the jobs that were lost by the machine's doing.
    """
    found = list(crashes)
    found += [
        _undone(count)
        for count in counts
        if count.planned is not None and count.released + (lost or {}).get(count.task, 0) < count.planned
    ]
    found += [f"{c.task}: no job was released" for c in counts if not c.released and c.planned is None]
    found += [
        str(error)
        if isinstance(error, NotFinite) or error.compared
        else f"{error.task}: its outputs were not recorded, so that they cannot be compared"
        for error in errors
    ]
    found += [c.text for c in checks if not c.holds and c.by == "system" and c.name not in _ASSUMPTIONS]
    if provenance == "emulated":
        return tuple(
            found + [c.text for c in checks if not c.holds and c.by == "system" and c.text not in found]
        )
    broken = [c.text for c in checks if not c.holds and c.by == "system" and c.name in _ASSUMPTIONS]
    by_task = {count.task: count for count in counts}
    beside = [text for text in dict.fromkeys([*found, *provoked]) if not any(text == c.text for c in checks)]
    for row in rows:
        if row.outcome == "late":
            found.append(_late(row, by_task.get(row.subject)))
        elif row.outcome == "above bound" and row.quantity != "compute":
            doubts = [*_doubts(row, checks, pauses, ordinary), *beside]
            if any(one.task == row.subject for one in unseen):
                doubts.append("the host, see the notes")
            found.append(_above(row, broken, doubts))
        elif row.outcome == "not seen" and row.kind == "chain":
            found.append(f"chain {row.subject}: no {row.quantity} was seen whole")
    return tuple(found + broken)


def undecided(rows: Sequence[Row], counts: Sequence[JobCounts], above: float) -> tuple[str, ...]:
    """Sentences on what the run does not show: whose doing it was, or anything at all.

    Of a task, a channel or a chain of which the machine disturbed more than the share `above`, and some
    took too long or were not served, nobody can tell whose doing that was. Where all of them met deadline
    and bound all the same, it held: a disturbance makes no job earlier. Nor is anything known of a chain
    through a channel in which the machine left blocks that no job reads away.
    """
    found = [
        f"{c.task}: the run was over before its first release: nothing is known of it"
        for c in counts
        if not c.released and c.planned == 0
    ]
    found += [
        f"chain {row.subject}: neither the run nor a stay in its mode was long enough to see its"
        f" {row.quantity}"
        for row in rows
        if row.outcome == "not due"
    ]
    found += [
        _disturbed(row, above)
        for row in rows
        if row.outcome == "disturbed"
        and row.quantity in _JUDGED
        and not row.left_behind
        and (row.disturbed == row.count or row.disturbed > above * row.count)
    ]
    found += [_left_behind(row) for row in rows if row.outcome == "disturbed" and row.left_behind]
    return tuple(found)


def perhaps_longer(samples: Samples, found: Executed) -> tuple[str, ...]:
    """Tasks of which interrupted jobs were longer than their WCET, or later than they may be, by more than
    interrupts take."""
    return tuple(
        f"{samples.system.tasks[place].name}: {number(count)} interrupted {'job' if count == 1 else 'jobs'}"
        f" {took} and what interrupts take; the machine may have taken the rest, or the system"
        for rows, took in (
            (found.open, "took more CPU time than the WCET"),
            (found.late, "took longer than deadline and bound allow"),
        )
        for place, count in Counter(samples.task[rows].tolist()).items()
    )


def perhaps_alive(samples: Samples, taken: Sequence[TakenForDead]) -> tuple[str, ...]:
    """Cores that were taken for dead as the machine stood still."""
    return tuple(
        f"core {samples.system.core_names[one.core]} was taken for dead, {duration(one.silence_ns)} after its"
        f" last sign of life, while the machine kept {_kept(one)} from running, too: whether it was dead is"
        " not known"
        for one in taken
    )


def _kept(one: TakenForDead) -> str:
    return "the supervisor" if one.supervisor else "every other core"


def cannot_be_shown(rows: Sequence[Row], checks: Sequence[Check], stops: Stops) -> tuple[str, ...]:
    """Times that were too long by no more than this machine stops a core."""
    found = [
        f"{row.subject if row.kind == 'task' else f'{row.kind} {row.subject}'}: {row.quantity},"
        f" {_longest(row.undisturbed)}, {_limits(row)}, which this machine cannot show: it stops a core for"
        f" up to {duration(stops.longest_ns)}{_unwatched(row, stops)}"
        for row in rows
        if row.outcome == "cannot be shown" and row.quantity in _JUDGED
    ]
    longer = (c for c in checks if not c.holds and c.name == "execution times" and c.by == "machine")
    return (*found, *(check.text for check in longer))


def _unwatched(row: Row, stops: Stops) -> str:
    """The reason why a time is not decided that is too long by more than the longest stop."""
    excess = (row.undisturbed or 0.0) - min(ns for ns in (row.bound, row.required) if ns is not None)
    if excess <= stops.longest_ns or excess == float("inf"):
        return ""
    return (
        f", and was watched for {duration(stops.seconds * 1e9)}, too short beside the run to tell an excess"
        f" of {duration(excess)} from a longer stop"
    )


def uncounted(places: Sequence[str]) -> tuple[str, ...]:
    """A sentence on costs that simulated time does not have."""
    if not places:
        return ()
    return (f"simulated time counts nothing for {named(places)}: {remedies(places)}",)


def stopped(stops: Stops) -> str:
    """The stops that a watch of otherwise idle cores saw, and those that the run's own saw as they waited."""
    cores = f"{len(stops.cpus)} {'core' if len(stops.cpus) == 1 else 'cores'}"
    found = f"{cores} watched for {duration(stops.seconds * 1e9)} after the run: "
    if stops.count:
        found += (
            f"{number(stops.count)} {'stop' if stops.count == 1 else 'stops'} in all, longest"
            f" {duration(stops.watched_ns)}"
        )
    else:
        found += "nothing stopped them"
    if stops.seen_ns.size:
        found += (
            f"; in the run, waiting cores were stopped {times(stops.seen_ns.size)}, longest"
            f" {duration(stops.in_run_ns)}"
        )
    if not stops.longest_ns:
        return found
    return f"{found}: shorter deadlines cannot be shown here (`consort doctor` says why)"


def _disturbed(row: Row, above: float) -> str:
    what = row.subject if row.kind == "task" else f"{row.kind} {row.subject}, {row.quantity}"
    jobs = "jobs" if row.kind == "task" else "times"
    if row.disturbed == row.count:
        share = f"every one of its {number(row.count)} {jobs}"
    else:
        share = (
            f"{number(row.disturbed)} of its {number(row.count)} {jobs}, more than the {100 * above:g} % that"
            " leave something to decide"
        )
    return f"{what}: the machine disturbed {share}; {_longest(row.seen)}, {_limits(row)}"


def _left_behind(row: Row) -> str:
    return (
        f"{row.kind} {row.subject}, {row.quantity}: {number(row.left_behind)} of its {number(row.count)}"
        " times are too long by the wait behind blocks that a disturbance left in a channel,"
        f" {_longest(row.seen)}, {_limits(row)}; 'kind: sporadic' hands out the newest, and a reader with a"
        " shorter period than the writer's reads such blocks away"
    )


def _limits(row: Row) -> str:
    named = (("bound", row.bound), ("deadline", row.required))
    return " and ".join(f"{name} {microseconds(ns)} µs" for name, ns in named if ns is not None)


def _undone(count: JobCounts) -> str:
    assert count.planned is not None
    return (
        f"{count.task}: {number(count.released)} of {number(count.planned)} planned jobs were released:"
        " the run"
        " did not do all of its work"
    )


def _late(row: Row, count: JobCounts | None) -> str:
    if row.kind != "task" or count is None:
        return (
            f"{row.kind} {row.subject}: the {row.quantity} took up to {microseconds(row.undisturbed)} µs of"
            f" {microseconds(row.required)} µs allowed{_undisturbed(row)}"
        )
    causes = ", ".join(f"{number(n)} {what}" for what, n in count.causes.items())
    deadline = "" if row.required is None else f" of {microseconds(row.required)} µs"
    return (
        f"{row.subject}: {number(row.late)} of {number(count.released)} jobs missed their deadline{deadline}"
        f"{_undisturbed(row)} ({causes or 'late'}); {_longest(row.undisturbed)}"
    )


def _undisturbed(row: Row) -> str:
    """Simulated and counted time knows no machine that could disturb."""
    return ", undisturbed by the machine" if row.provenance == "measured" else ""


def _longest(ns: float | None) -> str:
    """A longest time, or that a release was never served."""
    return "one was never served" if ns == float("inf") else f"longest {microseconds(ns)} µs"


def _doubts(row: Row, checks: Sequence[Check], pauses: Sequence[Pause], ordinary: Sequence[str]) -> list[str]:
    """Possible causes of a time that was too long, other than a defect of the bound."""
    found = [check.text for check in checks if not check.holds]
    if ordinary:
        found.append(in_ordinary_class(ordinary))
    excess = (row.undisturbed or 0.0) - (row.bound or 0.0)
    fitting = [pause for pause in pauses if pause.longest_ns >= excess]
    if fitting:
        longest = max(fitting, key=lambda pause: pause.longest_ns)
        found.append(
            f"{longest.core} was seen to be kept from its threads for up to {duration(longest.longest_ns)}"
            f" ({longest.culprit}), and the excess is {duration(excess)}"
        )
    return found


def in_ordinary_class(cores: Sequence[str]) -> str:
    """Threads without a real-time priority, which every other thread of the machine may delay."""
    return (
        f"the threads of {', '.join(cores)} ran in the ordinary class (SCHED_OTHER), where any other thread"
        " may come first"
    )


def _above(row: Row, broken: Sequence[str], doubts: Sequence[str]) -> str:
    why = "an assumption of the bound is broken, see below"
    if not broken:
        why = "no assumption of the bound that is checked here is broken: a defect"
        if doubts:
            why = f"it may be a defect, or what else was not as it should be: {'; '.join(doubts)}"
    return (
        f"{row.kind} {row.subject}: {row.quantity} above its bound of {microseconds(row.bound)} µs in"
        f" {number(row.above)} of {number(row.count)}, {_longest(row.undisturbed)}; {why}"
    )


def machine(pauses: Sequence[Pause], counts: Sequence[JobCounts], stops: Stops | None = None) -> str:
    """The machine's disturbances, in one line; empty if there were none."""
    disturbed = sum(count.disturbed for count in counts)
    released = sum(count.released for count in counts)
    missed = sum(count.disturbed_misses for count in counts)
    parts = [
        f"{p.core}: {p.culprit} {times(p.count)}, {duration(p.total_ns)} in all, longest"
        f" {duration(p.longest_ns)}"
        for p in pauses
    ]
    if pauses or disturbed:
        parts.append(
            f"{number(disturbed)} of {number(released)} jobs were disturbed, {number(missed)} of them missed"
        )
    if stops is not None:
        parts.append(stopped(stops))
    return "; ".join(parts)


def notes(
    samples: Samples, rows: Sequence[Row], provenance: str, ordinary: Sequence[str] = ()
) -> tuple[str, ...]:
    """Notes for a reader of the figures."""
    found = []
    if ordinary:
        said = in_ordinary_class(ordinary)
        found.append(f"{said[0].upper()}{said[1:]}.")
    if provenance == "emulated":
        found.append(
            "The times are those of an emulator that does not count: they depend on the machine that emulates"
            " and are held against nothing."
        )
    found += _unbound(rows)
    scale = samples.system.facts.time_scale
    if scale != 1:
        found.append(
            f"All times are stretched {scale}-fold, bounds and deadlines as well; no execution is, nor its"
            " WCET."
        )
    return tuple(found)


def _unbound(rows: Sequence[Row]) -> list[str]:
    """Tasks without a bound, those that lack the same figure together; a remedy that is one for all, once."""
    tasks: dict[str, list[str]] = {}
    for row in rows:
        if row.quantity == "response" and row.bound is None:
            tasks.setdefault(row.missing, []).append(row.subject)
    if not tasks:
        return []
    remedies = {missing.partition(": ")[2] for missing in tasks}
    remedy = remedies.pop() if len(tasks) > 1 and len(remedies) == 1 else ""
    lacking = [f"{', '.join(names)} ({m.removesuffix(f': {remedy}')})" for m, names in tasks.items()]
    return [f"No bound of the response time: {'; '.join(lacking)}{f': {remedy}' if remedy else ''}."]


def summary(
    ok: Held,
    counts: Sequence[JobCounts],
    why: Sequence[str],
    rows: Sequence[Row],
    provenance: str,
    pauses: Sequence[Pause] = (),
    open_ones: Sequence[str] = (),
) -> str:
    """The last line: whether the system held, and whether it was the machine that did not.

    `why`: for what it did not hold. `open_ones`: tasks of which that is not known.
    """
    released = sum(count.released for count in counts)
    disturbed = sum(count.disturbed for count in counts)
    missed = sum(count.disturbed_misses for count in counts)
    if not ok:
        said = why or open_ones
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        machine = "" if why else _culprits(pauses)
        return f"{ok.headline}: {said[0]}{more}{machine}"
    if provenance == "emulated":
        return f"All {number(released)} jobs were done and nothing failed; an emulated clock shows no more."
    bounds = any(row.bound is not None and row.quantity == "response" for row in rows)
    what = "their deadlines and bounds" if bounds else "their deadlines; no response time has a bound"
    if not disturbed:
        return f"The system held: all {number(released)} jobs met {what}."
    if disturbed == released:
        return (
            f"The system held: all {number(released)} jobs met {what}, although the machine disturbed every"
            f" one{_culprits(pauses)}."
        )
    quiet = number(released - disturbed)
    return (
        f"The system held: all {quiet} jobs that the machine did not disturb met {what}. The machine"
        " disturbed"
        f" {number(disturbed)} jobs{_culprits(pauses)}; {number(missed)} of them missed their deadlines."
    )


def _culprits(pauses: Sequence[Pause]) -> str:
    """The longest causes of all, in words: at most two, over all cores."""
    total: dict[str, tuple[int, float]] = {}
    for pause in pauses:
        count, lasted = total.get(pause.culprit, (0, 0.0))
        total[pause.culprit] = (count + pause.count, lasted + pause.total_ns)
    worst = sorted(total.items(), key=lambda item: -item[1][1])[:2]
    said = [f"{culprit} {times(count)} for {duration(lasted)} in all" for culprit, (count, lasted) in worst]
    return f" ({'; '.join(said)})" if said else ""


def without_trace(one: Unseen) -> str:
    """The host's possible part in jobs that were above a bound."""
    expected = number(round(one.expected)) if one.expected >= 1 else f"{one.expected:.2g}"
    return (
        f"While the cores of {one.task} waited, the host took them {times(one.taken)} for"
        f" {microseconds(one.excess_ns)} µs and more, the smallest excess. In a job that leaves no trace; by"
        f" that rate the host came into at least {expected} of its undisturbed jobs, of which"
        f" {number(one.above)} were above the bound."
    )
