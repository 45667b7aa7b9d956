# SPDX-License-Identifier: Apache-2.0
"""Tasks that other tasks release: each comes as late as the one that triggers it may take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from consort.analysis.system import response_times
from consort.exchange.report import Report
from consort.model import BadDescription, Duration, platform_from_data, system_from_data

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
            return  # it is no right description, and who writes it says so
        again = False
        for name, trigger in triggers.items():
            # A result for a trigger with an unknown delay is no bound.
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
