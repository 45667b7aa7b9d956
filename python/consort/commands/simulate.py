# SPDX-License-Identifier: Apache-2.0
"""``consort simulate``: run a description in exact simulated time, and record it like a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput
from consort.base.progress import progress_bar, silent
from consort.commands.options import echo_lines, on_option, on_target, root_option, verbose_option

if TYPE_CHECKING:
    from consort.analysis.result import Bound
    from consort.plan import Plan
    from consort.record.judgement import Held
    from consort.record.store import Run
    from consort.simulate.chains import ChainFigures, Chains
    from consort.simulate.engine import Report, Simulation
    from consort.simulate.modes import ModesSimulation


class DurationOption(click.ParamType):  # type: ignore[type-arg]
    """A duration with its unit, as in descriptions."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from consort.model import Duration
        from consort.model.textvalue import WrongValue

        if isinstance(value, int):
            return value
        try:
            picoseconds = Duration.parse(str(value)).picoseconds
        except WrongValue as error:
            self.fail(str(error), param, ctx)
        if picoseconds == 0:
            self.fail("more than 0 is needed", param, ctx)
        return picoseconds


@click.command("simulate", epilog="Example: consort simulate system.yaml --duration 10s --seed 1")
@click.argument("description", type=click.Path(path_type=Path))
@click.option(
    "--duration",
    type=DurationOption(),
    default="1s",
    show_default=True,
    help="For how long jobs are released.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), help="The seed of all random choices, instead of run.seed."
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs with this and the following seeds; the one closest to what a deadline or a chain allows, or"
    " furthest past it, is recorded.",
)
@click.option(
    "--execution",
    type=click.Choice(["uniform", "worst", "edges"]),
    default="uniform",
    show_default=True,
    help="Execution times: any between best and worst case, always the worst, or mostly one of the two.",
)
@click.option("--dense", is_flag=True, help="Sporadic releases as early as they may come.")
@click.option(
    "--worker-serves",
    type=click.Choice(["priority", "fifo"]),
    help="Which request a worker takes: of the most urgent task, as `consort run` does, or the oldest;"
    " without it as 'service' of the core says.",
)
@click.option(
    "--master-waits",
    type=click.Choice(["suspend", "spin"]),
    help="While a job is at a worker its master's core runs other jobs, or keeps looking for the answer;"
    " without it as 'wait' of the core says.",
)
@on_option
@click.option("--mode", help="A mode of the description; without it all tasks as they stand.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Write the whole trace for ui.perfetto.dev here."
)
@click.option(
    "--csv", "csv_folder", type=click.Path(path_type=Path), help="Write jobs.csv and slices.csv here."
)
@click.option("--no-record", is_flag=True, help="Write no run folder: only the figures.")
@click.option("--name", help="Name of the run; without it the description's folder.")
@root_option
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    description: Path,
    on: str | None,
    duration: int,
    seed: int | None,
    runs: int,
    execution: Any,
    dense: bool,
    worker_serves: Any,
    master_waits: Any,
    mode: str | None,
    trace: Path | None,
    csv_folder: Path | None,
    no_record: bool,
    name: str | None,
    root: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Simulate a system description exactly: every release, preemption, DMA slot and message.

    The same description, duration and seed give the same run everywhere. Responses, reaction times and data
    ages are held against the bounds of `consort analyze`. Exit status 1: a deadline was missed, a chain took
    longer than it is allowed to, a block came before the task that it releases allows, or something took
    longer than its bound, which is a defect of Consort. 4: of something nothing was seen, or a figure that
    bounds lack counts nothing here.
    """
    from consort.analysis.lacking import lacking_figures
    from consort.analysis.system import analyze_system
    from consort.model import load_system
    from consort.plan import plan
    from consort.simulate.build import prepare
    from consort.simulate.call import check_effort, check_size, run_with_changes, worst_seed
    from consort.simulate.chains import measure_chains, simulate_with_chains
    from consort.simulate.check import BoundExceeded, above_bounds
    from consort.simulate.engine import simulate

    described = load_system(description, on)
    seed = described.run.seed if seed is None else seed
    if no_record and (trace is not None or csv_folder is not None):
        raise BadInput("--no-record keeps no jobs; leave it out to write a trace or CSV")
    if mode is None and described.mode_changes is not None:
        if trace is not None or csv_folder is not None:
            option = "--csv" if trace is None else "--trace"
            raise BadInput("it is written of a run in one mode; name it with --mode", field=option)
        from consort.commands.simulate_modes import show_changes

        with _bar(as_json) as report, files_as_input():
            changed = run_with_changes(
                described,
                duration,
                seed,
                runs=runs,
                execution=execution,
                dense=dense,
                worker_serves=worker_serves,
                master_waits=master_waits,
                name=name,
                root=root,
                remedy="shorten --duration, or add --no-record",
                command=["consort", *sys.argv[1:]],
                record_it=not no_record,
                report=report,
            )
        if changed.run is not None:
            say_pages(changed.run)
        sys.exit(show_changes(changed, on_target(description, on), verbose, as_json).exit_status)
    planned = plan(described, "analysis", mode=mode)
    prepared = prepare(planned, dense=dense, discipline=worker_serves, waiting=master_waits)
    record_it = not no_record
    if record_it or planned.chains:
        # Chains are seen in recorded jobs only.
        remedy = "" if planned.chains else ", or add --no-record"
        check_size(planned, duration, f"shorten --duration{remedy}")
    check_effort([planned], duration, runs, "shorten --duration, or give fewer --runs")
    bounds = analyze_system(planned, waiting=master_waits, serving=worker_serves)
    lacking = lacking_figures(planned, bounds)
    chains: Chains = {}
    run: Run | None = None
    with _bar(as_json) as report:
        several = None
        if runs > 1 or no_record:
            several, chains = simulate_with_chains(
                prepared, duration, seed, runs=runs, choice=execution, report=report
            )
        if record_it:
            chosen = seed if several is None else worst_seed(several, chains)
            one = simulate(prepared, duration, chosen, choice=execution, trace=True, report=report)
            if several is None:
                chains = measure_chains(one)
            run = _record(one, several, bounds, name, root, trace, csv_folder)
            found = several or one
        else:
            assert several is not None
            found = several
    excesses = above_bounds(prepared, bounds, found, execution)
    late_chains = chains_above(chains, bounds)
    kept = all(chain.kept for chain in chains.values()) and not late_chains
    open_ = [*_unseen(found, chains), *lacking]
    ok = _held(found.misses == 0 and kept and not (excesses or found.early), open_, run)
    if as_json:
        exceeded = [str(excess) for excess in excesses] + late_chains
        click.echo(json.dumps(_json(found, chains, bounds, exceeded, run, ok, lacking), indent=1))
    else:
        if verbose:
            _print(found, chains, bounds, run, ok, lacking)
            click.echo()
        causes = [str(excess) for excess in excesses] + late_chains + found.early
        _print_brief(on_target(description, on), found, chains, bounds, run, ok, causes, lacking)
        for line in (*late_chains, *found.early):
            click.echo(line, err=True)
    if excesses:
        raise BoundExceeded(excesses)
    if not ok:
        sys.exit(ok.exit_status)


def _held(kept: bool, open_: list[str], run: Run | None) -> Held:
    """The one answer of the figures and of the record: what was never seen did not hold."""
    from consort.record.judgement import Held

    if not kept:
        return Held.NOT_HELD
    if run is not None:
        return Held(run.data["verdict"]["ok"])
    return Held.of((), open_)


def _unseen(found: Simulation, chains: Chains) -> list[str]:
    """The tasks and the chains of which nothing was seen."""
    tasks = [name for name, task in found.figures.items() if not task.jobs]
    return [*tasks, *(f"chain {name}" for name, chain in chains.items() if chain.unseen)]


def chains_above(chains: Chains, bounds: list[Bound]) -> list[str]:
    """The chains that took longer than their bounds."""
    from consort.model import Duration

    lines = []
    for bound in bounds:
        figures = chains.get(bound.task)
        if figures is None or bound.kind not in ("reaction time", "data age") or bound.response is None:
            continue
        seen = figures.reaction if bound.kind == "reaction time" else figures.age
        if seen is not None and seen > bound.response:
            lines.append(
                f"{bound.task}: simulated {bound.kind} {Duration(seen)} is above its bound"
                f" {Duration(bound.response)} ({bound.source})"
            )
    return lines


@contextmanager
def files_as_input() -> Iterator[None]:
    """Turns errors of files that cannot be written, which the user named, into `BadInput`."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{error.strerror or error}", file=error.filename) from None


