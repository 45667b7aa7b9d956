# SPDX-License-Identifier: Apache-2.0
"""`run`, `analyze` and `simulate` print five lines: verdict, worst task, worst chain, cause, next command."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner
from consort.cli import cli
from consort.judge import Bounds, Limit, judge
from consort.record import Run, RunWriter
from consort.record.ran import EVENTS
from consort.report.brief_run import CAUSE, _beginning, brief_of_run
from consort.report.lines import Brief, Timed
from system_recording import Recording

LABELS = ["verdict", "worst task", "worst chain", "cause", "next"]
US = 1_000
HEAD = "consort: 1\nassumed: made up\nplatform: linux-host\nscheduling: {master: {context_switch: 0us}}\n"
TASKS = """\
tasks:
  quick: {period: 1ms, wcet: 10us, bcet: 10us, on: master-0}
  slow: {period: 10ms, deadline: DEADLINE, wcet: 2ms, bcet: 2ms, on: master-0}
channels: {x: {kind: sporadic, from: quick, to: [slow], size: 8B}}
chains: {through: {path: [quick, slow], reaction: 40ms}}
"""


def described(tmp_path: Path, deadline: str = "9ms") -> Path:
    file = tmp_path / "system.yaml"
    file.write_text(HEAD + TASKS.replace("DEADLINE", deadline), encoding="utf-8")
    return file


def five(status: int, *arguments: object) -> dict[str, str]:
    """The five lines of a command, by their labels; the command ends with this status."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return parted(done.stdout.splitlines())


def parted(lines: list[str]) -> dict[str, str]:
    assert [line.partition(":")[0] for line in lines] == LABELS, lines
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}


def test_bounds_that_hold(tmp_path: Path) -> None:
    file = described(tmp_path)
    said = five(0, "analyze", file)
    assert said["verdict"].startswith("The system holds: ")
    # Three jobs of the quicker one come within it, and the timer of linux-host is 100 µs late.
    assert said["worst task"] == (
        "slow on master-0: response time at most 2,130.0 µs, allowed 9,000.0 µs (24 %)"
    )
    assert said["worst chain"].startswith("through: reaction time at most ")
    assert said["cause"] == "the largest part of the 2,130.0 µs of slow is 2,000.0 µs, its own execution"
    assert said["next"].startswith(f"consort simulate {file}")
    verbose = CliRunner().invoke(cli, ["analyze", "-v", str(file)]).stdout.splitlines()
    assert any(line.startswith("source: ") for line in verbose) and len(verbose) > 15
    assert parted(verbose[-5:]) == said


def test_a_bound_that_does_not_hold_names_what_to_change(tmp_path: Path) -> None:
    file = described(tmp_path, "1ms")
    said = five(1, "analyze", file)
    assert said["verdict"].startswith("Not known to hold: 2 of ")
    assert said["verdict"].endswith(": slow (response time), through (reaction time)")
    assert said["cause"].startswith("slow may be late by 1,130.0 µs; ")
    assert "it would hold: bring the execution time of slow to " in said["cause"]
    assert said["next"] == f"consort analyze {file} --explain slow"


@pytest.mark.parametrize(("deadline", "named"), [("1500us", False), ("2050us", True)])
def test_a_task_that_is_late_because_its_core_sleeps(tmp_path: Path, deadline: str, named: bool) -> None:
    """The timer of linux-host is 100 µs late: the cause says so where that alone makes the task late."""
    file = described(tmp_path, deadline)
    cause = five(1, "analyze", file)["cause"]
    assert ("its core, which sleeps, wakes late by up to 100us (timer_lateness)" in cause) == named
    explained = CliRunner().invoke(cli, ["analyze", str(file), "--explain", "slow"]).stdout
    (late,) = [line for line in explained.splitlines() if "slow comes late" in line]
    assert "the core sleeps until then: timer_lateness 100us" in late


