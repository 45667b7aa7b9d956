# SPDX-License-Identifier: Apache-2.0
"""Rules of the least distances between a task's releases."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.document import Location
from consort.model.quantities import Duration
from consort.model.spacing import MOST_DISTANCES, kept_without_jitter
from consort.model.view import View


def distances_fit(view: View) -> Iterator[BadInput]:
    for task in view.tasks():
        here = ("tasks", task)
        place: Location = (*here, "min_distances")
        count = len(view.sequence(*place))
        if count > MOST_DISTANCES:
            text = (
                f"{count} distances, and {MOST_DISTANCES} are taken; those of more releases follow from them"
            )
            yield view.problem(place, text)
        if not 1 <= count <= MOST_DISTANCES:
            continue
        known = [view.parsed(Duration, *place, at) for at in range(count)]
        distances = [distance.value for distance in known if distance is not None]
        if len(distances) < count:
            continue
        yield from _in_order(view, place, distances)
        yield from _beside_the_period(view, task, place, distances)
        if view.execution(task) == "three-phase":
            yield view.problem(
                place,
                "a three-phase task is released by a least distance only; remove 'min_distances', and write"
                " the shortest one as 'min_interarrival'",
                at_key=True,
            )
        if view.get("modes") is not None:
            yield view.problem(
                place,
                "where modes change, nothing says how close the last release of one mode and the first of the"
                " next may come; remove 'min_distances', or 'modes'",
                at_key=True,
            )


def _in_order(view: View, place: Location, distances: list[int]) -> Iterator[BadInput]:
    before = 0
    for at, distance in enumerate(distances):
        if distance == 0:
            yield view.problem((*place, at), "the distance is 0; more than 0 is needed")
        elif distance < before:
            text = f"more releases take no less time than fewer; write {Duration(before)} or more"
            yield view.problem((*place, at), text)
        before = max(before, distance)


def _beside_the_period(view: View, task: str, place: Location, distances: list[int]) -> Iterator[BadInput]:
    """That they act: a release may come closer without them, and as close as they say."""
    here = ("tasks", task)
    jitter, period, apart = (
        view.parsed(Duration, *here, key) for key in ("jitter", "period", "min_interarrival")
    )
    late = jitter is not None and jitter.value > 0
    if period is not None and not late:
        yield view.problem(
            place,
            "a periodic task without jitter comes as its period says; remove 'min_distances', or write"
            " 'jitter', or 'min_interarrival' for sporadic releases",
            at_key=True,
        )
    elif period is not None:
        for steps, distance in enumerate(distances, 1):
            most = Duration(steps * period.value)
            if distance > most.value:
                text = f"{steps + 1} releases of this period come within {most} now and then; write {most}"
                yield view.problem((*place, steps - 1), f"{text} or less")
    elif apart is not None and not late:
        by_interval = kept_without_jitter(apart.value, [0] * len(distances))
        if kept_without_jitter(apart.value, distances) == by_interval:
            yield view.problem(
                place,
                f"releases that are {apart} apart come no closer than that anyway; write longer distances,"
                " a shorter 'min_interarrival', or 'jitter'",
                at_key=True,
            )
