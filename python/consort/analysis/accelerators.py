# SPDX-License-Identifier: Apache-2.0
"""Tasks that ask accelerators: how long a request waits, and what that makes of response times.

A job that asks suspends itself until the answer is there. How long depends on the arbitration, and under
fixed priorities on the response times of more urgent clients: both are searched together.
docs/explanation/analyses.md, theorems 33 to 35.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.offload import ROUNDS, Master, taken_apart, together, wait_by_priority
from consort.analysis.offload_costs import messages
from consort.analysis.result import Bound, Used, in_words, joined
from consort.analysis.unitask import UniTask
from consort.model.sharing import Sharing
from consort.plan import Plan
from consort.plan.sharing import PlannedClient, PlannedRequest

DOC = "docs/explanation/analyses.md"
THEOREM: dict[Sharing, str] = {"fixed-priority": "theorem 33", "tdma": "theorem 34", "budget": "theorem 35"}
RULE: dict[Sharing, str] = {
    "fixed-priority": "serves the most urgent request it finds, without preemption",
    "tdma": "serves each client in its slot, and begins only what fits it",
    "budget": "serves the most urgent request whose client has budget left for all of it, without preemption",
}
KEPT: dict[Sharing, str] = {
    "fixed-priority": "more urgent clients keep to their periods and requests; whatever less urgent ones do",
    "tdma": "whatever the other clients do",
    "budget": "whatever the other clients do",
}
Bounds = dict[str, list[Bound]]


@dataclass(frozen=True)
class Ask:
    """One kind of request of a task [ps]."""

    accelerator: str
    operation: str
    times: int
    cost: int
    """How long the accelerator is busy with it at most, its messages included."""
    send: int
    receive: int
    """The time that the task's own core computes for it."""
    request: int
    answer: int
    """How long the messages are on their way besides."""
    used: tuple[Used, ...]


def asks_of(figures: Figures, task: str, *, sleeps: bool, loaded: bool = True) -> tuple[Ask, ...]:
    """The requests of a task's jobs; `MissingFigure` for a cost that nobody gave."""
    return tuple(_ask(figures, task, one, sleeps, loaded) for one in figures.plan.tasks[task].requests)


def _ask(figures: Figures, task: str, one: PlannedRequest, sleeps: bool, loaded: bool) -> Ask:
    accelerator = figures.plan.accelerators[one.accelerator]
    operation = accelerator.operations[one.operation]
    here = f"accelerators.{one.accelerator}"
    what = f"{one.operation} of {one.accelerator}"
    place = f"{here}.operations.{one.operation}"
    if operation.wcet_ps is None:
        raise MissingFigure(f"{place}.wcet", f"how long {what} takes")
    if accelerator.memory is None:
        where = f"where requests to {one.accelerator} lie"
        raise MissingFigure(f"{here}.memory", where, figures.platform.memories)
    if operation.request_bytes is None:
        raise MissingFigure(f"{place}.request", f"how large a request for {what} is")
    if operation.answer_bytes is None:
        raise MissingFigure(f"{place}.answer", f"how large an answer of {what} is")
    blocks = [(accelerator.memory, size) for size in (operation.request_bytes, operation.answer_bytes)]
    ends = figures.plan.tasks[task].core, accelerator.core
    costs = messages(figures, blocks[0], blocks[1], ends, sleeps=sleeps, shared=True, loaded=loaded)
    wcet = figures.time(f"{place}.wcet")
    return Ask(
        one.accelerator,
        one.operation,
        one.times,
        wcet.ps + costs.worker,
        costs.send,
        costs.receive,
        costs.request,
        costs.answer,
        joined(wcet.used, costs.used),
    )


