# SPDX-License-Identifier: Apache-2.0
"""The figures of a run beside their bounds: one row for each quantity of each task, channel and chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from consort.judge import chains
from consort.judge.disturbance import Disturbances, merged, touched
from consort.judge.samples import Samples
from consort.judge.stops import Stops, Stretches
from consort.judge.verdict import Bounds, Limit
from consort.plan.channels import link_of
from consort.plan.types import PlannedChain
from consort.record.findings import ChainWay, Outcome, Quantity, Row
from consort.record.ran import OPERATIONS, STATUS, executes_ns

Mask = NDArray[np.bool_]
Times = NDArray[np.int64]
# Bounds come in picoseconds, samples in ticks: a difference below this share is one of rounding.
_ROUNDING = 1e-9
_READ = OPERATIONS.index("read")
_DELIVERED = OPERATIONS.index("delivered")


def rows_of(
    samples: Samples,
    limits: Bounds,
    found: Disturbances,
    provenance: str,
    stops: Stops | None,
    dead: Mask,
) -> tuple[tuple[Row, ...], tuple[ChainWay, ...]]:
    """All rows, tasks first, then channels and chains; and the way of each chain's longest reaction.

    `stops`: how the machine stops its cores, where that was watched. `dead`: jobs whose worker was dead.
    """
    scale, resolution = samples.system.facts.time_scale, samples.resolution_ns
    make = _Maker(limits, provenance, scale, stops, samples.ticks_per_ns, resolution)
    rows = _of_tasks(samples, found, make, dead)
    for number in range(len(samples.system.channels)):
        rows += _age(samples, number, found, make)
        rows += _delivery(samples, number, found, make)
    ways = []
    for chain in samples.system.chains:
        of_chain, way = _of_chain(samples, chain, found, make)
        rows += of_chain
        if way is not None:
            ways.append(way)
    return tuple(_with_chains(rows, samples)), tuple(ways)


def perhaps_stopped(samples: Samples, rows: Sequence[Row], found: Disturbances) -> Mask:
    """Jobs that were too long by what stops without a trace may have taken."""
    stopped = np.zeros(samples.size, dtype=np.bool_)
    seen = {"response": samples.response, "compute": samples.ns(samples.table["compute"].astype(np.int64))}
    for row in rows:
        if row.kind == "task" and row.outcome == "cannot be shown" and row.quantity in seen:
            mine = samples.rows_of(samples.number(row.subject))
            allowed = min(ns for ns in (row.bound, row.required) if ns is not None)
            stopped[mine] |= (seen[row.quantity][mine] > allowed) | samples.missed[mine]
    return stopped & ~found.disturbed


def _with_chains(rows: list[Row], samples: Samples) -> list[Row]:
    """The rows, in which a chain or a channel cannot be shown where one of its tasks cannot."""
    hidden = {row.subject for row in rows if row.kind == "task" and row.outcome == "cannot be shown"}
    on_them = {
        chain.name for chain in samples.system.chains if hidden & set(chains.tasks_of(chain, samples.system))
    }
    on_them |= {c.name for c in samples.system.channels if hidden & {c.writer, *c.readers}}
    return [
        replace(row, outcome="cannot be shown")
        if row.kind != "task" and row.subject in on_them and row.outcome in ("late", "above bound")
        else row
        for row in rows
    ]


class _Maker:
    """Makes rows: finds the bound, the simulated maximum and the outcome of each."""

    def __init__(
        self,
        limits: Bounds,
        provenance: str,
        scale: float,
        stops: Stops | None,
        ticks_per_ns: float,
        resolution_ns: float,
    ) -> None:
        self._limits = limits
        self._stops = stops
        self._provenance = provenance
        self._scale = scale
        self._ticks_per_ns = ticks_per_ns
        self._resolution_ns = resolution_ns
        # The instants of a clock are whole ticks, also logical ones of an exact period: from one rounded
        # instant to another one, and a rounded time later. Simulated time is exact.
        self._rounded_ns = 0.0 if provenance == "simulated" else 1.5 / ticks_per_ns

    def wcet(self, task: str, recorded: float | None) -> Limit:
        """The WCET that the bounds rest on."""
        known = self._limits.wcets.get(task, recorded)
        if known is None:
            return Limit(task, "compute", None, "", "no wcet is known; `consort profile` finds one")
        return Limit(task, "compute", known, self._limits.wcet_source)

    def longest(self, subject: str, quantity: Quantity, required: float | None) -> float | None:
        """The limit of a quantity [ns]: its bound, or else its requirement."""
        bound = self._limits.bound(subject, quantity).ns
        return required if bound is None else bound * self._scale

    def row(
        self,
        subject: str,
        kind: Literal["task", "channel", "chain"],
        quantity: Quantity,
        ns: NDArray[np.float64],
        undisturbed: Mask,
        *,
        required: float | None = None,
        bound: Limit | None = None,
        missed: Mask | None = None,
        note: str = "",
        behind: NDArray[np.float64] | None = None,
        since: Times | None = None,
        stood: NDArray[np.float64] | None = None,
        cores: int = 1,
        certain: Mask | None = None,
    ) -> Row:
        """A row of samples in ns. `missed` marks those that were late whatever their time.

        `behind`: how much of each is a wait behind blocks that a disturbance left in a channel. Without it a
        sample has to hold all the same. `since`: when each began [ticks]; without it none overlap. `stood`:
        for how long each of those stood that nobody served, 0 for others. `cores`: how many there are on
        which a stop makes one longer. `certain`: those that no stop explains.
        """
        bound = bound or self.bound(subject, quantity)
        limit = self.limit(quantity, bound)
        slack = 0.0 if kind == "task" else self._rounded_ns
        # Between two readings of the clock.
        slack = self._resolution_ns if quantity == "compute" else slack
        over = np.zeros(ns.size, dtype=np.bool_) if limit is None else ns > limit * (1 + _ROUNDING) + slack
        late = np.zeros(ns.size, dtype=np.bool_) if missed is None else missed
        if required is not None:
            late = late | (ns > required * (1 + _ROUNDING) + slack)
        left = np.zeros(ns.size, dtype=np.bool_)
        if behind is not None:
            most = slack + min(np.inf if one is None else one * (1 + _ROUNDING) for one in (limit, required))
            left = undisturbed & (late | over) & (behind > 0) & (ns - behind <= most)
            undisturbed = undisturbed & ~left
        stretches = Stretches(ns, undisturbed, since, self._ticks_per_ns, stood, cores, queue=kind == "task")
        outcome: Outcome
        if not ns.size:
            outcome = "not seen"
        elif self._provenance == "emulated":
            outcome = "not judged"
        elif self._stopped(stretches, (late | over) & undisturbed, required, limit, certain):
            outcome = "cannot be shown"
        elif (late & undisturbed).any():
            outcome = "late"
        elif (over & undisturbed).any():
            outcome = "above bound"
        elif over.any() or late.any():
            outcome = "disturbed"
        else:
            outcome = _unless_wrong(limit, required)
        return self._row(
            subject,
            kind,
            quantity,
            bound,
            seen=float(ns.max()) if ns.size else None,
            undisturbed=float(ns[undisturbed].max()) if undisturbed.any() else None,
            required=required,
            count=int(ns.size),
            above=int(np.count_nonzero(over & undisturbed)),
            late=int(np.count_nonzero(late & undisturbed)),
            outcome=outcome,
            note=note,
            disturbed=int(np.count_nonzero(~undisturbed)),
            left_behind=int(np.count_nonzero(left)),
        )

    def row_of_right(
        self,
        subject: str,
        quantity: Quantity,
        largest: float,
        count: int,
        *,
        required: float | None = None,
        bound: Limit,
        note: str = "",
    ) -> Row:
        """The row of a task of whose jobs, so many, none was disturbed or wrong."""
        limit = self.limit(quantity, bound)
        outcome = _unless_wrong(limit, required)
        return self._row(
            subject,
            "task",
            quantity,
            bound,
            seen=largest,
            undisturbed=largest,
            required=required,
            count=count,
            above=0,
            late=0,
            outcome="not judged" if self._provenance == "emulated" else outcome,
            note=note,
        )

    def bound(self, subject: str, quantity: Quantity) -> Limit:
        return self._limits.bound(subject, quantity)

    def limit(self, quantity: Quantity, bound: Limit) -> float | None:
        """The bound in the time of the run [ns]: no execution is stretched."""
        return None if bound.ns is None else bound.ns * (1 if quantity == "compute" else self._scale)

    def _row(
        self,
        subject: str,
        kind: Literal["task", "channel", "chain"],
        quantity: Quantity,
        bound: Limit,
        **figures: Any,
    ) -> Row:
        scale = 1 if quantity == "compute" else self._scale
        simulated = self._limits.maximum(subject, quantity)
        return Row(
            subject=subject,
            kind=kind,
            quantity=quantity,
            provenance=self._provenance,
            bound=self.limit(quantity, bound),
            bound_source=bound.source,
            missing=bound.missing,
            simulated=None if simulated is None or simulated.ns is None else simulated.ns * scale,
            simulated_source="" if simulated is None else simulated.source,
            **figures,
        )

    def _stopped(
        self,
        stretches: Stretches,
        wrong: Mask,
        required: float | None,
        limit: float | None,
        certain: Mask | None,
    ) -> bool:
        """Says whether stops of the cores that left no trace may have made those samples too long."""
        allowed = min(ns for ns in (required, limit, np.inf) if ns is not None)
        if self._stops is None or not wrong.any() or not np.isfinite(allowed):
            return False
        if certain is not None and (certain & wrong).any():
            return False
        return self._stops.explain_stretches(stretches, wrong, allowed)


def _unless_wrong(limit: float | None, required: float | None) -> Outcome:
    """The outcome where no sample is wrong."""
    return "no bound" if limit is None and required is None else "holds"


def _of_tasks(samples: Samples, found: Disturbances, make: _Maker, dead: Mask) -> list[Row]:
    """The rows of all tasks.

    What most tasks have, jobs of which none is disturbed or too long, is found of all of them together; the
    jobs of the others are looked at task by task.
    """
    tasks, status = samples.system.tasks, samples.status
    response, compute = samples.response, samples.table["compute"].astype(np.int64)
    missed = samples.missed
    # For jobs that others interrupted only the time from begin to end is known, not their execution.
    begun = compute > 0
    computed = begun & samples.all_alone
    executed = samples.ns(compute)
    exchanged = (
        (samples.table["sent"] > 0)
        & (samples.table["received"] > 0)
        & ((status & (STATUS["outputs_held"] | STATUS["local_fallbacks"])) == 0)
    )
    never = ~np.isfinite(response) | _worker_was_busy(samples)
    deadlines = [samples.system.ns(task.deadline_ps) for task in tasks]
    bounds = [make.bound(task.name, "response") for task in tasks]
    wcets = [make.wcet(task.name, executes_ns(task)) for task in tasks]

    def longer(ns: NDArray[np.float64], *limits: Sequence[float | None]) -> Mask:
        shortest = np.array(
            [min(np.inf if one is None else one for one in some) for some in zip(*limits, strict=True)]
        )
        wrong: Mask = ns > (shortest * (1 + _ROUNDING))[samples.task]
        return wrong

    ends = [make.limit("response", bound) for bound in bounds]
    wrong = found.disturbed | missed | longer(response, deadlines, ends)
    wrong_compute = computed & (found.disturbed | longer(executed, [wcet.ns for wcet in wcets]))
    columns = zip(
        samples.released,
        samples.count(wrong),
        samples.largest(response),
        samples.count(begun),
        samples.count(computed),
        samples.count(wrong_compute),
        samples.largest(np.where(computed, executed, -np.inf)),
        samples.count(exchanged),
        strict=True,
    )
    made = []
    for number, (jobs, bad, longest, having, known, bad_compute, most, answered) in enumerate(columns):
        name, deadline = tasks[number].name, deadlines[number]
        if jobs and not bad:
            row = make.row_of_right(name, "response", longest, jobs, required=deadline, bound=bounds[number])
        else:
            rows = samples.rows_of(number)
            ns, quiet = response[rows], ~found.disturbed[rows]
            row = make.row(
                name,
                "task",
                "response",
                ns,
                quiet,
                required=deadline,
                missed=missed[rows],
                since=samples.jobs["release"][rows].astype(np.int64),
                stood=np.where(never[rows], samples.system.pending_ns(tasks[number]), 0.0),
                certain=dead[rows],
            )
        made.append(row)
        interrupted = having - known
        plural = "" if interrupted == 1 else "s"
        note = f"without {interrupted} job{plural} that others interrupted" if interrupted else ""
        if known and not bad_compute:
            made.append(make.row_of_right(name, "compute", most, known, bound=wcets[number], note=note))
        elif known:
            rows = samples.rows_of(number)
            mine = rows[computed[rows]]
            ns, undisturbed = executed[mine], ~found.disturbed[mine]
            made.append(make.row(name, "task", "compute", ns, undisturbed, bound=wcets[number], note=note))
        if answered:
            rows = samples.rows_of(number)
            mine = rows[exchanged[rows]]
            ticks = {field: samples.jobs[field][mine].astype(np.int64) for field in ("sent", "received")}
            ns = samples.ns(ticks["received"] - ticks["sent"] - compute[mine])
            made.append(make.row(name, "task", "communication", ns, ~found.disturbed[mine]))
    return made


def _worker_was_busy(samples: Samples) -> Mask:
    """Jobs that were not sent to their worker, as that was still at a request that had been given up."""
    jobs = samples.table
    found: Mask = (samples.status & STATUS["outputs_held"]) != 0
    if not found.any() or "worker_receive" not in jobs.names:
        return np.zeros(samples.size, dtype=np.bool_)
    found &= (jobs["start"] > 0) & (jobs["sent"] == 0)
    workers = np.array([task.worker or "" for task in samples.system.tasks])[samples.task]
    served = (jobs["worker_receive"] > 0) & (jobs["worker_send"] > 0)
    for worker in np.unique(workers[found]).tolist():
        here = served & (workers == worker)
        begin, end = (jobs[name][here].astype(np.int64) for name in ("worker_receive", "worker_send"))
        mine = found & (workers == worker)
        since = jobs["start"][mine].astype(np.int64)
        found[mine] = touched(merged(begin, end), since, since + 1)
    return found


def _age(samples: Samples, number: int, found: Disturbances, make: _Maker) -> list[Row]:
    """Ages of a channel's blocks when they were read: since the job that wrote each was due.

    A block of an earlier stay in the mode has none: its writer may have rested while modes changed.
    """
    channel = samples.system.channels[number]
    operations = samples.operations
    if operations is None or channel.writer not in samples.system.task_names:
        return []
    here = operations[operations["channel"] == number]
    written = chains.writes_to(here, number)
    read = here[(here["kind"] == _READ) & (here["sequence"] > 0)]
    at = np.searchsorted(written["sequence"], read["sequence"])
    known = at < written.size
    known[known] = written["sequence"][at[known]] == read["sequence"][known]
    read, at = read[known], at[known]
    if not read.size:
        return []
    writer = samples.system.task_names.index(channel.writer)
    rows = samples.rows_of(writer)
    job = np.searchsorted(samples.jobs["seq"][rows], written["seq"][at])
    recorded = job < rows.size
    job, read = rows[job[recorded]], read[recorded]
    since = samples.jobs["release"][job].astype(np.int64)
    same = samples.stay_of(since) == samples.stay_of(read["time"])
    job, read, since = job[same], read[same], since[same]
    if not read.size:
        return []
    ns = samples.ns(read["time"].astype(np.int64) - since)
    quiet = ~found.disturbed[job]
    for task in np.unique(read["task"]).tolist():
        mine = read["task"] == task
        of_reader = samples.rows_of(task)
        place = np.minimum(
            np.searchsorted(samples.jobs["seq"][of_reader], read["seq"][mine]), of_reader.size - 1
        )
        quiet[mine] &= ~found.disturbed[of_reader[place]]
    return [make.row(channel.name, "channel", "channel age", ns, quiet, since=since, cores=2)]


def _delivery(samples: Samples, number: int, found: Disturbances, make: _Maker) -> list[Row]:
    """Delivery times of a channel's blocks over its link, from the end of each write."""
    channel = samples.system.channels[number]
    operations = samples.operations
    if operations is None or link_of(samples.system.plan, channel) is None:
        return []
    here = operations[operations["channel"] == number]
    written = chains.writes_to(here, number)
    arrived = here[here["kind"] == _DELIVERED]
    # A block that an engine had moved and not recorded when it died is moved, and recorded, once more.
    arrived = arrived[np.sort(np.unique(arrived["sequence"], return_index=True)[1])]
    at = np.searchsorted(written["sequence"], arrived["sequence"])
    known = at < written.size
    known[known] = written["sequence"][at[known]] == arrived["sequence"][known]
    arrived, at = arrived[known], at[known]
    # The engine may be done before the writer has noted the end of its write.
    ns = np.maximum(samples.ns(arrived["time"].astype(np.int64) - written["time"][at].astype(np.int64)), 0)
    rows = samples.rows_of(samples.system.task_names.index(channel.writer))
    job = np.searchsorted(samples.jobs["seq"][rows], written["seq"][at])
    quiet = np.zeros(ns.size, dtype=np.bool_)
    quiet[job < rows.size] = ~found.disturbed[rows[job[job < rows.size]]]
    begun = written["time"][at].astype(np.int64)
    return [make.row(channel.name, "channel", "delivery", ns, quiet, since=begun, cores=2)]


