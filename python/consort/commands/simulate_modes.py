# SPDX-License-Identifier: Apache-2.0
"""``consort simulate`` of a description with `mode_changes`: each mode and each change against its bound."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from consort.analysis.mode_changes import ModeBounds, analyze_modes
from consort.analysis.result import in_words
from consort.commands.simulate import chains_above
from consort.model import System
from consort.record.store import Run, default_root
from consort.simulate.build import Discipline, Waiting
from consort.simulate.call import check_size, run_name, worst_seed_of_modes
from consort.simulate.chains import ChainFigures, measure_chains
from consort.simulate.engine import Choice, Report
from consort.simulate.mode_record import record_modes
from consort.simulate.modes import ModesSimulation, prepare_modes, simulate_modes
from consort.simulate.show import simulated_lines


def simulate_changes(
    system: System,
    duration: int,
    seed: int,
    *,
    runs: int,
    execution: Choice,
    dense: bool,
    worker_serves: Discipline | None,
    master_waits: Waiting | None,
    record_it: bool,
    name: str | None,
    root: Path | None,
    as_json: bool,
    report: Report | None,
) -> bool:
    """Simulates, records and prints; whether every deadline, chain and bound held."""
    prepared = prepare_modes(system, dense=dense, discipline=worker_serves, waiting=master_waits)
    if record_it:
        for made in prepared.modes.values():
            check_size(made.plan.system, duration, "shorten --duration, or add --no-record")
    bounds = analyze_modes(system, waiting=master_waits, serving=worker_serves)
    chains: dict[str, dict[str, ChainFigures]] = {}
    run: Run | None = None
    several = runs > 1 or not record_it
    if several:
        found = simulate_modes(prepared, bounds, duration, seed, runs=runs, choice=execution, report=report)
    if record_it:
        chosen = worst_seed_of_modes(found) if several else seed
        one = simulate_modes(prepared, bounds, duration, chosen, choice=execution, trace=True, report=report)
        found = found if several else one
        chains = _chains(one)
        run = record_modes(
            one,
            bounds,
            name=name or run_name(system),
            root=root if root is not None else default_root(),
            command=["consort", *sys.argv[1:]],
        )
    wrong = [*_above(found, bounds, chains)]
    ok = not (found.misses or wrong or any(not c.kept for of in chains.values() for c in of.values()))
    if as_json:
        click.echo(json.dumps(_json(found, chains, wrong, run, ok), indent=1))
    else:
        _print(found, bounds, chains, run, ok)
        for line in wrong:
            click.echo(line, err=True)
    return ok


def _chains(one: ModesSimulation) -> dict[str, dict[str, ChainFigures]]:
    """By mode, the longest that was seen of its chains; a chain that spans a change is of no mode."""
    found: dict[str, dict[str, ChainFigures]] = {}
    for segment in one.segments:
        jobs = segment.simulation.jobs
        if jobs is None or not jobs.size:
            continue
        for name, seen in measure_chains(segment.simulation).items():
            of_mode = found.setdefault(segment.mode, {})
            of_mode[name] = seen if name not in of_mode else of_mode[name].with_more(seen)
    return found


def _above(
    found: ModesSimulation, bounds: ModeBounds, chains: dict[str, dict[str, ChainFigures]]
) -> list[str]:
    """What took longer than its bound: a defect of Consort, or a figure that is wrong."""
    lines = []
    for mode, simulation in found.modes.items():
        for bound in bounds.modes[mode]:
            if bound.kind != "response time" or bound.response is None or not bound.schedulable:
                continue
            figures = simulation.figures[bound.task]
            seen = figures.max_response
            if seen is not None and seen > bound.response:
                lines.append(
                    f"{bound.task} in {mode}: simulated response {in_words(seen)} is above its bound"
                    f" {in_words(bound.response)} ({bound.source}); seed {figures.seed}"
                )
        lines += [f"in {mode}: {line}" for line in chains_above(chains.get(mode, {}), bounds.modes[mode])]
    for change in found.late_changes:
        assert change.bound is not None
        took = f"{in_words(change.latency)} after its request, above its bound {in_words(change.bound)}"
        lines.append(f"{change}: {took}")
    return lines


def _json(
    found: ModesSimulation,
    chains: dict[str, dict[str, ChainFigures]],
    wrong: list[str],
    run: Run | None,
    ok: bool,
) -> dict[str, Any]:
    return {
        "ok": ok,
        "run": None if run is None else run.data["id"],
        "path": None if run is None else str(run.path),
        "verdict": None if run is None else run.data["verdict"],
        "duration_ps": found.duration,
        "seed": found.seed,
        "runs": found.runs,
        "modes": [
            {
                "mode": mode,
                "tasks": [figures.to_json() for figures in simulation.figures.values()],
                "chains": [chain.to_json() for chain in chains.get(mode, {}).values()],
            }
            for mode, simulation in found.modes.items()
        ],
        "changes": [change.to_json() for change in found.changes],
        "above_bound": wrong,
    }


def _print(
    found: ModesSimulation,
    bounds: ModeBounds,
    chains: dict[str, dict[str, ChainFigures]],
    run: Run | None,
    ok: bool,
) -> None:
    for mode, simulation in found.modes.items():
        click.echo(f"in the mode {mode}:")
        for line in simulated_lines(simulation, chains.get(mode, {}), bounds.modes[mode]):
            click.echo(line)
    what = "changes of mode" if found.runs == 1 else "slowest change of mode of each kind"
    click.echo(f"{what}:" if found.changes else "no change of mode was asked for in this time")
    for change in found.changes:
        bound = "none" if change.bound is None else in_words(change.bound)
        click.echo(f"  {change.old} -> {change.new}")
        idle = in_words(change.drained - change.requested)
        click.echo(f"    requested at {in_words(change.requested)}, idle {idle} later")
        click.echo(f"    released after {in_words(change.latency)}, bound {bound}")
    if found.misses:
        click.echo(f"{found.misses} deadline misses")
    else:
        click.echo("every deadline was met" if ok else "a chain or a change of mode took too long")
    if run is not None:
        click.echo(f"report: {run.path / 'report.html'}")
