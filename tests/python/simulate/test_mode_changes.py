# SPDX-License-Identifier: Apache-2.0
"""Changes of mode: against their bounds, against the executive in virtual time, from the command line; and
executives with a rule of the protocol changed, each of which the comparison must find."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import consort as consort_package
import numpy as np
import pytest
import small
from consort import _engine
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.model import System, load_system, system_from_data
from consort.plan import problems_of
from consort.simulate.build import prepare
from consort.simulate.engine import JOBS
from consort.simulate.modes import prepare_modes, simulate_modes
from consort.simulate.record import record_modes
from effort import PATIENCE, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from small import consort
from test_virtual_time import EXECUTED, ROOT, compile_all, linked

US = 10**6


def changing(requests: list[tuple[str, str]], agreement: str = "2us", **more: Any) -> System:
    """Two tasks of a core and one at a worker; in `slow` one rests and another is computed locally."""
    tasks: dict[str, dict[str, Any]] = {
        "a": {"period": 6, "wcet": 1, "priority": 3},
        "b": {"period": 8, "wcet": 2, "priority": 2},
        "c": {
            "period": 24,
            "wcet": {"w": {"offloaded": "4us"}, "m": {"local": "5us"}},
            "on": "w-0",
            "master": "m-0",
            "execution": "offloaded",
            "dispatch": {"send": "1us", "receive": "1us"},
            "footprint": {"data": "64B"},
            "priority": 1,
        },
    }
    modes = {
        "fast": {"tasks": ["a", "b", "c"]},
        "slow": {
            "tasks": ["b", "c"],
            "overrides": {"b": {"period": "5us"}, "c": {"execution": "local", "on": "m-0"}},
        },
    }
    changes = {
        "start": "fast",
        "agreement": agreement,
        "state_through": "free",
        "requests": [{"at": at, "to": to} for at, to in requests],
        **more,
    }
    return small.system(tasks, modes=modes, mode_changes=changes)


def test_a_change_stops_the_releases_drains_and_releases_the_new_mode() -> None:
    prepared = prepare_modes(changing([("12us", "slow"), ("40us", "fast")]))
    found = simulate_modes(prepared, None, 80 * US, choice="worst", trace=True)
    first, second = found.changes
    assert (first.old, first.new, first.requested) == ("fast", "slow", 12 * US)
    # At 12us the job of a that is due then is not released; nothing is under way but what the worker has.
    assert first.drained >= first.requested
    assert first.released == first.drained + 2 * US
    assert second.requested == 40 * US and second.new == "fast"
    stays = found.segments
    assert [stay.mode for stay in stays] == ["fast", "slow", "fast"]
    assert [stay.start for stay in stays] == [0, first.released, second.released]
    jobs = [stay.simulation.jobs for stay in stays]
    assert all((rows["release"] >= 0).all() for rows in jobs)
    assert (jobs[0]["release"] < 12 * US).all() and jobs[0]["finish"].max() <= first.drained
    # The numbers of a task's jobs go on, also over a mode in which it rests.
    for task in ("a", "b", "c"):
        numbers = [
            rows["seq"][rows["task"] == stay.simulation.prepared.tasks.index(task)]
            for stay, rows in zip(stays, jobs, strict=True)
            if task in stay.simulation.prepared.tasks
        ]
        together = np.sort(np.concatenate(numbers))
        assert (together == np.arange(together.size)).all()
    assert found.misses == 0


def test_without_a_request_in_its_time_a_run_is_that_of_the_first_mode() -> None:
    system = changing([("50us", "slow")])
    prepared = prepare_modes(system)
    found = simulate_modes(prepared, None, 50 * US, seed=7, trace=True)
    alone = _engine.sim_run(prepare(prepared.modes["fast"].plan).engine, 50 * US, 7, trace=True)
    assert found.changes == []
    assert (found.segments[0].simulation.jobs == alone["jobs"].view(JOBS)).all()


def test_of_requests_before_the_idle_instant_the_last_counts() -> None:
    # c is at its worker from 4us on.
    requests = [("5us", "slow"), ("5500ns", "fast"), ("6us", "slow")]
    change = simulate_modes(prepare_modes(changing(requests)), None, 60 * US, choice="worst").changes[0]
    assert (change.requested, change.new, change.requests) == (5 * US, "slow", 3)


def test_one_between_the_idle_instant_and_the_release_is_taken_at_the_release() -> None:
    requests = [("23us", "slow"), ("30us", "fast")]
    found = simulate_modes(prepare_modes(changing(requests, "40us")), None, 200 * US, choice="worst")
    first, second = found.changes
    assert first.drained < 30 * US < first.released
    assert second.requested == 30 * US and second.drained == first.released
    assert found.modes["slow"].figures["b"].jobs == 0


@pytest.mark.parametrize("agreement", ["2us", "30us"])
def test_every_instant_of_the_hyperperiod_keeps_the_bound_which_is_approached(agreement: str) -> None:
    bound = analyze_modes(changing([("1us", "slow")], agreement)).change("fast", "slow").response
    assert bound is not None
    longest = 0
    for at in range(24):
        for just in (0, 1):
            system = changing([(f"{at * US + just}ps", "slow")], agreement)
            found = simulate_modes(prepare_modes(system), None, 100 * US, choice="worst")
            assert found.misses == 0
            longest = max(longest, found.changes[0].latency)
    assert longest <= bound


def test_the_bound_is_approached_where_the_response_is_attained() -> None:
    tasks = {"a": {"period": 4, "wcet": 1, "priority": 2}, "b": {"period": 12, "wcet": 5, "priority": 1}}
    modes = {"all": {"tasks": ["a", "b"]}, "one": {"tasks": ["a"]}}
    # Just after both were due.
    requests = [{"at": "12000001ps", "to": "one"}]
    changes = {"start": "all", "agreement": "3us", "requests": requests}
    system = small.system(tasks, modes=modes, mode_changes=changes)
    bounds = analyze_modes(system)
    bound = bounds.change("all", "one").response
    found = simulate_modes(prepare_modes(system), bounds, 50 * US, choice="worst")
    # The jobs of a that were due later no longer keep b from the core.
    assert bound == 10 * US
    assert found.changes[0].latency == 9 * US - 1


@st.composite
def systems(draw: st.DrawFn) -> System:
    """Tasks of two cores and a worker, in two or three modes, with requests at any time."""
    tasks: dict[str, dict[str, Any]] = {}
    for i in range(draw(st.integers(1, 4))):
        period = draw(st.integers(8, 40))
        wcet = draw(st.integers(1, max(1, period // 6)))
        task: dict[str, Any] = {"period": period, "priority": i + 1, "bcet": draw(st.integers(1, wcet))}
        task |= {
            "wcet": wcet,
            "on": draw(st.sampled_from(["m-0", "m-1"])),
            "offset": draw(st.integers(0, period)),
        }
        task["jitter"] = draw(st.sampled_from([0, 0, 2]))
        if draw(st.booleans()):
            task |= {
                "master": task["on"],
                "on": "w-0",
                "execution": "offloaded",
                "wcet": {"w": {"offloaded": f"{wcet}us"}, "m": {"local": f"{wcet}us"}},
                "bcet": {"w": {"offloaded": f"{task['bcet']}us"}, "m": {"local": f"{task['bcet']}us"}},
                "dispatch": {"send": "1us", "receive": "1us"},
            }
        task["footprint"] = {"data": "64B"}
        tasks[f"t{i}"] = task
    modes: dict[str, dict[str, Any]] = {}
    names = list(tasks)
    for mode in ("x", "y", "z")[: draw(st.integers(2, 3))]:
        active = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        overrides: dict[str, dict[str, str]] = {}
        for name in active:
            if draw(st.booleans()):
                overrides[name] = {"period": f"{draw(st.integers(8, 60))}us"}
                if "master" not in tasks[name] and draw(st.booleans()):
                    overrides[name] |= {"on": "m-2"}
                if "master" in tasks[name] and draw(st.booleans()):
                    overrides[name] |= {"execution": "local", "on": tasks[name]["master"]}
        modes[mode] = {"tasks": active, **({"overrides": overrides} if overrides else {})}
    at, present, requests = 0, "x", []
    for _ in range(draw(st.integers(1, 5))):
        at += draw(st.integers(1, 60))
        present = draw(st.sampled_from([mode for mode in modes if mode != present]))
        requests.append({"at": f"{at}us", "to": present})
    changes = {"start": "x", "agreement": f"{draw(st.integers(1, 9))}us", "requests": requests}
    cores: dict[str, set[str]] = {}
    for mode in {"x", *(request["to"] for request in requests)}:
        for name in modes[mode]["tasks"]:
            override = modes[mode].get("overrides", {}).get(name, {})
            cores.setdefault(name, set()).add(override.get("on", tasks[name]["on"]))
    if any(len(of) > 1 for of in cores.values()):
        changes["state_through"] = "free"
    return small.system(tasks, modes=modes, mode_changes=changes)


@settings(max_examples=examples(60), deadline=None)
@given(system=systems(), seed=st.integers(0, 2**32), dense=st.booleans())
def test_no_bound_is_exceeded_and_virtual_time_does_the_same(system: System, seed: int, dense: bool) -> None:
    bounds = analyze_modes(system)
    prepared = prepare_modes(system, dense=dense)
    found = simulate_modes(prepared, bounds, 400 * US, seed, choice="edges", trace=True)
    assert found.late_changes == []
    for mode, simulation in found.modes.items():
        for bound in bounds.modes[mode]:
            seen = simulation.figures.get(bound.task)
            if bound.kind == "response time" and bound.schedulable and seen and seen.max_response is not None:
                assert seen.max_response <= (bound.response or 0)
                assert seen.misses == 0
    arguments = (prepared.engine, 400 * US, seed, "edges", "edges", True)
    simulated = _engine.sim_run_modes(*arguments)
    executed = _engine.sim_run_modes_in_virtual_time(*arguments)
    assert simulated["changes"] == executed["changes"]
    rows = [np.sort(run["jobs"].view(JOBS), order=["task", "seq"]) for run in (simulated, executed)]
    assert (rows[0] == rows[1]).all()


class TestRefusals:
    """Features that no change of mode can have are refused at their places."""

    BASE = """\
