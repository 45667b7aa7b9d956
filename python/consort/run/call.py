# SPDX-License-Identifier: Apache-2.0
"""`consort.run(system)`: a run from a script or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from consort.errors import BadInput
from consort.judge.verdict import UNDECIDED_ABOVE
from consort.model import Configuration, Duration, System
from consort.model.textvalue import WrongValue
from consort.progress import Progress, silent
from consort.record import Run
from consort.run.application import prepare
from consort.run.flow import run_system
from consort.run.options import Options


def run(
    system: System,
    *,
    target: Literal["linux", "virtual"] = "linux",
    seed: int | None = None,
    iterations: int | None = None,
    duration: str | Duration | None = None,
    configurations: Sequence[Configuration] | None = None,
    mode: str | None = None,
    stand_ins: bool = False,
    time_scale: int = 1,
    time_base: Literal["spin", "sleep", "hybrid"] | None = None,
    realtime: bool = True,
    undecided_above: float = UNDECIDED_ABOVE,
    name: str | None = None,
    root: str | Path | None = None,
    progress: Progress = silent,
) -> Run:
    """Runs a system on this machine and blocks until it is recorded and judged, as `consort run` does.

    It builds and executes the code that the description names. `target` "virtual" executes it under a clock
    of its own, where the same `seed` (without it: run.seed) gives the same record. `iterations` are jobs of
    the first task, `duration` ("10s") is how long jobs are released, in this machine's time; without both
    the description says it. `configurations` are those to run, without it all that are possible.
    `time_scale` stretches all times, so that cores can share CPUs; `realtime=False` stays in the ordinary
    scheduling class. The run folder is made under `root` ($CONSORT_RUNS, or `runs`).

    Whether the system held is `run.held`: "held", "not held" or "undecided". `undecided_above` is the share
    of a task's jobs, 0 to 1, that the machine may disturb before nothing is known of it. `BadInput` where
    the description cannot be run as it is, `EnvironmentLacks` where this machine cannot run it, `SystemFails`
    where nothing could be recorded.
    """
    if target == "virtual" and time_base is not None:
        raise BadInput("in virtual time nothing waits; leave it out", field="time_base")
    if seed is not None and not 0 <= seed < 2**64:
        raise BadInput(f"{seed} is no seed; 0 to {2**64 - 1} are", field="seed")
    if iterations is not None and duration is not None:
        raise BadInput("'iterations' says how long already; give one of the two", field="duration")
    if iterations is not None and not 0 < iterations < 2**32:
        raise BadInput(f"{iterations} jobs cannot be run; 1 to {2**32 - 1} can", field="iterations")
    if not 0 < time_scale <= 10_000:
        raise BadInput(f"times cannot be stretched by {time_scale}; by 1 to 10000", field="time_scale")
    if not 0 <= undecided_above <= 1:
        raise BadInput(f"{undecided_above} is no share; 0 to 1 are", field="undecided_above")
    options = Options(
        target=target,
        seed=seed,
        iterations=iterations,
        duration_ps=None if duration is None else _picoseconds(duration),
        configurations=configurations or None,
        time_base=time_base,
        time_scale=time_scale,
        realtime=realtime,
        undecided_above=undecided_above,
        stand_ins=stand_ins,
        mode=mode,
        name=name,
        root=None if root is None else Path(root),
    )
    return run_system(prepare(system, progress, options), options, progress)


def _picoseconds(duration: str | Duration) -> int:
    try:
        found = duration if isinstance(duration, Duration) else Duration.parse(duration)
    except WrongValue as error:
        raise BadInput(str(error), field="duration") from None
    if found.picoseconds == 0:
        raise BadInput("jobs are released for more than 0s", field="duration")
    return found.picoseconds