def _of_chain(
    samples: Samples, chain: PlannedChain, found: Disturbances, make: _Maker
) -> tuple[list[Row], ChainWay | None]:
    tasks = chains.tasks_of(chain, samples.system)
    if not tasks:
        return [], None
    stay = samples.stay_of(samples.jobs["release"])
    times = chains.times_of_stays(
        [
            chains.chain_times(
                chains.hops_of(
                    samples.jobs[stay == number],
                    samples.operations,
                    chain,
                    samples.system,
                    samples.ticks_per_ns,
                    lambda channel: _disturbed_ends(samples, channel, found),
                )
            )
            for number in range(max(1, len(samples.system.facts.stays)))
        ]
    )
    windows = _disturbed_windows(samples, tasks, found)
    on_them = (samples.system.tasks[samples.number(task)] for task in tasks)
    cores = len({core for task in on_them for core in (task.core, task.worker) if core is not None})
    # Until then jobs were released: what is written before is recorded, and nothing need be written after.
    end = int(samples.jobs["release"].max()) if samples.jobs.size else 0
    rows = []
    reaction, age = (
        None if allowed is None else samples.system.ns(allowed)
        for allowed in (chain.reaction_ps, chain.age_ps)
    )
    parts: tuple[tuple[Quantity, Times, Times, Times, int | None, float | None, int], ...] = (
        ("reaction", times.stimuli, times.reactions, times.behind, times.open_since, reaction, times.open),
        ("age", times.read_at, times.ages, times.behind_ages, times.standing_since, age, times.open_ages),
    )
    # An age ends with a block of the last task, which the longest reaction may have to precede.
    limits = [make.longest(chain.name, quantity, required) for quantity, *_, required, _ in parts]
    longest = None if None in limits else max(limit for limit in limits if limit is not None)
    for quantity, begin, lasted, behind, since, required, opened in parts:
        # A time that has not ended then has lasted at least so long.
        note = f"{opened} not seen whole" if opened else ""
        if since is not None and end > since and lasted.size and end - since > int(lasted.max()):
            begin, lasted = np.append(begin, since), np.append(lasted, end - since)
            behind = np.append(behind, 0)
            note += f", lasting {(end - since) / samples.ticks_per_ns / 1e3:.3f} µs at the end"
        if not lasted.size and not _long_enough(samples, tasks, longest):
            # A reaction that goes on in the next mode is not a time of the chain.
            unseen = make.row(
                chain.name, "chain", quantity, samples.ns(lasted), lasted > 0, required=required
            )
            rows.append(replace(unseen, outcome="not due"))
            continue
        quiet = ~touched(windows, begin, begin + lasted)
        rows.append(
            make.row(
                chain.name,
                "chain",
                quantity,
                samples.ns(lasted),
                quiet,
                required=required,
                note=note,
                behind=samples.ns(behind),
                since=begin,
                cores=cores,
            )
        )
    way = None
    if times.stimulus is not None:
        origin = samples.record.origin()

        def ns(tick: int) -> float:
            return (tick - origin) / samples.ticks_per_ns

        links = tuple((w.task, w.seq, ns(w.read), ns(w.written)) for w in times.worst)
        way = ChainWay(chain.name, ns(times.stimulus), links)
    return rows, way


