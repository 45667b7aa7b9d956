# SPDX-License-Identifier: Apache-2.0
"""``consort analyze``: bounds of a system description, held against its deadlines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput, Held, to_json
from consort.commands.options import NumberRange, echo_lines, on_option, on_target, print_json, verbose_option

if TYPE_CHECKING:
    from consort.analysis.advice import Advice
    from consort.analysis.mode_changes import ModeBounds
    from consort.analysis.result import Bound
    from consort.analysis.scaling import Sensitivity


_HOLDS = {Held.HELD: "yes", Held.NOT_HELD: "[red]no[/red]", Held.UNDECIDED: "not known"}
# Rows of one table, unless all are asked for.
ROWS = 200


@click.command(
    "analyze",
    epilog="Example: consort analyze system.yaml --explain brake",
    help="Bound the response time of each task of the system description FILE, and the reaction time and data"
    " age of its chains, and hold them against what FILE allows. Exit status 1: a deadline may be missed; 4:"
    " only a figure that nobody gave would tell.",
)
@click.argument("file", type=click.Path(path_type=Path))
@on_option
@click.option("--mode", help="Analyse the system as it is in this mode.")
@click.option("--explain", metavar="NAME", help="Show how the bound of this task or chain comes about.")
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="With --explain: draw it as a timeline.",
)
@click.option(
    "--all",
    "all_rows",
    is_flag=True,
    help=f"As -v, and every bound; -v shows at most {ROWS} of a kind: first what does not hold, then what is"
    " nearest to what is allowed.",
)
@click.option("--no-advice", is_flag=True, help="Do not search for changes that would make a bound hold.")
@click.option(
    "--advice-time",
    type=NumberRange(0, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to search for such changes at most.",
)
@click.option(
    "--sensitivity",
    "scaled",
    type=click.Choice(["wcet", "clock", "bandwidth", "scratchpad", "all"]),
    help="Search too for the largest factor of execution times, or the smallest of clocks, bandwidths and"
    " scratchpads, with which every bound holds: of all together, and of each.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path),
    metavar="OUT.v",
    help="Write the bounds of tasks under preemptive fixed priorities as theorems, and let Coq check them.",
)
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print bounds, assumptions and explanations as JSON.")
def command(
    file: Path,
    on: str | None,
    mode: str | None,
    explain: str | None,
    svg: Path | None,
    all_rows: bool,
    no_advice: bool,
    advice_time: float,
    scaled: str | None,
    certificate: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    from consort.analysis.advice import advise
    from consort.analysis.lacking import held_in_modes, lacking_in_modes
    from consort.analysis.mode_changes import analyze_modes
    from consort.base.waiting import progress_bar
    from consort.commands.bounds_brief import brief_of_bounds
    from consort.model import load_system
    from consort.model.rules import filling
    from consort.plan import chosen_mode

    if svg is not None and explain is None:
        raise BadInput("--svg draws the explanation of one bound; name it with --explain", field="--svg")
    verbose = verbose or all_rows
    system = load_system(file, on)
    changes = mode is None and system.mode_changes is not None
    if changes and scaled is not None:
        raise BadInput("figures are scaled in one mode; name it with --mode", field="--sensitivity")
    if changes and certificate is not None:
        raise BadInput("bounds are certified in one mode; name it with --mode", field="--certificate")
    if changes and svg is not None:
        raise BadInput("--svg draws a bound of one mode; name it with --mode", field="--svg")
    found = analyze_modes(system, mode)
    system = chosen_mode(system, mode)
    answer = held_in_modes(found)
    warnings = list(filling(system, system.document))
    chosen = _named(found.every, explain, file) if explain is not None else []
    if svg is not None:
        _draw(chosen[0], svg)
    if explain is not None and not as_json:
        _explain(chosen)
    elif verbose and not as_json:
        _tables(found, all_rows)
    certified = None if certificate is None else _certify(found, certificate, file, as_json)
    advice: list[Advice] = []
    if not answer and explain is None and not no_advice and not changes:
        # The bounds stand before the search begins.
        sys.stdout.flush()
        with progress_bar(as_json) as progress:
            advice = advise(system, progress=progress, before=found.every, seconds=advice_time)
    factors: list[Sensitivity] = []
    if scaled is not None:
        from consort.analysis.scaling import SEARCHED, sensitivity

        sys.stdout.flush()
        with progress_bar(as_json) as progress:
            factors = sensitivity(system, list(SEARCHED) if scaled == "all" else [scaled], progress=progress)
    for warning in () if as_json else warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        result = _as_object(system.name or file.stem, answer, found, advice)
        result["warnings"] = to_json(warnings)
        if scaled is not None:
            result["sensitivity"] = [one.to_json() for one in factors]
        if certified is not None:
            result["certificate"] = certified
        print_json(result)
    if not as_json:
        if verbose:
            echo_lines(line for one in advice for line in one.lines())
        if explain is None:
            if verbose and changes and not found.schedulable:
                click.echo("--mode MODE searches for changes that would make a mode's bounds hold")
            if verbose:
                click.echo()
            every = {**found.modes, "changes of mode": found.changes, "fail-over": found.gaps}
            lacking = lacking_in_modes(found)
            echo_lines(brief_of_bounds(every, answer, on_target(file, on), advice, lacking).lines())
        echo_lines(factor.line() for factor in factors)
    if not answer:
        sys.exit(answer.exit_status)


def _certify(found: ModeBounds, out: Path, file: Path, as_json: bool) -> dict[str, Any]:
    """Writes and checks the certificate; gives the theorems' subjects and those without."""
    from consort.analysis.certificate import certificate_of, check

    ((mode, planned),) = found.plans.items()
    made = certificate_of(planned, found.modes[mode])
    if not made.claims:
        reasons = "; ".join(f"{name}: {why}" for name, why in made.refused.items())
        raise BadInput(f"no bound can be certified: {reasons}", file=file, field="--certificate")
    _write(out, made.text)
    version = check(out, len(made.claims))
    if not as_json:
        click.echo(f"{out}: the bounds of {', '.join(made.claims)} are proven, checked by Coq {version}")
        for name, why in made.refused.items():
            click.echo(f"not certified: {name}: {why}")
    return {
        "file": str(out),
        "checked_by": f"Coq {version}",
        "proven_ps": made.claims,
        "not_certified": made.refused,
    }


