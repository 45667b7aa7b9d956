# SPDX-License-Identifier: Apache-2.0
"""`consort check` and `consort schema` as a user calls them."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort.cli import main
from consort.commands import check
from consort.model.load import platform_schema, schema_text


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(args))
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def test_good(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "check", "system.yaml")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "system.yaml: ok, 1 task on 2 cores of linux-host",
        "  servo: every 50us, deadline 50us, offloaded on worker-0, master master-0",
        "  runs: local-off, local-on, offloaded-off, offloaded-on; 1000 periods of servo in each",
        "  (local: masters compute what is offloaded; off: without interference; run.configurations chooses)",
    ]


def test_good_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "check", "--json", "system.yaml")
    assert status == 0
    answer = json.loads(out)
    assert answer["ok"] is True
    assert answer["system"]["tasks"]["servo"]["period"] == "50us"


def test_bad(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("system.yaml").read_text(encoding="utf-8")
    Path("system.yaml").write_text(text.replace("50us", "50").replace("shm", "ram"), encoding="utf-8")
    status, out, err = call(capsys, "check", "system.yaml")
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert [line.split(": ")[1] for line in lines[:-1]] == [
        "tasks.servo.period",
        "tasks.servo.deadline",
        "channels[servo.in].memory",
        "channels[servo.out].memory",
    ]
    assert lines[-1] == "consort: 4 errors in system.yaml"


def test_bad_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "check", "--json", "none.yaml")
    assert (status, err) == (2, "")
    answer = json.loads(out)
    assert answer["ok"] is False
    assert [problem["file"] for problem in answer["problems"]] == ["none.yaml"]


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "schema")
    assert status == 0
    assert out == schema_text()
    assert call(capsys, "schema", "system")[1] == out


def test_schema_of_platforms(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "schema", "platform")
    assert status == 0
    assert out == schema_text(platform_schema())
    assert call(capsys, "schema", "plattform")[0] == 2


def test_platform(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("board.yml").rename("board.yaml")
    status, out, err = call(capsys, "check", "board.yaml")
    assert (status, err) == (0, "")
    assert out == "board.yaml: ok, platform board: 2 cores of 1 processor, 1 figure, 0 with a source\n"
    status, out, _ = call(capsys, "check", "--json", "board.yaml")
    assert status == 0
    assert json.loads(out)["platform"]["name"] == "board"
    status, out, err = call(capsys, "check", "bad-board.yaml")
    assert (status, out) == (2, "")
    assert err.endswith("consort: 3 errors in bad-board.yaml\n")


def test_analysed_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("system.yaml").write_text(
        "consort: 1\nplatform: linux-host\ntasks: {a: {min_interarrival: 5ms, on: worker-1}}\n"
        "chains: {c: {path: [a]}}\n",
        encoding="utf-8",
    )
    status, out, err = call(capsys, "check", "system.yaml")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "system.yaml: ok, 1 task on 1 core of linux-host",
        "  a: at least 5ms apart, deadline 5ms, local on worker-1",
        "  1 chain",
        "  not to be run on this machine: tasks.a: the task has no step to execute; add it, for example"
        " 'step: step.hpp::servo::step', or 'step: stand-in', or run it with --stand-ins",
    ]


UNHEARD_OF = [
    ("queue, capacity: 4", "let", "channels.m.kind: under logical execution time a channel is a ring"),
    ("sporadic, implementation: snapshot", "let", "channels.m.implementation: under logical execution time"),
    ("periodic, to: [c]", "implicit", "tasks.b.reads[0]: a mailbox has one reader"),
    ("queue, capacity: 4, to: [c]", "implicit", "channels.m: a block of a queue is taken out by one reader"),
    ("sporadic, communication: let", "implicit", "channels.m.communication: the chain 'way' through it is"),
]


@pytest.mark.parametrize(("kind", "communication", "said"), UNHEARD_OF)
def test_a_channel_that_no_target_has_is_refused_without_a_target(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, communication: str, said: str
) -> None:
    """Neither does `check` accept what every run refuses, nor is there a bound of what never happens."""
    Path("system.yaml").write_text(
        "consort: 1\nplatform: linux-host\ntasks:\n"
        "  a: {period: 5ms, wcet: 1ms, on: worker-0, writes: [m]}\n"
        "  b: {period: 5ms, wcet: 1ms, on: worker-1, reads: [m]}\n"
        "  c: {period: 5ms, wcet: 1ms, on: worker-1}\n"
        f"channels: {{m: {{kind: {kind}, size: 4B}}}}\n"
        f"chains: {{way: {{path: [a, b], communication: {communication}}}}}\n",
        encoding="utf-8",
    )
    for command in (["check"], ["check", "--for", "virtual"], ["analyze"], ["simulate"]):
        status, out, err = call(capsys, *command, "system.yaml")
        assert (status, out) == (2, "") and said in err, (command, out, err)


def test_a_channel_of_a_device_has_no_deadline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("system.yaml").write_text(
        "consort: 1\nplatform: linux-host\ndevices: {eye: {kind: camera}}\n"
        "tasks: {a: {period: 5ms, wcet: 1ms, on: worker-0, reads: [m]}}\n"
        "channels: {m: {kind: sporadic, from: eye, communication: let, size: 4B}}\n",
        encoding="utf-8",
    )
    status, _, err = call(capsys, "check", "system.yaml")
    assert status == 2 and "'eye' is a device, which has no deadline" in err


def test_what_no_check_can_see_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Members of types, and a step's constants, are known to a compiler only: the check claims no more."""
    status, out, _ = call(capsys, "check", "system.yaml", "--for", "linux")
    assert status == 0
    honours, *not_checked = out.splitlines()[-2:]
    assert honours.startswith("  linux can honour all that is described")
    assert len(not_checked) == 1 and "not checked here, as nothing is compiled: " in not_checked[0]
    assert "the members and the sizes" in not_checked[0] and "constants" not in not_checked[0]
    # Without a step nothing is left to a compiler.
    out = call(capsys, "check", "system.yaml", "--for", "analysis")[1]
    assert "not checked here" not in out
    board = Path(__file__).parents[3] / "examples" / "drive" / "loop.yaml"
    assert "constants" in call(capsys, "check", str(board), "--for", "board")[1]


