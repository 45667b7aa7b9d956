# SPDX-License-Identifier: Apache-2.0
"""What a program in virtual time gets beside the configuration: how long everything takes, and the seed.

It is made of the same engine system as a simulation of the plan, so that the two mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consort import _engine
from consort.errors import BadInput
from consort.plan import ModePlans, Plan
from consort.simulate.build import Prepared, prepare
from consort.simulate.engine import ARRIVAL, Choice
from consort.simulate.modes import engine_system

# As in the simulator: nothing is rounded.
TICKS_PER_SECOND = 10**12
# Execution times lie anywhere between best and worst.
EXECUTION: Choice = "uniform"


def prepare_virtual(plan: Plan, layouts: Mapping[str, Any], time_scale: int = 1) -> Prepared:
    """The engine's system of a plan as its program executes it; `layouts` as the program describes them."""
    keeps = [known["name"] for known in layouts["tasks"] if known["state"]["bytes"]]
    return prepare(plan, skips=True, keeps=keeps, time_scale=time_scale)


def virtual_time(
    plan: Plan, layouts: Mapping[str, Any], duration_ps: int, time_scale: int = 1
) -> dict[str, Any]:
    """The key `virtual_time` of a configuration; `BadInput` for what virtual time has not."""
    prepared = prepare_virtual(plan, layouts, time_scale)
    return {"ticks_per_second": TICKS_PER_SECOND, **_system(plan, prepared.engine, duration_ps * time_scale)}


def virtual_time_in_modes(
    plans: ModePlans, layouts: Mapping[str, Any], duration_ps: int, time_scale: int = 1
) -> dict[str, Any]:
    """The same of a run that goes from mode to mode: a system for each, of the same cores and tasks."""
    whole, duration = plans.whole, duration_ps * time_scale
    tasks, cores, names = list(whole.tasks), list(whole.cores), list(plans.modes)
    modes = []
    for made in plans.modes.values():
        prepared = prepare_virtual(made, layouts, time_scale)
        modes.append(_system(whole, engine_system(made, prepared, tasks, cores), duration))
    settings = {key: modes[0][key] for key in ("duration", "seed", "execution", "arrival")}
    changes = whole.changes
    assert changes is not None
    return {
        "ticks_per_second": TICKS_PER_SECOND,
        **settings,
        "modes": modes,
        "first": names.index(changes.start),
        "agreement": changes.agreement_ps * time_scale,
        "requests": [{"at": at * time_scale, "to": names.index(to)} for at, to in changes.requests],
    }


def _system(plan: Plan, engine: _engine.SimSystem, duration: int) -> dict[str, Any]:
    try:
        return _engine.sim_virtual_system(engine, duration, plan.run.seed, EXECUTION, ARRIVAL)
    except ValueError as error:
        raise BadInput(f"in virtual time: {error}", file=plan.system.file) from None
