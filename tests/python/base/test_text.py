# SPDX-License-Identifier: Apache-2.0
"""Nothing that somebody else wrote is obeyed by a terminal, and any name of a folder will do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import consort.commands
import consort_remote.commands
import pytest
from click.testing import CliRunner
from consort.base.errors import BadInput, ConsortError, EnvironmentLacks, obeyed, visible
from consort.commands import analyze, check, doctor, import_, plan, runs, simulate
from consort.commands.options import print_json
from consort.record import RunWriter
from consort.record.store import list_runs
from effort import PATIENCE

CONSORT = Path(sys.executable).with_name("consort")
RED = "\x1b[31mred"
DESCRIPTION = {
    "consort": 1,
    "platform": "linux-host",
    "tasks": {"servo": {"step": "stand-in", "period": "10ms", "wcet": "1ms", "on": "master-0"}},
    "run": {"iterations": 2},
}


def test_what_a_terminal_obeys_is_shown() -> None:
    assert visible("a\x1b[2Jb\x9bc\u202ed\r") == "a\\x1b[2Jb\\x9bc\\u202ed\\r"
    plain = "µs, ∞, 時間\n\tand more"
    assert visible(plain) == plain and not obeyed(plain)


@pytest.mark.parametrize(
    "error", [BadInput(RED, file=RED, field=RED), EnvironmentLacks(RED, RED), ConsortError(RED)]
)
def test_messages_of_errors(error: ConsortError) -> None:
    assert not obeyed(str(error)) and "\\x1b[31mred" in str(error)


@pytest.mark.parametrize("command", [check.command, plan.command, analyze.command, simulate.command])
@pytest.mark.parametrize("where", ["name", "key", "value", "figure"])
def test_a_description(tmp_path: Path, command: object, where: str) -> None:
    described = json.loads(json.dumps(DESCRIPTION))
    task = described["tasks"]["servo"]
    if where == "name":
        described["name"] = RED
    elif where == "key":
        described["tasks"][RED] = task
    elif where == "value":
        task["on"] = RED
    else:
        task["wcet"] = {"value": "1ms", "assumed": RED}
    file = tmp_path / "system.yaml"
    file.write_text(json.dumps(described), encoding="utf-8")
    done = CliRunner().invoke(command, [str(file)], standalone_mode=False)  # type: ignore[arg-type]
    said = done.output + str(done.exception or "")
    assert (done.exit_code or done.return_value) and "\x1b" not in said
    assert "\\\\x1b[31mred' has a control character" in said
    assert "system.yaml:1:" in said


def test_a_run(tmp_path: Path) -> None:
    """A program's words stand in the run's reasons."""
    with RunWriter("servo", "application", tmp_path, command=[]) as writer:
        writer.fail(RED)
    for arguments in (["--root", str(tmp_path)], ["--root", str(tmp_path), "--json"]):
        done = CliRunner().invoke(runs.command, arguments)
        assert done.exit_code == 0 and "\x1b" not in done.output
    assert writer.run is not None and writer.run.data["verdict"]["reasons"] == ["\\x1b[31mred"]


@pytest.mark.parametrize("folder", [b"no text \xff"])
def test_a_folder_of_any_name(tmp_path: Path, folder: bytes) -> None:
    """Also one whose bytes are not text, on a terminal that has few letters."""
    made = tmp_path / os.fsdecode(folder)
    made.mkdir()
    file, root = str(made / "system.yaml"), str(tmp_path / "runs")
    Path(file).write_text(json.dumps(DESCRIPTION), encoding="utf-8")
    commands = (
        ["simulate", file, "--duration", "20ms", "--root", root, "--verbose"],
        ["show", file, "--output", str(made / "picture.svg")],
        ["report", "latest", "--root", root],
        ["run", file, "--for", "virtual", "--iterations", "2", "--root", root],
    )
    for words in commands:
        done = subprocess.run(
            [str(CONSORT), *words],
            capture_output=True,
            timeout=PATIENCE,
            env=os.environ | {"PYTHONIOENCODING": "ascii:strict"},
        )
        assert b"Traceback" not in done.stderr and done.returncode in (0, 4), (words, done.stderr)
    recorded = list_runs(root)
    assert len(recorded) == 2
    for run in recorded:
        assert run.id.isascii() and (run.path / "run.json").is_file()


@pytest.mark.parametrize("letters", ["ascii", "latin-1"])
def test_json_is_json_on_terminals_of_few_letters(tmp_path: Path, letters: str) -> None:
    """Names from the description, from another tool's file and from the machine."""
    file, threads, machine = tmp_path / "é→.yaml", tmp_path / "t.json", tmp_path / "machine"
    file.write_text(json.dumps(DESCRIPTION), encoding="utf-8")
    thread = {"loop": -1, "run": 1000, "timer": {"ref": "tick", "period": 10000}}
    threads.write_text(json.dumps({"tasks": {"größe→": thread}}), encoding="utf-8")
    (machine / "proc").mkdir(parents=True)
    (machine / "proc" / "cpuinfo").write_text("model name : für µs→\n", encoding="utf-8")
    for command, words in (
        (check.command, [str(file), "--json"]),
        (check.command, [str(tmp_path / "ß→.yaml"), "--json"]),
        (plan.command, [str(file), "--json"]),
        (plan.schema_command, []),
        (import_.command, [str(threads), "-o", str(tmp_path / "ä→.yaml"), "--cpus", "1", "--json"]),
        (doctor.command, ["--sysroot", str(machine), "--json"]),
        (runs.command, ["--root", str(tmp_path / "ü→"), "--json"]),
    ):
        done = CliRunner(charset=letters).invoke(command, words)
        assert json.loads(done.stdout_bytes.decode("ascii")) is not None, (words, done.exception)


def test_no_command_prints_json_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1.5, float("inf")], "b": (float("nan"),)}, one_line=True)
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": [None]}
    for package in (consort.commands, consort_remote.commands):
        for module in Path(package.__path__[0]).glob("*.py"):
            assert not re.search(r"(echo|print)\(\s*json\.dump", module.read_text(encoding="utf-8")), module
