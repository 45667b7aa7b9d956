# SPDX-License-Identifier: Apache-2.0
"""Reaction times and data ages of a simulation that changes its mode, by mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from consort.analysis.mode_changes import ModeBounds
from consort.simulate.chains import Chains, measure_chains
from consort.simulate.engine import Choice, Report, repeated
from consort.simulate.modes import ModesSimulation, PreparedModes, simulate_modes, together


def chains_of_modes(one: ModesSimulation) -> dict[str, Chains]:
    """The longest times of the chains in each mode, of a run with a trace; a time that spans a change is in
    no mode."""
    found: dict[str, Chains] = {}
    for segment in one.segments:
        jobs = segment.simulation.jobs
        if jobs is not None and jobs.size:
            _add(found, {segment.mode: measure_chains(segment.simulation)})
    return found


def _add(found: dict[str, Chains], more: Mapping[str, Chains]) -> None:
    for mode, chains in more.items():
        of_mode = found.setdefault(mode, {})
        for name, seen in chains.items():
            of_mode[name] = seen if name not in of_mode else of_mode[name].with_more(seen)


def simulate_modes_with_chains(
    prepared: PreparedModes,
    bounds: ModeBounds | None,
    duration: int,
    seed: int = 1,
    *,
    runs: int = 1,
    choice: Choice = "uniform",
    report: Report | None = None,
) -> tuple[ModesSimulation, dict[str, Chains]]:
    """Simulates as `simulate_modes`, without a trace, and gives the chains' figures of all runs, too."""
    if not any(made.plan.chains for made in prepared.modes.values()):
        return (
            simulate_modes(prepared, bounds, duration, seed, runs=runs, choice=choice, report=report),
            {},
        )
    chains: dict[str, Chains] = {}

    def single(seed: int, share: Report | None) -> ModesSimulation:
        one = simulate_modes(prepared, bounds, duration, seed, choice=choice, trace=True, report=share)
        _add(chains, chains_of_modes(one))
        return replace(one, segments=[])

    return repeated(single, together, seed, runs=runs, trace=False, report=report), chains
