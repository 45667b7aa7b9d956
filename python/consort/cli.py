"""The command line: one group, its commands loaded only when they are named.

Exit statuses: 0 good, 1 the system under test fails, 2 bad input, 3 the environment lacks something.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from consort import __version__
from consort.errors import ConsortError

# name -> (module that holds the click command as `command`, one line of help). Loading lazily keeps
# `consort --help` fast: the plotting and database libraries take over a second to import.
COMMANDS: dict[str, tuple[str, str]] = {
    "analyze": ("consort.commands.analyze", "Bound response times and chains, and hold them to deadlines."),
    "bench": ("consort.commands.bench", "Run a benchmark and hold its figures against their goals."),
    "board": ("consort.commands.board", "Start emulated boards, show their consoles, debug and end them."),
    "check": ("consort.commands.check", "Check a system description and say what is wrong with it."),
    "compare": ("consort.commands.compare", "Compare two recorded runs."),
    "doctor": ("consort.commands.doctor", "Say how ready this machine is for real time, and how to mend it."),
    "export": ("consort.commands.export", "Write a description for AMALTHEA, rt-app, SAG or MAST."),
    "generate": ("consort.commands.generate", "Write partition configurations for real boards."),
    "import": ("consort.commands.import_", "Make a description from AMALTHEA, rt-app or a device tree."),
    "region": ("consort.commands.region", "Show what a shared-memory region holds."),
    "remote": ("consort.commands.remote", "Attach windows of remote memory in simulated hardware."),
    "report": ("consort.commands.report", "Write the HTML report and the trace of a recorded run."),
    "run": ("consort.commands.run", "Run a system description and record every sample."),
    "runs": ("consort.commands.runs", "List the recorded runs."),
    "schema": ("consort.commands.schema", "Print the JSON Schema of system descriptions, for editors."),
    "show": ("consort.commands.show", "Draw a system or a platform as SVG."),
    "simulate": ("consort.commands.simulate", "Simulate a system description in exact time and record it."),
}


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = importlib.import_module(entry[0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: consort run examples/servo/system.yaml",
)
@click.version_option(__version__, prog_name="consort")
def cli() -> None:
    """One hard real-time application across unlike processors."""


def main(args: list[str] | None = None) -> Any:
    """Entry point of the `consort` command; ends the process with the documented exit status."""
    try:
        status = cli.main(args=args, prog_name="consort", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("consort: interrupted", err=True)
        sys.exit(130)
    except ConsortError as error:
        click.echo(f"consort: {error}", err=True)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # The reader of our output (a pager, `head`) went away: not an error of ours or of the user.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
