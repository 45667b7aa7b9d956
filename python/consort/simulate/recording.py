# SPDX-License-Identifier: Apache-2.0
"""A simulation in the form of a recording: its system, its jobs, and what each read and wrote.

A job reads when it begins (three-phase: when its load begins) and writes when it ends; under logical
execution time it reads when it is due and writes at its deadline. What is written at an instant can be read
at that instant. A job whose output is held writes nothing. The channel's kind says which block is read
(consort.model.channel).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.channel_bounds import transfers
from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput
from consort.judge.chains import OPERATION, operation_rows, simulated_operations
from consort.plan import Plan, PlannedChannel
from consort.plan.channels import in_order_between, link_of
from consort.record.ran import NONE, SLICES, STATUS, Ran
from consort.record.raw import Columns
from consort.record.summary import rows_by
from consort.simulate.engine import ABSENT, TIMES, Simulation
from consort.simulate.room import in_order_operations

Written = NDArray[np.int64]


def in_turn(written: Sequence[Written], costs: Sequence[int]) -> list[Written]:
    """Arrival times of each block of each queue: one server, which takes the queues in turn.

    `written` holds the times at which the blocks of a queue come, ascending; `costs` what a block of it
    takes.
    """
    arrived = [np.zeros(times.size, dtype=np.int64) for times in written]
    done = [0] * len(written)
    now, turn = 0, 0
    while True:
        left = [queue for queue, times in enumerate(written) if done[queue] < times.size]
        if not left:
            return arrived
        now = max(now, min(int(written[queue][done[queue]]) for queue in left))
        ready = [queue for queue in left if written[queue][done[queue]] <= now]
        queue = min(ready, key=lambda one: (one - turn) % len(written))
        now += costs[queue]
        arrived[queue][done[queue]] = now
        done[queue] += 1
        turn = (queue + 1) % len(written)


def arrivals_over_links(plan: Plan, written_by: Callable[[str], Written]) -> dict[tuple[str, str], Written]:
    """Arrival times by writer and reader, if all channels between them are on links: of the newest of each
    job's blocks that comes first. `written_by`: when a task wrote, ascending."""
    by_link: dict[str, list[str]] = {}
    for name, channel in plan.channels.items():
        if link_of(plan, channel) is not None:
            by_link.setdefault(str(channel.memory), []).append(name)
    arrived: dict[str, Written] = {}
    for link, names in by_link.items():
        try:
            costs = transfers(Figures(plan), link)
        except MissingFigure as missing:
            raise BadInput(missing.unplaced, file=plan.file, field=missing.place) from None
        written = [np.sort(written_by(plan.channels[name].writer)) for name in names]
        found = in_turn(written, [costs[name].ps for name in names])
        arrived |= dict(zip(names, found, strict=True))
    pairs: dict[tuple[str, str], Written] = {}
    local: set[tuple[str, str]] = set()
    for name, channel in plan.channels.items():
        for pair in ((channel.writer, reader) for reader in channel.readers):
            if name not in arrived:
                local.add(pair)
            elif pair in pairs:
                pairs[pair] = np.minimum(pairs[pair], arrived[name])
            else:
                pairs[pair] = arrived[name]
    return {pair: times for pair, times in pairs.items() if pair not in local}


# A time stamp of 0 means that the thing did not happen; the recording's clock begins at 1.
FIRST_TICK = 1
TICKS_PER_NS = 1000.0

# Rows that are copied at a time: they stay in the processor's cache.
_TOGETHER = 1 << 14
Times = NDArray[np.int64]
_LARGEST = np.iinfo(np.int64).max


def system_of(simulation: Simulation) -> dict[str, Any]:
    """The configuration of a simulation's recording (consort.record.ran)."""
    return {
        "configuration": "simulated",
        "seed": str(simulation.seed),
        "duration_ns": simulation.duration / 1000,
        "steps_of_chains": True,
    }


def jobs_of(simulation: Simulation) -> Columns:
    """The columns of table `jobs`, in ticks of a picosecond, by release."""
    assert simulation.jobs is not None, "only a run with a trace has jobs"
    source = simulation.jobs
    counts = ("seq", "status", "preemptions")
    kinds = dict.fromkeys((*TIMES, "compute"), "<u8") | dict.fromkeys(counts, "<u4") | {"task": "<u2"}
    order = _by_release(source)
    columns = {name: np.zeros(source.size, dtype=kind) for name, kind in kinds.items()}
    for part, ordered in _ordered(source, order):
        for field in TIMES:
            # An instant that did not come is -1 there and 0 here. Where none came, as without offloaded
            # tasks, the column takes no memory.
            if (ordered[field] != ABSENT).any():
                np.add(ordered[field], FIRST_TICK, out=columns[field][part], casting="unsafe")
        for field in ("compute", *counts, "task"):
            columns[field][part] = ordered[field]
    cores = simulation.prepared.cores
    core_of = [cores.index(task.core) for task in simulation.prepared.plan.tasks.values()]
    columns["core"] = np.array(core_of, dtype=np.uint16)[columns["task"]]
    return columns


def slices_of(simulation: Simulation) -> Columns:
    """The columns of table `slices`, in ticks of a picosecond, by their begin."""
    assert simulation.slices is not None, "only a run with a trace has slices"
    source = simulation.slices
    kinds = {"begin": "<u8", "end": "<u8", "seq": "<u4", "task": "<u2", "core": "<u2", "doing": "<u1"}
    order = np.argsort(np.ascontiguousarray(source["begin"]), kind="stable")
    columns = {name: np.empty(source.size, dtype=kind) for name, kind in kinds.items()}
    for part, ordered in _ordered(source, order):
        for field in ("begin", "end"):
            np.add(ordered[field], FIRST_TICK, out=columns[field][part], casting="unsafe")
        for field in ("seq", "task", "core", "doing"):
            columns[field][part] = ordered[field]
    return columns


