# SPDX-License-Identifier: Apache-2.0
"""`consort.run(system)`: a run from a script or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal, get_args

from consort.base import arguments
from consort.base.errors import BadInput
from consort.base.waiting import Progress, silent
from consort.model import Configuration, Duration, System
from consort.plan.make import released_for
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
    undecided_above: float = Options.undecided_above,
    name: str | None = None,
    root: str | PathLike[str] | None = None,
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
    arguments.instance("system", system, System, "consort.load(path) makes one")
    arguments.callback("progress", progress)
    target = arguments.one_of("target", target, ("linux", "virtual"))
    if time_base is not None:
        time_base = arguments.one_of("time_base", time_base, ("spin", "sleep", "hybrid"))
    if target == "virtual" and time_base is not None:
        raise BadInput("in virtual time nothing waits; leave it out", field="time_base")
    seed = None if seed is None else arguments.seed(seed)
    if iterations is not None and duration is not None:
        raise BadInput("'iterations' says how long already; give one of the two", field="duration")
    if iterations is not None:
        iterations = arguments.whole("iterations", iterations, 1, 2**32 - 1)
    time_scale = arguments.whole("time_scale", time_scale, 1, 10_000)
    undecided_above = arguments.number("undecided_above", undecided_above, 0, 1)
    if configurations is not None:
        known, wanted = get_args(Configuration), arguments.several("configurations", configurations)
        configurations = [arguments.one_of("configurations", one, known) for one in wanted]
    options = Options(
        target=target,
        seed=seed,
        iterations=iterations,
        duration_ps=None if duration is None else released_for(duration).picoseconds,
        configurations=configurations or None,
        time_base=time_base,
        time_scale=time_scale,
        realtime=arguments.flag("realtime", realtime),
        undecided_above=undecided_above,
        stand_ins=arguments.flag("stand_ins", stand_ins),
        mode=None if mode is None else arguments.text("mode", mode),
        name=None if name is None else arguments.text("name", name),
        root=arguments.path("root", root),
    )
    return run_system(prepare(system, progress, options), options, progress)
