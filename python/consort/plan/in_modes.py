# SPDX-License-Identifier: Apache-2.0
"""The plan of a run that goes from mode to mode: the parts that its program has for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from consort.base.errors import BadInput
from consort.model import Duration, System
from consort.model.channel import STAND_IN
from consort.model.document import Location
from consort.model.sources import FileInput
from consort.plan.channels import link_of
from consort.plan.targets import Target, not_whole
from consort.plan.types import Plan, PlannedChannel, PlannedCore, PlannedTask

Refuse = Callable[[Location, str], BadInput]
# A supervisor looks eight times within the detection, and its clock ticks in milliseconds.
LEAST_DETECTION_PS = 8 * 10**9
_IN_ORDER = ("queue", "mailbox")


def fail_over_problems(whole: System, modes: Mapping[str, Plan], refuse: Refuse) -> Iterator[BadInput]:
    changes = whole.mode_changes
    assert changes is not None
    if changes.detection is not None and changes.detection.picoseconds < LEAST_DETECTION_PS:
        yield refuse(
            ("mode_changes", "detection"),
            "on this machine the supervisor looks once in a millisecond, eight times within the detection;"
            " write 8ms or more",
        )
    for place, one in enumerate(changes.fail_overs):
        if any(one.core in made.workers for made in modes.values()):
            yield refuse(
                ("mode_changes", "fail_over", place, "core"),
                f"the core {one.core!r} is a worker, whose death its masters answer by 'on_miss' and"
                " 'restart_worker'; name a core that releases tasks",
            )
    said: set[Location] = set()
    for made in modes.values():
        for task in made.tasks.values():
            if task.core not in {one.core for one in changes.fail_overs}:
                continue
            after = next(one.to for one in changes.fail_overs if one.core == task.core)
            if task.name not in modes[after].tasks:
                continue
            for location, text in _left_behind(task, made):
                if location not in said:
                    said.add(location)
                    yield refuse(
                        location, f"when {task.core!r} dies, {task.name!r} goes on in {after!r}: {text}"
                    )


def _left_behind(task: PlannedTask, made: Plan) -> Iterator[tuple[Location, str]]:
    for source in dict.fromkeys(binding.source for binding in (*task.reads, *task.writes)):
        channel = made.channels.get(source)
        if channel is None:
            continue
        if channel.implementation in _IN_ORDER:
            yield (
                ("channels", source),
                f"the {channel.implementation} {source!r} has each block once, and one of a job that died"
                " would be lost or come twice; use a channel of the newest block: kind sporadic or periodic",
            )
        elif channel.communication == "let" and channel.writer == task.name:
            yield (
                ("channels", source),
                f"{source!r} is to be published at the deadline of a job that died, which has passed; write"
                " 'communication: implicit'",
            )


# A recording has at most so many rows for each job of the shortest of its task's periods.
MOST_ROWS = 100


def in_all_modes(whole: System, base: Plan, modes: Mapping[str, Plan]) -> Plan:
    """The tasks, cores, channels and devices of all modes in one; `base` is the plan in no mode.

    A task stands there as it is in the first mode that has it, or in which a worker computes it; what it is
    in a mode stands in that mode's own plan.
    """
    tasks = {name: _task(name, modes) for name in whole.tasks if any(name in m.tasks for m in modes.values())}
    first = next(iter(modes.values()))
    channels: dict[str, PlannedChannel] = {}
    for made in modes.values():
        for name, channel in made.channels.items():
            channels[name] = _channel(whole, channels.get(name), channel)
    return replace(
        first,
        mode=None,
        figures=base.figures,
        tasks=tasks,
        cores={name: _core(name, modes) for made in modes.values() for name in made.cores},
        channels=channels,
        devices={name: device for made in modes.values() for name, device in made.devices.items()},
        chains={name: chain for made in modes.values() for name, chain in made.chains.items()},
        run=base.run,
        changes=base.changes,
        notes=tuple(dict.fromkeys(note for made in modes.values() for note in made.notes)),
    )


def sleeping_alike(modes: Mapping[str, Plan]) -> dict[str, Plan]:
    """The plans of modes that change: a core that several tasks share in one of them, and so sleeps until
    releases, sleeps in all, and is late in all. One that spins would leave the others no time."""

    def alike(core: PlannedCore) -> PlannedCore:
        here = [made.cores[core.name] for made in modes.values() if core.name in made.cores]
        asleep = next((one for one in here if one.time_base == "sleep"), None)
        if asleep is None:
            return core
        return replace(core, time_base="sleep", timer_lateness_ps=asleep.timer_lateness_ps, margin_ps=None)

    return {
        mode: replace(made, cores={name: alike(core) for name, core in made.cores.items()})
        for mode, made in modes.items()
    }


def _core(name: str, modes: Mapping[str, Plan]) -> PlannedCore:
    """A core as the first mode has it. How it awaits answers is said where it awaits some."""
    here = [made.cores[name] for made in modes.values() if name in made.cores]
    waits = (
        made.cores[name].wait
        for made in modes.values()
        if any(task.core == name and task.worker is not None for task in made.tasks.values())
    )
    return replace(here[0], wait=next(waits, here[0].wait))


def _task(name: str, modes: Mapping[str, Plan]) -> PlannedTask:
    here = [made.tasks[name] for made in modes.values() if name in made.tasks]
    task = next((one for one in here if one.worker is not None), here[0])
    return replace(
        task,
        reads=tuple(dict.fromkeys(binding for one in here for binding in one.reads)),
        writes=tuple(dict.fromkeys(binding for one in here for binding in one.writes)),
    )


def _channel(whole: System, known: PlannedChannel | None, here: PlannedChannel) -> PlannedChannel:
    if known is None:
        return here
    readers = {*known.readers, *here.readers}
    in_order = whole.readers(here.name) if here.exchange_of is None else known.readers
    # As many versions as the mode with the fastest writer needs.
    capacity = max(known.capacity or 0, here.capacity or 0) or None
    return replace(known, readers=tuple(r for r in in_order if r in readers), capacity=capacity)


def with_checkpoints(whole: System, tasks: Mapping[str, PlannedTask]) -> dict[str, PlannedTask]:
    """A mode's tasks; those that go on elsewhere when their core dies write a checkpoint in each job."""
    changes = whole.mode_changes
    if changes is None or not changes.fail_overs:
        return dict(tasks)
    goes_on = {one.core: whole.modes[one.to].tasks or tuple(whole.tasks) for one in changes.fail_overs}
    return {
        name: replace(task, checkpoint=changes.state_through) if name in goes_on.get(task.core, ()) else task
        for name, task in tasks.items()
    }


