"""The command line: one group, its commands loaded only when they are named.

Exit statuses: 0 good, 1 the system under test fails, 2 bad input, 3 the environment lacks something, 4 it
is undecided whether the system holds.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import os
import resource
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

import click

from consort import __version__
from consort.base.errors import (
    BadInput,
    ConsortError,
    EnvironmentLacks,
    environment_errors,
    machines_fault,
    remedy_of,
    visible,
)
from consort.base.packages import naming_extras

# name -> (module that holds the click command as `command`, or module:name; one line of help). Loading
# lazily keeps `consort --help` fast: the plotting and table libraries take over a second to import.
COMMANDS: dict[str, tuple[str, str]] = {
    "analyze": ("consort.commands.analyze", "Bound response times and chains, and hold them to deadlines."),
    "bench": ("consort.commands.bench", "Run a benchmark and hold its figures against their goals."),
    "board": ("consort.commands.board", "Start emulated boards, show their consoles, debug and end them."),
    "check": ("consort.commands.check", "Check a system description and say what is wrong with it."),
    "compare": ("consort.commands.runs:compare_command", "Compare two recorded runs."),
    "doctor": ("consort.commands.doctor", "Say how ready this machine is for real time, with remedies."),
    "export": (
        "consort.commands.import_:export_command",
        "Write a description for AMALTHEA, rt-app, SAG or MAST.",
    ),
    "generate": ("consort.commands.generate", "Write partition configurations for real boards."),
    "import": ("consort.commands.import_", "Make a description from AMALTHEA, rt-app or a device tree."),
    "init": ("consort.commands.plan:init_command", "Write a small application that runs, to begin from."),
    "migrate": ("consort.commands.migrate", "Build a step whose jobs can move in mid-job, and move one."),
    "mode": ("consort.commands.watch:mode_command", "Ask a run in progress for another of its modes."),
    "place": ("consort.commands.place", "Choose where each task runs so that all holds and a goal is best."),
    "plan": ("consort.commands.plan", "Lay a description out on a target and show what each core will do."),
    "probe": ("consort.commands.doctor:probe_command", "Measure this machine and write a platform file."),
    "profile": ("consort.commands.profile", "Measure the execution times of steps and propose them."),
    "region": ("consort.commands.watch:region_command", "Show what a shared-memory region holds."),
    "report": (
        "consort.commands.runs:report_command",
        "Write the HTML report and the trace of a recorded run.",
    ),
    "run": ("consort.commands.run", "Run a system description and record every sample."),
    "runs": ("consort.commands.runs", "List the recorded runs."),
    "schema": (
        "consort.commands.plan:schema_command",
        "Print the JSON Schema of system descriptions, for editors.",
    ),
    "show": ("consort.commands.plan:show_command", "Draw a system or a platform as SVG."),
    "simulate": ("consort.commands.simulate", "Simulate a system description in exact time and record it."),
    "sweep": ("consort.commands.sweep", "Compute figures as functions of parameters, on all cores."),
    "watch": ("consort.commands.watch", "Show the rates, misses and largest times of a run in progress."),
}


# The memory that every command may map at least, and the more for those that load libraries of numbers and
# tables [bytes]: seen with two processors, and rounded up. With less, the interpreter and such libraries end
# anyhow: they hang, crash, or report a wrong error in the module that they were loading.
LEAST = 512 << 20
TABLES = ("compare", "mode", "place", "profile", "report", "run", "runs", "simulate", "sweep", "watch")
LEAST_FOR_TABLES = 1 << 30


# Commands of distributions of their own, which are found as plug-ins: what to install where one is not there.
PLUG_INS = {"remote": "consort-remote"}


def plug_ins() -> dict[str, tuple[str, str]]:
    """The commands that installed plug-ins bring, as `COMMANDS` has its own."""
    found = entry_points(group="consort.commands")
    return {
        point.name: (point.value, point.dist.metadata["Summary"]) for point in found if point.dist is not None
    }


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({**COMMANDS, **plug_ins()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name) or plug_ins().get(cmd_name)
        if entry is None:
            if cmd_name in PLUG_INS:
                raise EnvironmentLacks(
                    f"consort {cmd_name} is not installed", f"pip install {PLUG_INS[cmd_name]}"
                )
            return None
        limit = address_space()
        least = LEAST_FOR_TABLES if cmd_name in TABLES else LEAST
        if limit is not None and limit < least:
            raise EnvironmentLacks(
                f"consort {cmd_name} needs an address space of {least >> 20} MiB,"
                f" and {limit >> 20} MiB are allowed (ulimit -v)",
                "raise the limit",
            )
        module, _, name = entry[0].partition(":")
        command = getattr(importlib.import_module(module), name or "command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command by its name; the message about an unknown one says the nearest name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            # An option in the place of a command has a message of its own.
            if args[0].startswith("-"):
                raise
            from consort.base.errors import nearest

            hint = nearest(args[0], self.list_commands(ctx), "commands")
            raise click.UsageError(f"no command {args[0]!r}; {hint}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            commands = {**COMMANDS, **plug_ins()}
            formatter.write_dl([(name, commands[name][1]) for name in sorted(commands)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: consort run system.yaml",
)
@click.version_option(__version__, prog_name="consort")
def cli() -> None:
    """One hard real-time application across unlike processors."""


def lacks_memory(error: BaseException | None) -> bool:
    """True if an error, or its cause, is that the process got no more memory or threads."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        words = str(error).lower()
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        # A library that did not notice a failed allocation of its own.
        if isinstance(error, SystemError) and address_space() is not None:
            return True
        # Code that loads libraries and starts threads has only words for it.
        if any(said in words for said in ("failed to map segment", "allocate memory", "start new thread")):
            return True
        error = error.__cause__ or error.__context__
    return False


