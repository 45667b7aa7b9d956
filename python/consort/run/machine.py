# SPDX-License-Identifier: Apache-2.0
"""Setting this machine up for a run: which CPUs it gets, and which are left for everything else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from consort.base.cpus import usable_cpus
from consort.base.errors import BadInput
from consort.judge.disturbance import INTERRUPT, PREEMPTED, THROTTLED
from consort.machine.prepare import Prepared, prepared
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