consort: 1
platform: versal
tasks:
  a: {period: 1ms, wcet: 10us, on: a72-0}
  b: {period: 2ms, wcet: 10us, on: a72-0}
modes:
  m: {tasks: [a, b]}
  n: {tasks: [a], overrides: {a: {period: 2ms}}}
mode_changes: {start: m, agreement: 10us, requests: [{at: 10ms, to: n}]}
"""

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("start: m", "start: o", "mode_changes.start: 'o' is not a mode"),
            ("to: n}", "to: m}", "mode_changes.requests[0].to: the mode is 'm' already"),
            (
                "to: n}]",
                "to: n}, {at: 9ms, to: m}]",
                "mode_changes.requests[1].at: the request before it comes at 10ms",
            ),
            (
                "{period: 2ms}}",
                "{on: a72-1}}",
                "modes.n.overrides.a.on: 'a' is computed by 'a72-1' in the mode 'n' and by 'a72-0' in 'm'",
            ),
            (
                "start: m",
                "start: m, state_through: ddr",
                "mode_changes.state_through: every task keeps its core",
            ),
            ("start: m", "start: m, state_through: dd", "mode_changes.state_through: 'dd' is not a memory"),
            (
                "on: a72-0}\n  b",
                "on: r5f-1, master: a72-0, execution: offloaded, on_miss: stop}\n  b",
                "tasks.a.on_miss: where modes change",
            ),
            (
                "modes:",
                "scheduling: {a72-0: {supply: {kind: tdma, budget: 2ms, period: 5ms}}}\nmodes:",
                "scheduling.a72-0.supply: 'a72-0' has tasks of modes that change",
            ),
            (
                "on: a72-0}\n  b",
                "on: r5f-1, execution: three-phase}\n  b",
                "tasks.a.execution: three-phase cores",
            ),
            ("agreement: 10us", "agreement: 0us", "mode_changes.agreement: two modes share no instant"),
            ("requests: [{at: 10ms, to: n}]", "requests: []", "mode_changes.requests: this is empty"),
            ("agreement: 10us, ", "", "mode_changes: the key 'agreement' is missing"),
            (
                "start: m",
                "start: m, fail_over: [{core: a72-0, to: n}], detection: 9ms",
                "mode_changes.fail_over[0].to: in the mode 'n' 'a72-0', which is dead, has a; place",
            ),
            (
                "start: m",
                "start: m, fail_over: [{core: a72-1, to: n}], detection: 9ms",
                "mode_changes.fail_over[0].core: 'a72-1' has nothing to do in any mode",
            ),
            (
                "start: m",
                "start: m, fail_over: [{core: a72-1, to: n}]",
                "mode_changes.fail_over: when a death is known is not said; add 'detection'",
            ),
            ("start: m", "start: m, detection: 9ms", "mode_changes.detection: no death is to be detected"),
        ],
    )
    def test_at_its_place(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
    ) -> None:
        assert self.BASE.count(old) == 1
        file = tmp_path / "system.yaml"
        file.write_text(self.BASE.replace(old, new))
        for command in (["check"], ["analyze"], ["simulate", "--no-record"]):
            status, _, told = consort(capsys, *command, file)
            assert status == 2 and said in told

    def test_what_runs_in_one_mode_says_so(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "system.yaml"
        file.write_text(self.BASE)
        told = [str(problem) for problem in problems_of(load_system(file), "board", stand_ins=True)]
        assert any("mode_changes: board runs a system in one mode" in problem for problem in told)
        status, _, _ = consort(capsys, "check", file, "--for", "linux", "--stand-ins")
        assert status == 0
        with pytest.raises(BadInput, match="goes from mode to mode"):
            analyze_system(load_system(file))


class TestMigration:
    def system(self, **more: Any) -> System:
        tasks = {
            "mover": {"period": 10, "wcet": {"m": "1us", "w": "3us"}, "footprint": {"data": "172B"}},
            "other": {"period": 10, "wcet": 1, "on": "m-1"},
        }
        modes = {
            "here": {"tasks": ["mover", "other"]},
            "away": {"tasks": ["mover", "other"], "overrides": {"mover": {"on": "w-0"}}},
            "without": {"tasks": ["other"]},
        }
        requests = [{"at": f"{20 * k + 20}us", "to": to} for k, to in enumerate(["away", "without", "here"])]
        changes = {"start": "here", "agreement": "2us", "state_through": "shm", "requests": requests, **more}
        return small.system(tasks, modes=modes, mode_changes=changes)

    def test_the_state_is_handed_over_within_the_agreement(self) -> None:
        found = analyze_modes(self.system())
        assert [bound.task for bound in found.changes if bound.kind == "hand-over of state"] == [
            "to here",
            "to away",
        ]
        # 172 bytes are written and read at 100ns + 1ns a byte; a word said once and looked at twice.
        moved = next(bound for bound in found.changes if bound.task == "to away")
        assert moved.response == (2 * (100 + 172) + 3 * (100 + 4)) * 1000
        assert moved.deadline == 2 * US and found.schedulable
        assert moved.explanation[0].note == "from m-0"

    def test_a_change_that_is_too_short_for_the_state_has_no_bound(self) -> None:
        found = analyze_modes(self.system(agreement="800ns"))
        change = found.change("here", "away")
        assert change.response is None and "handed over" in change.notes[0]
        assert found.change("away", "without").response is not None

    def test_a_state_of_unknown_size_is_missing(self) -> None:
        system = self.system()
        data = system.to_json()
        del data["tasks"]["mover"]["footprint"]
        found = analyze_modes(system_from_data(data, platform=small.PLATFORM))
        assert found.change("here", "away").missing == ("tasks.mover.footprint.data",)

    def test_jobs_run_on_their_modes_core(self) -> None:
        system = self.system()
        found = simulate_modes(prepare_modes(system), analyze_modes(system), 100 * US, trace=True)
        assert [change.kept for change in found.changes] == [True] * 3
        assert [stay.simulation.figures["mover"].core for stay in found.segments[:2]] == ["m-0", "w-0"]
        assert found.segments[1].simulation.figures["mover"].min_response == 3 * US


WAITING = """consort: 1
platform: linux-host
assumed: chosen
devices: {{bus: {{kind: can}}}}
tasks:
  r: {{period: {period}ms, wcet: 1ms, bcet: 1ms, on: master-0}}
  w: {{period: 16ms, wcet: 1ms, bcet: 1ms, on: master-0}}
  z: {{period: 20ms, wcet: 1ms, bcet: 1ms, on: master-0}}
