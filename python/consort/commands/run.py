# SPDX-License-Identifier: Apache-2.0
"""``consort run``: runs a system description, records every job and judges it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from consort.base.errors import BadInput
from consort.base.waiting import Progress, progress_bar, signals_to_exceptions
from consort.commands.options import (
    ChoiceOf,
    NumberRange,
    echo_lines,
    on_target,
    print_json,
    root_option,
    verbose_option,
)

if TYPE_CHECKING:
    from consort.model import System
    from consort.record import Run
    from consort.run import Options
    from consort.run.config import LinkFault
    from consort.run.debug import Debugger
    from consort.run.flow import Prepared
    from consort.run.options import CoreFault

RUNNABLE = ("linux", "virtual")


@dataclass(frozen=True)
class Runner:
    """A target: how it is prepared, and the options it rejects, with reasons."""

    target: str
    prepare: Callable[[System, Progress, Options], Prepared]
    refused: Mapping[str, str]

    def refuse(self, given: Mapping[str, Any]) -> None:
        """Raises `BadInput` if an option is given that the target rejects."""
        for option, reason in self.refused.items():
            value = given[option]
            # A seed of 0 is given.
            if value is not None and value is not False and value not in ((), DEFAULTS.get(option)):
                name = f"--{NAMES.get(option, option.replace('_', '-'))}"
                raise BadInput(reason, field=name)
        if given["duration"] is not None and given["iterations"] is not None:
            raise BadInput("--iterations says how long already", field="--duration")
        twice = sorted({one for one in given["only"] if given["only"].count(one) > 1})
        if twice:
            raise BadInput(f"{twice[0]} is given twice; each is run once, remove one of them", field="--only")


# Names of options that are not those of their variables, and defaults of options.
NAMES = {"target": "for", "prepares": "prepare", "kill_cores": "kill-core", "stop_cores": "stop-core",
         "link_faults": "link-fault"}  # fmt: skip
DEFAULTS: dict[str, Any] = {"time_scale": 1, "target": RUNNABLE[0]}
NO_BOARD = {"counted": "only boards count instructions", "rt_linux": "only boards have a worker's core"}
# Choices of this machine's own clock, kernel and processes.
OF_THIS_MACHINE = {
    "time_base": "in virtual time nothing waits; leave it out",
    "prepares": "in virtual time nothing of this machine is waited for; leave it out",
    "kill_worker_at": "in virtual time no process computes for another; leave it out",
    "stop_worker_for": "in virtual time no process computes for another; leave it out",
    "kill_cores": "in virtual time no core dies; leave it out",
    "stop_cores": "in virtual time no core dies; leave it out",
    "link_faults": "in virtual time no engine fails; leave it out",
    "remote": "in virtual time no page is brought from anywhere; leave it out",
    "ordinary": "in virtual time no thread has a priority; leave it out",
}
OF_HOST_RUNS = (*OF_THIS_MACHINE, "target", "seed", "only", "mode", "stand_ins", "time_scale", "sanitize",
                "debug")  # fmt: skip


def _replaced(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise BadInput(f"boards are named by --on, as targets are; write --on {value}", field="--board")


def _loaded(description: Path, on: str | None, stand_ins: bool) -> tuple[System, str | None]:
    """The system, and the board that `--on` names for its scratchpad kernel; a target of that name goes
    before it.

    Stand-ins on the system's own board are the executive's: the kernel moves steps.
    """
    from consort.base.errors import BadDescription
    from consort.board.boards import kernel_boards
    from consort.model import load_system

    if on is not None and on in kernel_boards():
        # A description that is not right for its own platform may be right on the target.
        with suppress(BadDescription):
            system = load_system(description)
            platform = system.platform_description
            emulated = None if platform.emulation is None else platform.emulation.board
            target = on in system.targets or (stand_ins and on in (system.platform, platform.name, emulated))
            if not target and any(task.execution == "three-phase" for task in system.tasks.values()):
                return system, on
    return load_system(description, on), None


def runner_of(system: System, given: Mapping[str, Any]) -> Runner:
    """The target of the run: this machine, by its clock or in virtual time, or a board."""
    from consort.board.application import prepare_board
    from consort.board.placement import is_emulated
    from consort.run import prepare

    if given["kernel"] is not None:
        refused = dict.fromkeys(
            (*OF_HOST_RUNS, "rt_linux"), "the board's scratchpad kernel has no such choice"
        )
        return Runner("board", prepare_board, refused)
    if given["target"] == "virtual":
        return Runner("virtual", prepare, {**NO_BOARD, **OF_THIS_MACHINE})
    if is_emulated(system) and (given["on"] is not None or not given["stand_ins"]):
        not_there = (option for option in OF_HOST_RUNS if option not in ("stand_ins", "mode"))
        return Runner("board", prepare_board, dict.fromkeys(not_there, "a board has no such choice"))
    return Runner("linux", prepare, NO_BOARD)


@click.command(
    epilog="Example: consort run system.yaml --iterations 100000 --only offloaded-off",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("description", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "target",
    type=click.Choice(RUNNABLE),
    default=RUNNABLE[0],
    show_default=True,
    help="linux: by this machine's clock; virtual: the same steps in one thread, by a deterministic clock.",
)
@click.option(
    "--on",
    metavar="TARGET",
    help="Lay the description on this target of its own; with its platform's name as it stands. Three-phase"
    " systems: an emulated board, on whose scratchpad kernel they run in counted time.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    help="Instead of run.seed: of random releases and, in virtual time, of execution times.",
)
@click.option(
    "--iterations",
    type=click.IntRange(1, 2**32 - 1),
    help="Release jobs for so many periods of the first task, instead of run.iterations.",
)
@click.option("--duration", help="How long jobs are released, instead of --iterations; 90s, 30min, 1h.")
@click.option(
    "--only",
    multiple=True,
    type=ChoiceOf("CONFIGURATION", "consort.model.channel", "CONFIGURATIONS"),
    help="Run this configuration only: local-off, local-on, offloaded-off or offloaded-on. May be given"
    " several times.",
)
@click.option("--mode", help="Run the system in this mode of the description.")
@click.option(
    "--stand-ins", is_flag=True, help="Tasks without a step execute for their wcet and pass numbered blocks."
)
@click.option(
    "--time-scale",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Stretch all times by this factor: with few CPUs, cores then share them.",
)
@click.option("--time-base", type=click.Choice(["spin", "sleep", "hybrid"]), help="Instead of run.time_base.")
@click.option(
    "--prepare",
    "prepares",
    is_flag=True,
    help="As root: set what `consort doctor` names and what can be set without a boot; restored at the end.",
)
@click.option(
    "--kill-worker-at", metavar="TIME", help="Kill the workers so long after the start, for example 1s."
)
@click.option(
    "--stop-worker-for", metavar="TIME", help="Stop the workers for so long, in the middle of the run."
)
@click.option(
    "--kill-core",
    "kill_cores",
    multiple=True,
    metavar="CORE@TIME",
    help="Kill a core that fail_over names, so long after the start: x86-0@1s. May be given several times.",
)
@click.option(
    "--stop-core",
    "stop_cores",
    multiple=True,
    metavar="CORE@TIME",
    help="The same, but stop it: it gives no sign of life any more.",
)
@click.option(
    "--link-fault",
    "link_faults",
    multiple=True,
    metavar="LINK:FAULT@TIME",
    help="So long after the start kill or stop a link's engine, or have its next transaction fail or hang:"
    " link-0:kill@1s. May be given several times.",
)
@click.option(
    "--remote",
    multiple=True,
    metavar="MEMORY=HOST:PORT,key=FILE",
    help="The server of a remote memory in which states of tasks lie, or MEMORY=NAME of one on this machine"
    " (consort remote serve); without it the run has a server of its own. May be given several times.",
)
@click.option(
    "--sanitize", is_flag=True, help="Build the steps with address and undefined-behaviour sanitizers."
)
@click.option(
    "--debug",
    metavar="TASK",
    help="After the run: this task's steps under gdb, with the recorded inputs, up to where one crashed.",
)
@click.option(
    "--counted",
    is_flag=True,
    help="Boards: time is instructions executed, of processes beside them declared times, and runs repeat to"
    " the tick; refused where that cannot be.",
)
@click.option("--board", hidden=True, callback=_replaced, expose_value=False)
@click.option(
    "--rt-linux", is_flag=True, help="Boards: PREEMPT_RT Linux on the worker's core, not bare metal."
)
@click.option("--ordinary", is_flag=True, help="Stay in the ordinary scheduling class: no SCHED_FIFO.")
@click.option(
    "--undecided-above",
    type=NumberRange(0, 100),
    show_default="10",
    metavar="PERCENT",
    help="Where the machine disturbed more of a task's jobs and some were late, the run decides nothing.",
)
@click.option("--name", help="Name of the run; without it the description's folder.")
@root_option
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print the run's summaries and verdict as JSON.")
def command(description: Path, verbose: bool, as_json: bool, **given: Any) -> None:
    """Run a system description: each core a process on a CPU of its own, each task a thread.

    This builds and runs the description's own code: its steps, plants and drivers, and its Python functions.
    Run only descriptions that you trust.

    With --for virtual the same program runs under a clock of its own: executions take what the description
    says, between bcet and wcet by the seed, and nothing else takes time. The same seed gives the same record
    everywhere.

    Each configuration (offloaded tasks on their masters or on their workers, interference off or on) runs
    once. Every job is recorded and held against its deadline and its bound, every output against what the
    same steps give in logical order. Exit status 1: the system did not hold; the run is recorded all the
    same. 2: the description cannot be run as it is. 3: this machine lacks something. 4: undecided, because
    the machine disturbed too much, or because something was never seen.
    """
    from consort.run import Prepared as PreparedHere
    from consort.run import run_system
    from consort.run.debug import Debugger, debugged_configuration, debugger_command, kept_recording
    from consort.run.process import prepared_machine

    system, given["kernel"] = _loaded(description, given["on"], given["stand_ins"])
    if given["kernel"] is not None:
        given["on"] = None
    signals_to_exceptions()
    debugger: Debugger | None = None
    runner = runner_of(system, given)
    runner.refuse(given)
    options = _options(runner, given)
    with progress_bar(as_json, lines=runner.target == "board") as progress:
        if given["debug"] is not None:
            options = replace(options, configurations=debugged_configuration(system, options, given["debug"]))
        prepared = runner.prepare(system, progress, options)
        machine = prepared_machine(prepared.plan, options) if given["prepares"] else None
        if given["debug"] is None:
            run = run_system(prepared, options, progress, machine=machine)
        else:
            with kept_recording() as scratch:
                run = run_system(prepared, options, progress, machine=machine, scratch=scratch)
                assert isinstance(prepared, PreparedHere), "boards have no --debug"
                line = debugger_command(prepared, scratch, given["debug"], sanitized=options.sanitize)
            debugger = Debugger(line, scratch)
    if as_json:
        also = {} if debugger is None else {"debugger": debugger.command}
        print_json({**summary(run), **also})
    else:
        _print(run, on_target(description, given["on"]), verbose)
        if debugger is not None:
            debugger.start_or_print()
    sys.exit(run.held.exit_status)


def _print(run: Run, description: str, verbose: bool) -> None:
    from consort.report.brief_run import brief_of_run
    from consort.report.terminal import verdict_lines
    from consort.run.process import KEPT_AWAY

    if verbose:
        echo_lines([*verdict_lines(run), ""])
    echo_lines(brief_of_run(run, description, KEPT_AWAY).lines())


def _options(runner: Runner, given: Mapping[str, Any]) -> Options:
    from consort.base.packages import parse_servers
    from consort.run import Options

    duration = _optional(given["duration"], "--duration")
    share = given["undecided_above"]
    return Options(
        target=runner.target,
        seed=given["seed"],
        iterations=given["iterations"],
        duration_ps=None if duration is None else duration * 1000,
        configurations=given["only"] or None,
        time_base=given["time_base"],
        time_scale=given["time_scale"],
        realtime=not given["ordinary"],
        undecided_above=Options.undecided_above if share is None else share / 100,
        stand_ins=given["stand_ins"],
        mode=given["mode"],
        sanitize=given["sanitize"],
        kill_worker_at_ns=_optional(given["kill_worker_at"], "--kill-worker-at"),
        stop_worker_for_ns=_optional(given["stop_worker_for"], "--stop-worker-for"),
        core_faults=[
            *(_core_fault(text, "kill-core") for text in given["kill_cores"]),
            *(_core_fault(text, "stop-core") for text in given["stop_cores"]),
        ],
        link_faults=[_link_fault(text) for text in given["link_faults"]],
        remote=parse_servers(given["remote"]),
        must_count=given["counted"],
        rt_linux=given["rt_linux"],
        kernel_board=given["kernel"],
        name=given["name"],
        root=given["root"],
        command=["consort", *sys.argv[1:]],
    )


def _link_fault(text: str) -> LinkFault:
    from consort.run.config import parse_link_fault

    what, found, at = text.rpartition("@")
    return parse_link_fault(what, nanoseconds_of(at, "--link-fault") if found else None)


def _core_fault(text: str, kind: Literal["kill-core", "stop-core"]) -> CoreFault:
    from consort.run.options import CoreFault

    core, found, at = text.rpartition("@")
    if not found or not core:
        raise BadInput(f"{text!r} names no core and time; write x86-0@1s", field=f"--{kind}")
    return CoreFault(core, nanoseconds_of(at, f"--{kind}"), kind)


def _optional(text: str | None, option: str) -> int | None:
    return None if text is None else nanoseconds_of(text, option)


def nanoseconds_of(text: str, field: str = "--duration") -> int:
    """A duration, also in minutes and hours, of at least a nanosecond and at most a day."""
    from consort.model.quantities import Duration

    longer = re.fullmatch(r"\s*(\d+)\s*(min|h)\s*", text)
    try:
        if longer is not None:
            seconds = int(longer[1]) * (60 if longer[2] == "min" else 3600)
            found = seconds * 10**9
        else:
            found = Duration.parse(text).nanoseconds
    except ValueError as error:
        raise BadInput(f"{error}; write 90s, 30min or 1h", field=field) from None
    if not 0 < found <= 24 * 3600 * 10**9:
        raise BadInput(f"{text} is not a duration of a run; up to 24h are", field=field)
    return found


def summary(run: Run) -> dict[str, Any]:
    """The output of `--json`: the run's folder, its verdict, each configuration's figures and counters."""
    keys = ("key", "name", "counters", "jobs", "summary", "verdict")
    return {
        "run": run.data["id"],
        "path": str(run.path),
        "verdict": run.verdict,
        "configurations": [{k: c[k] for k in keys if k in c} for c in run.data["configurations"]],
    }
