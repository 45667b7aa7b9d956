# SPDX-License-Identifier: Apache-2.0
"""Costs of a job besides its step.

An offloaded job has its master's parts, and the ways of request and answer. A job whose state lies in remote
memory has faults. A task that another core can take over has checkpoints, and a longest gap in its outputs
when its core dies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from consort.analysis.channels import MAILBOX_WORDS, WORD_BYTES
from consort.analysis.figures import NOTHING, Cost, Figures, MissingFigure
from consort.analysis.result import Bound, Steps, Used, in_words, joined, with_theorem
from consort.plan import Plan, PlannedTask
from consort.plan.types import PlannedChanges


@dataclass(frozen=True)
class Way:
    """Times of a message's way through a mailbox [ps]: parts that follow one another."""

    write: int
    """Kept by the writer's core."""
    seen: int
    """Until the reader looks: a look that came just too early."""
    read: int
    """Kept by the reader's core."""
    used: tuple[Used, ...]
    timed: bool
    """True if it was timed as a whole; then all of it stands under `seen`."""

    def kept_by_reader(self) -> Way:
        return replace(self, seen=0, read=self.seen) if self.timed else self

    def kept_by_writer(self) -> Way:
        return replace(self, seen=0, write=self.seen) if self.timed else self


@dataclass(frozen=True)
class OffloadCosts:
    """All of it [ps], in its order."""

    send: int
    request: int
    read: int
    """The worker's, of the request; and its write of the answer."""
    write: int
    answer: int
    receive: int
    used: tuple[Used, ...]

    @property
    def worker(self) -> int:
        """The time that the worker is busy besides the step."""
        return self.read + self.write


def offload_costs(figures: Figures, task: str, *, sleeps: bool, loaded: bool = True) -> OffloadCosts:
    """The costs of an offloaded task; `MissingFigure` for one that nobody gave.

    A master that `sleeps` is woken by a signal once the answer is written.

    Where the description says what the master computes before and after (`dispatch`), the whole way of a
    message is added to it. Where it does not, that is the master's write of the request and its read of the
    answer, by the figures of the memory.
    """
    planned = figures.plan.tasks[task]
    assert planned.worker is not None
    return messages(
        figures,
        figures.channel(f"{task}.in"),
        figures.channel(f"{task}.out"),
        (planned.core, planned.worker),
        sleeps=sleeps,
        shared=len(figures.plan.cores[planned.worker].serves) > 1,
        loaded=loaded,
        send=figures.given(task, "send"),
        receive=figures.given(task, "receive"),
    )


# A memory, and how large what lies there is [bytes].
Block = tuple[str, int]


def messages(
    figures: Figures,
    request: Block,
    answer: Block,
    ends: tuple[str, str],
    *,
    sleeps: bool,
    shared: bool,
    loaded: bool,
    send: Cost | None = None,
    receive: Cost | None = None,
) -> OffloadCosts:
    """The costs of a request and its answer; of `ends` the first asks, the second serves, `shared` or not.

    `send` and `receive` stand in place of what the core that asks is known to compute for them.
    """
    asks, serves = (figures.plan.cores[core].processor for core in ends)
    there = _way(figures, request, asks, serves, loaded)
    back = _way(figures, answer, serves, asks, loaded)
    woken = figures.signal(serves, asks) if sleeps else NOTHING
    # Any part of a time that was measured as a whole may keep the one that serves from others.
    if shared:
        there, back = there.kept_by_reader(), back.kept_by_writer()
    # A message that was timed as a whole does not say what of it is the master's: that is taken from the
    # accesses, and counted once more in the message's time.
    writes, reads = there, back
    if there.timed and send is None:
        writes = _by_accesses(figures, request, asks, serves, loaded)
    if back.timed and receive is None:
        reads = _by_accesses(figures, answer, serves, asks, loaded)
    return OffloadCosts(
        send=writes.write if send is None else send.ps,
        receive=reads.read if receive is None else receive.ps,
        request=there.seen + (0 if send is None else there.write),
        read=there.read,
        write=back.write + (woken.ps if shared else 0),
        answer=(0 if shared else woken.ps) + back.seen + (0 if receive is None else back.read),
        used=joined(
            there.used,
            back.used,
            woken.used,
            writes.used if send is None else send.used,
            reads.used if receive is None else receive.used,
        ),
    )


def _way(figures: Figures, block: Block, writer: str, reader: str, loaded: bool) -> Way:
    timed = figures.exchange(*block, writer, reader)
    if timed is not None:
        return Way(0, timed.ps, 0, timed.used, True)
    return _by_accesses(figures, block, writer, reader, loaded)


def _by_accesses(figures: Figures, block: Block, writer: str, reader: str, loaded: bool) -> Way:
    memory, size = block
    word, copy = (
        [figures.access(memory, n, kind, loaded=loaded) for kind in (writer, reader)]
        for n in (WORD_BYTES, size)
    )

    def ends(side: int) -> Cost:
        return word[side].times(MAILBOX_WORDS) + copy[side]

    used = joined(*(cost.used for cost in (*word, *copy)))
    return Way(ends(0).ps, word[1].ps, ends(1).ps, used, False)


REMOTE = "docs/explanation/analyses.md, theorem 32 (states in remote memory), with "
# Switches of a fault that gives the core up: out of the job and back into it, and one under way when it comes
# back.
SWITCHES = 3


def pages_on(plan: Plan, core: str) -> list[str]:
    """The tasks of a core whose states lie in remote memory."""
    return [name for name in plan.cores[core].tasks if plan.tasks[name].remote_state is not None]


