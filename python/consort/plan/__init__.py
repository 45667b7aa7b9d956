# SPDX-License-Identifier: Apache-2.0
"""The plan: a description laid out on a target. Analysis, simulation and runs all take it."""

from consort.base.packages import make_callable
from consort.plan.in_modes import row_ps
from consort.plan.make import ModePlans, Place, chosen_mode, plan, plan_in_modes, plan_of, problems_of
from consort.plan.targets import TARGETS, Target, target_named
from consort.plan.types import (
    Binding,
    Plan,
    PlannedAsker,
    PlannedChain,
    PlannedChannel,
    PlannedCore,
    PlannedDevice,
    PlannedFootprint,
    PlannedRun,
    PlannedTask,
    Slot,
    Source,
)

__all__ = [
    "TARGETS",
    "Binding",
    "ModePlans",
    "Place",
    "Plan",
    "PlannedAsker",
    "PlannedChain",
    "PlannedChannel",
    "PlannedCore",
    "PlannedDevice",
    "PlannedFootprint",
    "PlannedRun",
    "PlannedTask",
    "Slot",
    "Source",
    "Target",
    "chosen_mode",
    "plan",
    "plan_in_modes",
    "plan_of",
    "problems_of",
    "row_ps",
    "target_named",
]

make_callable(__name__, "consort.plan.make", "plan")
