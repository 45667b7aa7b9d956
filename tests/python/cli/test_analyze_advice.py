# SPDX-License-Identifier: Apache-2.0
"""`consort analyze`: bounds first, advice bounded in time, failing items first, what the bounds rest on."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from consort.analysis.advice import NONE_FOUND
from consort.cli import main
from consort.commands.analyze import ROWS


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def consort(*arguments: object) -> Done:
    """A command in this process: starting one takes longer than all that it does."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def description(tmp_path: Path, tasks: int) -> Path:
    """Tasks of one core, the last of which asks for more than is left."""
    lines = ["consort: 1", "platform: linux-host", "assumed: made up", "tasks:"]
    lines += [f"  t{i}: {{period: {i + 1}00ms, wcet: 1ms, on: master-0}}" for i in range(tasks)]
    lines += ["  hog: {period: 1s, deadline: 999ms, wcet: 998ms, on: master-0}"]
    file = tmp_path / "system.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_what_fails_comes_first_and_says_what_it_rests_on(tmp_path: Path) -> None:
    done = consort("analyze", "-v", "--no-advice", description(tmp_path, 3))
    assert done.returncode == 1
    rows = [line for line in done.stdout.splitlines() if line.startswith("│")]
    assert "hog" in rows[0] and " no " in rows[0] and " t0 " in rows[1]
    assert "rests on" in done.stdout and "assumed" in rows[0]
    assert "  wcet:" not in done.stdout


def test_of_many_bounds_the_nearest_to_what_is_allowed_are_shown(tmp_path: Path) -> None:
    # The response time of each task is allowed to be 400 - i times as long; that of the last is too long.
    lines = ["consort: 1", "platform: linux-host", "assumed: made up", "tasks:"]
    for i in range(ROWS + 51):
        deadline = (i + 1) * (400 - i) if i < ROWS + 50 else 2
        task = f"period: 100s, deadline: {deadline}ms, wcet: 1ms, priority: {1000 - i}, on: master-0"
        lines.append(f"  t{i}: {{{task}}}")
    file = tmp_path / "system.yaml"
    file.write_text("\n".join(lines) + "\n")
    shown = consort("analyze", "-v", "--no-advice", file).stdout
    rows = [line.split()[3] for line in shown.splitlines() if line.startswith("│")]
    assert rows == [f"t{ROWS + 50 - n}" for n in range(ROWS)]
    assert "51 more rows, --all shows them: all of them hold" in shown
    whole = consort("analyze", "--no-advice", "--all", file).stdout
    assert len([line for line in whole.splitlines() if line.startswith("│")]) == ROWS + 51
    assert "more rows" not in whole


def test_advice_follows_the_bounds(tmp_path: Path) -> None:
    done = consort("analyze", "-v", description(tmp_path, 3))
    assert done.stdout.index("source: ") < done.stdout.index("bring the execution time of hog")


def test_no_time_for_advice_is_said(tmp_path: Path) -> None:
    file = description(tmp_path, 3)
    done = consort("analyze", "-v", "--advice-time", "0", file)
    assert done.returncode == 1 and "not every change was tried" in done.stdout
    assert NONE_FOUND.partition(":")[0] not in done.stdout
    (advice,) = json.loads(consort("analyze", "--advice-time", "0", "--json", file).stdout)["advice"]
    assert advice["complete"] is False and advice["changes"] == []
    assert json.loads(consort("analyze", "--no-advice", "--json", file).stdout)["advice"] == []


