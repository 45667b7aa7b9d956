# SPDX-License-Identifier: Apache-2.0
"""Imports and exports in common: their result with what was left out or changed, and the names, priorities
and triggered releases of other tools, brought to the conventions of Consort."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from consort.analysis.system import response_times
from consort.model import BadDescription, Duration, platform_from_data, system_from_data
from consort.model.base import NAME_PATTERN

# Names that the text form shows of a group; the JSON form has them all.
SHOWN = 6


@dataclass
class Report:
    """Left out: is not in the result. Changed: is in it in another form. Notes: how the source was read."""

    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    changed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def leave(self, what: str, name: str, why: str) -> None:
        self.left_out.setdefault((what, why), []).append(name)

    def change(self, what: str, name: str, how: str) -> None:
        self.changed.setdefault((what, how), []).append(name)

    def to_json(self) -> dict[str, Any]:
        return {
            "notes": self.notes,
            "left_out": [_group(what, "why", why, names) for (what, why), names in self.left_out.items()],
            "changed": [_group(what, "how", how, names) for (what, how), names in self.changed.items()],
        }

    def text(self) -> str:
        lines: list[str] = []
        for title, groups in (("left out", self.left_out), ("changed", self.changed)):
            if not groups:
                continue
            lines.append(f"{title}:")
            for (what, why), names in groups.items():
                unique = list(dict.fromkeys(names))
                shown = ", ".join(unique[:SHOWN])
                if len(unique) > SHOWN:
                    shown += f" and {len(unique) - SHOWN} more"
                lines.append(f"  {what}, {len(unique)}: {why}: {shown}")
        return "\n".join([*self.notes, *(lines or ["nothing left out, nothing changed"])])


def _group(what: str, key: str, why: str, names: list[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(names))
    return {"what": what, key: why, "count": len(unique), "names": unique}


@dataclass
class Imported:
    """A platform, and the system on it where the source has tasks: plain data, as the model reads it."""

    platform: dict[str, Any] | None
    system: dict[str, Any] | None
    report: Report = field(default_factory=Report)
    comment: str = ""


LONGEST = 64


class Names:
    """New names for old ones, each unique within its kind."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.taken: dict[str, set[str]] = {}

    def new(self, kind: str, old: str, longest: int = LONGEST) -> str:
        """A name for what was called `old`, no longer than that; a report entry where it had to change."""
        wanted = old
        if not re.fullmatch(NAME_PATTERN, old):
            wanted = re.sub(r"[^A-Za-z0-9_-]+", "-", old).strip("-") or kind
            if not wanted[0].isalpha():
                wanted = f"{kind[0]}-{wanted.lstrip('_')}".rstrip("-")
        wanted = wanted[:longest]
        taken = self.taken.setdefault(kind, set())
        name, number = wanted, 2
        while name in taken:
            ending = f"-{number}"
            name, number = wanted[: longest - len(ending)] + ending, number + 1
        taken.add(name)
        if name != old:
            self.report.change(
                f"name of a {kind}", f"{old!r} is {name}", "other letters, or a name taken already"
            )
        return name


ANEW = "missing or of several classes in the model; counted anew in the same order"
EQUAL = (
    "equal, as in the model: a bound counts all others of its priority as more urgent; 'simulate' and 'run'"
    " serve them in the order of their releases"
)

# Which of two priorities is the more urgent: that of the higher number, or that of the lower one.
Order = Literal["higher", "lower"]


def say_order(report: Report, order: Order, why: str) -> None:
    """States how the model's priorities were read."""
    report.notes.append(f"priorities: the {order} number is the more urgent ({why})")


def upside_down(ranks: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The ranks where the lower number is the more urgent: in the same range, the other way round."""
    numbers = [number for _, number in ranks.values()]
    ends = min(numbers) + max(numbers)
    return {name: (level, ends - number) for name, (level, number) in ranks.items()}


def take_priorities(
    report: Report, core: str, tasks: dict[str, dict[str, Any]], ranks: Mapping[str, tuple[int, int]]
) -> None:
    """Gives the tasks of a core priorities by rank: (class, priority in it), the larger the more urgent."""
    order = sorted(set(ranks.values()))
    classes = {level for level, _ in order}
    for name, rank in ranks.items():
        tasks[name]["priority"] = rank[1] if len(classes) == 1 else 1 + order.index(rank)
        if len(classes) > 1:
            report.change("priority", f"{name} on {core}", ANEW)
    counts = Counter(ranks.values())
    for name, rank in ranks.items():
        if counts[rank] > 1:
            report.change("equal priorities", f"{name} on {core}", EQUAL)


# Rounded up to whole nanoseconds, which the clocks of targets count.
_NANOSECOND = 1000
# Jitter lengthens responses, and these the jitter of others: so often that is followed.
_ROUNDS = 50


def fill_in_delays(
    system: dict[str, Any], platform: dict[str, Any], triggers: Mapping[str, str], report: Report
) -> None:
    """Gives each triggered task the bound of its trigger's response time as release jitter.

    Where there is no such bound, the task loses its execution times: a bound of its own would be too low.
    """
    tasks = system["tasks"]
    before = {name: tasks[name].get("jitter") for name in triggers}
    open_ends = dict(triggers)
    for _ in range(_ROUNDS):
        found = _bounds(system, platform)
        if found is None:
            return  # it is not a right description, and who writes it says so
        again = False
        for name, trigger in triggers.items():
            # A result for a trigger with an unknown delay is not a bound.
            response = None if trigger in open_ends else found.get(trigger)
            if response is not None:
                response = math.ceil(response / _NANOSECOND) * _NANOSECOND
            if response is None or response > Duration.largest:
                again |= name not in open_ends
                open_ends[name] = trigger
                continue
            again |= open_ends.pop(name, None) is not None
            if response > Duration.parse(tasks[name].get("jitter", "0ns")).value:
                tasks[name]["jitter"] = str(Duration(response))
                again = True
        if not again:
            break
    else:
        open_ends = dict(triggers)
    for name, trigger in triggers.items():
        if name in open_ends:
            tasks[name].pop("wcet", None)
            tasks[name].pop("bcet", None)
            tasks[name].pop("jitter", None)
            if before[name] is not None:
                tasks[name]["jitter"] = before[name]
            text = "how late their trigger releases them has no bound: bounds of theirs would be too low"
            report.leave("execution times of tasks", f"{name} by {trigger}", text)
        else:
            text = "as late as the bound of the task that triggers it"
            report.change("release jitter", f"{name} by {trigger}", text)


def _bounds(system: dict[str, Any], platform: dict[str, Any]) -> dict[str, int | None] | None:
    try:
        described = system_from_data(system, platform=platform_from_data(platform))
    except BadDescription:
        return None
    return {bound.task: bound.response for bound in response_times(described)}


def take_times(report: Report, tasks: dict[str, dict[str, Any]], name: str, why: str) -> None:
    """Takes the execution times of a task away: with them a bound would be too low, and none is better."""
    task = tasks[name]
    if "wcet" not in task:
        return
    del task["wcet"]
    task.pop("bcet", None)
    report.leave("execution times of tasks", name, f"{why}: a bound would be too low; write what counts it")
