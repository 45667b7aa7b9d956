# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: help, mistakes in it, and its manners in a pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from consort import __version__
from consort.base.errors import EnvironmentLacks
from consort.base.packages import parse_servers
from consort.cli import COMMANDS, cli, main, plug_ins
from effort import PATIENCE
from loops import for_each

CONSORT = Path(sys.executable).with_name("consort")
# Libraries that take long to import, and that help does not need.
HEAVY = {
    *(
        "dask",
        "distributed",
        "elftools",
        "filelock",
        "hdrh",
        "jinja2",
        "matplotlib",
        "numpy",
        "ortools",
    ),
    *("perfetto", "pyarrow", "pydantic", "rich", "ruamel", "scipy", "yaml"),
}
NAMES = cli.list_commands(click.Context(cli))
# Packages that read a description.
READERS = {"pydantic", "ruamel", "yaml"}
DRIVE = Path(__file__).parents[3] / "examples" / "drive" / "system.yaml"


def consort(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CONSORT), *arguments], capture_output=True, text=True, timeout=PATIENCE)


def test_help_lists_every_command() -> None:
    ended = consort("--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    for name, (_, text) in {**COMMANDS, **plug_ins()}.items():
        assert any(line.split() == [name, *text.split()] for line in ended.stdout.splitlines())
    assert "Example: consort run " in ended.stdout


@for_each("name", NAMES)
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    # Click keeps the options of help that a command had at its first use, perhaps without the group.
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    vars(command)["_help_option"] = None
    for option in ("--help", "-h"):
        # In this process: a hundred starts of Python would only load the same libraries again.
        ended = CliRunner().invoke(cli, [name, option], prog_name="consort")
        assert (ended.exit_code, ended.stderr) == (0, "")
        assert ended.stdout.startswith(f"Usage: consort {name} ")
        assert "Example" in ended.stdout
        assert f"consort {name}" in ended.stdout.partition("Example")[2]


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        # They read the boards' descriptions, and start by the dozen.
        (["board", "list"], {*READERS, "elftools", "filelock"}),
        (["check", str(DRIVE)], READERS),
        (["analyze", str(DRIVE)], {*READERS, "rich"}),
    ],
)
def test_what_needs_nothing_heavy_imports_nothing_heavy(arguments: list[str], needed: set[str]) -> None:
    assert imported_by(*arguments) & HEAVY <= needed


def test_no_help_imports_what_is_heavy() -> None:
    helps = [[name, "--help"] for name in NAMES]
    # A benchmark's help says which boards it runs on, and reads their descriptions.
    for name in set(NAMES) - {"bench"}:
        group = cli.get_command(click.Context(cli), name)
        if isinstance(group, click.Group):
            helps += [[name, each, "--help"] for each in group.list_commands(click.Context(group))]
    assert not imported_by(*helps) & HEAVY


def imported_by(*runs: str | list[str]) -> set[str]:
    """The libraries that one command line imports, or several one after the other."""
    lines = [list(runs)] if isinstance(runs[0], str) else list(runs)
    script = (
        "import json, sys\n"
        "from consort.cli import main\n"
        "for line in json.loads(sys.argv[1]):\n"
        "    try:\n"
        "        main(line)\n"
        "    except SystemExit as ended:\n"
        "        assert not ended.code, line\n"
        "print('imported:', *sorted(m for m in sys.modules if '.' not in m))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, json.dumps(lines)], capture_output=True, text=True)
    imported = ended.stdout.rpartition("imported:")[2].split()
    assert "click" in imported, ended.stderr
    return set(imported)


def test_the_words_of_options_are_those_of_the_tables_that_are_not_imported() -> None:
    """A help text's lists, made without an import, equal those that the modules define."""
    from consort.base.toolchain.compiler import PROCESSES
    from consort.board.generate import FORMATS
    from consort.commands import generate, migrate, plan, run
    from consort.judge.verdict import UNDECIDED_ABOVE
    from consort.model.channel import CONFIGURATIONS
    from consort.plan.targets import TARGETS

    for command, option, names in (
        (generate.command, "--for", FORMATS),
        (migrate.command, "--for", PROCESSES),
        (plan.command, "--for", TARGETS),
        (run.command, "--only", CONFIGURATIONS),
    ):
        found = next(one for one in command.params if option in one.opts)
        assert isinstance(found, click.Option)
        assert found.help is not None
        assert [name for name in names if not re.search(rf"\b{name}\b", found.help)] == []
    share = next(one for one in run.command.params if "--undecided-above" in one.opts)
    assert isinstance(share, click.Option)
    assert share.show_default == f"{100 * UNDECIDED_ABOVE:g}"


def test_version() -> None:
    assert consort("--version").stdout == f"consort, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rn"], "no command 'rn'; did you mean 'run'?"),
        (["--verison"], "No such option '--verison'. Did you mean '--version'?"),
        (
            ["run", "--itertions", "3", "x.yaml"],
            "'--itertions'. (Did you mean one of: '--duration', '--iterations', '--verbose'?)",
        ),
        (["run", "--iterations", "0", "x.yaml"], "0 is not in the range"),
        (["run", "--only", "remote", "x.yaml"], "'remote' is not one of"),
        (["run"], "Missing argument 'DESCRIPTION'"),
        (["compare", "latest"], "Missing argument 'B'"),
    ],
)
def test_mistakes(arguments: list[str], words: str) -> None:
    ended = consort(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert "--help" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_a_command_it_explains_itself() -> None:
    ended = consort()
    assert "Commands:" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["schema"], ["--help"], ["run", "--help"]])
def test_a_reader_that_goes_away(arguments: list[str], unbuffered: str) -> None:
    """As in `consort schema | head -1`: no traceback, and the status of a broken pipe or of success."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [str(CONSORT), *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            timeout=PATIENCE,
        )
    finally:
        os.close(writer)
    assert ended.stderr == ""
    assert ended.returncode in (1, 141)


def test_a_plug_in_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consort.cli.plug_ins", dict)
    ended = CliRunner().invoke(cli, ["remote", "list"], prog_name="consort")
    assert isinstance(ended.exception, EnvironmentLacks)
    assert str(ended.exception) == "consort remote is not installed; pip install consort-remote"
    monkeypatch.setattr("consort.base.packages.entry_points", lambda group: ())
    with pytest.raises(EnvironmentLacks, match="pip install consort-remote"):
        parse_servers(["far=host:7070,key=k"])
    assert parse_servers([]) == {}


@pytest.mark.parametrize("command", ["check", "import", "report"])
def test_a_name_that_no_file_has(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["-o", str(tmp_path / "out")] if command == "import" else []
    with pytest.raises(SystemExit) as ended:
        main([command, "9" * 300, *more])
    assert ended.value.code == 2
    assert "999" in capsys.readouterr().err