def _named(bounds: Sequence[Bound], name: str, file: Path) -> list[Bound]:
    from consort.base.errors import nearest

    found = [bound for bound in bounds if bound.task == name]
    if not found:
        names = list(dict.fromkeys(bound.task for bound in bounds))
        raise BadInput(
            f"nothing is called {name!r}; {nearest(name, names, 'tasks and chains')}",
            file=file,
            field="--explain",
        )
    return found


def _as_object(name: str, answer: Held, found: ModeBounds, advice: Sequence[Advice]) -> dict[str, Any]:
    result: dict[str, Any] = {"system": name, "held": answer, "schedulable": found.schedulable}
    if found.given is not None:
        return {
            **result,
            "modes": [
                {
                    "mode": mode,
                    "schedulable": all(bound.schedulable for bound in bounds),
                    "bounds": [bound.to_json() for bound in bounds],
                }
                for mode, bounds in found.modes.items()
            ],
            "changes": [bound.to_json() for bound in found.changes],
            "fail_over": [bound.to_json() for bound in found.gaps],
        }
    return {
        **result,
        "bounds": [bound.to_json() for bound in found.every],
        "advice": [
            {
                "task": one.bound.task,
                "kind": one.bound.kind,
                "complete": one.complete,
                "changes": [
                    {"kind": change.kind, "text": change.text, "mends_all": change.mends_all}
                    for change in one.changes
                ],
            }
            for one in advice
        ],
    }


def _tables(found: ModeBounds, all_rows: bool) -> None:
    """Prints the bounds of each mode that a system goes through, and of each change between two of them."""
    for mode, bounds in found.modes.items():
        if found.given is not None:
            click.echo(f"in the mode {mode}:")
        _table(bounds, all_rows)
    if found.given is not None:
        click.echo("changes of mode, from the request to the new mode's first releases:")
        _table(found.changes, all_rows)
    if found.gaps:
        click.echo("fail-over, from a core's last sign of life to the end of the first job elsewhere:")
        _table(found.gaps, all_rows)


