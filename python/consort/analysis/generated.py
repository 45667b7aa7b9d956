# SPDX-License-Identifier: Apache-2.0
"""`consort.generate`: a random task set as a system, ready to be analysed or simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np

from consort.analysis.generate import PeriodLaw, set_block
from consort.base import arguments
from consort.base.errors import BadInput
from consort.model import Duration, System, system_from_data
from consort.model.platform import find_platform, load_platform
from consort.model.textvalue import WrongValue

# More tasks are analysed one by one, but nobody draws them on one core.
MOST_TASKS = 10_000
# Where the description would stand, if it were one of a file.
FILE = "generated.yaml"


def generate(
    tasks: int,
    utilisation: float,
    *,
    periods: PeriodLaw = "log-uniform",
    shortest: str | Duration = "10ms",
    longest: str | Duration = "100ms",
    limits: tuple[float, float] | None = None,
    seed: int = 1,
    platform: str = "linux-host",
    core: str | None = None,
) -> System:
    """A random system: independent periodic tasks `t0`, `t1`, … on one core, shorter periods first.

    Utilisations are uniform over all that sum to `utilisation` (UUniFast, Bini & Buttazzo 2005), and with
    `limits` over those of them that lie between the two (UUniFast-Discard, Davis & Burns 2011). Execution
    times are rounded down to nanoseconds. `periods` is the law of periods between `shortest` and `longest`:
    `log-uniform`, `uniform`, or `automotive` (Kramer et al. 2015), which has its own range. Deadlines are
    periods. The same seed gives the same system on every machine. `core` is one of `platform`, its first
    without it; what that core's switches cost is the platform's.
    """
    count = arguments.whole("tasks", tasks, 1, MOST_TASKS)
    total = arguments.number("utilisation", utilisation, 1e-6, 64)
    law = arguments.one_of("periods", periods, get_args(PeriodLaw))
    low, high = (_nanoseconds(name, given) for name, given in (("shortest", shortest), ("longest", longest)))
    if low > high:
        raise BadInput(f"{longest} is shorter than 'shortest', {shortest}", field="longest")
    rng = np.random.default_rng(arguments.seed(seed))
    bounds = None if limits is None else _limits(limits)
    try:
        drawn = set_block(1, count, total, law, rng, low, high, bounds)
    except ValueError as error:
        raise BadInput(str(error), field="limits") from None
    wcets, times = (rows[0].tolist() for rows in drawn)
    where = arguments.text("platform", platform)
    on = _core(where, core)
    data: dict[str, Any] = {
        "consort": 1,
        "name": f"{count} tasks, utilisation {total:g}, seed {seed}",
        "platform": where,
        "tasks": {
            f"t{place}": {"period": f"{period}ns", "wcet": f"{wcet}ns", "on": on}
            for place, (wcet, period) in enumerate(zip(wcets, times, strict=True))
        },
    }
    return system_from_data(data, file=FILE)


def _limits(given: tuple[float, float]) -> tuple[float, float]:
    arguments.instance("limits", given, (tuple, list), "write the least and the largest, such as (0.01, 0.5)")
    if len(given) != 2:
        raise BadInput("two numbers are needed: the least and the largest utilisation", field="limits")
    low, high = (arguments.number(f"limits[{place}]", value, 0, 64) for place, value in enumerate(given))
    return low, high


def _nanoseconds(name: str, given: str | Duration) -> int:
    arguments.instance(name, given, (str, Duration), "write a time, such as '10ms'")
    try:
        found = Duration.parse(given) if isinstance(given, str) else given
    except WrongValue as error:
        raise BadInput(str(error), field=name) from None
    if found.picoseconds < 1000:
        raise BadInput(f"{given} is too short; at least 1ns is needed", field=name)
    return found.picoseconds // 1000


def _core(platform: str, core: str | None) -> str:
    """The core that is asked for, or the platform's first."""
    try:
        file = find_platform(platform, Path.cwd() / FILE)
    except LookupError as error:
        raise BadInput(str(error), field="platform") from None
    names = load_platform(file).core_names()
    return names[0] if core is None else arguments.one_of("core", core, names)
