# SPDX-License-Identifier: Apache-2.0
"""The limits that a run is held to: the bounds of its plan, and the maxima of a simulation beside them."""

from __future__ import annotations

from consort.analysis.fail_over import executions
from consort.analysis.lacking import lacking_figures
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.judge import Bounds
from consort.plan import Plan
from consort.simulate.limits import simulated_limits


def bounds_of(made: Plan) -> Bounds:
    """The bounds of a plan, in its own time; none for a plan that cannot be analysed, and the run says so."""
    # On this machine the execution of a step is timed without its checkpoint, and with its faults.
    alone = {name: task.computes_ps for name, task in made.tasks.items()}
    wcets = executions(made) if made.target == "virtual" else alone
    try:
        found = analyze_system(made)
    except BadInput:
        found = []
    lacking = lacking_figures(made, found)
    states = {name: task.remote_state for name, task in made.tasks.items() if task.remote_state is not None}
    faults = {name: state.faults for name, state in states.items() if state.faults is not None}
    simulated = simulated_limits(made)
    return Bounds.of(found, wcets_ps=wcets, simulated=simulated, faults=faults, lacking=lacking)