channels:
  m: {{size: 8B, capacity: 4, to: [r], {source}}}
modes:
  a: {{tasks: [r, w, z]}}
  b: {{tasks: [r, w]}}
mode_changes: {{start: a, agreement: 1ms, requests: [{requests}]}}
"""
SENT = "from: bus, kind: subscription, flow: 7, min_interarrival: 16ms"


@pytest.mark.parametrize(
    ("source", "period", "changes", "status"),
    [
        ("from: w, kind: queue", 20, 39, 4),
        (SENT, 20, 39, 4),
        # One block waits for its reader, which is released with the writer.
        # Without a change all are followed.
        ("from: w, kind: queue", 16, 39, 4),
        (SENT, 16, 39, 4),
        (SENT, 20, 0, 1),
    ],
)
def test_blocks_that_wait_while_modes_change_leave_it_undecided(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    source: str,
    period: int,
    changes: int,
    status: int,
) -> None:
    file = tmp_path / "system.yaml"
    requests = ", ".join(f"{{at: {61 * n}ms, to: {'ab'[n % 2]}}}" for n in range(1, changes + 1))
    text = WAITING.format(source=source, period=period, requests=requests)
    file.write_text(text if changes else text.partition("modes:")[0], encoding="utf-8")
    for more in ((), ("--no-record",)):
        options = ("--duration", "2500ms", "--root", tmp_path / "runs", *more)
        ended, said, _ = consort(capsys, "simulate", file, *options)
        assert ended == status, said
        assert ("m: blocks go on through a change of mode" in said) == (status == 4)


def test_a_hundred_changes_of_the_uav_miss_no_deadline() -> None:
    data = load_system(ROOT / "examples/uav/system.yaml").to_json()
    modes = ["cruise", "near-ground"]
    data["mode_changes"]["requests"] = [
        # At another instant of the periods each time.
        {"at": f"{97 * k + 97}ms", "to": modes[k % 2]}
        for k in range(100)
    ]
    system = system_from_data(data)
    bounds = analyze_modes(system)
    assert bounds.schedulable
    found = simulate_modes(prepare_modes(system), bounds, 10 * 10**12, choice="edges")
    assert len(found.changes) == 100
    assert found.misses == 0 and found.late_changes == []


class TestCommands:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        file = tmp_path / "system.yaml"
        file.write_text(TestRefusals.BASE.replace("versal", "board.yaml").replace("a72-0", "m-0"))
        shutil.copy(ROOT / "tests/python/plan/walk/board.yaml", tmp_path)
        return file

    def test_each_mode_and_each_change_is_bounded(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        status, out, _ = consort(capsys, "analyze", file, "--json")
        bounds = json.loads(out)
        assert status == 0 and bounds["schedulable"]
        assert [mode["mode"] for mode in bounds["modes"]] == ["m", "n"]
        assert [change["task"] for change in bounds["changes"]] == ["m -> n", "n -> m"]
        assert bounds["changes"][0]["response_ps"] == 30 * US
        _, out, _ = consort(capsys, "analyze", file, "--explain", "m -> n")
        assert "the last job of b" in out

    def test_a_run_is_recorded_by_its_modes(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--duration", "30ms", "--root", file.parent / "runs", "--json"]
        status, out, _ = consort(capsys, "simulate", file, *options)
        found = json.loads(out)
        assert status == 0 and found["ok"] == found["verdict"]["ok"] == "held"
        assert found["changes"][0]["bound_ps"] == 30 * US and found["changes"][0]["kept"]
        run = json.loads((Path(found["path"]) / "run.json").read_text())
        assert [one["key"] for one in run["configurations"]] == ["simulated-m", "simulated-n"]

    def test_the_stays_in_a_mode_are_one_recording(self, tmp_path: Path) -> None:
        """Three stays in two modes: times are those of the run, and blocks have numbers of their own."""
        run = consort_package.simulate(load_system(ROOT / "examples/uav/system.yaml"), "5s", root=tmp_path)
        near, cruise = run.configurations
        assert [near["key"], cruise["key"]] == ["simulated-near-ground", "simulated-cruise"]
        assert run.held
        assert [len(one["config"]["stays"]) for one in (near, cruise)] == [2, 1]
        (_, left), (again, _) = near["config"]["stays"]
        jobs = run.table(near["key"], "jobs")
        released = jobs["release_tick"].to_numpy()
        assert ((released < left) | (released >= again)).all() and (released >= again).any()
        assert (cruise["config"]["stays"][0][0] >= left) and (cruise["config"]["stays"][0][1] <= again)
        operations = run.table(near["key"], "operations")
        kinds, channels = (operations[name].cast("string").to_pylist() for name in ("kind", "channel"))
        blocks = [
            number
            for number, kind, channel in zip(operations["sequence"].to_pylist(), kinds, channels, strict=True)
            if kind == "write" and channel is not None
        ]
        assert blocks == list(range(1, len(blocks) + 1)) and len(blocks) > 2
        planned = {count["task"]: (count["planned"], count["released"]) for count in near["verdict"]["tasks"]}
        assert all(due == done for due, done in planned.values()) and planned["fusion"][0] > 400

    def test_from_python(self, file: Path) -> None:
        run = consort_package.simulate(load_system(file), "30ms", root=file.parent / "runs", runs=2)
        assert run.held and [one["key"] for one in run.data["configurations"]] == [
            "simulated-m",
            "simulated-n",
        ]

    def test_several_runs(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        status, out, _ = consort(capsys, "simulate", file, "--no-record", "--runs", "3", "-v")
        assert status == 0 and "m -> n" in out and "every deadline was met" in out

    def test_without_a_record_chains_are_looked_at_as_well(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        ends = "channels: {ab: {kind: sporadic, from: a, to: [b], size: 8B}}\n"
        file.write_text(file.read_text() + ends + "chains: {x: {path: [a, b], reaction: 1us}}\n")
        status, out, _ = consort(capsys, "simulate", file, "--no-record", "--json")
        recorded = consort(capsys, "simulate", file, "--json", "--root", file.parent / "runs")
        chains = [mode["chains"] for mode in json.loads(out)["modes"]]
        assert chains == [mode["chains"] for mode in json.loads(recorded[1])["modes"]]
        assert status == recorded[0] == 1 and any(not one["kept"] for mode in chains for one in mode)

    def test_a_change_that_may_take_too_long_fails_the_analysis(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = file.read_text()
        file.write_text(text.replace("start: m,", "start: m, within: 29us,"))
        assert consort(capsys, "analyze", file)[0] == 1
        status, out, err = consort(capsys, "simulate", file, "--no-record", "--json")
        took = json.loads(out)["changes"][0]
        assert (status == 1) == (took["latency_ps"] > 29 * US) == (not took["kept"])
        file.write_text(text.replace("start: m,", "start: m, within: 1us,"))
        status, out, err = consort(capsys, "simulate", file, "--root", file.parent / "within")
        assert status == 1 and "above 'within', 1us" in err and "every deadline was met" not in out
        file.write_text(text.replace("wcet: 10us, on: m-0}\n  b", "on: m-0}\n  b"))
        status, out, _ = consort(capsys, "analyze", file, "--json")
        change = json.loads(out)["changes"][0]
        # Without that figure nothing is known.
        assert status == 4 and change["response_ps"] is None and change["missing"] == ["tasks.a.wcet"]

    def test_a_run_that_is_not_recorded_counts_in_the_verdict(self, file: Path) -> None:
        system = load_system(file)
        bounds, prepared = analyze_modes(system), prepare_modes(system)
        one = simulate_modes(prepared, bounds, 30_000 * US, trace=True)
        worse = replace(one.modes["m"], figures={"a": replace(one.modes["m"].figures["a"], misses=3)})
        late = [replace(change, bound=1) for change in one.changes]
        run = record_modes(
            one,
            bounds,
            name="some",
            root=file.parent / "runs",
            command=[],
            all_runs=replace(one, runs=7, modes={"m": worse}, changes=late),
        )
        reasons = " ".join(run.data["verdict"]["reasons"])
        assert not run.held
        assert "3 deadline misses in 7 runs" in reasons and "the change m -> n took" in reasons

    def test_where_nothing_can_be_written(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        taken = file.parent / "taken"
        taken.write_text("")
        status, _, told = consort(capsys, "simulate", file, "--duration", "30ms", "--root", taken / "runs")
        assert status == 2 and str(taken) in told and "Traceback" not in told


MUTANTS = {
    "what is due at the request is released": (
        "include/consort/app/executive.hpp",
        "releases.cause() >= port().until()) {\n                *link",
        "releases.cause() > port().until()) {\n                *link",
    ),
    "a job under way is not waited for": (
        "include/consort/app/executive.hpp",
        "return !busy() && running_ == never;",
        "return waiting_ == nullptr;",
    ),
    "a release that jitter holds back is not waited for": (
        "include/consort/app/executive.hpp",
        "return !busy() && running_ == never;",
        "return ready_ == nullptr && away_ == nullptr && running_ == never;",
    ),
    "a worker that still computes is not waited for": (
        "ports/virtual/src/core.hpp",
        "return idle_ && requests_.empty();",
        "return true;",
    ),
    "a LET output is not waited for": (
        "ports/virtual/src/machine.cpp",
        "Stage::draining || published_ > clock_.now ||",
        "Stage::draining ||",
    ),
    "job numbers begin anew": (
        "ports/virtual/src/machine.cpp",
        "rule.first_job = first_jobs_[t];",
        "rule.first_job = 0;",
    ),
    "of requests the first counts": (
        "include/consort/app/mode_change.hpp",
        "                change_.to = to;\n",
        "",
    ),
    "a request after the idle instant is lost": (
        "include/consort/app/mode_change.hpp",
        "                holds_ = true;\n",
        "",
    ),
    "no agreement": (
        "include/consort/app/mode_change.hpp",
        "after(now, agreement_)",
        "now",
    ),
}
MODES = ("tests/virtual/mode_changes.cpp", "tests/virtual/compare.cpp", "engine/sim/run.cpp")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return compile_all(MODES, ROOT, tmp_path_factory.mktemp("compared"))


class TestMutants:
    @pytest.mark.parametrize("name", MUTANTS)
    def test_its_rule_stands_in_one_place(self, name: str) -> None:
        where, rule, _ = MUTANTS[name]
        assert (ROOT / where).read_text().count(rule) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("name", MUTANTS)
    def test_every_changed_rule_is_found(self, compared: list[Path], tmp_path: Path, name: str) -> None:
        where, rule, other = MUTANTS[name]
        tree = tmp_path / "tree"
        for part in ("include", "ports/virtual"):
            shutil.copytree(ROOT / part, tree / part)
        (tree / where).write_text((tree / where).read_text().replace(rule, other))
        program = linked([*compared, *compile_all(EXECUTED, tree, tmp_path)], tmp_path)
        # A changed rule may also end in a trap or in no end.
        try:
            ended = subprocess.run([program, "2000"], capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return
        assert ended.returncode != 0