def _long_enough(samples: Samples, tasks: Sequence[str], longest: float | None) -> bool:
    """Says whether a time of this many ns had to be seen of a chain with these tasks.

    The run, or a stay, may be shorter, or over soon after the last of them began.
    """
    # One begins just after the run or the stay did, and another one is waited for.
    if samples.system.facts.stays:
        stayed = max(end - begin for begin, end in samples.system.facts.stays) / samples.ticks_per_ns
        return longest is not None and stayed >= 2 * longest
    if longest is None or not samples.jobs.size:
        return longest is None
    jobs = samples.jobs
    of_each = (jobs["release"][samples.rows_of(samples.number(task))] for task in tasks)
    begun = max((int(some.min()) for some in of_each if some.size), default=int(jobs["release"].min()))
    lasted = max(int(jobs["finish"].max()), int(jobs["release"].max())) - begun
    return lasted / samples.ticks_per_ns >= 2 * longest


def _disturbed_ends(samples: Samples, number: int, found: Disturbances) -> tuple[Times, Times]:
    """Intervals in which a disturbed job of a channel's writer or of a reader was pending."""
    channel = samples.system.channels[number]
    ends = [name for name in (channel.writer, *channel.readers) if name in samples.system.task_names]
    return _disturbed_windows(samples, ends, found)


def _disturbed_windows(samples: Samples, tasks: list[str], found: Disturbances) -> tuple[Times, Times]:
    """Intervals in which a disturbed job of the given tasks was pending."""
    begin: list[Times] = []
    end: list[Times] = []
    for number in sorted({samples.number(task) for task in tasks}):
        facts = samples.system.tasks[number]
        rows = samples.rows_of(number)
        rows = rows[found.disturbed[rows]]
        released = samples.jobs["release"][rows].astype(np.int64)
        finished = samples.jobs["finish"][rows].astype(np.int64)
        # A release that was not served leaves the block before it standing for another period.
        served = round(samples.system.pending_ns(facts) * samples.ticks_per_ns)
        begin.append(released)
        end.append(np.where(finished > 0, finished, released + served))
    return merged(np.concatenate(begin), np.concatenate(end))
