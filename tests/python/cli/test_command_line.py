# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: help, mistakes in it, and its manners in a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from consort import __version__
from consort.cli import COMMANDS, cli
from effort import PATIENCE
from loops import for_each

CONSORT = Path(sys.executable).with_name("consort")
# Libraries that take long to import, and that help does not need.
HEAVY = ("matplotlib", "duckdb", "pyarrow", "numpy", "scipy", "pydantic", "perfetto", "rich")


def consort(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CONSORT), *arguments], capture_output=True, text=True, timeout=PATIENCE)


def test_help_lists_every_command() -> None:
    ended = consort("--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert any(line.split() == [name, *text.split()] for line in ended.stdout.splitlines())
    assert "Example: consort run " in ended.stdout


@for_each("name", sorted(COMMANDS))
def test_every_command_explains_itself_with_an_example(name: str) -> None:
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
        (["region", "--help"], set()),
        # They read the boards' descriptions, and start by the dozen.
        (["board", "list"], {"pydantic"}),
    ],
)
def test_what_needs_nothing_heavy_imports_nothing_heavy(arguments: list[str], needed: set[str]) -> None:
    script = (
        "import sys\n"
        "from consort.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    print('imported:', *sorted(m for m in sys.modules if '.' not in m))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    imported = ended.stdout.rpartition("imported:")[2].split()
    assert "click" in imported
    assert set(imported) & set(HEAVY) <= needed


def test_version() -> None:
    assert consort("--version").stdout == f"consort, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], "No such command 'rnu'"),
        (["--verison"], "No such option '--verison'. Did you mean '--version'?"),
        (
            ["run", "--itertions", "3", "x.yaml"],
            "'--itertions'. (Did you mean one of: '--duration', '--iterations'?)",
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