def _record(
    one: Simulation,
    several: Simulation | None,
    bounds: list[Bound],
    name: str | None,
    root: Path | None,
    trace: Path | None,
    csv_folder: Path | None,
) -> Run:
    from consort.record.store import default_root
    from consort.report.trace import write
    from consort.simulate.call import run_name
    from consort.simulate.export import write_csv
    from consort.simulate.record import record

    with files_as_input():
        run = record(
            one,
            bounds,
            name=name or run_name(one.prepared.plan.file),
            root=root if root is not None else default_root(),
            command=["consort", *sys.argv[1:]],
            all_runs=several,
        )
        if trace is not None:
            write(run, trace, limit=None)
        if csv_folder is not None:
            write_csv(one, csv_folder)
    say_pages(run)
    return run


def say_pages(run: Run) -> None:
    """Tells of a large system, whose page is not written unasked, how to have it."""
    if not (run.path / "report.html").exists():
        line = f"consort: the page of so many tasks is written when asked for: consort report {run.path}"
        click.echo(line, err=True)


def json_head(
    found: Simulation | ModesSimulation, run: Run | None, ok: Held, lacking: Sequence[str]
) -> dict[str, Any]:
    """The output's part on the runs, with or without changes of mode."""
    return {
        "ok": ok,
        "run": None if run is None else run.data["id"],
        "path": None if run is None else str(run.path),
        "verdict": None if run is None else run.data["verdict"],
        "missing": list(lacking),
        "duration_ps": found.duration,
        "seed": found.seed,
        "runs": found.runs,
    }