def test_a_master_that_waits_keeps_its_core(tmp_path: Path) -> None:
    """Who is blocked by a wait for an answer reads that, and not only whose job it was."""
    file = tmp_path / "system.yaml"
    offloaded = "on: worker-0, execution: offloaded, master: master-0, on_miss: hold-last-output"
    text = HEAD.replace(
        "{context_switch: 0us}", "{policy: fixed-priority-non-preemptive, context_switch: 0us}"
    )
    text += "tasks:\n  quick: {period: 1ms, wcet: 10us, bcet: 10us, on: master-0}\n"
    text += f"  slow: {{period: 10ms, wcet: 2ms, bcet: 2ms, {offloaded}}}\n"
    text += "channels:\n  slow.in: {memory: shm, size: 8B}\n  slow.out: {memory: shm, size: 8B}\n"
    file.write_text(f"{text}run: {{configurations: [offloaded-off]}}\n", encoding="utf-8")
    cause = five(1, "analyze", file)["cause"]
    assert "blocking: slow (keeps the core while its worker computes)" in cause, cause


def test_a_missing_figure(tmp_path: Path) -> None:
    file = described(tmp_path)
    file.write_text(file.read_text().replace("wcet: 10us, bcet: 10us, ", ""), encoding="utf-8")
    said = five(4, "analyze", "--no-advice", file)
    assert said["verdict"].startswith("Undecided: no bound for quick (response time), slow")
    assert "has no bound, allowed " in said["worst task"]
    assert said["cause"] == "1 figure that nobody gave: tasks.quick.wcet"
    assert said["next"].startswith("consort profile measures tasks.quick.wcet; or ")


