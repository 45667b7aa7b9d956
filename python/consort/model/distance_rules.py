# SPDX-License-Identifier: Apache-2.0
"""Rules of the least distances between a task's releases."""

from __future__ import annotations

from consort.model.description import System
from consort.model.document import Location
from consort.model.exclusions import excluded
from consort.model.figures import MOST_DISTANCES, kept_without_jitter
from consort.model.quantities import Duration
from consort.model.references import Problems, View, typed
from consort.model.task import Task


@typed
def distances_fit(view: View, system: System) -> Problems:
    for name, task in system.tasks.items():
        if task.period is None and task.min_interarrival is None:
            continue  # what is missing is said elsewhere
        key = "min_distances" if task.burst is None else "burst"
        place: Location = ("tasks", name, key)
        if task.burst is not None and task.min_distances:
            yield from view.say(place, excluded("burst", "min_distances"), at_key=True)
            continue
        count = len(task.distances)
        if count > MOST_DISTANCES:
            text = (
                f"{count} distances, and {MOST_DISTANCES} are taken; those of more releases follow from them"
            )
            yield from view.say(place, text)
        if not 1 <= count <= MOST_DISTANCES or view.wrong_within(*place):
            continue
        yield from _in_order(view, name, task)
        yield from _beside_the_period(view, name, task, place)
        if task.execution == "three-phase":
            yield from view.say(place, excluded(key, "three-phase tasks", key=key), at_key=True)
        if system.modes:
            yield from view.say(place, excluded(key, "modes", key=key), at_key=True)


def _in_order(view: View, name: str, task: Task) -> Problems:
    before = Duration(0)
    for at, distance in enumerate(task.distances if task.burst is None else (task.burst.within,)):
        place = ("tasks", name, *task.place_of_distance(at))
        if distance.value == 0:
            yield from view.say(place, "the distance is 0; more than 0 is needed")
        elif distance < before:
            text = f"more releases take no less time than fewer; write {before} or more"
            yield from view.say(place, text)
        before = max(before, distance)


def _beside_the_period(view: View, name: str, task: Task, place: Location) -> Problems:
    """Checks that the distances act: a release may come closer without them, and as close as they say."""
    period, apart = task.period, task.min_interarrival
    late = task.jitter.value > 0
    distances = [distance.value for distance in task.distances]
    key = place[-1]
    if period is not None and not late:
        yield from view.say(
            place,
            f"a periodic task without jitter comes as its period says; remove {key!r}, or write"
            " 'jitter', or 'min_interarrival' for sporadic releases",
            at_key=True,
        )
    elif period is not None:
        for steps, distance in enumerate(distances, 1):
            most = Duration(steps * period.value)
            if distance > most.value:
                text = f"{steps + 1} releases of this period come within {most} now and then; write {most}"
                at = ("tasks", name, *task.place_of_distance(steps - 1))
                yield from view.say(at, f"{text} or less")
    elif apart is not None and not late:
        by_interval = kept_without_jitter(apart.value, [0] * len(distances))
        if kept_without_jitter(apart.value, distances) == by_interval:
            text = f"releases that are {apart} apart come no closer than that anyway; write"
            more = "longer distances" if task.burst is None else "a smaller 'count', a longer 'within'"
            yield from view.say(
                place, f"{text} {more}, a shorter 'min_interarrival', or 'jitter'", at_key=True
            )