def _ordered(rows: NDArray[np.void], order: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.void]]]:
    """The rows in an order, a part at a time: its place, and its rows until the next part is asked for."""
    # Rows without fields are copied as they are.
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize)))
    room = np.empty(min(_TOGETHER, rows.size), dtype=whole.dtype)
    for begin in range(0, rows.size, _TOGETHER):
        which = order[begin : begin + _TOGETHER]
        # A way to treat wrong positions, of which there are none: checking them takes another copy.
        taken = np.take(whole, which, out=room[: which.size], mode="clip")
        yield slice(begin, begin + _TOGETHER), taken.view(rows.dtype)


def _by_release(jobs: NDArray[np.void]) -> NDArray[np.int64]:
    """The order of the engine's rows by release, and by task where several are released at once."""
    release, task = np.ascontiguousarray(jobs["release"]), np.ascontiguousarray(jobs["task"])
    tasks = int(task.max(initial=0)) + 1
    if int(release.max(initial=0)) >= _LARGEST // tasks - 1:
        return np.lexsort((task, release))
    # They come nearly so, and what is nearly in order is soon put there.
    return np.argsort(release * tasks + task, kind="stable")


def operations_of(simulation: Simulation, jobs: Columns, ran: Ran) -> NDArray[np.void]:
    """The rows of table `operations`: writes and reads by the jobs of each channel's tasks."""
    places = {name: number for number, name in enumerate(ran.task_names)}
    three_phase = [place for place, task in enumerate(ran.tasks) if task.execution == "three-phase"]
    if not ran.channels and not three_phase:
        return np.zeros(0, dtype=OPERATION)
    moments_of = _Moments(simulation, jobs, three_phase)

    def written_by(task: str) -> Times:
        _, _, times = moments_of(places[task], let=False)
        return times[times > 0]

    plan = simulation.prepared.plan
    arrivals = arrivals_over_links(plan, written_by)
    parts = []
    for number, channel in enumerate(ran.channels):
        let = channel.communication == "let"
        writer = places.get(channel.writer, NONE)
        readers = [places[reader] for reader in channel.readers]
        moments = {task: moments_of(task, let) for task in {writer, *readers} - {NONE}}
        reads = {task: (seq, read) for task, (seq, read, _) in moments.items()}
        if writer == NONE:  # a device, which sends at 0 and then at its distance
            written = np.arange(0, simulation.duration, channel.messages_apart_ps) + FIRST_TICK
            seq = np.arange(written.size)
        else:
            seq, _, written = moments[writer]
        wrote = written > 0
        arrives = arrivals.get((channel.writer, channel.readers[0]))
        if alike := _in_order(plan, channel):
            parts.append(
                in_order_operations(
                    (number, writer, readers[0]),
                    (seq[wrote], written[wrote]),
                    reads[readers[0]],
                    arrives,
                    max(one.capacity or 1 for one in alike),
                    several=plan.takes_several(channel.readers[0]),
                )
            )
            continue
        parts.append(
            simulated_operations(
                {number: (writer, readers)},
                reads,
                {writer: (seq[wrote], written[wrote])},
                {} if arrives is None else {number: arrives},
            )
        )
    parts += [moments_of.reads_from_outside(task) for task in three_phase]
    return np.concatenate(parts)


def _in_order(plan: Plan, channel: PlannedChannel) -> tuple[PlannedChannel, ...]:
    """The channels that a recording's channel stands for if they hand out the oldest block; else none."""
    return (channel,) if channel.reads_oldest else in_order_between(plan, channel.writer, channel.readers[0])


def in_order_channels(plan: Plan, ran: Ran) -> list[int]:
    """The numbers of the channels of a simulation's recording that hand out the oldest block."""
    return [number for number, channel in enumerate(ran.channels) if _in_order(plan, channel)]


class _Moments:
    """The numbers of a task's jobs, when each read and when it wrote; 0 for a job that wrote nothing."""

    def __init__(self, simulation: Simulation, jobs: Columns, three_phase: Sequence[int]) -> None:
        self._tasks = list(simulation.prepared.plan.tasks.values())
        # A column of its own for each field: of the rows of one task only what is asked for is copied.
        self._release, self._reads, self._finish, self._seq, self._status = (
            jobs[field].astype(np.int64) for field in ("release", "start", "finish", "seq", "status")
        )
        self._rows = rows_by(jobs["task"], len(self._tasks), self._seq)
        assert simulation.slices is not None
        if not three_phase:
            return
        loads = simulation.slices[simulation.slices["doing"] == SLICES.index("load")]
        of_task = rows_by(loads["task"], len(self._tasks), loads["seq"])
        for task in three_phase:
            # Both in the order of the jobs.
            self._reads[self._rows[task]] = loads["begin"][of_task[task]] + FIRST_TICK

    def __call__(self, task: int, let: bool) -> tuple[NDArray[np.int64], Times, Times]:
        mine = self._rows[task]
        seq = self._seq[mine]
        wrote = (self._status[mine] & STATUS["outputs_held"]) == 0
        if let:
            due = self._release[mine]
            return seq, due, np.where(wrote, due + self._tasks[task].deadline_ps, 0)
        return seq, self._reads[mine], np.where(wrote, self._finish[mine], 0)

    def reads_from_outside(self, task: int) -> NDArray[np.void]:
        """The reads of a three-phase task from outside of the system: its jobs begin after their loads."""
        rows = self._rows[task]
        none = np.zeros(rows.size, dtype=np.int64)
        return operation_rows(self._reads[rows], none, self._seq[rows], task, NONE, "read")