def _json(
    found: Simulation,
    chains: Chains,
    bounds: list[Bound],
    exceeded: list[str],
    run: Run | None,
    ok: Held,
    lacking: Sequence[str],
) -> dict[str, Any]:
    return {
        **json_head(found, run, ok, lacking),
        "stopped_ps": found.stopped,
        "tasks": [figures.to_json() for figures in found.figures.values()],
        "chains": [chain.to_json() for chain in chains.values()],
        "bounds": [
            {"name": b.task, "kind": b.kind, "bound_ps": b.response, "provenance": "bound"} for b in bounds
        ],
        "above_bound": exceeded,
    }


def _print(
    found: Simulation,
    chains: Chains,
    bounds: list[Bound],
    run: Run | None,
    ok: Held,
    lacking: Sequence[str],
) -> None:
    from consort.report.terminal import files_of
    from consort.simulate.show import simulated_lines

    echo_lines(simulated_lines(found, chains, bounds))
    click.echo(_answer_of_one(found, chains, ok, lacking))
    echo_lines([] if run is None else files_of(run))


def answer(found: Simulation | ModesSimulation, ok: Held, open_: str, broken: str) -> str:
    """One line: what was simulated held, or what did not; `open_`: what was not seen, `broken`: what took
    too long beside tasks."""
    from consort.base.units import counted
    from consort.record.judgement import Held

    if found.misses:
        return counted(found.misses, "deadline miss", "deadline misses")
    if ok is Held.UNDECIDED:
        return f"undecided: {open_}"
    return "every deadline was met" if ok else broken


