# SPDX-License-Identifier: Apache-2.0
"""Watches the CPUs of a run for what stops a thread that does nothing else, as osnoise does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

from consort.errors import EnvironmentLacks
from consort.judge.stops import Stops, stops_of
from consort.toolchain import tool

# A gap below this [µs] is that of a clock that is read.
GAP_US = 2.0
# No run is watched for longer [s].
LONGEST = 2.0


def watch(cpus: Sequence[int], seconds: float, *, realtime: bool) -> Stops | None:
    """Spins on all of `cpus` at once and returns what stopped that; blocks for `seconds`, LONGEST at most.

    `realtime`: in the class of the run's own threads (SCHED_FIFO) instead of the ordinary one. None where the
    program that watches cannot be built, or is refused a CPU.
    """
    try:
        program = str(tool("probe"))
    except EnvironmentLacks:
        return None
    options = ["--measure", "busy", "--gap-us", str(GAP_US), "--seconds", str(min(seconds, LONGEST))]
    if not realtime:
        options.append("--ordinary")
    running = {
        cpu: subprocess.Popen(
            [program, *options, "--cpus", str(cpu)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for cpu in cpus
    }
    said = {cpu: process.communicate()[0] for cpu, process in running.items()}
    if any(process.returncode for process in running.values()):
        return None
    return stops_of({cpu: json.loads(text)["busy"][0] for cpu, text in said.items()})
