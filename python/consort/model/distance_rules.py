# SPDX-License-Identifier: Apache-2.0
"""Rules of a task's releases: the least distances between them, and the channel whose blocks release it."""

from __future__ import annotations

from collections.abc import Sequence

from consort.base.errors import nearest
from consort.model.channel_rules import Ends, ends_of
from consort.model.description import System
from consort.model.document import Location, Problems, View
from consort.model.exclusions import excluded
from consort.model.figures import MOST_DISTANCES, kept_without_jitter
from consort.model.quantities import Duration
from consort.model.task import AUTO, Task


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
        # What has to go altogether needs no word on its values.
        barred = "three-phase tasks" if task.execution == "three-phase" else "modes" if system.modes else None
        if barred is not None:
            yield from view.say(place, excluded(key, barred, key=key), at_key=True)
            continue
        yield from _in_order(view, name, task)
        if all(distance.value for distance in task.distances):
            yield from _beside_the_period(view, name, task, place)


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
    late = task.has_jitter
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


def arrivals_fit(view: View, system: System) -> Problems:
    writers, readers = ends_of(system)
    for name, task in system.tasks.items():
        here: Location = ("tasks", name, "arrival")
        channel = task.arrival
        if task.jitter == AUTO and (why := _never_late(system, writers, channel)):
            text = f"'auto' is how late the blocks of another task may come, and {why}; write a time"
            yield from view.say(("tasks", name, "jitter"), text)
        if channel is None:
            continue
        read = [one for one, ends in readers.items() if name in ends]
        if channel not in read:
            text = f"the task does not read {channel!r}; {nearest(channel, read, 'channels that it reads')}"
            yield from view.say(here, text)
        if task.period is not None:
            text = "a periodic task is released by time; remove 'arrival', or write 'min_interarrival'"
            yield from view.say(here, text, at_key=True)
        elif any(writer not in system.tasks for writer in writers.get(channel, ())):
            yield from _released_by_a_device(view, system, name, channel, list(readers.get(channel, ())))
        elif (ring := _ring(system, writers, name))[:1] == [name]:
            text = f"{' and '.join(map(repr, ring))} release one another, so that no job ever comes; write"
            text += " 'period' for one of them"
            yield from view.say(here, text)


def _never_late(system: System, writers: Ends, channel: str | None) -> str:
    """Why no analysis finds how late the blocks come that release a task; empty if it may."""
    if channel is None:
        return "none release this task"
    devices = [writer for writer in writers.get(channel, ()) if writer not in system.tasks]
    return f"those of {channel!r} are of the device {devices[0]!r}" if devices else ""


def _ring(system: System, writers: Ends, task: str) -> list[str]:
    """The tasks that wait for one another's blocks, in the order of the description.

    Empty where time releases one of them.
    """
    ring = [task]
    while (arrival := system.tasks[ring[-1]].arrival) is not None:
        writer = next(iter(writers.get(arrival, ())), None)
        if writer == task:
            return [name for name in system.tasks if name in ring]
        if writer not in system.tasks or writer in ring:
            break
        ring.append(writer)
    return []


def _released_by_a_device(
    view: View, system: System, task: str, channel: str, readers: Sequence[str]
) -> Problems:
    """A device's blocks come no closer than the task that they release says of its jobs."""
    own = system.tasks[task].min_interarrival
    given = system.channels[channel].min_interarrival if channel in system.channels else None
    nearest_apart = system.messages_apart(channel, readers)
    if own is None or nearest_apart is None:
        return
    if nearest_apart >= own:
        yield from _closer_than_distances(view, system.tasks[task], task, channel, nearest_apart)
        return
    who = f"blocks of {channel!r} come {nearest_apart} apart"
    if given is None:
        who += ", as its fastest reader takes them"
    text = (
        f"{who}, and each releases a job; write {nearest_apart}, or 'min_interarrival: {own}' for the channel"
    )
    yield from view.say(("tasks", task, "min_interarrival"), text)


def _closer_than_distances(view: View, task: Task, name: str, channel: str, apart: Duration) -> Problems:
    for at, distance in enumerate(task.distances):
        come = Duration((at + 1) * apart.picoseconds)
        if distance > come:
            text = f"{at + 2} blocks of {channel!r} come within {come}, and each releases a job; write"
            text = f"{text} {come}, or have the channel's 'min_interarrival' be longer"
            yield from view.say(("tasks", name, *task.place_of_distance(at)), text)