def test_an_error_that_only_a_compiler_tells_is_a_problem_as_others_are(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*_: object) -> None:
        raise BadInput("no such size", file="system.yaml", field="tasks.servo.period")

    monkeypatch.setattr(check, "_compile", compiled)
    status, out, err = call(capsys, "check", "--compile", "--json", "system.yaml")
    assert (status, err) == (2, "")
    (problem,) = json.loads(out)["problems"]
    assert (problem["line"], problem["field"]) == (6, "tasks.servo.period")
    status, out, err = call(capsys, "check", "--compile", "system.yaml")
    assert (status, out) == (2, "")
    assert err == "system.yaml:6:13: tasks.servo.period: no such size\nconsort: 1 error in system.yaml\n"


def test_a_full_disk_under_the_compiler_is_no_bad_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*_: object) -> None:
        raise BadInput("cannot be written", file="program") from OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(check, "_compile", compiled)
    for more in ([], ["--json"]):
        status, out, err = call(capsys, "check", "--compile", *more, "system.yaml")
        assert (status, out) == (3, "") and "cannot be written" in err


def test_a_figure_that_virtual_time_needs_is_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run in virtual time refuses without it, once all is compiled."""
    Path("step.hpp").write_text("", encoding="utf-8")
    text = (
        "consort: 1\nplatform: stm32mp157\ntasks:\n"
        "  far: {STEP period: 1ms, wcet: 1us, on: a7-0, execution: offloaded, master: m4-0}\n"
        "channels: {far.in: {MEMORY}, far.out: {memory: mcu-sram}}\n"
    )
    for step, memory, lacks in (
        ("step: stand-in,", "size: 8B", "far.in.memory"),
        ("step: stand-in,", "memory: mcu-sram", "far.in.size"),
        ("step: stand-in,", "memory: mcu-sram, size: 8B", "far.out.size"),
        # A compiler will say what the sizes are.
        ('step: "step.hpp::far::step",', "memory: mcu-sram", ""),
        ('step: "step.hpp::far::step",', "size: 8B", "far.in.memory"),
    ):
        written = text.replace("STEP", step).replace("MEMORY", memory)
        Path("system.yaml").write_text(written, encoding="utf-8")
        status, _, err = call(capsys, "check", "system.yaml", "--for", "virtual")
        assert status == 0
        wanted = rf"warning: system.yaml:5:\d+: channels.{lacks}: no figure for"
        assert re.match(wanted, err) if lacks else not err
        # Nothing else takes time from it.
        assert not call(capsys, "check", "system.yaml", "--for", "linux")[2]


STEPS = """\
consort: 1
platform: versal
tasks:
  fast: {step: "step.hpp::fast::step", period: 1ms, wcet: 1us, on: r5f-0}
  slow: {step: "step.hpp::slow::step", period: 9ms, wcet: 1us, on: r5f-0}
"""
NO_INTERRUPT = (
    "the emulated Cortex-R5F has no timer interrupt, so that a job of 'fast' is not preempted there"
)
NON_PREEMPTIVE = "write policy: fixed-priority-non-preemptive for that core under scheduling"


@pytest.mark.parametrize(
    ("scheduling", "place"),
    [
        ("", "system.yaml:4:68: tasks.fast.on"),
        ("scheduling: {r5f: {policy: edf}}\n", "system.yaml:6:28: scheduling.r5f.policy"),
        ("scheduling: {r5f-0: {policy: fixed-priority}}\n", "system.yaml:6:30: scheduling.r5f-0.policy"),
    ],
)
def test_a_core_that_cannot_preempt_is_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str], scheduling: str, place: str
) -> None:
    Path("step.hpp").write_text("", encoding="utf-8")
    Path("system.yaml").write_text(STEPS + scheduling, encoding="utf-8")
    status, _, err = call(capsys, "check", "system.yaml")
    assert (status, err) == (0, f"warning: {place}: {NO_INTERRUPT}; {NON_PREEMPTIVE}\n")
    # What runs there says the same.
    assert NO_INTERRUPT in call(capsys, "check", "system.yaml", "--for", "board")[2]


@pytest.mark.parametrize(
    "change",
    [
        ("tasks:", "scheduling: {r5f: {policy: fixed-priority-non-preemptive}}\ntasks:"),
        ("on: r5f-0", "on: a72-0"),
        # A stand-in's job looks by itself, and a task without a step runs as a stand-in.
        ('step: "step.hpp::fast::step"', "step: stand-in"),
        ('step: "step.hpp::fast::step", ', ""),
    ],
)
def test_a_core_that_need_not_preempt_or_can_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str]
) -> None:
    Path("step.hpp").write_text("", encoding="utf-8")
    text = STEPS.replace(*change)
    if "fast::" not in text:
        text = text.replace('step: "step.hpp::slow::step", ', "")
    Path("system.yaml").write_text(text, encoding="utf-8")
    assert call(capsys, "check", "system.yaml")[::2] == (0, "")