def test_all_missing_figures_are_listed_at_once_and_once_each(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    offloaded = "{period: 1ms, on: worker-0, execution: offloaded, master: master-0}"
    file.write_text(f"{HEAD}tasks: {{a: {offloaded}, b: {offloaded}}}\n", encoding="utf-8")
    said = five(4, "analyze", "--no-advice", file)
    wcets, sizes = "tasks.a.wcet, tasks.b.wcet", "channels.a.in.size, channels.a.out.size"
    places = said["cause"].removeprefix("6 figures that nobody gave: ").split(", ")
    assert sorted(places) == sorted(f"{wcets}, {sizes}, {sizes.replace('.a.', '.b.')}".split(", "))
    for text in (f"consort profile measures {wcets}; ", f"write {sizes}, ", "the bytes of a block"):
        assert text in said["next"]


def test_a_simulation_that_holds(tmp_path: Path) -> None:
    file = described(tmp_path)
    said = five(0, "simulate", file, "--duration", "1s", "--no-record")
    assert said["verdict"] == "every deadline was met (1 run of 1s, from seed 1)"
    assert said["worst task"].startswith("slow on master-0: response 2,0")
    assert said["worst task"].endswith(", deadline 9,000.0 µs (23 %), bound 2,130.0 µs")
    assert (
        said["worst chain"].startswith("through: reaction ") and "allowed 40,000.0 µs" in said["worst chain"]
    )
    assert said["next"].startswith(f"consort run {file} --for virtual --stand-ins, as tasks have no step")
    virtual = ["run", str(file), "--for", "virtual", "--stand-ins", "--root", str(tmp_path)]
    ran = CliRunner().invoke(cli, virtual)
    assert ran.exit_code == 0, ran.output


def test_a_simulated_miss(tmp_path: Path) -> None:
    said = five(1, "simulate", described(tmp_path, "1ms"), "--duration", "1s", "--root", tmp_path / "runs")
    assert said["verdict"] == "100 deadline misses (1 run of 1s, from seed 1)"
    assert said["cause"] == "slow: 100 deadline misses in 100 jobs, with seed 1"
    assert said["next"].startswith(f"consort report {tmp_path / 'runs'}")


def test_modes_are_in_the_names(tmp_path: Path) -> None:
    file = described(tmp_path)
    modes = "modes: {m: {tasks: [quick]}, n: {tasks: [quick, slow]}}\n"
    changes = "mode_changes: {start: m, agreement: 100us, requests: [{at: 5ms, to: n}]}\n"
    chains = file.read_text().replace("chains: {through: {path: [quick, slow], reaction: 40ms}}\n", "")
    file.write_text(chains + modes + changes, encoding="utf-8")
    assert five(0, "analyze", file)["worst task"].startswith("slow on master-0 in n: response time at most ")
    said = five(0, "simulate", file, "--duration", "50ms", "--no-record")
    assert said["verdict"] == "every deadline was met (1 run of 50ms, from seed 1, 1 change of mode)"
    assert said["worst chain"] == "none is described"


def recorded(tmp_path: Path, last_us: int, *, stopped: str = "") -> Run:
    """Ten jobs, the last of which takes `last_us`; one is disturbed where that is said."""
    made = Recording({"servo": {"deadline_ns": 100 * US}})
    for seq in range(10):
        made.job("servo", seq, 1 * US, (last_us if seq == 9 else 9) * US)
    if stopped:
        made.event(EVENTS.index("disturbed"), 908 * US, 4 * US, core="m0", why=1)
    raw = made.write(tmp_path / "raw")
    bounds = Bounds((Limit("servo", "response", 40 * US, "theorem 4"),))
    with RunWriter("drive", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("local-off", "local", raw, verdict=judge(raw, bounds))
    assert writer.run is not None
    return writer.run


def test_a_run_that_held(tmp_path: Path) -> None:
    run = recorded(tmp_path, 11)
    said = parted(brief_of_run(run, "system.yaml").lines())
    assert said["verdict"] == "The system held: all 10 jobs met their deadlines and bounds."
    assert (
        said["worst task"] == "servo on m0: response 11.000 µs, deadline 100.000 µs (11 %), bound 40.000 µs"
    )
    assert said["worst chain"] == "none is described"
    assert said["cause"].startswith("the largest part of the 11.000 µs of servo is ")
    assert said["next"].startswith(f"consort report {run.path} --open")


def test_a_run_that_did_not_hold(tmp_path: Path) -> None:
    said = parted(brief_of_run(recorded(tmp_path, 120), "system.yaml").lines())
    assert said["verdict"] == "The system did not hold"
    assert "1 of 10 jobs missed their deadline of 100.000 µs" in said["cause"]
    assert said["worst task"].startswith("servo on m0: response 120.000 µs, deadline 100.000 µs (120 %)")


def test_a_cause_is_the_beginning_of_a_long_reason() -> None:
    short = "servo: response above its bound; it may be a defect"
    assert _beginning(short) == short
    assert _beginning(f"{short}; {'x' * CAUSE}; y") == f"{short}; the report has the rest"
    assert _beginning("x" * 2 * CAUSE) == "x" * 2 * CAUSE


def test_what_preparing_the_machine_would_have_removed(tmp_path: Path) -> None:
    run = recorded(tmp_path, 11, stopped="preempted")
    (pause,) = run.configurations[0]["verdict"]["pauses"]
    said = parted(brief_of_run(run, "system.yaml", [pause["culprit"]]).lines())
    assert said["cause"].startswith("the machine: it disturbed ")
    assert said["next"].startswith("consort run system.yaml --prepare, as root, which keeps away: ")
    assert pause["culprit"] in said["next"]
    assert "--prepare" not in parted(brief_of_run(run, "system.yaml", ["another"]).lines())["next"]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([Timed("a", "response", 1e3, (("deadline", 2e3),), False)], "a: response 1.000 µs, deadline 2.0"),
        ([Timed("a", "response", inf, (("deadline", 2e3),), True)], "a: response of a job that was never"),
        ([Timed("a", "response", None, (), True)], "a: response never seen"),
        ([], "no time of a task"),
        # A failure comes before what is nearer to its limit.
        (
            [
                Timed("a", "response", 1999.0, (("deadline", 2e3),), False),
                Timed("b", "response", 9.0, (("deadline", 2e3), ("bound", 8.0)), True),
            ],
            "b: response 0.009 µs, deadline 2.000 µs (0 %), bound 0.008 µs",
        ),
    ],
)  # fmt: skip
def test_the_worst_of_some_times(times: list[Timed], words: str) -> None:
    said = parted(Brief("a verdict", times, [], "a\ncause", "a command").lines())
    assert said["worst task"].startswith(words) and said["cause"] == "a cause"
    assert "∞" not in said["worst task"]


def test_the_rate_of_counted_times_stands_once() -> None:
    unit = "µs at one nanosecond an instruction"
    timed = Timed("servo on r5f-0", "response", 1700.0, (("deadline", 50_000.0),), False, unit=unit)
    assert timed.text() == (
        "servo on r5f-0, at one nanosecond an instruction: response 1.700 µs, deadline 50.000 µs (3 %)"
    )
