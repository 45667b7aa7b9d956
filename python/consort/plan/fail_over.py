# SPDX-License-Identifier: Apache-2.0
"""Refusals: things that processes of this machine cannot take over from a core that died."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from consort.base.errors import BadInput
from consort.model import System
from consort.model.document import Location
from consort.plan.types import Plan, PlannedTask

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