def _table(bounds: Sequence[Bound], all_rows: bool) -> None:
    """Prints a table for each kind of bound, and the notes on the bounds in them."""
    from rich.console import Console
    from rich.table import Table

    from consort.analysis.result import in_words, kinds_of

    console = Console()
    console = console if console.is_terminal else Console(width=150)
    shown: list[Bound] = []
    for kind in dict.fromkeys(bound.kind for bound in bounds):
        of_kind = [bound for bound in bounds if bound.kind == kind]
        # Bounds that do not hold come first.
        if all_rows or len(of_kind) <= ROWS:
            of_kind.sort(key=lambda bound: bound.schedulable)
            left = []
        else:
            of_kind.sort(key=_room)
            of_kind, left = of_kind[:ROWS], of_kind[ROWS:]
        shown += of_kind
        table = Table(title=kind, title_justify="left")
        for head, side in (("core", "left"), ("name", "left"), ("at most", "right"), ("allowed", "right")):
            table.add_column(head, justify=side)  # type: ignore[arg-type]
        table.add_column("of allowed", justify="right")
        table.add_column("holds")
        table.add_column("rests on", overflow="fold")
        for bound in of_kind:
            response = "none" if bound.response is None else in_words(bound.response)
            allowed = "" if bound.deadline is None else in_words(bound.deadline)
            share = f"{bound.response / bound.deadline:.1%}" if bound.response and bound.deadline else ""
            verdict = _HOLDS[bound.held]
            figures = ", ".join(kinds_of(bound.figures))
            rests = f"missing: {', '.join(bound.missing)}" if bound.missing else figures
            table.add_row(bound.core, bound.task, response, allowed, share, verdict, rests)
        if not any(bound.core for bound in of_kind):
            table.columns.pop(0)
        console.print(table)
        if left:
            failing = sum(not bound.schedulable for bound in left)
            verdict = f"{failing} of them do not hold" if failing else "all of them hold"
            console.print(f"{len(left)} more rows, --all shows them: {verdict}", highlight=False)
    for bound in shown:
        for note in bound.notes:
            console.print(f"{bound.task}, {bound.kind}: {note}", markup=False, highlight=False)
    sources = dict.fromkeys(bound.source for bound in bounds)
    for source in sources:
        console.print(f"source: {source}", markup=False, highlight=False)
    console.print("--explain NAME shows how a bound comes about and what it rests on", highlight=False)


def _room(bound: Bound) -> tuple[bool, bool, float]:
    """Sorts what does not hold first, and then what is nearest to what is allowed."""
    if bound.slack is None or not bound.deadline:
        return bound.schedulable, True, 0.0
    return bound.schedulable, False, bound.slack / bound.deadline


def _explain(bounds: Sequence[Bound]) -> None:
    from rich.console import Console
    from rich.table import Table

    from consort.analysis.result import in_words

    console = Console()
    console = console if console.is_terminal else Console(width=150)
    for bound in bounds:
        console.print(bound.verdict(), highlight=False, markup=False)
        if bound.explanation:
            table = Table()
            for head, side in (("from", "right"), ("length", "right"), ("what", "left"), ("note", "left")):
                table.add_column(head, justify=side)  # type: ignore[arg-type]
            for step in bound.explanation:
                table.add_row(in_words(step.start), in_words(step.length), step.label, bound.note_of(step))
            console.print(table)
        for note in bound.notes:
            console.print(f"note: {note}", markup=False, highlight=False)
        for figure in bound.figures:
            source = f": {figure.source}" if figure.source else ", no source"
            line = f"rests on: {figure.place} = {figure.value}, {figure.kind}{source}"
            console.print(line, markup=False, highlight=False)
        for assumption in bound.assumptions:
            console.print(f"assumes: {assumption}", markup=False, highlight=False)
        console.print(f"source: {bound.source}", markup=False, highlight=False)


def _draw(bound: Bound, file: Path) -> None:
    from consort.report.draw.timeline import draw_bound

    try:
        text = draw_bound(bound)
    except ValueError as error:
        raise BadInput(str(error), field="--svg") from None
    _write(file, text)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=file) from None
