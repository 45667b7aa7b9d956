# SPDX-License-Identifier: Apache-2.0
"""The software of an AMALTHEA model: costs of tasks on each processor, their accesses, their releases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from consort.exchange.amalthea.elements import BYTES, Bounds, ceiling
from consort.exchange.amalthea.hardware import Access, Hardware, memories_of_labels
from consort.exchange.amalthea.model import Model
from consort.exchange.trees import Element
from consort.model.figures import MOST_DISTANCES

# Runnable calls nested deeper than this are a recursion that the file spells out, or an attack.
DEEPEST_CALLS = 100
NESTING = ("activityGraph", "callGraph", "items", "graphEntries", "calls", "runnableItems", "entries")
SWITCHES = ("ModeSwitch", "RunnableModeSwitch", "ProbabilitySwitch", "RunnableProbabilitySwitch", "Switch")
GROUPS = ("Group", "RunnableItemsGroup", "CallSequence", "CallGraph", "ActivityGraph")
COSTS = ("Ticks", "RunnableInstructions", "ExecutionNeed")
CALLS = ("RunnableCall", "TaskRunnableCall")
# Items of a task or a runnable that are read elsewhere, or have no cost.
FREE = ("LabelAccess", "InterProcessTrigger", "InterProcessActivation")
# Items that take time which the model says elsewhere, or nowhere.
TAKE_TIME = {
    "WaitEvent": "it waits for an event",
    "SemaphoreAccess": "it waits for a semaphore",
    "SynchronousServerCall": "it waits for a server",
    "AsynchronousServerCall": "a server works for it",
    "EnforcedMigration": "it goes on on another core",
}


@dataclass
class Release:
    """The releases of a task, in picoseconds."""

    period: Fraction | None = None
    apart: Fraction | None = None
    offset: Fraction = Fraction(0)
    jitter: Fraction = Fraction(0)
    # From a release to the next, the one after that, …, at least.
    distances: tuple[Fraction, ...] = ()
    # The id of the task that releases it.
    trigger: str | None = None


class Software:
    """Answers about the tasks and runnables of a model; questions without an answer go to the report."""

    def __init__(self, model: Model, hardware: Hardware, within: bool = False) -> None:
        self.model = model
        self.within = within
        self.hardware = hardware
        self.memories = memories_of_labels(model, hardware)
        self.tasks = {t.get("xmi:id"): t for t in model.parts("swModel", "tasks", "isrs")}
        self._ticks: dict[tuple[int, str], Bounds | None] = {}
        self._accesses: dict[int, dict[tuple[str, str], None]] = {}
        self._open: set[int] = set()
        self._longer: dict[str, str] = {}
        self.triggers = self._triggers()

    # Costs

    def ticks(self, task: Element, processor: str) -> Bounds | None:
        """Cycles of a job on a kind of processor, with its accesses; None where a part is not known."""
        return self._cost(task, processor)

    def has_ticks(self, task: Element) -> bool:
        """True if anything in the task costs time."""
        return any(self._costly(runnable) for runnable in self.runnables(task))

    def longer(self, task: Element) -> str:
        """Why a job may take longer, or come more often, than what is read of it says; else empty."""
        found = self._longer.get(task.get("xmi:id"), "")
        for part in (task, *self.runnables(task)):
            for element in part.walk():
                found = found or TAKE_TIME.get(element.type, "")
        return found

    def _costly(self, runnable: Element) -> bool:
        return any(element.type in COSTS for element in runnable.walk())

    def runnables(self, process: Element) -> list[Element]:
        """All runnables that a task calls, and those that they call."""
        found: dict[int, Element] = {}
        stack = [process]
        while stack:
            for element in stack.pop().walk():
                if element.type in CALLS or (element.name == "runnableCalls"):
                    for runnable in self.model.referred(element, "runnable"):
                        if id(runnable) not in found:
                            found[id(runnable)] = runnable
                            stack.append(runnable)
        return list(found.values())

    def _cost(self, element: Element, processor: str) -> Bounds | None:
        key = (id(element), processor)
        if key in self._ticks:
            return self._ticks[key]
        if id(element) in self._open or len(self._open) >= DEEPEST_CALLS:
            raise self.model.reader.bad(
                element, "calls itself, or calls are nested too deep; break the cycle"
            )
        self._open.add(id(element))
        try:
            self._ticks[key] = result = self._sum(element, processor)
        finally:
            self._open.remove(id(element))
        return result

    def _sum(self, element: Element, processor: str) -> Bounds | None:
        low, high = Fraction(0), Fraction(0)
        for item in element.children:
            if item.name not in NESTING:
                continue
            part = self._item(item, processor)
            if part is None or part[1] is None:
                return None
            low, high = low + part[0], high + part[1]
        return low, high

    def _item(self, item: Element, processor: str) -> Bounds | None:
        kind = item.type
        if kind in COSTS:
            return self._demand(item, processor)
        if kind == "LabelAccess" and not self.within:
            return self._access(item, processor)
        if kind in CALLS:
            low, high = Fraction(0), Fraction(0)
            for runnable in self.model.referred(item, "runnable"):
                part = self._cost(runnable, processor)
                if part is None or part[1] is None:
                    return None
                low, high = low + part[0], high + part[1]
            return low, high
        if kind in SWITCHES:
            return self._switch(item, processor)
        if kind in ("WhileLoop", "Loop"):
            self.model.report.leave(
                "loop", item.get("name") or "unnamed", "its number of turns is not bounded"
            )
            return None
        if kind in GROUPS or item.name in ("activityGraph", "callGraph"):
            return self._sum(item, processor)
        return Fraction(0), Fraction(0)

    def _switch(self, item: Element, processor: str) -> Bounds | None:
        """The dearest and the cheapest of the branches; a switch on modes may have none to take."""
        always = "Probability" in item.type or item.child("defaultEntry") is not None
        branches: list[Bounds] = [] if always else [(Fraction(0), Fraction(0))]
        for branch in item.all("entries", "defaultEntry"):
            part = self._sum(branch, processor)
            if part is None or part[1] is None:
                return None
            branches.append(part)
        if not branches:
            return Fraction(0), Fraction(0)
        return min(b[0] for b in branches), max(b[1] or Fraction(0) for b in branches)

    def _demand(self, item: Element, processor: str) -> Bounds | None:
        """The demand of one item: that of the definition, else the default."""
        definition = self.hardware.definitions[processor]
        for extended in item.all("extended"):
            if definition in self.model.refs(extended, "key"):
                value = extended.child("value")
                return self._bounds(item, value, definition)
        for default in item.all("default"):
            # ExecutionNeed of 0.9 keeps needs by name.
            inner = default.child("value") if default.get("key") else default
            return self._bounds(item, inner, definition)
        for needs in item.all("needs"):
            if needs.get("key") == "Instructions":
                return self._bounds(item, needs.child("value"), definition)
        return None

    def _bounds(self, item: Element, value: Element | None, definition: str) -> Bounds | None:
        if value is None:
            return None
        bounds = self.model.reader.cycles(value)
        if bounds is None or bounds[1] is None:
            self.model.report.leave("execution time", item.type, "its distribution has no upper bound")
            return None
        if item.type == "Ticks":
            return bounds
        rate = self._instructions_per_cycle(definition)
        return bounds[0] / rate, bounds[1] / rate

    def _instructions_per_cycle(self, definition: str) -> Fraction:
        found = self.model.find(definition)
        if found is not None:
            for key in self.model.refs(found, "features"):
                feature = self.model.find(key)
                if feature is not None and key.startswith("Instructions/"):
                    rate = self.model.reader.number(feature, feature.get("value"))
                    if rate > 0:
                        return rate
        name = found.get("name") if found is not None else "unknown"
        self.model.report.change("instructions", name, "one a cycle: the model gives no IPC")
        return Fraction(1)

    def _access(self, item: Element, processor: str) -> Bounds | None:
        """The cycles of an access to a label where the model has its cost; for a label in no memory those of
        the dearest one."""
        timed = {memory for _, memory in self.hardware.accesses}
        mine = {memory: costs for (one, memory), costs in self.hardware.accesses.items() if one == processor}
        clock = self.hardware.clocks[processor]
        high = Fraction(0)
        for label in self.model.refs(item, "data"):
            memory = self.memories.get(label)
            if memory is None:
                # Where others have costs and this processor has none, nobody knows them.
                costs = {cost for some in mine.values() for cost in some} if mine or not timed else {Access()}
            elif memory in timed:
                costs = mine.get(memory, {Access()})
            else:
                costs = set()
            known = [cost.cycles(self._size(label), clock) for cost in costs]
            if None in known:
                name = self.model.by_id[label].get("name") if label in self.model.by_id else label
                why = f"the model does not bound it from {processor}, as it does for others of its memory"
                self.model.report.leave("time of accesses to label", name, why)
                return None
            high += max((cycles for cycles in known if cycles is not None), default=Fraction(0))
        both = item.get("access") in ("readwrite", "readWrite")
        return Fraction(0), high * self._times(item) * (2 if both else 1)

    def _size(self, label: str) -> int:
        element = self.model.find(label)
        size = self.model.reader.quantity(element.child("size"), BYTES) if element is not None else None
        return ceiling(size) if size else 1

    def _times(self, item: Element) -> int:
        """How often it is accessed at most: once where the model says nothing."""
        statistic = item.child("statistic")
        value = statistic.child("value") if statistic is not None else None
        said = (value.get("max") or value.get("value")) if value is not None else ""
        return max(ceiling(self.model.reader.number(item, said)), 1) if said else 1

    # Labels

    def accesses(self, process: Element) -> dict[tuple[str, str], None]:
        """(label, 'read' or 'write') of a task: its own and those of all runnables that it calls."""
        found: dict[tuple[str, str], None] = {}
        for part in (process, *self.runnables(process)):
            found |= self._own_accesses(part)
        return found

    def _own_accesses(self, part: Element) -> dict[tuple[str, str], None]:
        known = self._accesses.get(id(part))
        if known is None:
            known = {}
            for element in part.walk():
                if element.type == "LabelAccess":
                    access = element.get("access") or "read"
                    for key in self.model.refs(element, "data"):
                        for way in ("read", "write"):
                            if access in (way, "readwrite", "readWrite"):
                                known[key, way] = None
            self._accesses[id(part)] = known
        return known

    # Releases

    def _triggers(self) -> dict[str, list[str]]:
        """The tasks that trigger each inter-process stimulus."""
        found: dict[str, list[str]] = {}
        for key, task in self.tasks.items():
            for element in task.walk():
                if element.type in ("InterProcessTrigger", "InterProcessActivation"):
                    for stimulus in self.model.refs(element, "stimulus"):
                        found.setdefault(stimulus, []).append(key)
        return found

    def release(self, task: Element, above: tuple[str, ...] = ()) -> Release | None:
        """The releases of a task; None if neither a period nor a minimum inter-arrival time can be known."""
        report, name = self.model.report, task.get("name")
        found: list[Release] = []
        for stimulus in self.model.referred(task, "stimuli"):
            release = self._stimulus(task, stimulus, above)
            if release is not None:
                found.append(release)
        if len(found) > 1:
            report.leave("stimulus", name, "a task is released in one way; the first is kept")
            self._longer[task.get("xmi:id")] = "it has releases of several stimuli"
        return found[0] if found else None

    def _stimulus(self, task: Element, stimulus: Element, above: tuple[str, ...]) -> Release | None:
        reader, report, name = self.model.reader, self.model.report, task.get("name")
        kind = stimulus.type.removesuffix("Stimulus")
        if kind == "Periodic":
            period = reader.time(stimulus.child("recurrence"))
            if not period:
                raise reader.bad(stimulus, "has no recurrence; add one above 0")
            offset = reader.time(stimulus.child("offset")) or Fraction(0)
            jitter = self._jitter(task, stimulus)
            least = reader.time(stimulus.child("minDistance"))
            # Without jitter the period says it.
            spaced = (min(least, period),) if least and jitter else ()
            return Release(period=period, offset=offset, jitter=jitter, distances=spaced)
        if kind == "PeriodicBurst":
            release = self._bursts(stimulus)
            if release is not None:
                return release
        if kind in ("RelativePeriodic", "Sporadic"):
            inner = stimulus.child("nextOccurrence") or stimulus.child("stimulusDeviation")
            bounds = reader.bounds(inner, reader.time) if inner is not None else None
            if bounds and bounds[0] > 0:
                return Release(apart=bounds[0])
        if kind == "ArrivalCurve":
            release = self._arrival_curve(stimulus)
            if release is not None:
                return release
        if kind == "InterProcess":
            return self._triggered(task, stimulus, above)
        if kind == "Single":
            report.leave(
                "stimulus", stimulus.get("name"), "a single release; tasks are released again and again"
            )
        else:
            report.leave("stimulus", stimulus.get("name") or name, f"{stimulus.type} gives no least distance")
        return None

    def _arrival_curve(self, stimulus: Element) -> Release | None:
        """The least distances of its entries; None where two releases may come together."""
        known: dict[int, Fraction] = {}
        for entry in stimulus.all("entries"):
            least = self.model.reader.time(entry.child("lowerTimeBorder"))
            occurrences = entry.get("numberOfOccurrences")
            if least and occurrences.isdecimal():
                known[int(occurrences)] = least
        if 2 not in known:
            return None
        found, reached = [known[2]], known[2]
        for count in range(3, max(known) + 1):
            # More releases take no less time than fewer.
            reached = max(reached, known.get(count, reached))
            found.append(reached)
            if len(found) == MOST_DISTANCES:
                break
        return self._spaced(stimulus, found, more=max(known) > MOST_DISTANCES + 1)

    def _bursts(self, stimulus: Element) -> Release | None:
        """So many releases anywhere in a part of each period; None where that does not keep them apart."""
        reader = self.model.reader
        period, inside = (reader.time(stimulus.child(key)) for key in ("recurrence", "occurrenceMinDistance"))
        length = reader.time(stimulus.child("burstLength")) or Fraction(0)
        often = stimulus.get("occurrenceCount")
        if not period or not often.isdecimal() or int(often) < 1:
            return None
        count, between = int(often), period - length
        inside = inside or Fraction(0)
        least = between if count == 1 else min(inside, between)
        if least <= 0:
            return None
        # The last of a burst may be the end of its part, and the first of the next the beginning of that.
        found = [
            min(n * inside, between + (n - 1) * inside) for n in range(1, min(count, MOST_DISTANCES + 1))
        ]
        if count <= MOST_DISTANCES:
            found.append(between + (count - 1) * inside)
        return self._spaced(stimulus, found[:MOST_DISTANCES], more=count > MOST_DISTANCES)

    def _spaced(self, stimulus: Element, least: list[Fraction], *, more: bool) -> Release:
        if more:
            text = f"only the distances of {MOST_DISTANCES + 1} releases are kept; more may then come"
            self.model.report.change("stimulus", stimulus.get("name"), text)
        # A list that the least distance already states is none.
        plain = all(distance <= n * least[0] for n, distance in enumerate(least, 1))
        return Release(apart=least[0], distances=() if plain else tuple(least))

    def _jitter(self, task: Element, stimulus: Element) -> Fraction:
        jitter = stimulus.child("jitter")
        bounds = self.model.reader.bounds(jitter, self.model.reader.time) if jitter is not None else None
        if bounds is None:
            return Fraction(0)
        if bounds[1] is None:
            self.model.report.leave("jitter", stimulus.get("name"), "its distribution has no upper bound")
            self._longer[task.get("xmi:id")] = "its jitter has no upper bound"
        return bounds[1] or Fraction(0)

    def _triggered(self, task: Element, stimulus: Element, above: tuple[str, ...]) -> Release | None:
        """A task that others release comes as often as the one that does."""
        sources = self.triggers.get(stimulus.get("xmi:id"), [])
        name, report = task.get("name"), self.model.report
        if len(sources) != 1 or sources[0] in above:
            report.leave("stimulus", stimulus.get("name"), "triggered by no task, by several, or by itself")
            return None
        source = self.tasks[sources[0]]
        release = self.release(source, (*above, sources[0]))
        if release is not None:
            report.change(
                "release", f"{name} by {source.get('name')}", "as often as the task that triggers it"
            )
            # How close its own releases come, the delay of its trigger decides.
            release = replace(release, trigger=sources[0], distances=())
        return release