def mode_problems(
    whole: System, modes: Mapping[str, Plan], target: Target, refuse: Refuse
) -> Iterator[BadInput]:
    """Things that one program cannot be in several modes."""
    assert whole.mode_changes is not None
    for place, asker in enumerate(whole.mode_changes.askers):
        steps = {made.tasks[asker.task].step for made in modes.values() if asker.task in made.tasks}
        if not steps or steps & {STAND_IN, None}:
            why = "rests in all of the modes" if not steps else "has no step"
            yield refuse(
                ("mode_changes", "asked_by", place, "task"),
                f"{asker.task!r} {why}, so that it asks for nothing; name another task, or give it a step",
            )
    seen: dict[str, tuple[str, PlannedChannel]] = {}
    for mode, made in modes.items():
        for name, channel in made.channels.items():
            first, known = seen.setdefault(name, (mode, channel))
            if known.communication != channel.communication:
                yield refuse(
                    ("channels", name),
                    f"its communication is {known.communication} in the mode {first!r} and"
                    f" {channel.communication} in {mode!r}, by the chains of each; a channel is written in"
                    " one way: say which with 'communication'",
                )
    yield from _times(whole, target, refuse)
    if target.executes:
        yield from _readers(modes, refuse)
        yield from _without_ends(modes, refuse)
        yield from _rows(modes, refuse)
    if target.name == "linux":
        yield from _processes(modes, refuse)
        yield from fail_over_problems(whole, modes, refuse)


def _times(whole: System, target: Target, refuse: Refuse) -> Iterator[BadInput]:
    assert whole.mode_changes is not None
    places: list[tuple[Location, Duration]] = [(("mode_changes", "agreement"), whole.mode_changes.agreement)]
    for number, request in enumerate(whole.mode_changes.timed):
        places.append((("mode_changes", "requests", number, "at"), request.at))
    for place, time in places:
        if time.picoseconds % target.tick_ps:
            yield refuse(place, not_whole(time.picoseconds, target.name))


def _without_ends(modes: Mapping[str, Plan], refuse: Refuse) -> Iterator[BadInput]:
    """Checks mailboxes and queues that a mode has not: nobody writes there, and the reader takes out what is
    left. A device writes on, and a link may have blocks under way."""
    known = {name: (made, channel) for made in modes.values() for name, channel in made.channels.items()}
    for mode, made in modes.items():
        for name, (there, channel) in known.items():
            taken = channel.reads_oldest
            if name in made.channels or channel.exchange_of or not taken:
                continue
            if link_of(there, channel) is not None:
                why = f"its last blocks may be on the link {channel.memory!r} when this mode begins"
            elif channel.writer in there.devices:
                why = f"the device {channel.writer!r} goes on writing"
            else:
                continue
            yield refuse(
                ("modes", mode),
                f"an end of {name!r} rests in this mode, and {why}: blocks would be read after the next"
                " change; let all of its tasks go on, or write 'kind: sporadic'",
            )


