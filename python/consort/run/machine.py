# SPDX-License-Identifier: Apache-2.0
"""Setting this machine up for a run: which CPUs it gets, and which are left for everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from consort.base.environment import usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks
from consort.judge.disturbance import INTERRUPT, PREEMPTED, THROTTLED
from consort.judge.samples import Stops, stops_of
from consort.machine.prepare import Prepared, prepared
from consort.machine.probe import measure
from consort.plan import Plan
from consort.run.options import Options, duration_of

# Of all that can disturb a job, the causes that the settings of `--prepare` keep away.
KEPT_AWAY = (INTERRUPT, PREEMPTED, THROTTLED)


@contextmanager
def prepared_machine(made: Plan, options: Options) -> Iterator[Prepared]:
    """Sets the machine up while the block runs, and restores it however the block ends."""
    usable = usable_cpus()
    wanted = len(made.cores) + bool(made.three_phase_cores)
    cpus, housekeeping = usable[:wanted], usable[wanted:]
    if not housekeeping and made.run.time_base == "spin":
        raise BadInput(
            "the run uses every CPU and its cores never sleep: with the kernel's limit on real-time time"
            " lifted nothing else of the machine would run; write 'hybrid' or 'sleep'",
            file=made.file,
            field="run.time_base",
        )
    seconds = duration_of(made, options) * options.time_scale / 1e12
    configurations = len(options.configurations or made.run.configurations)
    with prepared(cpus, housekeeping, limit_s=configurations * (3 * seconds + 120)) as found:
        yield found


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
