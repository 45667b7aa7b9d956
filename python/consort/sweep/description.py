# SPDX-License-Identifier: Apache-2.0
"""The figures of a changed description: its bounds, a simulation, its sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consort.analysis.lacking import held, lacking_figures
from consort.analysis.system import analyze_system
from consort.base.errors import Held
from consort.model import BadDescription, System
from consort.plan import plan_of
from consort.sweep.cells import Cells, Row
from consort.sweep.load import changed
from consort.sweep.model import FIGURES

if TYPE_CHECKING:
    from consort.simulate.chains import Chains
    from consort.simulate.engine import Simulation

_COLUMNS = tuple(figure.name for figure in FIGURES["description"])


def describe(cells: Cells, analysis: str, changes: dict[str, Any], seed: int) -> list[Row]:
    """One row for each bound, simulated task or factor; a first one for the system."""
    try:
        system = changed(cells.system, changes)
        if analysis == "bounds":
            return bounds(system)
        if analysis == "simulation":
            return simulation(system, cells.spec["simulate"], seed)
        from consort.analysis.sensitivity import sensitivity

        return [
            _row(name=one.of or "", kind=one.kind, factor=one.factor, note=one.note)
            for one in sensitivity(system)
        ]
    except BadDescription as error:
        first = error.problems[0]
        return [_row(name="", kind="system", holds=False, note=f"{first.field}: {first.message}")]


def bounds(system: System) -> list[Row]:
    found = analyze_system(system)
    rows = [_row(name="", kind="system", holds=_shown(held(system, found)))]
    for one in found:
        rows.append(
            _row(
                name=one.task,
                kind=one.kind,
                core=one.core or None,
                bound_ps=one.response,
                allowed_ps=one.deadline,
                holds=_shown(one.held),
                note="; ".join(one.notes) if one.response is None else None,
            )
        )
    return rows


def _shown(answer: Held) -> bool | None:
    return None if answer is Held.UNDECIDED else bool(answer)


def simulation(system: System, how: dict[str, Any], seed: int) -> list[Row]:
    from consort.simulate.build import prepare
    from consort.simulate.chains import simulate_with_chains

    found, chains = simulate_with_chains(
        prepare(system, dense=how["dense"]),
        how["duration"],
        seed,
        runs=how["runs"],
        choice=how["execution"],
    )
    limits = analyze_system(system)
    lacking = {(one.task, one.kind) for one in limits if one.missing}
    rows = [
        _row(
            name="",
            kind="system",
            holds=_holds(found, chains, bool(lacking_figures(plan_of(system), limits))),
            jobs=sum(f.jobs for f in found.figures.values()),
            misses=found.misses,
        )
    ]
    for one in found.figures.values():
        rows.append(
            _row(
                name=one.task,
                kind="response time",
                core=one.core,
                allowed_ps=one.deadline,
                holds=_seen(one.misses == 0 if one.jobs else None, (one.task, "response time") in lacking),
                simulated_ps=one.max_response,
                jobs=one.jobs,
                misses=one.misses,
            )
        )
    for chain in chains.values():
        for kind, seen, allowed in (
            ("reaction time", chain.reaction, chain.allowed_reaction),
            ("data age", chain.age, chain.allowed_age),
        ):
            if seen is None and allowed is None:
                continue
            kept = None if seen is None else allowed is None or seen <= allowed
            holds = _seen(kept, (chain.chain, kind) in lacking)
            rows.append(_row(name=chain.chain, kind=kind, allowed_ps=allowed, holds=holds, simulated_ps=seen))
    return rows


def _seen(held: bool | None, lacking: bool) -> bool | None:
    """Nothing is known to hold for which a figure is missing."""
    return None if held and lacking else held


def _holds(found: Simulation, chains: Chains, lacking: bool) -> bool | None:
    """The verdict of `consort simulate`; None where one of them was never seen, or a figure is missing."""
    if found.misses or found.early or not all(chain.kept for chain in chains.values()):
        return False
    unseen = any(chain.unseen for chain in chains.values())
    return None if lacking or unseen or any(not task.jobs for task in found.figures.values()) else True


def _row(**figures: Any) -> Row:
    return tuple(figures.get(name) for name in _COLUMNS)
