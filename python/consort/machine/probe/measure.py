# SPDX-License-Identifier: Apache-2.0
"""Runs the program that measures: ports/linux/tools/probe.cpp."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from consort.base.cpus import show_cpus
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.toolchain.compiler import tool

PARTS = ("wakeup", "busy", "switch", "memory", "exchange", "signal")


def measure(
    cpus: Sequence[int],
    *,
    seconds: float = 1.0,
    samples: int = 20_000,
    parts: Sequence[str] = PARTS,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """The program's report, times in picoseconds; blocks for some seconds and each pair of `cpus`.

    `seconds`: length of each series limited by time; `samples`: number of samples of each other one;
    `options`: what else the program is given.
    Raises BadInput for CPUs that cannot be used, EnvironmentLacks where the machine or the program fails.
    """
    command = [str(tool("probe")), "--measure", ",".join(parts), "--cpus", show_cpus(cpus)]
    command += ["--seconds", str(seconds), "--samples", str(samples), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2:
        raise BadInput(done.stderr.strip().removeprefix("consort-probe: "))
    if done.returncode != 0:
        killed = signal.Signals(-done.returncode).name if done.returncode < 0 else ""
        raise EnvironmentLacks(
            f"measuring failed: {done.stderr.strip() or killed}",
            "see what the program says, or use fewer CPUs",
        )
    report: dict[str, Any] = json.loads(done.stdout)
    return report