def with_requests(
    plan: Plan,
    asks: Mapping[str, tuple[Ask, ...]],
    masters: Mapping[str, Master],
    bounds_of: Callable[[Mapping[str, Master]], Bounds],
) -> Bounds:
    """The bounds of the masters' tasks, of which those in `asks` ask accelerators.

    `bounds_of` bounds masters whose tasks' waits are known.
    """
    if not any(asks.values()):
        return bounds_of(masters)
    search = _Search(plan, asks, masters)
    for _ in range(ROUNDS):
        found = bounds_of({core: search.suspended(master) for core, master in masters.items()})
        if not search.goes_on(found):
            return {core: [search.explained(bound) for bound in bounds] for core, bounds in found.items()}
    search.unsettled()
    return {core: [search.explained(bound) for bound in bounds] for core, bounds in found.items()}


class _Search:
    """A search for waits and response times that grow together; those without a bound stay without."""

    def __init__(
        self, plan: Plan, asks: Mapping[str, tuple[Ask, ...]], masters: Mapping[str, Master]
    ) -> None:
        self.plan = plan
        self.asks = asks
        self.masters = masters
        self.core_of = {task.name: core for core, master in masters.items() for task in master.tasks}
        self.waits = {(task, k): 0 for task, some in asks.items() for k in range(len(some))}
        self.trouble: dict[str, str] = {}

    def suspended(self, master: Master) -> Master:
        return replace(master, tasks=[self._suspended(task) for task in master.tasks])

    def _suspended(self, task: UniTask) -> UniTask:
        asks = self.asks.get(task.name, ())
        if not asks:
            return task
        away = sum(
            ask.times * (ask.request + self.waits[task.name, k] + ask.cost + ask.answer)
            for k, ask in enumerate(asks)
        )
        return replace(
            task,
            execution=task.execution + sum(ask.times * (ask.send + ask.receive) for ask in asks),
            suspension=task.suspension + away,
            stretches=(task.stretches if task.suspension else 0) + sum(ask.times for ask in asks),
            asked=away,
            asks=sum(ask.times for ask in asks),
        )

    def goes_on(self, found: Bounds) -> bool:
        """Takes the waits from response times; returns True if a wait, or a reason for none, changed."""
        void = self._void()
        responses = {
            bound.task: None if core in void else bound.response
            for core, bounds in found.items()
            for bound in bounds
        }
        before = dict(self.waits), len(self.trouble)
        for task, asks in self.asks.items():
            for k, ask in enumerate(asks):
                if task in self.trouble:
                    continue
                wait = self._wait(task, ask, responses)
                if isinstance(wait, str):
                    self.trouble[task] = wait
                else:
                    self.waits[task, k] = wait
        return before != (self.waits, len(self.trouble))

    def unsettled(self) -> None:
        for task in self.asks:
            self.trouble.setdefault(task, "response times and waits at accelerators did not settle")

    def _void(self) -> dict[str, str]:
        """The cores whose bounds rest on a wait that has none, and why."""
        found: dict[str, str] = {}
        for task, why in self.trouble.items():
            for core in together(self.masters, self.core_of[task]):
                found.setdefault(core, f"{task}: {why}")
        return found

    def _wait(self, task: str, ask: Ask, responses: Mapping[str, int | None]) -> int | str:
        accelerator = self.plan.accelerators[ask.accelerator]
        own = next(client for client in accelerator.clients if client.task == task)
        longest = f"{ask.operation} of {ask.accelerator} takes up to {in_words(ask.cost)} with its messages"
        if accelerator.arbitration == "tdma":
            if ask.cost > own.slot_ps:
                return f"{longest}, longer than the slot {in_words(own.slot_ps)}"
            return accelerator.round_ps - own.slot_ps + ask.cost
        if accelerator.arbitration == "fixed-priority":
            return self._by_priority(task, ask.accelerator, own, responses)
        if ask.cost > own.budget_ps:
            return f"{longest}, longer than the budget {in_words(own.budget_ps)}"
        passed = self._among_budgets(ask.accelerator, own)
        return passed if isinstance(passed, str) else passed + self._throttled(task, ask, own, responses)

    def _by_priority(
        self, task: str, name: str, own: PlannedClient, responses: Mapping[str, int | None]
    ) -> int | str:
        others: list[tuple[int, int, int]] = []
        for client in self.plan.accelerators[name].clients:
            if client.rank >= own.rank:
                continue
            response = responses.get(client.task)
            if response is None:
                return f"rests on {client.task}, which {name} serves before it and which has no bound"
            mine = self._asks_at(client.task, name)
            late = max(0, response - min(ask.answer + ask.cost for ask in mine))
            period = self.plan.tasks[client.task].period_ps
            others.append((sum(ask.times * ask.cost for ask in mine), period, late))
        blocking = self._blocking(name, own)
        if isinstance(blocking, str):
            return blocking
        limit = max(self.plan.tasks[task].period_ps, self.plan.tasks[task].deadline_ps)
        wait = wait_by_priority(blocking, others, limit)
        if wait is None:
            return f"a request to {name} may wait longer than {in_words(limit)}, its period or its deadline"
        return wait

    def _blocking(self, name: str, own: PlannedClient) -> int | str:
        """The longest operation that a less urgent client asks for, or its budget where it is not known."""
        accelerator = self.plan.accelerators[name]
        longest = 0
        for client in accelerator.clients:
            if client.rank <= own.rank:
                continue
            mine = self._asks_at(client.task, name)
            if not mine and accelerator.arbitration != "budget":
                return f"rests on {client.task}, which asks {name}: how long that takes is not known"
            longest = max(longest, max((ask.cost for ask in mine), default=client.budget_ps))
        return longest

    def _among_budgets(self, name: str, own: PlannedClient) -> int | str:
        """A bound on a request's wait from when it may begin: no more than others' budgets."""
        above = [client for client in self.plan.accelerators[name].clients if client.rank < own.rank]
        wait = self._blocking(name, own)
        if isinstance(wait, str):
            return wait
        # The load of a fraction, in whole numbers.
        whole = 1
        for client in above:
            whole *= client.period_ps
        if sum(client.budget_ps * (whole // client.period_ps) for client in above) >= whole:
            return f"the budgets of more urgent clients leave nothing of {name}"
        blocking, before = wait, -1
        while wait != before:
            before = wait
            passed = ((-(-before // client.period_ps) + 1) * client.budget_ps for client in above)
            wait = blocking + sum(passed)
        return wait

    def _throttled(self, task: str, ask: Ask, own: PlannedClient, responses: Mapping[str, int | None]) -> int:
        """A bound on a request's wait for its own budget: 0 if the budget is never used up."""
        response = responses.get(task)
        mine = self._asks_at(task, ask.accelerator)
        if response is not None:
            late = max(0, response - min(one.answer + one.cost for one in mine))
            jobs = -(-(own.period_ps + late) // self.plan.tasks[task].period_ps)
            if jobs * sum(one.times * one.cost for one in mine) <= own.budget_ps:
                return 0
        return own.period_ps

    def _asks_at(self, task: str, accelerator: str) -> list[Ask]:
        return [ask for ask in self.asks.get(task, ()) if ask.accelerator == accelerator]

    def explained(self, bound: Bound) -> Bound:
        """A bound with its waits taken apart, and its assumptions on the accelerators."""
        why = self._void().get(bound.core)
        if why is not None:
            return replace(bound, response=None, explanation=(), notes=(*bound.notes, why))
        asks = self.asks.get(bound.task, ())
        if not asks:
            return bound
        parts, used = [], dict.fromkeys(ask.accelerator for ask in asks)
        for k, ask in enumerate(asks):
            often = f"{ask.times} x " if ask.times > 1 else ""
            parts += [
                (f"{often}waits for {ask.accelerator}", ask.times * self.waits[bound.task, k]),
                (f"{often}{ask.operation} of {ask.accelerator}", ask.times * ask.cost),
                (f"{often}messages to and from {ask.accelerator}", ask.times * (ask.request + ask.answer)),
            ]
        source, assumptions = bound.source, bound.assumptions
        for name in used:
            rule = self.plan.accelerators[name].arbitration
            source += f"; wait at {name}: {DOC}, {THEOREM[rule]}"
            assumptions = (*assumptions, f"{name} {RULE[rule]}; {KEPT[rule]}")
        return replace(
            bound,
            source=source,
            assumptions=assumptions,
            explanation=taken_apart(bound.explanation, parts),
        )