def test_a_missing_figure_is_exit_status_4_and_named(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text("consort: 1\nplatform: linux-host\ntasks: {a: {period: 1ms, on: master-0}}\n")
    done = consort("analyze", "-v", file)
    assert done.returncode == 4 and "missing: tasks.a.wcet" in done.stdout
    (bound,) = json.loads(consort("analyze", "--json", file).stdout)["bounds"]
    assert (bound["response_ps"], bound["missing"]) == (None, ["tasks.a.wcet"])


@pytest.mark.parametrize("command", ["check", "analyze", "simulate"])
def test_one_limit_of_time_for_all(tmp_path: Path, command: str) -> None:
    file = tmp_path / "system.yaml"
    text = "consort: 1\nplatform: linux-host\ntasks: {a: {period: PERIOD, wcet: 1ms, on: master-0}}\n"
    file.write_text(text.replace("PERIOD", "1000001s"))
    done = consort(command, file)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "tasks.a.period: '1000001s' is too large; the largest duration is 1000000s" in done.stderr
    file.write_text(text.replace("PERIOD", "1000000s"))
    more = ["--no-record"] if command == "simulate" else []
    assert consort(command, file, *more).returncode == 0


@pytest.mark.parametrize("policy", ["fixed-priority", "fixed-priority-non-preemptive", "edf"])
@pytest.mark.parametrize("waits", ["", ", self_suspension: 1ps"])
def test_sums_of_long_times_are_no_traceback(tmp_path: Path, policy: str, waits: str) -> None:
    tasks = "\n".join(
        f"  t{i}: {{period: {1000000 - i}s, deadline: 1000000s, wcet: {124990 + i}s, jitter: {i}ps,"
        f" on: master-0{waits}}}"
        for i in range(8)
    )
    file = tmp_path / "system.yaml"
    scheduling = f"scheduling: {{master-0: {{policy: {policy}}}}}\n"
    file.write_text(f"consort: 1\nplatform: linux-host\n{scheduling}tasks:\n{tasks}\n")
    done = consort("analyze", "--no-advice", file)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr


def test_check_warns_of_what_cannot_work(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(
        "consort: 1\nplatform: linux-host\ntasks:\n"
        "  a: {period: 10ms, deadline: 1ms, wcet: 2ms, on: master-0}\n"
        "  b: {period: 10ms, wcet: 1ms, self_suspension: 20ms, on: master-1}\n"
        "  c: {period: 10ms, wcet: 9ms, on: master-0}\n"
    )
    done = consort("check", file)
    assert done.returncode == 0
    assert "warning: " in done.stderr and "system.yaml:4:" in done.stderr
    for text in ("tasks.a.wcet: 2ms is longer than the deadline, 1ms", "tasks.b.self_suspension: 20ms"):
        assert text in done.stderr
    assert "master-0 is asked for 1.1 times what it has, by a, c" in done.stderr
    warnings = json.loads(consort("check", "--json", file).stdout)["warnings"]
    assert [w["field"] for w in warnings] == ["tasks.a.wcet", "tasks.b.self_suspension", "tasks.a.on"]


def test_suspensions_without_a_time_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    task = "{period: 1ms, wcet: 1us, suspensions: 2, on: master-0}"
    file.write_text(f"consort: 1\nplatform: linux-host\ntasks: {{a: {task}}}\n")
    done = consort("check", file)
    assert done.returncode == 2 and "add 'self_suspension', or remove 'suspensions'" in done.stderr


def test_sensitivity_follows_the_bounds(tmp_path: Path) -> None:
    file = description(tmp_path, 2)
    file.write_text(file.read_text().replace("wcet: 998ms", "wcet: 400ms"))
    done = consort("analyze", file, "--sensitivity", "wcet")
    assert done.returncode == 0
    lines = [
        line for line in done.stdout.splitlines() if line.startswith("largest factor of execution times")
    ]
    assert [line.partition(":")[0].rpartition("times")[2] for line in lines] == [
        "",
        " of t0",
        " of t1",
        " of hog",
    ]
    found = json.loads(consort("analyze", file, "--sensitivity", "wcet", "--json").stdout)["sensitivity"]
    # The hog alone: 999 ms less ten jobs of t0 and five of t1.
    assert found[3]["of"] == "hog" and 984 / 400 - 0.02 < found[3]["factor"] <= 984 / 400
    assert all(one["provenance"] == "bound" for one in found)
    assert "sensitivity" not in json.loads(consort("analyze", file, "--json").stdout)
