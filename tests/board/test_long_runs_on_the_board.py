# SPDX-License-Identifier: Apache-2.0
"""`consort run --on versal --duration`: every slot, job and message counted, whatever is recorded."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from board_support import ROOT, board, consort
from consort.base.errors import BadInput
from consort.base.waiting import silent
from consort.board import kernel, kernel_plan
from consort.board.application import prepare_board
from consort.board.devices import DeviceResult, FlowResult
from consort.board.messages import failures, plan_messages
from consort.board.scratchpad import KernelRun
from consort.commands.run import nanoseconds_of
from consort.model import System, load_system
from consort.plan import plan_of
from consort.run import Options, run_system

ENDURANCE = ROOT / "examples" / "automotive" / "endurance.yaml"
SECOND = 10**9


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(ENDURANCE)


def table(data: dict, title: str) -> list[list[object]]:
    return next(section["rows"] for section in data["sections"] if section["title"] == title)


def held(system: System, seconds: int, folder: Path) -> dict:
    """The run's data, after a look at what any such run has to show."""
    options = Options(
        target="board", kernel_board="versal", duration_ps=seconds * 10**12, root=folder, command=["test"]
    )
    data = dict(run_system(prepare_board(system, silent, options), options, silent).data)
    assert data["verdict"] == {"ok": "held", "reasons": []}, json.dumps(data["verdict"])
    ((slots, used, unused, missed),) = table(data, kernel.SLOTS)
    assert missed == 0 and slots == used + unused
    # Until the last job is over a few more slots pass than are in the time.
    assert 0 <= slots - seconds * 250 < 100
    jobs = {row[0]: row[2] for row in table(data, kernel.ALL_JOBS)}
    assert sum(jobs.values()) * 2 == used
    for name, task in system.tasks.items():
        assert jobs[name] == -(-seconds * SECOND // task.interval.nanoseconds)
    for flow, sent, back, lost, repeated, changed, _ in table(data, kernel.MESSAGES):
        assert sent == back > 0 and (lost, repeated, changed) == (0, 0, 0), flow
    return data


@pytest.mark.slow
def test_some_seconds_hold_and_more_jobs_than_are_recorded(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    board("versal")
    monkeypatch.setattr(kernel_plan, "MOST_RECORDED", 40)
    monkeypatch.setattr(kernel_plan, "LONG", 0)
    data = held(system, 2, tmp_path / "runs")
    (configuration,) = data["configurations"]
    assert configuration["jobs"]["jobs"] == 40 < sum(row[2] for row in table(data, kernel.ALL_JOBS))
    order = dict(table(data, "Order of events"))
    assert order["first difference"] == "none" and 0 < order["compared until [ms]"] < 2000
    assert configuration["clock"]["source"] == "32 ns for each instruction executed"


@pytest.mark.slow
def test_five_minutes_hold(system: System, tmp_path: Path):
    board("versal")
    held(system, 300, tmp_path / "runs")


@pytest.fixture
def whole(system: System) -> tuple[object, DeviceResult]:
    messages = plan_messages(system, kernel_plan.three_phase_cores_of(plan_of(system)), 10 * SECOND)
    assert messages is not None
    flows = tuple(
        FlowResult(f.flow, f.count, 0, f.count, 0, 0, 0, f.count - 1, 0) for f in messages.setup.flows
    )
    total = sum(f.sent for f in flows)
    return messages, DeviceResult(total, 0, total, 0, total, 0, 0, 0, 0, 0, flows)


def test_nothing_is_said_of_a_run_without_losses(whole):
    messages, result = whole
    assert list(failures(messages, result)) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"returned": 3}, "did not come back"),
        ({"repeated": 2}, "2 messages came back twice or out of order"),
        ({"wrong": 1}, "1 messages came back changed"),
        ({"sent": 5, "returned": 5}, "5 messages of .* were sent"),
    ],
)
def test_what_the_node_finds_is_said(whole, change: dict[str, int], why: str):
    messages, result = whole
    first = replace(result.flows[0], **change)
    (reason,) = failures(messages, replace(result, flows=(first, *result.flows[1:])))
    assert reason.startswith("flow 16: ")
    assert re.search(why, reason)


@pytest.mark.parametrize("what", ["lost", "overwritten", "unwanted", "refused", "unexpected"])
def test_what_the_subsystem_counts_is_said(whole, what: str):
    messages, result = whole
    (reason,) = failures(messages, replace(result, **{what: 7}))
    assert reason.startswith("7 ")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("capacity: 4, min_interarrival: 60ms", "capacity: 3, min_interarrival: 60ms", "In has 304 bytes"),
        ("flow: 17", "flow: 16", "another size or min_interarrival"),
        ("flow: 16", "flow: wheel", "not a flow that the kernel can compare"),
    ],
)
def test_messages_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, why: str):
    board("versal")
    text = ENDURANCE.read_text(encoding="utf-8").replace(old, new)
    for name in ("relay.hpp", "inputs.py", "kernels"):
        text = text.replace(f" {name}", f" {ENDURANCE.parent / name}")
    file = tmp_path / "system.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=why):
        run = prepare_board(load_system(file), silent, Options(target="board", kernel_board="versal"))
        kernel_plan.kernel_plan(run.request(10**12, counted=True))


def test_durations_are_read_and_others_refused():
    assert [nanoseconds_of(t) for t in ("90s", "30min", "1h")] == [90 * SECOND, 1800 * SECOND, 3600 * SECOND]
    for wrong in ("1", "-1s", "0s", "25h", "an hour"):
        with pytest.raises(BadInput):
            nanoseconds_of(wrong)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--on", "versal", "--duration", "1s", "--iterations", "3"), "--iterations says"),
        ((), "is only described"),
    ],
)
def test_what_a_run_cannot_have_is_refused(options: tuple[str, ...], why: str):
    done = consort("run", str(ENDURANCE), *options)
    assert done.returncode == 2
    assert re.search(why, done.stderr)


def test_the_clock_suits_long_slots_in_long_runs_only():
    def shift(slot: int, until: int, arbitration: str = "tdma") -> int:
        return kernel_plan.paced(KernelRun([], [slot], until, arbitration=arbitration)).shift

    assert [shift(slot, 10 * SECOND) for slot in (160_000, 200_000, 399_999, 4_000_000)] == [0, 1, 1, 5]
    assert shift(4_000_000, 10 * SECOND - 1) == shift(4_000_000, 10 * SECOND, "round-robin") == 0