def open_of(unseen: str, lacking: Sequence[str]) -> str:
    """What is not known: what was not seen, and what for want of a figure."""
    from consort.analysis.lacking import named

    return "; ".join([unseen] * bool(unseen) + [named(lacking)] * bool(lacking))


def _answer_of_one(found: Simulation, chains: Chains, ok: Held, lacking: Sequence[str]) -> str:
    unseen = _unseen(found, chains)
    kept = all(chain.kept for chain in chains.values())
    broken = "the record says what did not hold" if kept else "a chain took too long"
    never = f"nothing was seen of {', '.join(unseen) or 'all of it'}" if unseen or not lacking else ""
    return answer(found, ok, open_of(never, lacking), broken)


def _print_brief(
    description: str,
    found: Simulation,
    chains: Chains,
    bounds: list[Bound],
    run: Run | None,
    ok: Held,
    causes: list[str],
    lacking: Sequence[str],
) -> None:
    from consort.simulate.show import brief_of_simulation

    cause = causes[0] if causes else cause_of([found], list(chains.values()), run, ok, lacking)
    verdict = f"{_answer_of_one(found, chains, ok, lacking)} ({span(found)})"
    following = following_command(description, [found.prepared.plan], run, ok, lacking)
    brief = brief_of_simulation({"": found}, {"": chains}, {"": bounds}, verdict, cause, following)
    echo_lines(brief.lines())


def span(found: Simulation | ModesSimulation) -> str:
    from consort.base.units import counted
    from consort.model import Duration

    return f"{counted(found.runs, 'run')} of {Duration(found.duration)}, from seed {found.seed}"


def cause_of(
    found: Sequence[Simulation],
    chains: Sequence[ChainFigures],
    run: Run | None,
    ok: Held,
    lacking: Sequence[str],
) -> str:
    """Why it did not hold; empty where it held."""
    from consort.base.units import counted
    from consort.record.judgement import Held

    if ok:
        return ""
    for task in (task for one in found for task in one.figures.values() if task.misses):
        kinds = ((task.unserved, "never served"), (task.held, "answered with the output before"))
        more = "".join(f", {count:,} of them {words}" for count, words in kinds if count)
        return (
            f"{task.task}: {counted(task.misses, 'deadline miss', 'deadline misses')} in"
            f" {counted(task.jobs, 'job')}{more}, with seed {task.seed}"
        )
    late = [chain for chain in chains if not chain.kept]
    if late:
        return f"{late[0].chain}: the longest took more than is allowed, with seed {late[0].seed}"
    if ok is Held.UNDECIDED and lacking:
        return "simulated time counts nothing for what nobody gave"
    reasons = [] if run is None else run.data["verdict"]["reasons"]
    return str(reasons[0]) if reasons else "what the verdict names was not seen in this time"


def following_command(
    description: str, plans: Iterable[Plan], run: Run | None, ok: Held, lacking: Sequence[str]
) -> str:
    from consort.analysis.lacking import remedies
    from consort.record.judgement import Held

    if ok:
        bare = any(plan.lacks_steps for plan in plans)
        how = "--stand-ins, as tasks have no step" if bare else "the steps themselves"
        return f"consort run {description} --for virtual{' ' if bare else ', '}{how}; -v prints every figure"
    if ok is Held.UNDECIDED and lacking:
        return remedies(lacking)
    if run is not None:
        return f"consort report {run.path} --open, which shows every job; -v prints every figure"
    return f"consort simulate {description} without --no-record: a report then shows every job"


@contextmanager
def _bar(quiet: bool) -> Iterator[Report | None]:
    """A bar on a terminal once a simulation has taken a while; nothing elsewhere."""
    with progress_bar(quiet) as show:
        # Without a terminal there is no progress to show: the simulation then runs in this thread.
        yield None if show is silent else lambda share: show("simulating", share)