def _readers(modes: Mapping[str, Plan], refuse: Refuse) -> Iterator[BadInput]:
    """Checks that one reader takes blocks out in all modes, and that a device writes as often in all."""
    seen: dict[str, tuple[str, str]] = {}
    periods: dict[str, tuple[str, int]] = {}
    tasks = {name for made in modes.values() for name in made.tasks}
    for mode, made in modes.items():
        for name, channel in made.channels.items():
            if channel.exchange_of or not channel.reads_oldest:
                continue
            for reader in channel.readers:
                first, known = seen.setdefault(name, (mode, reader))
                if reader != known:
                    yield refuse(
                        ("modes", mode),
                        f"a block of {name!r} is taken out by one reader: {known!r} in {first!r} and"
                        f" {reader!r} in this mode; give each a channel of its own, or write"
                        " 'kind: sporadic'",
                    )
            if channel.writer in tasks or channel.min_interarrival_ps is not None:
                continue
            apart = channel.messages_apart_ps
            first, period = periods.setdefault(name, (mode, apart))
            if apart != period:
                yield refuse(
                    ("modes", mode),
                    f"the device {channel.writer!r} writes {name!r} as often as it is read, each"
                    f" {Duration.spelled(period)} in {first!r} and {Duration.spelled(apart)} in this mode;"
                    " keep the period, or write 'kind: sporadic'",
                )


def row_ps(task: str, modes: Mapping[str, Plan]) -> int:
    """The time between two rows of a recording that gives no rate: each job of each mode begins at a row."""
    return math.gcd(*(made.tasks[task].period_ps for made in modes.values() if task in made.tasks))


def _rows(modes: Mapping[str, Plan], refuse: Refuse) -> Iterator[BadInput]:
    """Checks that a recording has not too many rows, and that golden outputs are of those that are read."""
    for name in dict.fromkeys(task for made in modes.values() for task in made.tasks):
        here = {mode: made.tasks[name] for mode, made in modes.items() if name in made.tasks}
        (first, task), *others = here.items()
        apart = row_ps(name, modes)
        devices = (modes[mode].devices.get(b.source) for mode, one in here.items() for b in one.reads)
        given = (task.input, *(device.reference for device in devices if device is not None))
        if not any(isinstance(one, FileInput) and one.rate is None for one in given):
            continue
        for mode, other in others:
            if other.period_ps == task.period_ps:
                continue
            if task.golden is not None:
                yield refuse(
                    ("modes", mode),
                    f"'golden' of {name!r} is of rows {Duration.spelled(task.period_ps)} apart, those of"
                    f" {first!r}, and in this mode jobs read others; keep the period, or give 'input' a rate",
                )
            elif min(task.period_ps, other.period_ps) > MOST_ROWS * apart:
                yield refuse(
                    ("modes", mode),
                    f"jobs of {name!r} are {Duration.spelled(task.period_ps)} apart in {first!r} and"
                    f" {Duration.spelled(other.period_ps)} in this mode, and its recording would need a row"
                    f" each {Duration.spelled(apart)}; write a period that divides the other",
                )


def _processes(modes: Mapping[str, Plan], refuse: Refuse) -> Iterator[BadInput]:
    """Things that processes of a run cannot hand over to one another."""
    policies: dict[str, tuple[str, str]] = {}
    for mode, made in modes.items():
        for name, core in made.cores.items():
            first, policy = policies.setdefault(name, (mode, core.policy))
            if policy != core.policy:
                yield refuse(
                    ("modes", mode),
                    f"the core {name!r} is {core.policy} in this mode and {policy} in {first!r}, and on this"
                    " machine a process is one of them in all modes; use another core",
                )
    for name in dict.fromkeys(task for made in modes.values() for task in made.tasks):
        here = [(mode, made.tasks[name], made) for mode, made in modes.items() if name in made.tasks]
        cores = list(dict.fromkeys(task.core for _, task, _ in here))
        masters = list(dict.fromkeys((task.core, task.worker) for _, task, _ in here if task.worker))
        if len(masters) > 1:
            yield refuse(
                ("tasks", name),
                "on this machine a task is offloaded by one master to one worker in all modes; here"
                f" {' and '.join(f'{master} to {worker}' for master, worker in masters)}",
            )
        if len(cores) > 2:
            yield refuse(
                ("tasks", name),
                f"on this machine a task is handed over between two cores, and {', '.join(cores)} release"
                " this one in their modes; name two",
            )
        if len(cores) > 1:
            yield from _devices(name, here, refuse)


def _devices(name: str, here: list[tuple[str, PlannedTask, Plan]], refuse: Refuse) -> Iterator[BadInput]:
    for mode, task, made in here:
        for binding in (*task.reads, *task.writes):
            device = made.devices.get(binding.source)
            if device is not None and device.kind in ("plant", "driver"):
                yield refuse(
                    ("tasks", name),
                    f"it changes its core, and the {device.kind} {device.name!r} stays with the process that"
                    f" has it in the mode {mode!r}; let a task that stays pass the data on by a channel",
                )
                return