NO_THREADS = "no more threads can be started; raise the limit of processes (ulimit -u), or end others"


def threads_start() -> bool:
    """True if this process may start one more thread."""
    try:
        thread = threading.Thread(target=int)
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def address_space() -> int | None:
    """The memory that this process may map [bytes]; None if there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def too_little_memory() -> str:
    limit = address_space()
    if limit is None:
        return "there is too little memory for this; end other programs, or give it less to do"
    return (
        f"there is too little memory for this; its address space is limited to {limit >> 20} MiB (ulimit -v)"
    )


def lack_behind(error: BaseException) -> EnvironmentLacks | None:
    """The lack of the machine that an error of the system tells of, or one of a library because of such."""
    try:
        with environment_errors():
            raise machines_fault(error) or error
    except EnvironmentLacks as lack:
        return lack
    except Exception:
        return None


@contextmanager
def _all_written() -> Iterator[None]:
    """Writes the output at the end of the block: the interpreter's own end says nothing of a full disk."""
    try:
        yield
    except SystemExit:
        _flush()
        raise
    _flush()


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _folder_is_gone() -> bool:
    """True if the folder that the command works in was deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


_GONE = "the working folder was deleted; change to one that is there"


def _end_for_lack(message: str) -> NoReturn:
    """Ends with the machine's lack; finalizers of libraries, which would repeat it, print nothing."""
    click.echo(f"consort: {message}", err=True)
    atexit.register(_hear_no_more)
    sys.exit(EnvironmentLacks.exit_status)


def _hear_no_more() -> None:
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _unraisable: None


def _with_lines(error: BadInput) -> str:
    """The error with the lines of the fields that it names."""
    try:
        return str(importlib.import_module("consort.commands.lines").placed(error))
    except (MemoryError, ImportError, OSError):
        # A line is a help; the message is what counts.
        return str(error)


def _write_no_more() -> None:
    """What is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main(args: list[str] | None = None) -> Any:
    """Entry point of the `consort` command; ends the process with the documented exit status."""
    # Nearly all objects of a large system stay to the command's end: frequent searches for the others took a
    # quarter of its time, and one at the end is of no use.
    gc.set_threshold(1_000_000, 50)
    atexit.register(gc.freeze)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Names, and the letters of units, that the terminal's encoding does not have.
        sys.stdout.reconfigure(errors="backslashreplace")
    memory_message = f"consort: {too_little_memory()}\n".encode()
    try:
        with naming_extras(), _all_written():
            status = cli.main(args=args, prog_name="consort", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        if isinstance(error, click.MissingParameter) and error.ctx is not None and error.ctx.command.epilog:
            click.echo(error.ctx.command.epilog, err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        # A library that gets no threads sends this process the signal of an interrupt.
        if not threads_start():
            _end_for_lack(NO_THREADS if address_space() is None else too_little_memory())
        click.echo("consort: interrupted", err=True)
        sys.exit(130)
    except ConsortError as error:
        fault = machines_fault(error)
        if error.exit_status == EnvironmentLacks.exit_status:
            _end_for_lack(str(error))
        if fault is not None:
            _end_for_lack(f"{error}; {remedy_of(fault)}")
        said = _with_lines(error) if isinstance(error, BadInput) else str(error)
        click.echo(f"consort: {said}" + (f"; {_GONE}" if _folder_is_gone() else ""), err=True)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # The reader of our output (a pager, `head`) went away: not an error of ours or of the user.
        _write_no_more()
        sys.exit(141)
    except (MemoryError, ImportError, OSError, RuntimeError, SystemError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            name = visible(str(error.filename))[:40]
            click.echo(f"consort: {name}…: no file has so long a name; give another one", err=True)
            sys.exit(BadInput.exit_status)
        if isinstance(error, FileNotFoundError) and _folder_is_gone():
            _end_for_lack(_GONE)
        # A thread takes memory, too.
        if not isinstance(error, MemoryError) and address_space() is None and not threads_start():
            _end_for_lack(NO_THREADS)
        if not lacks_memory(error):
            lack = lack_behind(error)
            if lack is None:
                raise
            _write_no_more()
            _end_for_lack(str(lack))
        # Memory that the failed call holds is free now; the message takes no memory of its own.
        traceback.clear_frames(error.__traceback__)
        os.write(2, memory_message)
        sys.exit(EnvironmentLacks.exit_status)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