def faults_of(figures: Figures, task: str, switch: Cost) -> Cost:
    """The execution that a job's faults add, with the switches of the core that they may give up."""
    state = figures.plan.tasks[task].remote_state
    waits = figures.faults(task)
    if state is None:
        return waits
    assert state.faults is not None  # `faults` raises without it
    return waits + switch.times(SWITCHES * state.faults)


def with_faults(plan: Plan, bound: Bound, paged: Sequence[str]) -> Bound:
    """A bound of a core some of whose jobs wait for pages, with its assumptions. `paged`: its `pages_on`."""
    if not paged or bound.response is None:
        return bound
    said = []
    for name in paged:
        state = plan.tasks[name].remote_state
        assert state is not None and state.fault_ps is not None
        said.append(
            f"a job of {name} has at most {state.faults} faults on its state in {state.memory}, each of at"
            f" most {in_words(state.fault_ps)}; its execution time is that without faults"
        )
    return replace(bound, source=with_theorem(REMOTE, bound), assumptions=(*bound.assumptions, *said))


_GAP_SOURCE = "docs/explanation/mode-changes.md, theorem 26, with theorem 23"
_GAP = "gap of a fail-over"


def state_bytes(figures: Figures, task: str) -> tuple[int, Cost]:
    """The size of a task's state, and the figure that says it."""
    footprint = figures.plan.tasks[task].footprint
    if footprint is None or footprint.data is None:
        raise MissingFigure(f"tasks.{task}.footprint.data", f"the size of the state of {task}")
    return footprint.data, Cost(0, (figures.used(f"tasks.{task}.footprint.data"),))


def checkpoint(figures: Figures, task: PlannedTask, *, loaded: bool = True) -> Cost:
    """The execution that each job adds to the step so that another core can go on: the state, and its
    number."""
    if task.checkpoint is None:
        return NOTHING
    size, used = state_bytes(figures, task.name)
    processor = figures.platform.core(task.core).processor_name
    word = figures.access(task.checkpoint, WORD_BYTES, processor, loaded=loaded)
    state = figures.access(task.checkpoint, size, processor, loaded=loaded) if size else NOTHING
    return used + state + word


def executions(plan: Plan) -> dict[str, int]:
    """The longest executions of jobs, with their checkpoints [ps]; tasks that lack a figure are left out."""
    figures = Figures(plan)
    found = {}
    for name, task in plan.tasks.items():
        if task.wcet_ps is None:
            continue
        with suppress(MissingFigure):
            found[name] = task.wcet_ps + checkpoint(figures, task).ps
    return found


def take_over(figures: Figures, task: str, memory: str) -> Cost:
    """The cost of taking a task over: the new core looks who had it, takes it, and reads the newest state."""
    size, used = state_bytes(figures, task)
    processor = figures.platform.core(figures.plan.tasks[task].computed_on).processor_name
    word = figures.access(memory, WORD_BYTES, processor)
    state = figures.access(memory, size, processor) if size else NOTHING
    # Two loads and a store of take_over(), four loads of poll(), in each of two rounds at most.
    return used + word.times(3 + 2 * 4) + state


def fail_over_bounds(
    given: PlannedChanges,
    plans: Mapping[str, Plan],
    modes: Mapping[str, Sequence[Bound]],
    changes: Mapping[str, Bound],
) -> list[Bound]:
    """The longest gap in each task's outputs when its core dies, from the core's last sign of life to the end
    of the task's first job elsewhere; of each core that may die and each mode in which it has the task."""
    found = []
    for core, to in given.fail_over.items():
        first = {bound.task: bound for bound in modes[to] if bound.kind == "response time"}
        for old, made in plans.items():
            for task in made.tasks.values():
                if task.core == core and task.name in first and old != to:
                    change = changes[f"{old} -> {to}"]
                    after = plans[to].tasks[task.name]
                    assert given.detection_ps is not None
                    name = gap_name(task.name, core, old)
                    found.append(_gap(name, after, first[task.name], change, given.detection_ps, to))
    return found


def gap_name(task: str, core: str, mode: str) -> str:
    return f"{task} when {core} dies in {mode}"


def _gap(name: str, after: PlannedTask, first: Bound, change: Bound, detection: int, to: str) -> Bound:
    missing = tuple(dict.fromkeys([*change.missing, *first.missing]))
    why = ""
    if change.response is None:
        why = f"rests on the change {change.task}, which has no bound"
    elif first.response is None:
        why = f"rests on the response time of {after.name} in {to}, which has no bound"
    elif after.sporadic:
        why = f"{after.name} is sporadic: nothing says when its next job is released"
    if why:
        return Bound(name, None, None, _GAP_SOURCE, notes=(why,), kind=_GAP, missing=missing)
    assert change.response is not None and first.response is not None
    steps = Steps()
    steps.put("communication", "detection", detection, note="from the last sign of life")
    steps.put("communication", f"change {change.task}", change.response)
    steps.put("own", f"offset of {after.name} in {to}", after.offset_ps)
    steps.put("own", f"first job of {after.name} in {to}", first.response)
    return Bound(
        name,
        detection + change.response + after.offset_ps + first.response,
        None,
        _GAP_SOURCE,
        assumptions=(
            f"a dead core is known {in_words(detection)} after its last sign of life, and does nothing then",
            "one core dies at a time: the next one after the first jobs of the mode that follows",
        ),
        explanation=steps.done(),
        kind=_GAP,
        figures=joined(change.figures, first.figures),
    )
