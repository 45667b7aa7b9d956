# SPDX-License-Identifier: Apache-2.0
"""``consort simulate`` of a description with `mode_changes`: each mode and each change against its bound."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from consort.commands.options import echo_lines
from consort.commands.simulate import (
    answer,
    cause_of,
    chains_above,
    following_command,
    json_head,
    open_of,
    span,
)

if TYPE_CHECKING:
    from consort.analysis.mode_changes import ModeBounds
    from consort.record.judgement import Held
    from consort.record.store import Run
    from consort.simulate.call import Changed
    from consort.simulate.chains import Chains
    from consort.simulate.modes import ModesSimulation


def show_changes(changed: Changed, description: str, verbose: bool, as_json: bool) -> Held:
    """Prints what was simulated; whether every deadline, chain and bound held, as the record says, too."""
    from consort.analysis.lacking import lacking_in_modes
    from consort.record.judgement import Held

    found, bounds, run = changed.found, changed.bounds, changed.run
    chains = changed.chains
    wrong = _above(found, bounds, chains)
    lacking = lacking_in_modes(bounds)
    late = bool(wrong) or any(not one.kept for of in chains.values() for one in of.values())
    ok = Held.NOT_HELD if found.misses or late else Held.of((), [*_unseen(found, chains), *lacking])
    if ok is not Held.NOT_HELD and run is not None:
        ok = Held(run.data["verdict"]["ok"])
    if as_json:
        click.echo(json.dumps(_json(found, chains, wrong, run, ok, lacking), indent=1))
    else:
        if verbose:
            _print(found, bounds, chains, run, ok, lacking)
            click.echo()
        _print_brief(changed, description, ok, wrong, lacking)
        for line in wrong:
            click.echo(line, err=True)
    return ok


def _print_brief(
    changed: Changed, description: str, ok: Held, wrong: list[str], lacking: Sequence[str]
) -> None:
    from consort.base.units import counted
    from consort.simulate.show import brief_of_simulation

    found = changed.found
    chains = [chain for of in changed.chains.values() for chain in of.values()]
    cause = wrong[0] if wrong else cause_of(list(found.modes.values()), chains, changed.run, ok, lacking)
    changes = counted(len(found.changes), "change of mode", "changes of mode")
    brief = brief_of_simulation(
        found.modes,
        changed.chains,
        changed.bounds.modes,
        f"{_answer(found, changed.chains, ok, lacking)} ({span(found)}, {changes})",
        cause,
        following_command(
            description, [one.prepared.plan for one in found.modes.values()], changed.run, ok, lacking
        ),
    )
    echo_lines(brief.lines())


def _above(found: ModesSimulation, bounds: ModeBounds, chains: Mapping[str, Chains]) -> list[str]:
    """Times above their bounds: a defect of Consort, or a figure that is wrong."""
    from consort.simulate.check import excesses_of

    lines = []
    for mode, simulation in found.modes.items():
        lines += [f"in {mode}: {excess}" for excess in excesses_of(bounds.modes[mode], simulation)]
        lines += [f"in {mode}: {line}" for line in chains_above(chains.get(mode, {}), bounds.modes[mode])]
    lines += [change.excess for change in found.late_changes]
    return lines


def _json(
    found: ModesSimulation,
    chains: Mapping[str, Chains],
    wrong: list[str],
    run: Run | None,
    ok: Held,
    lacking: Sequence[str],
) -> dict[str, Any]:
    return {
        **json_head(found, run, ok, lacking),
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
    chains: Mapping[str, Chains],
    run: Run | None,
    ok: Held,
    lacking: Sequence[str],
) -> None:
    from consort.analysis.result import in_words
    from consort.simulate.show import simulated_lines

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
    click.echo(_answer(found, chains, ok, lacking))
    if run is not None:
        from consort.report.terminal import files_of

        click.echo("\n".join(files_of(run)))


def _unseen(found: ModesSimulation, chains: Mapping[str, Chains]) -> list[str]:
    """The requests, tasks and chains that no run shows."""
    never = [
        f"nothing was seen of chain {name} in mode {mode}"
        for mode, some in chains.items()
        for name, chain in some.items()
        if chain.unseen
    ]
    return [*found.unseen, *never]


def _answer(found: ModesSimulation, chains: Mapping[str, Chains], ok: Held, lacking: Sequence[str]) -> str:
    open_ = open_of("; ".join(_unseen(found, chains)), lacking) or "the record says what was not seen"
    return answer(found, ok, open_, "a chain or a change of mode took too long")
