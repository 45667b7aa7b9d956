# SPDX-License-Identifier: Apache-2.0
"""Watches the CPUs of a run for what stops a thread that does nothing else, as osnoise does."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from consort.base.errors import BadInput, EnvironmentLacks
from consort.judge.stops import Stops, stops_of
from consort.machine.probe import measure

# A gap below this [µs] is that of a clock that is read.
GAP_US = 2.0
# No run is watched for longer [s].
LONGEST = 2.0
# So many gaps of each CPU have a length; the others are counted.
LISTED = 4096


def watch(cpus: Sequence[int], seconds: float, *, realtime: bool) -> Stops | None:
    """Spins on all of `cpus` at once and returns what stopped that; blocks for `seconds`, LONGEST at most.

    `realtime`: in the class of the run's own threads (SCHED_FIFO) instead of the ordinary one. None where the
    program that watches cannot be built, or is refused a CPU.
    """
    options = ["--gap-us", str(GAP_US), "--lengths", str(LISTED), *([] if realtime else ["--ordinary"])]

    def alone(cpu: int) -> Any:
        report = measure([cpu], seconds=min(seconds, LONGEST), parts=("busy",), options=options)
        return report["busy"][0]

    try:
        with ThreadPoolExecutor(len(cpus)) as together:
            return stops_of(dict(zip(cpus, together.map(alone, cpus), strict=True)))
    except (BadInput, EnvironmentLacks):
        return None
